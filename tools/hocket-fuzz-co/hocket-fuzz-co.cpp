// hocket-fuzz-co: loads and launches broken code objects in the simulator.
//
// Whatever a code object holds, loading and running it must end with a result or an error: a crash,
// a sanitizer's report or a hang is a finding. Each mutant follows from its seed alone, which is
// printed when it kills the program; `--seed N --count 1` brings it back, `--write FILE` keeps it.
#include "Mutate.h"

#include "hocket/Runtime/File.h"
#include "Simulator/Simulator.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace hocket;
using namespace hocket::fuzz;
namespace cl = llvm::cl;

static cl::OptionCategory category("hocket-fuzz-co options");
static cl::list<std::string> inputs(cl::Positional, cl::OneOrMore, cl::desc("<code objects>"),
                                    cl::cat(category));
static cl::opt<uint64_t> firstSeed("seed", cl::desc("Seed of the first mutant (0)"),
                                   cl::cat(category));
static cl::opt<uint64_t> count("count", cl::init(1000), cl::desc("Mutants (1000)"),
                               cl::cat(category));
static cl::opt<unsigned> seconds("seconds", cl::desc("Go on for so long instead"),
                                 cl::cat(category));
static cl::opt<std::string> writeTo("write", cl::desc("Write the first mutant there and stop"),
                                    cl::cat(category));

/// What the handlers below print.
static char current[256];

static void sayCurrent() { (void)!write(STDERR_FILENO, current, std::strlen(current)); }

static void dieOf(int signal) {
  sayCurrent();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Present in programs with a sanitizer, which has its own signal handlers.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

static void installHandlers() {
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(sayCurrent);
  else
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
      std::signal(signal, dieOf);
  std::signal(SIGALRM, dieOf); // a hang
}

namespace {
struct Totals {
  uint64_t mutants = 0, refused = 0, launches = 0, failed = 0;
};
} // namespace

/// Launches one kernel on a little memory, with pointers to it as arguments.
static Status launchKernel(sim::Program &program, size_t kernel, uint64_t data, Random &random) {
  const runtime::KernelInfo &info = program.codeObject().kernels()[kernel];
  std::vector<uint64_t> arguments(std::min<size_t>(info.kernargSize / 8 + 1, 64));
  for (uint64_t &argument : arguments)
    argument = random.below(4) ? data : random.next() >> random.below(64);
  runtime::LaunchShape shape;
  shape.grid = {2, 1, 1};
  shape.block = {random.below(2) ? 64u : 256u, 1, 1};
  sim::LaunchOptions options;
  options.seed = random.next();
  options.maxWaveInstructions = 20000;
  options.threads = 1;
  size_t bytes = std::min<size_t>(info.kernargSize, arguments.size() * 8);
  auto report = sim::launch(program, kernel, shape,
                            std::as_bytes(std::span(arguments)).first(bytes), options);
  return report.ok() ? Status::success() : Status(report.error());
}

static void tryMutant(const std::vector<std::byte> &bytes, Random &random, Totals &totals) {
  auto object = sim::CodeObject::load(bytes, "mutant");
  if (!object.ok()) {
    ++totals.refused;
    return;
  }
  size_t kernels = std::min<size_t>((*object)->kernels().size(), 3);
  for (size_t kernel = 0; kernel < kernels; ++kernel) {
    sim::Memory memory;
    auto data = memory.allocate(1 << 16, 256, "data");
    auto program = sim::Program::load(memory, *object);
    if (!data.ok() || !program.ok()) {
      ++totals.refused;
      return;
    }
    ++totals.launches;
    totals.failed += !launchKernel(**program, kernel, *data, random).ok();
  }
}

static int fail(const std::string &message) {
  llvm::errs() << "hocket-fuzz-co: error: " << message << '\n';
  return 2;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Loads and launches broken code objects in the simulator\n");
  std::vector<std::vector<std::byte>> files;
  std::vector<Regions> regions;
  for (const std::string &input : inputs) {
    auto bytes = runtime::readFile(input);
    if (!bytes.ok())
      return fail(bytes.error().message);
    auto object = sim::CodeObject::load(*bytes, input);
    if (!object.ok())
      return fail(object.error().message);
    regions.push_back(findRegions(*bytes));
    files.push_back(std::move(*bytes));
  }
  installHandlers();
  Totals totals;
  auto start = std::chrono::steady_clock::now();
  auto done = [&] {
    auto passed = std::chrono::steady_clock::now() - start;
    return seconds ? passed >= std::chrono::seconds(seconds) : totals.mutants >= count;
  };
  for (uint64_t seed = firstSeed; !done(); ++seed, ++totals.mutants) {
    Random random(seed);
    size_t file = random.below(files.size());
    std::string what;
    std::vector<std::byte> mutant = mutate(files[file], regions[file], random, what);
    if (!writeTo.empty()) {
      Status status = runtime::writeFile(writeTo, mutant);
      return status.ok() ? 0 : fail(status.error().message);
    }
    std::snprintf(current, sizeof(current),
                  "\nhocket-fuzz-co: finding: seed %llu, file %zu, changed: %s\n",
                  static_cast<unsigned long long>(seed), file, what.c_str());
    alarm(60);
    tryMutant(mutant, random, totals);
  }
  alarm(0);
  llvm::outs() << llvm::formatv(
      "{0} mutants: {1} refused when loaded, {2} launches, {3} of them ended with an error\n",
      totals.mutants, totals.refused, totals.launches, totals.failed);
  return 0;
}
