// What must hold of an LLVM module before the code generator sees it.
//
// LLVM would say it without the input's name and in words of its own stage, or not survive it: the
// code generator parses the assembly inside a module with the recursive parser of the stage `asm`.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace hocket {

/// `InvalidInput` if `module`, made from the input `name`, has no kernel, or assembly in it nests
/// too deeply or names a file to include.
Status verifyBeforeCodeGen(const llvm::Module &module, llvm::StringRef name);

} // namespace hocket
