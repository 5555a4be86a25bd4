// Finding an LDS layout: the fewest bank conflicts among those that can be written and read
// cheaply.
//
// Padding and swizzles are usually typed in by someone who worked them out on paper for one shape.
// Here they are found. Given a tile, who writes it (the LDS DMA, or stores) and every way in which
// it is read, the search goes through layouts in an order of preference and stops at the first
// without conflicts:
//
//   1. arrangements: which pieces of which rows share a 1 KiB chunk, and in which order; a 128-byte
//      line of global memory always stays within one instruction;
//   2. swizzles: position bits XORed with another bit of row or piece;
//   3. padding after each chunk;
// first with lines fetched by consecutive lanes in order (the fetch is then coalesced as a plain
// copy is), then with pieces of a line scattered over the lanes.
//
// A layout counts only if reads keep the form base(lane) + immediate (planLdsReads) and the DMA's
// global addresses the form base(lane, wave) + step(instruction) (planLdsDma). If nothing is free
// of conflicts, the best one found is returned with what remains: the caller reports it.
#pragma once

#include "Layout/LdsAccess.h"
#include "Layout/LdsDma.h"
#include "Layout/LdsTile.h"

#include <optional>

namespace hocket {

/// One way in which the tile is accessed: (register = instruction, lane, wave) -> (row, byte) of
/// one panel; FragmentReads.h makes these.
struct LdsUse {
  LdsInstruction instruction = LdsInstruction::ReadB128;
  LinearLayout access;
  /// Bits of the row over which the elements of one access run, from the lowest, if they do not run
  /// along the row: (row, byte) is then the first element's (LdsStaging.h).
  std::vector<unsigned> gatheredRows = {};
};

struct LdsTileRequest {
  unsigned rows = 0;        ///< a power of two
  unsigned rowBytes = 0;    ///< any multiple of 16; panels if not a power of two
  std::vector<LdsUse> uses; ///< reads, and for tiles written by stores the stores too
  /// Waves that write the tile by LDS DMA; 0: the tile is written by stores, which are among
  /// `uses`.
  unsigned dmaWaves = 0;
  unsigned dmaBytesPerLane = 16;
  unsigned lineBytes = 128;  ///< of memory that one DMA instruction must fetch together
  unsigned maxPadding = 256; ///< bytes after a chunk (DMA) or row (stores); 0: none
  TileVectors vectors = TileVectors::None; ///< of the memory that the tile comes from
};

struct LdsTileChoice {
  LdsTileLayout layout;
  std::optional<LdsDmaPlan> dma;  ///< if written by LDS DMA
  std::vector<LdsReadPlan> reads; ///< one for each use
  std::vector<LdsCost> costs;     ///< one for each use: all its instructions of one wave
  unsigned swizzledBits = 0;      ///< position bits with an XOR
  unsigned runBytes = 0;          ///< of memory that consecutive lanes fetch in order
  unsigned candidates = 0;        ///< layouts that were tried

  /// Cycles lost to conflicts in all uses together.
  unsigned conflicts() const;
  /// One line: "64 x 256 bytes in 16 chunks of 1024 bytes, 1 swizzled bit, padding 0; ds_read_b128
  /// 64 of 64 cycles".
  std::string describe(std::span<const LdsUse> uses) const;
};

/// The best layout found. Errors: sizes that no layout fits, an instruction that `model` does not
/// know, or reads and writers that no layout serves.
Result<LdsTileChoice> findLdsLayout(const LdsTileRequest &request, const LdsBankModel &model);

/// What the instructions of `use`, by one wave, cost on `layout` in total; the worst wave if they
/// differ. Counting may stop once more than `maxConflicts` cycles are lost: the result then says at
/// least so much.
Result<LdsCost> ldsUseCost(const LdsTileLayout &layout, const LdsUse &use,
                           const LdsBankModel &model, unsigned maxConflicts = ~0u);

} // namespace hocket
