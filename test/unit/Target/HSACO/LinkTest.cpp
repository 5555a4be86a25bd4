// Linking: errors, and eight threads that compile eight kernels.
#include "TestKernels.h"

#include "Target/AMDGPU/CodeObjectFile.h"

#include "llvm/Support/CommandLine.h"

#include <gmock/gmock.h>
#include <thread>

using namespace hocket;
using namespace hocket::hsaco;
using namespace hocket::hsaco::testing_kernels;

TEST(Link, RefusesWhatIsNoObject) {
  Result<llvm::SmallVector<char, 0>> linked = link("this is no object file");
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().kind, ErrorKind::InvalidInput);
  EXPECT_THAT(linked.error().message, testing::StartsWith("cannot link the code object: "));
  EXPECT_THAT(linked.error().message, testing::Not(testing::HasSubstr("/proc")));
  // The linker is still usable.
  EXPECT_TRUE(compileText(scaleKernel(0)).ok());
}

TEST(Link, NamesNoFileInTheOutput) {
  Result<llvm::SmallVector<char, 0>> linked = compileText(scaleKernel(0));
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  const llvm::StringRef bytes(linked->data(), linked->size());
  EXPECT_FALSE(bytes.contains("/proc"));
  EXPECT_FALSE(bytes.contains("hocket"));
}

/// Larger than a pipe holds, so the reader must run while lld writes.
TEST(Link, PassesLargeOutputs) {
  std::string text = "@table = addrspace(4) constant [100000 x i32] [";
  for (unsigned i = 0; i < 100000; ++i)
    text += (i ? ", i32 " : "i32 ") + std::to_string(i * 2654435761u);
  text += "]\ndefine amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %i) {\n"
          "  %q = getelementptr i32, ptr addrspace(4) @table, i32 %i\n"
          "  %v = load i32, ptr addrspace(4) %q\n"
          "  store i32 %v, ptr addrspace(1) %p\n  ret void\n}\n";
  Result<llvm::SmallVector<char, 0>> linked = compileText(text);
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  EXPECT_GT(linked->size(), 400000u);
  Result<std::vector<amdgpu::KernelCode>> kernels =
      amdgpu::readKernels({linked->data(), linked->size()});
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  EXPECT_EQ(kernels->front().name, "k");
}

/// A kernel of assembly whose symbol has no `.size`.
static std::string sizeless(const std::string &name, const std::string &body) {
  return ".text\n.globl " + name + "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n" +
         body + ".section .rodata,\"a\"\n.p2align 6\n.amdhsa_kernel " + name +
         "\n.amdhsa_next_free_vgpr 4\n.amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 4\n"
         ".end_amdhsa_kernel\n";
}
static std::string metadataOf(const std::string &name) {
  return "  - .name: " + name + "\n    .symbol: " + name +
         ".kd\n    .kernarg_segment_size: 0\n    .kernarg_segment_align: 8\n"
         "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n"
         "    .wavefront_size: 64\n    .sgpr_count: 8\n    .vgpr_count: 4\n"
         "    .max_flat_workgroup_size: 64\n";
}

/// Hand-written code objects leave the size of symbols out: a kernel then ends where the next one
/// begins, or with its section, in both cases before the padding.
TEST(Link, KernelsWhoseSymbolsHaveNoSizeAreRead) {
  const std::string text =
      sizeless("first", "v_mov_b32 v0, 1\ns_endpgm\n") +
      sizeless("second", "s_nop 0\ns_nop 0\nv_mov_b32 v0, 2\ns_endpgm\n.fill 8, 4, 0\n") +
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n" + metadataOf("first") +
      metadataOf("second") + "...\n.end_amdgpu_metadata\n";
  Result<llvm::SmallVector<char, 0>> object = assemble(text);
  ASSERT_TRUE(object.ok()) << object.error().message;
  Result<llvm::SmallVector<char, 0>> linked = link({object->data(), object->size()});
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  Result<std::vector<amdgpu::KernelCode>> kernels =
      amdgpu::readKernels({linked->data(), linked->size()});
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].code.size(), 8u);
  EXPECT_EQ((*kernels)[1].code.size(), 16u);
}

static llvm::cl::opt<std::string> hostOption("hocket-link-test-option", llvm::cl::init("default"));

/// lld resets all of LLVM's options; those of the program that links must survive it.
TEST(Link, LeavesCommandLineOptionsAlone) {
  hostOption.setValue("set by the host");
  ASSERT_TRUE(compileText(scaleKernel(0)).ok());
  EXPECT_EQ(hostOption, "set by the host");
  EXPECT_EQ(llvm::cl::getRegisteredOptions().count("hocket-link-test-option"), 1u);
}

TEST(Link, EightThreadsGiveTheBytesOfOne) {
  constexpr unsigned count = 8;
  std::vector<llvm::SmallVector<char, 0>> alone(count), together(count);
  for (unsigned i = 0; i < count; ++i) {
    Result<llvm::SmallVector<char, 0>> linked = compileText(scaleKernel(i));
    ASSERT_TRUE(linked.ok()) << linked.error().message;
    alone[i] = *std::move(linked);
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([i, &together] {
      for (int repeat = 0; repeat < 3; ++repeat) {
        Result<llvm::SmallVector<char, 0>> linked = compileText(scaleKernel(i));
        if (linked)
          together[i] = *std::move(linked);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_EQ(alone[i], together[i]) << "kernel " << i;
    EXPECT_NE(alone[i], alone[(i + 1) % count]);
  }
}
