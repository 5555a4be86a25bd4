// What it costs to have a kernel: compiled, from disk, from memory. Wanted on the project's
// machines (docs/Attention.md): at most 0.6 s cold, 5 ms from disk, 20 us from memory, loading
// included.
#include "hocket/Jit/Jit.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <benchmark/benchmark.h>

using namespace hocket;

static attention::ForwardProblem problem() {
  attention::ForwardProblem result;
  result.heads = 8;
  result.seqQ = result.seqKv = 4096;
  result.visibility = Visibility::causal();
  return result;
}

/// Plans and loads; the process's first compilation is not different from later ones.
static void planAndLoad(benchmark::State &state, attention::Planner &planner,
                        runtime::Device &device) {
  auto plan = planner.plan(problem());
  if (!plan.ok())
    return state.SkipWithError(plan.error().message.c_str());
  if (Status status = (*plan)->load(device); !status.ok())
    state.SkipWithError(status.error().message.c_str());
}

static std::shared_ptr<attention::Planner> plannerWith(const std::string &cacheDirectory) {
  jit::PlannerOptions options;
  options.cache = jit::CacheSettings{cacheDirectory};
  auto planner = jit::makePlanner(options);
  return planner.ok() ? *planner : nullptr;
}

static void coldCompile(benchmark::State &state) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  for (auto _ : state)
    planAndLoad(state, *plannerWith(""), *device);
}
BENCHMARK(coldCompile)->Unit(benchmark::kMillisecond)->UseRealTime();

static void warmFromDisk(benchmark::State &state) {
  llvm::SmallString<128> directory;
  if (llvm::sys::fs::createUniqueDirectory("hocket-benchmark", directory))
    return state.SkipWithError("cannot make a temporary directory");
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  planAndLoad(state, *plannerWith(directory.str().str()), *device);
  for (auto _ : state)
    planAndLoad(state, *plannerWith(directory.str().str()), *device);
  (void)llvm::sys::fs::remove_directories(directory);
}
BENCHMARK(warmFromDisk)->Unit(benchmark::kMillisecond)->UseRealTime();

static void warmInMemory(benchmark::State &state) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  std::shared_ptr<attention::Planner> planner = plannerWith("");
  planAndLoad(state, *planner, *device);
  for (auto _ : state)
    planAndLoad(state, *planner, *device);
}
BENCHMARK(warmInMemory)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// What a launch costs the host before the device sees it: buffers checked, arguments packed.
static void warmRunOverhead(benchmark::State &state) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  auto plan = plannerWith("")->plan(problem());
  if (!plan.ok())
    return state.SkipWithError(plan.error().message.c_str());
  manifest::Addresses pointers = {{"q", 4096}, {"k", 4096}, {"v", 4096}, {"o", 4096}};
  for (auto _ : state) {
    manifest::Variables bound = problemVariables(problem(), &pointers);
    auto binding = bindLaunch((*plan)->launches()[0].compiled->manifest, bound);
    benchmark::DoNotOptimize(binding);
  }
}
BENCHMARK(warmRunOverhead)->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();
