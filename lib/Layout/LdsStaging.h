// How a tile passes through registers into LDS, where no wide enough LDS DMA exists.
//
// Every lane loads pieces of rows from global memory and writes them to LDS with a later
// instruction. In exchange for the registers there is a freedom that the LDS DMA does not have: a
// layout need not keep pieces of rows together. Where the tile is read across its rows and no LDS
// read transposes, neighbouring elements of LDS are those of neighbouring rows (a *gathered*
// layout): a lane loads pieces of two, four or eight such rows, interleaves them in registers, and
// every column of the piece becomes one store. The reads are then plain.
//
//   row r   : a0 a1 a2 a3 ...   (one load)        stores: a0 b0 | a1 b1 | a2 b2 | ...
//   row r+1 : b0 b1 b2 b3 ...   (one load)
//
// Which lane loads what is chosen for whole 128-byte lines first and for the fewest bank conflicts
// of the stores second. Addresses of stores may be swizzled in bits that the instruction touches
// too: such a store has a base address of its own (`variants`), constant over the tiles.
#pragma once

#include "Layout/LdsSearch.h"

namespace hocket {

/// The addresses of one wave's stores: padded(lanePart ^ variants[variant]) + immediate.
struct LdsStorePlan {
  struct Store {
    unsigned variant = 0;
    uint32_t immediate = 0;
  };
  LinearLayout lanePart;          ///< (lane, wave) -> offset, before padding
  std::vector<uint32_t> variants; ///< the first is 0
  std::vector<Store> stores;      ///< by register of `LdsStagingPlan::target`
};

/// One panel's way; panels are alike.
struct LdsStagingPlan {
  unsigned waves = 1;
  unsigned loadBytes = 16; ///< of one lane, in one load: 4, 8 or 16
  unsigned loads = 1;      ///< of each wave
  unsigned gathered = 1;   ///< consecutive loads whose elements are interleaved; 1: none are
  unsigned storeBytes = 16;
  LinearLayout source; ///< (register = load, lane, wave) -> (row, byte) of the piece
  LinearLayout target; ///< (register = store, lane, wave) -> (row, byte) of its first element
  LdsStorePlan addresses;
  LdsCost cost; ///< of one wave's stores

  /// Bytes of the tile in one lane's registers.
  unsigned laneBytes() const { return loads * loadBytes; }
  /// Stores of one group of `gathered` loads: one for each column of a piece, or one in all.
  unsigned storesOfGroup() const { return loadBytes * gathered / storeBytes; }
};

/// The plan for `waves` waves (a power of two) to load and store a panel of `tile`. Errors: a panel
/// too small to give every lane four bytes (eight, in a gathered layout), stores that `model` does
/// not know, a layout that keeps no four bytes of a row or of neighbouring rows together.
Result<LdsStagingPlan> planLdsStaging(const LdsTileLayout &tile, unsigned waves,
                                      const LdsBankModel &model);

/// The best layout found for a tile that passes through registers: fewest cycles lost to conflicts
/// in reads and stores, then the least LDS. `request.dmaWaves` is the number of waves;
/// `request.uses` are the reads, all gathered over the same rows or none. Errors as
/// findLdsLayout's.
Result<LdsTileChoice> findStagedLdsLayout(const LdsTileRequest &request, const LdsBankModel &model);

} // namespace hocket
