// Blocks are in order within stretches of 64, one for each lane, and stretches follow one another: that is enough, since
// what matters is that light blocks end the grid. The first stretch has what remains.
//
// A block's key has its count above and its place below, so that no two are alike. The key of number i in order is the
// largest one that more than i keys are not below; it is found two bits at a time, the numbers of keys not below three
// candidates summed over all lanes at once.
#include "ListedOrder.h"

#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;
using arith::CmpIPredicate;

/// Blocks of a stretch, and what counts are scaled to: a key has twice six bits. Of more blocks of keys than these,
/// counts that differ by little are alike.
static constexpr int64_t kStretch = 64, kPlaceBits = 6, kMostScaled = 63;
static constexpr int64_t kKeyBits = 12, kBitsAtOnce = 2;
/// Bits of a sum of ones, at most one for each lane, and how many such sums a number has.
static constexpr int64_t kSumBits = 8, kCandidates = 3;
static_assert(kMostScaled < int64_t(1) << (kKeyBits - kPlaceBits) && kKeyBits % kBitsAtOnce == 0);
static_assert(kStretch < int64_t(1) << kSumBits && kCandidates == (1 << kBitsAtOnce) - 1);

namespace {
/// Arithmetic on i32 wherever the builder stands.
struct Numbers {
  ExpansionBuilder &builder;

  Value constant(int64_t value) const { return builder.constant(value); }
  Value add(Value a, Value b) const { return arith::AddIOp::create(builder, a, b); }
  Value sub(Value a, Value b) const { return arith::SubIOp::create(builder, a, b); }
  Value times(Value a, int64_t b) const { return arith::MulIOp::create(builder, a, constant(b)); }
  Value shiftLeft(Value a, Value bits) const { return arith::ShLIOp::create(builder, a, bits); }
  Value shiftRight(Value a, Value bits) const { return arith::ShRUIOp::create(builder, a, bits); }
  Value less(Value a, Value b) const { return arith::CmpIOp::create(builder, CmpIPredicate::slt, a, b); }
  Value pick(Value condition, Value a, Value b) const { return arith::SelectOp::create(builder, condition, a, b); }
  Value one(Value condition) const { return arith::ExtUIOp::create(builder, builder.getI32Type(), condition); }
};
} // namespace

static tile::RowsType lanes(ExpansionBuilder &builder) {
  return tile::RowsType::get(builder.getContext(), kStretch, builder.getI32Type());
}

/// One for each of the `count` blocks from `first` on; -1 behind them.
Value ListedOrder::keysOf(ExpansionBuilder &builder, Value batch, Value head, Value first, Value count) const {
  Value indices[] = {batch, head, first};
  auto load = [&](Value view) -> Value {
    return tile::LoadOp::create(builder, lanes(builder), view, indices, IntegerAttr());
  };
  Value inputs[] = {load(counts.partial), load(counts.full), counts.most, count};
  return builder.mapPlaced(lanes(builder), inputs, [&](ValueRange of, Value lane, Value) -> Value {
    Numbers n{builder};
    Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    auto real = [&](Value number) -> Value { return arith::SIToFPOp::create(builder, f32, number); };
    // No more than there is room for, as the loop counts them.
    auto bounded = [&](Value number) -> Value { return arith::MinUIOp::create(builder, number, of[2]); };
    Value blocks = arith::MinUIOp::create(builder, n.add(bounded(of[0]), bounded(of[1])), of[2]);
    Value most = arith::MaxSIOp::create(builder, of[2], n.constant(kMostScaled));
    Value share = arith::DivFOp::create(builder, builder.constant(float(kMostScaled)), real(most));
    Value scaled = arith::FPToSIOp::create(builder, i32, arith::MulFOp::create(builder, real(blocks), share));
    scaled = arith::MinSIOp::create(builder, scaled, n.constant(kMostScaled));
    Value key = n.add(n.times(scaled, kStretch), n.sub(n.constant(kStretch - 1), lane));
    return n.pick(n.less(lane, of[3]), key, n.constant(-1));
  });
}

/// The key that as many as `number` are above.
static Value findKey(ExpansionBuilder &builder, Value keys, Value number) {
  Numbers n{builder};
  Value zero = n.constant(0), turns = n.constant(kKeyBits / kBitsAtOnce);
  return builder.accumulate(zero, turns, 1, zero, [&](Value turn, Value found) -> Value {
    Value bits = n.sub(n.constant(kKeyBits - kBitsAtOnce), n.times(turn, kBitsAtOnce));
    Value step = n.shiftLeft(n.constant(1), bits);
    Value notBelow = builder.map(lanes(builder), ValueRange{keys, found, step}, [&](ValueRange of) -> Value {
      Value sums = n.constant(0), candidate = of[1];
      for (int64_t i = 0; i != kCandidates; ++i) {
        candidate = n.add(candidate, of[2]);
        Value isBelow = n.less(of[0], candidate);
        sums = n.add(sums, n.pick(isBelow, n.constant(0), n.constant(int64_t(1) << (kSumBits * i))));
      }
      return sums;
    });
    Value sums = tile::ReduceOp::create(builder, builder.getI32Type(), tile::Reduction::Sum, notBelow,
                                        tile::Dimension::Rows);
    for (int64_t i = 0; i != kCandidates; ++i) {
      Value sum = n.shiftRight(sums, n.constant(kSumBits * i));
      sum = arith::AndIOp::create(builder, sum, n.constant((int64_t(1) << kSumBits) - 1));
      found = n.add(found, n.shiftLeft(n.one(n.less(number, sum)), bits));
    }
    return found;
  });
}

Value ListedOrder::blockInstead(ExpansionBuilder &builder, Value batch, Value head, Value block, Value blocks) const {
  Numbers n{builder};
  // Stretches are counted from the end.
  Value behind = n.sub(n.sub(blocks, n.constant(1)), block);
  Value laterStretches = n.shiftRight(behind, n.constant(kPlaceBits));
  Value end = n.sub(blocks, n.times(laterStretches, kStretch));
  Value first = arith::MaxSIOp::create(builder, n.sub(end, n.constant(kStretch)), n.constant(0));
  Value keys = keysOf(builder, batch, head, first, n.sub(end, first));
  Value key = findKey(builder, keys, n.sub(block, first));
  Value place = arith::AndIOp::create(builder, key, n.constant(kStretch - 1));
  return n.add(first, n.sub(n.constant(kStretch - 1), place));
}

Value ListedOrder::rowInstead(ExpansionBuilder &builder, Value batch, Value head, Value row) const {
  Numbers n{builder};
  Value blocks = tile::DimOp::create(builder, counts.partial, 2), heads = tile::DimOp::create(builder, counts.partial, 1);
  Value batches = tile::DimOp::create(builder, counts.partial, 0);
  Value block = arith::DivUIOp::create(builder, row, n.constant(rows));
  Value workgroups = arith::MulIOp::create(builder, arith::MulIOp::create(builder, blocks, heads), batches);
  // Workgroups behind the last batch have no block.
  Value isOrdered = arith::AndIOp::create(builder, n.less(n.constant(resident), workgroups), n.less(block, blocks));
  auto branch = scf::IfOp::create(builder, TypeRange(builder.getI32Type()), isOrdered, /*withElseRegion=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  Value instead = n.times(blockInstead(builder, batch, head, block, blocks), rows);
  scf::YieldOp::create(builder, instead);
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(builder, row);
  return branch.getResult(0);
}
