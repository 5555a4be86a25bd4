// Which keys a query sees, as code.
#include "Visibility.h"

using namespace mlir;
using namespace hocket;

/// Behind every key, with room for a tile.
static constexpr int64_t kBeyondKeys = int64_t(1) << 30;

void Visibility::addRequirements(KernelFrame &frame) const {
  if (isWindow()) {
    int64_t left = attr.getLeft().value_or(-1), right = attr.getRight().value_or(-1);
    frame.require("mask_left == " + Twine(left) + " && mask_right == " + Twine(right),
                  "the kernel's mask is a window of " + Twine(left) + " keys before and " +
                      Twine(right) + " behind the diagonal (-1: no limit)");
    return;
  }
  bool causal = attr.isCausal();
  frame.require(causal ? "causal == 1" : "causal == 0",
                causal ? "the kernel is causal" : "the kernel has no mask");
}

void Visibility::measure(ExpansionBuilder &builder, Value q, Value count) {
  keys = count;
  if (!attr.getRight())
    return;
  // Bottom-right: the last row sees the last key, and `right` more if there were any.
  Value queries = tile::DimOp::create(builder, q, 1);
  shift = arith::SubIOp::create(builder, keys, queries);
  if (int64_t right = *attr.getRight())
    shift = arith::AddIOp::create(builder, shift, builder.constant(right));
}

Value Visibility::end(ExpansionBuilder &builder, Value blockRow) {
  if (!shift)
    return keys;
  Value count = builder.constant(rows);
  if (ofGroup)
    count = arith::SelectOp::create(builder, ofGroup, builder.constant(groupQueries), count);
  return behindRows(builder, blockRow, count);
}

Value Visibility::behindRows(ExpansionBuilder &builder, Value first, Value count) {
  Value blockEnd = arith::AddIOp::create(builder, first, count);
  Value visible = arith::AddIOp::create(builder, blockEnd, shift);
  Value atLeastZero = arith::MaxSIOp::create(builder, visible, builder.constant(int64_t(0)));
  return arith::MinSIOp::create(builder, atLeastZero, keys);
}

void Visibility::moveTo(ExpansionBuilder &builder, Value firstKey, Value count) {
  if (shift)
    shift = arith::SubIOp::create(builder, shift, firstKey);
  keys = count;
}

void Visibility::prepareMasks(ExpansionBuilder &builder, Value row) {
  if (shift)
    diagonal = arith::AddIOp::create(builder, row, shift);
  if (!ofGroup || !shift)
    return;
  // Of one query's rows all see the same keys, whichever row of the wave they are.
  Value ofQuery = behindRows(builder, row, builder.constant(int64_t(1)));
  below = arith::SelectOp::create(builder, ofGroup, ofQuery, keys);
  diagonal = arith::SelectOp::create(builder, ofGroup, builder.constant(kBeyondKeys), diagonal);
}

Value Visibility::mask(ExpansionBuilder &builder, Value scores, Value tile) {
  return tile::MaskOp::create(builder, scores, tile, below ? below : keys, diagonal);
}

SmallVector<tile::TileCut> Visibility::cuts() const {
  // Of the workgroup's queries the last sees up to where tiles end, and each one key less than the next.
  if (ofGroup && shift)
    return {{{below, tile::TileSide::Right}, groupQueries - 1}, {{diagonal, tile::TileSide::Right}, rows - 1}};
  SmallVector<tile::TileCut> cuts = {{{keys, tile::TileSide::Right}, /*within=*/0}};
  // The last row's last key is the last visited one or, if there are not so many keys, lies beyond;
  // the first row's lies as much before it as there are rows between them.
  if (diagonal)
    cuts.push_back({{diagonal, tile::TileSide::Right}, rows - 1});
  return cuts;
}
