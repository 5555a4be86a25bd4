// Small kernels as LLVM IR, and the whole path from text to code object for tests.
#pragma once

#include "Target/HSACO/Emit.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>
#include <string>

namespace hocket::hsaco::testing_kernels {

/// Multiplies every element by `factor` and adds `terms` rotated neighbours: kernels that differ.
inline std::string scaleKernel(unsigned number) {
  const std::string n = std::to_string(number);
  std::string body;
  for (unsigned term = 0; term <= number; ++term) {
    const std::string t = std::to_string(term), next = std::to_string(term + 1);
    body += "  %v" + next + " = fmul float %v" + t + ", " + std::to_string(term + 2) + ".0\n";
  }
  return "@lds = internal addrspace(3) global [" + std::to_string(256 * (number + 1)) +
         " x i8] poison, align 16\n"
         "declare i32 @llvm.amdgcn.workitem.id.x()\n"
         "define amdgpu_kernel void @scale" +
         n +
         "(ptr addrspace(1) %p) #0 {\n"
         "  %id = call i32 @llvm.amdgcn.workitem.id.x()\n"
         "  %q = getelementptr float, ptr addrspace(1) %p, i32 %id\n"
         "  %l = getelementptr float, ptr addrspace(3) @lds, i32 %id\n"
         "  %v0 = load float, ptr addrspace(1) %q\n" +
         body + "  store volatile float %v" + std::to_string(number + 1) +
         ", ptr addrspace(3) %l\n"
         "  store float %v" +
         std::to_string(number + 1) +
         ", ptr addrspace(1) %q\n"
         "  ret void\n}\n"
         "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"64,64\" }\n";
}

/// Emits LLVM IR text; a parse error fails the test.
inline Result<Emitted> emitText(const std::string &text, const EmitOptions &options = {}) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  if (!module)
    return invalidInput("test kernel: " + diagnostic.getMessage().str());
  return optimizeAndEmit(*module, options);
}

/// Emits and links.
inline Result<llvm::SmallVector<char, 0>> compileText(const std::string &text) {
  Result<Emitted> emitted = emitText(text);
  if (!emitted)
    return emitted.error();
  return link({emitted->object.data(), emitted->object.size()});
}

} // namespace hocket::hsaco::testing_kernels
