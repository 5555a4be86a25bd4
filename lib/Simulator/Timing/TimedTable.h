// The timed instructions of one text, each described once for all runs with the same parameters.
#pragma once

#include "../Decode.h"
#include "TimedInstruction.h"

#include "Target/Arch/ArchInfo.h"

#include "llvm/Support/Allocator.h"

#include <atomic>
#include <mutex>

namespace hocket::sim {

/// Any thread may ask.
class TimedTable final : public Text::Table {
public:
  /// The table of `text` for `parameters`, which is kept with the text until other parameters are
  /// asked for.
  static Result<std::shared_ptr<TimedTable>> of(Text &text, const ArchInfo &arch,
                                                const TimeParameters &parameters);

  /// The instruction in slot `place`; beyond the text, where the step reports it, one that does
  /// nothing.
  const TimedInstruction &get(uint32_t place) {
    if (place >= text.dwords()) [[unlikely]]
      return nothing;
    const TimedInstruction *known = slots[place].load(std::memory_order_acquire);
    return known ? *known : make(place);
  }

private:
  TimedTable(Text &text, const TimeParameters &parameters);
  const TimedInstruction &make(uint32_t place);

  Text &text;
  const TimeParameters parameters;
  std::unique_ptr<InstructionTimer> timer;
  std::unique_ptr<std::atomic<const TimedInstruction *>[]> slots;
  std::mutex mutex;
  llvm::SpecificBumpPtrAllocator<TimedInstruction> storage;
  const TimedInstruction nothing;
};

} // namespace hocket::sim
