// tile.convert_layout: verifier, and what passes through LDS.
//
// Layouts are made of equal pieces whose sides are powers of two, so blocks of the larger sides are
// made of whole pieces of both, and a fragment of whole blocks.
#include "Tile/IR/LayoutConversion.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/WaveExchange.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Behind each row, so that lanes at the same column of different rows are not in the same bank.
static constexpr int64_t kRowPadding = 16;

HeldNumbers::HeldNumbers(Type type) {
  if (auto frag = dyn_cast<FragType>(type)) {
    FragmentMap map(frag);
    piece = map.piece;
    count = map.count();
    registers = piece.registers;
    run = piece.run();
    rows = frag.getMemoryRows();
    columns = frag.getMemoryColumns();
    for (int64_t i = 0; i != count; ++i)
      origins.push_back(map.origin(i));
    return;
  }
  bool isRows = isa<RowsType>(type);
  VectorMap map = isRows ? VectorMap(cast<RowsType>(type)) : VectorMap(cast<ColumnsType>(type));
  piece = map.piece;
  count = map.count;
  registers = map.isScalar ? 1 : piece.registers;
  if (!isRows && !map.isScalar)
    run = piece.run();
  rows = isRows ? count * map.numbersOfPiece() : 1;
  columns = isRows ? 1 : count * map.numbersOfPiece();
  for (int64_t i = 0; i != count; ++i)
    origins.push_back(isRows ? RowAndColumn{i * piece.rows, 0} : RowAndColumn{0, i * piece.columns});
}

RowAndColumn HeldNumbers::place(int64_t value, int64_t index) const {
  RowAndColumn at = origins[value];
  if (rows > 1)
    at.row += piece.ofRegister(index, dims::Row);
  if (columns > 1)
    at.column += piece.ofRegister(index, dims::Col);
  return at;
}

RowAndColumn HeldNumbers::laneBasis(unsigned bit) const {
  auto basis = [&](std::string_view dim) {
    return static_cast<int64_t>(piece.map.basis(dims::Lane, bit, dim));
  };
  return {rows > 1 ? basis(dims::Row) : 0, columns > 1 ? basis(dims::Col) : 0};
}

LayoutConversion::LayoutConversion(Type from, Type to)
    : from(from), to(to), block{this->from.rows, this->from.columns},
      elementBytes(elementTypeOf(from).getIntOrFloatBitWidth() / 8) {
  if (isa<FragType>(from))
    block = {std::max(this->from.piece.rows, this->to.piece.rows),
             std::max(this->from.piece.columns, this->to.piece.columns)};
}

bool LayoutConversion::staysInLane() const {
  for (unsigned bit = 0; bit != kWaveLaneBits; ++bit)
    if (!(from.laneBasis(bit) == to.laneBasis(bit)))
      return false;
  return true;
}

int64_t LayoutConversion::rowPitch() const {
  return block.column * elementBytes + (block.row > 1 && block.column > 1 ? kRowPadding : 0);
}

int64_t LayoutConversion::byteOf(RowAndColumn place) const {
  return place.row * rowPitch() + place.column * elementBytes;
}

int64_t LayoutConversion::waveBytes() const {
  if (staysInLane())
    return 0;
  return static_cast<int64_t>(llvm::alignTo(block.row * rowPitch(), kScratchAlignment));
}

int64_t ConvertLayoutOp::getLeastWaveBytes() { return LayoutConversion(*this).waveBytes(); }

int64_t ConvertLayoutOp::getScratchBytes() {
  int64_t needed = getLeastWaveBytes();
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return needed == 0 ? 0 : partsFor(waves) * static_cast<int64_t>(getWaveBytes().value_or(needed));
}

/// "32 rows and 64 columns", "32 row values".
static std::string sizeOf(Type type) {
  HeldNumbers numbers(type);
  if (isa<FragType>(type))
    return std::to_string(numbers.rows) + " memory rows and " + std::to_string(numbers.columns) +
           " columns";
  return isa<RowsType>(type) ? std::to_string(numbers.rows) + " row values"
                             : std::to_string(numbers.columns) + " column values";
}

LogicalResult ConvertLayoutOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  if (elementTypeOf(source) != elementTypeOf(result))
    return emitOpError() << "converts numbers of " << elementTypeOf(source) << " to "
                         << elementTypeOf(result)
                         << ", but moves them only; convert them with 'tile.map'";
  if (sizeOf(source) != sizeOf(result))
    return emitOpError() << "converts " << sizeOf(source) << " to " << sizeOf(result)
                         << ", expected the same; rows and columns are those of memory";
  if (!getLdsOffset() && !getWaveBytes())
    return success();
  if (int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves(); getShared() && !llvm::isPowerOf2_64(waves / 2))
    return emitOpError() << "is shared by two wave groups, but the kernel has " << waves
                         << (waves == 1 ? " wave" : " waves") << "; expected 2, 4, 8 or 16, or leave 'shared' out";
  int64_t needed = LayoutConversion(*this).waveBytes();
  int64_t offset = getLdsOffset().value_or(0), bytes = getWaveBytes().value_or(0);
  if (offset < 0 || offset % kScratchAlignment != 0 || bytes < needed ||
      bytes % kScratchAlignment != 0)
    return emitOpError() << "at(" << offset << " by " << bytes << "), expected multiples of "
                         << kScratchAlignment << ", from 0 and by " << needed << " or more";
  return success();
}
