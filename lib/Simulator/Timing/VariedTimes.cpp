// Nominal, best and worst: a prediction is worth as much as its worst case.
#include "Simulator/VariedTimes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;

Result<std::vector<VariedParameters>> sim::variedParameters(const TimeParameters &nominal) {
  std::vector<VariedParameters> all;
  for (const TimeVariation &variation : timeVariations()) {
    VariedParameters varied = {assignmentOf(variation), nominal, variation.key.starts_with("grid.")};
    if (Status status = varied.parameters.set(varied.assignment); !status.ok())
      return status.error();
    all.push_back(std::move(varied));
  }
  return std::move(all);
}

void VariedTimes::add(const std::string &assignment, double microseconds) {
  auto known = std::ranges::find(times, assignment, &std::pair<std::string, double>::first);
  if (known != times.end())
    known->second += microseconds;
  else
    times.emplace_back(assignment, microseconds);
}

VariedTimes VariedTimes::mapped(const std::function<double(double)> &change) const {
  VariedTimes result = *this;
  for (auto &[assignment, time] : result.times)
    time = change(time);
  return result;
}

std::pair<double, double> VariedTimes::range(double nominal) const {
  std::pair range(nominal, nominal);
  for (const auto &[assignment, time] : times)
    range = {std::min(range.first, time), std::max(range.second, time)};
  return range;
}

std::string VariedTimes::toText(double nominal) const {
  if (times.empty())
    return "";
  auto [best, worst] = std::ranges::minmax_element(times, {}, &std::pair<std::string, double>::second);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("  variations    %.1f us nominally, best %.1f us (%s), worst %.1f us (%s)\n",
                                                 nominal, best->second, best->first.c_str(), worst->second,
                                                 worst->first.c_str());
  return text;
}

void VariedTimes::writeMembers(llvm::json::OStream &out, double nominal) const {
  if (times.empty())
    return;
  auto [best, worst] = range(nominal);
  out.attribute("best_us", best);
  out.attribute("worst_us", worst);
  out.attributeArray("variations", [&] {
    for (const auto &[assignment, time] : times)
      out.object([&] {
        out.attribute("parameter", assignment);
        out.attribute("us", time);
      });
  });
}
