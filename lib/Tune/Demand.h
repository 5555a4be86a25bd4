// What a kernel's loop takes of a compute unit besides time: LDS for tiles, registers for values that wait for a later
// cluster. Enough to leave out candidates that cannot be compiled; not enough to know which can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::tune {

/// A ring of tiles in LDS.
struct RingDemand {
  size_t fills = 0;          ///< the step that brings tiles
  std::vector<size_t> reads; ///< those that read them
  int64_t tileBytes = 0;     ///< of a slot, without padding
};

/// A value that lies in registers from the step that makes it to the last that uses it.
struct ValueDemand {
  size_t from = 0;
  /// Steps that use it, and whether that is of the same tile (0) or of the next (1).
  std::vector<std::pair<size_t, int>> uses;
  int64_t registers = 0; ///< of a lane
};

/// Of a loop with one size of tiles.
struct Demand {
  std::vector<RingDemand> rings;
  std::vector<ValueDemand> values;
  int64_t waves = 0;     ///< of a workgroup where a candidate does not say; 0: not known, one on a SIMD then
  int64_t always = 0;    ///< registers of a lane that are held from the loop's begin to its end
  /// That a workgroup may have at most, where so many share a compute unit: of one, of two, ...
  std::vector<int64_t> ldsBytes;
  int64_t simds = 0;      ///< of a compute unit, over which the waves of a workgroup are spread
  int64_t registers = 0;  ///< of a lane, that the waves of one SIMD share
  int64_t workgroups = 1; ///< on a compute unit, where a candidate does not say
};

} // namespace hocket::tune
