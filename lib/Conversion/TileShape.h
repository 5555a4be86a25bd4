// How many waves a workgroup has and how many keys a tile, where nobody says.
//
// A rule of four steps, from what the fragments of one iteration take:
//  1. Where tiles pass through registers (no wide load to LDS): four waves and 32 keys. The part of
//     the next tile that waits in registers, and its LDS, stay small enough for two workgroups on a
//     compute unit.
//  2. Waves: eight, two on a SIMD, if O, Q, and the larger of (a K tile, its scores) and (a V tile,
//     the packed weights) fit into a wave's registers beside some for addresses and the softmax;
//     else four, with all registers of a SIMD each.
//     Where the schedule holds both operands at once (it reads one while it multiplies the other),
//     both count, and all of the rest.
//  3. Fewer, where a panel of a tile (lib/Layout/LdsTile.h) is less than what they write with
//     one LDS DMA instruction each.
//  4. Keys: 64, or 128 where eight waves have the registers for it: per key the same work, but half
//     the waits, barriers and maxima that are gathered. 32 where both operands are held, if that
//     makes room for two workgroups on a compute unit or nothing else fits.
// docs/HeadSizes.md shows what it chooses.
#pragma once

#include "Tile/IR/Tile.h"
#include "Grid/WaveShape.h"
#include "Target/Arch/ArchInfo.h"

#include <cstdint>
#include <optional>

namespace hocket {

/// Two on a SIMD, and one.
inline constexpr int64_t kManyWaves = 8, kFewWaves = 4;
/// The most that a workgroup has.
inline constexpr int64_t kMaxWaves = 16;

struct TileShape {
  int64_t waves = 0;  ///< of a workgroup, 32 query rows each
  int64_t kvTile = 0; ///< keys of a tile
  bool operator==(const TileShape &) const = default;
};

/// What is settled before the rule: what the schedule or the user asks for.
struct TileShapeConstraints {
  std::optional<int64_t> waves, kvTile;
  bool bothOperands = false; ///< see `holdsBothOperands`
};

/// Whether operands from two rings are in registers at once under `schedule`: each is read in an
/// earlier cluster than it is multiplied in, and some cluster lies within both times. Of an
/// attention loop, these are tiles of K and of V.
bool holdsBothOperands(tile::ForTilesOp loop, tile::ScheduleOp schedule);

/// Heads of Q and K, and of V, in elements: multiples of 32; what an element takes in LDS, and as an operand in registers.
struct HeadWidths {
  int64_t depth = 0, depthV = 0, elementBytes = 0, operandBytes = elementBytes;
  int64_t columns = 0; ///< of O, where those of V share bytes
};

/// Waves that have something to write with each LDS DMA instruction of a panel of a tile of `rows` rows of heads.
int64_t writingWaves(const ArchInfo &arch, HeadWidths head, int64_t rows);

/// `keys`, or as many times two more as it takes for `waves` waves to have something to write with each instruction.
int64_t fetchableKeys(const ArchInfo &arch, HeadWidths head, int64_t waves, int64_t keys);

/// The shape for heads of these widths. What is asked for is
/// followed as it is: whether it fits is found out later, by the passes that know why not.
TileShape chooseTileShape(const ArchInfo &arch, HeadWidths head, const TileShapeConstraints &constraints);

} // namespace hocket
