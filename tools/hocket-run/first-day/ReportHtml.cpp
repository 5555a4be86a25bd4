// The report as a page for people: what is wrong first, then a picture and a table for each stage. Nothing is loaded
// from elsewhere.
#include "Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
using llvm::formatv;
using llvm::StringRef;

static constexpr StringRef kStyle = R"(body{font:15px/1.45 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ddd;padding:.2em .7em;text-align:left;
vertical-align:top}.wrong{color:#b00020}.good{color:#1b6e3c}svg{background:#fafafa;border:1px solid #ddd}
svg text{font:11px sans-serif}details{margin:.5em 0}code{font-size:90%})";

static std::string escaped(StringRef text) {
  std::string result;
  llvm::raw_string_ostream out(result);
  llvm::printHTMLEscaped(text, out);
  return result;
}

static std::string textOf(const Finding &finding, StringRef key) { return finding.getString(key).value_or("").str(); }

static void writeRemarks(llvm::raw_ostream &out, const Report &report) {
  out << (report.isRight() ? "<p class=\"good\">Nothing is wrong: the device does what the simulator does.</p>\n"
                           : "<p class=\"wrong\">Something is wrong.</p>\n");
  if (report.remarks.empty())
    return;
  out << "<table><tr><th>stage</th><th>what</th><th>finding</th></tr>\n";
  for (const Remark &remark : report.remarks)
    out << "<tr" << (remark.isWrong ? " class=\"wrong\"" : "") << "><td>" << escaped(remark.stage) << "</td><td><code>"
        << escaped(remark.item) << "</code></td><td>" << escaped(remark.text) << "</td></tr>\n";
  out << "</table>\n";
}

namespace {
/// An axis of powers of two.
struct LogAxis {
  double low, high, from, to;
  static LogAxis over(double low, double high, double from, double to) {
    return {std::floor(std::log2(low)), std::max(std::ceil(std::log2(high)), std::floor(std::log2(low)) + 1), from, to};
  }
  double at(double value) const { return from + (std::log2(value) - low) / (high - low) * (to - from); }
};
} // namespace

/// Measured over predicted times, on the diagonal where they agree.
static void drawLedger(llvm::raw_ostream &out, const Report::StageResults &ledger) {
  double low = HUGE_VAL, high = 0;
  for (const auto &[name, finding] : ledger.items)
    for (StringRef key : {"measured_us", "fitted_us", "predicted_us"})
      if (std::optional<double> time = finding.get("measured_us") ? finding.getNumber(key) : std::nullopt; time && *time > 0)
        low = std::min(low, *time), high = std::max(high, *time);
  if (!(low < HUGE_VAL))
    return;
  const LogAxis x = LogAxis::over(low, high, 60, 460), y = LogAxis::over(low, high, 420, 20);
  out << "<svg width=\"480\" height=\"460\" role=\"img\" aria-label=\"measured over predicted times\">\n"
      << formatv("<line x1=\"{0:f1}\" y1=\"{1:f1}\" x2=\"{2:f1}\" y2=\"{3:f1}\" stroke=\"#999\"/>\n", x.from, y.from, x.to, y.to);
  for (double power = x.low; power <= x.high; ++power)
    out << formatv("<text x=\"{0:f1}\" y=\"436\" text-anchor=\"middle\">{1}</text>"
                   "<text x=\"54\" y=\"{2:f1}\" text-anchor=\"end\">{1}</text>\n",
                   x.at(std::exp2(power)), std::exp2(power), y.at(std::exp2(power)));
  out << "<text x=\"260\" y=\"454\" text-anchor=\"middle\">predicted, us (grey: the table's parameters, blue: the "
         "measured ones)</text><text x=\"8\" y=\"14\">measured, us</text>\n";
  for (const auto &[name, finding] : ledger.items)
    for (auto [key, colour] : {std::pair("predicted_us", "#aaa"), std::pair("fitted_us", "#1f5fbf")}) {
      const std::optional<double> measured = finding.getNumber("measured_us"), predicted = finding.getNumber(key);
      if (measured && predicted && *measured > 0 && *predicted > 0)
        out << formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"3.5\" fill=\"{2}\"><title>{3}</title></circle>\n",
                       x.at(*predicted), y.at(*measured), colour, escaped(name));
    }
  out << "</svg>\n";
}

/// Each parameter's measured value as a multiple of the table's, with its uncertainty.
static void drawParameters(llvm::raw_ostream &out, const Report::StageResults &parameters) {
  std::vector<const std::pair<std::string, Finding> *> fitted;
  for (const auto &item : parameters.items)
    if (item.second.getNumber("value") && item.second.getNumber("table").value_or(0) > 0)
      fitted.push_back(&item);
  if (fitted.empty())
    return;
  const LogAxis x = LogAxis::over(0.5, 2, 200, 560);
  auto place = [&](double ratio) { return x.at(std::clamp(ratio, 0.5, 2.0)); };
  out << formatv("<svg width=\"600\" height=\"{0}\" role=\"img\" aria-label=\"measured parameters\">\n", 20 * fitted.size() + 40);
  for (double ratio : {0.5, 1.0, 2.0})
    out << formatv("<line x1=\"{0:f1}\" x2=\"{0:f1}\" y1=\"8\" y2=\"{1}\" stroke=\"#ccc\"/><text x=\"{0:f1}\" y=\"{2}\" "
                   "text-anchor=\"middle\">{3}</text>\n",
                   x.at(ratio), 20 * fitted.size() + 12, 20 * fitted.size() + 28, ratio);
  for (size_t i = 0; i != fitted.size(); ++i) {
    const Finding &finding = fitted[i]->second;
    const double table = *finding.getNumber("table"), value = *finding.getNumber("value"),
                 uncertainty = finding.getNumber("uncertainty").value_or(0);
    const char *colour = finding.getBoolean("changed").value_or(false) ? "#b00020" : "#1b6e3c";
    out << formatv("<text x=\"190\" y=\"{0}\" text-anchor=\"end\">{1}</text><line x1=\"{2:f1}\" x2=\"{3:f1}\" y1=\"{4}\" "
                   "y2=\"{4}\" stroke=\"{5}\" stroke-width=\"2\"/><circle cx=\"{6:f1}\" cy=\"{4}\" r=\"4\" fill=\"{5}\"/>\n",
                   20 * i + 24, escaped(fitted[i]->first), place(std::max(value - uncertainty, 1e-9) / table),
                   place((value + uncertainty) / table), 20 * i + 20, colour, place(value / table));
  }
  out << "</svg>\n";
}

/// A bar of all verdicts.
static void drawVerdicts(llvm::raw_ostream &out, const Report::StageResults &stage) {
  static constexpr std::pair<StringRef, StringRef> colours[] = {{verdict::same, "#2e8b57"},      {verdict::rounding, "#9acd32"},
                                                                {verdict::different, "#b00020"}, {verdict::failed, "#7a0016"},
                                                                {verdict::measured, "#1f5fbf"},  {verdict::skipped, "#bbb"}};
  const double width = 600.0 / double(stage.items.size());
  double x = 0;
  std::string legend;
  out << "<svg width=\"600\" height=\"16\" role=\"img\" aria-label=\"verdicts\">";
  for (const auto &[verdict, colour] : colours) {
    const auto count = std::count_if(stage.items.begin(), stage.items.end(), [verdict = verdict](const auto &item) {
      return item.second.getString("verdict") == verdict;
    });
    if (count == 0)
      continue;
    out << formatv("<rect x=\"{0:f1}\" width=\"{1:f1}\" height=\"16\" fill=\"{2}\"/>", x, width * double(count), colour);
    x += width * double(count);
    legend += formatv("{0}{1} {2}", legend.empty() ? "" : ", ", count, verdict).str();
  }
  out << "</svg><p>" << legend << "</p>\n";
}

/// Predicted, measured and published times beside each other.
static void writeTimes(llvm::raw_ostream &out, const Report::StageResults &ledger) {
  out << "<table><tr><th>problem</th><th>predicted, us</th><th>by the measured parameters</th><th>measured</th>"
         "<th>published (MI355X)</th></tr>\n";
  for (const auto &[name, finding] : ledger.items) {
    if (!finding.get("predicted_us"))
      continue;
    out << "<tr><td><code>" << escaped(name) << "</code></td>";
    for (StringRef key : {"predicted_us", "fitted_us", "measured_us"}) {
      const std::optional<double> time = finding.getNumber(key);
      out << "<td>" << (time ? formatv("{0:f2}", *time).str() : "") << "</td>";
    }
    std::string published;
    if (const llvm::json::Object *times = finding.getObject("published_us"))
      for (const auto &[kernel, time] : *times)
        published += formatv("{0}{1} {2:f2}", published.empty() ? "" : ", ", StringRef(kernel), time.getAsNumber().value_or(0));
    out << "<td>" << escaped(published) << "</td></tr>\n";
  }
  out << "</table>\n";
}

static void writeItems(llvm::raw_ostream &out, const Report::StageResults &stage) {
  out << "<details><summary>All results</summary><table>\n";
  for (const auto &[name, finding] : stage.items) {
    out << "<tr><td><code>" << escaped(name) << "</code></td><td>" << escaped(textOf(finding, "verdict")) << "</td><td>";
    std::string members;
    llvm::raw_string_ostream stream(members);
    for (const auto &[key, value] : finding)
      if (StringRef(key) != "verdict")
        stream << StringRef(key) << ": " << value << "; ";
    out << escaped(members) << "</td></tr>\n";
  }
  out << "</table></details>\n";
}

std::string run::firstday::toHtml(const Report &report) {
  std::string page;
  llvm::raw_string_ostream out(page);
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>First day: " << escaped(report.device)
      << "</title><style>" << kStyle << "</style></head><body>\n<h1>First day: " << escaped(report.device) << " ("
      << escaped(report.chip) << ")</h1>\n";
  writeRemarks(out, report);
  for (const Report::StageResults &stage : report.stages) {
    if (stage.items.empty())
      continue;
    out << "<h2>" << escaped(stage.stage->title) << "</h2>\n";
    drawVerdicts(out, stage);
    if (stage.stage->name == "ledger") {
      drawLedger(out, stage);
      writeTimes(out, stage);
    }
    if (stage.stage->name == "parameters")
      drawParameters(out, stage);
    writeItems(out, stage);
  }
  out << "</body></html>\n";
  return page;
}
