// hocket-dev splits: the heuristic of split KV against the cycle model.
//
// For every problem of a list the cycle model predicts the whole plan, without split and with every
// number of slices of a list; the heuristic is asked what it would choose. It must never choose
// what the model says loses, and find most of what the best numbers gain (docs/SplitKV.md).
#define HOCKET_OPTIONS_INC "SplitsOptions.inc"
#include "DevSubcommands.h"
#include "ToolPlanner.h"
#include "OptionTable.h"
#include "Output.h"
#include "Placed.h"
#include "PublishedTable.h"

#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// One problem: the model's time for each number of slices, microseconds.
struct Line {
  ForwardProblem problem;
  SplitChoice choice;
  std::map<int64_t, double> predicted;

  double whole() const { return predicted.at(1); }
  double chosen() const { return predicted.at(choice.splits); }
  std::pair<int64_t, double> best() const {
    return *std::min_element(predicted.begin(), predicted.end(),
                             [](const auto &a, const auto &b) { return a.second < b.second; });
  }
  double expected(int64_t splits) const {
    for (const SplitEstimate &estimate : choice.estimates)
      if (estimate.splits == splits)
        return estimate.total();
    return 0;
  }
};

struct Summary {
  double worstLoss = 0;   ///< per cent by which a chosen split is slower than none
  double gainShare = 100; ///< per cent of the relative times that the best numbers save
};
} // namespace

static Result<std::vector<int64_t>> readNumbers(StringRef option, const std::string &text,
                                                int64_t low, int64_t high) {
  std::vector<int64_t> numbers;
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t number;
    if (part.getAsInteger(10, number) || number < low || number > high)
      return invalidInput("option '" + option.str() + "' has the value '" + text +
                          "', expected integers from " + std::to_string(low) + " to " +
                          std::to_string(high));
    numbers.push_back(number);
  }
  return std::move(numbers);
}

/// The model's time for `problem` in `splits` slices; nothing if nothing splits it.
static Result<std::optional<double>> predict(ToolPlanner &planner, ForwardProblem problem, const Contents &contents,
                                             int64_t splits, KindCaches &caches) {
  problem.tuning.numSplits = splits;
  Result<ForwardPlanPointer> plan = planner.plan("auto", problem);
  if (!plan.ok())
    return plan.error().kind == ErrorKind::Unsupported ? Result<std::optional<double>>(std::nullopt) : plan.error();
  Result<Placed> placed = Placed::make(**plan, contents);
  if (!placed.ok())
    return placed.error();
  Result<sim::GridTime> grid = predictLaunches(*placed, {}, caches);
  if (!grid.ok())
    return grid.error();
  return std::optional(grid->microseconds);
}

static Result<Line> runLine(ToolPlanner &planner, const PublishedRow &row, const std::vector<int64_t> &numbers,
                            KindCaches &caches) {
  const ForwardProblem &problem = forwardOf(row.problem);
  Result<Contents> contents = contentsOf(row.problem, row.making);
  if (!contents.ok())
    return contents.error();
  const Planner &plans = planner.planner();
  Result<SelectedKernels> selected = selectKernels(plans.registry(), problem, plans.target(), plans.computeUnits());
  if (!selected.ok())
    return selected.error();
  Line line{problem, selected->split, {}};
  std::set<int64_t> wanted(numbers.begin(), numbers.end());
  wanted.insert({1, line.choice.splits});
  for (int64_t splits : wanted) {
    Result<std::optional<double>> time = predict(planner, problem, *contents, splits, caches);
    if (!time.ok())
      return time.error();
    if (*time)
      line.predicted[splits] = **time;
  }
  return std::move(line);
}

static Summary summarize(const std::vector<Line> &lines) {
  Summary summary;
  double found = 0, possible = 0;
  for (const Line &line : lines) {
    summary.worstLoss =
        std::max(summary.worstLoss, 100 * (line.chosen() - line.whole()) / line.whole());
    found += 1 - line.chosen() / line.whole();
    possible += 1 - line.best().second / line.whole();
  }
  if (possible > 0)
    summary.gainShare = 100 * found / possible;
  return summary;
}

static void print(llvm::raw_ostream &out, const std::vector<Line> &lines, const Summary &summary) {
  out << "predictions, us\n    whole  best at     chosen at    (expected)  problem\n";
  for (const Line &line : lines) {
    auto [best, time] = line.best();
    out << llvm::format("%9.1f %9.1f %4d %9.1f %4d  %9.1f  ", line.whole(), time, int(best),
                        line.chosen(), int(line.choice.splits), line.expected(line.choice.splits))
        << line.problem.describe() << '\n';
  }
  out << llvm::format("worst loss %.1f%%, %.1f%% of the time that the best would save is saved\n",
                      summary.worstLoss, summary.gainShare);
}

static std::string toJson(const std::vector<Line> &lines, const Summary &summary) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", true);
    out.attribute("worst_loss_percent", summary.worstLoss);
    out.attribute("gain_share_percent", summary.gainShare);
    out.attributeArray("rows", [&] {
      for (const Line &line : lines)
        out.object([&] {
          out.attribute("problem", line.problem.describe());
          out.attribute("chosen", line.choice.splits);
          out.attribute("reason", line.choice.reason);
          out.attributeArray("splits", [&] {
            for (const auto &[splits, time] : line.predicted)
              out.object([&] {
                out.attribute("splits", splits);
                out.attribute("us", time);
                out.attribute("expected_us", line.expected(splits));
              });
          });
        });
    });
  });
  stream << '\n';
  return text;
}

static Result<double> readPercent(const Options &options, unsigned id, double fallback) {
  return options.has(id) ? options.real(id) : Result<double>(fallback);
}

static Result<int> runSplits(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  std::string path = options.string(OPT_problems);
  if (path.empty())
    return invalidInput("option '--problems' is missing; see 'hocket-dev splits --help'");
  Result<std::string> text = runtime::readText(path);
  if (!text.ok())
    return text.error();
  Result<PublishedTable> table = parsePublished(*text, path);
  if (!table.ok())
    return table.error();
  Result<std::vector<int64_t>> numbers = readNumbers(
      "--splits", options.string(OPT_splits, "2,3,4,6,8,12,16,24,32,48,64"), 2, mostSplits);
  if (!numbers.ok())
    return numbers.error();
  Result<std::vector<int64_t>> rows =
      readNumbers("--rows", options.string(OPT_rows), 1, static_cast<int64_t>(table->rows.size()));
  if (!rows.ok())
    return rows.error();
  Result<double> maxLoss = readPercent(options, OPT_max_loss, 3);
  Result<double> minGain = readPercent(options, OPT_min_gain, 90);
  if (!maxLoss.ok() || !minGain.ok())
    return maxLoss.ok() ? minGain.error() : maxLoss.error();
  std::string jsonPath = options.string(OPT_json);
  Result<ChosenChip> chip = chipNamed(options.string(OPT_arch, kArchitecture.str()));
  if (!chip.ok())
    return chip.error();
  Result<ToolPlanner> planner = ToolPlanner::make({}, *chip);
  if (!planner.ok())
    return planner.error();
  KindCaches caches;
  std::vector<Line> lines;
  for (const PublishedRow &row : table->rows) {
    if (!rows->empty() && !llvm::is_contained(*rows, int64_t(row.number)))
      continue;
    showProgress("line " + std::to_string(row.number),
                 double(row.number) / double(table->rows.size()));
    Result<Line> line = runLine(*planner, row, *numbers, caches);
    if (!line.ok())
      return line.error();
    lines.push_back(*std::move(line));
  }
  clearProgress();
  Summary summary = summarize(lines);
  print(reportStream(jsonPath), lines, summary);
  if (Status status = writeJson(jsonPath, toJson(lines, summary)); !status.ok())
    return status.error();
  bool good = summary.worstLoss <= *maxLoss && summary.gainShare >= *minGain;
  return good ? exitRight : exitWrong;
}

Result<int> run::splitsCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"splits",
                      "--problems FILE [options]",
                      "Checks the heuristic of split KV against the cycle model's predictions",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runSplits);
}
