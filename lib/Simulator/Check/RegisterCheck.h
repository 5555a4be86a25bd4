// Registers: use before the wait, and use of what nothing has written.
#pragma once

#include "WaveState.h"

namespace hocket::sim::check {

/// One instruction about to execute.
struct Step {
  Wave &wave;
  WaveState &state;
  const InstructionInfo &info;
  const Instruction &instruction;
  FindingLog &log;
  OriginTable &origins;
  InstructionTable &table;
  Place place;
};

/// Reports registers that the instruction reads or overwrites while an operation in flight is going
/// to write them.
void checkPending(Step &step);
/// A wait, as things stand in a wave: how many operations may be left of each counter; -1: any.
struct NeededWait {
  int vector = -1, lds = -1;
  /// Makes it cover the operation in flight in `slot` too.
  void cover(const Wave &wave, unsigned slot);
  /// "s_waitcnt vmcnt(2)".
  std::string text() const;
};
/// For instructions whose registers are moved by m0: takes the registers they may write as defined
/// and reports nothing.
void assumeDefined(Step &step);
/// Reports that `reg` is undefined in `lane` (-1: none in particular) where it decides something:
/// `before`, its name and `after` say what, as in "uses v3 as an address".
void reportUndefined(Step &step, RegisterNumber reg, int lane, const char *before,
                     const char *after);
/// Reports uses of undefined values that matter, and works out what the results are.
void checkUndefined(Step &step);

} // namespace hocket::sim::check
