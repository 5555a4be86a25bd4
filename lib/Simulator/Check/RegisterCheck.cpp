// Registers at the start of a wave, and use before the wait.
#include "RegisterCheck.h"

#include <bit>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using amdgpu::InstructionClass;
using amdgpu::RegisterAccess;
using runtime::FindingKind;

static constexpr uint64_t kAllLanes = ~uint64_t(0);

void WaveState::reset(const Wave &wave) {
  for (uint64_t &lanes : defined)
    lanes = 0;
  std::fill(std::begin(origin), std::end(origin), ownOrigin);
  std::fill(std::begin(writer), std::end(writer), noInstruction);
  barrier = noInstruction;
  defined[0] = kAllLanes; // work-item ids
  for (unsigned i = 0; i < 144; ++i)
    scalarDefined[i] = wave.sgpr[i] == uninitialisedPattern ? 0 : ~0u;
  sccDefined = false;
  for (uint64_t &word : watched)
    word = kAllLanes;
  for (uint64_t &word : watchedScalar)
    word = kAllLanes;
  std::memset(pendingVector, 0, sizeof(pendingVector));
  std::memset(pendingScalar, 0, sizeof(pendingScalar));
  for (InFlight &flight : inFlight)
    flight.active = false;
  registersInFlight = ldsInFlight = dmaInFlight = 0;
  dmaSlots.clear();
  ldsSlots.clear();
  latest.windowCount = latest.straight = 0;
  latest.way = 1; // not a way that a window has seen all of
  latest.expected = wave.pc;
}

/// How far the queue may be from empty when `slot` has left it; -1: it is not in it.
static int mostBehind(const PendingQueue &queue, unsigned slot) {
  for (unsigned i = 0; i < queue.count; ++i)
    if (queue.slots[(queue.head + i) & 63] == slot)
      return queue.count - 1 - static_cast<int>(i);
  return -1;
}

void NeededWait::cover(const Wave &wave, unsigned slot) {
  const PendingQueues &pending = wave.pending;
  auto lower = [](int &count, int most) {
    if (most >= 0)
      count = count < 0 ? most : std::min(count, most);
  };
  lower(vector, mostBehind(pending.vectorMemory, slot));
  int inLds = mostBehind(pending.lds, slot);
  // Scalar loads come in any order.
  bool any = mostBehind(pending.scalar, slot) >= 0 || (inLds >= 0 && pending.scalar.count != 0);
  lower(lds, any ? 0 : inLds);
}

std::string NeededWait::text() const {
  std::string text = "s_waitcnt";
  if (vector >= 0)
    text += " vmcnt(" + std::to_string(vector) + ")";
  return lds < 0 ? text : text + " lgkmcnt(" + std::to_string(lds) + ")";
}

/// The wait that all registers need which the instruction reads, or writes.
static NeededWait waitOf(const Step &step, bool write) {
  NeededWait wait;
  auto cover = [&](const RegisterList &list, const uint8_t *pending) {
    for (const RegisterAccess &access : list)
      for (unsigned reg = access.first; reg < access.end(); ++reg)
        if (pending[reg])
          wait.cover(step.wave, pending[reg] - 1u);
  };
  cover(write ? step.info.vectorWrites : step.info.vectorReads, step.state.pendingVector);
  cover(write ? step.info.scalarWrites : step.info.scalarReads, step.state.pendingScalar);
  return wait;
}

static void reportPending(Step &step, unsigned slot, RegisterNumber reg, uint64_t lanes,
                          bool write) {
  const InFlight &flight = step.state.inFlight[slot];
  Place at = step.place, other = flight.place(step.place);
  if (reg < firstScalar)
    at.lane = static_cast<int8_t>(std::countr_zero(lanes));
  other.lane = at.lane;
  step.log.add(FindingKind::UseBeforeWait, at, other, [&](LoggedFinding &finding) {
    finding.what = std::string(write ? "overwrites " : "reads ") + nameOf(reg) +
                   ", which a load in flight is going to write; it takes " +
                   waitOf(step, write).text() + " before";
    finding.otherRole = "the load is";
  });
}

/// Whether results come in program order, so that the later one stays: no wait is needed.
static bool inOrder(const InstructionInfo &a, const InstructionInfo &b) {
  auto queue = [](const InstructionInfo &info) {
    switch (info.kind) {
    case InstructionClass::LdsRead:
    case InstructionClass::LdsOther:
      return 1;
    case InstructionClass::VmemLoad:
    case InstructionClass::VmemOther:
      return 2;
    default:
      return 0;
    }
  };
  return queue(a) != 0 && queue(a) == queue(b);
}

static void checkVectorAccess(Step &step, const RegisterAccess &access, bool write) {
  WaveState &state = step.state;
  uint64_t lanes = access.masked ? step.wave.exec() : kAllLanes;
  for (unsigned reg = access.first; reg < access.end(); ++reg) {
    uint8_t pending = state.pendingVector[reg];
    if (!pending) [[likely]]
      continue;
    const InFlight &flight = state.inFlight[pending - 1];
    if (!(flight.mask & lanes))
      continue;
    if (write && inOrder(*flight.info, step.info))
      continue;
    // A load of one half reads its result only to keep the other half, in order.
    bool keeps = !write && step.info.isMemory() && step.info.vectorWrites.size() == 1 &&
                 step.info.vectorWrites[0].bytes != 0xf &&
                 step.info.vectorWrites[0].first == access.first &&
                 inOrder(*flight.info, step.info);
    if (!keeps)
      reportPending(step, pending - 1u, static_cast<RegisterNumber>(reg), flight.mask & lanes,
                    write);
    return;
  }
}

static void checkScalarAccess(Step &step, const RegisterAccess &access, bool write) {
  for (unsigned reg = access.first; reg < access.end(); ++reg)
    if (uint8_t pending = step.state.pendingScalar[reg])
      return reportPending(step, pending - 1u, static_cast<RegisterNumber>(firstScalar + reg), 0,
                           write);
}

void check::checkPending(Step &step) {
  if (step.state.registersInFlight == 0)
    return;
  for (const RegisterAccess &read : step.info.vectorReads)
    checkVectorAccess(step, read, false);
  for (const RegisterAccess &write : step.info.vectorWrites)
    checkVectorAccess(step, write, true);
  for (const RegisterAccess &read : step.info.scalarReads)
    checkScalarAccess(step, read, false);
  for (const RegisterAccess &write : step.info.scalarWrites)
    checkScalarAccess(step, write, true);
}
