// The table of matrix instructions: what lowering relies on, proved on the layouts of each row.
#include "Conversion/TileToROCDL/MatrixInstructions.h"
#include "Tile/IR/FragmentAccess.h"

#include <gtest/gtest.h>

#include <map>

using namespace hocket;
using namespace hocket::lowering;

static constexpr unsigned kLanes = 64;

static uint64_t at(const LinearLayout &layout, unsigned element, unsigned lane,
                   std::string_view dim) {
  return layout.apply({{std::string(dims::Register), element}, {std::string(dims::Lane), lane}},
                      dim);
}

/// The k of the instruction to that of the fragment, over the piece of an operand that begins with
/// element `first`; `side` is the other dimension, in which piece and instruction must agree.
static std::map<uint64_t, uint64_t> orderOf(const LinearLayout &instruction,
                                            const LinearLayout &fragment, unsigned first,
                                            unsigned elements, std::string_view side) {
  std::map<uint64_t, uint64_t> order;
  for (unsigned lane = 0; lane != kLanes; ++lane)
    for (unsigned element = 0; element != elements; ++element) {
      EXPECT_EQ(at(instruction, element, lane, side), at(fragment, first + element, lane, side));
      uint64_t k = at(fragment, first + element, lane, dims::K);
      auto [place, isNew] = order.try_emplace(at(instruction, element, lane, dims::K), k);
      EXPECT_EQ(place->second, k);
    }
  return order;
}

namespace {
/// An instruction of a chip whose accumulators are a fragment's blocks.
struct OfChip {
  std::string_view chip;
  MfmaInfo info;
};
std::ostream &operator<<(std::ostream &out, const OfChip &of) { return out << of.chip << " " << of.info.shape.str(); }
} // namespace

static std::vector<OfChip> instructionsOfBlocks() {
  std::vector<OfChip> list;
  for (std::string_view chip : knownArchs())
    for (const MfmaInfo &info : (*findArch(chip))->mfma)
      if (info.shape.m == tile::kBlock)
        list.push_back({chip, info});
  return list;
}

class MatrixInstructions : public testing::TestWithParam<OfChip> {};
INSTANTIATE_TEST_SUITE_P(Chips, MatrixInstructions, testing::ValuesIn(instructionsOfBlocks()));

// A fragment's operands are multiplied in consecutive pieces, or several at a time. Each must be the instruction's operand
// under an order of k, the same for both operands, and all together every k once. So of all instructions of all chips, of
// those too that no lowering knows.
TEST_P(MatrixInstructions, PiecesOfBothOperandsAgree) {
  const MfmaShape &shape = GetParam().info.shape, fragment = tile::operandShape(shape.elementBits);
  unsigned depth = std::max(shape.k, fragment.k);
  ASSERT_EQ(depth % shape.k + depth % fragment.k, 0u);
  Result<LinearLayout> a = mfmaOperandA(shape), b = mfmaOperandB(shape);
  Result<LinearLayout> wholeA = mfmaOperandATile(fragment, shape.m, depth), wholeB = mfmaOperandBTile(fragment, depth, shape.n);
  ASSERT_TRUE(a && b && wholeA && wholeB);
  unsigned elements = shape.operandElements(), all = depth / fragment.k * fragment.operandElements();
  std::map<uint64_t, int> seen;
  for (unsigned first = 0; first != all; first += elements) {
    auto orderA = orderOf(*a, *wholeA, first, elements, dims::Row);
    EXPECT_EQ(orderA, orderOf(*b, *wholeB, first, elements, dims::Col));
    for (auto [ofInstruction, ofFragment] : orderA)
      ++seen[ofFragment];
  }
  ASSERT_EQ(seen.size(), depth);
  for (auto [k, times] : seen)
    EXPECT_EQ(times, 1) << "k = " << k;
  Result<LinearLayout> accumulator = mfmaAccumulator(shape), whole = mfmaAccumulator(fragment);
  ASSERT_TRUE(accumulator && whole);
  EXPECT_TRUE(accumulator->equivalent(*whole));
}

// The deepest that the chip has: fewest instructions.
TEST(MatrixInstructionTable, HasTheDeepestOfTheChip) {
  for (std::string_view chip : knownArchs())
    for (ElementType type : {ElementType::BF16, ElementType::F16}) {
      const ArchInfo &arch = **findArch(chip);
      const MfmaShape fragment = tile::operandShape(infoOf(type).bits);
      const MatrixInstruction *found = findMatrixInstruction(arch, MatrixTypes::of(type), fragment, fragment, fragment.k);
      ASSERT_NE(found, nullptr);
      const MfmaInfo *deepest = arch.findMfma(MatrixTypes::of(type), fragment.m, fragment.n);
      EXPECT_EQ(found->shape, deepest->shape);
      EXPECT_TRUE(deepest->takes(found->types));
    }
}

TEST(MatrixInstructionTable, HasNothingForOtherShapesAndTypes) {
  const ArchInfo &arch = **findArch("gfx950");
  MatrixTypes bf16 = MatrixTypes::of(ElementType::BF16);
  MfmaShape narrow = {16, 16, 32, 16}, ofSixteen = tile::operandShape(16), ofEight = tile::operandShape(8);
  EXPECT_EQ(findMatrixInstruction(arch, bf16, narrow, narrow, 32), nullptr);
  EXPECT_EQ(findMatrixInstruction(arch, {ElementType::BF16, ElementType::F16, ElementType::F32}, ofSixteen, ofSixteen, 16),
            nullptr);
  EXPECT_EQ(findMatrixInstruction(arch, bf16, ofSixteen, ofSixteen, 64, /*scaled=*/true), nullptr);
  MatrixTypes fp8 = MatrixTypes::of(ElementType::F8E4M3);
  EXPECT_EQ(findMatrixInstruction(arch, fp8, ofEight, ofEight, 32, /*scaled=*/true), nullptr);
  EXPECT_NE(findMatrixInstruction(arch, fp8, ofEight, ofEight, 64, /*scaled=*/true), nullptr);
}

// Of formats of different widths a lane has different elements side by side; where both are whole in the instruction, which
// sums the same k of both.
TEST(MatrixInstructionTable, MixesWidthsInWholeInstructionsAlone) {
  const ArchInfo &arch = **findArch("gfx950");
  MatrixTypes mixed = {ElementType::F8E4M3, ElementType::F4E2M1, ElementType::F32};
  MfmaShape ofEight = tile::operandShape(8), ofFour = tile::operandShape(4);
  const MatrixInstruction *found = findMatrixInstruction(arch, mixed, ofEight, ofFour, 64);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->shape.k % ofEight.k + found->shape.k % ofFour.k, 0u);
  EXPECT_EQ(findMatrixInstruction(arch, mixed, ofEight, ofFour, 32), nullptr);
}
