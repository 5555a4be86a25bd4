// Prediction of a whole launch: all compute units and XCDs, the kernel's own block order.
//
// A grid has few kinds of workgroups (one for each number of KV tiles, say). How the kind follows
// from a workgroup's number is found by executing samples; one workgroup of each kind is timed by
// the cycle model, or a few of them and the rest by interpolation over executed instructions. Then
// workgroups are dealt to the XCDs in turn and, on each, to the compute unit that has room first.
// Cycles become microseconds by a clock that depends on how many compute units are busy, and no
// time is shorter than what memory needs for what the L2 caches do not keep.
#pragma once

#include "Grid/GridSchedule.h"
#include "Simulator/Timing.h"

#include <map>
#include <utility>

namespace hocket::sim {

class Program;

/// What a workgroup does, as far as it tells how long it takes.
struct WorkDone {
  uint64_t instructions = 0; ///< wave-instructions
  uint64_t idleLanes = 0;    ///< lanes of vector memory accesses that have nothing there: ragged edges move less
  auto operator<=>(const WorkDone &) const = default;
};

/// Workgroups that do the same.
struct WorkgroupKind {
  WorkDone work = {};     ///< of the workgroup that is timed; its instructions tell kinds apart
  uint64_t count = 0;     ///< workgroups of the kind
  WorkgroupCycles first;  ///< of the first on its compute unit, which fetches the code
  WorkgroupCycles later;  ///< of those behind it
  bool timed = false;     ///< by the cycle model; else interpolated
};

struct GridTime {
  uint64_t workgroups = 0;
  unsigned resident = 1; ///< at a time on a compute unit
  std::string order;     ///< how the kind follows from the number: "x % 32"
  std::vector<WorkgroupKind> kinds;
  double cycles = 0;              ///< from the first workgroup's start to the last one's end
  double busyShare = 0;           ///< of the compute units over that time
  double clock = 0;               ///< mean effective, GHz
  double executeMicroseconds = 0; ///< without launch overhead
  double memoryMicroseconds = 0;  ///< what memory alone would take
  double atomicMicroseconds = 0;  ///< what atomics alone would take, at the rate of the whole chip
  double l2Hits = 0;              ///< share of the bytes asked of L2 that neighbours have fetched
  double microseconds = 0;        ///< predicted, all in all
};

/// Remembers when workgroups of a kind, as many as share a compute unit and as many behind them, end: between predictions
/// of one kernel, by what they do and residents.
using KindCache = std::map<std::pair<WorkDone, unsigned>, std::vector<double>>;

/// Parameters to predict under, and what earlier predictions under them know of the kernel (may be null).
struct Assumption {
  TimeParameters parameters;
  KindCache *cache = nullptr;
};

/// Predicts a launch under each of `assumptions`, one at least, in their order; `options.parameters` and
/// `options.workgroups` are not used. What the grid does is found by execution once: another assumption costs what timing
/// the kinds anew costs, which is little. Each result is what `predictGrid` gives.
Result<std::vector<GridTime>> predictGrids(runtime::Device &device, runtime::Kernel &kernel,
                                           const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                                           const TimingOptions &options, std::span<const Assumption> assumptions);
/// The same for callers that hold the program.
Result<std::vector<GridTime>> predictGrids(Program &program, size_t kernelNumber, const runtime::LaunchShape &shape,
                                           std::span<const std::byte> kernarg, const TimingOptions &options,
                                           std::span<const Assumption> assumptions);

/// Predicts a launch on `device`, which must be the simulator's. Executes samples of the
/// workgroups: memory is written as by them. `options.workgroups` is not used.
Result<GridTime> predictGrid(runtime::Device &device, runtime::Kernel &kernel,
                             const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                             const TimingOptions &options, KindCache *cache = nullptr);

/// The same for callers that hold the program.
Result<GridTime> predictGrid(Program &program, size_t kernelNumber, const runtime::LaunchShape &shape,
                             std::span<const std::byte> kernarg, const TimingOptions &options,
                             KindCache *cache = nullptr);

/// The share of what workgroups side by side on an XCD ask of L2 that others of them have fetched.
/// `fresh` has for the first of them, in order, the lines that none before asked for, `asked` all
/// lines that these ask for. The rest of `together` share as the last quarter of these do.
double shareOfHits(const std::vector<uint64_t> &fresh, uint64_t asked, uint64_t together);

std::string toText(const GridTime &grid);
/// The member "kinds" of a JSON object.
void writeKinds(llvm::json::OStream &out, const GridTime &grid);
/// All members, "kinds" among them (docs/Predictions.md has them).
void writeMembers(llvm::json::OStream &out, const GridTime &grid);

} // namespace hocket::sim
