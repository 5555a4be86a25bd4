// A benchmark run: kernels by problems, predicted or measured, and how it is reported.
#pragma once

#include "BenchRatios.h"
#include "Calibration.h"
#include "Measure.h"
#include "Options.h"
#include "Placed.h"
#include "PublishedTable.h"
#include "ToolPlanner.h"
#include "VerifyListed.h"

#include "Simulator/GridTime.h"
#include "Simulator/VariedTimes.h"

#include "llvm/Support/JSON.h"

#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <set>

namespace hocket::run {

/// A kernel of the run: one column.
struct BenchKernel {
  std::string name, choice;
  bool published = false; ///< a column of the file of measurements
  std::optional<int64_t> splits; ///< of split KV: 0 as the heuristic says, none as the line says
  std::map<std::string, KindCaches> caches; ///< by variation of a compute unit, "" for none
};

/// A launch of a plan: which kernel, and what it takes.
struct BenchLaunch {
  std::string kernel;
  runtime::KernelInfo info;
};

/// What came of one kernel on one problem.
struct BenchCell {
  bool done = false;
  std::string refusal;    ///< why not
  std::string registered; ///< which registered kernel it was, if any
  int64_t splits = 1;     ///< slices of the keys
  std::vector<BenchLaunch> launches; ///< of a prediction, in order
  sim::GridTime grid;     ///< predicted
  sim::VariedTimes varied; ///< execution without launch overhead; empty: not asked for
  std::optional<Measurement> measured;    ///< beside the prediction
  std::optional<ListedVerdict> verified; ///< of what was measured; nothing: not asked for

  bool isWrong() const { return verified && !verified->passed(); }
};

/// Times of an earlier run, in microseconds, by problem and kernel.
using Baseline = std::map<std::pair<std::string, std::string>, double>;

class Bench {
public:
  static Result<Bench> read(const Options &options);
  /// Predicts on the simulator, measures on HIP.
  Status runAll();
  /// Fits clock and launch overhead to the lines named for it.
  void fit();
  void print(llvm::raw_ostream &out) const;
  std::string toJson() const;
  std::string toCsv() const;
  /// Speed over length, of the run's kernels and of all that the list has figures of, as SVG: a
  /// panel for problems that differ in length alone. Invalid input if there are no two such lines.
  Result<std::string> toPlot() const;
  /// Lines that are more than `maxSlowdown` per cent slower than in the saved run.
  unsigned slower() const;
  /// Measured kernels whose results are wrong.
  unsigned wrong() const;

private:
  Status readTable(const Options &options);
  Status readKernels(const Options &options);
  Status readMeasuring(const Options &options);
  Status readBaseline(const Options &options);
  Result<BenchCell> runOne(BenchKernel &kernel, const PublishedRow &row);
  /// The plan of `kernel` for what is asked for, and in `cell` what it is.
  Result<ListedPlan> planOf(const BenchKernel &kernel, const ListedProblem &asked, BenchCell &cell);
  Result<ForwardPlanPointer> planOf(const BenchKernel &kernel, attention::ForwardProblem asked);
  Status measure(const ListedPlan &plan, const PublishedRow &row, const Contents &contents, BenchCell &cell);
  Status predict(BenchKernel &kernel, const attention::LaunchPlan &plan, const PublishedRow &row,
                 const Contents &contents, BenchCell &cell);
  /// What is asked for beside the nominal parameters.
  Result<std::vector<sim::VariedParameters>> variationsOf(const sim::TimeParameters &nominal) const;
  /// The prediction after calibration, or the median.
  double microseconds(const BenchCell &cell) const {
    return cell.measured ? cell.measured->median : calibration.apply(cell.grid.executeMicroseconds);
  }
  /// What variations take, after calibration.
  sim::VariedTimes varied(const BenchCell &cell) const;
  double tflops(const PublishedRow &row, const BenchCell &cell) const;
  std::optional<double> before(size_t row, size_t kernel) const;
  bool fits(const PublishedRow &row) const { return calibrateRows.count(row.number) != 0; }
  std::string fieldText(size_t row, size_t kernel) const;
  void printErrors(llvm::raw_ostream &out) const;
  void writeCell(llvm::json::OStream &out, size_t row, size_t kernel) const;
  /// `kernel` beside `peer`, a column of the list; nothing if `kernel` is one itself.
  PeerRatio ratio(size_t row, size_t kernel, const std::string &peer) const;
  PeerMeans means(size_t kernel, const std::string &peer) const;
  void printRatios(llvm::raw_ostream &out) const;
  void printRatios(llvm::raw_ostream &out, size_t kernel) const;
  void writeRatios(llvm::json::OStream &out, size_t row, size_t kernel) const;
  void writeMeans(llvm::json::OStream &out) const;
  std::string ratioColumns() const;
  std::string ratioFields(size_t row, size_t kernel) const;
  std::string meanFields(size_t kernel) const;

  std::optional<ToolPlanner> planner;
  std::shared_ptr<runtime::Device> device; ///< to measure on; null: predict
  MeasureOptions measuring;
  bool verifies = true; ///< what is measured
  sim::TimingOptions timing;
  bool vary = false;
  PublishedTable table;
  std::vector<BenchKernel> kernels;
  std::set<unsigned> calibrateRows;
  std::vector<std::vector<BenchCell>> cells; ///< [row][kernel]
  Calibration calibration;
  Baseline baseline;
  double maxSlowdown = -1; ///< per cent; below 0: anything goes
};

} // namespace hocket::run
