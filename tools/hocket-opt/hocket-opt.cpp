// hocket-opt: every pass of Hocket on its own, for lit tests and for looking at one stage.
//
// Help shows the passes first, then MLIR's options; the hundreds that LLVM's libraries bring along
// still work and are shown by --help-hidden.
#include "Registration/Registration.h"
#include "hocket/Support/Version.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

/// Hides what was registered so far: the options of LLVM's libraries, all but the general ones.
static void hideLibraryOptions() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (!name.starts_with("help") && !name.starts_with("version"))
      option->setHiddenFlag(cl::Hidden);
}

/// Moves the list of passes, one option for all of them, to the top: help sorts categories by name.
static void showPassesFirst() {
  static cl::OptionCategory category("Compiler passes");
  auto &options = cl::getRegisteredOptions();
  if (auto pass = options.find("convert-attn-to-tile"); pass != options.end())
    pass->second->addCategory(category);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << hocket::versionLine("hocket-opt", LLVM_VERSION_STRING); });
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  hocket::registerPasses();
  hideLibraryOptions();
  std::string header = mlir::registerCLIOptions("Hocket's optimizer driver\n", registry);
  showPassesFirst();
  auto [input, output] = mlir::parseCLIOptions(argc, argv, header);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
