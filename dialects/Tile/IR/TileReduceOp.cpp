// tile.reduce and tile.running_sum: verifiers.
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/Tile.h"

using namespace mlir;
using namespace hocket::tile;

/// What a reduction of `source` gives, or nothing if it has no such dimension.
static Type resultOf(Type source, Dimension over, Type element) {
  if (auto frag = dyn_cast<FragType>(source))
    return over == Dimension::Columns ? Type(rowsOf(frag, element)) : columnsOf(frag, element);
  bool matches = isa<RowsType>(source) == (over == Dimension::Rows);
  return matches ? element : Type();
}

static bool isSame(Type a, Type b) {
  if (isa<RowsType>(a) && isa<RowsType>(b))
    return holdAlike(cast<RowsType>(a), cast<RowsType>(b));
  if (isa<ColumnsType>(a) && isa<ColumnsType>(b))
    return holdAlike(cast<ColumnsType>(a), cast<ColumnsType>(b));
  return a == b;
}

LogicalResult ReduceOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  Type element = elementTypeOf(source), reduced = elementTypeOf(result);
  Type wanted = resultOf(source, getOver(), reduced);
  if (!wanted)
    return emitOpError() << "reduces " << source << " over " << stringifyDimension(getOver())
                         << ", which it does not have; reduce it over "
                         << stringifyDimension(getOver() == Dimension::Rows ? Dimension::Columns
                                                                            : Dimension::Rows);
  if (!isSame(wanted, result))
    return emitOpError() << "gives " << wanted << ", not " << result;
  if (isSmallFloat(element) || isSmallFloat(reduced))
    return emitOpError() << "reduces " << element << " to " << reduced
                         << ", expected no floats of 8 bits; widen them by 'arith.extf' in a 'tile.map'";
  bool logical = getKind() == Reduction::Any || getKind() == Reduction::All;
  if (logical && !element.isSignlessInteger())
    return emitOpError() << "asks whether numbers of " << element
                         << " are true, expected integers; compare in a 'tile.map' and yield i32";
  bool widens = isa<FloatType>(element) ? reduced.isF32() : reduced.isSignlessInteger(32);
  if (reduced != element && !widens)
    return emitOpError() << "reduces " << element << " to " << reduced
                         << ", expected the source's element type or "
                         << (isa<FloatType>(element) ? "f32" : "i32");
  return success();
}

/// Whether lane r holds row r, and no other.
static bool isRowInLane(RowsType rows) {
  PieceMap piece = pieceOf(rows.getRegisterLayout());
  if (!piece.isSameInLane(hocket::dims::Row) || piece.map.inputBits(hocket::dims::Lane) != hocket::kWaveLaneBits)
    return false;
  for (unsigned bit = 0; bit != hocket::kWaveLaneBits; ++bit)
    if (piece.map.basis(hocket::dims::Lane, bit, hocket::dims::Row) != 1 << bit)
      return false;
  return true;
}

LogicalResult RunningSumOp::verify() {
  RowsType rows = getSource().getType();
  if (rows.getSize() == hocket::kWaveLanes && rows.getElementType().isSignlessInteger(32) && isRowInLane(rows))
    return success();
  return emitOpError() << "sums " << rows << ", expected rows<64xi32, lines(4x1)>, whose row r lane r holds";
}
