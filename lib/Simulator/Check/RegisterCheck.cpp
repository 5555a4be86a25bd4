// What is undefined moves with the values, as in MemorySanitizer, and is reported where it decides
// something: an address, a branch or EXEC, an operand of a matrix instruction, data stored to
// global memory. Compilers copy, merge and spill what nobody has written; correct code does not
// act on it. Granularity is a lane's dword, and a write of a part defines all of it.
#include "RegisterCheck.h"

#include <bit>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using amdgpu::InstructionClass;
using amdgpu::RegisterAccess;
using runtime::FindingKind;

static constexpr uint64_t all = ~uint64_t(0);
static constexpr unsigned vccLow = 106, execLow = 126;

void WaveState::reset(const Wave &wave) {
  for (uint64_t &lanes : defined)
    lanes = 0;
  for (uint32_t &from : origin)
    from = noInstruction;
  defined[0] = all; // work-item ids
  for (unsigned i = 0; i < 144; ++i)
    scalarDefined[i] = wave.sgpr[i] == uninitialisedPattern ? 0 : ~0u;
  sccDefined = false;
  for (uint64_t &word : watched)
    word = all;
  for (uint64_t &word : watchedScalar)
    word = all;
  std::memset(pendingVector, 0, sizeof(pendingVector));
  std::memset(pendingScalar, 0, sizeof(pendingScalar));
  for (InFlight &flight : inFlight)
    flight.active = false;
  registersInFlight = ldsInFlight = dmaInFlight = 0;
  dmaSlots.clear();
  ldsSlots.clear();
  windowCount = straight = 0;
  way = 1; // not a way that a window has seen all of
  expected = wave.pc;
}

static std::string nameOf(bool vector, unsigned reg) {
  if (vector)
    return (reg >= 256 ? "a" : "v") + std::to_string(reg & 255);
  switch (reg) {
  case 106:
  case 107:
    return "vcc";
  case 124:
    return "m0";
  case 126:
  case 127:
    return "exec";
  }
  return "s" + std::to_string(reg);
}

static Place placeOf(const Step &step, const InFlight &flight) {
  Place place;
  place.index = flight.index;
  place.workgroup = step.place.workgroup;
  place.wave = step.place.wave;
  place.epoch = flight.epoch;
  return place;
}

static void reportPending(Step &step, const InFlight &flight, bool vector, unsigned reg,
                          uint64_t lanes, bool write) {
  Place at = step.place;
  if (vector)
    at.lane = static_cast<int8_t>(std::countr_zero(lanes));
  step.log.add(FindingKind::UseBeforeWait, at, placeOf(step, flight), [&] {
    return std::string(write ? "overwrites " : "reads ") + nameOf(vector, reg) +
           ", which a load in flight is going to write; wait for it before";
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
  uint64_t lanes = access.masked ? step.wave.exec() : all;
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
      reportPending(step, flight, true, reg, flight.mask & lanes, write);
    return;
  }
}

static void checkScalarAccess(Step &step, const RegisterAccess &access, bool write) {
  for (unsigned reg = access.first; reg < access.end(); ++reg)
    if (uint8_t pending = step.state.pendingScalar[reg])
      return reportPending(step, step.state.inFlight[pending - 1], false, reg, 0, write);
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

namespace {
/// Undefined values through one instruction.
class Undefined {
public:
  explicit Undefined(Step &step)
      : step(step), state(step.state), info(step.info), exec(step.wave.exec()) {}

  void run() {
    checkUses();
    if (info.vectorWrites.empty() && info.scalarWrites.empty() && !info.writesScc)
      return;
    if (info.rule == UndefinedRule::ScalarBits)
      return scalarBits();
    if (info.rule == UndefinedRule::Swap)
      return swap();
    readSources();
    writeVectors();
    writeScalars();
  }

private:
  uint64_t lanesOf(const RegisterAccess &access) const {
    uint64_t lanes = all;
    for (unsigned reg = access.first; reg < access.end(); ++reg)
      lanes &= state.defined[reg];
    return lanes;
  }
  uint64_t someLanesOf(const RegisterAccess &access) const {
    uint64_t lanes = 0;
    for (unsigned reg = access.first; reg < access.end(); ++reg)
      lanes |= state.defined[reg];
    return lanes;
  }
  /// Lanes whose dwords 0 to `last` of every vector source are defined.
  uint64_t lanesUpTo(unsigned last) const {
    uint64_t lanes = all;
    for (const RegisterAccess &read : info.vectorReads)
      for (unsigned reg = read.first; reg < read.end() && reg <= read.first + last; ++reg)
        lanes &= state.defined[reg];
    return lanes;
  }
  bool scalarIsDefined(const RegisterAccess &access) const {
    uint32_t bits = ~0u;
    for (unsigned reg = access.first; reg < access.end(); ++reg)
      bits &= state.scalarDefined[reg];
    return bits == ~0u;
  }
  uint64_t maskBits(unsigned reg) const {
    return state.scalarDefined[reg] | uint64_t(state.scalarDefined[reg + 1]) << 32;
  }

  void report(const RegisterAccess &access, bool vector, uint64_t lanes, const char *use) {
    Place at = step.place, other;
    unsigned reg = access.first;
    if (vector) {
      at.lane = static_cast<int8_t>(std::countr_zero(lanes));
      while (reg + 1 < access.end() && state.defined[reg] >> at.lane & 1)
        ++reg;
      other.index = state.origin[reg];
    }
    bool fromLds = other.index != noInstruction;
    other.workgroup = at.workgroup;
    other.wave = at.wave;
    other.epoch = at.epoch;
    step.log.add(fromLds ? FindingKind::UninitialisedLds : FindingKind::UninitialisedRegister, at,
                 other, [&] {
                   std::string what = std::string("uses ") + nameOf(vector, reg) + " as " + use;
                   return what + (fromLds ? ", which was read from LDS that nothing has written"
                                          : ", which nothing has written");
                 });
  }
  void demandVector(const RegisterAccess &access, uint64_t lanes, const char *use) {
    if (uint64_t bad = lanes & ~lanesOf(access)) [[unlikely]] {
      report(access, true, bad, use);
      // Once is enough: what follows from it is not another fault.
      for (unsigned reg = access.first; reg < access.end(); ++reg)
        state.defined[reg] = all;
    }
  }
  void demandScalar(const RegisterAccess &access, const char *use) {
    if (scalarIsDefined(access)) [[likely]]
      return;
    report(access, false, 0, use);
    for (unsigned reg = access.first; reg < access.end(); ++reg)
      state.scalarDefined[reg] = ~0u;
  }

  void checkUses() {
    if (info.kind == InstructionClass::Mfma) {
      for (const RegisterAccess &read : info.vectorReads)
        demandVector(read, all, "an operand of a matrix instruction");
    } else if (step.instruction.encoding >= Encoding::DS || info.kind == InstructionClass::Smem) {
      checkMemory();
    } else if (info.kind == InstructionClass::Branch) {
      for (const RegisterAccess &read : info.scalarReads)
        demandScalar(read, "the condition of a branch");
      if (info.readsScc && !state.sccDefined)
        reportScc();
    }
  }
  void reportScc() {
    step.log.add(FindingKind::UninitialisedRegister, step.place, {}, [] {
      return std::string("branches on scc, which nothing has written or which was computed from "
                         "what nothing has written");
    });
    state.sccDefined = true;
  }
  void checkMemory() {
    const MemoryFields &memory = step.instruction.memory;
    bool crossing = info.rule == UndefinedRule::Crossing;
    bool dataMatters = info.global == MemoryKind::Store || info.global == MemoryKind::Atomic;
    for (const RegisterAccess &read : info.vectorReads) {
      bool data = step.instruction.encoding != Encoding::SMEM &&
                  (read.first == memory.data || read.first == memory.data1) &&
                  !(read.first == memory.address && info.vectorReads.size() == 1);
      if (crossing)
        data = read.first != memory.address || info.vectorReads.size() == 1;
      bool keeps = !info.vectorWrites.empty() && info.vectorWrites[0].first == read.first &&
                   info.vectorWrites[0].bytes != 0xf;
      if (keeps || (data && !dataMatters))
        continue;
      demandVector(read, exec, data ? "data stored to memory" : "an address");
    }
    if (exec == 0)
      return;
    for (const RegisterAccess &read : info.scalarReads)
      if (info.isMemory() && !(read.implicit && (read.first == execLow || read.first == 102)))
        demandScalar(read, read.first == 124 ? "an LDS address" : "an address or descriptor");
  }

  void readSources() {
    any = all;
    some = 0;
    bool sources = false, scalars = true;
    for (const RegisterAccess &read : info.vectorReads) {
      uint64_t lanes = info.rule == UndefinedRule::All ? someLanesOf(read) : lanesOf(read);
      if (info.rule == UndefinedRule::Crossing)
        lanes = lanes ? all : 0;
      if (lanes != all && origin == noInstruction)
        origin = state.origin[read.first];
      any &= lanes;
      some |= lanes;
      sources = true;
    }
    for (const RegisterAccess &read : info.scalarReads) {
      if (info.carriesMask && read.count == 2) {
        any &= maskBits(read.first);
        continue;
      }
      scalars &= scalarIsDefined(read);
      some |= scalarIsDefined(read) ? all : 0;
      sources = true;
    }
    scalarsDefined = scalars;
    if (!scalars)
      any = 0;
    if (!sources || info.rule == UndefinedRule::Load)
      some = any = all;
    if (info.rule == UndefinedRule::Load)
      origin = noInstruction;
    if (info.rule == UndefinedRule::Select)
      select();
    result = info.rule == UndefinedRule::All || info.rule == UndefinedRule::Crossing ? some : any;
    if (info.rule == UndefinedRule::Select)
      result = any;
  }

  /// v_cndmask: bit set takes source 1. s_cselect takes source 0 if scc.
  void select() {
    const Instruction &in = step.instruction;
    auto lanes = [&](const Operand &operand) {
      if (operand.kind == OperandKind::Vgpr)
        return state.defined[operand.reg];
      if (operand.kind == OperandKind::Sgpr)
        return state.scalarDefined[operand.reg] == ~0u ? all : uint64_t(0);
      return all;
    };
    if (in.encoding == Encoding::SOP2) {
      any = state.sccDefined ? lanes(in.source[step.wave.scc ? 0 : 1]) : 0;
      return;
    }
    unsigned maskRegister = vccLow;
    for (const RegisterAccess &read : info.scalarReads)
      if (read.count == 2)
        maskRegister = read.first;
    uint64_t mask = step.wave.pair(maskRegister);
    any = ((lanes(in.source[1]) & mask) | (lanes(in.source[0]) & ~mask)) & maskBits(maskRegister);
  }

  unsigned laneOf() const {
    const Operand &operand = step.instruction.source[1];
    if (operand.kind == OperandKind::Constant)
      return operand.value & 63;
    if (operand.kind == OperandKind::Sgpr)
      return step.wave.sgpr[operand.reg] & 63;
    return exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  }

  void writeVectors() {
    for (const RegisterAccess &write : info.vectorWrites) {
      uint64_t lanes = write.masked ? exec : all, now = result;
      if (info.rule == UndefinedRule::LaneWrite) {
        lanes = uint64_t(1) << laneOf();
        now = all;
      }
      // Worked out before any of it is written: results may lie on sources.
      uint64_t low = info.rule == UndefinedRule::Carry && scalarsDefined ? lanesUpTo(0) : now;
      for (unsigned reg = write.first; reg < write.end(); ++reg) {
        state.defined[reg] =
            (state.defined[reg] & ~lanes) | ((reg == write.first ? low : now) & lanes);
        state.origin[reg] = origin;
      }
    }
  }

  void writeScalars() {
    bool scalar = any == all;
    if (info.rule == UndefinedRule::LaneRead)
      scalar = any >> laneOf() & 1;
    if (info.readsScc && info.rule != UndefinedRule::Select)
      scalar &= state.sccDefined;
    if (info.writesScc)
      state.sccDefined = scalar;
    for (const RegisterAccess &write : info.scalarWrites) {
      if (write.implicit && write.first != vccLow && write.first != execLow)
        continue;
      bool mask =
          info.rule == UndefinedRule::Compare || info.carriesMask ||
          (write.count == 2 && !info.vectorReads.empty() && info.rule != UndefinedRule::LaneRead);
      uint64_t bits = mask ? any | ~exec : scalar ? all : 0;
      setScalar(write, bits);
    }
  }

  /// `bits` are those of a register pair, or of each register of a longer tuple.
  void setScalar(const RegisterAccess &write, uint64_t bits) {
    for (unsigned i = 0; i < write.count; ++i)
      state.scalarDefined[write.first + i] =
          static_cast<uint32_t>(write.count == 2 && i == 1 ? bits >> 32 : bits);
    if (write.first != execLow || bits == all)
      return;
    RegisterAccess access = write;
    report(access, false, 0, "EXEC");
    state.scalarDefined[execLow] = state.scalarDefined[execLow + 1] = ~0u;
  }

  struct Bits {
    uint64_t value, known;
  };
  Bits bitsOf(const Operand &operand, bool wide) const {
    if (operand.kind == OperandKind::Sgpr) {
      Bits bits{step.wave.sgpr[operand.reg], state.scalarDefined[operand.reg]};
      if (wide) {
        bits.value |= uint64_t(step.wave.sgpr[operand.reg + 1]) << 32;
        bits.known |= uint64_t(state.scalarDefined[operand.reg + 1]) << 32;
      }
      return bits;
    }
    auto value = static_cast<int64_t>(static_cast<int32_t>(operand.value));
    return {static_cast<uint64_t>(value), all};
  }

  /// A bit is defined where both are, or where one alone decides it.
  void scalarBits() {
    const Instruction &in = step.instruction;
    llvm::StringRef name = info.hazard.name;
    bool wide = name.ends_with("B64"), saves = name.contains("SAVEEXEC");
    Bits a = bitsOf(in.source[0], wide), b{0, all};
    if (saves)
      b = {exec, maskBits(execLow)};
    else if (in.encoding == Encoding::SOP2)
      b = bitsOf(in.source[1], wide);
    if (name.contains("ANDN2") || name.contains("ORN2"))
      b.value ^= all;
    if (name.contains("ANDN1") || name.contains("ORN1"))
      a.value ^= all;
    uint64_t known = a.known & b.known;
    if (name.starts_with("S_AND") || name.starts_with("S_NAND"))
      known |= (a.known & ~a.value) | (b.known & ~b.value);
    else if (name.starts_with("S_OR") || name.starts_with("S_NOR"))
      known |= (a.known & a.value) | (b.known & b.value);
    uint64_t width = wide ? all : 0xffffffff;
    if (info.writesScc)
      state.sccDefined = (known & width) == width || name.starts_with("S_OR");
    for (const RegisterAccess &write : info.scalarWrites) {
      bool oldExec = saves && write.first != execLow;
      setScalar(write, (oldExec ? maskBits(execLow) : known) | ~width);
    }
  }

  void swap() {
    if (info.vectorWrites.size() != 2)
      return;
    uint64_t &upper = state.defined[info.vectorWrites[0].first];
    uint64_t &lower = state.defined[info.vectorWrites[1].first];
    llvm::StringRef name = info.hazard.name;
    if (!name.starts_with("V_PERMLANE")) {
      uint64_t old = upper;
      upper = (upper & ~exec) | (lower & exec);
      lower = (lower & ~exec) | (old & exec);
      return;
    }
    unsigned span = name.contains("32_SWAP") ? 32 : 16;
    uint64_t low = span == 32 ? 0x00000000ffffffff : 0x0000ffff0000ffff;
    uint64_t oldUpper = upper, oldLower = lower;
    upper = (oldUpper & low) | (oldLower & low) << span;
    lower = (oldLower & ~low) | (oldUpper & ~low) >> span;
  }

  Step &step;
  WaveState &state;
  const InstructionInfo &info;
  const uint64_t exec;
  uint64_t any = all, some = all, result = all;
  bool scalarsDefined = true;
  uint32_t origin = noInstruction;
};
} // namespace

void check::checkUndefined(Step &step) {
  Undefined(step).run();
  WaveState &state = step.state;
  for (const RegisterList *list : {&step.info.vectorReads, &step.info.vectorWrites})
    for (const RegisterAccess &access : *list)
      for (unsigned reg = access.first; reg < access.end(); ++reg)
        state.watchVector(reg);
  for (const RegisterList *list : {&step.info.scalarReads, &step.info.scalarWrites})
    for (const RegisterAccess &access : *list)
      for (unsigned reg = access.first; reg < access.end(); ++reg)
        state.watchScalar(reg);
}

void check::assumeDefined(Step &step) {
  const uint32_t m0 = step.wave.m0();
  for (const RegisterAccess &write : step.info.vectorWrites)
    for (unsigned reg = write.first; reg < write.end(); ++reg) {
      step.state.defined[reg] = all;
      step.state.defined[std::min(reg + (m0 & 0xff), vectorRegisters - 1)] = all;
    }
  for (const RegisterAccess &write : step.info.scalarWrites)
    for (unsigned reg = write.first; reg < write.end(); ++reg) {
      step.state.scalarDefined[reg] = ~0u;
      step.state.scalarDefined[std::min(reg + (m0 & 0x7f), 143u)] = ~0u;
    }
  step.state.sccDefined = true;
}
