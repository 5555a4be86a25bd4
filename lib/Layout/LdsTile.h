// How a tile lies in LDS: a linear part, padding between chunks, panels.
//
// The linear part is a bijection of bits: (row, byte) of the tile -> offset. It covers row-major,
// pieces of rows gathered into chunks, XOR swizzles and their mixtures. On top come the two things
// that are not linear:
//  - padding: after every `chunkBytes` bytes of the linear part, `padding` unused bytes. With the
//  LDS
//    DMA a chunk is what one wave instruction writes (1 KiB of 16 bytes a lane), since its
//    destination has no gaps (docs/Hardware.md 2.4);
//  - panels: a tile whose row is not a power of two (192 bytes) is several panels (of 64 bytes) one
//    after the other, each with the same linear part.
//
//   address(row, byte) = panel * panelStride + p + padding * (p / chunkBytes),
//   panel = byte / panelBytes,  p = linear(row, byte % panelBytes)
//
// Reads use a base address for each lane plus an immediate for each instruction. This is right
// only if XOR and + agree between the two parts: no bit of p may depend on both. `planLdsReads`
// checks that; then padding splits the same way, as p / chunkBytes splits bit by bit.
#pragma once

#include "Layout/LinearLayout.h"

#include <optional>
#include <string_view>
#include <vector>

namespace hocket {

/// A bit of the place in a tile: of the row, or of the byte within the row.
struct TileBit {
  std::string_view dim;
  unsigned bit;
  bool operator==(const TileBit &) const = default;
};

/// Which 16 bytes of a tile lie together in global memory, and which of those are neighbours there. Elements have two
/// bytes.
enum class TileVectors {
  None,    ///< a part of a row; then comes the next part of the row
  Columns, ///< a part of a row; then comes the same part of the next row
  Rows,    ///< one column of 8 rows; then comes the next column of these rows
};

struct LdsTileLayout {
  unsigned rows = 0;
  unsigned rowBytes = 0;
  unsigned panelBytes = 0; ///< a power of two that divides `rowBytes`
  LinearLayout linear;     ///< (row, byte) -> offset of one panel, bijective
  unsigned chunkBytes = 0; ///< a power of two
  unsigned padding = 0;    ///< bytes after each chunk
  TileVectors vectors = TileVectors::None;

  unsigned panels() const { return rowBytes / panelBytes; }
  /// Bytes from one panel to the next.
  unsigned panelStride() const;
  /// Bytes of LDS that the tile takes, with padding.
  unsigned bytes() const { return panels() * panelStride(); }
  /// The byte address of a byte of the tile, from the tile's start.
  uint32_t address(unsigned row, unsigned byte) const;
  /// The address of linear offset `p` within a panel.
  uint32_t padded(uint32_t p) const { return p + padding * (p / chunkBytes); }
};

/// The largest power of two that divides `rowBytes`.
unsigned panelBytesFor(unsigned rowBytes);

/// What the lowest bits of an address in global memory count, of what lies there together: up to `lineBytes` bytes of a
/// panel of `rows` rows of `panelBytes` bytes, all powers of two.
std::vector<TileBit> memoryBits(TileVectors vectors, unsigned rows, unsigned panelBytes, unsigned lineBytes);

/// A row-major tile without padding. Errors: rows no power of two, sizes 0.
Result<LdsTileLayout> rowMajorLdsTile(unsigned rows, unsigned rowBytes);

/// An error unless all sizes fit together and `linear` is a bijection of one panel.
Status validateLdsTile(const LdsTileLayout &tile);

/// The addresses of a set of reads (or writes) of one panel: for instruction i and a lane,
/// base(lane, wave) + immediates[i], where base is `padded(lanePart)`.
struct LdsReadPlan {
  LinearLayout lanePart;            ///< (lane, wave) -> offset, before padding
  std::vector<uint32_t> immediates; ///< for each register of the access, in bytes, with padding
};

/// Splits the addresses of `access`: (register, lane, wave) -> (row, byte) into lane and
/// instruction. An error if the layout's XORs mix the two, or an immediate exceeds `maxImmediate`
/// (65535 for DS instructions).
Result<LdsReadPlan> planLdsReads(const LdsTileLayout &tile, const LinearLayout &access,
                                 uint32_t maxImmediate = 65535);

} // namespace hocket
