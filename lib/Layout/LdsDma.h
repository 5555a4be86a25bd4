// What the LDS DMA can write, and which lane must fetch what.
//
// A buffer or global load "to LDS" has no LDS address for each lane: lane l writes its bytes at
// base + size * l, where the base (M0 plus an immediate) is the same for the whole wave
// (docs/Hardware.md 2.4). So one wave instruction fills a chunk of 64 * size bytes without gaps, in
// lane order. The freedom is elsewhere: which chunk an instruction writes, and which bytes of
// global memory each lane fetches. An LDS layout is thus writable exactly if its chunks are
// gap-free and it keeps each `size`-byte piece of a row together; the swizzle is applied to the
// global address.
//
// The fetch should also be cheap: global address = base(lane, wave) + constant(instruction), so
// that one address register serves all instructions of a wave. A chunk bit whose XOR reaches into
// what the lane chooses can therefore belong to the wave's index but not to the instruction's;
// `planLdsDma` assigns chunk bits accordingly, and prefers instructions that step along a row (a
// constant) over ones that step along rows (a multiple of the run-time stride).
#pragma once

#include "Layout/LdsTile.h"

namespace hocket {

struct LdsDmaPlan {
  unsigned bytesPerLane = 16;
  unsigned waves = 1;        ///< waves that take part: the first ones of the workgroup
  unsigned instructions = 1; ///< of each wave, for one panel
  /// (lane, wave, register = instruction) -> (row, byte): where the piece that a lane fetches lies
  /// in the tile. Row and byte of (lane, wave) and of the instruction add without carries.
  LinearLayout source;
  /// (wave, register) -> chunk: the LDS base of an instruction is chunk * (chunkBytes + padding).
  LinearLayout chunk;

  /// (row, byte) that instruction `index` adds to what lane and wave give.
  Coordinates instructionStep(unsigned index) const;
};

/// The plan for `waves` waves (a power of two) to write one panel of `tile` with `bytesPerLane` (4
/// or 16) bytes a lane. More waves than chunks: the surplus does nothing. Errors: the tile's chunk
/// is not what an instruction writes, pieces are split, or no assignment keeps instruction steps
/// free of XOR.
Result<LdsDmaPlan> planLdsDma(const LdsTileLayout &tile, unsigned waves,
                              unsigned bytesPerLane = 16);

/// (lane, byte) -> offset within the chunk that one instruction writes.
LinearLayout ldsDmaChunk(unsigned bytesPerLane);

} // namespace hocket
