// hocket-dev difftest: the same random C on the host and on the simulator must give the same bits.
//
// Many cases are compiled at once, since starting a compiler costs more than running a case. A case
// that differs is reduced: statements that can go without the difference going are taken out.
#define HOCKET_OPTIONS_INC "DifftestOptions.inc"
#include "DevSubcommands.h"
#include "DifftestGenerator.h"
#include "OptionTable.h"
#include "Output.h"

#include "hocket/Runtime/File.h"
#include "Simulator/Simulator.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <dlfcn.h>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

namespace {
/// What a case computes: one result for each work-item, then the atomic cells.
using Results = std::vector<uint64_t>;
constexpr size_t resultCount = difftestItems + difftestCells;

/// Compiles sources and runs their cases.
class Laboratory {
public:
  static Result<Laboratory> create(const std::string &clang);
  Laboratory(Laboratory &&other) : clang(other.clang), directory(std::move(other.directory)) {
    other.directory.clear();
  }
  ~Laboratory() {
    if (!directory.empty())
      llvm::sys::fs::remove_directories(directory);
  }

  /// Compiles all cases and calls `done` with each one's results on the host and in the simulator.
  /// An error: the compiler failed, or a kernel did what kernels may not.
  template <class Done>
  Status run(const std::vector<DifftestCase> &cases, const std::string &level, Done done);

private:
  Laboratory(std::string clang, std::string directory)
      : clang(std::move(clang)), directory(std::move(directory)) {}
  Status compile(llvm::ArrayRef<StringRef> arguments);
  std::string path(const char *name) const { return directory + "/" + name; }

  std::string clang, directory;
};

struct Finding {
  uint64_t seed;
  std::string level, what, source;
};
} // namespace

Result<Laboratory> Laboratory::create(const std::string &clang) {
  std::string program = clang;
  if (program.empty()) {
    auto found = llvm::sys::findProgramByName("clang-22");
    if (!found)
      return hostError("no 'clang-22' on the path; give '--clang FILE'");
    program = *found;
  } else if (!llvm::sys::fs::can_execute(program)) {
    return hostError("cannot execute '" + program + "', which '--clang' names");
  }
  llvm::SmallString<128> directory;
  if (auto code = llvm::sys::fs::createUniqueDirectory("hocket-difftest", directory))
    return hostError("cannot make a directory for compiled cases: " + code.message());
  return Laboratory(program, directory.str().str());
}

Status Laboratory::compile(llvm::ArrayRef<StringRef> arguments) {
  std::string source = path("cases.c"), errors = path("errors"), message;
  std::vector<StringRef> all = {clang, source, "-ffp-contract=off", "-w"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(errors), StringRef(errors)};
  if (llvm::sys::ExecuteAndWait(clang, all, std::nullopt, redirects, 0, 0, &message) == 0)
    return Status::success();
  if (auto text = llvm::MemoryBuffer::getFile(errors))
    message += (*text)->getBuffer().take_front(2000);
  return hostError("'" + clang + "' cannot compile the cases:\n" + message);
}

static uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Random words, small numbers, and floats of middling size and special ones.
static std::vector<uint64_t> inputsFor(uint64_t seed) {
  static const uint64_t special[] = {0,
                                     1,
                                     ~uint64_t(0),
                                     uint64_t(1) << 63,
                                     0x7f8000007f800000,
                                     0x7fc000007fc00000,
                                     0x7ff0000000000000,
                                     0x3ff000003f800000};
  std::vector<uint64_t> words(difftestItems * difftestInputs);
  for (size_t i = 0; i < words.size(); ++i) {
    uint64_t draw = mixed((seed + 1) * 0x9e3779b97f4a7c15 + i);
    uint64_t small = (0x3f00000000000000 + (draw >> 12 & 0x01ffffffffffffff)) ^ (draw << 63);
    words[i] = i % 7 == 3    ? draw >> (draw & 63)
               : i % 11 == 5 ? special[draw & 7]
               : i % 3       ? draw
                             : small;
  }
  return words;
}

static Results hostResults(void *library, const std::string &name,
                           const std::vector<uint64_t> &in) {
  using Function = void (*)(const uint64_t *, uint64_t *, uint64_t *);
  auto function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
  Results results(resultCount, 0);
  if (function)
    function(in.data(), results.data(), results.data() + difftestItems);
  return results;
}

static Result<Results> deviceResults(std::shared_ptr<const sim::CodeObject> object, size_t kernel,
                                     const std::vector<uint64_t> &in, uint64_t seed) {
  sim::Memory memory;
  auto program = sim::Program::load(memory, std::move(object));
  if (!program.ok())
    return program.error();
  auto input = memory.allocate(in.size() * 8, 256, "in");
  auto output = memory.allocate(resultCount * 8, 256, "out");
  if (!input.ok() || !output.ok())
    return input.ok() ? output.error() : input.error();
  Results results(resultCount, 0);
  if (Status status = memory.write(*input, std::as_bytes(std::span(in))); !status.ok())
    return status.error();
  if (Status status = memory.write(*output, std::as_bytes(std::span(results))); !status.ok())
    return status.error();
  uint64_t arguments[3] = {*input, *output, *output + difftestItems * 8};
  runtime::LaunchShape shape;
  shape.grid = {difftestGroups, 1, 1};
  shape.block = {difftestBlock, 1, 1};
  sim::LaunchOptions options;
  options.seed = seed;
  options.maxWaveInstructions = 20'000'000;
  options.threads = 1;
  auto report = sim::launch(**program, kernel, shape, std::as_bytes(std::span(arguments)), options);
  if (!report.ok())
    return report.error();
  if (Status status = memory.read(std::as_writable_bytes(std::span(results)), *output);
      !status.ok())
    return status.error();
  return results;
}

template <class Done>
Status Laboratory::run(const std::vector<DifftestCase> &cases, const std::string &level,
                       Done done) {
  std::error_code code;
  {
    llvm::raw_fd_ostream file(path("cases.c"), code);
    if (!code)
      file << difftestSource(cases);
  }
  if (code)
    return hostError("cannot write '" + path("cases.c") + "': " + code.message());
  std::string library = path("host.so"), object = path("device.co"), optimize = "-O" + level;
  if (Status status = compile(
          {"-O0", "-shared", "-fPIC", "-Xclang", "-ffloat16-excess-precision=none", "-o", library});
      !status.ok())
    return status;
  if (Status status = compile(
          {"-target", "amdgcn-amd-amdhsa", "-mcpu=gfx950", "-nogpulib", optimize, "-o", object});
      !status.ok())
    return status;

  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return hostError("cannot open the compiled cases: " + std::string(dlerror()));
  llvm::scope_exit close([&] { dlclose(handle); });
  auto bytes = runtime::readFile(object);
  if (!bytes.ok())
    return bytes.error();
  auto loaded = sim::CodeObject::load(*bytes, "difftest");
  if (!loaded.ok())
    return loaded.error();
  const auto &kernels = (*loaded)->kernels();
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string name = "k" + std::to_string(i);
    size_t kernel = 0;
    while (kernel < kernels.size() && kernels[kernel].name != name)
      ++kernel;
    if (kernel == kernels.size())
      return internalError("the compiled cases have no kernel '" + name + "'");
    std::vector<uint64_t> in = inputsFor(cases[i].seed);
    done(cases[i], hostResults(handle, name, in),
         deviceResults(*loaded, kernel, in, cases[i].seed % 3 ? cases[i].seed : 0));
  }
  return Status::success();
}

/// What is wrong with the device's results, or "".
static std::string difference(const Results &host, const Result<Results> &device) {
  if (!device.ok())
    return device.error().message;
  for (size_t i = 0; i < host.size(); ++i)
    if (host[i] != (*device)[i])
      return llvm::formatv("{0} {1} is {2:x} on the host and {3:x} in the simulator",
                           i < difftestItems ? "work-item" : "atomic cell",
                           i < difftestItems ? i : i - difftestItems, host[i], (*device)[i]);
  return "";
}

/// Takes statements out of `made` as long as it differs, from the last to the first.
static DifftestCase reduce(Laboratory &laboratory, DifftestCase made, const std::string &level) {
  auto differs = [&](const DifftestCase &candidate) {
    bool wrong = false;
    Status status = laboratory.run(
        {candidate}, level,
        [&](const DifftestCase &, const Results &host, const Result<Results> &device) {
          wrong = !difference(host, device).empty();
        });
    return status.ok() && wrong;
  };
  for (std::vector<std::string> &statements : made.phases)
    for (size_t i = statements.size(); i-- > 0;) {
      std::string kept = statements[i];
      statements.erase(statements.begin() + static_cast<ptrdiff_t>(i));
      if (!differs(made))
        statements.insert(statements.begin() + static_cast<ptrdiff_t>(i), kept);
    }
  return made;
}

static std::string toJson(uint64_t seed, uint64_t clean, const std::vector<Finding> &findings) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("passed", findings.empty());
    out.attribute("seed", seed);
    out.attribute("cases", clean + findings.size());
    out.attribute("clean", clean);
    out.attributeArray("failures", [&] {
      for (const Finding &finding : findings)
        out.object([&] {
          out.attribute("seed", finding.seed);
          out.attribute("optimize", finding.level);
          out.attribute("what", finding.what);
          out.attribute("source", finding.source);
        });
    });
  });
  stream << '\n';
  return text;
}

static Result<std::vector<std::string>> levelsOf(const std::string &option) {
  if (option == "mixed")
    return std::vector<std::string>{"2", "0", "1", "3"};
  if (option.size() == 1 && option[0] >= '0' && option[0] <= '3')
    return std::vector<std::string>{option};
  return invalidInput("option '--optimize' has the value '" + option +
                      "', expected 0 to 3 or 'mixed'; see 'hocket-dev difftest --help'");
}

static Result<int> difftest(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  Result<uint64_t> seed = options.seed(OPT_seed);
  Result<int64_t> count = options.integer(OPT_count, 200, 1, 10'000'000);
  Result<int64_t> batch = options.integer(OPT_batch, 50, 1, 1000);
  Result<std::vector<std::string>> levels = levelsOf(options.string(OPT_optimize, "mixed"));
  for (const Error *error :
       {seed.ok() ? nullptr : &seed.error(), count.ok() ? nullptr : &count.error(),
        batch.ok() ? nullptr : &batch.error(), levels.ok() ? nullptr : &levels.error()})
    if (error)
      return *error;
  if (options.has(OPT_emit) && options.has(OPT_json))
    return invalidInput(
        "--emit writes the programs and runs none, so that --json has nothing to say; "
        "leave one of them out");
  Result<Laboratory> laboratory = Laboratory::create(options.string(OPT_clang));
  if (!laboratory.ok())
    return laboratory.error();

  const std::string json = options.string(OPT_json);
  llvm::raw_ostream &out = reportStream(json);
  uint64_t clean = 0;
  std::vector<Finding> findings;
  for (int64_t first = 0; first < *count; first += *batch) {
    std::vector<DifftestCase> cases;
    for (int64_t i = first; i < std::min(*count, first + *batch); ++i)
      cases.push_back(makeDifftestCase(*seed + static_cast<uint64_t>(i)));
    if (options.has(OPT_emit)) {
      Status status = writeJson(options.string(OPT_emit), difftestSource(cases));
      return status.ok() ? Result<int>(exitRight) : status.error();
    }
    const std::string &level = (*levels)[static_cast<size_t>(first / *batch) % levels->size()];
    std::vector<std::pair<DifftestCase, std::string>> wrong;
    Status status = laboratory->run(
        cases, level,
        [&](const DifftestCase &made, const Results &host, const Result<Results> &device) {
          std::string what = difference(host, device);
          clean += what.empty();
          if (!what.empty())
            wrong.push_back({made, what});
        });
    if (!status.ok())
      return status.error();
    for (auto &[made, what] : wrong) {
      std::string source = difftestSource({reduce(*laboratory, made, level)});
      findings.push_back({made.seed, level, what, source});
      clearProgress();
      out << "seed " << made.seed << " at -O" << level << ": " << what << "\nreduced to:\n"
          << StringRef(source).split("// seed").second << '\n';
    }
    showProgress("difftest", double(first) / double(*count));
  }
  clearProgress();
  out << clean << " of " << *count << " cases agree\n";
  if (Status status = writeJson(json, toJson(*seed, clean, findings)); !status.ok())
    return status.error();
  return findings.empty() ? exitRight : exitWrong;
}

Result<int> run::difftestCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"difftest",
                      "[options]",
                      "Runs random C, compiled for the host and for gfx950, on the host and in the "
                      "simulator, and compares",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, difftest);
}
