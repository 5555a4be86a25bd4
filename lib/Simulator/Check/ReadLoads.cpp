#include "Simulator/Check/ReadLoads.h"

#include "../Workgroup.h"
#include "InstructionInfo.h"
#include "OperationBytes.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;

class ReadLoads::Collector final : public Instrument {
public:
  Collector(std::string name, std::string architecture)
      : name(std::move(name)), architecture(std::move(architecture)) {}
  std::unique_ptr<Observer> observe(const LaunchContext &context) override;

  const std::string name, architecture;
  std::mutex mutex;
  Status status = Status::success();
  std::set<uint64_t> addresses;
};

namespace {
class LoadObserver final : public Observer {
public:
  LoadObserver(std::shared_ptr<InstructionTable> table, std::mutex &mutex, std::set<uint64_t> &addresses)
      : table(std::move(table)), mutex(mutex), addresses(addresses) {}

  void begin(Workgroup &group) override {
    writer.assign((group.ldsBytes + 3) / 4, 0);
    waves.assign(group.waveCount, {});
  }
  void before(Wave &wave, uint32_t index, const Instruction &) override { waves[wave.index].current = index; }
  void issued(Wave &wave, const PendingOp &op, bool) override {
    waves[wave.index].slots[op.slot] = waves[wave.index].current;
  }
  void landing(Wave &wave, const PendingOp &op) override;
  void end(Workgroup &group) override {
    std::lock_guard lock(mutex);
    for (uint32_t slot : read)
      addresses.insert(group.context.text->addressOf(slot));
  }

private:
  struct Issued {
    uint32_t current = 0;
    uint32_t slots[pendingSlots] = {}; ///< of the text, by those of operations in flight
  };

  std::shared_ptr<InstructionTable> table;
  std::mutex &mutex;
  std::set<uint64_t> &addresses;
  std::vector<Issued> waves;
  std::vector<uint32_t> writer; ///< of each dword of LDS: the slot of the load that wrote it last, plus 1; 0: none did
  std::set<uint32_t> read;
};
} // namespace

void LoadObserver::landing(Wave &wave, const PendingOp &op) {
  const uint32_t slot = waves[wave.index].slots[op.slot];
  const InstructionInfo &info = table->get(slot, *op.instruction);
  if (info.lds == MemoryKind::None)
    return;
  const bool reads = info.lds == MemoryKind::Load || info.lds == MemoryKind::Atomic;
  forEachLds(info, op, [&](unsigned, uint32_t address, unsigned bytes) {
    for (size_t i = address / 4; i < writer.size() && i < (uint64_t(address) + bytes + 3) / 4; ++i) {
      if (reads && writer[i] != 0)
        read.insert(writer[i] - 1);
      if (info.lds != MemoryKind::Load)
        writer[i] = info.lds == MemoryKind::LdsDma ? slot + 1 : 0;
    }
  });
}

std::unique_ptr<Observer> ReadLoads::Collector::observe(const LaunchContext &context) {
  if (context.kernel->name != name)
    return std::make_unique<Observer>();
  Result<std::shared_ptr<InstructionTable>> table = InstructionTable::of(*context.text, architecture);
  if (!table.ok()) {
    std::lock_guard lock(mutex);
    status = table.error();
    return std::make_unique<Observer>();
  }
  return std::make_unique<LoadObserver>(*std::move(table), mutex, addresses);
}

ReadLoads::ReadLoads(std::string name, std::string architecture)
    : collector(std::make_unique<Collector>(std::move(name), std::move(architecture))) {}
ReadLoads::~ReadLoads() = default;

Instrument &ReadLoads::instrument() { return *collector; }
Result<std::set<uint64_t>> ReadLoads::addresses() const {
  if (!collector->status.ok())
    return collector->status.error();
  return collector->addresses;
}
