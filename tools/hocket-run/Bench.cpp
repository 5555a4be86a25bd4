// hocket-run bench: predicts published measurements, and says how far off it is.
//
// Every named kernel is predicted on every line that it takes. At most two constants, clock and
// launch overhead, are fitted to named lines; the error is that of all others. Lines below 100 us
// are judged apart: launch overhead decides them. A kernel that is no column of the file is one's
// own and appears as a ratio to the predictions of those that are.
#define HOCKET_OPTIONS_INC "BenchOptions.inc"
#include "Calibration.h"
#include "KernelFinder.h"
#include "OptionTable.h"
#include "Output.h"
#include "Placed.h"
#include "PublishedTable.h"
#include "Subcommands.h"

#include "hocket/Simulator/GridTime.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <set>

using namespace hocket;
using namespace hocket::run;
using llvm::format;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
struct Entry {
  std::string name, choice;
  bool published = false;
  /// Cycles of the kinds of workgroups seen, by the code that they are of.
  std::map<std::string, sim::KindCache> caches;
};

struct Cell {
  bool predicted = false;
  std::string refusal; ///< why not
  sim::GridTime grid;
};

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

class Bench {
public:
  static Result<Bench> read(const Options &options);
  Status predictAll();
  void fit();
  void print(llvm::raw_ostream &out) const;
  std::string toJson() const;

private:
  Result<Cell> predict(Entry &entry, const PublishedRow &row);
  double microseconds(const Cell &cell) const {
    return calibration.apply(cell.grid.executeMicroseconds);
  }
  Errors errorsOf(size_t entry, bool longRows) const;
  bool fits(const PublishedRow &row) const { return calibrateRows.count(row.number) != 0; }

  std::optional<KernelFinder> finder;
  sim::TimingOptions timing;
  PublishedTable table;
  std::vector<Entry> entries;
  std::set<unsigned> calibrateRows;
  std::vector<std::vector<Cell>> cells; ///< [row][entry]
  Calibration calibration;
};
} // namespace

static constexpr double longRow = 100; // us

static Result<std::set<unsigned>> readRows(StringRef option, const std::string &text, size_t rows) {
  std::set<unsigned> numbers;
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    unsigned number;
    if (part.getAsInteger(10, number) || number == 0 || number > rows)
      return invalidInput("option '" + option.str() + "' has the value '" + text +
                          "', expected lines from 1 to " + std::to_string(rows));
    numbers.insert(number);
  }
  return std::move(numbers);
}

Result<Bench> Bench::read(const Options &options) {
  Bench bench;
  Result<KernelFinder> finder = KernelFinder::make();
  if (!finder.ok())
    return finder.error();
  bench.finder = *std::move(finder);
  for (const std::string &assignment : options.strings(OPT_time_param))
    if (Status status = bench.timing.parameters.set(assignment); !status.ok())
      return status.error();
  std::string path = options.string(OPT_published);
  if (path.empty())
    return invalidInput("option '--published' is missing; see 'hocket-run bench --help'");
  Result<std::string> text = readText(path);
  if (!text.ok())
    return text.error();
  Result<PublishedTable> table = parsePublished(*text, path);
  if (!table.ok())
    return table.error();
  bench.table = *std::move(table);
  for (const std::string &kernel : options.strings(OPT_kernel)) {
    auto [name, choice] = StringRef(kernel).split('=');
    if (name.empty() || choice.empty())
      return invalidInput("option '--kernel' has the value '" + kernel +
                          "', expected NAME=CO,MANIFEST or NAME=SCHEDULE");
    bool published = llvm::is_contained(bench.table.kernels, name.str());
    bench.entries.push_back({name.str(), choice.str(), published, {}});
  }
  if (bench.entries.empty())
    return invalidInput("no kernel is given; name at least one with --kernel NAME=CO,MANIFEST");
  size_t count = bench.table.rows.size();
  Result<std::set<unsigned>> chosen = readRows("--rows", options.string(OPT_rows), count);
  if (!chosen.ok())
    return chosen.error();
  Result<std::set<unsigned>> fitted = readRows("--calibrate", options.string(OPT_calibrate), count);
  if (!fitted.ok())
    return fitted.error();
  bench.calibrateRows = *std::move(fitted);
  if (!chosen->empty())
    std::erase_if(bench.table.rows, [&](const PublishedRow &row) {
      return chosen->count(row.number) == 0 && bench.calibrateRows.count(row.number) == 0;
    });
  bench.calibration.launch = bench.timing.parameters.launchMicroseconds;
  return std::move(bench);
}

Result<Cell> Bench::predict(Entry &entry, const PublishedRow &row) {
  Cell cell;
  Result<FoundKernel> found = finder->find(entry.choice, row.problem);
  if (!found.ok())
    return found.error();
  const attention::CompiledKernel &kernel = *found->kernel;
  Result<Placed> placed = Placed::make(kernel, row.problem);
  if (!placed.ok() && placed.error().kind == ErrorKind::Unsupported) {
    // Published figures do not say whether LSE was written; a kernel that has to gets room for it.
    attention::ForwardProblem withLse = row.problem;
    withLse.wantLse = true;
    if (Result<Placed> other = Placed::make(kernel, withLse); other.ok())
      placed = std::move(other);
  }
  if (!placed.ok()) {
    if (placed.error().kind != ErrorKind::Unsupported)
      return placed.error();
    cell.refusal = placed.error().message;
    return std::move(cell);
  }
  Result<sim::GridTime> grid =
      sim::predictGrid(*placed->device, *placed->kernel, placed->binding.shape,
                       placed->binding.kernarg, timing, &entry.caches[kernel.codeObject]);
  if (!grid.ok())
    return grid.error();
  cell.grid = *std::move(grid);
  cell.predicted = true;
  return std::move(cell);
}

Status Bench::predictAll() {
  for (const PublishedRow &row : table.rows) {
    showProgress("predicting line " + std::to_string(row.number),
                 double(cells.size()) / double(table.rows.size()));
    std::vector<Cell> line;
    for (Entry &entry : entries) {
      bool measured = row.microseconds.count(entry.name) != 0;
      Result<Cell> cell = entry.published && !measured ? Cell() : predict(entry, row);
      if (!cell.ok())
        return cell.error();
      line.push_back(*std::move(cell));
    }
    cells.push_back(std::move(line));
  }
  clearProgress();
  return Status::success();
}

void Bench::fit() {
  std::vector<Figure> figures;
  for (size_t r = 0; r < table.rows.size(); ++r)
    for (size_t e = 0; e < entries.size(); ++e)
      if (fits(table.rows[r]) && entries[e].published && cells[r][e].predicted)
        figures.push_back(
            {cells[r][e].grid.executeMicroseconds, table.rows[r].microseconds.at(entries[e].name)});
  if (!figures.empty())
    calibration = calibrate(figures, calibration.launch);
}

Errors Bench::errorsOf(size_t entry, bool longRows) const {
  Errors errors;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (fits(table.rows[r]) || !cells[r][entry].predicted)
      continue;
    double measured = table.rows[r].microseconds.at(entries[entry].name);
    if ((measured >= longRow) == longRows)
      errors.add(microseconds(cells[r][entry]) / measured - 1);
  }
  return errors;
}

void Bench::print(llvm::raw_ostream &out) const {
  out << "line problem                                      ";
  for (const Entry &entry : entries)
    out << ' ' << llvm::left_justify(entry.name, 29);
  out << '\n';
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const PublishedRow &row = table.rows[r];
    out << format("%4u%s", row.number, fits(row) ? "* " : "  ")
        << llvm::left_justify(row.problem.describe(), 44);
    for (size_t e = 0; e < entries.size(); ++e) {
      const Cell &cell = cells[r][e];
      std::string text;
      llvm::raw_string_ostream field(text);
      if (!cell.predicted) {
        field << "-";
      } else if (entries[e].published) {
        double measured = row.microseconds.at(entries[e].name);
        field << format("%.1f, predicted %.1f %+.1f%%", measured, microseconds(cell),
                        100 * (microseconds(cell) / measured - 1));
      } else {
        field << format("predicted %.1f", microseconds(cell));
        for (size_t other = 0; other < entries.size(); ++other)
          if (entries[other].published && cells[r][other].predicted)
            field << format(" %.3fx %s", microseconds(cells[r][other]) / microseconds(cell),
                            entries[other].name.c_str());
      }
      out << ' ' << llvm::left_justify(text, 29);
    }
    out << '\n';
  }
  out << "times in us; 'x' is how many times as fast as predicted for the other kernel; all but "
         "published figures are predictions of the cycle model\n";
  out << format("clock %.3f times the model's, launch overhead %.1f us", 1 / calibration.factor,
                calibration.launch)
      << (calibrateRows.empty() ? ", not fitted\n" : ", fitted to the lines marked *\n");
  for (size_t e = 0; e < entries.size(); ++e)
    for (bool longRows : {true, false}) {
      Errors errors = entries[e].published ? errorsOf(e, longRows) : Errors();
      if (errors.count != 0)
        out << format("%s, %u lines %s 100 us: mean error %.1f%%, worst %+.1f%%\n",
                      entries[e].name.c_str(), errors.count, longRows ? "from" : "below",
                      100 * errors.mean(), 100 * errors.worst);
    }
}

std::string Bench::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("prediction", true);
    out.attribute("clock_factor", 1 / calibration.factor);
    out.attribute("launch_us", calibration.launch);
    out.attributeArray("rows", [&] {
      for (size_t r = 0; r < table.rows.size(); ++r)
        out.object([&] {
          out.attribute("row", table.rows[r].number);
          out.attribute("problem", table.rows[r].problem.describe());
          out.attribute("calibration", fits(table.rows[r]));
          out.attributeObject("kernels", [&] {
            for (size_t e = 0; e < entries.size(); ++e)
              out.attributeObject(entries[e].name, [&] {
                const Cell &cell = cells[r][e];
                if (!cell.refusal.empty())
                  out.attribute("refused", cell.refusal);
                if (auto measured = table.rows[r].microseconds.find(entries[e].name);
                    measured != table.rows[r].microseconds.end())
                  out.attribute("measured_us", measured->second);
                if (!cell.predicted)
                  return;
                out.attribute("predicted_us", microseconds(cell));
                out.attribute("cycles", cell.grid.cycles);
                out.attribute("clock_ghz", cell.grid.clock);
                out.attribute("l2_hits", cell.grid.l2Hits);
              });
          });
        });
    });
    out.attributeObject("errors", [&] {
      for (size_t e = 0; e < entries.size(); ++e) {
        if (!entries[e].published)
          continue;
        out.attributeObject(entries[e].name, [&] {
          for (bool longRows : {true, false})
            out.attributeObject(longRows ? "from_100_us" : "below_100_us", [&] {
              Errors errors = errorsOf(e, longRows);
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

Result<int> run::benchCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable optionTable;
  CommandLine command{"bench",
                      "hocket-run bench --published FILE --kernel NAME=CO,MANIFEST [options]",
                      "Predicts published measurements and reports the error",
                      optionTable,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (options->wantsHelp()) {
    options->printHelp();
    return exitRight;
  }
  if (Status status = options->noInputs(); !status.ok())
    return status.error();
  Result<Bench> bench = Bench::read(*options);
  if (!bench.ok())
    return bench.error();
  std::string jsonPath = options->string(OPT_json);
  if (Status status = bench->predictAll(); !status.ok())
    return status.error();
  bench->fit();
  bench->print(llvm::errs());
  if (Status status = writeJson(jsonPath, bench->toJson()); !status.ok())
    return status.error();
  return exitRight;
}
