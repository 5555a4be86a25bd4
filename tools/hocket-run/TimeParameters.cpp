// hocket-run time-parameters: the cycle model's table, as the page that documents it.
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Simulator/TimeParameters.h"

#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;

Result<int> run::timeParametersCommand(llvm::ArrayRef<const char *> args) {
  if (!args.empty() &&
      (llvm::StringRef(args.front()) == "--help" || args.front() == std::string("-h"))) {
    llvm::outs() << "USAGE: hocket-run time-parameters\n\nPrints the parameters of the cycle model "
                    "with value, unit, source and confidence\n";
    return exitRight;
  }
  if (!args.empty())
    return invalidInput("unexpected argument '" + std::string(args.front()) +
                        "'; 'hocket-run time-parameters' takes none");
  llvm::outs() << sim::timeParameterPage();
  return exitRight;
}
