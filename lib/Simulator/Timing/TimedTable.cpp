// See TimedTable.h.
#include "TimedTable.h"

using namespace hocket;
using namespace hocket::sim;

TimedTable::TimedTable(Text &text, const TimeParameters &parameters)
    : text(text), parameters(parameters),
      slots(std::make_unique<std::atomic<const TimedInstruction *>[]>(text.dwords())) {}

Result<std::shared_ptr<TimedTable>> TimedTable::of(Text &text, const ArchInfo &arch,
                                                   const TimeParameters &parameters) {
  auto kept = std::static_pointer_cast<TimedTable>(text.table(Text::TableKind::Timing));
  if (kept && kept->parameters == parameters)
    return kept;
  std::shared_ptr<TimedTable> table(new TimedTable(text, parameters));
  auto timer = InstructionTimer::create(arch.name, parameters);
  if (!timer.ok())
    return timer.error();
  table->timer = *std::move(timer);
  text.keep(Text::TableKind::Timing, table);
  return table;
}

const TimedInstruction &TimedTable::make(uint32_t place) {
  std::lock_guard lock(mutex);
  if (const TimedInstruction *known = slots[place].load(std::memory_order_relaxed))
    return *known;
  const Instruction &instruction = text.instructions()[place];
  if (!executeOf(instruction))
    text.decode(place);
  const auto *bytes = reinterpret_cast<const uint8_t *>(instruction.words);
  auto described = timer->describe(llvm::ArrayRef<uint8_t>(bytes, instruction.size * 4u));
  // What LLVM cannot decode fails when it is executed, with a better message.
  auto *made = new (storage.Allocate())
      TimedInstruction(described.ok() ? *std::move(described) : TimedInstruction());
  slots[place].store(made, std::memory_order_release);
  return *made;
}
