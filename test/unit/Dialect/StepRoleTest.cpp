// What a step is for follows from its ops, whatever it is called.
#include "Tile/IR/StepRole.h"
#include "Registration/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Two rings; x brings both tiles, a and b read one each, p multiplies with half of a's operand and
/// q with b's, twice. `y` uses a's operand for no product.
static constexpr const char *kLoop = R"(
tile.kernel @k(%v: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(4) {
  %left = tile.ring %v[%n] by_columns : <?x?xbf16> -> <64x64xbf16>
  %right = tile.ring %v[%n] by_columns : <?x?xbf16> -> <32x64xbf16>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %weights = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs>
  %result = tile.for_tiles %t = 0 to %n init(%sum = %zero : !tile.frag<64x32xf32, acc>) schedule(@s) {
    tile.step @x {
      tile.fetch %left[%t] : <64x64xbf16>
      tile.fetch %right[%t] : <32x64xbf16>
    }
    %a = tile.step @a -> !tile.frag<64x64xbf16, lhs> {
      %0 = tile.read %left[%t] : <64x64xbf16> -> <64x64xbf16, lhs>
      tile.yield %0 : !tile.frag<64x64xbf16, lhs>
    }
    %b = tile.step @b -> !tile.frag<64x32xbf16, rhs> {
      %0 = tile.read %right[%t] : <32x64xbf16> -> <64x32xbf16, rhs>
      tile.yield %0 : !tile.frag<64x32xbf16, rhs>
    }
    tile.step @y {
      %0 = tile.slice_depth %a from 0 : <64x64xbf16, lhs> -> <64x32xbf16, lhs>
    }
    %p = tile.step @p -> !tile.frag<64x32xf32, acc> {
      %0 = tile.slice_depth %a from 32 : <64x64xbf16, lhs> -> <64x32xbf16, lhs>
      %1 = tile.mma %0, %weights, %sum : <64x32xbf16, lhs>, <32x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %1 : !tile.frag<64x32xf32, acc>
    }
    %q = tile.step @q -> !tile.frag<64x32xf32, acc> {
      %0 = tile.mma %a, %b, %p : <64x64xbf16, lhs>, <64x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %0 : !tile.frag<64x32xf32, acc>
    }
    tile.yield %q : !tile.frag<64x32xf32, acc>
  }
}
)";

namespace {
class StepRoles : public testing::Test {
protected:
  StepRoles() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kLoop, &context);
  }

  ForTilesOp loop() {
    ForTilesOp found;
    module->walk([&](ForTilesOp op) { found = op; });
    return found;
  }
  StepRole role(StringRef name) {
    for (StepOp step : loop().getBody().getOps<StepOp>())
      if (step.getSymName() == name)
        return roleOf(step);
    ADD_FAILURE() << "no step " << name.str();
    return {};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(StepRoles, FollowFromOps) {
  ASSERT_TRUE(module);
  EXPECT_EQ(role("x").brings.size(), 2u);
  EXPECT_TRUE(role("x").reads.empty());
  EXPECT_FALSE(role("x").multiplies);
  EXPECT_EQ(role("a").reads.size(), 1u);
  EXPECT_TRUE(role("a").brings.empty());
  EXPECT_FALSE(role("y").multiplies);
  EXPECT_TRUE(role("p").multiplies);
  EXPECT_TRUE(role("q").multiplies);
}

TEST_F(StepRoles, OperandsLiveToTheirLastProduct) {
  ASSERT_TRUE(module);
  SmallVector<OperandUse> uses = operandUses(loop());
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].read.getSymName(), "a");
  ASSERT_EQ(uses[0].products.size(), 2u);
  EXPECT_EQ(uses[0].products[0].getSymName(), "p");
  EXPECT_EQ(uses[0].products[1].getSymName(), "q");
  EXPECT_EQ(uses[1].read.getSymName(), "b");
  ASSERT_EQ(uses[1].products.size(), 1u);
  EXPECT_EQ(uses[1].products[0].getSymName(), "q");
  EXPECT_NE(uses[0].ring, uses[1].ring);
}

TEST_F(StepRoles, CutsAreCountedFromTheNearerEnd) {
  ASSERT_TRUE(module);
  ForTilesOp op = loop();
  OpBuilder builder(op);
  Value bound = op.getCount(), other = op.getCarried().front();
  auto cut = [&](TileSide side, int64_t within) {
    auto copy = ForTilesOp::create(builder, op.getLoc(), op.getCount(), ValueRange(),
                                   TileCut{{bound, side}, within}, op.getScheduleAttr());
    return copy;
  };
  // Of tiles of 64: the last place of the loop may be the first of its tile.
  ForTilesOp right = cut(TileSide::Right, 65);
  EXPECT_FALSE(right.isWhole(TileBound{bound, TileSide::Right}, 64, 9, 1));
  EXPECT_TRUE(right.isWhole(TileBound{bound, TileSide::Right}, 64, 0, 2));
  EXPECT_FALSE(right.isWhole(TileBound{bound, TileSide::Left}, 64, 9, 9));
  EXPECT_FALSE(right.isWhole(TileBound{other, TileSide::Right}, 64, 9, 9));
  EXPECT_TRUE(right.isWhole({}, 64, 0, 0));
  ForTilesOp left = cut(TileSide::Left, 66);
  EXPECT_FALSE(left.isWhole(TileBound{bound, TileSide::Left}, 64, 2, 9));
  EXPECT_TRUE(left.isWhole(TileBound{bound, TileSide::Left}, 64, 3, 0));
}

// Against the definition: on the right, a tile is whole if, wherever in the last tile the place e may
// be, its last place lies at or before e - within; on the left likewise.
TEST_F(StepRoles, WholeTilesAreExactlyThoseOfTheDefinition) {
  ASSERT_TRUE(module);
  ForTilesOp op = loop();
  OpBuilder builder(op);
  constexpr int64_t tiles = 12;
  for (TileSide side : {TileSide::Left, TileSide::Right})
    for (int64_t extent : {1, 2, 32, 64})
      for (int64_t within = 0; within != 3 * extent + 2; ++within) {
        TileBound bound{op.getCount(), side};
        auto cut = ForTilesOp::create(builder, op.getLoc(), op.getCount(), ValueRange(),
                                      TileCut{bound, within}, op.getScheduleAttr());
        for (int64_t tile = 0; tile != tiles; ++tile) {
          bool whole = true;
          for (int64_t i = 0; i != extent; ++i) {
            int64_t first = i, last = (tiles - 1) * extent + i;
            whole &= side == TileSide::Left ? tile * extent >= first + within
                                            : (tile + 1) * extent - 1 <= last - within;
          }
          EXPECT_EQ(cut.isWhole(bound, extent, tile, tiles - 1 - tile), whole)
              << "tile " << tile << " of " << tiles << ", extent " << extent << ", within "
              << within;
        }
        cut.erase();
      }
}
