// A benchmark run as a table, JSON and CSV, and against a saved one.
#include "Bench.h"

#include "Verify/ReportParts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace hocket;
using namespace hocket::run;
using llvm::format;
namespace json = llvm::json;

namespace {
/// Mean and worst of |predicted / measured - 1|.
struct Errors {
  unsigned count = 0;
  double sum = 0, worst = 0;
  void add(double error) {
    ++count;
    sum += std::abs(error);
    worst = std::abs(error) > std::abs(worst) ? error : worst;
  }
  double mean() const { return count ? sum / count : 0; }
};
} // namespace

/// Launch overhead decides lines below this; they are judged apart.
static constexpr double kLongRow = 100; // us

double Bench::tflops(const PublishedRow &row, const BenchCell &cell) const {
  return run::tflops(row.problem, microseconds(cell));
}

sim::VariedTimes Bench::varied(const BenchCell &cell) const {
  return cell.varied.mapped([&](double time) { return calibration.apply(time); });
}

std::optional<double> Bench::before(size_t row, size_t kernel) const {
  auto found = baseline.find({describe(table.rows[row].problem), kernels[kernel].name});
  return found == baseline.end() ? std::nullopt : std::optional(found->second);
}

unsigned Bench::slower() const {
  unsigned count = 0;
  for (size_t r = 0; r < cells.size(); ++r)
    for (size_t k = 0; k < kernels.size(); ++k)
      if (std::optional<double> old = before(r, k); old && cells[r][k].done && maxSlowdown >= 0)
        count += microseconds(cells[r][k]) > *old * (1 + maxSlowdown / 100);
  return count;
}

unsigned Bench::wrong() const {
  unsigned count = 0;
  for (const std::vector<BenchCell> &line : cells)
    for (const BenchCell &cell : line)
      count += cell.isWrong();
  return count;
}

std::string Bench::fieldText(size_t row, size_t kernel) const {
  const BenchCell &cell = cells[row][kernel];
  if (!cell.done)
    return "-";
  std::string text;
  llvm::raw_string_ostream out(text);
  double time = microseconds(cell);
  if (cell.measured)
    out << format("%.1f [%.1f, %.1f] %.0f TFLOP/s, predicted %.1f%s", time, cell.measured->low, cell.measured->high,
                  tflops(table.rows[row], cell), cell.grid.microseconds, cell.isWrong() ? ", WRONG" : "");
  else if (kernels[kernel].published)
    out << format("%.1f, predicted %.1f %+.1f%%",
                  table.rows[row].microseconds.at(kernels[kernel].name), time,
                  100 * (time / table.rows[row].microseconds.at(kernels[kernel].name) - 1));
  else
    out << format("predicted %.1f", time);
  if (!cell.varied.empty()) {
    auto [best, worst] = varied(cell).range(time);
    out << format(" (%.1f to %.1f)", best, worst);
  }
  if (forwardOf(table.rows[row].problem).lists.any())
    out << format(" %.3g tokens/s", tokensPerSecond(table.rows[row].problem, time));
  if (!kernels[kernel].published)
    for (size_t other = 0; other < kernels.size(); ++other)
      if (kernels[other].published && cells[row][other].done)
        out << format(" %.3fx %s", microseconds(cells[row][other]) / time,
                      kernels[other].name.c_str());
  if (std::optional<double> old = before(row, kernel))
    out << format(" %+.1f%% to before", 100 * (time / *old - 1));
  return text;
}

void Bench::printErrors(llvm::raw_ostream &out) const {
  for (size_t k = 0; k < kernels.size(); ++k)
    for (bool longRows : {true, false}) {
      Errors errors;
      for (size_t r = 0; kernels[k].published && r < table.rows.size(); ++r)
        if (!fits(table.rows[r]) && cells[r][k].done)
          if (double measured = table.rows[r].microseconds.at(kernels[k].name);
              (measured >= kLongRow) == longRows)
            errors.add(microseconds(cells[r][k]) / measured - 1);
      if (errors.count != 0)
        out << format("%s, %u lines %s 100 us: mean error %.1f%%, worst %+.1f%%\n",
                      kernels[k].name.c_str(), errors.count, longRows ? "from" : "below",
                      100 * errors.mean(), 100 * errors.worst);
    }
}

void Bench::print(llvm::raw_ostream &out) const {
  out << "line problem                                      ";
  for (const BenchKernel &kernel : kernels)
    out << ' ' << llvm::left_justify(kernel.name, 29);
  out << '\n';
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const PublishedRow &row = table.rows[r];
    out << format("%4u%s", row.number, fits(row) ? "* " : "  ")
        << llvm::left_justify(describe(row.problem), 44);
    for (size_t k = 0; k < kernels.size(); ++k)
      out << ' ' << llvm::left_justify(fieldText(r, k), 29);
    out << '\n';
  }
  if (device) {
    out << format("times in us: median [quartiles] of %u launches after %u for warming up, on %s\n",
                  measuring.repetitions, measuring.warmup, device->properties().name.c_str());
    if (device->kind() == "sim")
      out << "the simulator's times are host times: they say nothing about a GPU\n";
  } else {
    out << "times in us; 'x' is how many times as fast as predicted for the other kernel; all but "
           "published figures are predictions of the cycle model\n";
    out << format("clock %.3f times the model's, launch overhead %.1f us", 1 / calibration.factor,
                  calibration.launch)
        << (calibrateRows.empty() ? ", not fitted\n" : ", fitted to the lines marked *\n");
    printErrors(out);
  }
  for (size_t r = 0; r < cells.size(); ++r)
    for (size_t k = 0; k < kernels.size(); ++k)
      if (cells[r][k].isWrong())
        out << "line " << table.rows[r].number << ", " << kernels[k].name << ": "
            << cells[r][k].verified->failures.front() << '\n';
  printRatios(out);
  if (unsigned count = slower(); maxSlowdown >= 0)
    out << format("%u lines are more than %.1f%% slower than before\n", count, maxSlowdown);
}

void Bench::writeCell(json::OStream &out, size_t row, size_t kernel) const {
  const BenchCell &cell = cells[row][kernel];
  if (!cell.refusal.empty())
    out.attribute("refused", cell.refusal);
  if (auto figure = table.rows[row].microseconds.find(kernels[kernel].name);
      figure != table.rows[row].microseconds.end())
    out.attribute("measured_us", figure->second);
  if (!cell.done)
    return;
  if (!cell.registered.empty())
    out.attribute("registered", cell.registered);
  if (cell.splits > 1)
    out.attribute("splits", cell.splits);
  out.attribute("us", microseconds(cell));
  out.attribute("tflops", tflops(table.rows[row], cell));
  out.attribute("tokens_per_second", tokensPerSecond(table.rows[row].problem, microseconds(cell)));
  if (std::optional<double> old = before(row, kernel))
    out.attribute("before_us", *old);
  writeRatios(out, row, kernel);
  if (cell.measured) {
    out.attribute("fastest_us", cell.measured->fastest);
    out.attribute("quartile_us", json::Array{cell.measured->low, cell.measured->high});
    if (cell.verified)
      out.attributeArray("failures", [&] {
        for (const std::string &failure : cell.verified->failures)
          out.value(failure);
      });
    out.attribute("predicted_us", cell.grid.microseconds);
    return;
  }
  out.attribute("predicted_us", microseconds(cell));
  varied(cell).writeMembers(out, microseconds(cell));
  out.attribute("cycles", cell.grid.cycles);
  out.attribute("clock_ghz", cell.grid.clock);
  out.attribute("l2_hits", cell.grid.l2Hits);
  out.attribute("resident_workgroups", cell.grid.resident);
  out.attributeArray("launches", [&] {
    for (const BenchLaunch &launch : cell.launches)
      out.object([&] {
        out.attribute("kernel", launch.kernel);
        verify::writeRegisters(out, launch.info);
      });
  });
  sim::writeKinds(out, cell.grid);
}

std::string Bench::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", !device);
    out.attribute("device", device ? device->properties().name : "cycle model");
    out.attribute("clock_factor", 1 / calibration.factor);
    out.attribute("launch_us", calibration.launch);
    if (device) {
      out.attribute("warmup", measuring.warmup);
      out.attribute("repetitions", measuring.repetitions);
    }
    out.attributeArray("rows", [&] {
      for (size_t r = 0; r < table.rows.size(); ++r)
        out.object([&] {
          out.attribute("row", table.rows[r].number);
          out.attribute("problem", describe(table.rows[r].problem));
          out.attribute("calibration", fits(table.rows[r]));
          out.attributeObject("kernels", [&] {
            for (size_t k = 0; k < kernels.size(); ++k)
              out.attributeObject(kernels[k].name, [&] { writeCell(out, r, k); });
          });
        });
    });
    writeMeans(out);
    out.attributeObject("errors", [&] {
      for (size_t k = 0; k < kernels.size(); ++k) {
        if (!kernels[k].published)
          continue;
        out.attributeObject(kernels[k].name, [&] {
          for (bool longRows : {true, false})
            out.attributeObject(longRows ? "from_100_us" : "below_100_us", [&] {
              Errors errors;
              for (size_t r = 0; r < table.rows.size(); ++r)
                if (!fits(table.rows[r]) && cells[r][k].done)
                  if (double measured = table.rows[r].microseconds.at(kernels[k].name);
                      (measured >= kLongRow) == longRows)
                    errors.add(microseconds(cells[r][k]) / measured - 1);
              out.attribute("rows", errors.count);
              out.attribute("mean", errors.mean());
              out.attribute("worst", errors.worst);
            });
        });
      }
    });
  });
  stream << '\n';
  return text;
}

/// A line a problem and kernel, and one for each of the run's own with means over all lines;
/// problems are quoted, because strides contain commas.
std::string Bench::toCsv() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "line,problem,kernel,registered,kind,us,low_us,high_us,tflops,tokens_per_second,cycles,before_us"
      << ratioColumns() << '\n';
  for (size_t r = 0; r < table.rows.size(); ++r)
    for (size_t k = 0; k < kernels.size(); ++k) {
      const BenchCell &cell = cells[r][k];
      if (!cell.done)
        continue;
      out << table.rows[r].number << ",\"" << describe(table.rows[r].problem) << "\","
          << kernels[k].name << ',' << cell.registered << ','
          << (cell.measured ? "measured" : "predicted") << format(",%.3f,", microseconds(cell));
      if (cell.measured)
        out << format("%.3f,%.3f,", cell.measured->low, cell.measured->high);
      else
        out << ",,";
      out << format("%.1f,%.0f,", tflops(table.rows[r], cell),
                    tokensPerSecond(table.rows[r].problem, microseconds(cell)));
      if (!cell.measured)
        out << format("%.0f", cell.grid.cycles);
      out << ',';
      if (std::optional<double> old = before(r, k))
        out << format("%.3f", *old);
      out << ratioFields(r, k) << '\n';
    }
  for (size_t k = 0; k < kernels.size(); ++k)
    if (!kernels[k].published && !table.kernels.empty())
      out << "all,\"geometric mean\"," << kernels[k].name << ",,"
          << (device ? "measured" : "predicted") << ",,,,,,," << meanFields(k) << '\n';
  return text;
}
