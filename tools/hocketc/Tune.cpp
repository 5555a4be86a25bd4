#include "Tune.h"

#include "RegistryStart.h"

#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/File.h"
#include "hocket/Runtime/Registry.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <mutex>

using namespace hocket;
using namespace hocket::tune;
using hocketc::TuneRequest;

namespace {
/// Rows of the table that is printed.
constexpr size_t kShown = 8;
} // namespace

static Result<Sizes> readSizes(const std::vector<std::string> &texts) {
  Sizes sizes;
  for (const std::string &text : texts) {
    auto [name, number] = llvm::StringRef(text).split('=');
    double value;
    if (name.empty() || number.getAsDouble(value) || !std::isfinite(value))
      return invalidInput("option '--tune-size' has the value '" + text +
                          "', expected a name and a number as in 'seq_kv=4096'");
    if (!sizes.values.try_emplace(name.str(), value).second)
      return invalidInput("option '--tune-size' gives '" + name.str() + "' twice");
  }
  return std::move(sizes);
}

/// A hash of all that trials depend on.
static std::string identityOf(std::string_view text, const TuneRequest &request, std::string_view timeText) {
  const CompileOptions &compile = request.options.compile;
  llvm::SHA256 hash;
  auto add = [&](llvm::StringRef part) { hash.update(part), hash.update(llvm::StringRef("\0", 1)); };
  add(text), add(jit::compilerIdentity()), add(compile.target);
  add(std::to_string(compile.waves.value_or(0)) + "," + std::to_string(compile.kvTile.value_or(0)));
  add(std::to_string(compile.workgroups.value_or(0)));
  add(compile.blockOrder.value_or(""));
  for (const std::string &size : request.sizes)
    add(size);
  if (!timeText.empty())
    add(timeText);
  if (!request.device.empty())
    add(request.device), add(std::to_string(request.repetitions));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

namespace {
/// Appends new trials to the journal and shows how far the search is.
class Reporter {
public:
  static Result<std::unique_ptr<Reporter>> create(const TuneRequest &request,
                                                  const std::string &identity);
  Status operator()(const Trial &trial, size_t number, const Trial &best);
  ~Reporter() {
    if (shows)
      llvm::errs() << "\r\033[K";
  }

private:
  std::unique_ptr<llvm::raw_fd_ostream> journal;
  std::string path;
  unsigned candidates = 0;
  bool shows = false, isMeasured = false;
};
} // namespace

Result<std::unique_ptr<Reporter>> Reporter::create(const TuneRequest &request,
                                                   const std::string &identity) {
  auto reporter = std::make_unique<Reporter>();
  reporter->candidates = request.options.candidates;
  reporter->shows = llvm::sys::Process::StandardErrIsDisplayed();
  reporter->isMeasured = !request.device.empty();
  reporter->path = request.journal;
  if (request.journal.empty())
    return std::move(reporter);
  // Written anew: a line that an interrupted run left half is gone then.
  std::error_code code;
  reporter->journal = std::make_unique<llvm::raw_fd_ostream>(request.journal, code);
  if (code)
    return hostError("cannot write '" + request.journal + "': " + code.message());
  *reporter->journal << journalHead(identity);
  for (const Trial &trial : request.options.known)
    *reporter->journal << journalLine(trial);
  reporter->journal->flush();
  return std::move(reporter);
}

Status Reporter::operator()(const Trial &trial, size_t number, const Trial &best) {
  if (shows)
    llvm::errs() << llvm::formatv("\r\033[Ktried {0} of {1}, best {2:f1} us {3}", number + 1,
                                  candidates, best.microseconds, isMeasured ? "measured" : "predicted");
  if (!journal)
    return Status::success();
  *journal << journalLine(trial);
  journal->flush();
  std::error_code code = journal->error();
  journal->clear_error();
  return code ? Status(hostError("cannot write '" + path + "': " + code.message())) : Status::success();
}

static size_t countOf(const Found &found, Outcome outcome) {
  return llvm::count_if(found.trials, [&](const Trial &trial) { return trial.outcome == outcome; });
}

static std::string summary(const Found &found) {
  std::string text = std::to_string(found.trials.size()) + " schedules tried:";
  for (Outcome outcome : {Outcome::Timed, Outcome::Slower, Outcome::Illegal, Outcome::Spilled, Outcome::Failed})
    text += llvm::formatv("{0} {1} {2}", outcome == Outcome::Timed ? "" : ",",
                          countOf(found, outcome), toString(outcome));
  return text;
}

/// A schedule in a line: "2 x [read_k(0) fetch_v(0) | qk(0) ...]".
static std::string oneLine(const Trial &trial) {
  auto [head, body] = llvm::StringRef(trial.schedule).split('{');
  llvm::SmallVector<llvm::StringRef> clusters;
  body.rtrim("}\n").split(clusters, "tile.cluster", -1, /*KeepEmpty=*/false);
  std::string text = head.split('@').second.split(' ').second.trim().str();
  if (trial.kvTile != 0)
    text += (text.empty() ? "" : " ") + std::to_string(trial.kvTile) + " keys";
  for (llvm::StringRef cluster : clusters)
    if (!cluster.trim().empty()) {
      auto [form, places] = cluster.split('{');
      text += (text.empty() ? "" : " ") + std::string(form.contains("joined") ? "+" : "|") +
              (form.contains("priority(1)") ? "! " : " ") +
              places.split('}').first.trim().str();
    }
  return text;
}

namespace {
/// What the registry takes for the problem that is tuned.
struct Registered {
  const attention::KernelEntry *kernel = nullptr; ///< null: there is none to compare with
  bool isStart = false;
  double microseconds = 0; ///< predicted, of one that is not the start
};
} // namespace

static void printTable(llvm::raw_ostream &out, const Found &found, const Registered &registered, llvm::StringRef how) {
  out << summary(found) << '\n';
  bool hasMeans = found.start.mean != 0 || found.trials[found.ranking.front()].mean != 0;
  auto numbers = [&](const Trial &trial) {
    std::string mean = trial.mean == 0 ? "" : llvm::formatv("{0:f2}", trial.mean).str();
    return llvm::formatv("{0,12:f2} {1}{2,9:f3}  ", trial.microseconds,
                         hasMeans ? llvm::formatv("{0,9} ", mean).str() : "",
                         found.start.microseconds / trial.microseconds)
        .str();
  };
  out << llvm::formatv("{0,12} {1}{2,9}  schedule ({3}; | begins a cluster, + a joined one, ! raises priority)\n",
                       "us", hasMeans ? "  varied " : "", "to start", how);
  for (size_t index : llvm::ArrayRef(found.ranking).take_front(kShown)) {
    const Trial &trial = found.trials[index];
    out << numbers(trial) << oneLine(trial) << '\n';
  }
  out << numbers(found.start) << "the start";
  if (registered.isStart)
    out << ": the registry's " << registered.kernel->name;
  out << '\n';
  if (registered.kernel && !registered.isStart) {
    Trial trial;
    trial.microseconds = registered.microseconds;
    out << numbers(trial) << "the registry's " << registered.kernel->name << '\n';
  }
}

static std::string scheduleFile(const TuneRequest &request, const Found &found) {
  const Trial &best = found.trials[found.ranking.front()];
  std::string text = llvm::formatv("// Found by hocketc --tune for {0}: {1:f2} us {5}, {2:f3} times as "
                                   "fast as the start.\n// {3}; seed {4}",
                                   request.options.compile.target, best.microseconds,
                                   found.start.microseconds / best.microseconds, summary(found),
                                   request.options.seed, request.device.empty() ? "predicted" : "measured");
  text += request.sizes.empty() ? "" : "; " + llvm::join(request.sizes, ", ");
  if (!request.variants.empty())
    text += llvm::formatv("; {0:f2} us by the mean of {1}", best.mean, llvm::join(request.variants, ", "));
  if (best.kvTile != 0)
    text += "; compile it with --kv-tile " + std::to_string(best.kvTile);
  return text + ".\n" + best.schedule;
}

/// The time of the registered kernel, which the search does not begin with. Errors: as those of the search.
static Result<double> timeOf(const attention::KernelEntry &registered, std::string_view text, std::string_view name,
                             const CompileOptions &options, const Cost &cost) {
  CompileOptions compileOptions;
  compileOptions.target = options.target;
  hocketc::followKernel(registered, compileOptions);
  Result<attention::CompiledKernel> kernel = compileKernel(text, name, compileOptions);
  return kernel.ok() ? cost(*kernel) : kernel.error();
}

/// Lets the search begin with what the registry takes, or times that where something else is asked for.
static Result<Registered> compareWithRegistry(TuneRequest &request, std::string_view text, std::string_view name,
                                              const Sizes &sizes, const Cost &cost) {
  Options &options = request.options;
  Result<const attention::KernelEntry *> kernel = hocketc::registryKernelOf(text, options.compile.target, sizes);
  if (!kernel.ok())
    return kernel.error();
  if (!*kernel)
    return Registered();
  const CompileOptions &asked = options.compile;
  const bool isOpen = !asked.schedule && !asked.scheduleText && !asked.waves && !asked.kvTile && !asked.workgroups &&
                      options.waves.empty() && options.kvTiles.empty() && options.workgroups.empty();
  if (isOpen) {
    hocketc::followKernel(**kernel, options.compile);
    return Registered{*kernel, true};
  }
  Result<double> microseconds = timeOf(**kernel, text, name, asked, cost);
  if (!microseconds.ok())
    return microseconds.error();
  return Registered{*kernel, false, *microseconds};
}

static Status write(const std::string &path, const std::string &text) {
  if (path.empty() || path == "-") {
    llvm::outs() << text;
    return Status::success();
  }
  return runtime::writeFile(path, std::as_bytes(std::span(text)));
}

static Status readTimeFile(const TuneRequest &request, Sizes &sizes) {
  if (request.timeFile.empty())
    return Status::success();
  Result<std::string> text = runtime::readText(request.timeFile);
  if (!text.ok())
    return text.error();
  sizes.timeFile = request.timeFile, sizes.timeText = *std::move(text);
  return checkTimeFile(sizes.timeText, sizes.timeFile, request.options.compile.target);
}

/// The device that measures. Errors: options that are of predictions.
static Result<std::shared_ptr<runtime::Device>> openMeasuring(const TuneRequest &request) {
  llvm::StringRef name = request.device;
  if (name != "hip" && !name.starts_with("hip:"))
    return invalidInput("option '--device' has the value '" + request.device +
                        "', expected hip or hip:N; without it the cycle model predicts");
  if (!request.variants.empty() || !request.timeFile.empty())
    return invalidInput("--tune-vary and --time-file are of predictions, and --device " + request.device +
                        " measures; leave one of them out");
  Result<runtime::OpenedDevice> opened = runtime::openDevice(request.device);
  if (!opened.ok())
    return opened.error();
  const std::string &found = opened->device->properties().architecture, &wanted = request.options.compile.target;
  if (found != wanted)
    return unsupported("device '" + opened->device->properties().name + "' is a " + found + ", and kernels are for " + wanted +
                       "; give --target=" + found);
  return opened->device;
}

/// What a kernel costs: measured, one at a time, or predicted.
static Cost costOf(std::shared_ptr<runtime::Device> device, unsigned repetitions, const Sizes &sizes) {
  if (!device)
    return [&sizes](const attention::CompiledKernel &kernel) { return predictMicroseconds(kernel, sizes); };
  auto turn = std::make_shared<std::mutex>();
  return [device = std::move(device), turn, repetitions, &sizes](const attention::CompiledKernel &kernel) {
    std::lock_guard lock(*turn);
    return measureMicroseconds(*device, kernel, sizes, repetitions);
  };
}

Status hocketc::runTune(TuneRequest request, std::string_view text, std::string_view name) {
  Result<Sizes> sizes = readSizes(request.sizes);
  if (!sizes.ok())
    return sizes.error();
  if (Status status = readTimeFile(request, *sizes); !status.ok())
    return status;
  std::shared_ptr<runtime::Device> device;
  if (!request.device.empty()) {
    Result<std::shared_ptr<runtime::Device>> opened = openMeasuring(request);
    if (!opened.ok())
      return opened.error();
    device = *opened;
  }
  const Cost cost = costOf(device, request.repetitions, *sizes);
  Result<Registered> registered = compareWithRegistry(request, text, name, *sizes, cost);
  if (!registered.ok())
    return registered.error();
  std::string identity = identityOf(text, request, sizes->timeText);
  if (!request.journal.empty()) {
    Result<std::vector<Trial>> known = readJournal(request.journal, identity);
    if (!known.ok())
      return known.error();
    request.options.known = *std::move(known);
  }
  Result<std::unique_ptr<Reporter>> reporter = Reporter::create(request, identity);
  if (!reporter.ok())
    return reporter.error();
  request.options.onTrial = [&](const Trial &trial, size_t number, const Trial &best) {
    return (**reporter)(trial, number, best);
  };
  if (!device)
    request.options.preview = [&](const attention::CompiledKernel &kernel) {
      return previewMicroseconds(kernel, *sizes);
    };
  for (const std::string &parameter : request.variants) {
    if (Status status = checkTimeParameter(parameter); !status.ok())
      return invalidInput("option '--tune-vary': " + status.error().message);
    request.options.variants.push_back([&sizes, parameter](const attention::CompiledKernel &kernel) {
      return predictMicroseconds(kernel, *sizes, parameter);
    });
  }
  Result<Found> found = tuneSchedule(text, name, cost, request.options);
  reporter->reset();
  if (!found.ok())
    return found.error();
  bool toStandardOutput = request.output.empty() || request.output == "-";
  printTable(toStandardOutput ? llvm::errs() : llvm::outs(), *found, *registered, device ? "measured" : "predicted");
  return write(request.output, scheduleFile(request, *found));
}
