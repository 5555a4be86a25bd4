// What a workgroup of a kernel takes, in cycles of the cycle model: data of the registry, made by
// scripts/registry-costs.py, from which the time of whole grids is estimated when a launch is planned
// (docs/Registry.md).
//
// What counts is how many tiles of keys there are, whether the last is full, how many of the block's rows there are,
// whether the workgroup is among the first on its compute unit, which fetch the code, and who shares the unit. Tiles
// and rows were found to add up: what few rows save does not depend on the tiles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// Head dimensions of Q and K, and of V and O.
struct HeadDims {
  int64_t qk = 0, v = 0;
  bool operator==(const HeadDims &) const = default;
};

/// What a workgroup has to do.
struct WorkgroupLoad {
  int64_t tiles = 0;
  int64_t lastKeys = 0;  ///< in the last tile, where it is not full; 0: it is
  double rowShare = 1;   ///< of the block's rows, those that there are: in (0, 1]
  bool isFirst = true;   ///< on its compute unit
};

/// Cycles at several points, of workgroups alone on a compute unit and beside as many of their like as fit: of the
/// first ones there, and of those behind them (none: as the first). Where one fits, `shared` may lack.
struct CostCurves {
  std::vector<double> alone, shared, aloneLater, sharedLater;

  const std::vector<double> &of(bool isAlone, bool isFirst) const;
};

/// Of two workgroups on a compute unit that holds more: with SIMDs of their own they are nearer to being alone than
/// their number says.
struct PairCosts {
  std::vector<double> cycles, later, skew;
};

/// How many times as long a long block takes where a doubtful parameter of the cycle model has another value.
struct VariedCost {
  std::string assignment; ///< as "memory.bytes=24" (docs/generated/TimeParameters.md)
  double share = 1;
};

struct KernelCost {
  std::string architecture; ///< LLVM's processor name
  HeadDims headDims;
  bool causal = false;  ///< with the last tiles cut by a causal mask
  bool lse = false;     ///< with LSE as a result
  int64_t rows = 0;     ///< query rows of a workgroup
  int64_t keys = 0;     ///< of a tile; of a kernel that combines: slices that it loads at a time
  int64_t resident = 1; ///< workgroups that a compute unit holds at a time
  /// Where `cycles` and `skew` are known, ascending: 0 or 1 and more; none: at 1, 2, 4, 8, ... tiles. At least two.
  std::vector<int64_t> tiles;
  CostCurves cycles;
  PairCosts pair; ///< [as `cycles.shared`]; none: between one and all
  /// Less with one row, and a quarter, half and three quarters of them: of one tile, of several, and of none (which may
  /// lack). None: nothing.
  CostCurves fewRows;
  /// More with one key of the last tile, one less and one more than half (where kernels leave out a block of 32), and
  /// all but one: of one tile with a quarter of the rows, of one with all rows, and of several. None: nothing.
  CostCurves partTile;
  /// How unlike those that share get on, [as `cycles.shared`] (sim::WorkgroupCycles::skew); none: alike.
  std::vector<double> skew;
  /// Under variations that change it by half a per cent or more, ascending.
  std::vector<VariedCost> varied;

  /// How many times as long it takes under a variation; 1 where none is known.
  double shareUnder(std::string_view assignment) const;
  /// For `load`, with `together` workgroups on the compute unit (1 to `resident`): between and beyond what is known
  /// straight lines.
  double cyclesOf(const WorkgroupLoad &load, int64_t together) const;
  /// Of `together` workgroups with `tiles` each: in [0, 1).
  double skewOf(int64_t tiles, int64_t together) const;

private:
  /// What `load` takes more than one with all rows and keys.
  double moreThanWhole(bool isAlone, const WorkgroupLoad &load) const;
  double addedByPart(std::span<const double> curve, const WorkgroupLoad &load) const;
  /// Of a curve of two and of all that fit, for `together`.
  double between(double alone, const std::vector<double> &two, const std::vector<double> &all, int64_t count,
                 int64_t together) const;
  /// The number of a curve at so many tiles.
  double atTiles(const std::vector<double> &curve, int64_t count) const;
};

/// Numbers of `KernelCost::fewRows` and `partTile`, and of each of their parts.
inline constexpr size_t kRowShares = 4, kFewRows = 2 * kRowShares, kKeyShares = 4, kPartTiles = 3 * kKeyShares;

} // namespace hocket::attention
