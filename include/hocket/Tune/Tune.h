// Search for the schedule with which a kernel is fastest, as the cycle model predicts it.
//
// A candidate places every step of the kernel's loop: in which cluster, how many tiles ahead. The search draws
// candidates and changes the best ones; the compiler refuses what is illegal, does not fit into LDS or spills; what is
// left is timed on the model. A schedule cannot change what a kernel computes, so all candidates with tiles of one size
// give the same bits.
//
// Deterministic: the same input, options and seed try the same candidates in the same order on any number of threads,
// except where a limit of time ends the search. Everything found is a *prediction* (docs/CycleModel.md).
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Pipelines/Compiler.h"
#include "hocket/Runtime/Device.h"
#include "hocket/Support/Result.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tune {

/// Microseconds of a compiled candidate, predicted or measured. Called from several threads.
using Cost = std::function<Result<double>(const attention::CompiledKernel &)>;

/// What became of a candidate.
enum class Outcome {
  Timed,   ///< has a cost
  Illegal, ///< the compiler refused the schedule: a hazard, too much LDS
  Spilled, ///< too few registers
  Failed,  ///< compiled, but could not be timed
  Slower,  ///< so much slower than the best in the preview that the whole problem was not timed
};
std::string_view toString(Outcome outcome);

struct Trial {
  std::string schedule; ///< text of a `tile.schedule`
  int64_t kvTile = 0;   ///< keys of a tile, where the search chose them; 0: what else says so
  Outcome outcome = Outcome::Illegal;
  double microseconds = 0; ///< predicted, of `Outcome::Timed`
  double preview = 0;      ///< microseconds of the preview, if there was one
  std::string message;     ///< why it has none
  double mean = 0;         ///< geometric, of `microseconds` and each of `Options::variants`; of finalists
};

struct Options {
  /// Target, fixed waves and tiles, and the schedule to start from (`schedule`, `scheduleText`; without them, what the
  /// text says or the shipped default). `to` and callbacks are not used.
  CompileOptions compile;
  uint64_t seed = 0;
  unsigned candidates = 400; ///< distinct schedules to try, the first one included
  double seconds = 0;        ///< no new candidates after so many seconds; 0: no limit
  unsigned threads = 0;      ///< of the host; 0: all cores
  /// Waves of a workgroup to choose from, for kernels that are expanded from an attention problem; empty: what
  /// `compile.waves` or the schedule says.
  std::vector<int64_t> waves;
  /// Keys of a tile to choose from, for the same kernels; empty: what `compile.kvTile` says, or follows from the
  /// schedule. Kernels with other tiles sum in another order, so their bits may differ.
  std::vector<int64_t> kvTiles;
  /// Workgroups that share a compute unit to choose from, for the same kernels; 1 leaves it open. Empty: what
  /// `compile.workgroups` or the schedule says.
  std::vector<int64_t> workgroups;
  /// Of a smaller problem, that takes less time to find: who is slower there than the best, by more than what its begin
  /// and end may make of it, is not timed. None, or 0 microseconds: all are.
  Cost preview;
  /// The cost under other assumptions: another value of what a cycle model does not know for sure, another problem. The
  /// best `finalists` trials that differ in cost are timed under each of them at the end, and ranked by the mean of all.
  std::vector<Cost> variants;
  unsigned finalists = 16;
  /// Trials of an earlier run with the same text, target and cost, which are not made again.
  std::vector<Trial> known;
  /// Told of each new trial, in order, from the calling thread. An error ends the search.
  std::function<Status(const Trial &trial, size_t number, const Trial &best)> onTrial;
};

struct Found {
  Trial start;               ///< the schedule that the search began with
  std::vector<Trial> trials; ///< all, in the order in which they were made
  /// The numbers of those that have a cost, best first; the earlier of two that are equal. Finalists by their means, in
  /// front of all others.
  std::vector<size_t> ranking;
};

/// Searches schedules for the kernel in `text`; `name` is what messages call it. Errors: a text that does not compile
/// as it is, or has not exactly one loop that follows a schedule (InvalidInput); a start that spills or cannot be timed;
/// what `onTrial` says.
Result<Found> tuneSchedule(std::string_view text, std::string_view name, const Cost &cost,
                           const Options &options);

/// What a kernel's time is predicted for: extents and numbers by the names that its manifest gives them, "seq_q" or
/// "m". `known` names of attention and products have usual values where nothing is said; a number that a requirement
/// fixes ("causal == 1") has that one; other numbers that are not extents are 1.
struct Sizes {
  std::map<std::string, double, std::less<>> values;
  /// A file of the cycle model's parameters, as `hocket-run first-day` writes it: its name and its text. Empty: the table's.
  std::string timeFile, timeText;
};

/// The time of the whole grid on the model, with tensors of zeros. Errors: an extent without a value, or a value of
/// what the kernel does not have (InvalidInput, names it); what the kernel's requirements exclude; what the simulator
/// says. `parameter`: one of the cycle model's with another value, "trans.cycles=4"; "": none (InvalidInput names those
/// that there are).
Result<double> predictMicroseconds(const attention::CompiledKernel &kernel, const Sizes &sizes,
                                   std::string_view parameter = "");

/// The median of `repetitions` launches on `device`, after three that do not count, with tensors of zeros. Errors: as those
/// of `predictMicroseconds`; Unsupported for a device that measures nothing; what the device says. One at a time.
Result<double> measureMicroseconds(runtime::Device &device, const attention::CompiledKernel &kernel, const Sizes &sizes,
                                   unsigned repetitions);

/// Whether `text`, the file `name`, holds parameters of the cycle model for `architecture` (InvalidInput).
Status checkTimeFile(std::string_view text, std::string_view name, std::string_view architecture);
/// Whether `parameter` is one of the cycle model's with a value (InvalidInput).
Status checkTimeParameter(std::string_view parameter);

/// The same on a smaller problem, for `Options::preview`: a quarter of the length of the known extents along which loops
/// over tiles go ("seq_q", "seq_kv", "k") and four times the heads. 0 where these are short already.
Result<double> previewMicroseconds(const attention::CompiledKernel &kernel, const Sizes &sizes);

/// A journal of trials, a line of JSON each, so that a search can go on where it stopped. `readJournal` of a file that
/// does not exist is empty; InvalidInput names the line that is not a trial. `identity`: what the trials depend on; a
/// journal of another one is refused.
Result<std::vector<Trial>> readJournal(const std::string &path, std::string_view identity);
std::string journalHead(std::string_view identity);
std::string journalLine(const Trial &trial);

} // namespace hocket::tune
