// tile.reduce_waves: numbers combined over waves, under checked execution.
#include "ValueKernel.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

/// Row values that say which wave holds them, combined, and stored by wave.
static Tensor combine(const std::string &how, const std::string &around, const std::string &type) {
  std::string text = R"(
tile.kernel @f(%y: !tile.view<?x?xf32>) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %i, %j = tile.wave_grid rows(2) columns(4)
  %wave = tile.wave_row %zero rows(1)
  %own = tile.map(%w = %wave : i32) at(%row, %column) -> !tile.rows<32xf32> {
    %thousand = arith.constant 1000 : i32
    %part = arith.muli %w, %thousand : i32
    %sum = arith.addi %part, %row : i32
    %number = arith.sitofp %sum : i32 to f32
    tile.yield %number : f32
  }
)" + around + "\n  tile.store " + how +
                     ", %y[%wave, %zero] : " + type + ", !tile.view<?x?xf32>\n}\n";
  Tensor y = {ElementType::F32, 8, 32, std::vector<double>(8 * 32, -1), 2};
  Status status = runKernel(text, "f", 8, {&y});
  EXPECT_TRUE(status) << status.error().message << text;
  return y;
}

TEST(WaveExchange, overAllWaves) {
  Tensor y = combine("%all", "  %all = tile.reduce_waves sum %own : !tile.rows<32xf32>", "!tile.rows<32xf32>");
  for (int64_t wave = 0; wave != 8; ++wave)
    for (int64_t row = 0; row != 32; ++row)
      EXPECT_EQ(y.numbers[wave * 32 + row], 28000 + 8 * row);
}

TEST(WaveExchange, alongASideOfTheGrid) {
  Tensor y = combine("%all", "  %all = tile.reduce_waves max %own along(%j) : !tile.rows<32xf32>",
                     "!tile.rows<32xf32>");
  Tensor z = combine("%all", "  %all = tile.reduce_waves min %own along(%i) : !tile.rows<32xf32>",
                     "!tile.rows<32xf32>");
  for (int64_t wave = 0; wave != 8; ++wave)
    for (int64_t row = 0; row != 32; ++row) {
      EXPECT_EQ(y.numbers[wave * 32 + row], wave / 4 * 4000 + 3000 + row);
      EXPECT_EQ(z.numbers[wave * 32 + row], wave % 4 * 1000 + row);
    }
}

/// Several exchanges in a loop: nobody overwrites what another still reads.
TEST(WaveExchange, inLoops) {
  Tensor y = combine("%all", R"(  %all = scf.for %t = %zero to %two step %one iter_args(%x = %own) -> (!tile.rows<32xf32>) : i32 {
    %a = tile.reduce_waves sum %x along(%j) : !tile.rows<32xf32>
    %b = tile.reduce_waves max %a along(%i) : !tile.rows<32xf32>
    scf.yield %b : !tile.rows<32xf32>
  })", "!tile.rows<32xf32>");
  for (int64_t i = 0; i != 8 * 32; ++i)
    EXPECT_EQ(y.numbers[i], 4 * (22000 + 4 * (i % 32)));
}

/// Columns in registers, and single numbers.
TEST(WaveExchange, ofColumnsAndNumbers) {
  Tensor y = combine("%all", R"(  %own_columns = tile.map(%w = %wave : i32) at(%row, %column) -> !tile.columns<32xf32, acc> {
    %sum = arith.addi %w, %column : i32
    %number = arith.sitofp %sum : i32 to f32
    tile.yield %number : f32
  }
  %columns = tile.reduce_waves sum %own_columns : !tile.columns<32xf32, acc>
  %count = tile.reduce_waves sum %one : i32
  %all = tile.map(%c = %columns : !tile.columns<32xf32, acc>, %n = %count : i32) -> !tile.columns<32xf32, acc> {
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %c, %f : f32
    tile.yield %s : f32
  })", "!tile.columns<32xf32, acc>");
  for (int64_t i = 0; i != 8 * 32; ++i)
    EXPECT_EQ(y.numbers[i], 28 + 8 * (i % 32) + 8);
}

/// A fragment passes a few registers at a time: nobody overwrites what another still reads.
TEST(WaveExchange, ofFragments) {
  Tensor y = combine("%all", R"(  %own_fragment = tile.map(%w = %wave : i32) at(%row, %column) -> !tile.frag<128x32xf32, acc> {
    %hundred = arith.constant 100 : i32
    %before = arith.muli %row, %hundred : i32
    %place = arith.addi %before, %column : i32
    %sum = arith.addi %w, %place : i32
    %number = arith.sitofp %sum : i32 to f32
    tile.yield %number : f32
  }
  %fragment = tile.reduce_waves sum %own_fragment : !tile.frag<128x32xf32, acc>
  %all = tile.reduce sum %fragment over columns : !tile.frag<128x32xf32, acc> -> !tile.rows<32xf32>)",
                     "!tile.rows<32xf32>");
  // Of 128 columns and 8 waves.
  for (int64_t i = 0; i != 8 * 32; ++i)
    EXPECT_EQ(y.numbers[i], 128 * (28 + 8 * 100 * (i % 32)) + 8 * (127 * 128 / 2));
}
