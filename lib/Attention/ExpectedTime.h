// How long a launch of attention is expected to take, in microseconds of planning time where the cycle model takes
// seconds of them.
//
// What a workgroup costs is data of the registry, made by the cycle model (scripts/registry-costs.py); clock, memory,
// launch, and how workgroups share the chip, are the cycle model's own parameters and schedule.
#pragma once

#include "hocket/Attention/Kernels.h"

#include "Grid/KeySlices.h"
#include "Grid/TimeParameters.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/Support/MathExtras.h"

#include <functional>

namespace hocket::attention {

/// Of a partial result's elements.
inline constexpr int64_t kPartialBytes = 4;

/// The device as the model sees it.
struct Machine {
  const ArchInfo *arch;
  int64_t units, xcds;
  sim::TimeParameters parameters;

  Machine(const ArchInfo *arch, int64_t units)
      : arch(arch), units(units), xcds(units % arch->chip.xcds == 0 ? arch->chip.xcds : 1),
        parameters(sim::TimeParameters().on(*arch)) {}

  /// The same with another value of a doubtful parameter.
  Machine under(const sim::TimeVariation &variation) const;

  double clock(double busy) const { return sim::effectiveClock(parameters, busy); }
  double bytesPerMicrosecond() const {
    return parameters.memoryPeak * parameters.memoryEfficiency * 1e6;
  }
};

/// `problem` as the grid of `kernel` counts it: where the pairs of a group are rows, those of KV heads.
ForwardProblem asCounted(ForwardProblem problem, const KernelEntry &kernel);

/// Computes what KeySlices.h says.
struct HostSlices {
  using Number = int64_t;
  int64_t add(int64_t a, int64_t b) { return a + b; }
  int64_t mul(int64_t a, int64_t b) { return a * b; }
  int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  std::pair<int64_t, int64_t> divMod(int64_t a, int64_t b) { return {a / b, a % b}; }
  int64_t isLess(int64_t a, int64_t b) { return a < b; }
};

/// Microseconds, and the same under each of `sim::timeVariations`.
struct ExpectedTime {
  double microseconds;
  std::vector<double> varied;
};

/// One launch of workgroups that each compute a block of rows over a slice of the keys.
class SlicesLaunch {
public:
  SlicesLaunch(const ForwardProblem &problem, const KernelEntry &kernel, const KernelCost &cost, int64_t splits);

  int64_t workgroups() const { return blocks * problem.heads * problem.batch * splits; }
  double microseconds(const Machine &machine) const;
  ExpectedTime expected(const Machine &machine) const;

private:
  /// The keys that rows of the block see.
  KeyRange keysOf(int64_t block) const {
    const int64_t first = block * cost.rows / rowsOfQuery;
    const int64_t lastRow = std::min((block + 1) * cost.rows, problem.seqQ) - 1, behind = lastRow / rowsOfQuery + 1;
    return problem.visibility.rangeOfBlock(first, behind - first, lengths);
  }
  /// The tiles of one workgroup, as the kernel divides them: those that hold a key which some row
  /// of its block sees, dealt to the slices.
  KeyRange tilesOf(int64_t block, int64_t slice) const {
    const KeyRange keys = keysOf(block);
    int64_t first = keys.begin / cost.keys;
    auto behind = static_cast<int64_t>(llvm::divideCeil(keys.end, cost.keys));
    HostSlices host;
    const SliceTiles<int64_t> own = tilesOfSlice<HostSlices>(host, std::max<int64_t>(behind - first, 0), splits, slice);
    return {first + own.first, first + own.first + own.count};
  }
  WorkgroupLoad loadOf(int64_t block, int64_t slice, bool isFirst) const;
  /// Calls `visit` with batch, head position, block and slice of every workgroup in its order, until it says false.
  void forEach(const std::function<bool(int64_t, int64_t, int64_t, int64_t)> &visit) const;
  /// The share of the workgroups' cycles that tiles behind a block's first take: what varies with the model's parameters
  /// is known of these, and not of how a block begins and ends.
  double loopShare() const;
  double computeMicroseconds(const Machine &machine) const;
  double distinctShare(const Machine &machine) const;
  double memoryMicroseconds(const Machine &machine) const;
  /// The keys that one workgroup loads.
  KeyRange keysRead(int64_t block, int64_t slice) const;
  double bytesOfRows(int64_t block, int64_t slice) const;

  ForwardProblem problem; ///< as the kernel's grid counts it
  Lengths lengths;        ///< of queries and keys
  int64_t rowsOfQuery;    ///< that the grid counts: the heads of a group, or 1
  const KernelCost &cost;
  int64_t splits;
  bool paired; ///< the second half of the blocks comes in the opposite order
  int64_t blocks;
  bool blocksDiffer; ///< in what they execute
};

/// What `kernel`, which computes the problem whole, is expected to take; nothing where its costs do not tell: scores are
/// modified, or a window, a list or lengths of their own decide what is computed, or the grid is very large.
std::optional<ExpectedTime> expectedTime(const ForwardProblem &problem, const KernelEntry &kernel,
                                         const Machine &machine);

} // namespace hocket::attention
