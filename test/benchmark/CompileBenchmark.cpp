// How long a compilation takes, source text to code object, for each shipped schedule: all of it as
// `Time`, and the share of each stage as counters, in seconds.
#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Pipelines/Compiler.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "Pipelines/Schedules.h"

#include <benchmark/benchmark.h>
#include <map>

using namespace hocket;

static void compileWith(benchmark::State &state, const std::string &schedule, bool causal) {
  attention::ForwardProblem problem;
  problem.visibility = causal ? Visibility::causal() : Visibility();
  std::string text = describeForward(problem);
  CompileOptions options;
  options.schedule = schedule;
  std::map<std::string, double> total;
  for (auto _ : state) {
    Result<Compilation> compilation = compile(text, "<benchmark>", options);
    if (!compilation.ok()) {
      state.SkipWithError(compilation.error().message.c_str());
      return;
    }
    for (const auto &[stage, seconds] : compilation->seconds)
      state.counters[stage] += benchmark::Counter(seconds, benchmark::Counter::kAvgIterations);
  }
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  for (const ShippedSchedule &schedule : shippedSchedules())
    for (bool causal : {false, true}) {
      if (schedule.algorithm != "fmha_fwd")
        continue;
      std::string name = std::string(schedule.name) + (causal ? "/causal" : "/none");
      benchmark::RegisterBenchmark(name.c_str(), compileWith, std::string(schedule.name), causal)
          ->Unit(benchmark::kMillisecond);
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
