// The instruments behind `Tracer` and `ExecutedCode`: one workgroup runs on one host thread, so its
// observer alone writes the traces; what was executed at all is put together workgroup by
// workgroup.
#include "Simulator/Trace.h"

#include "Workgroup.h"

#include <mutex>

using namespace hocket::sim;

class Tracer::Recorder final : public Instrument {
public:
  Recorder(uint64_t workgroup, std::vector<unsigned> waves, std::string kernel)
      : workgroup(workgroup), waves(std::move(waves)), kernel(std::move(kernel)) {}
  std::unique_ptr<Observer> observe(const LaunchContext &) override;

  const uint64_t workgroup;
  const std::vector<unsigned> waves;
  const std::string kernel; ///< empty: any
  std::vector<WaveTrace> traces;
};

namespace {
class TraceObserver final : public Observer {
public:
  TraceObserver(uint64_t workgroup, const std::vector<unsigned> &waves,
                std::vector<WaveTrace> &traces)
      : workgroup(workgroup), waves(waves), traces(traces) {}

  void begin(Workgroup &group) override {
    std::fill(std::begin(slotOf), std::end(slotOf), -1);
    if (group.linear != workgroup)
      return;
    traces.clear();
    for (unsigned wave : waves) {
      if (wave >= group.waveCount)
        continue;
      slotOf[wave] = static_cast<int>(traces.size());
      traces.push_back({wave, {}});
    }
  }

  void before(Wave &wave, uint32_t index, const Instruction &) override {
    if (int slot = slotOf[wave.index]; slot >= 0)
      traces[slot].addresses.push_back(wave.group->context.text->addressOf(index));
  }

private:
  const uint64_t workgroup;
  const std::vector<unsigned> &waves;
  std::vector<WaveTrace> &traces;
  int slotOf[maxWaves];
};
} // namespace

std::unique_ptr<Observer> Tracer::Recorder::observe(const LaunchContext &context) {
  if (!kernel.empty() && context.kernel->name != kernel)
    return std::make_unique<Observer>();
  return std::make_unique<TraceObserver>(workgroup, waves, traces);
}

Tracer::Tracer(uint64_t workgroup, std::vector<unsigned> waves, std::string kernel)
    : recorder(std::make_unique<Recorder>(workgroup, std::move(waves), std::move(kernel))) {}
Tracer::~Tracer() = default;

Instrument &Tracer::instrument() { return *recorder; }
const std::vector<WaveTrace> &Tracer::traces() const { return recorder->traces; }

class ExecutedCode::Collector final : public Instrument {
public:
  explicit Collector(std::string name) : name(std::move(name)) {}
  std::unique_ptr<Observer> observe(const LaunchContext &context) override;

  const std::string name;
  std::mutex mutex;
  std::set<uint64_t> addresses;
};

namespace {
class CodeObserver final : public Observer {
public:
  CodeObserver(std::mutex &mutex, std::set<uint64_t> &addresses)
      : mutex(mutex), addresses(addresses) {}

  void before(Wave &, uint32_t index, const Instruction &) override {
    if (index >= executed.size())
      executed.resize(index + 1);
    executed[index] = true;
  }

  void end(Workgroup &group) override {
    std::lock_guard lock(mutex);
    for (uint32_t i = 0; i < executed.size(); ++i)
      if (executed[i])
        addresses.insert(group.context.text->addressOf(i));
  }

private:
  std::mutex &mutex;
  std::set<uint64_t> &addresses;
  std::vector<bool> executed; ///< by slot
};
} // namespace

std::unique_ptr<Observer> ExecutedCode::Collector::observe(const LaunchContext &context) {
  if (context.kernel->name != name)
    return std::make_unique<Observer>();
  return std::make_unique<CodeObserver>(mutex, addresses);
}

ExecutedCode::ExecutedCode(std::string name) : collector(std::make_unique<Collector>(std::move(name))) {}
ExecutedCode::~ExecutedCode() = default;

Instrument &ExecutedCode::instrument() { return *collector; }
const std::set<uint64_t> &ExecutedCode::addresses() const { return collector->addresses; }
