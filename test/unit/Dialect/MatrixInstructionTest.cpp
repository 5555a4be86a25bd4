// The table of matrix instructions: what lowering relies on, proved on the layouts of each row.
#include "Conversion/TileToROCDL/MatrixInstructions.h"
#include "Tile/IR/FragmentAccess.h"

#include <gtest/gtest.h>

#include <map>

using namespace hocket;
using namespace hocket::lowering;

static constexpr MfmaShape kFragment = tile::kFragmentShape;
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

class MatrixInstructions : public testing::TestWithParam<std::tuple<std::string_view, MfmaType>> {};

// A fragment's operand is multiplied in consecutive pieces. Each piece must be the instruction's
// operand under an order of k, the same for both operands, and all pieces together every k once.
TEST_P(MatrixInstructions, PiecesOfBothOperandsAgree) {
  auto [chip, type] = GetParam();
  const ArchInfo &arch = **findArch(chip);
  const MatrixInstruction *found = findMatrixInstruction(arch, type, kFragment);
  ASSERT_NE(found, nullptr);
  ASSERT_NE(arch.findMfma(type, found->shape.m, found->shape.n, found->shape.k), nullptr);
  Result<LinearLayout> a = found->operandLayoutA(), b = found->operandLayoutB();
  Result<LinearLayout> wholeA = mfmaOperandA(kFragment), wholeB = mfmaOperandB(kFragment);
  ASSERT_TRUE(a && b && wholeA && wholeB);
  unsigned elements = found->shape.operandElements();
  std::map<uint64_t, int> seen;
  for (unsigned first = 0; first != kFragment.operandElements(); first += elements) {
    auto orderA = orderOf(*a, *wholeA, first, elements, dims::Row);
    EXPECT_EQ(orderA, orderOf(*b, *wholeB, first, elements, dims::Col));
    for (auto [ofInstruction, ofFragment] : orderA)
      ++seen[ofFragment];
  }
  ASSERT_EQ(seen.size(), kFragment.k);
  for (auto [k, times] : seen)
    EXPECT_EQ(times, 1) << "k = " << k;
  Result<LinearLayout> accumulator = found->accumulatorLayout();
  Result<LinearLayout> whole = mfmaAccumulator(kFragment);
  ASSERT_TRUE(accumulator && whole);
  EXPECT_TRUE(accumulator->equivalent(*whole));
}

// The deepest that the chip has: fewest instructions.
TEST_P(MatrixInstructions, AreTheDeepestOfTheChip) {
  auto [chip, type] = GetParam();
  const ArchInfo &arch = **findArch(chip);
  const MatrixInstruction *found = findMatrixInstruction(arch, type, kFragment);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->shape.k, arch.findMfma(type, kFragment.m, kFragment.n)->shape.k);
}

INSTANTIATE_TEST_SUITE_P(Chips, MatrixInstructions,
                         testing::Combine(testing::ValuesIn(knownArchs()),
                                          testing::Values(MfmaType::BF16, MfmaType::F16)));

TEST(MatrixInstructionTable, HasNothingForOtherShapesAndTypes) {
  const ArchInfo &arch = **findArch("gfx950");
  EXPECT_EQ(findMatrixInstruction(arch, MfmaType::BF16, {16, 16, 32, 16}), nullptr);
  EXPECT_EQ(findMatrixInstruction(arch, MfmaType::F32, {32, 32, 16, 32}), nullptr);
  mlir::MLIRContext context;
  EXPECT_EQ(matrixTypeOf(mlir::BFloat16Type::get(&context)), MfmaType::BF16);
  EXPECT_EQ(matrixTypeOf(mlir::Float16Type::get(&context)), MfmaType::F16);
  EXPECT_EQ(matrixTypeOf(mlir::Float32Type::get(&context)), std::nullopt);
}
