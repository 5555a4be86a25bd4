// Stage "ledger": the ledger's problems measured beside predictions by the table's parameters and by the measured ones.
#include "Journal.h"
#include "Ledger.h"
#include "Measure.h"
#include "Placed.h"
#include "PublishedTable.h"
#include "Session.h"
#include "VerifyListed.h"

#include <cmath>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
namespace json = llvm::json;

/// What a quick run takes of the ledger.
static constexpr double kQuickLongest = 30;
static constexpr size_t kQuickLines = 12;
/// Rows that are verified, and the most memory of a problem that is verified at all.
static constexpr int64_t kVerifiedRows = 32;
static constexpr uint64_t kVerifiedBytes = uint64_t(1) << 30;

uint64_t run::firstday::bytesOf(const attention::LaunchPlan &plan) {
  uint64_t bytes = 0;
  for (const attention::BufferNeed &need : plan.buffers())
    bytes += need.bytes;
  return bytes;
}

Result<PublishedRow> run::firstday::rowOf(const LedgerLine &line) {
  Result<PublishedTable> table = parsePublished("pass,options\n" + line.pass + ",\"" + line.options + "\"\n", "<ledger>");
  if (!table.ok())
    return table.error();
  return std::move(table->rows.front());
}

static Result<sim::GridTime> predictPlan(const attention::LaunchPlan &plan, const PublishedRow &row,
                                         const Contents &contents, const sim::TimeParameters &parameters) {
  Result<Placed> placed = Placed::make(plan, contents);
  if (!placed.ok())
    return placed.error();
  sim::TimingOptions options;
  options.parameters = parameters;
  options.uneven = forwardOf(row.problem).work.any();
  KindCaches caches;
  return predictLaunches(*placed, options, caches);
}

/// What others published of `problem`, in microseconds by kernel. The tables are of an MI355X.
static json::Object publishedOf(const ListedProblem &problem) {
  static const Result<PublishedTable> table = parsePublished(shippedMeasurements(), "<published>");
  json::Object times;
  for (const PublishedRow &row : table.ok() ? table->rows : std::vector<PublishedRow>())
    if (describe(row.problem) == describe(problem))
      for (const auto &[kernel, microseconds] : row.microseconds)
        times[kernel] = microseconds;
  return times;
}

/// How two predictions and a measurement lie.
static std::string explain(double measured, double byTable, double byMeasured) {
  const double table = measured / byTable - 1, fitted = measured / byMeasured - 1;
  if (std::abs(fitted) <= 0.05)
    return std::abs(table) <= 0.05 ? "as predicted" : "explained by the measured parameters";
  return fitted > 0 ? "slower than the measured parameters explain" : "faster than the measured parameters explain";
}

static Result<Finding> measureProblem(Session &session, const ListedPlan &plan, const PublishedRow &row) {
  const attention::LaunchPlan &launches = launchPlanOf(plan);
  if (bytesOf(launches) > session.device->properties().totalMemory / 2)
    return Finding{{"verdict", verdict::skipped}, {"message", "it needs more than half of the device's memory"}};
  Result<Contents> contents = contentsOf(row.problem, row.making);
  if (!contents.ok())
    return contents.error();
  Finding finding{{"verdict", verdict::measured}};
  if (bytesOf(launches) <= kVerifiedBytes) {
    Result<ListedVerdict> verified = verifyListed(*session.device, plan, row.making, kVerifiedRows);
    if (!verified.ok())
      return verified.error();
    finding["verified"] = verified->passed();
    if (!verified->passed()) {
      finding["verdict"] = verdict::different;
      finding["failure"] = verified->failures.front();
    }
  }
  Result<sim::GridTime> byTable = predictPlan(launches, row, *contents, {});
  if (!byTable.ok())
    return byTable.error();
  finding["predicted_us"] = byTable->microseconds;
  if (json::Object published = publishedOf(row.problem); session.chip() == "gfx950" && !published.empty())
    finding["published_us"] = std::move(published);
  if (std::optional<std::string> why = timesMeanNothing(session)) {
    finding["message"] = "not measured: " + *why;
    return finding;
  }
  Result<sim::GridTime> byMeasured = predictPlan(launches, row, *contents, measuredParameters(session));
  if (!byMeasured.ok())
    return byMeasured.error();
  const MeasureOptions options = session.quick ? MeasureOptions{1, 3} : MeasureOptions{3, 20};
  Result<Measurement> measured = measurePlan(*session.device, launches, *contents, options);
  if (!measured.ok())
    return measured.error();
  finding["fitted_us"] = byMeasured->microseconds;
  finding["measured_us"] = measured->median;
  finding["low_us"] = measured->low;
  finding["high_us"] = measured->high;
  finding["memory_us"] = byMeasured->memoryMicroseconds;
  finding["explanation"] = explain(measured->median, byTable->microseconds, byMeasured->microseconds);
  return finding;
}

static Result<Finding> runLine(Session &session, const LedgerLine &line) {
  Result<PublishedRow> row = rowOf(line);
  if (!row.ok())
    return row.error();
  Result<ListedPlan> plan = planListed(*session.planner, line.choice, row->problem);
  if (!plan.ok())
    return plan.error();
  return measureProblem(session, *plan, *row);
}

Result<std::vector<Item>> run::firstday::ledgerItems(Session &session) {
  Result<std::vector<LedgerLine>> lines = parseLedger(shippedLedger());
  if (!lines.ok())
    return lines.error();
  std::erase_if(*lines, [&](const LedgerLine &line) { return line.chip != session.chip(); });
  if (session.quick)
    *lines = sampleOf(*lines, kQuickLongest, kQuickLines);
  std::vector<Item> items;
  for (const LedgerLine &line : *lines)
    items.push_back({line.problem, [&session, line] { return runLine(session, line); }});
  return items;
}
