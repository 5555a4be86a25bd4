// hocket-dev cache-stress: proves that the cache holds under concurrency and sudden death.
#include "CacheStress.h"

#include "Output.h"

#include "hocket/Jit/Jit.h"
#include "Manifest/Json.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <thread>

using namespace hocket;
using namespace hocket::run;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

namespace {
/// One of the kernels that everyone asks for.
struct StressKernel {
  const attention::KernelEntry *entry;
  attention::KernelVariant variant;
};

/// A worker under way.
struct Worker {
  llvm::sys::ProcessInfo process;
  std::string results;
};

class Stress {
public:
  explicit Stress(const StressOptions &options)
      : options(options), cache({options.directory}), random(options.seed) {}
  Result<StressReport> run();

private:
  Status prepare();
  Status start();
  Status superviseAll();
  void observe();
  void killOne();
  void collect(Worker &worker, const llvm::sys::ProcessInfo &ended, const std::string &error);
  Status readResults(const std::string &path);
  void fail(std::string what) { report.failures.push_back(std::move(what)); }

  const StressOptions &options;
  jit::DiskCache cache;
  std::mt19937_64 random;
  llvm::SmallString<128> scratch; ///< directory of the workers' results
  std::vector<Worker> workers;
  unsigned started = 0;
  std::map<std::string, std::string> wanted; ///< hash of the code object, by variant
  StressReport report;
};
} // namespace

/// The first `count` variants of the registry.
static Result<std::vector<StressKernel>> chooseKernels(unsigned count) {
  const Result<attention::KernelRegistry> &registry = attention::KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  std::vector<StressKernel> kernels;
  for (const attention::KernelEntry &entry : registry->kernels())
    for (const attention::KernelVariant &variant : entry.variants())
      if (kernels.size() < count)
        kernels.push_back({&entry, variant});
  if (kernels.size() < count)
    return invalidInput("option '--kernels' is " + std::to_string(count) + ", the registry has " +
                        std::to_string(kernels.size()) + " variants");
  return kernels;
}

static std::string hashOf(const attention::CompiledKernel &kernel) {
  return jit::contentHash(kernel.codeObject + manifest::writeManifest(kernel.manifest));
}

Status Stress::prepare() {
  if (Status writable = cache.checkWritable(); !writable.ok())
    return writable;
  Result<unsigned> cleared = cache.clear();
  if (!cleared.ok())
    return cleared.error();
  Result<std::vector<StressKernel>> kernels = chooseKernels(options.kernels);
  if (!kernels.ok())
    return kernels.error();
  jit::Jit alone{jit::CacheSettings{}};
  for (const StressKernel &kernel : *kernels) {
    auto compiled = alone.get(*kernel.entry, kernel.variant, "gfx950");
    if (!compiled.ok())
      return compiled.error();
    wanted[kernel.entry->variantName(kernel.variant)] = hashOf(**compiled);
  }
  if (std::error_code code = fs::createUniqueDirectory("hocket-stress", scratch))
    return hostError("cannot make a temporary directory: " + code.message());
  return Status::success();
}

Status Stress::start() {
  std::string number = std::to_string(started++);
  std::string results = (scratch + "/" + number + ".json").str();
  std::string program = fs::getMainExecutable(nullptr, nullptr);
  std::string threads = std::to_string(options.threads), kernels = std::to_string(options.kernels);
  std::string seed = std::to_string(options.seed + started);
  llvm::StringRef arguments[] = {program,     "cache-stress",    "--worker-results", results,
                                 "--dir",     options.directory, "--threads",        threads,
                                 "--kernels", kernels,           "--seed",           seed};
  std::string error;
  bool failed = false;
  llvm::sys::ProcessInfo process =
      llvm::sys::ExecuteNoWait(program, arguments, std::nullopt, {}, 0, &error, &failed);
  if (failed || process.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return hostError("cannot start a worker: " + error);
  workers.push_back({process, results});
  return Status::success();
}

/// Whatever is visible under an entry's name must be whole.
void Stress::observe() {
  Result<std::vector<jit::CacheListing>> entries = cache.list();
  if (!entries.ok())
    return fail(entries.error().message);
  for (const jit::CacheListing &entry : *entries) {
    ++report.observations;
    if (!entry.damage.empty())
      fail("entry " + entry.hash + " is visible and damaged: " + entry.damage);
  }
}

void Stress::killOne() {
  const Worker &victim = workers[random() % workers.size()];
  ::kill(victim.process.Pid, SIGKILL);
}

Status Stress::readResults(const std::string &path) {
  Result<std::string> text = runtime::readText(path);
  if (!text.ok())
    return text.error();
  llvm::Expected<json::Value> value = manifest::parseJson(*text);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  const json::Array *results = object ? object->getArray("results") : nullptr;
  if (!results)
    return invalidInput("a worker wrote results that cannot be read");
  for (const json::Value &entry : *results) {
    const json::Object &result = *entry.getAsObject();
    std::string name = result.getString("kernel").value_or("").str();
    ++report.requests;
    if (result.getString("hash").value_or("").str() != wanted[name])
      fail("a worker got other bytes for kernel '" + name + "'");
  }
  uint64_t compiled = static_cast<uint64_t>(object->getInteger("compiled").value_or(0));
  report.memory += static_cast<uint64_t>(object->getInteger("memory").value_or(0));
  report.disk += static_cast<uint64_t>(object->getInteger("disk").value_or(0));
  report.compiled += compiled;
  uint64_t disk = static_cast<uint64_t>(object->getInteger("disk").value_or(0));
  if (compiled + disk != options.kernels)
    fail("a worker compiled " + std::to_string(compiled) + " kernels and loaded " +
         std::to_string(disk) + ", each of " + std::to_string(options.kernels) +
         " must be made or loaded once");
  if (results->size() != size_t(options.threads) * options.kernels)
    fail("a worker answered " + std::to_string(results->size()) + " of " +
         std::to_string(options.threads * options.kernels) + " requests");
  return Status::success();
}

void Stress::collect(Worker &worker, const llvm::sys::ProcessInfo &ended,
                     const std::string &error) {
  // A signal is reported as a negative status.
  if (ended.ReturnCode < 0) {
    ++report.killed;
    return;
  }
  if (ended.ReturnCode != 0)
    return fail("a worker ended with exit status " + std::to_string(ended.ReturnCode) + " " +
                error);
  ++report.finished;
  if (Status status = readResults(worker.results); !status.ok())
    fail(status.error().message);
}

Status Stress::superviseAll() {
  unsigned toKill = options.kills;
  while (started < options.processes)
    if (Status status = start(); !status.ok())
      return status;
  while (!workers.empty()) {
    observe();
    if (toKill != 0 && random() % 2 == 0) {
      killOne();
      --toKill;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    for (size_t i = 0; i < workers.size();) {
      std::string error;
      llvm::sys::ProcessInfo ended = llvm::sys::Wait(workers[i].process, /*SecondsToWait=*/0,
                                                     &error, nullptr, /*Polling=*/true);
      if (ended.Pid == 0) {
        ++i;
        continue;
      }
      Worker worker = workers[i];
      workers.erase(workers.begin() + static_cast<ptrdiff_t>(i));
      unsigned killedBefore = report.killed;
      collect(worker, ended, error);
      if (report.killed != killedBefore)
        if (Status status = start(); !status.ok())
          return status;
    }
  }
  observe();
  return Status::success();
}

Result<StressReport> Stress::run() {
  if (Status status = prepare(); !status.ok())
    return status.error();
  auto begin = std::chrono::steady_clock::now();
  Status status = superviseAll();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  (void)fs::remove_directories(scratch);
  if (!status.ok())
    return status.error();
  Result<std::vector<jit::CacheListing>> entries = cache.list();
  if (!entries.ok())
    return entries.error();
  report.entries = static_cast<unsigned>(entries->size());
  if (report.entries != options.kernels)
    fail("the cache has " + std::to_string(report.entries) + " entries afterwards, expected " +
         std::to_string(options.kernels));
  return std::move(report);
}

Result<StressReport> run::stressCache(const StressOptions &options) {
  return Stress(options).run();
}

std::string StressReport::toJson() const {
  json::Array texts;
  for (const std::string &failure : failures)
    texts.push_back(failure);
  json::Object object{{"passed", failures.empty()},
                      {"finished", finished},
                      {"killed", killed},
                      {"requests", requests},
                      {"memory", memory},
                      {"disk", disk},
                      {"compiled", compiled},
                      {"observations", observations},
                      {"entries", entries},
                      {"seconds", seconds},
                      {"failures", std::move(texts)}};
  return llvm::formatv("{0:2}", json::Value(std::move(object))).str() + "\n";
}

Status run::runStressWorker(const StressOptions &options, const std::string &resultsPath) {
  Result<std::vector<StressKernel>> kernels = chooseKernels(options.kernels);
  if (!kernels.ok())
    return kernels.error();
  jit::Jit compiler(jit::CacheSettings{options.directory});
  std::vector<json::Array> results(options.threads);
  std::vector<std::string> errors(options.threads);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < options.threads; ++thread)
    threads.emplace_back([&, thread] {
      std::vector<StressKernel> order = *kernels;
      std::mt19937_64 random(options.seed * 1000 + thread);
      std::shuffle(order.begin(), order.end(), random);
      for (const StressKernel &kernel : order) {
        auto compiled = compiler.get(*kernel.entry, kernel.variant, "gfx950");
        if (!compiled.ok()) {
          errors[thread] = compiled.error().message;
          return;
        }
        results[thread].push_back(json::Object{
            {"kernel", kernel.entry->variantName(kernel.variant)}, {"hash", hashOf(**compiled)}});
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  json::Array all;
  for (unsigned thread = 0; thread < options.threads; ++thread) {
    if (!errors[thread].empty())
      return internalError(errors[thread]);
    for (json::Value &value : results[thread])
      all.push_back(std::move(value));
  }
  jit::CacheCounts counts = compiler.cache().counts();
  json::Object object{{"memory", counts.memory},
                      {"disk", counts.disk},
                      {"compiled", counts.compiled},
                      {"results", std::move(all)}};
  std::string text = llvm::formatv("{0}", json::Value(std::move(object))).str();
  return runtime::writeFile(resultsPath, std::as_bytes(std::span(text)));
}
