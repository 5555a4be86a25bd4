// Ratios to the peers of the list, as a table, JSON and CSV.
#include "BenchRatios.h"

#include "Bench.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace hocket;
using namespace hocket::run;
using llvm::format;
namespace json = llvm::json;

/// Width of a peer's column in the table.
static constexpr unsigned kColumn = 12;

PeerRatio Bench::ratio(size_t row, size_t kernel, const std::string &peer) const {
  PeerRatio ratio;
  if (!cells[row][kernel].done || kernels[kernel].published)
    return ratio;
  double own = microseconds(cells[row][kernel]);
  const auto &figures = table.rows[row].microseconds;
  if (auto figure = figures.find(peer); figure != figures.end())
    ratio.published = figure->second / own;
  for (size_t other = 0; other < kernels.size(); ++other)
    if (kernels[other].name == peer && cells[row][other].done)
      ratio.inRun = microseconds(cells[row][other]) / own;
  return ratio;
}

PeerMeans Bench::means(size_t kernel, const std::string &peer) const {
  PeerMeans means;
  for (size_t row = 0; row < table.rows.size(); ++row)
    means.add(ratio(row, kernel, peer));
  return means;
}

static std::string text(std::optional<double> ratio) {
  std::string text = "-";
  if (ratio)
    llvm::raw_string_ostream(text = "") << format("%.3f", *ratio);
  return text;
}

static std::string text(const RatioMean &mean) {
  return text(mean.lines ? std::optional(mean.mean()) : std::nullopt);
}

static std::string aheadText(const RatioMean &mean) {
  return mean.lines ? std::to_string(mean.ahead) + "/" + std::to_string(mean.lines) : "-";
}

static void printLine(llvm::raw_ostream &out, llvm::StringRef label,
                      llvm::ArrayRef<std::string> columns) {
  out << llvm::left_justify(label, 50);
  for (const std::string &column : columns)
    out << ' ' << llvm::right_justify(column, kColumn);
  out << '\n';
}

void Bench::printRatios(llvm::raw_ostream &out, size_t kernel) const {
  out << "how many times as fast '" << kernels[kernel].name << "' ("
      << (device ? "measured" : "predicted")
      << ") is as published figures; +run: as this run's figure of that kernel\n";
  std::vector<std::string> heads, mean, ahead;
  std::vector<std::vector<std::string>> lines(table.rows.size());
  for (const std::string &peer : table.kernels) {
    PeerMeans over = means(kernel, peer);
    heads.push_back(peer), mean.push_back(text(over.published));
    ahead.push_back(aheadText(over.published));
    bool inRun = over.inRun.lines != 0;
    if (inRun) {
      heads.push_back("+run"), mean.push_back(text(over.inRun));
      ahead.push_back(aheadText(over.inRun));
    }
    for (size_t row = 0; row < table.rows.size(); ++row) {
      PeerRatio at = ratio(row, kernel, peer);
      lines[row].push_back(text(at.published));
      if (inRun)
        lines[row].push_back(text(at.inRun));
    }
  }
  printLine(out, "line problem", heads);
  for (auto [row, columns] : llvm::zip_equal(table.rows, lines)) {
    std::string label;
    llvm::raw_string_ostream(label)
        << format("%4u  ", row.number) << describe(row.problem);
    printLine(out, label, columns);
  }
  printLine(out, "geometric mean", mean);
  printLine(out, "lines on which it is as fast", ahead);
}

void Bench::printRatios(llvm::raw_ostream &out) const {
  for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
    if (!table.kernels.empty() && !kernels[kernel].published)
      printRatios(out, kernel);
}

void Bench::writeRatios(json::OStream &out, size_t row, size_t kernel) const {
  if (kernels[kernel].published || table.kernels.empty())
    return;
  out.attributeObject("ratios", [&] {
    for (const std::string &peer : table.kernels) {
      PeerRatio at = ratio(row, kernel, peer);
      if (!at.published && !at.inRun)
        continue;
      out.attributeObject(peer, [&] {
        if (at.published)
          out.attribute("published", *at.published);
        if (at.inRun)
          out.attribute("in_run", *at.inRun);
      });
    }
  });
}

static void writeMean(json::OStream &out, llvm::StringRef name, const RatioMean &mean) {
  if (mean.lines == 0)
    return;
  out.attributeObject(name, [&] {
    out.attribute("rows", mean.lines);
    out.attribute("geometric_mean", mean.mean());
    out.attribute("as_fast", mean.ahead);
  });
}

void Bench::writeMeans(json::OStream &out) const {
  out.attributeObject("ratios", [&] {
    for (size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      if (kernels[kernel].published)
        continue;
      out.attributeObject(kernels[kernel].name, [&] {
        for (const std::string &peer : table.kernels) {
          PeerMeans over = means(kernel, peer);
          out.attributeObject(peer, [&] {
            writeMean(out, "published", over.published);
            writeMean(out, "in_run", over.inRun);
          });
        }
      });
    }
  });
}

std::string Bench::ratioColumns() const {
  std::string columns;
  for (const std::string &peer : table.kernels)
    columns += ",to_" + peer + "_published,to_" + peer + "_in_run";
  return columns;
}

static std::string field(std::optional<double> ratio) { return ratio ? "," + text(ratio) : ","; }

std::string Bench::ratioFields(size_t row, size_t kernel) const {
  std::string fields;
  for (const std::string &peer : table.kernels) {
    PeerRatio at = ratio(row, kernel, peer);
    fields += field(at.published) + field(at.inRun);
  }
  return fields;
}

std::string Bench::meanFields(size_t kernel) const {
  std::string fields;
  auto ofMean = [](const RatioMean &mean) {
    return field(mean.lines ? std::optional(mean.mean()) : std::nullopt);
  };
  for (const std::string &peer : table.kernels) {
    PeerMeans over = means(kernel, peer);
    fields += ofMean(over.published) + ofMean(over.inRun);
  }
  return fields;
}
