// How fast the simulator is: wave-instructions a second in functional, checked and timed mode, for
// the attention kernels for D=128, bf16, that the project is about: `dual_wave` for gfx950, and
// `register_pipeline`, what gfx942 gets. Functional and checked runs are measured on one host
// thread and on all.
//
// `Time` is what the launch reports, without compilation, data and kernel loading. The counters are
// rates over that time, which docs/Simulator.md quotes, and over the processor time of all threads,
// which says what a core does when others keep the machine busy.
#include "Verify/Attention/RunForward.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "Simulator/Timing.h"

#include <benchmark/benchmark.h>
#include <ctime>

using namespace hocket;

namespace {
enum class Mode { Functional, Checked, Timed };

/// One kernel: the schedule is also its name.
struct Subject {
  const char *chip, *schedule;
};

/// What one measurement took.
struct Measure {
  double seconds = 0;
  uint64_t instructions = 0;
};
} // namespace

static Result<Measure> runOnce(runtime::Device &device, runtime::Kernel &kernel,
                               const manifest::Binding &binding, Mode mode, uint32_t threads) {
  if (mode == Mode::Timed) {
    Result<sim::TimedRun> run =
        sim::timeWorkgroups(device, kernel, binding.shape, binding.kernarg, {});
    if (!run.ok())
      return run.error();
    return Measure{run->hostSeconds, run->instructions};
  }
  runtime::SimulationOptions options;
  options.threads = threads;
  options.check = mode == Mode::Checked;
  device.setSimulationOptions(options);
  Result<runtime::LaunchReport> report = device.launch(kernel, binding.shape, binding.kernarg);
  if (!report.ok())
    return report.error();
  return Measure{report->seconds, report->waveInstructions};
}

/// The benchmark's loop over launches of a kernel that stands ready with its arguments.
static Status measure(benchmark::State &state, runtime::Device &device, runtime::Kernel &kernel,
                      const manifest::Binding &binding, Mode mode) {
  uint64_t instructions = 0;
  double processorSeconds = 0;
  for (auto _ : state) {
    std::clock_t begin = std::clock();
    Result<Measure> one =
        runOnce(device, kernel, binding, mode, static_cast<uint32_t>(state.range(0)));
    if (!one.ok())
      return one.error();
    state.SetIterationTime(one->seconds);
    instructions += one->instructions;
    processorSeconds += double(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  auto executed = static_cast<double>(instructions);
  state.counters["instructions/s"] = benchmark::Counter(executed, benchmark::Counter::kIsRate);
  state.counters["instructions/core-s"] = executed / processorSeconds;
  return Status::success();
}

static Status runProblem(benchmark::State &state, const Subject &subject, Mode mode) {
  attention::ForwardProblem problem;
  problem.heads = problem.kvHeads = 8;
  problem.seqQ = 1024;
  problem.seqKv = 2048;
  CompileOptions compile;
  compile.target = subject.chip;
  compile.schedule = subject.schedule;
  Result<ForwardKernel> kernel = compileForward(problem, compile);
  if (!kernel.ok())
    return kernel.error();
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, subject.chip);
  attention::ForwardOptions options;
  options.verify = false;
  options.alignment = 256;
  options.inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) {
    return measure(state, *device, launched, binding, mode);
  };
  Result<attention::ForwardReport> report = attention::runForward(
      *device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest, problem, options);
  return report.ok() ? Status::success() : Status(report.error());
}

static void simulate(benchmark::State &state, Subject subject, Mode mode) {
  if (Status status = runProblem(state, subject, mode); !status.ok())
    state.SkipWithError(status.error().message.c_str());
}

static benchmark::internal::Benchmark *add(const Subject &subject, const char *mode, Mode which) {
  std::string name = std::string(subject.schedule) + "/" + mode;
  return benchmark::RegisterBenchmark(name.c_str(), simulate, subject, which)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->ArgName("threads");
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  constexpr int one = 1, all = 0;
  for (Subject subject : {Subject{"gfx950", "dual_wave"}, Subject{"gfx942", "register_pipeline"}}) {
    add(subject, "functional", Mode::Functional)->Arg(one)->Arg(all);
    add(subject, "checked", Mode::Checked)->Arg(one)->Arg(all);
    add(subject, "timed", Mode::Timed)->Arg(one);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
