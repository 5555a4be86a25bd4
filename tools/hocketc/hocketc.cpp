// hocketc: a kernel or an attention description in, a code object out - or any stage in between.
//
// The driver does four things: read options, read the input, call `hocket::compile`, write what was
// asked for. Exit status 0, or 2 with one message that says what is wrong, at which stage, and how
// to see more.
#include "BuildAll.h"
#include "Tune.h"

#include "hocket/Pipelines/Compiler.h"
#include "Pipelines/Schedules.h"
#include "Tile/IR/WorkItems.h"
#include "hocket/Runtime/File.h"
#include "hocket/Support/Version.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <map>

namespace cl = llvm::cl;
using namespace hocket;

static cl::OptionCategory category("hocketc options");
static cl::opt<std::string> inputPath(cl::Positional,
                                      cl::desc("<input file, - for standard input>"), cl::init("-"),
                                      cl::cat(category));
static cl::opt<std::string>
    outputPath("o", cl::value_desc("file"), cl::cat(category),
               cl::desc("Output file, - for standard output (default: the input's name with "
                        ".hsaco; text stages go to standard output)"));
static cl::opt<std::string>
    toStage("to", cl::value_desc("stage"), cl::init("hsaco"), cl::cat(category),
            cl::desc("Stop at a stage: attn, tile, clusters, rocdl, llvm, asm, hsaco (default)"));
static cl::opt<std::string>
    fromStage("from", cl::value_desc("stage"), cl::init("attn"), cl::cat(category),
              cl::desc("The stage that the input is in (default: attn, which also takes tile)"));
static cl::opt<std::string>
    dumpDirectory("dump-stages", cl::value_desc("directory"), cl::cat(category),
                  cl::desc("Write every stage that is passed to a file there"));
static cl::opt<std::string>
    report("report", cl::value_desc("json"), cl::ValueOptional, cl::cat(category),
           cl::desc("Print registers, LDS, occupancy and instruction counts; =json for JSON"));
static cl::opt<std::string>
    manifestPath("manifest", cl::value_desc("file"), cl::cat(category),
                 cl::desc("Write the launch manifest (JSON, docs/Manifest.md)"));
static cl::opt<std::string> target("target", cl::value_desc("processor"), cl::init("gfx950"),
                                   cl::cat(category),
                                   cl::desc("Target processor (default: gfx950)"));
static cl::opt<std::string>
    schedule("schedule", cl::value_desc("name|file"), cl::cat(category),
             cl::desc("Schedule to follow: a shipped one, or a file with a tile.schedule"));
static cl::opt<int64_t> waves("waves", cl::value_desc("N"), cl::cat(category),
                              cl::desc("Waves of a workgroup (default: what the schedule wants, "
                                       "else 8)"));
static cl::opt<int64_t>
    kvTile("kv-tile", cl::value_desc("N"), cl::cat(category),
           cl::desc("Keys of a tile (default: by heads and waves, docs/HeadSizes.md)"));
static cl::opt<int64_t>
    workgroups("workgroups", cl::value_desc("N"), cl::cat(category),
               cl::desc("Workgroups that are to share a compute unit: the kernel is made to fit, or refused "
                        "(default: as the schedule wants)"));
static cl::opt<std::string>
    blockOrder("block-order", cl::value_desc("order"), cl::cat(category),
               cl::desc("Which workgroups start first: heavy_first (default), paired or linear"));
static cl::opt<int64_t>
    persistent("persistent", cl::value_desc("N"), cl::cat(category),
               cl::desc("Workgroups for each compute unit, which compute one block of the result after the other "
                        "(docs/PersistentKernels.md; default: as the kernel says)"));
static cl::opt<bool>
    joinItems("join-items", cl::cat(category),
              cl::desc("Of a persistent kernel: the end of one block and the beginning of the next share a pipeline"));
static cl::opt<std::string> drawPath(
    "draw-schedule", cl::value_desc("file"), cl::cat(category),
    cl::desc("Write a picture (SVG) of the pipeline: the clusters of both wave groups over "
             "time, waits, barriers, ring slots"));
static cl::opt<bool> debugInfo("g", cl::cat(category),
                               cl::desc("Line tables back to the input; the code stays the same"));
static cl::opt<bool>
    allowSpills("allow-spills", cl::cat(category),
                cl::desc("Accept a kernel that spills registers or uses scratch memory"));
static cl::opt<bool>
    scalarsInLanes("scalars-in-lanes", cl::cat(category),
                   cl::desc("Scalar registers that are wanting may be lanes of vector registers"));
static cl::opt<bool> timing("timing", cl::cat(category),
                            cl::desc("Print the seconds that each stage took"));

static cl::opt<bool> all("all", cl::cat(category),
                         cl::desc("Compile registered kernels instead of an input, into the "
                                  "directory of -o, with manifests and an index"));
static cl::opt<std::string> profile("profile", cl::value_desc("name"), cl::cat(category),
                                    cl::desc("With --all: only this profile's kernels (hocket-run "
                                             "registry lists them; default: every kernel)"));
static cl::opt<std::string> arch("arch", cl::value_desc("processor"), cl::init("gfx950"),
                                 cl::cat(category),
                                 cl::desc("With --all: the processor (default: gfx950)"));

static cl::opt<bool> tuneFlag("tune", cl::cat(category),
                              cl::desc("Search the schedule that the cycle model predicts to be "
                                       "fastest, and write it (-o, default: standard output)"));
static cl::list<std::string>
    tuneSizes("tune-size", cl::value_desc("name=number"), cl::CommaSeparated, cl::cat(category),
              cl::desc("With --tune: an extent or number of the problem, as the manifest calls it "
                       "(seq_q=4096)"));
static cl::opt<unsigned> tuneCandidates("tune-candidates", cl::value_desc("N"), cl::init(400),
                                        cl::cat(category),
                                        cl::desc("With --tune: schedules to try (default: 400)"));
static cl::opt<double> tuneSeconds("tune-seconds", cl::value_desc("S"), cl::init(0),
                                   cl::cat(category),
                                   cl::desc("With --tune: try no more after so many seconds"));
static cl::opt<uint64_t> tuneSeed("tune-seed", cl::value_desc("N"), cl::init(0), cl::cat(category),
                                  cl::desc("With --tune: of the choices (default: 0)"));
static cl::list<int64_t> tuneWaves("tune-waves", cl::value_desc("N"), cl::CommaSeparated,
                                   cl::cat(category),
                                   cl::desc("With --tune: waves of a workgroup to choose from"));
static cl::list<int64_t> tuneKvTiles("tune-kv-tiles", cl::value_desc("N"), cl::CommaSeparated,
                                     cl::cat(category),
                                     cl::desc("With --tune: keys of a tile to choose from"));
static cl::list<int64_t> tuneWorkgroups("tune-workgroups", cl::value_desc("N"), cl::CommaSeparated,
                                        cl::cat(category),
                                        cl::desc("With --tune: workgroups on a compute unit to choose from; 1 leaves "
                                                 "it open"));
static cl::opt<unsigned> tuneThreads("tune-threads", cl::value_desc("N"), cl::init(0),
                                     cl::cat(category),
                                     cl::desc("With --tune: host threads (default: all cores)"));
static cl::list<std::string>
    tuneVary("tune-vary", cl::value_desc("key=value"), cl::CommaSeparated, cl::cat(category),
             cl::desc("With --tune: parameters of the cycle model (hocket-run time-parameters); the best are timed again "
                      "with each, and the best by the mean is written"));
static cl::opt<std::string>
    timeFile("time-file", cl::value_desc("file"), cl::cat(category),
             cl::desc("With --tune: parameters of the cycle model, as 'hocket-run first-day' measures them"));
static cl::opt<std::string>
    tuneDevice("device", cl::value_desc("hip|hip:N"), cl::cat(category),
               cl::desc("With --tune: measure on this device of HIP (default: the cycle model predicts)"));
static cl::opt<unsigned> tuneRepetitions("tune-repetitions", cl::value_desc("N"), cl::init(10), cl::cat(category),
                                         cl::desc("With --device: launches of each schedule, whose median counts, after "
                                                  "three that do not (default: 10)"));
static cl::opt<std::string>
    tuneJournal("tune-journal", cl::value_desc("file"), cl::cat(category),
                cl::desc("With --tune: keep what was tried there, and go on where it ends"));

/// The options as given. Linking resets LLVM's command-line options (lld does), so they are copied
/// before anything is compiled.
struct Request {
  std::string input, output, dumpDirectory, manifest, report, drawing;
  bool wantsDump = false, wantsManifest = false, wantsReport = false, wantsTiming = false;
  Stage from = Stage::Attn, to = Stage::HSACO;
  CompileOptions options;
};

static Result<Request> readOptions() {
  Result<Stage> from = parseStage(fromStage), to = parseStage(toStage);
  if (!from || !to)
    return from ? to.error() : from.error();
  if (report.getNumOccurrences() && !report.empty() && report != "json")
    return invalidInput("--report=" + report + " is unknown, use --report or --report=json");
  if (report.getNumOccurrences() && *to != Stage::HSACO)
    return invalidInput("--report needs a run that ends in stage 'hsaco': resources are read from "
                        "the linked code object");
  if (drawPath.getNumOccurrences() && (*from > Stage::Clusters || *to < Stage::Clusters))
    return invalidInput("--draw-schedule needs a run that passes stage 'clusters': it shows what "
                        "stands there");
  if (persistent.getNumOccurrences() && persistent == 0)
    return invalidInput("option '--persistent' is 0, expected 1 to " + std::to_string(tile::kMaxPersistentWorkgroups) +
                        " workgroups for each compute unit; leave it out for a kernel as its text says");
  Request request;
  request.input = inputPath, request.output = outputPath, request.dumpDirectory = dumpDirectory;
  request.manifest = manifestPath, request.report = report;
  request.drawing = drawPath;
  request.wantsDump = dumpDirectory.getNumOccurrences();
  request.wantsManifest = manifestPath.getNumOccurrences();
  request.wantsReport = report.getNumOccurrences();
  request.wantsTiming = timing;
  request.from = *from, request.to = *to;
  request.options.target = target;
  request.options.from = *from;
  request.options.to = *to;
  if (schedule.getNumOccurrences())
    request.options.schedule = schedule;
  if (waves.getNumOccurrences())
    request.options.waves = waves;
  if (kvTile.getNumOccurrences())
    request.options.kvTile = kvTile;
  if (workgroups.getNumOccurrences())
    request.options.workgroups = workgroups;
  request.options.joinItems = joinItems;
  request.options.persistent = persistent;
  if (blockOrder.getNumOccurrences())
    request.options.blockOrder = blockOrder;
  request.options.drawSchedule = drawPath.getNumOccurrences();
  request.options.debugInfo = debugInfo;
  request.options.allowSpills = allowSpills;
  request.options.scalarsInLanes = scalarsInLanes;
  return request;
}

static Status writeFile(const std::string &path, llvm::StringRef contents) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (code)
    return hostError("cannot write '" + path + "': " + code.message());
  file.os() << contents;
  file.os().flush();
  if (file.os().has_error()) {
    code = file.os().error();
    file.os().clear_error();
    return hostError("cannot write '" + path + "': " + code.message());
  }
  file.keep();
  return Status::success();
}

static Status dumpStage(const std::string &directory, Stage stage, std::string_view text) {
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return hostError("cannot create '" + directory + "': " + code.message());
  llvm::SmallString<128> path(directory);
  std::string name =
      llvm::formatv("{0}-{1}.{2}", static_cast<int>(stage), toString(stage), extension(stage));
  llvm::sys::path::append(path, name);
  return writeFile(path.str().str(), text);
}

static std::string defaultOutput(const Request &request) {
  if (request.to != Stage::HSACO || request.input == "-")
    return "-";
  llvm::SmallString<128> path(llvm::sys::path::filename(request.input));
  llvm::sys::path::replace_extension(path, "hsaco");
  return path.str().str();
}

static std::string outputOf(const Request &request) {
  return request.output.empty() ? defaultOutput(request) : request.output;
}

/// What is written must not take the place of something else that is.
static Status checkOutputs(const Request &request) {
  const std::pair<const char *, std::string> written[] = {
      {"-o", outputOf(request)}, {"--manifest", request.manifest}, {"--draw-schedule", request.drawing}};
  std::map<std::string, const char *> options;
  for (const auto &[option, path] : written) {
    if (path.empty())
      continue;
    auto [found, isNew] = options.emplace(path, option);
    if (!isNew)
      return invalidInput(std::string("'") + found->second + "' and '" + option + "' would both write '" + path +
                          "'; name two files");
  }
  return Status::success();
}

static Status writeResults(const Request &request, const Compilation &compilation) {
  if (request.wantsManifest && compilation.manifest.empty())
    return invalidInput("no manifest for '" + request.input + "': " +
                        (compilation.noManifest.empty()
                             ? "it is read off the tile stage, which this run does not pass"
                             : compilation.noManifest));
  std::string path = outputOf(request);
  if (Status status = writeFile(path, compilation.output); !status)
    return status;
  if (request.wantsManifest)
    if (Status status = writeFile(request.manifest, compilation.manifest); !status)
      return status;
  if (request.options.drawSchedule)
    if (Status status = writeFile(request.drawing, compilation.drawing); !status)
      return status;
  if (request.wantsReport)
    (path == "-" ? llvm::errs() : llvm::outs())
        << (request.report == "json" ? compilation.reportJson : compilation.report);
  if (request.wantsTiming)
    for (const auto &[stage, seconds] : compilation.seconds)
      llvm::errs() << llvm::formatv("{0,-8} {1:f3} s\n", stage, seconds);
  return Status::success();
}

/// `failure`: of the compilation.
static Status run(Request request, CompileFailure &failure) {
  if (Status status = checkOutputs(request); !status)
    return status;
  // A code object is longer than a text may be.
  size_t limit = request.from == Stage::HSACO ? runtime::largestFile : runtime::largestText;
  Result<std::string> input = runtime::readText(request.input, limit);
  if (!input)
    return input.error();
  if (request.wantsDump)
    request.options.onStage = [&](Stage stage, std::string_view text) {
      return dumpStage(request.dumpDirectory, stage, text);
    };
  std::string name = request.input == "-" ? "<stdin>" : request.input;
  Result<Compilation> compilation = compile(*input, name, request.options, &failure);
  return compilation ? writeResults(request, *compilation) : Status(compilation.error());
}

/// `showMore`: there are stages that the user has not seen.
static int fail(const Error &error, bool showMore = false) {
  llvm::errs() << "hocketc: error: " << error.message << "\n";
  if (showMore)
    llvm::errs() << "note: --dump-stages=DIR writes every stage up to the one that failed\n";
  return 2;
}

/// --tune takes a kernel and gives a schedule.
static Status runTune(const Request &request) {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &toStage, &dumpDirectory, &report, &manifestPath, &drawPath, &debugInfo, &allowSpills, &timing})
    if (option->getNumOccurrences())
      return invalidInput("--tune writes a schedule, not a kernel; '--" + option->ArgStr.str() +
                          "' has no effect on it, give it when you compile with what was found");
  if (request.from > Stage::Tile)
    return invalidInput("--tune places the steps of a kernel of stage 'attn' or 'tile'; stage '" +
                        std::string(toString(request.from)) + "' has none left");
  if (!(tuneSeconds >= 0))
    return invalidInput("option '--tune-seconds' is not a number from 0; 0 is no limit");
  hocketc::TuneRequest wanted{request.input, request.output, tuneJournal, tuneSizes, timeFile, tuneVary,
                              tuneDevice, tuneRepetitions, {}};
  if (tuneRepetitions == 0 || (tuneRepetitions.getNumOccurrences() && tuneDevice.empty()))
    return invalidInput("option '--tune-repetitions' counts launches that '--device' measures, from 1; give both, or leave it out");
  wanted.options.compile = request.options;
  wanted.options.seed = tuneSeed;
  wanted.options.candidates = tuneCandidates;
  wanted.options.seconds = tuneSeconds;
  wanted.options.threads = tuneThreads;
  wanted.options.waves = tuneWaves;
  wanted.options.kvTiles = tuneKvTiles;
  wanted.options.workgroups = tuneWorkgroups;
  Result<std::string> input = runtime::readText(request.input, runtime::largestText);
  if (!input)
    return input.error();
  return hocketc::runTune(std::move(wanted), *input, request.input == "-" ? "<stdin>" : request.input);
}

/// --all takes the place of everything else.
static Status runAll() {
  if (outputPath.empty() || outputPath == "-")
    return invalidInput("--all writes a directory; name it with -o");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &inputPath, &toStage, &fromStage, &dumpDirectory, &report, &manifestPath, &target,
           &schedule, &waves, &kvTile, &workgroups, &blockOrder, &persistent, &joinItems, &drawPath, &debugInfo,
           &allowSpills, &scalarsInLanes})
    if (option->getNumOccurrences())
      return invalidInput("--all compiles what the registry says; '" +
                          (option->ArgStr.empty() ? inputPath : "-" + option->ArgStr.str()) +
                          "' has no effect on it, leave it out");
  // Copies: linking resets LLVM's command-line options.
  std::string name = profile, processor = arch, directory = outputPath;
  bool verbose = timing;
  return hocketc::buildAll(name, processor, directory, verbose);
}

static int runDriver(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << versionLine("hocketc", LLVM_VERSION_STRING); });
  std::string overview =
      "Hocket's compiler: attention and tile kernels to AMD code objects\n\n  Shipped schedules:";
  for (const ShippedSchedule &shipped : shippedSchedules())
    overview += " " + std::string(shipped.name);
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (!cl::ParseCommandLineOptions(argc, argv, overview + "\n", &stream)) {
    llvm::StringRef text(complaint);
    text.consume_front("hocketc: ");
    if (text.empty()) // a bad value, of which LLVM has told standard error
      return 2;
    return fail(invalidInput(text.trim().str()));
  }
  if (all) {
    Status status = runAll();
    return status ? 0 : fail(status.error());
  }
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{&profile, &arch})
    if (option->getNumOccurrences())
      return fail(invalidInput("--" + option->ArgStr.str() + " needs --all"));
  Result<Request> request = readOptions();
  if (!request)
    return fail(request.error());
  if (tuneFlag) {
    Status status = runTune(*request);
    return status ? 0 : fail(status.error());
  }
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           std::addressof(tuneSizes), &tuneCandidates, &tuneSeconds, &tuneSeed,
           std::addressof(tuneWaves), std::addressof(tuneKvTiles),
           std::addressof(tuneWorkgroups), std::addressof(tuneVary), &tuneThreads,
           &tuneJournal, &timeFile, &tuneDevice, &tuneRepetitions}) // a list's own & is of its values
    if (option->getNumOccurrences())
      return fail(invalidInput("--" + option->ArgStr.str() + " needs --tune"));
  CompileFailure failure;
  Status status = run(*request, failure);
  return status ? 0 : fail(status.error(), failure.stage && !request->wantsDump);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  int exitStatus = runDriver(argc, argv);
  llvm::outs().flush();
  std::error_code code = llvm::outs().error();
  if (!code)
    return exitStatus;
  // Cleared, or the stream's destructor would end the process with a status of its own.
  llvm::outs().clear_error();
  return fail(hostError("cannot write standard output: " + code.message()));
}
