// Stage "parameters": fits each parameter of the cycle model to the loop that depends on it.
#include "Journal.h"
#include "LoopTimes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;

static const sim::TimeParameterInfo &infoOf(llvm::StringRef key) {
  auto table = sim::timeParameterTable();
  return *std::ranges::find_if(table, [&](const sim::TimeParameterInfo &info) { return key == llvm::StringRef(info.key); });
}

static Status setParameter(sim::TimeParameters &parameters, llvm::StringRef key, double value) {
  return parameters.set(llvm::formatv("{0}={1:f9}", key, value).str());
}

/// Where the value is looked for: around what the table says, and from 0 where that may be.
static Interval rangeOf(const sim::TimeParameterInfo &info, double initial) {
  const llvm::StringRef unit = info.unit;
  if (unit == "cycles")
    return {0, std::max(8 * initial, 64.0)};
  if (unit == "share")
    return {initial / 8, 1};
  return {initial / 8, initial * 8};
}

sim::TimeParameters run::firstday::measuredParameters(const Session &session) {
  sim::TimeParameters parameters;
  for (const Benchmark &benchmark : benchmarks()) {
    const Finding *finding = session.journal->find("parameters", benchmark.key);
    if (std::optional<double> value = finding ? finding->getNumber("value") : std::nullopt)
      (void)setParameter(parameters, benchmark.key, *value).ok();
  }
  return parameters;
}

static Result<Finding> fitBenchmark(Session &session, const Benchmark &benchmark) {
  if (std::optional<std::string> why = timesMeanNothing(session))
    return Finding{{"verdict", verdict::skipped}, {"message", *why}};
  Result<LoopTimer> timer = LoopTimer::make(session, benchmark);
  if (!timer.ok())
    return timer.error();
  // Two loops may pin one parameter only together with others that are measured by now.
  const sim::TimeParameters known = measuredParameters(session);
  Result<double> expected = timer->predict(known);
  if (!expected.ok())
    return expected.error();
  Result<LoopTimes> measured = timer->measure(*expected);
  if (!measured.ok())
    return measured.error();
  const sim::TimeParameterInfo &info = infoOf(benchmark.key);
  const double initial = known.on(*session.arch).*info.field;
  auto model = [&](double value) -> Result<double> {
    sim::TimeParameters changed = known;
    Status status = setParameter(changed, benchmark.key, value);
    return status.ok() ? timer->predict(changed) : status.error();
  };
  Result<Fit> fit = fitParameter(model, initial, rangeOf(info, initial), measured->likely);
  if (!fit.ok())
    return fit.error();
  Finding finding{{"verdict", verdict::measured},
                  {"what", benchmark.what.str()},
                  {"unit", std::string(info.unit)},
                  {"table", initial},
                  {"predicted_us", *expected},
                  {"measured_us", measured->median},
                  {"low_us", measured->likely.low},
                  {"high_us", measured->likely.high},
                  {"turns", int64_t(measured->turns)}};
  if (fit->outcome == FitOutcome::Found) {
    finding["value"] = fit->value;
    finding["uncertainty"] = fit->uncertainty;
    finding["changed"] = fit->value != initial;
  } else {
    finding["message"] = fit->outcome == FitOutcome::Unaffected
                             ? "the time hardly depends on the parameter, which keeps its value"
                             : "no value of the parameter gives this time: the model lacks something";
  }
  return finding;
}

Result<std::vector<Item>> run::firstday::parameterItems(Session &session) {
  std::vector<Item> items;
  for (const Benchmark &benchmark : benchmarks())
    if (benchmark.chip.empty() || benchmark.chip == session.chip())
      items.push_back({benchmark.key.str(), [&session, &benchmark] { return fitBenchmark(session, benchmark); }});
  return items;
}
