// How fragments are read from LDS.
#include "Tile/IR/FragmentAccess.h"

#include "Layout/FragmentReads.h"
#include "Layout/OperandReuse.h"

#include "llvm/Support/MathExtras.h"

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

WavePart hocket::tile::wavePartOf(mlir::Value part) {
  auto grid = part ? part.getDefiningOp<WaveGridOp>() : WaveGridOp();
  if (!grid)
    return {};
  unsigned rows = grid.getRows(), columns = grid.getColumns();
  return part == grid.getRow() ? WavePart{rows, columns} : WavePart{columns, 1};
}

/// (wave) -> row: the first row of each wave's part.
static Result<LinearLayout> firstRows(WavePart part, unsigned rowsOfPart) {
  InputBases waves{std::string(dims::Wave), {}};
  for (unsigned bit = 1; bit < part.stride; bit *= 2)
    waves.bases.push_back({});
  for (unsigned bit = 1; bit < part.count; bit *= 2)
    waves.bases.push_back({{std::string(dims::Row), uint64_t(bit) * rowsOfPart}});
  unsigned rowBits = llvm::Log2_32(part.count) + llvm::Log2_32(rowsOfPart);
  return LinearLayout::fromBases({waves}, {{std::string(dims::Row), rowBits}});
}

Result<LdsUse> hocket::tile::operandReads(FragType frag, WavePart part) {
  bool isLeft = frag.isLeft();
  unsigned depth = panelColumns(frag.getDepth()), width = frag.getWidth();
  Result<LinearLayout> layout = isLeft ? mfmaOperandATile(kFragmentShape, width, depth)
                                       : mfmaOperandBTile(kFragmentShape, depth, width);
  if (!layout)
    return layout.error();
  Result<LinearLayout> access = directReads(*layout, {isLeft ? dims::Row : dims::Col, dims::K},
                                            kElementBits, kReadBytes);
  if (!access)
    return access.error();
  if (part.count == 1)
    return LdsUse{LdsInstruction::ReadB128, *access};
  Result<LinearLayout> first = firstRows(part, width);
  if (!first)
    return first.error();
  Result<LinearLayout> all = access->concatInputs(*first);
  if (!all)
    return all.error();
  return LdsUse{LdsInstruction::ReadB128, *all};
}

Result<LdsUse> hocket::tile::transposedOperandReads(FragType frag, const ArchInfo &arch, TileVectors vectors) {
  Result<LinearLayout> layout =
      accumulatorOrderedOperand(panelColumns(frag.getRows()), frag.getColumns());
  if (!layout)
    return layout.error();
  bool inVectors = vectors == TileVectors::Rows;
  if (inVectors || !arch.hasTransposedRead(kElementBits)) {
    Result<GatheredReads> reads =
        gatheredReads(*layout, {dims::K, dims::Row}, kElementBits, inVectors ? kReadBytes / 2 : kReadBytes);
    if (!reads)
      return reads.error();
    return LdsUse{inVectors ? LdsInstruction::ReadB64 : LdsInstruction::ReadB128, reads->access, reads->rows};
  }
  Result<LinearLayout> access = transposedReads(*layout, {dims::K, dims::Row}, kElementBits);
  if (!access)
    return access.error();
  return LdsUse{LdsInstruction::ReadTransposed, *access};
}

TileVectors hocket::tile::vectorsOf(mlir::Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return op ? op.getTileVectors() : TileVectors::None;
}

Result<std::optional<LdsUse>> ReadOp::getLdsUse(const ArchInfo &) {
  Result<LdsUse> use = operandReads(getResult().getType(), wavePartOf(getPart()));
  if (!use)
    return use.error();
  return std::optional(*use);
}

Result<std::optional<LdsUse>> ReadTransposedOp::getLdsUse(const ArchInfo &arch) {
  Result<LdsUse> use = transposedOperandReads(getResult().getType(), arch, vectorsOf(getRing()));
  if (!use)
    return use.error();
  return std::optional(*use);
}
