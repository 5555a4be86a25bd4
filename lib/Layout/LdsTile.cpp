// Addresses of a tile in LDS and their split into a lane's base and an instruction's immediate.
#include "Layout/LdsTile.h"

#include "Layout/Log2.h"

#include <bit>

using namespace hocket;

unsigned LdsTileLayout::panelStride() const {
  unsigned panel = rows * panelBytes;
  return panel + padding * (panel / chunkBytes);
}

uint32_t LdsTileLayout::address(unsigned row, unsigned byte) const {
  uint64_t p = linear.apply(
      {{std::string(dims::Row), row}, {std::string(dims::Byte), byte % panelBytes}}, dims::Offset);
  return byte / panelBytes * panelStride() + padded(static_cast<uint32_t>(p));
}

unsigned hocket::panelBytesFor(unsigned rowBytes) { return rowBytes & -rowBytes; }

std::vector<TileBit> hocket::memoryBits(TileVectors vectors, unsigned rows, unsigned panelBytes, unsigned lineBytes) {
  constexpr unsigned elementBits = 1, vectorBits = 4;
  std::vector<TileBit> bits;
  unsigned row = 0, byte = 0;
  for (unsigned position = 0; position < log2(lineBytes); ++position) {
    bool ofRow = (vectors == TileVectors::Columns && position >= vectorBits) ||
                 (vectors == TileVectors::Rows && position >= elementBits && position < vectorBits);
    unsigned &next = ofRow ? row : byte;
    if (next == log2(ofRow ? rows : panelBytes))
      break;
    bits.push_back({ofRow ? dims::Row : dims::Byte, next++});
  }
  return bits;
}

Result<LdsTileLayout> hocket::rowMajorLdsTile(unsigned rows, unsigned rowBytes) {
  if (!std::has_single_bit(rows) || rowBytes == 0)
    return invalidInput("LDS tile has " + std::to_string(rows) + " rows of " +
                        std::to_string(rowBytes) +
                        " bytes; rows must be a power of two and neither may be 0");
  unsigned panelBytes = panelBytesFor(rowBytes);
  LinearLayout linear = LinearLayout::identity(dims::Byte, dims::Offset, log2(panelBytes)) *
                        LinearLayout::identity(dims::Row, dims::Offset, log2(rows));
  LdsTileLayout tile{rows, rowBytes, panelBytes, linear, rows * panelBytes, 0};
  return tile;
}

Status hocket::validateLdsTile(const LdsTileLayout &tile) {
  if (tile.rows == 0 || tile.rowBytes == 0 || !std::has_single_bit(tile.rows) ||
      !std::has_single_bit(tile.panelBytes) || tile.rowBytes % tile.panelBytes != 0)
    return invalidInput("LDS tile has " + std::to_string(tile.rows) + " rows of " +
                        std::to_string(tile.rowBytes) + " bytes in panels of " +
                        std::to_string(tile.panelBytes) +
                        "; rows and panel must be powers of two and the panel must divide the row");
  if (!std::has_single_bit(tile.chunkBytes) || tile.chunkBytes > tile.rows * tile.panelBytes)
    return invalidInput("LDS tile has chunks of " + std::to_string(tile.chunkBytes) +
                        " bytes, a power of two of at most " +
                        std::to_string(tile.rows * tile.panelBytes) + " is needed");
  const LinearLayout &linear = tile.linear;
  if (linear.inputBits(dims::Row) != log2(tile.rows) ||
      linear.inputBits(dims::Byte) != log2(tile.panelBytes) ||
      linear.matrix().columns() != log2(tile.rows) + log2(tile.panelBytes) ||
      linear.outputs().size() != 1 || !linear.hasOutput(dims::Offset) || !linear.isBijective())
    return invalidInput(
        "the linear part of an LDS tile must map every (row, byte) of a panel to an "
        "offset of its own");
  return Status::success();
}

Result<LdsReadPlan> hocket::planLdsReads(const LdsTileLayout &tile, const LinearLayout &access,
                                         uint32_t maxImmediate) {
  Result<LinearLayout> offsets = access.then(tile.linear);
  if (!offsets)
    return offsets.error();
  uint64_t laneReach =
      offsets->reach(dims::Lane, dims::Offset) | offsets->reach(dims::Wave, dims::Offset);
  uint64_t shared = laneReach & offsets->reach(dims::Register, dims::Offset);
  if (shared)
    return unsupported("LDS layout cannot be read with immediates: address bits " +
                       std::to_string(shared) +
                       " depend on both lane and instruction; swizzle other bits");
  LdsReadPlan plan;
  plan.lanePart = offsets->sublayout({dims::Lane, dims::Wave}, {dims::Offset});
  LinearLayout registerPart = offsets->sublayout({dims::Register}, {dims::Offset});
  for (uint64_t i = 0; i < uint64_t(1) << registerPart.inputBits(dims::Register); ++i) {
    uint32_t immediate = tile.padded(static_cast<uint32_t>(registerPart.applyFlat(i)));
    if (immediate > maxImmediate)
      return unsupported("LDS read needs the immediate " + std::to_string(immediate) +
                         ", at most " + std::to_string(maxImmediate) +
                         " can be encoded; use a smaller tile");
    plan.immediates.push_back(immediate);
  }
  return plan;
}
