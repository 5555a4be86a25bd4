// Kernels over matrices: verifiers of blocks, grids of waves, parts of tiles and depths.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WorkItems.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket::tile;

/// As for rows of one workgroup: more would not fit into 32-bit numbers with their sums.
static constexpr int64_t kMaxWaveRows = 65536;

LogicalResult hocket::tile::requireMatrix(Operation *op, ViewType view) {
  if (view.getRank() == 2)
    return success();
  return op->emitOpError() << "needs a matrix, a view of rank 2, found rank " << view.getRank();
}

LogicalResult hocket::tile::requireWavePart(Operation *op, Value part) {
  if (!part || part.getDefiningOp<WaveGridOp>())
    return success();
  return op->emitOpError("has a part that is no result of 'tile.wave_grid': where all waves read "
                         "must be known when the kernel is compiled");
}

LogicalResult BlockTileOp::verify() {
  if (failed(verifyTurn(*this)))
    return failure();
  if (failed(requireMatrix(*this, getView().getType())))
    return failure();
  for (auto [value, name] : {std::pair(getRows(), "rows"), std::pair(getColumns(), "columns"),
                             std::pair(getBand(), "band"), std::pair(getXcds().value_or(1), "xcds")})
    if (int64_t(value) < 1 || int64_t(value) > kMaxWaveRows)
      return emitOpError() << name << "(" << int64_t(value) << "), expected 1 to " << kMaxWaveRows;
  return success();
}

LogicalResult WaveGridOp::verify() {
  int64_t rows = getRows(), columns = getColumns();
  for (auto [value, name] : {std::pair(rows, "rows"), std::pair(columns, "columns")})
    if (value < 1 || value > 16 || !llvm::isPowerOf2_64(value))
      return emitOpError() << name << "(" << value << "), expected 1, 2, 4, 8 or 16";
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel || static_cast<int64_t>(kernel.getWaves()) == rows * columns)
    return success();
  return emitOpError() << "has a grid of " << rows << " x " << columns << " waves, the kernel has "
                       << kernel.getWaves();
}

/// Bytes of the ring hold several elements each.
static LogicalResult verifyPackedRead(ReadOp op, RingType ring, FragType frag, int64_t parts) {
  int64_t perByte = 8 / frag.getElementType().getIntOrFloatBitWidth();
  if (ring.getElementType().isInteger(8) && ring.getShape()[0] == frag.getWidth() * parts &&
      ring.getShape()[1] * perByte == frag.getDepth())
    return success();
  return op.emitOpError() << "reads " << frag << " from " << ring << " by " << parts << (parts == 1 ? " wave" : " waves")
                          << ", expected a ring of i8 of " << frag.getWidth() * parts << " rows and " << frag.getDepth() / perByte
                          << " columns, each of which holds " << perByte << " elements";
}

LogicalResult ReadOp::verify() {
  RingType ring = getRing().getType();
  FragType frag = getResult().getType();
  if (frag.getLayout() != FragLayout::Lhs && frag.getLayout() != FragLayout::Rhs)
    return emitOpError() << "reads a fragment in layout " << stringifyFragLayout(frag.getLayout())
                         << ", expected lhs or rhs";
  if (vectorsOf(getRing()) == TileVectors::Rows)
    return emitOpError("reads along the columns of a ring that comes in vectors of rows; use 'tile.read_transposed'");
  if (failed(requireWavePart(*this, getPart())))
    return failure();
  int64_t parts = wavePartOf(getPart()).count;
  if (isPacked(frag.getElementType()))
    return verifyPackedRead(*this, ring, frag, parts);
  if (ring.getShape()[0] == frag.getWidth() * parts && ring.getShape()[1] == frag.getDepth() &&
      frag.getElementType() == ring.getElementType())
    return success();
  InFlightDiagnostic diagnostic = emitOpError() << "reads " << frag << " from " << ring;
  if (parts == 1)
    return diagnostic << ", expected the ring's shape and element type";
  return diagnostic << " by " << parts << " waves, expected " << ring.getShape()[0] / parts << " of "
                    << ring.getShape()[0] << " rows, all columns and the same element type";
}

static LogicalResult requireOperand(Operation *op, FragType frag) {
  if (frag.getLayout() == FragLayout::Lhs || frag.getLayout() == FragLayout::Rhs)
    return success();
  return op->emitOpError() << "source has layout " << stringifyFragLayout(frag.getLayout())
                           << ", expected lhs or rhs";
}

LogicalResult MaskDepthOp::verify() {
  FragType source = getSource().getType();
  return source.getLayout() == FragLayout::LhsAcc ? success() : requireOperand(*this, source);
}

LogicalResult SliceDepthOp::verify() {
  FragType source = getSource().getType(), result = getResult().getType();
  // The depth of packed accumulators and of what they are multiplied by is out of order within a step only.
  bool isOfAccumulator = source.getLayout() == FragLayout::LhsAcc || source.getLayout() == FragLayout::RhsAcc;
  if (!isOfAccumulator && !source.isOfScales() && failed(requireOperand(*this, source)))
    return failure();
  int64_t first = getFirst();
  if (source.getLayout() == result.getLayout() && source.getWidth() == result.getWidth() &&
      source.getElementType() == result.getElementType() && first >= 0 &&
      first % source.getDepthStep() == 0 && first <= source.getDepth() - result.getDepth())
    return success();
  return emitOpError() << "depth " << result.getDepth() << " from " << first << " of " << source
                       << " as " << result << "; whole steps of " << source.getDepthStep()
                       << " and all of the other dimension are needed";
}

LogicalResult BlockScalesOp::verify() {
  constexpr int64_t scalesOfWord = 4;
  FragType result = getResult().getType();
  const bool isLeft = result.getLayout() == FragLayout::LhsScale;
  const int64_t rows = isLeft ? result.getRows() : result.getColumns(), blocks = isLeft ? result.getColumns() : result.getRows();
  const Type wanted = RowsType::get(getContext(), rows, IntegerType::get(getContext(), 32), {FragLayout::Acc});
  const int64_t words = llvm::divideCeil(blocks, scalesOfWord);
  if (static_cast<int64_t>(getWords().size()) != words)
    return emitOpError() << "has " << getWords().size() << " words for " << blocks << " blocks, expected " << words << ", one for each "
                         << scalesOfWord;
  for (Value word : getWords())
    if (word.getType() != wanted)
      return emitOpError() << "makes " << result << " of " << word.getType() << ", expected " << wanted;
  return success();
}

LogicalResult StoreBlockOp::verify() {
  ViewType view = getView().getType();
  FragType frag = getValue().getType();
  if (failed(requireMatrix(*this, view)))
    return failure();
  if (frag.getLayout() != FragLayout::Acc)
    return emitOpError() << "stores a fragment in layout " << stringifyFragLayout(frag.getLayout())
                         << ", expected acc";
  if (!isa<FloatType>(view.getElementType()) || view.getElementType().isF32())
    return emitOpError() << "stores to " << view << ", expected a view of bf16, f16 or a float of 8 bits";
  return success();
}
