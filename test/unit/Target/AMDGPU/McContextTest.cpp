// The MC layer: processors, the assembler's errors, and decoding what was assembled.
#include "Target/AMDGPU/Disassembler.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;

TEST(McTarget, RefusesAnUnknownProcessor) {
  for (const char *cpu : {"gfx123456", "", "x86-64"}) {
    Result<std::shared_ptr<const McTarget>> target = McTarget::create(cpu);
    ASSERT_FALSE(target.ok()) << cpu;
    EXPECT_EQ(target.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(target.error().message,
              "unknown AMDGPU processor '" + std::string(cpu) + "'; 'gfx950' is supported");
  }
}

TEST(Assemble, NamesLineAndColumnOfEveryError) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<char, 0>> object =
      assemble(**target, "s_nop 0\n  v_bogus v0\ns_nop 0\nv_also_bogus\n", "in.s");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().kind, ErrorKind::InvalidInput);
  EXPECT_EQ(object.error().message,
            "in.s:2:3: invalid instruction\nin.s:4:1: error: invalid instruction");
}

TEST(Assemble, RefusesInstructionsOfOtherChips) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx942");
  ASSERT_TRUE(target.ok());
  EXPECT_FALSE(assembleCode(**target, "ds_read_b64_tr_b16 v[0:1], v2").ok());
}

TEST(Disassembler, GivesAddressesBytesAndText) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<uint8_t, 0>> code =
      assembleCode(**target, "s_barrier\nv_add_u32_e32 v0, 0x12345, v1\ns_endpgm\n");
  ASSERT_TRUE(code.ok()) << code.error().message;
  const Disassembler disassembler(*target);
  Result<std::vector<Instruction>> all = disassembler.decodeAll(*code, 0x1000);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1].address, 0x1004u);
  EXPECT_EQ((*all)[1].bytes.size(), 8u);
  EXPECT_EQ((*all)[2].address, 0x100cu);
  EXPECT_EQ(disassembler.text((*all)[1]), "v_add_u32_e32 v0, 0x12345, v1");
}

TEST(Disassembler, NamesBytesThatAreNoInstruction) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  const Disassembler disassembler(*target);
  const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff};
  Result<Instruction> instruction = disassembler.decode(bytes, 0x40);
  ASSERT_FALSE(instruction.ok());
  EXPECT_EQ(instruction.error().message,
            "bytes ffffffff at address 0x40 are no instruction of 'gfx950'");
}

/// A truncated instruction must not be read past its end.
TEST(Disassembler, RefusesATruncatedInstruction) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<uint8_t, 0>> code = assembleCode(**target, "ds_read_b32 v0, v1");
  ASSERT_TRUE(code.ok());
  const Disassembler disassembler(*target);
  EXPECT_FALSE(disassembler.decode(llvm::ArrayRef(*code).take_front(4), 0).ok());
  EXPECT_FALSE(disassembler.decode(llvm::ArrayRef(*code).take_front(2), 0).ok());
}
