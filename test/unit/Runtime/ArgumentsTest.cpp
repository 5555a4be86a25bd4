// Packing puts values where the metadata says and refuses everything that does not fit.
#include "hocket/Runtime/Arguments.h"
#include "TestSupport.h"

using namespace hocket;
using namespace hocket::runtime;

/// (pointer p, i32 n, 12-byte struct s, hidden block count)
static KernelInfo makeKernel() {
  KernelInfo kernel;
  kernel.name = "k";
  kernel.kernargSize = 32;
  kernel.arguments = {{"p", "global_buffer", 0, 8},
                      {"n", "by_value", 8, 4},
                      {"s", "by_value", 12, 12},
                      {"", "hidden_block_count_x", 24, 4}};
  return kernel;
}

static ArgumentValue structValue() {
  return {"bytes", std::vector<std::byte>(12, std::byte(7)), {}};
}

static std::vector<ArgumentValue> goodValues() {
  return {ArgumentValue::pointer(0x1122334455667788), ArgumentValue::i32(-2), structValue()};
}

TEST(Arguments, PacksInTheOrderOfTheMetadata) {
  auto block = packArguments(makeKernel(), goodValues());
  ASSERT_TRUE(block.ok()) << block.error().message;
  ASSERT_EQ(block->size(), 32u);
  EXPECT_EQ((*block)[0], std::byte(0x88));
  EXPECT_EQ((*block)[7], std::byte(0x11));
  EXPECT_EQ((*block)[8], std::byte(0xfe));
  EXPECT_EQ((*block)[23], std::byte(7));
  EXPECT_EQ((*block)[24], std::byte(0));
}

TEST(Arguments, PlacesValuesAtTheirOffsets) {
  std::vector<ArgumentValue> values = {ArgumentValue::of(uint32_t(5), "u32", 16)};
  auto block = packArguments(makeKernel(), values, 40);
  ASSERT_TRUE(block.ok()) << block.error().message;
  EXPECT_EQ(block->size(), 40u);
  EXPECT_EQ((*block)[16], std::byte(5));
  EXPECT_EQ((*block)[8], std::byte(0));
}

TEST(Arguments, RefusesAWrongCount) {
  std::vector<ArgumentValue> values = goodValues();
  values.pop_back();
  expectError(packArguments(makeKernel(), values), "kernel 'k' takes 3 arguments, 2 given");
  values = goodValues();
  values.push_back(ArgumentValue::i32(1));
  expectError(packArguments(makeKernel(), values), "kernel 'k' takes 3 arguments, 4 given");
}

TEST(Arguments, RefusesAWrongSize) {
  std::vector<ArgumentValue> values = goodValues();
  values[1] = ArgumentValue::i64(1);
  expectError(packArguments(makeKernel(), values),
              "argument 1 (i64, 8 bytes) of kernel 'k' does not fit 'n' at offset 8, which has 4");
  values[1] = ArgumentValue::of(int16_t(1), "i16");
  expectError(packArguments(makeKernel(), values), "argument 1 (i16, 2 bytes)");
}

TEST(Arguments, RefusesAHiddenArgument) {
  std::vector<ArgumentValue> values = {ArgumentValue::of(uint32_t(5), "u32", 24)};
  expectError(packArguments(makeKernel(), values), "covers 'hidden_block_count_x'");
}

TEST(Arguments, RefusesOverlap) {
  std::vector<ArgumentValue> values = {ArgumentValue::of(uint64_t(5), "u64", 0),
                                       ArgumentValue::of(uint32_t(5), "u32", 4)};
  expectError(packArguments(makeKernel(), values),
              "arguments 0 and 1 of kernel 'k' overlap at offset 4");
}

TEST(Arguments, RefusesBlocksOfAWrongSize) {
  expectError(packArguments(makeKernel(), goodValues(), 16),
              "kernarg size 16 is less than the 32 bytes of kernel 'k'");
  expectError(packArguments(makeKernel(), goodValues(), uint64_t(1) << 40), "more than the limit");
  std::vector<ArgumentValue> values = {ArgumentValue::of(uint64_t(5), "u64", 28)};
  expectError(packArguments(makeKernel(), values), "passes the end of the 32 bytes");
  values[0].offset = UINT32_MAX;
  expectError(packArguments(makeKernel(), values), "passes the end of the 32 bytes");
}

TEST(Arguments, NeedsOffsetsWithoutMetadata) {
  KernelInfo kernel;
  kernel.name = "assembly";
  kernel.kernargSize = 8;
  std::vector<ArgumentValue> values = {ArgumentValue::u64(3)};
  expectError(packArguments(kernel, values),
              "lists no arguments; give every argument an \"offset\"");
  values[0].offset = 0;
  auto block = packArguments(kernel, values);
  ASSERT_TRUE(block.ok()) << block.error().message;
  EXPECT_EQ((*block)[0], std::byte(3));
}

TEST(Arguments, MixesValuesWithAndWithoutOffsets) {
  std::vector<ArgumentValue> values = {ArgumentValue::of(int32_t(9), "i32", 8),
                                       ArgumentValue::pointer(1)};
  auto block = packArguments(makeKernel(), values);
  ASSERT_TRUE(block.ok()) << block.error().message;
  EXPECT_EQ((*block)[0], std::byte(1));
  EXPECT_EQ((*block)[8], std::byte(9));
}
