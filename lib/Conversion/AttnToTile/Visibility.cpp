// Which keys a query sees, as code.
#include "Visibility.h"

using namespace mlir;
using namespace hocket;

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
  return behindRows(builder, blockRow, rows);
}

Value Visibility::behindRows(ExpansionBuilder &builder, Value first, int64_t count) {
  if (!shift)
    return keys;
  Value blockEnd = arith::AddIOp::create(builder, first, builder.constant(count));
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
  if (oneQuery)
    below = behindRows(builder, row, 1);
  else if (shift)
    diagonal = arith::AddIOp::create(builder, row, shift);
}

Value Visibility::mask(ExpansionBuilder &builder, Value scores, Value tile) {
  return tile::MaskOp::create(builder, scores, tile, below ? below : keys, diagonal);
}

SmallVector<tile::TileCut> Visibility::cuts() const {
  // Of the workgroup's queries the last sees up to where tiles end, and each one key less than the next.
  if (below)
    return {{{below, tile::TileSide::Right}, shift ? rows - 1 : 0}};
  SmallVector<tile::TileCut> cuts = {{{keys, tile::TileSide::Right}, /*within=*/0}};
  // The last row's last key is the last visited one or, if there are not so many keys, lies beyond;
  // the first row's lies as much before it as there are rows between them.
  if (diagonal)
    cuts.push_back({{diagonal, tile::TileSide::Right}, rows - 1});
  return cuts;
}
