// See CompareMeasured.h.
#include "CompareMeasured.h"

#include "Measure.h"
#include "Output.h"
#include "Placed.h"
#include "Tool.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using llvm::format;

namespace {
struct MeasuredSide {
  std::string choice, kernel;
  std::vector<std::string> failures;
  Measurement measured;
  double predicted = 0; ///< us
};
} // namespace

static Result<MeasuredSide> measureSide(runtime::Device &device, ToolPlanner &planner, const std::string &choice,
                                        const attention::ForwardProblem &problem, const attention::ForwardOptions &options,
                                        const TimeRequest &time) {
  showProgress("measuring " + choice, 0);
  Result<ForwardPlanPointer> plan = planner.plan(choice, problem);
  if (!plan.ok())
    return plan.error();
  Result<attention::ForwardReport> report = runForward(device, (*plan)->launches(), (*plan)->problem(), options);
  if (!report.ok())
    return report.error();
  Result<Contents> contents = contentsOf(problem, {options.seed, "", ""});
  if (!contents.ok())
    return contents.error();
  Result<Measurement> measured = measurePlan(device, **plan, *contents, {});
  if (!measured.ok())
    return measured.error();
  Result<Placed> placed = Placed::make(**plan, *contents);
  if (!placed.ok())
    return placed.error();
  KindCaches caches;
  Result<sim::GridTime> predicted = predictLaunches(*placed, time.timing({1, 1, 1}), caches);
  if (!predicted.ok())
    return predicted.error();
  return MeasuredSide{choice, (*plan)->attention().compiled->manifest.kernel, report->failures, *measured,
                      predicted->microseconds};
}

static void printSides(llvm::raw_ostream &out, const std::string &device, const std::vector<MeasuredSide> &sides) {
  out << "measured on " << device << ", in us\n"
      << format("%-40s %10s %10s %10s %10s\n", "", "median", "low", "high", "predicted");
  for (const MeasuredSide &side : sides)
    out << format("%-40s %10.2f %10.2f %10.2f %10.2f\n", side.choice.c_str(), side.measured.median, side.measured.low,
                  side.measured.high, side.predicted);
  out << format("%-40s %10.3f %21s %10.3f\n", "second over first", sides[1].measured.median / sides[0].measured.median, "",
                sides[1].predicted / sides[0].predicted);
  if (sides[0].measured.low <= sides[1].measured.high && sides[1].measured.low <= sides[0].measured.high)
    out << "note: the quartiles of the two overlap\n";
  for (const MeasuredSide &side : sides)
    for (const std::string &failure : side.failures)
      out << "wrong result of '" << side.choice << "': " << failure << '\n';
}

static std::string sidesJson(const std::string &device, const std::vector<MeasuredSide> &sides) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", false);
    out.attribute("device", device);
    out.attributeArray("kernels", [&] {
      for (const MeasuredSide &side : sides)
        out.object([&] {
          out.attribute("kernel", side.choice);
          out.attribute("name", side.kernel);
          out.attribute("passed", side.failures.empty());
          out.attribute("measured_us", side.measured.median);
          out.attribute("low_us", side.measured.low);
          out.attribute("high_us", side.measured.high);
          out.attribute("predicted_us", side.predicted);
        });
    });
  });
  stream << '\n';
  return text;
}

Result<int> run::compareMeasured(runtime::Device &device, ToolPlanner &planner, const std::vector<std::string> &choices,
                                 const attention::ForwardProblem &problem, const attention::ForwardOptions &options,
                                 const TimeRequest &time, const std::string &json) {
  std::vector<MeasuredSide> sides;
  for (const std::string &choice : choices) {
    Result<MeasuredSide> side = measureSide(device, planner, choice, problem, options, time);
    if (!side.ok())
      return side.error();
    sides.push_back(*std::move(side));
  }
  clearProgress();
  const std::string &name = device.properties().name;
  printSides(reportStream(json), name, sides);
  if (Status status = writeJson(json, sidesJson(name, sides)); !status.ok())
    return status.error();
  return sides[0].failures.empty() && sides[1].failures.empty() ? exitRight : exitWrong;
}
