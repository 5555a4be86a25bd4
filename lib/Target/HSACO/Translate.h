// From the LLVM dialect to an LLVM module: stage `rocdl` to stage `llvm`.
//
// Functions with `rocdl.kernel` become kernels. `rocdl.flat_work_group_size`,
// `rocdl.waves_per_eu` and `passthrough` reach the LLVM function as attributes.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace hocket::hsaco {

/// What translation may be told.
struct TranslateOptions {
  bool debugInfo = false; ///< line tables from the operations' locations; never changes the code
};

/// Translates `module`, which may hold only `llvm` and `rocdl` operations. With debug information,
/// scopes are first attached to the functions in `module`; without, none is translated. Returns
/// null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              const TranslateOptions &options = {});

} // namespace hocket::hsaco
