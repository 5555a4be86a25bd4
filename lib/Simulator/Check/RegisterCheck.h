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
  Place place;
};

/// Reports registers that the instruction reads or overwrites while an operation in flight is going
/// to write them.
void checkPending(Step &step);
/// For instructions whose registers are moved by m0: takes the registers they may write as defined
/// and reports nothing.
void assumeDefined(Step &step);
/// Reports uses of undefined values that matter, and works out what the results are.
void checkUndefined(Step &step);

} // namespace hocket::sim::check
