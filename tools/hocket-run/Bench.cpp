// hocket-run bench: kernels by problems - measured on HIP, predicted by the cycle model elsewhere.
//
// Problems come from a file, or are the published ones that Hocket ships. Where the file has
// measurements of a named kernel, predictions are set against them: at most two constants, clock
// and launch overhead, are fitted to named lines, and the error is that of all others. A kernel
// that is no column of the file is one's own and appears as a ratio to those that are. The times of
// a saved run can be compared with.
#define HOCKET_OPTIONS_INC "BenchOptions.inc"
#include "Bench.h"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"
#include "TimeRequest.h"

#include "Manifest/Json.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

/// Rows of each problem that are compared with the float64 reference.
static constexpr int64_t kVerifiedRows = 64;

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

Status Bench::readTable(const Options &options) {
  if (options.has(OPT_published) && options.has(OPT_problems))
    return invalidInput("--published and --problems both name the list; give one of them");
  std::string path = options.string(OPT_published, options.string(OPT_problems));
  Result<std::string> text =
      path.empty() ? std::string(shippedMeasurements()) : runtime::readText(path);
  if (!text.ok())
    return text.error();
  Result<PublishedTable> read = parsePublished(*text, path.empty() ? "the built-in list" : path);
  if (!read.ok())
    return read.error();
  table = *std::move(read);
  size_t count = table.rows.size();
  Result<std::set<unsigned>> chosen = readRows("--rows", options.string(OPT_rows), count);
  if (!chosen.ok())
    return chosen.error();
  Result<std::set<unsigned>> fitted = readRows("--calibrate", options.string(OPT_calibrate), count);
  if (!fitted.ok())
    return fitted.error();
  calibrateRows = *std::move(fitted);
  if (!chosen->empty())
    std::erase_if(table.rows, [&](const PublishedRow &row) {
      return chosen->count(row.number) == 0 && calibrateRows.count(row.number) == 0;
    });
  return Status::success();
}

Status Bench::readKernels(const Options &options) {
  std::vector<std::string> named = options.strings(OPT_kernel);
  if (named.empty())
    named.push_back("hocket=auto");
  for (const std::string &kernel : named) {
    auto [name, choice] = StringRef(kernel).split('=');
    if (name.empty() || choice.empty())
      return invalidInput(
          "option '--kernel' has the value '" + kernel +
          "', expected NAME=CO,MANIFEST, NAME=KERNEL (registered, or auto) or NAME=SCHEDULE");
    if (llvm::any_of(kernels, [&](const auto &other) { return other.name == name; }))
      return invalidInput("option '--kernel' gives the name '" + name.str() +
                          "' twice; results are told apart by it");
    bool published = llvm::is_contained(table.kernels, name.str());
    auto [what, splits] = choice.rsplit(':');
    int64_t number = 0;
    const bool isSplit = !splits.getAsInteger(10, number);
    if (!isSplit)
      what = choice;
    if (number < 0 || number > attention::mostSplits)
      return invalidInput("option '--kernel' has the value '" + kernel + "', expected 0 to " +
                          std::to_string(attention::mostSplits) + " slices behind the colon");
    kernels.push_back({name.str(), what.str(), published, isSplit ? std::optional(number) : std::nullopt, {}});
  }
  Result<ChosenChip> chip = chipNamed(options.string(OPT_arch, kArchitecture.str()));
  if (!chip.ok())
    return chip.error();
  Result<ToolPlanner> made = ToolPlanner::make({}, *chip);
  if (!made.ok())
    return made.error();
  planner = *std::move(made);
  // Lists of work are made for a chip.
  for (const PublishedRow &row : table.rows)
    if (const std::string &wanted = row.making.architecture; !wanted.empty() && wanted != chip->architecture)
      return invalidInput("line " + std::to_string(row.number) + " of the list is for " + wanted + ", this run for " +
                          chip->architecture + "; give '--arch " + wanted + "', and the lines of that chip (--rows)");
  return Status::success();
}

Status Bench::readMeasuring(const Options &options) {
  for (auto [id, value, low] : {std::tuple(OPT_warmup, &measuring.warmup, 0),
                                std::tuple(OPT_repetitions, &measuring.repetitions, 1)}) {
    Result<int64_t> number = options.integer(id, *value, low, 1 << 20);
    if (!number.ok())
      return number.error();
    *value = static_cast<unsigned>(*number);
  }
  Result<runtime::OpenedDevice> opened = openDevice(
      deviceFor(options.string(OPT_device, "auto"), options.string(OPT_arch, kArchitecture.str())));
  if (!opened.ok())
    return opened.error();
  bool simulated = opened->device->kind() == "sim";
  if (!simulated || options.has(OPT_measure))
    device = opened->device;
  if (device)
    verifies = !options.has(OPT_no_verify);
  else if (options.has(OPT_no_verify))
    return invalidInput("--no-verify is of measurements, and this run makes predictions; leave it out");
  if (device && options.has(OPT_vary))
    return invalidInput("--vary varies predictions; it has no effect on measurements, leave it out or use "
                        "'--device sim'");
  if (device && options.has(OPT_calibrate))
    return invalidInput("--calibrate fits predictions; it has no effect on measurements, leave it "
                        "out or use '--device sim'");
  bool fitted = llvm::any_of(kernels, [](const auto &kernel) { return kernel.published; });
  if (!calibrateRows.empty() && !fitted)
    return invalidInput("--calibrate fits predictions to a column of the list, and no --kernel is "
                        "named like one; its columns are " +
                        (table.kernels.empty() ? "none" : llvm::join(table.kernels, ", ")));
  return Status::success();
}

/// A file that an earlier run wrote with --json.
Status Bench::readBaseline(const Options &options) {
  if (options.has(OPT_max_slowdown)) {
    Result<double> percent = options.real(OPT_max_slowdown);
    if (!percent.ok())
      return percent.error();
    if (!options.has(OPT_baseline))
      return invalidInput("--max-slowdown needs a --baseline to compare with");
    maxSlowdown = *percent;
  }
  if (!options.has(OPT_baseline))
    return Status::success();
  std::string path = options.string(OPT_baseline);
  Result<std::string> text = runtime::readText(path);
  if (!text.ok())
    return text.error();
  llvm::Expected<json::Value> value = manifest::parseJson(*text);
  if (!value)
    llvm::consumeError(value.takeError());
  const json::Object *run = value ? value->getAsObject() : nullptr;
  const json::Array *rows = run ? run->getArray("rows") : nullptr;
  std::optional<bool> predicted = run ? run->getBoolean("prediction") : std::nullopt;
  if (!rows || !predicted)
    return invalidInput("'" + path + "' is not a run saved by 'hocket-run bench --json'");
  if (*predicted != !device)
    return invalidInput("'" + path + "' holds " + (*predicted ? "predictions" : "measurements") +
                        ", this run makes " + (device ? "measurements" : "predictions") +
                        "; they cannot be compared");
  for (const json::Value &entry : *rows) {
    const json::Object *row = entry.getAsObject();
    const json::Object *all = row ? row->getObject("kernels") : nullptr;
    std::string problem = row ? row->getString("problem").value_or("").str() : "";
    for (const auto &[name, cell] : all ? *all : json::Object())
      if (const json::Object *object = cell.getAsObject())
        if (std::optional<double> time = object->getNumber("us"))
          baseline[{problem, name.str()}] = *time;
  }
  return Status::success();
}

Result<Bench> Bench::read(const Options &options) {
  Bench bench;
  Result<sim::TimeParameters> parameters =
      readTimeParameters(options.string(OPT_time_file), options.strings(OPT_time_param));
  if (!parameters.ok())
    return parameters.error();
  bench.timing.parameters = *parameters;
  bench.vary = options.has(OPT_vary);
  bench.calibration.launch = bench.timing.parameters.launchMicroseconds;
  for (auto step :
       {&Bench::readTable, &Bench::readKernels, &Bench::readMeasuring, &Bench::readBaseline})
    if (Status status = (bench.*step)(options); !status.ok())
      return status.error();
  return std::move(bench);
}

Result<ForwardPlanPointer> Bench::planOf(const BenchKernel &kernel, ForwardProblem asked) {
  asked.tuning.numSplits = kernel.splits.value_or(asked.tuning.numSplits);
  Result<ForwardPlanPointer> plan = planner->plan(kernel.choice, asked);
  // Published figures do not say whether LSE was written; a compiled kernel that has to gets room for it.
  bool isFile = StringRef(kernel.choice).contains(',');
  if (plan.ok() || !isFile || asked.wantLse)
    return plan;
  asked.wantLse = true;
  Result<ForwardPlanPointer> withLse = planner->plan(kernel.choice, asked);
  return withLse.ok() ? withLse : plan;
}

Result<ListedPlan> Bench::planOf(const BenchKernel &kernel, const ListedProblem &asked, BenchCell &cell) {
  const auto *backward = std::get_if<BackwardProblem>(&asked);
  if (backward && kernel.splits.value_or(0) > 1)
    return unsupported("a backward does not split keys; leave out the number of slices");
  if (backward) {
    Result<BackwardPlanPointer> plan = planner->plan(kernel.choice, *backward);
    return plan.ok() ? Result<ListedPlan>(*plan) : plan.error();
  }
  Result<ForwardPlanPointer> plan = planOf(kernel, forwardOf(asked));
  if (!plan.ok())
    return plan.error();
  cell.registered = (*plan)->attention().kernel;
  cell.splits = std::max<int64_t>((*plan)->problem().tuning.numSplits, 1);
  return ListedPlan(*plan);
}

Status Bench::measure(const ListedPlan &plan, const PublishedRow &row, const Contents &contents, BenchCell &cell) {
  Result<Measurement> measured = measurePlan(*device, launchPlanOf(plan), contents, measuring);
  if (!measured.ok())
    return measured.error();
  cell.measured = *measured;
  if (!verifies)
    return Status::success();
  Result<ListedVerdict> verdict = verifyListed(*device, plan, row.making, kVerifiedRows);
  if (!verdict.ok())
    return verdict.error();
  verdict->outputs.clear();
  cell.verified = *std::move(verdict);
  return Status::success();
}

Status Bench::predict(BenchKernel &kernel, const LaunchPlan &plan, const PublishedRow &row, const Contents &contents,
                      BenchCell &cell) {
  Result<Placed> placed = Placed::make(plan, contents);
  if (!placed.ok())
    return placed.error();
  for (size_t i = 0; i != placed->launches.size(); ++i)
    cell.launches.push_back({plan.launches()[i].kernel, placed->launches[i].kernel->info()});
  sim::TimingOptions options = timing;
  options.uneven = forwardOf(row.problem).work.any();
  std::vector<LaunchAssumption> assumptions = {{options.parameters, &kernel.caches[""]}};
  Result<std::vector<sim::VariedParameters>> variations = variationsOf(options.parameters);
  if (!variations.ok())
    return variations.error();
  for (const sim::VariedParameters &varied : *variations)
    assumptions.push_back({varied.parameters, &kernel.caches[varied.ofGrid ? "" : varied.assignment]});
  Result<std::vector<sim::GridTime>> grids = predictLaunches(*placed, options, assumptions);
  if (!grids.ok())
    return grids.error();
  cell.grid = std::move(grids->front());
  for (size_t i = 0; i != variations->size(); ++i)
    cell.varied.add((*variations)[i].assignment, (*grids)[i + 1].executeMicroseconds);
  return Status::success();
}

Result<std::vector<sim::VariedParameters>> Bench::variationsOf(const sim::TimeParameters &nominal) const {
  return vary ? sim::variedParameters(nominal) : std::vector<sim::VariedParameters>();
}

Result<BenchCell> Bench::runOne(BenchKernel &kernel, const PublishedRow &row) {
  BenchCell cell;
  Result<ListedPlan> plan = planOf(kernel, row.problem, cell);
  if (!plan.ok()) {
    if (plan.error().kind != ErrorKind::Unsupported)
      return plan.error();
    cell.refusal = plan.error().message;
    return std::move(cell);
  }
  Result<Contents> contents = contentsOf(row.problem, row.making);
  if (!contents.ok())
    return contents.error();
  if (device)
    if (Status status = measure(*plan, row, *contents, cell); !status.ok())
      return status.error();
  if (Status status = predict(kernel, launchPlanOf(*plan), row, *contents, cell); !status.ok())
    return status.error();
  cell.done = true;
  return std::move(cell);
}

Status Bench::runAll() {
  for (const PublishedRow &row : table.rows) {
    showProgress((device ? "measuring line " : "predicting line ") + std::to_string(row.number),
                 double(cells.size()) / double(table.rows.size()));
    std::vector<BenchCell> line;
    for (BenchKernel &kernel : kernels) {
      bool known = row.microseconds.count(kernel.name) != 0;
      Result<BenchCell> cell = kernel.published && !known ? BenchCell() : runOne(kernel, row);
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
    for (size_t k = 0; k < kernels.size(); ++k)
      if (fits(table.rows[r]) && kernels[k].published && cells[r][k].done)
        figures.push_back(
            {cells[r][k].grid.executeMicroseconds, table.rows[r].microseconds.at(kernels[k].name)});
  if (!figures.empty())
    calibration = calibrate(figures, calibration.launch);
}

static Result<int> runBench(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  Result<Bench> bench = Bench::read(options);
  if (!bench.ok())
    return bench.error();
  // The options are read before anything is compiled: linking resets LLVM's.
  std::string jsonPath = options.string(OPT_json), csvPath = options.string(OPT_csv),
              plotPath = options.string(OPT_plot);
  if (Status status = bench->runAll(); !status.ok())
    return status.error();
  bench->fit();
  bench->print(reportStream(jsonPath));
  if (!csvPath.empty()) {
    std::string csv = bench->toCsv();
    if (Status status = runtime::writeFile(csvPath, std::as_bytes(std::span(csv))); !status.ok())
      return status.error();
  }
  if (!plotPath.empty()) {
    Result<std::string> plot = bench->toPlot();
    if (!plot.ok())
      return plot.error();
    if (Status status = runtime::writeFile(plotPath, std::as_bytes(std::span(*plot))); !status.ok())
      return status.error();
  }
  if (Status status = writeJson(jsonPath, bench->toJson()); !status.ok())
    return status.error();
  return bench->slower() == 0 && bench->wrong() == 0 ? exitRight : exitWrong;
}

Result<int> run::benchCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable optionTable;
  CommandLine command{
      "bench",
      "[--problems FILE | --published FILE] [--kernel NAME=CHOICE] "
      "[options]",
      "Measures kernels on HIP, or predicts them by the cycle model, over a list of "
      "problems (default: the published ones)",
      &optionTable,
      OPT_INPUT,
      OPT_UNKNOWN,
      OPT_help};
  return runSubcommand(command, args, runBench);
}
