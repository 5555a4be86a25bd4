// hocket-run time-parameters: the cycle model's table, as the page that documents it, for one chip,
// or as data.
#define HOCKET_OPTIONS_INC "TimeParametersOptions.inc"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"
#include "TimeRequest.h"

#include "Grid/TimeParameters.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using sim::TimeParameterInfo;
using sim::TimeParameters;

static std::string toJson(const std::string &arch, const TimeParameters &values) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("architecture", arch);
    out.attributeArray("parameters", [&] {
      for (const TimeParameterInfo &info : sim::timeParameterTable())
        out.object([&] {
          out.attribute("key", llvm::StringRef(info.key));
          out.attribute("value", values.*info.field);
          out.attribute("unit", llvm::StringRef(info.unit));
          out.attribute("meaning", llvm::StringRef(info.text));
          out.attribute("source", llvm::StringRef(info.source));
          out.attribute("confidence", llvm::StringRef(info.confidence));
        });
    });
  });
  stream << '\n';
  return text;
}

static void print(llvm::raw_ostream &out, const TimeParameters &values) {
  for (const TimeParameterInfo &info : sim::timeParameterTable())
    out << llvm::left_justify(info.key, 28) << llvm::format(" %10g ", values.*info.field)
        << llvm::left_justify(info.unit, 18) << ' ' << info.text << '\n';
}

static Result<int> runTimeParameters(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  Result<TimeParameters> given = readTimeParameters(options.string(OPT_time_file), {});
  if (!given.ok())
    return given.error();
  const std::string &chip = given->chipOfFile();
  std::string name = options.string(OPT_arch, chip.empty() ? "gfx950" : chip);
  Result<const ArchInfo *> arch = findArch(name);
  if (!arch.ok())
    return arch.error();
  if (Status status = given->check(**arch); !status.ok())
    return status.error();
  TimeParameters values = given->on(**arch);
  if (options.has(OPT_json)) {
    Status status = writeJson(options.string(OPT_json), toJson(name, values));
    return status.ok() ? Result<int>(exitRight) : status.error();
  }
  if (options.has(OPT_arch) || options.has(OPT_time_file))
    print(llvm::outs(), values);
  else
    llvm::outs() << sim::timeParameterPage();
  return exitRight;
}

Result<int> run::timeParametersCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"time-parameters",
                      "[--arch CHIP] [--time-file FILE] [--json FILE]",
                      "Prints the parameters of the cycle model with value, unit, source and "
                      "confidence",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runTimeParameters);
}
