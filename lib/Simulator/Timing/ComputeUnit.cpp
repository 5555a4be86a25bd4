// The rules of issue. Times are cycles; every wave issues in its SIMD's turn.
#include "ComputeUnit.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace hocket;
using namespace hocket::sim;
using amdgpu::InstructionClass;

static constexpr unsigned maxVector = 63, maxLds = 15;
/// Wait counters keep a SIMD's waves from filling any longer queue.
static constexpr uint64_t longestQueue = 1 << 14;

std::string_view sim::name(Stall stall) {
  constexpr std::string_view names[stalls] = {
      "none",         "matrix_pipe", "matrix_result", "vector_pipe", "vector_result", "scalar_turn",
      "lds_wait",     "scalar_wait", "memory_wait",   "barrier",     "nop",           "lds_queue",
      "memory_queue", "counter",     "fetch",         "branch",      "launch",        "port"};
  return names[static_cast<unsigned>(stall)];
}

/// The first turn of `simd` at or after `cycle`.
static uint64_t turnOf(unsigned simd, uint64_t cycle) {
  return cycle + ((simd + slotCycles - cycle % slotCycles) % slotCycles);
}

static uint64_t whole(double cycles) { return static_cast<uint64_t>(std::llround(cycles)); }

ComputeUnit::ComputeUnit(const TimeParameters &parameters, uint32_t codeDwords)
    : parameters(parameters), lineReady(codeDwords / 16 + 2) {
  for (SimdState &s : simd) {
    s.ldsQueue.leaves.resize(std::clamp<uint64_t>(whole(parameters.ldsQueue), 1, longestQueue));
    s.memoryQueue.leaves.resize(std::clamp<uint64_t>(whole(parameters.vmemQueue), 1, longestQueue));
  }
}

unsigned ComputeUnit::addWave(unsigned group, unsigned indexInGroup, uint64_t cycle) {
  if (group >= groups.size())
    groups.resize(group + 1);
  ++groups[group].live;
  WaveState wave;
  wave.simd = indexInGroup % simds;
  wave.group = group;
  wave.ready = wave.vectorReady = turnOf(wave.simd, cycle);
  wave.hold.raise(cycle + whole(parameters.waveLaunch), Stall::Launch);
  wave.registers.resize(timedRegisters);
  simd[wave.simd].live.push_back(static_cast<unsigned>(waves.size()));
  waves.push_back(std::move(wave));
  return static_cast<unsigned>(waves.size() - 1);
}

void ComputeUnit::fetch(WaveState &wave) {
  uint32_t line = wave.place / 16;
  if (line + 1 >= lineReady.size())
    return;
  uint64_t now = std::max(wave.ready, wave.hold.until);
  if (lineReady[line] == 0)
    lineReady[line] = now + whole(anyFetched ? parameters.fetchJump : parameters.fetchCold);
  anyFetched = true;
  wave.hold.raise(lineReady[line], Stall::Fetch);
  if (lineReady[line + 1] == 0)
    lineReady[line + 1] = std::max(now, lineReady[line]) + whole(parameters.fetchNext);
}

void ComputeUnit::setNext(unsigned number, const TimedInstruction &instruction, uint32_t place) {
  WaveState &wave = waves[number];
  bool newLine = !wave.next || place / 16 != wave.place / 16;
  wave.next = &instruction;
  wave.place = place;
  const TimedUnit unit = instruction.unit;
  wave.vectorSide = unit == TimedUnit::Vector || unit == TimedUnit::Matrix;
  wave.port = static_cast<uint8_t>(wave.vectorSide ? TimedUnit::Vector : unit);
  wave.gate = unit == TimedUnit::Matrix   ? MatrixGate
              : unit == TimedUnit::Lds    ? LdsGate
              : unit == TimedUnit::Memory ? MemoryGate
                                          : NoGate;
  if (newLine)
    fetch(wave);
  stale |= 1u << wave.simd;
  wave.own = wave.hold;
  waitForRegisters(wave);
  waitForCounters(wave);
}

void ComputeUnit::waitForRegisters(WaveState &wave) const {
  const TimedInstruction &in = *wave.next;
  if (in.unit == TimedUnit::Vector && in.packedFloat && parameters.packedBeneathMfma == 0)
    wave.own.raise(wave.matrixEnd, Stall::MatrixPipe);
  if (wave.pendingUntil <= wave.ready)
    return;
  auto wait = [&](const RegisterRange &range) {
    for (unsigned r = range.first; r < range.first + range.count; ++r)
      wave.own.raise(wave.registers[r].ready, wave.registers[r].late);
  };
  for (const RegisterRange &range : in.vectorReads)
    wait(range);
  for (const RegisterRange &range : in.vectorWrites)
    if (!(range == in.accumulator))
      wait(range);
  for (const RegisterRange &range : in.scalarReads)
    for (unsigned r = range.first; r < range.first + range.count; ++r)
      if (wave.registers[r].vectorWrote != wave.vectorSide)
        wave.own.raise(wave.registers[r].ready, Stall::ScalarTurn);
  if (in.accumulator.count == 0)
    return;
  const Register &first = wave.registers[in.accumulator.first];
  bool sameMatrix = in.unit == TimedUnit::Matrix && first.matrixResult == in.accumulator;
  bool sameDot = in.dot != 0 && first.dot == in.dot;
  if (sameMatrix)
    wave.own.raise(first.matrixReady, Stall::MatrixPipe);
  else if (!sameDot)
    wait(in.accumulator);
}

/// When at most `atMost` of `completions` (ascending) are outstanding.
static uint64_t drained(const std::vector<uint64_t> &completions, unsigned atMost) {
  return completions.size() <= atMost ? 0 : completions[completions.size() - atMost - 1];
}

/// The same for two lists that share a counter.
static uint64_t drained(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b,
                        unsigned atMost) {
  size_t i = a.size(), j = b.size();
  while (i + j > 0) {
    bool fromA = j == 0 || (i > 0 && a[i - 1] >= b[j - 1]);
    uint64_t last = fromA ? a[i - 1] : b[j - 1];
    if (atMost-- == 0)
      return last;
    fromA ? --i : --j;
  }
  return 0;
}

void ComputeUnit::waitForCounters(WaveState &wave) const {
  const TimedInstruction &in = *wave.next;
  if (in.kind == InstructionClass::Wait) {
    if (in.waitVector < maxVector)
      wave.own.raise(drained(wave.vectorMemory, in.waitVector), Stall::MemoryWait);
    if (in.waitLds < maxLds) {
      bool scalarLast =
          !wave.scalar.empty() && (wave.lds.empty() || wave.scalar.back() > wave.lds.back());
      wave.own.raise(drained(wave.lds, wave.scalar, in.waitLds),
                     scalarLast ? Stall::ScalarWait : Stall::LdsWait);
    }
    return;
  }
  if (in.unit == TimedUnit::Memory)
    wave.own.raise(drained(wave.vectorMemory, maxVector - 1), Stall::Counter);
  if (in.unit == TimedUnit::Lds || in.access == MemoryAccess::Scalar || in.flat)
    wave.own.raise(drained(wave.lds, wave.scalar, maxLds - 1), Stall::Counter);
}

ComputeUnit::Hold ComputeUnit::earliest(const WaveState &wave) const {
  static constexpr Stall portStalls[timedUnits] = {
      Stall::VectorPipe,  Stall::VectorPipe, Stall::Port, Stall::Port,
      Stall::MemoryQueue, Stall::Port,       Stall::Port};
  static constexpr Stall gateStalls[] = {Stall::None, Stall::MatrixPipe, Stall::LdsQueue,
                                         Stall::MemoryQueue};
  const SimdState &s = simd[wave.simd];
  Hold hold;
  hold.until = wave.vectorSide ? wave.vectorReady : wave.ready;
  hold.raise(wave.own.until, wave.own.stall);
  hold.raise(s.port[wave.port], portStalls[wave.port]);
  hold.raise(s.gate[wave.gate], gateStalls[wave.gate]);
  hold.until = turnOf(wave.simd, hold.until);
  return hold;
}

void ComputeUnit::refresh(unsigned number) {
  SimdState &s = simd[number];
  Choice best;
  best.cycle = never;
  unsigned priority = 0;
  // Which wave is better changes all the time: selections, not branches.
  for (unsigned index : s.live) {
    const WaveState &wave = waves[index];
    if (wave.atBarrier)
      continue;
    Hold hold = earliest(wave);
    bool better =
        (hold.until < best.cycle) | ((hold.until == best.cycle) & (wave.priority > priority));
    best.wave = better ? index : best.wave;
    best.cycle = better ? hold.until : best.cycle;
    best.stall = better ? hold.stall : best.stall;
    priority = better ? wave.priority : priority;
  }
  s.best = best;
  firstCycle[number] = best.cycle;
}

bool ComputeUnit::choose(Choice &choice) {
  for (; stale != 0; stale &= stale - 1)
    refresh(static_cast<unsigned>(std::countr_zero(stale)));
  // SIMDs have their turns in different cycles, so there are no ties.
  unsigned first = 0;
  for (unsigned i = 1; i < simds; ++i)
    first = firstCycle[i] < firstCycle[first] ? i : first;
  choice = simd[first].best;
  return choice.cycle != never;
}

void ComputeUnit::recordResults(WaveState &wave, uint64_t cycle) {
  const TimedInstruction &in = *wave.next;
  const bool vectorSide = wave.vectorSide;
  // A result that is there by the wave's next turn orders nothing; only what was late must go.
  auto record = [&](const RegisterRange &range, uint64_t ready, Stall stall) {
    if (ready <= cycle + slotCycles && wave.pendingUntil <= cycle)
      return;
    wave.pendingUntil = std::max(wave.pendingUntil, ready);
    Register late{ready, cycle + in.matrixCycles, {}, in.dot, stall, vectorSide};
    if (in.unit == TimedUnit::Matrix)
      late.matrixResult = range;
    std::fill_n(wave.registers.begin() + range.first, range.count, late);
  };
  Stall late = in.unit == TimedUnit::Matrix ? Stall::MatrixResult : Stall::VectorResult;
  if (vectorSide)
    for (const RegisterRange &range : in.vectorWrites)
      record(range, cycle + in.resultCycles, late);
  if (in.unit != TimedUnit::Vector && in.unit != TimedUnit::Scalar)
    return;
  // What one side wrote, the other side gets later; the same side in order.
  double turn = vectorSide ? parameters.valuToScalar : parameters.scalarToValu;
  for (const RegisterRange &range : in.scalarWrites)
    record(range, cycle + slotCycles + whole(turn), Stall::ScalarTurn);
}

static void complete(std::vector<uint64_t> &completions, uint64_t now, uint64_t at, bool inOrder) {
  std::erase_if(completions, [&](uint64_t done) { return done <= now; });
  if (inOrder && !completions.empty())
    at = std::max(at, completions.back());
  completions.insert(std::upper_bound(completions.begin(), completions.end(), at), at);
}

void ComputeUnit::issueLds(WaveState &wave, uint64_t cycle, const ExecutedCost &cost,
                           IssueEvent &event) {
  uint64_t service = std::max<uint64_t>(1, whole(cost.ldsCycles * parameters.ldsScale));
  ldsFree = std::max(ldsFree, cycle) + service;
  event.busy = static_cast<uint32_t>(service);
  SimdState &s = simd[wave.simd];
  s.gate[LdsGate] = s.ldsQueue.push(ldsFree);
  complete(wave.lds, cycle, ldsFree + whole(parameters.ldsLatency), true);
}

void ComputeUnit::issueMemory(WaveState &wave, uint64_t cycle, const ExecutedCost &cost,
                              IssueEvent &event) {
  const TimedInstruction &in = *wave.next;
  const double requested = double(sectorBytes * cost.sectors);
  const double missed = double(lineBytes * cost.missed);
  uint64_t address = whole(std::max(
      parameters.vmemAddress, parameters.vmemBytes > 0 ? requested / parameters.vmemBytes : 0));
  addressFree = std::max(addressFree, cycle) + address;
  event.busy = static_cast<uint32_t>(address);
  SimdState &s = simd[wave.simd];
  s.gate[MemoryGate] = s.memoryQueue.push(addressFree);
  bytesMoved += static_cast<uint64_t>(missed);
  uint64_t done = addressFree + whole(parameters.vmemL1Latency);
  if (cost.missed != 0) {
    memoryFree = std::max(memoryFree, double(addressFree)) +
                 (parameters.memoryBytes > 0 ? missed / parameters.memoryBytes : 0);
    done = whole(memoryFree + parameters.memoryLatency);
  }
  // The data's way into the LDS takes its bandwidth; it is charged when the load issues.
  if (in.access == MemoryAccess::Dma && parameters.ldsDmaBytes > 0)
    ldsFree = std::max(ldsFree, cycle) + whole(cost.bytes / parameters.ldsDmaBytes);
  complete(wave.vectorMemory, cycle, done, true);
  if (in.flat)
    complete(wave.lds, cycle, done, true);
}

IssueEvent ComputeUnit::issue(const Choice &choice, const ExecutedCost &cost) {
  WaveState &wave = waves[choice.wave];
  const TimedInstruction &in = *wave.next;
  SimdState &s = simd[wave.simd];
  uint64_t cycle = choice.cycle;
  const bool vectorSide = wave.vectorSide;
  stale |= 1u << wave.simd;
  IssueEvent event;
  event.ready = turnOf(wave.simd, vectorSide ? wave.vectorReady : wave.ready);
  event.cycle = cycle;
  event.place = wave.place;
  event.wave = static_cast<uint16_t>(choice.wave);
  event.unit = in.unit;
  event.stall = cycle > event.ready ? choice.stall : Stall::None;
  event.busy = in.unit == TimedUnit::Matrix ? in.matrixCycles : in.portCycles;

  wave.ready = cycle + slotCycles;
  wave.vectorReady = std::max(wave.vectorReady, wave.ready);
  wave.hold = {};
  if (vectorSide) {
    s.port[unsigned(TimedUnit::Vector)] = cycle + in.portCycles;
    wave.vectorReady = cycle + in.ownCycles;
  } else if (in.unit != TimedUnit::Internal) {
    s.port[unsigned(in.unit)] = cycle + in.portCycles;
  }
  if (in.unit == TimedUnit::Matrix)
    wave.matrixEnd = s.gate[MatrixGate] = cycle + in.matrixCycles;
  recordResults(wave, cycle);
  if (in.unit == TimedUnit::Lds)
    issueLds(wave, cycle, cost, event);
  if (in.unit == TimedUnit::Memory)
    issueMemory(wave, cycle, cost, event);
  if (in.access == MemoryAccess::Scalar)
    complete(wave.scalar, cycle,
             cycle + whole(cost.scalarMiss ? parameters.scalarMiss : parameters.scalarHit), false);
  if (in.holdCycles > slotCycles)
    wave.hold.raise(cycle + in.holdCycles, Stall::Nop);
  if (cost.taken)
    wave.hold.raise(cycle + slotCycles + whole(parameters.branchTaken), Stall::Branch);
  if (in.setsPriority)
    wave.priority = in.priority;
  GroupState &group = groups[wave.group];
  group.end = std::max(group.end, cycle + slotCycles);
  if (in.barrier) {
    wave.atBarrier = true;
    group.lastArrival = std::max(group.lastArrival, cycle);
  }
  if (parameters.issueRotation != 0) {
    std::erase(s.live, choice.wave);
    s.live.push_back(choice.wave);
  }
  if (in.ends) {
    wave.ended = true;
    std::erase(s.live, choice.wave);
    --group.live;
    for (const auto *queue : {&wave.vectorMemory, &wave.lds})
      if (!queue->empty())
        group.end = std::max(group.end, queue->back());
    // Thousands of waves may pass through; their registers need not stay.
    wave.registers = {};
  }
  return event;
}

void ComputeUnit::releaseBarrier(unsigned number) {
  uint64_t release = groups[number].lastArrival + whole(parameters.barrierLatency);
  for (WaveState &wave : waves) {
    if (wave.group != number || wave.ended || !wave.atBarrier)
      continue;
    wave.atBarrier = false;
    stale |= 1u << wave.simd;
    wave.hold.raise(release, Stall::Barrier);
    wave.own.raise(release, Stall::Barrier);
  }
}
