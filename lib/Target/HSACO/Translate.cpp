// Translates the LLVM dialect with upstream's exporter and keeps or drops debug information.
//
// Line tables need a scope on each function; upstream's pass derives it from the locations. Without
// `-g` whatever debug information the input carried is dropped, so that the code cannot depend on
// it.
#include "Target/HSACO/Translate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DebugInfo.h"

namespace hocket::hsaco {

static mlir::LogicalResult attachDebugScopes(mlir::ModuleOp module) {
  mlir::LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = mlir::LLVM::DIEmissionKind::LineTablesOnly;
  mlir::PassManager passes(module.getContext());
  passes.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass(options));
  return passes.run(module);
}

std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              const TranslateOptions &options) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerROCDLDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  if (options.debugInfo && mlir::failed(attachDebugScopes(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, /*name=*/"hocket");
  if (translated && !options.debugInfo)
    llvm::StripDebugInfo(*translated);
  return translated;
}

} // namespace hocket::hsaco
