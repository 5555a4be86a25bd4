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
/// The wait behind which the wave's operation in flight in `slot` is certain, as things stand:
/// "s_waitcnt vmcnt(2)".
std::string waitFor(const Wave &wave, unsigned slot);
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
