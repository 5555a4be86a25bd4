// From an LLVM module to gfx950 assembly, an object file and a linked code object, in process.
//
// There is one path: the optimised module is emitted as assembly, and the assembly is assembled.
// So the text a user reads and the bytes a GPU runs agree by construction, and both are a function
// of the module and the options alone: no command-line option of LLVM is read, no global is set.
// Every function here may be called from many threads, each with an LLVMContext of its own.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace llvm {
class Module;
}

namespace hocket::hsaco {

/// What emission may be told.
struct EmitOptions {
  std::string cpu = "gfx950"; ///< LLVM's processor name
  bool optimize = true;       ///< run the middle end before code generation
};

/// Machine code before linking.
struct Emitted {
  std::string assembly;              ///< what LLVM's assembler reads
  llvm::SmallVector<char, 0> object; ///< relocatable ELF assembled from `assembly`
};

/// Makes `module` fit for emission: triple, data layout, processor, code-object version 6, internal
/// linkage for everything but kernels, protected kernels. Refuses (`InvalidInput`) a module for
/// another machine or processor, one without kernels, and one that LLVM's verifier rejects.
Status prepareModule(llvm::Module &module, const EmitOptions &options);

/// Prepares, optimises and emits `module`, which is changed by it. What the back end rejects
/// (an intrinsic or type it cannot select, too much LDS) comes back as an `InvalidInput` error.
Result<Emitted> optimizeAndEmit(llvm::Module &module, const EmitOptions &options = {});

/// Assembles gfx950 assembly as `optimizeAndEmit` does: the stage `asm` on its own.
Result<llvm::SmallVector<char, 0>> assemble(llvm::StringRef assembly,
                                            const EmitOptions &options = {},
                                            llvm::StringRef name = "<assembly>");

/// Links one relocatable object into a code object. Equal objects give equal bytes; no name of a
/// file enters them. lld is not re-entrant: links of a process run one after the other. LLVM's
/// command-line options keep their values; none may be registered or parsed during a link.
Result<llvm::SmallVector<char, 0>> link(llvm::StringRef object);

} // namespace hocket::hsaco
