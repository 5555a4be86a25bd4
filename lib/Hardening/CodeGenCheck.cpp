// The last look at a module in its own terms: its kernels, and the assembly in it.
#include "Hardening/CodeGenCheck.h"

#include "Hardening/RecursionCheck.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

using namespace hocket;
using llvm::StringRef;

static Status checkAssembly(StringRef text, const std::string &name) {
  for (StringRef directive : {".include", ".incbin"})
    if (text.contains_insensitive(directive))
      return invalidInput(name + ": '" + directive.str() +
                          "' is not followed; put the file's content in place of the directive");
  return checkRecursion(text, name, Language::Assembly);
}

/// Constraints on which code generation crashes: MLIR does not look at them, and LLVM not at
/// results in memory that are no pointers.
static Status checkConstraints(const llvm::InlineAsm &assembly, const std::string &name) {
  std::string constraints = assembly.getConstraintString().str();
  auto refused = [&](const std::string &why) {
    return invalidInput(name + ": constraints '" + constraints + "' are not possible: " +
                        why + "; see 'Inline Assembler Expressions' in LLVM's language reference");
  };
  if (llvm::Error error = llvm::InlineAsm::verify(assembly.getFunctionType(), constraints))
    return refused(llvm::toString(std::move(error)));
  for (const llvm::InlineAsm::ConstraintInfo &constraint : assembly.ParseConstraints())
    if (constraint.Type == llvm::InlineAsm::isOutput && !constraint.isIndirect &&
        llvm::is_contained(constraint.Codes, "m"))
      return refused("a result in memory needs a pointer, '=*m'");
  return Status::success();
}

static Status checkInlineAssembly(const llvm::Function &function) {
  for (const llvm::Instruction &instruction : llvm::instructions(function)) {
    const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call)
      continue;
    const auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
    if (!assembly)
      continue;
    std::string name = "<inline assembly of '" + function.getName().str() + "'>";
    if (Status status = checkAssembly(assembly->getAsmString(), name); !status)
      return status;
    if (Status status = checkConstraints(*assembly, name); !status)
      return status;
  }
  return Status::success();
}

static bool isKernel(const llvm::Function &function) {
  return !function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

Status hocket::verifyBeforeCodeGen(const llvm::Module &module, StringRef name) {
  if (llvm::none_of(module, isKernel))
    return invalidInput("'" + name.str() +
                        "' has no kernel to compile; describe one with 'attn.forward' or "
                        "'tile.kernel', or mark a function with 'rocdl.kernel' (LLVM IR: "
                        "'amdgpu_kernel')");
  for (const llvm::Function &function : module)
    if (Status status = checkInlineAssembly(function); !status)
      return status;
  return checkAssembly(module.getModuleInlineAsm(), "<module assembly>");
}
