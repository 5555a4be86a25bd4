// Where fragments lie, against the layout library's own tiles and against counting.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentMap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace hocket;
using namespace hocket::tile;

namespace {
class FragmentMapTest : public testing::Test {
protected:
  FragmentMapTest() { context.loadDialect<TileDialect>(); }
  FragType frag(int64_t rows, int64_t columns, FragLayout layout) {
    mlir::Type element = layout == FragLayout::Acc
                             ? mlir::Type(mlir::Float32Type::get(&context))
                             : mlir::Type(mlir::BFloat16Type::get(&context));
    return FragType::get(&context, {rows, columns}, element, layout);
  }
  mlir::MLIRContext context;
};

uint64_t at(const FragmentMap &map, int64_t piece, uint64_t reg, uint64_t lane,
            std::string_view dim) {
  RowAndColumn origin = map.origin(piece);
  uint64_t inside = map.piece.map.apply(
      {{std::string(dims::Register), reg}, {std::string(dims::Lane), lane}}, dim);
  return inside + (dim == dims::Row ? origin.row : origin.column);
}

/// `map` puts what `tile` says, whose outputs `row` and `column` are memory's, into the same places.
void expectTile(const FragmentMap &map, const Result<LinearLayout> &tile, std::string_view row,
                std::string_view column) {
  ASSERT_TRUE(tile) << tile.error().message;
  uint64_t registers = map.piece.registers;
  for (int64_t piece = 0; piece != map.count(); ++piece)
    for (uint64_t reg = 0; reg != registers; ++reg)
      for (uint64_t lane = 0; lane != 64; ++lane) {
        Coordinates input = {{std::string(dims::Register), piece * registers + reg},
                             {std::string(dims::Lane), lane}};
        ASSERT_EQ(at(map, piece, reg, lane, dims::Row), tile->apply(input, row));
        ASSERT_EQ(at(map, piece, reg, lane, dims::Col), tile->apply(input, column));
      }
}
} // namespace

TEST_F(FragmentMapTest, matrixLayoutsAreTheLibrarys) {
  expectTile(FragmentMap(frag(64, 32, FragLayout::Lhs)), mfmaOperandATile(operandShape(16), 64, 32),
             dims::Row, dims::K);
  expectTile(FragmentMap(frag(32, 64, FragLayout::Rhs)), mfmaOperandBTile(operandShape(16), 32, 64),
             dims::Col, dims::K);
  expectTile(FragmentMap(frag(64, 128, FragLayout::Acc)),
             mfmaAccumulatorTile(operandShape(16), 64, 128), dims::Col, dims::Row);
  expectTile(FragmentMap(frag(64, 128, FragLayout::LhsAcc)), accumulatorOrderedOperand(64, 128, 16),
             dims::K, dims::Row);
}

/// What the matrix unit makes of row m of the operand is in the accumulator's row m, whatever row that stands for.
TEST_F(FragmentMapTest, accumulatorsInRunsOfEightAreProductsOfOperandsInThatOrder) {
  auto in = [&](FragLayout layout, mlir::Type element, int64_t run) {
    return FragmentMap(FragType::get(&context, {64, 32}, element, RegisterLayout{layout, run}));
  };
  mlir::Type f32 = mlir::Float32Type::get(&context), bf16 = mlir::BFloat16Type::get(&context);
  FragmentMap acc = in(FragLayout::Acc, f32, 0), inRuns = in(FragLayout::Acc, f32, 8);
  FragmentMap lhs = in(FragLayout::LhsAcc, bf16, 0), lhsInRuns = in(FragLayout::LhsAcc, bf16, 8);
  std::map<uint64_t, uint64_t> standsFor;
  for (int64_t piece = 0; piece != lhs.count(); ++piece)
    for (uint64_t reg = 0; reg != 8; ++reg)
      for (uint64_t lane = 0; lane != 64; ++lane) {
        ASSERT_EQ(at(lhs, piece, reg, lane, dims::Row), at(lhsInRuns, piece, reg, lane, dims::Row));
        standsFor[at(lhs, piece, reg, lane, dims::Col)] = at(lhsInRuns, piece, reg, lane, dims::Col);
      }
  for (int64_t piece = 0; piece != acc.count(); ++piece)
    for (uint64_t reg = 0; reg != 16; ++reg)
      for (uint64_t lane = 0; lane != 64; ++lane) {
        ASSERT_EQ(at(acc, piece, reg, lane, dims::Row), at(inRuns, piece, reg, lane, dims::Row));
        ASSERT_EQ(standsFor.at(at(acc, piece, reg, lane, dims::Col)), at(inRuns, piece, reg, lane, dims::Col));
      }
  EXPECT_EQ(acc.piece.run(), 4);
  EXPECT_EQ(inRuns.piece.run(), 8);
  expectTile(lhsInRuns, accumulatorOrderedOperand(64, 32, 16, 8), dims::K, dims::Row);
}

/// Of any width a lane has 16 bytes of an operand, of 6 bits as many elements as of 4.
TEST_F(FragmentMapTest, operandsAreSixteenBytesOfALane) {
  EXPECT_EQ(operandShape(32), (MfmaShape{32, 32, 8, 32}));
  EXPECT_EQ(operandShape(16), (MfmaShape{32, 32, 16, 16}));
  EXPECT_EQ(operandShape(8), (MfmaShape{32, 32, 32, 8}));
  EXPECT_EQ(operandShape(6), (MfmaShape{32, 32, 64, 6}));
  EXPECT_EQ(operandShape(4), (MfmaShape{32, 32, 64, 4}));
  for (unsigned bits : {32u, 16u, 8u, 6u, 4u}) {
    RegisterLayout lhs{FragLayout::Lhs, 0, 0, bits}, rhs{FragLayout::Rhs, 0, 0, bits};
    EXPECT_EQ(pieceOf(lhs).registers, operandShape(bits).operandElements());
    EXPECT_EQ(pieceOf(lhs).columns, operandShape(bits).k);
    EXPECT_EQ(pieceOf(rhs).rows, 32);
  }
}

/// Lane l has the scale of row l % 32, of the 32 of the depth that its half of the wave stands for; memory has the scales of
/// a block side by side.
TEST_F(FragmentMapTest, scalesLieWhereTheInstructionTakesThem) {
  mlir::Type scale = mlir::Float8E8M0FNUType::get(&context);
  FragmentMap lhs(FragType::get(&context, {64, 8}, scale, FragLayout::LhsScale));
  FragmentMap rhs(FragType::get(&context, {8, 64}, scale, FragLayout::RhsScale));
  ASSERT_EQ(lhs.count(), 8);
  ASSERT_EQ(rhs.count(), 8);
  for (const FragmentMap &map : {lhs, rhs})
    for (int64_t piece = 0; piece != map.count(); ++piece)
      for (uint64_t lane = 0; lane != 64; ++lane) {
        EXPECT_EQ(at(map, piece, 0, lane, dims::Row), piece % 4 * 2 + lane / 32);
        EXPECT_EQ(at(map, piece, 0, lane, dims::Col), piece / 4 * 32 + lane % 32);
      }
}

/// An accumulator of f32 is an operand of f32 as it lies, in its own order.
TEST_F(FragmentMapTest, accumulatorsOfWholeWordsAreOperandsInOrder) {
  Result<LinearLayout> ordered = accumulatorOrderedOperand(32, 32, 32), plain = mfmaOperandATile(operandShape(32), 32, 32);
  ASSERT_TRUE(ordered && plain);
  EXPECT_TRUE(ordered->equivalent(*plain));
}

/// An accumulator of 8-bit weights is an operand as it lies: slot 16g + 4q + e has row 8q + 4g + e of its 32.
TEST_F(FragmentMapTest, packedBytesAreAnOperandAsTheyLie) {
  PieceMap piece = pieceOf({FragLayout::LhsAcc, 0, 0, 8});
  ASSERT_EQ(piece.registers, 16);
  ASSERT_EQ(piece.rows, 32);
  Result<LinearLayout> ordered = accumulatorOrderedOperand(32, 32, 8);
  ASSERT_TRUE(ordered) << ordered.error().message;
  for (uint64_t lane = 0; lane != 64; ++lane)
    for (uint64_t reg = 0; reg != 16; ++reg) {
      Coordinates at = {{std::string(dims::Register), reg}, {std::string(dims::Lane), lane}};
      uint64_t g = lane / 32, q = reg / 4, e = reg % 4;
      EXPECT_EQ(ordered->apply(at, dims::K), 8 * q + 4 * g + e);
      EXPECT_EQ(piece.map.apply(at, dims::Row), 8 * q + 4 * g + e);
    }
}

/// Of 4 bits each half of a wave has 32 rows of its own, so that a lane's scale is of all that it holds.
TEST_F(FragmentMapTest, halvesHaveBlocksOfFourBits) {
  PieceMap left = pieceOf({FragLayout::LhsAcc, 0, 0, 4}), right = pieceOf({FragLayout::RhsAcc, 0, 0, 4});
  ASSERT_EQ(left.registers, 32);
  ASSERT_EQ(left.rows, 64);
  ASSERT_EQ(right.columns, 64);
  Result<LinearLayout> ordered = accumulatorOrderedOperand(32, 64, 4);
  ASSERT_TRUE(ordered) << ordered.error().message;
  for (uint64_t lane = 0; lane != 64; ++lane)
    for (uint64_t reg = 0; reg != 32; ++reg) {
      Coordinates at = {{std::string(dims::Register), reg}, {std::string(dims::Lane), lane}};
      const uint64_t key = lane / 32 * 32 + reg / 16 * 16 + reg / 4 % 2 * 8 + reg / 8 % 2 * 4 + reg % 4;
      EXPECT_EQ(ordered->apply(at, dims::K), key);
      EXPECT_EQ(left.map.apply(at, dims::Row), key);
      EXPECT_EQ(right.map.apply(at, dims::Col), key);
    }
}

TEST_F(FragmentMapTest, packedAccumulatorKeepsItsPlaces) {
  FragmentMap acc(frag(64, 64, FragLayout::Acc)), packed(frag(64, 64, FragLayout::RhsAcc));
  ASSERT_EQ(packed.count(), 2 * acc.count());
  for (int64_t piece = 0; piece != packed.count(); ++piece)
    for (uint64_t reg = 0; reg != 8; ++reg)
      for (uint64_t lane = 0; lane != 64; ++lane)
        for (std::string_view dim : {dims::Row, dims::Col})
          ASSERT_EQ(at(packed, piece, reg, lane, dim),
                    at(acc, piece / 2, piece % 2 * 8 + reg, lane, dim));
}

TEST_F(FragmentMapTest, everyElementIsHeldOnce) {
  struct Shape {
    int64_t rows, columns;
    FragLayout layout;
  };
  for (Shape shape : {Shape{96, 64, FragLayout::Acc}, Shape{96, 48, FragLayout::Lhs},
                      Shape{48, 96, FragLayout::Rhs}, Shape{64, 48, FragLayout::LhsAcc},
                      Shape{48, 64, FragLayout::RhsAcc}, Shape{32, 96, FragLayout::Lines},
                      Shape{3, 1024, FragLayout::Lines}, Shape{64, 8, FragLayout::Lines}}) {
    FragType type = frag(shape.rows, shape.columns, shape.layout);
    FragmentMap map(type);
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (int64_t piece = 0; piece != map.count(); ++piece)
      for (int64_t reg = 0; reg != map.piece.registers; ++reg)
        for (uint64_t lane = 0; lane != 64; ++lane) {
          uint64_t row = at(map, piece, reg, lane, dims::Row);
          uint64_t column = at(map, piece, reg, lane, dims::Col);
          ASSERT_LT(row, uint64_t(type.getMemoryRows()));
          ASSERT_LT(column, uint64_t(type.getMemoryColumns()));
          ASSERT_TRUE(seen.insert({row, column}).second);
        }
    EXPECT_EQ(seen.size(), size_t(shape.rows * shape.columns));
  }
}

TEST_F(FragmentMapTest, linesTouchWholeLines) {
  FragmentMap map(frag(4, 512, FragLayout::Lines));
  EXPECT_EQ(map.piece.registers, 8);
  EXPECT_EQ(map.piece.rows, 1);
  EXPECT_EQ(map.piece.columns, 512);
  for (uint64_t lane = 0; lane != 64; ++lane)
    EXPECT_EQ(at(map, 0, 0, lane, dims::Col), 8 * lane);
}

TEST_F(FragmentMapTest, vectorsFitTheirFragments) {
  mlir::Type f32 = mlir::Float32Type::get(&context);
  RowsType lanes = RowsType::get(&context, 64, f32);
  EXPECT_TRUE(fits(lanes, frag(32, 64, FragLayout::Acc)));
  EXPECT_TRUE(fits(lanes, frag(64, 32, FragLayout::Lhs)));
  EXPECT_TRUE(fits(lanes, frag(32, 64, FragLayout::RhsAcc)));
  EXPECT_FALSE(fits(lanes, frag(32, 32, FragLayout::Acc)));
  EXPECT_FALSE(fits(lanes, frag(32, 64, FragLayout::LhsAcc)));
  EXPECT_FALSE(fits(lanes, frag(64, 128, FragLayout::Lines)));
  // Rows of lines depend on the lanes along a row, not on the run.
  FragType lines = frag(64, 128, FragLayout::Lines); // 8x16
  EXPECT_TRUE(fits(RowsType::get(&context, 64, f32, {FragLayout::Lines, 4, 16}), lines));
  EXPECT_FALSE(fits(RowsType::get(&context, 64, f32, {FragLayout::Lines, 8, 8}), lines));
  EXPECT_FALSE(fits(ColumnsType::get(&context, 128, f32, {FragLayout::Lines, 4, 16}), lines));
  EXPECT_TRUE(fits(ColumnsType::get(&context, 128, f32, {FragLayout::Lines, 8, 16}), lines));
  EXPECT_EQ(VectorMap(lanes).count, 2);
  EXPECT_TRUE(VectorMap(lanes).isScalar);
  EXPECT_FALSE(VectorMap(columnsOf(lines, f32)).isScalar);
}
