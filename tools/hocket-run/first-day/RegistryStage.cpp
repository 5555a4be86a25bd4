// Stage "registry": for problems of the ledger the kernels that are expected to be the fastest, measured; and what that
// says of the registry's choice and of its costs.
#include "Ledger.h"
#include "Measure.h"
#include "Session.h"
#include "VerifyListed.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
using attention::Candidate;
namespace json = llvm::json;

/// Kernels of a problem: the registry's choice and others.
static constexpr size_t kKernels = 3;
/// Problems of a quick run.
static constexpr double kLongestCompared = 30;
static constexpr size_t kComparedLines = 6;
/// By how much another kernel is faster where the registry should choose it.
static constexpr double kFaster = 1.03;

namespace {
struct MeasuredKernel {
  std::string name;
  double expected = 0; ///< by the registry's costs, in microseconds
  Measurement time;
};
} // namespace

/// The chosen kernel, and then those that are expected to be the fastest of all that take the problem.
static std::vector<Candidate> fastestOf(const attention::KernelChoice &choice) {
  std::vector<Candidate> known;
  for (const Candidate &candidate : choice.candidates)
    if (candidate.broken.empty() && candidate.microseconds)
      known.push_back(candidate);
  llvm::sort(known, [](const Candidate &a, const Candidate &b) {
    return std::tuple(!a.chosen, *a.microseconds, a.kernel->name) < std::tuple(!b.chosen, *b.microseconds, b.kernel->name);
  });
  if (known.size() > kKernels)
    known.resize(kKernels);
  return known;
}

static Result<std::optional<MeasuredKernel>> measureKernel(Session &session, const Candidate &candidate, const PublishedRow &row) {
  Result<ListedPlan> plan = planListed(*session.planner, candidate.kernel->name, row.problem);
  if (!plan.ok())
    return plan.error();
  const attention::LaunchPlan &launches = launchPlanOf(*plan);
  if (bytesOf(launches) > session.device->properties().totalMemory / 2)
    return std::optional<MeasuredKernel>();
  Result<Contents> contents = contentsOf(row.problem, row.making);
  if (!contents.ok())
    return contents.error();
  Result<Measurement> time =
      measurePlan(*session.device, launches, *contents, session.quick ? MeasureOptions{1, 3} : MeasureOptions{3, 20});
  if (!time.ok())
    return time.error();
  return std::optional<MeasuredKernel>({candidate.kernel->name, *candidate.microseconds, *time});
}

static Finding describeComparison(const std::vector<MeasuredKernel> &kernels) {
  const MeasuredKernel &chosen = kernels.front();
  const MeasuredKernel &fastest =
      *llvm::min_element(kernels, [](const auto &a, const auto &b) { return a.time.median < b.time.median; });
  json::Array all;
  for (const MeasuredKernel &kernel : kernels)
    all.push_back(json::Object{{"kernel", kernel.name},
                               {"expected_us", kernel.expected},
                               {"measured_us", kernel.time.median},
                               {"low_us", kernel.time.low},
                               {"high_us", kernel.time.high}});
  const bool isFaster = fastest.time.high < chosen.time.low && chosen.time.median > kFaster * fastest.time.median;
  return Finding{{"verdict", verdict::measured}, {"chosen", chosen.name}, {"fastest", isFaster ? fastest.name : chosen.name},
                 {"kernels", std::move(all)}};
}

static Result<Finding> compareKernels(Session &session, const LedgerLine &line) {
  if (std::optional<std::string> why = timesMeanNothing(session))
    return Finding{{"verdict", verdict::skipped}, {"message", *why}};
  Result<PublishedRow> row = rowOf(line);
  if (!row.ok())
    return row.error();
  Result<ListedPlan> automatic = planListed(*session.planner, "auto", row->problem);
  if (!automatic.ok())
    return automatic.error();
  if (launchPlanOf(*automatic).launches().size() > 1)
    return Finding{{"verdict", verdict::skipped}, {"message", "it takes several launches, which no costs are told of"}};
  const attention::Planner &planner = session.planner->planner();
  Result<attention::KernelChoice> choice =
      planner.registry().choose(forwardOf(row->problem), session.chip(), planner.computeUnits());
  if (!choice.ok())
    return choice.error();
  std::vector<MeasuredKernel> kernels;
  for (const Candidate &candidate : fastestOf(*choice)) {
    Result<std::optional<MeasuredKernel>> measured = measureKernel(session, candidate, *row);
    if (!measured.ok())
      return measured.error();
    if (*measured)
      kernels.push_back(**std::move(measured));
  }
  if (kernels.size() < 2)
    return Finding{{"verdict", verdict::skipped}, {"message", "its costs tell the times of fewer than two kernels"}};
  return describeComparison(kernels);
}

Result<std::vector<Item>> run::firstday::registryItems(Session &session) {
  Result<std::vector<LedgerLine>> lines = parseLedger(shippedLedger());
  if (!lines.ok())
    return lines.error();
  std::erase_if(*lines, [&](const LedgerLine &line) {
    return line.chip != session.chip() || line.pass != "forward" || line.choice != "auto";
  });
  if (session.quick)
    *lines = sampleOf(*lines, kLongestCompared, kComparedLines);
  std::vector<Item> items;
  for (const LedgerLine &line : *lines)
    items.push_back({line.problem, [&session, line] { return compareKernels(session, line); }});
  return items;
}
