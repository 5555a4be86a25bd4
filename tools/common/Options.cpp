// Parsing and conversion of options; no subcommand's names in here.
#include "Options.h"

#include "Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;
using llvm::opt::Arg;

/// Options whose value is a file to write, where a subcommand has them.
static constexpr StringRef outputOptions[] = {"--json",    "--csv",  "--trace",          "--plot",
                                              "--picture", "--emit", "--worker-results"};

static Error usageError(const CommandLine &command, const std::string &what) {
  return invalidInput(what + "; see '" + programName.str() + " " + command.name + " --help'");
}

/// What to say of the option `spelling`, which `command` does not have.
static Error unknownOption(const CommandLine &command, const std::string &spelling) {
  // Others that share the table may have it.
  unsigned index = 0, count = 0;
  const char *text = spelling.c_str();
  llvm::opt::InputArgList elsewhere = command.table->ParseArgs(text, index, count, llvm::opt::Visibility(~0u));
  if (!elsewhere.hasArg(command.unknownId))
    return usageError(command, "option '" + StringRef(spelling).split('=').first.str() + "' has no effect on '" +
                                   command.name + "'; leave it out");
  std::string nearest, hint;
  if (command.table->findNearest(spelling, nearest, command.visibility()) <= 2)
    hint = ", did you mean '" + nearest + "'?";
  return usageError(command, "unknown option '" + spelling + "'" + hint);
}

Result<Options> Options::parse(const CommandLine &command, llvm::ArrayRef<const char *> args) {
  unsigned missingIndex = 0, missingCount = 0;
  Options options(command,
                  command.table->ParseArgs(args, missingIndex, missingCount, command.visibility()));
  options.help = options.has(command.helpId);
  if (options.help)
    return options;
  if (missingCount != 0)
    return usageError(command, "option '" + std::string(args[missingIndex]) + "' needs a value");
  if (const Arg *unknown = options.list.getLastArg(command.unknownId))
    return unknownOption(command, unknown->getAsString(options.list));
  // What takes minutes should not end with a file that cannot be written.
  WrittenFiles written;
  for (const Arg *arg : options.list) {
    std::string name = arg->getOption().getPrefixedName().str();
    if (!llvm::is_contained(outputOptions, name))
      continue;
    if (Status status = checkWritable(arg->getValue()); !status.ok())
      return status.error();
    if (Status status = written.add(arg->getValue(), "'" + name + "'"); !status.ok())
      return status.error();
  }
  return options;
}

void Options::printHelp() const {
  std::string usage = (programName + " " + command.name + " " + command.usage).str();
  command.table->printHelp(llvm::outs(), usage.c_str(), command.title.c_str(),
                           /*ShowHidden=*/false, /*ShowAllAliases=*/false, command.visibility());
}

std::string Options::string(unsigned id, StringRef fallback) const {
  wasRead(id);
  return list.getLastArgValue(id, fallback).str();
}

Error Options::badValue(unsigned id, StringRef value, const std::string &wanted) const {
  return usageError(command, "option '" + command.table->getOptionPrefixedName(id).str() +
                                 "' has the value '" + value.str() + "', expected " + wanted);
}

Result<int64_t> Options::integer(unsigned id, int64_t fallback, int64_t low, int64_t high) const {
  wasRead(id);
  const Arg *arg = list.getLastArg(id);
  if (!arg)
    return fallback;
  int64_t value;
  StringRef text = arg->getValue();
  if (text.getAsInteger(10, value) || value < low || value > high)
    return badValue(id, text,
                    "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

Result<uint64_t> Options::seed(unsigned id) const {
  wasRead(id);
  const Arg *arg = list.getLastArg(id);
  uint64_t value = 0;
  if (arg && StringRef(arg->getValue()).getAsInteger(0, value))
    return badValue(id, arg->getValue(), "an unsigned 64-bit integer");
  return value;
}

Result<double> Options::real(unsigned id) const {
  wasRead(id);
  StringRef text = list.getLastArgValue(id);
  double value;
  if (text.getAsDouble(value) || !std::isfinite(value))
    return badValue(id, text, "a finite number");
  return value;
}

Result<runtime::Dim3> Options::dim3(unsigned id) const {
  wasRead(id);
  const Arg *arg = list.getLastArg(id);
  if (!arg)
    return missing(id);
  StringRef text = arg->getValue();
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  uint32_t values[3] = {1, 1, 1};
  bool right = parts.size() <= 3;
  for (size_t i = 0; right && i != parts.size(); ++i)
    right = !parts[i].getAsInteger(10, values[i]);
  if (!right)
    return badValue(id, text, "up to three integers as in '4,2,1'");
  return runtime::Dim3{values[0], values[1], values[2]};
}

Result<std::string> Options::onlyInput(StringRef what) const {
  std::vector<std::string> inputs = list.getAllArgValues(command.inputId);
  if (inputs.size() == 1)
    return inputs.front();
  if (inputs.empty())
    return usageError(command, "no " + what.str() + " given");
  return usageError(command, "one " + what.str() + " is needed, found '" + inputs[0] + "' and '" +
                                 inputs[1] + "'");
}

Error Options::missing(unsigned id) const {
  return usageError(command,
                    "option '" + command.table->getOptionPrefixedName(id).str() + "' is missing");
}

Status Options::refuseUnread(StringRef where, const Options *others) const {
  for (const Arg *arg : list) {
    llvm::opt::Option option = arg->getOption().getUnaliasedOption();
    unsigned id = option.getID();
    bool isUsed = read->contains(id) || llvm::is_contained({command.inputId, command.unknownId, command.helpId}, id);
    if (!isUsed && !(others && others->list.hasArg(id) && list.getAllArgValues(id) == others->list.getAllArgValues(id)))
      return usageError(command, "option '" + option.getPrefixedName().str() + "' has no effect on '" +
                                     (where.empty() ? command.name : where.str()) + "'; leave it out");
  }
  return Status::success();
}

Status Options::noInputs() const {
  std::vector<std::string> inputs = list.getAllArgValues(command.inputId);
  if (inputs.empty())
    return Status::success();
  return usageError(command, "unexpected argument '" + inputs.front() + "'");
}

Result<int> run::runSubcommand(const CommandLine &command, llvm::ArrayRef<const char *> args,
                               llvm::function_ref<Result<int>(const Options &)> work) {
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (!options->wantsHelp())
    return work(*options);
  options->printHelp();
  return exitRight;
}
