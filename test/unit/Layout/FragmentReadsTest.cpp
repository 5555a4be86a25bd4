// Read addresses against an emulation of the instructions: after the reads every register of every
// lane holds the element that the fragment asks for.
#include "Layout/FragmentReads.h"

#include "Layout/Mfma.h"
#include "Layout/OperandReuse.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::dims;

/// (row, col) of an element, recognisable after its journey.
using Item = std::pair<uint64_t, uint64_t>;

static Item itemAt(const LinearLayout &reads, unsigned instruction, unsigned lane, unsigned element,
                   unsigned elementBytes) {
  Coordinates address = reads.apply({{"register", instruction}, {"lane", lane}});
  return {coordinate(address, Row), coordinate(address, Byte) / elementBytes + element};
}

static Item wanted(const LinearLayout &fragment, const FragmentDims &names, unsigned reg,
                   unsigned lane) {
  Coordinates item = fragment.apply({{"register", reg}, {"lane", lane}});
  return {coordinate(item, names.row), coordinate(item, names.col)};
}

static void expectDirect(const LinearLayout &fragment, const FragmentDims &names,
                         unsigned elementBits, unsigned bytes) {
  Result<LinearLayout> reads = directReads(fragment, names, elementBits, bytes);
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  unsigned perRead = bytes * 8 / elementBits;
  for (unsigned reg = 0; reg < 1u << fragment.inputBits(Register); ++reg)
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(itemAt(*reads, reg / perRead, lane, reg % perRead, elementBits / 8),
                wanted(fragment, names, reg, lane));
}

/// docs/Hardware.md 2.3: lane 16G+j gets as element r what lane 16G + E*r' + ... fetched, written
/// out.
static void expectTransposed(const LinearLayout &fragment, const FragmentDims &names,
                             unsigned elementBits) {
  Result<LinearLayout> reads = transposedReads(fragment, names, elementBits);
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  unsigned perRead = 64 / elementBits, lanesPerRow = 16 / perRead;
  for (unsigned reg = 0; reg < 1u << fragment.inputBits(Register); ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned group = lane / 16, j = lane % 16, r = reg % perRead;
      unsigned source = 16 * group + lanesPerRow * r + j / perRead;
      ASSERT_EQ(itemAt(*reads, reg / perRead, source, j % perRead, elementBits / 8),
                wanted(fragment, names, reg, lane));
    }
}

TEST(FragmentReads, TransposedMapIsTheDocumentedOne) {
  LinearLayout map16 = *transposedReadMap(16), map8 = *transposedReadMap(8);
  for (unsigned lane = 0; lane < 64; ++lane) {
    unsigned group = 16 * (lane / 16), j = lane % 16;
    for (unsigned r = 0; r < 4; ++r) {
      Coordinates source = map16.apply({{"register", r}, {"lane", lane}});
      EXPECT_EQ(coordinate(source, Lane), group + 4 * r + j / 4);
      EXPECT_EQ(coordinate(source, "element"), j % 4);
    }
    for (unsigned r = 0; r < 8; ++r) {
      Coordinates source = map8.apply({{"register", r}, {"lane", lane}});
      EXPECT_EQ(coordinate(source, Lane), group + 2 * r + j / 8);
      EXPECT_EQ(coordinate(source, "element"), j % 8);
    }
  }
}

TEST(FragmentReads, KeysAsOperandAOfAllShapes) {
  for (MfmaShape shape : {MfmaShape{32, 32, 16, 16}, MfmaShape{16, 16, 32, 16}})
    expectDirect(*mfmaOperandATile(shape, 64, 128), {Row, K}, 16, 16);
  for (MfmaShape shape : {MfmaShape{32, 32, 8, 16}, MfmaShape{16, 16, 16, 16}})
    expectDirect(*mfmaOperandATile(shape, 64, 64), {Row, K}, 16, 8);
  expectDirect(*mfmaOperandATile({32, 32, 64, 8}, 32, 128), {Row, K}, 8, 16);
}

TEST(FragmentReads, ValuesThroughTheTransposingRead) {
  expectTransposed(*mfmaOperandBTile({32, 32, 16, 16}, 64, 128), {K, Col}, 16);
  expectTransposed(*mfmaOperandBTile({16, 16, 32, 16}, 64, 64), {K, Col}, 16);
  expectTransposed(*mfmaOperandBTile({32, 32, 8, 16}, 32, 64), {K, Col}, 16);
  expectTransposed(*mfmaOperandBTile({32, 32, 16, 8}, 32, 64), {K, Col}, 8);
}

// The recipe of docs/Hardware.md 2.3: row k0 + 8*(l/32) + (l%16)/4 + 4t, column 16*(l/16%2) +
// 4*(l%4).
TEST(FragmentReads, TransposedAddressesAreTheKnownRecipe) {
  LinearLayout reads = *transposedReads(*mfmaOperandB({}), {K, Col}, 16);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned t = 0; t < 2; ++t) {
      Coordinates address = reads.apply({{"register", t}, {"lane", lane}});
      EXPECT_EQ(coordinate(address, Row), 8 * (lane / 32) + lane % 16 / 4 + 4 * t);
      EXPECT_EQ(coordinate(address, Byte), 2 * (16 * (lane / 16 % 2) + 4 * (lane % 4)));
    }
}

// Of 4 bits lane r of 16 fetches the 16 columns of a row that the 16 lanes get as element r: whole bytes of two.
TEST(FragmentReads, TransposedReadsOfHalfBytes) {
  const LinearLayout fragment = *mfmaOperandATile({32, 32, 64, 4}, 64, 128);
  Result<LinearLayout> reads = transposedReads(fragment, {K, Row}, 4);
  ASSERT_TRUE(reads.ok()) << reads.error().message;
  constexpr unsigned perRead = 16, columnsOfByte = 2;
  for (unsigned reg = 0; reg < 1u << fragment.inputBits(Register); ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      Coordinates address = reads->apply({{"register", reg / perRead}, {"lane", lane / 16 * 16 + reg % perRead}});
      Coordinates item = fragment.apply({{"register", reg}, {"lane", lane}});
      ASSERT_EQ(coordinate(address, Row), coordinate(item, K));
      ASSERT_EQ(coordinate(address, Byte) * columnsOfByte + lane % 16, coordinate(item, Row));
    }
}

// V in the key order that makes the score accumulator the operand: still one transposing read each.
TEST(FragmentReads, ValuesInPermutedKeyOrder) {
  for (MfmaShape shape : {MfmaShape{32, 32, 16, 16}, MfmaShape{16, 16, 32, 16}}) {
    LinearLayout order = *accumulatorAsOperand(*mfmaAccumulatorTile(shape, 64, shape.n),
                                               *mfmaOperandBTile(shape, 64, shape.n));
    LinearLayout operandA = *permuteOutput(*mfmaOperandATile(shape, 128, 64), K, order);
    LinearLayout operandB = *permuteOutput(*mfmaOperandBTile(shape, 64, 128), K, order);
    expectTransposed(operandA, {K, Row}, 16);
    expectTransposed(operandB, {K, Col}, 16);
  }
}

TEST(FragmentReads, RefusesWhatOneReadCannotGive) {
  Result<LinearLayout> reads = directReads(*mfmaOperandB({}), {K, Col}, 16, 16);
  ASSERT_FALSE(reads.ok());
  EXPECT_EQ(reads.error().message,
            "the elements that one LDS read gives a lane are not contiguous in this fragment; "
            "use a narrower read or another fragment layout");
  EXPECT_FALSE(transposedReads(*mfmaOperandA({}), {Row, K}, 16).ok());
  reads = directReads(*mfmaOperandA({32, 32, 8, 16}), {Row, K}, 16, 16);
  EXPECT_EQ(reads.error().message, "a read gives each lane 8 elements, the fragment has 4");
  reads = directReads(*mfmaOperandA({}), {Row, K}, 6, 12);
  EXPECT_EQ(reads.error().message,
            "no read addresses for elements of 6 bits; known are 4, 8, 16 and 32");
  reads = directReads(*mfmaOperandA({}), {Row, Col}, 16, 16);
  EXPECT_EQ(reads.error().message, "fragment has no dimensions 'row' and 'col'");
  reads = transposedReads(*mfmaOperandB({}), {K, Col}, 32);
  EXPECT_EQ(reads.error().message,
            "no transposing LDS read of 8 bytes has elements of 32 bits; there are 4, 8 and 16");
  EXPECT_FALSE(directReads(*mfmaOperandA({}), {Row, K}, 0, 16).ok());
}

// Columns shifted by two elements: each lane's bytes are contiguous but not aligned to the read.
TEST(FragmentReads, RefusesMisalignedReads) {
  Result<LinearLayout> fragment = LinearLayout::fromBases(
      {{"register", {{{"col", 1}}, {{"col", 2}}}},
       {"lane",
        {{{"col", 2}}, {{"row", 1}}, {{"row", 2}}, {{"row", 4}}, {{"row", 8}}, {{"row", 16}}}}},
      {{"row", 5}, {"col", 3}});
  ASSERT_TRUE(fragment.ok());
  Result<LinearLayout> reads = directReads(*fragment, {Row, Col}, 16, 8);
  ASSERT_FALSE(reads.ok());
  EXPECT_EQ(reads.error().message,
            "an LDS read of this fragment would not be aligned to its width; use a narrower read "
            "or another fragment layout");
}
