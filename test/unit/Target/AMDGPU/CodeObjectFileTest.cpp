// Files that are no code objects are refused with the reason, never read out of bounds.
#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/McContext.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;

static std::string errorOf(llvm::StringRef bytes) {
  Result<std::vector<KernelCode>> kernels = readKernels(bytes, "f.hsaco");
  return kernels ? "" : kernels.error().message;
}

TEST(CodeObjectFile, RefusesWhatIsNoElfFile) {
  const std::string wanted = "'f.hsaco' is no valid AMDGPU code object: it is no ELF file";
  EXPECT_EQ(errorOf(""), wanted);
  EXPECT_EQ(errorOf(std::string(4096, 'x')), wanted);
}

TEST(CodeObjectFile, RefusesAnObjectThatWasNotLinked) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<char, 0>> object = assemble(**target, "s_endpgm\n");
  ASSERT_TRUE(object.ok());
  const llvm::StringRef bytes(object->data(), object->size());
  EXPECT_EQ(errorOf(bytes),
            "'f.hsaco' is no valid AMDGPU code object: it has no AMDGPU metadata note");
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_NE(errorOf(bytes.take_front(size)), "") << "truncated to " << size << " bytes";
}

TEST(CodeObjectFile, RefusesAnotherMachine) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<char, 0>> object = assemble(**target, "s_endpgm\n");
  ASSERT_TRUE(object.ok());
  (*object)[18] = 62; // e_machine: x86-64
  (*object)[19] = 0;
  EXPECT_EQ(errorOf({object->data(), object->size()}),
            "'f.hsaco' is no valid AMDGPU code object: it is an ELF file for another machine");
}

TEST(CodeObjectFile, FindsSections) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<char, 0>> object = assemble(**target, "s_endpgm\n");
  ASSERT_TRUE(object.ok());
  const llvm::StringRef bytes(object->data(), object->size());
  EXPECT_EQ(sectionContents(bytes, ".text").size(), 4u);
  EXPECT_EQ(sectionContents(bytes, ".nothing"), "");
  EXPECT_EQ(sectionContents("no ELF", ".text"), "");
}
