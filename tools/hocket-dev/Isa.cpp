// hocket-dev isa: which instructions of a chip the simulator implements.
#define HOCKET_OPTIONS_INC "IsaOptions.inc"
#include "DevSubcommands.h"
#include "OptionTable.h"
#include "Output.h"

#include "Simulator/Coverage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using sim::Coverage;
using sim::CoveredInstruction;
using sim::CoveredOpcode;
namespace json = llvm::json;

namespace {
struct Section {
  CoveredInstruction::State state;
  const char *name;
};
constexpr Section sections[] = {{CoveredInstruction::Implemented, "implemented"},
                                {CoveredInstruction::Excluded, "excluded"},
                                {CoveredInstruction::Missing, "missing"}};
} // namespace

static void writeInstruction(json::OStream &out, const CoveredInstruction &instruction) {
  out.attribute("mnemonic", instruction.mnemonic);
  if (!instruction.reason.empty())
    out.attribute("reason", instruction.reason);
  out.attributeArray("opcodes", [&] {
    for (const CoveredOpcode &opcode : instruction.opcodes)
      out.object([&] {
        out.attribute("format", opcode.format);
        out.attribute("opcode", opcode.opcode);
      });
  });
}

static std::string toJson(const Coverage &coverage) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("architecture", coverage.architecture);
    out.attribute("encodings_tried", static_cast<int64_t>(coverage.encodingsTried));
    for (const Section &section : sections)
      out.attributeArray(section.name, [&] {
        for (const CoveredInstruction &instruction : coverage.instructions)
          if (instruction.state == section.state)
            out.object([&] { writeInstruction(out, instruction); });
      });
  });
  stream << '\n';
  return text;
}

static void print(llvm::raw_ostream &out, const Coverage &coverage) {
  for (const Section &section : sections) {
    if (coverage.count(section.state) == 0)
      continue;
    out << section.name << ":\n";
    for (const CoveredInstruction &instruction : coverage.instructions) {
      if (instruction.state != section.state)
        continue;
      out << "  " << llvm::left_justify(instruction.mnemonic, 36);
      llvm::ListSeparator comma;
      for (const CoveredOpcode &opcode : instruction.opcodes)
        out << comma << opcode.format << ' ' << llvm::format_hex(opcode.opcode, 4);
      if (!instruction.reason.empty())
        out << ": " << instruction.reason;
      out << '\n';
    }
  }
  out << llvm::formatv("{0}: {1} encodings tried;", coverage.architecture, coverage.encodingsTried);
  llvm::ListSeparator comma;
  for (const Section &section : sections)
    out << comma
        << llvm::formatv(" {0} instructions ({1} opcodes) {2}", coverage.count(section.state),
                         coverage.opcodes(section.state), section.name);
  out << '\n';
}

static Result<int> runIsa(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  if (!options.has(OPT_coverage))
    return invalidInput("nothing to show; give '--coverage'");
  Result<Coverage> coverage = sim::coverInstructions(options.string(OPT_arch, "gfx950"));
  if (!coverage.ok())
    return coverage.error();
  const std::string json = options.string(OPT_json);
  if (json.empty())
    print(llvm::outs(), *coverage);
  if (Status status = writeJson(json, toJson(*coverage)); !status.ok())
    return status.error();
  return coverage->count(CoveredInstruction::Missing) == 0 ? exitRight : exitWrong;
}

Result<int> run::isaCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"isa",
                      "--coverage [options]",
                      "Shows which instructions of a chip the simulator implements; exit status 1 "
                      "if any is missing without a reason",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runIsa);
}
