// How fragments are read from LDS.
#include "Tile/IR/FragmentAccess.h"

#include "hocket/Layout/FragmentReads.h"
#include "hocket/Layout/OperandReuse.h"

using namespace hocket;
using namespace hocket::tile;

static constexpr unsigned kElementBits = 16;
static constexpr unsigned kReadBytes = 16;

Result<LinearLayout> hocket::tile::accumulatorOrderedOperand(int64_t rows, int64_t depth) {
  Result<LinearLayout> accumulator = mfmaAccumulatorTile(kFragmentShape, depth, kFragmentShape.n);
  if (!accumulator)
    return accumulator.error();
  Result<LinearLayout> rhs = mfmaOperandBTile(kFragmentShape, depth, kFragmentShape.n);
  if (!rhs)
    return rhs.error();
  Result<LinearLayout> order = accumulatorAsOperand(*accumulator, *rhs);
  if (!order)
    return order.error();
  Result<LinearLayout> lhs = mfmaOperandATile(kFragmentShape, rows, depth);
  if (!lhs)
    return lhs.error();
  return permuteOutput(*lhs, dims::K, *order);
}

int64_t hocket::tile::panelColumns(int64_t columns) {
  return panelBytesFor(columns * kElementBits / 8) * 8 / kElementBits;
}

Result<LdsUse> hocket::tile::operandReads(FragType frag) {
  Result<LinearLayout> layout =
      mfmaOperandATile(kFragmentShape, frag.getRows(), panelColumns(frag.getColumns()));
  if (!layout)
    return layout.error();
  Result<LinearLayout> access =
      directReads(*layout, {dims::Row, dims::K}, kElementBits, kReadBytes);
  if (!access)
    return access.error();
  return LdsUse{LdsInstruction::ReadB128, *access};
}

Result<LdsUse> hocket::tile::transposedOperandReads(FragType frag, const ArchInfo &arch) {
  Result<LinearLayout> layout =
      accumulatorOrderedOperand(panelColumns(frag.getRows()), frag.getColumns());
  if (!layout)
    return layout.error();
  if (!arch.hasTransposedRead(kElementBits)) {
    Result<GatheredReads> reads =
        gatheredReads(*layout, {dims::K, dims::Row}, kElementBits, kReadBytes);
    if (!reads)
      return reads.error();
    return LdsUse{LdsInstruction::ReadB128, reads->access, reads->rows};
  }
  Result<LinearLayout> access = transposedReads(*layout, {dims::K, dims::Row}, kElementBits);
  if (!access)
    return access.error();
  return LdsUse{LdsInstruction::ReadTransposed, *access};
}
