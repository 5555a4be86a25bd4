// Emission: what is refused and how, and that bytes depend on the module alone.
#include "TestKernels.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::hsaco;
using namespace hocket::hsaco::testing_kernels;

static std::string errorOf(const std::string &text, const EmitOptions &options = {}) {
  Result<Emitted> emitted = emitText(text, options);
  if (emitted)
    return "";
  EXPECT_EQ(emitted.error().kind, ErrorKind::InvalidInput) << emitted.error().message;
  return emitted.error().message;
}

TEST(Emit, RefusesAModuleForAnotherMachine) {
  EXPECT_EQ(errorOf("target triple = \"x86_64-pc-linux-gnu\"\n" + scaleKernel(0)),
            "module is for 'x86_64-pc-linux-gnu', 'amdgcn-amd-amdhsa' is needed; change or remove "
            "its target triple");
}

TEST(Emit, RefusesAnotherDataLayout) {
  EXPECT_THAT(errorOf("target datalayout = \"e-p:32:32\"\n" + scaleKernel(0)),
              testing::HasSubstr("module has data layout 'e-p:32:32'"));
}

TEST(Emit, RefusesAFunctionForAnotherProcessor) {
  EXPECT_EQ(errorOf("define amdgpu_kernel void @k() \"target-cpu\"=\"gfx942\" { ret void }"),
            "function 'k' is for 'gfx942', the target is 'gfx950'; remove its 'target-cpu'");
}

TEST(Emit, RefusesAModuleWithoutKernels) {
  EXPECT_EQ(errorOf("define void @f() { ret void }"),
            "module has no kernel to emit; mark a function with 'rocdl.kernel' (LLVM IR: "
            "'amdgpu_kernel')");
}

TEST(Emit, RefusesAnUndefinedFunction) {
  EXPECT_EQ(errorOf("declare void @ext()\n"
                    "define amdgpu_kernel void @k() { call void @ext() ret void }"),
            "function 'ext' is used but not defined, and a code object is linked alone; define it "
            "in the module");
}

TEST(Emit, RefusesWhatTheVerifierRefuses) {
  EXPECT_THAT(errorOf("define amdgpu_kernel i32 @k() { ret i32 0 }"),
              testing::HasSubstr("LLVM rejects the module: "));
}

TEST(Emit, RefusesTooMuchLds) {
  EXPECT_EQ(errorOf("@lds = internal addrspace(3) global [200000 x i8] poison\n"
                    "define amdgpu_kernel void @k(i32 %i) {\n"
                    "  %p = getelementptr i8, ptr addrspace(3) @lds, i32 %i\n"
                    "  store volatile i8 1, ptr addrspace(3) %p\n  ret void\n}"),
            "code generation failed: local memory (200000) exceeds limit (163840) in function 'k'");
}

TEST(Emit, RefusesABadAttributeOnce) {
  EXPECT_EQ(errorOf("define amdgpu_kernel void @k(ptr addrspace(1) %p) "
                    "\"amdgpu-flat-work-group-size\"=\"banana\" {\n"
                    "  store i32 1, ptr addrspace(1) %p\n  ret void\n}"),
            "code generation failed: can't parse first integer attribute "
            "amdgpu-flat-work-group-size");
}

TEST(Emit, RefusesBadInlineAssembly) {
  EXPECT_THAT(errorOf("define amdgpu_kernel void @k() {\n"
                      "  call void asm sideeffect \"v_bogus v0\", \"\"()\n  ret void\n}"),
              testing::HasSubstr("invalid instruction"));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOCKET_LEAKS_ARE_ERRORS
#endif
#endif
#ifndef HOCKET_LEAKS_ARE_ERRORS
/// LLVM ends the process here by itself; what it abandons is leaked by design. The process must
/// stay usable.
TEST(Emit, SurvivesWhatLLVMCannotSelect) {
  const std::string bad =
      "declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x "
      "half>, <8 x float>)\n"
      "define amdgpu_kernel void @k(ptr addrspace(1) %p, <16 x half> %a, <8 x float> %c) {\n"
      "  %r = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 "
      "x half> %a, <8 x float> %c)\n"
      "  store <8 x float> %r, ptr addrspace(1) %p\n  ret void\n}";
  for (int repeat = 0; repeat < 2; ++repeat)
    EXPECT_EQ(errorOf(bad), "code generation failed: Cannot select: intrinsic "
                            "%llvm.amdgcn.wmma.f32.16x16x16.f16");
  EXPECT_TRUE(compileText(scaleKernel(1)).ok());
}
#endif

TEST(Emit, RefusesAnUnknownProcessor) {
  EmitOptions options;
  options.cpu = "gfx000";
  Result<Emitted> emitted = emitText(scaleKernel(0), options);
  ASSERT_FALSE(emitted.ok());
  EXPECT_EQ(emitted.error().kind, ErrorKind::Unsupported);
}

TEST(Emit, DoesNotDependOnWhatWasCompiledBefore) {
  Result<Emitted> first = emitText(scaleKernel(3));
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(emitText(scaleKernel(5)).ok());
  ASSERT_TRUE(compileText(scaleKernel(1)).ok());
  Result<Emitted> second = emitText(scaleKernel(3));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->assembly, second->assembly);
  EXPECT_EQ(first->object, second->object);
}

/// The text and the object are the same program: assembling the text gives the object.
TEST(Emit, AssemblyAndObjectAgree) {
  Result<Emitted> emitted = emitText(scaleKernel(2));
  ASSERT_TRUE(emitted.ok());
  EXPECT_THAT(emitted->assembly, testing::HasSubstr("scale2:"));
  Result<llvm::SmallVector<char, 0>> again = assemble(emitted->assembly);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, emitted->object);
}

TEST(Emit, HidesEverythingButKernels) {
  Result<Emitted> emitted = emitText("define void @helper(ptr addrspace(1) %p) noinline {\n"
                                     "  store volatile i32 1, ptr addrspace(1) %p\n  ret void\n}\n"
                                     "define amdgpu_kernel void @k(ptr addrspace(1) %p) {\n"
                                     "  call void @helper(ptr addrspace(1) %p)\n  ret void\n}\n");
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_THAT(emitted->assembly, testing::HasSubstr(".protected\tk"));
  EXPECT_THAT(emitted->assembly, testing::Not(testing::HasSubstr(".globl\thelper")));
}
