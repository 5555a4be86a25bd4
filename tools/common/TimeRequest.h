// --time and what belongs to it, for every subcommand that can time a launch.
#pragma once

#include "Options.h"

#include "Simulator/Budget.h"
#include "Simulator/GridTime.h"
#include "Simulator/VariedTimes.h"
#include "Verify/KernelRun.h"
#include "hocket/Manifest/Manifest.h"

namespace hocket::run {

/// The options' numbers in the subcommand's own table.
struct TimeOptionIds {
  unsigned time, file, param, workgroup, trace, picture, grid, vary;
};

/// The parameters of the file `path` (empty: the table's), changed by `assignments` ("KEY=VALUE").
Result<sim::TimeParameters> readTimeParameters(const std::string &path, const std::vector<std::string> &assignments);

/// A launch to be timed, and what came of it.
class TimeRequest {
public:
  /// `always`: as if --time were given.
  static Result<TimeRequest> read(const Options &options, const TimeOptionIds &ids,
                                  bool always = false);

  bool wanted() const { return enabled; }
  /// `manifest`'s kernel follows the schedule that it speaks of.
  void setClusters(const manifest::Manifest &manifest) {
    options.clusters = verify::clustersOf(manifest);
  }
  /// Workgroups' work is listed (`sim::TimingOptions::uneven`).
  void setUneven(bool uneven) { options.uneven = uneven; }
  /// Whether every workgroup is timed, so that the launch's results are there afterwards.
  bool timesAll() const { return all; }
  /// Whether the whole grid is to be predicted.
  bool predictsGrid() const { return wholeGrid; }
  /// For a launch of `grid` workgroups.
  sim::TimingOptions timing(const runtime::Dim3 &grid) const;
  /// Times the launch and writes trace and picture (of the first one). Times of several launches
  /// add up. An error where `device` is not the simulator.
  Status run(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
             std::span<const std::byte> kernarg);
  /// Microseconds predicted for the whole grid; 0: not asked for.
  double microseconds() const { return predicted; }
  /// The report; empty if nothing was timed.
  std::string text() const;
  /// The members "time" and "grid" of a report, "further_times" and "further_grids" of further launches; none if nothing
  /// was timed.
  void writeMembers(llvm::json::OStream &out) const;

private:
  /// Cold and warm life of the first workgroup to be timed; `run` is that of all.
  Result<std::optional<sim::LifeBudgets>>
  findBudgets(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
              std::span<const std::byte> kernarg, const sim::TimingOptions &wanted,
              const sim::TimedRun &run) const;

  /// Predicts the whole grid, under each variation too where that is asked for, and adds it up.
  Status predict(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
                 std::span<const std::byte> kernarg, const sim::TimingOptions &wanted);

  bool enabled = false, wholeGrid = false, all = false, vary = false;
  sim::TimingOptions options;
  double predicted = 0;
  sim::VariedTimes varied; ///< of all launches; empty: not asked for
  std::string tracePath, picturePath, textReport;
  /// A launch that was timed.
  struct Launch {
    sim::TimedRun run; ///< without its events
    sim::TimingSummary summary;
    std::optional<sim::LifeBudgets> budgets;
    void writeMembers(llvm::json::OStream &out) const;
  };
  /// Trace and picture, where they are asked for.
  Status draw(const sim::TimedRun &run, const sim::TimingSummary &found) const;

  std::vector<Launch> launches;
  std::vector<sim::GridTime> grids; ///< of all launches
};

} // namespace hocket::run
