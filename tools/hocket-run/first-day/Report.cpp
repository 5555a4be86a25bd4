// See Report.h: what findings say in words, and as data.
#include "Report.h"

#include "Journal.h"

#include "hocket/Runtime/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

/// Measured over predicted beyond which a line of the ledger is an outlier, and how many are listed.
static constexpr double kOutlier = 0.05;
static constexpr size_t kOutliers = 10;

static StringRef text(const Finding &finding, StringRef key) { return finding.getString(key).value_or(""); }
static double number(const Finding &finding, StringRef key) { return finding.getNumber(key).value_or(0); }
static bool has(const Finding &finding, StringRef verdict) { return text(finding, "verdict") == verdict; }

/// "expected 0x1, found 0x2", and where.
static std::string firstPlace(const Finding &finding) {
  std::string where;
  if (finding.get("lane"))
    where = formatv("lane {0}, result register {1}", int64_t(number(finding, "lane")), int64_t(number(finding, "register")));
  else if (finding.get("tensor"))
    where = formatv("tensor '{0}', element {1}", text(finding, "tensor"), int64_t(number(finding, "element")));
  if (where.empty())
    return "";
  return formatv("{0}: expected {1}, found {2}; {3} differences", where, text(finding, "expected"), text(finding, "found"),
                 int64_t(number(finding, "differences")));
}

static std::string suspectsOf(const Finding &finding) {
  const json::Array *names = finding.getArray("suspects");
  std::string list;
  for (const json::Value &name : names ? *names : json::Array())
    list += (list.empty() ? "" : ", ") + name.getAsString().value_or("").str();
  return list;
}

static std::string describeDifference(const Finding &finding) {
  std::string line = firstPlace(finding);
  auto add = [&](const std::string &part) { line += (line.empty() || part.empty() ? "" : "; ") + part; };
  add(text(finding, "failure").str());
  if (finding.get("smallest"))
    add("smallest problem that shows it: " + text(finding, "smallest").str());
  if (std::string suspects = suspectsOf(finding); !suspects.empty())
    add("it uses " + suspects + ", which differ");
  return line;
}

static void remarkOn(const DayStage &stage, const std::string &item, const Finding &finding, std::vector<Remark> &remarks) {
  auto add = [&](std::string words, bool isWrong) { remarks.push_back({stage.name.str(), item, std::move(words), isWrong}); };
  if (has(finding, verdict::different))
    return add("differs from the simulator: " + describeDifference(finding), true);
  if (has(finding, verdict::failed))
    return add("failed: " + text(finding, "message").split('\n').first.str(), true);
  if (finding.getBoolean("real").value_or(false))
    return add(formatv("the hazard is real{0}: {1}", finding.getBoolean("documented").value_or(false) ? ", as documented" : "",
                       firstPlace(finding)),
               !finding.getBoolean("documented").value_or(false));
  if (stage.name == "parameters" && finding.getBoolean("changed").value_or(false))
    return add(formatv("{0:f3} +- {1:f3} {2}, the table has {3:f3} ({4}: {5:f4} us, predicted {6:f4})",
                       number(finding, "value"), number(finding, "uncertainty"), text(finding, "unit"),
                       number(finding, "table"), text(finding, "what"), number(finding, "measured_us"),
                       number(finding, "predicted_us")),
               false);
  if (stage.name == "parameters" && finding.get("message") && !has(finding, verdict::skipped))
    return add(text(finding, "message").str(), false);
}

/// The ledger's lines that are farthest from what the measured parameters predict.
static void addOutliers(const Report::StageResults &ledger, std::vector<Remark> &remarks) {
  std::vector<std::pair<double, const std::pair<std::string, Finding> *>> outliers;
  for (const auto &item : ledger.items)
    if (item.second.get("measured_us")) {
      const double ratio = number(item.second, "measured_us") / number(item.second, "fitted_us");
      if (std::abs(std::log(ratio)) > std::log(1 + kOutlier))
        outliers.push_back({std::abs(std::log(ratio)), &item});
    }
  std::sort(outliers.begin(), outliers.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  for (const auto &[size, item] : llvm::ArrayRef(outliers).take_front(kOutliers))
    remarks.push_back({ledger.stage->name.str(), item->first,
                       formatv("measured {0:f2} us, predicted {1:f2}, by the measured parameters {2:f2}: {3}",
                               number(item->second, "measured_us"), number(item->second, "predicted_us"),
                               number(item->second, "fitted_us"), text(item->second, "explanation")),
                       false});
}

/// The kernels of a comparison; none where the file of an earlier run has something else there.
static std::vector<json::Object> kernelsOf(const Finding &finding) {
  std::vector<json::Object> kernels;
  if (const json::Array *all = finding.getArray("kernels"))
    for (const json::Value &kernel : *all)
      if (const json::Object *entry = kernel.getAsObject())
        kernels.push_back(*entry);
  return kernels;
}

/// Another kernel is faster than the one that the registry chooses.
static void addChoices(const Report::StageResults &registry, std::vector<Remark> &remarks) {
  for (const auto &[name, finding] : registry.items) {
    const StringRef chosen = text(finding, "chosen"), fastest = text(finding, "fastest");
    if (chosen == fastest)
      continue;
    std::string times;
    for (const json::Object &entry : kernelsOf(finding))
      if (text(entry, "kernel") == chosen || text(entry, "kernel") == fastest)
        times += formatv("{0}{1} takes {2:f2} us, expected {3:f2}", times.empty() ? "" : ", ", text(entry, "kernel"),
                         number(entry, "measured_us"), number(entry, "expected_us"));
    remarks.push_back({registry.stage->name.str(), name,
                       formatv("choose {0} in place of {1}: {2}", fastest, chosen, times), false});
  }
}

static std::vector<CostFactor> costsOf(const Report::StageResults &registry) {
  std::map<std::string, std::vector<double>> ratios;
  for (const auto &[name, finding] : registry.items)
    for (const json::Object &entry : kernelsOf(finding))
      if (const double expected = number(entry, "expected_us"); expected > 0)
        ratios[text(entry, "kernel").str()].push_back(number(entry, "measured_us") / expected);
  std::vector<CostFactor> costs;
  for (auto &[kernel, all] : ratios) {
    llvm::sort(all);
    costs.push_back({kernel, all[all.size() / 2], all.size()});
  }
  return costs;
}

/// Kernels whose costs are wrong beside those of others: what all have in common changes no choice.
static void addCosts(const std::vector<CostFactor> &costs, StringRef stage, std::vector<Remark> &remarks) {
  std::vector<double> factors;
  for (const CostFactor &cost : costs)
    factors.push_back(cost.factor);
  llvm::sort(factors);
  for (const CostFactor &cost : costs)
    if (const double beside = cost.factor / factors[factors.size() / 2]; std::abs(std::log(beside)) > std::log(1 + kOutlier))
      remarks.push_back({stage.str(), cost.kernel,
                         formatv("multiply its costs by {0:f2} ({1} problem{2})", beside, cost.problems,
                                 cost.problems == 1 ? "" : "s"),
                         false});
}

Report run::firstday::gather(Session &session, const Journal &journal) {
  Report report;
  const runtime::DeviceProperties &device = session.device->properties();
  report.device = device.name;
  report.chip = session.chip();
  report.quick = session.quick;
  for (const DayStage &stage : stages()) {
    Report::StageResults results{&stage, {}};
    Result<std::vector<Item>> items = stage.items(session);
    for (const Item &item : items.ok() ? *items : std::vector<Item>())
      if (const Finding *finding = journal.find(stage.name, item.name)) {
        results.items.emplace_back(item.name, *finding);
        remarkOn(stage, item.name, *finding, report.remarks);
      }
    if (stage.name == "ledger")
      addOutliers(results, report.remarks);
    if (stage.name == "registry") {
      report.costs = costsOf(results);
      addChoices(results, report.remarks);
      addCosts(report.costs, stage.name, report.remarks);
    }
    report.stages.push_back(std::move(results));
  }
  return report;
}

bool Report::isRight() const {
  return llvm::none_of(remarks, [](const Remark &remark) { return remark.isWrong; });
}

std::string run::firstday::toJson(const Report &report) {
  std::string buffer;
  llvm::raw_string_ostream stream(buffer);
  json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("device", report.device);
    out.attribute("architecture", report.chip);
    out.attribute("quick", report.quick);
    out.attribute("right", report.isRight());
    out.attributeArray("remarks", [&] {
      for (const Remark &remark : report.remarks)
        out.object([&] {
          out.attribute("stage", remark.stage);
          out.attribute("item", remark.item);
          out.attribute("text", remark.text);
          out.attribute("wrong", remark.isWrong);
        });
    });
    out.attributeArray("costs", [&] {
      for (const CostFactor &cost : report.costs)
        out.object([&] {
          out.attribute("kernel", cost.kernel);
          out.attribute("factor", cost.factor);
          out.attribute("problems", cost.problems);
        });
    });
    out.attributeObject("stages", [&] {
      for (const Report::StageResults &stage : report.stages)
        out.attributeArray(stage.stage->name, [&] {
          for (const auto &[name, finding] : stage.items) {
            json::Object entry = finding;
            entry["item"] = name;
            out.value(json::Value(std::move(entry)));
          }
        });
    });
  });
  stream << '\n';
  return buffer;
}

std::string run::firstday::parametersJson(const Report &report) {
  std::string buffer;
  llvm::raw_string_ostream stream(buffer);
  json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("architecture", report.chip);
    out.attribute("device", report.device);
    out.attributeArray("parameters", [&] {
      for (const Report::StageResults &stage : report.stages)
        for (const auto &[name, finding] : stage.items)
          if (stage.stage->name == "parameters" && finding.get("value"))
            out.object([&] {
              out.attribute("key", name);
              out.attribute("value", number(finding, "value"));
              out.attribute("uncertainty", number(finding, "uncertainty"));
              out.attribute("unit", text(finding, "unit"));
              out.attribute("source", "measured: " + text(finding, "what").str());
            });
    });
  });
  stream << '\n';
  return buffer;
}

static void printSummary(llvm::raw_ostream &out, const Report &report) {
  out << report.device << " (" << report.chip << ")\n";
  for (const Report::StageResults &results : report.stages) {
    if (results.items.empty())
      continue;
    std::map<std::string, unsigned> counts;
    for (const auto &[name, finding] : results.items)
      ++counts[text(finding, "verdict").str()];
    out << "  " << llvm::left_justify(results.stage->name, 14);
    std::string list;
    for (const auto &[verdict, count] : counts)
      list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + verdict;
    out << list << '\n';
  }
  for (const Remark &remark : report.remarks)
    out << (remark.isWrong ? "wrong: " : "note: ") << remark.stage << ": " << remark.item << ": " << remark.text << '\n';
}

Result<bool> run::firstday::writeReports(const std::string &directory, Session &session, const Journal &journal,
                                         llvm::raw_ostream &out) {
  const Report report = gather(session, journal);
  for (const auto &[name, content] : {std::pair("report.json", toJson(report)), std::pair("report.html", toHtml(report)),
                                      std::pair("parameters.json", parametersJson(report))})
    if (Status status = runtime::writeFile(directory + "/" + name, std::as_bytes(std::span(content))); !status.ok())
      return status.error();
  printSummary(out, report);
  out << "reports: " << directory << "/report.html, report.json, parameters.json\n";
  return report.isRight();
}
