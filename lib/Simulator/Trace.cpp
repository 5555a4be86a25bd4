// The instrument behind `Tracer`: one workgroup runs on one host thread, so its observer alone
// writes the traces.
#include "hocket/Simulator/Trace.h"

#include "Workgroup.h"

using namespace hocket::sim;

class Tracer::Recorder final : public Instrument {
public:
  Recorder(uint64_t workgroup, std::vector<unsigned> waves)
      : workgroup(workgroup), waves(std::move(waves)) {}
  std::unique_ptr<Observer> observe(const LaunchContext &) override;

  const uint64_t workgroup;
  const std::vector<unsigned> waves;
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

std::unique_ptr<Observer> Tracer::Recorder::observe(const LaunchContext &) {
  return std::make_unique<TraceObserver>(workgroup, waves, traces);
}

Tracer::Tracer(uint64_t workgroup, std::vector<unsigned> waves)
    : recorder(std::make_unique<Recorder>(workgroup, std::move(waves))) {}
Tracer::~Tracer() = default;

Instrument &Tracer::instrument() { return *recorder; }
const std::vector<WaveTrace> &Tracer::traces() const { return recorder->traces; }
