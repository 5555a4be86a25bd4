// What is undefined moves with the values, as in MemorySanitizer, and is reported where it decides
// something: an address, a branch or EXEC, an operand of a matrix instruction, data stored to
// global memory. Compilers copy, merge and spill what nobody has written; correct code does not
// act on it. Granularity is a lane's dword, and a write of a part defines all of it.
#include "../Workgroup.h"
#include "RegisterCheck.h"

#include <bit>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using amdgpu::InstructionClass;
using amdgpu::RegisterAccess;

static constexpr uint64_t all = ~uint64_t(0);
static constexpr unsigned vccLow = 106, execLow = 126;

namespace {
/// Undefined values through one instruction.
class Undefined {
public:
  explicit Undefined(Step &step)
      : step(step), state(step.state), info(step.info), exec(step.wave.exec()) {}

  void run() {
    checkUses();
    if (addsInPlace())
      return; // What was defined still is.
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
  static RegisterNumber scalarNumber(unsigned reg) {
    return static_cast<RegisterNumber>(firstScalar + reg);
  }
  /// The first register of `access` that is not defined in `lane` (-1: anywhere).
  RegisterNumber undefinedIn(const RegisterAccess &access, int lane) const {
    const bool vector = access.file == amdgpu::RegisterFile::Vector;
    for (unsigned reg = access.first; reg < access.end(); ++reg) {
      bool known = !vector     ? state.scalarDefined[reg] == ~0u
                   : lane >= 0 ? state.defined[reg] >> lane & 1
                               : state.defined[reg] == all;
      if (!known)
        return vector ? static_cast<RegisterNumber>(reg) : scalarNumber(reg);
    }
    return vector ? static_cast<RegisterNumber>(access.first) : scalarNumber(access.first);
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

  void demandVector(const RegisterAccess &access, uint64_t lanes, const char *before,
                    const char *after) {
    if (uint64_t bad = lanes & ~lanesOf(access)) [[unlikely]] {
      int lane = std::countr_zero(bad);
      reportUndefined(step, undefinedIn(access, lane), lane, before, after);
      // Once is enough: what follows from it is not another fault.
      for (unsigned reg = access.first; reg < access.end(); ++reg)
        state.defined[reg] = all;
    }
  }
  void demandScalar(const RegisterAccess &access, const char *before, const char *after) {
    if (scalarIsDefined(access)) [[likely]]
      return;
    // A pair may be a mask of lanes.
    bool mask = access.count == 2 && info.kind == InstructionClass::Branch;
    int lane = mask ? std::countr_zero(~maskBits(access.first)) : -1;
    reportUndefined(step, undefinedIn(access, -1), lane, before, after);
    for (unsigned reg = access.first; reg < access.end(); ++reg)
      state.scalarDefined[reg] = ~0u;
  }

  /// Whether the instruction adds to registers in place, each to itself: code that needs some of them cannot but read all.
  bool addsInPlace() const { return info.kind == InstructionClass::Mfma && llvm::StringRef(info.hazard.name).starts_with("V_SMFMAC"); }

  void checkUses() {
    if (info.kind == InstructionClass::Mfma) {
      for (const RegisterAccess &read : info.vectorReads)
        if (!addsInPlace() || read.first != info.vectorWrites.front().first)
          demandVector(read, all, "uses ", " as an operand of a matrix instruction");
    } else if (step.instruction.encoding >= Encoding::DS || info.kind == InstructionClass::Smem) {
      checkMemory();
    } else if (info.kind == InstructionClass::Branch) {
      for (const RegisterAccess &read : info.scalarReads)
        demandScalar(read, "branches on ", "");
      if (info.readsScc && !state.sccDefined) {
        reportUndefined(step, sccNumber, -1, "branches on ", "");
        state.sccDefined = true;
      }
    }
  }
  /// Lanes whose data a store puts into global memory: not those of FLAT operations that mean LDS
  /// or scratch.
  uint64_t lanesToGlobal(const MemoryFields &memory) const {
    const Instruction &in = step.instruction;
    if (in.encoding != Encoding::FLAT || memory.segment != 0)
      return exec;
    uint64_t lanes = exec;
    for (uint64_t left = exec; left; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const uint64_t high = uint64_t(step.wave.vgpr[memory.address + 1][lane]) << 32;
      if (high == sharedAperture || high == privateAperture)
        lanes &= ~(uint64_t(1) << lane);
    }
    return lanes;
  }
  void checkMemory() {
    const MemoryFields &memory = step.instruction.memory;
    bool crossing = info.rule == UndefinedRule::Crossing;
    bool dataMatters = info.global == MemoryKind::Store || info.global == MemoryKind::Atomic;
    for (const RegisterAccess &read : info.vectorReads) {
      const Encoding encoding = step.instruction.encoding;
      bool data =
          encoding != Encoding::SMEM &&
          (read.first == memory.data || (encoding == Encoding::DS && read.first == memory.data1)) &&
          !(read.first == memory.address && info.vectorReads.size() == 1);
      if (crossing)
        data = read.first != memory.address || info.vectorReads.size() == 1;
      bool keeps = !info.vectorWrites.empty() && info.vectorWrites[0].first == read.first &&
                   info.vectorWrites[0].bytes != 0xf;
      if (keeps || (data && !dataMatters))
        continue;
      if (data)
        demandVector(read, lanesToGlobal(memory), "stores ", " to global memory");
      else
        demandVector(read, exec, "uses ", " as an address");
    }
    if (exec == 0)
      return;
    for (const RegisterAccess &read : info.scalarReads)
      if (info.isMemory() && !(read.implicit && (read.first == execLow || read.first == 102)))
        demandScalar(read, "uses ", read.first == 124 ? " as an LDS address" : " as an address");
  }

  /// The register that what is undefined in the results comes from: the first that is found.
  void blame(RegisterNumber reg) {
    if (cause == noRegister)
      cause = reg;
  }
  OriginId originOf(RegisterNumber reg) {
    return state.origin[reg] ? state.origin[reg] : step.origins.ofRegister(reg);
  }
  void setOrigin(RegisterNumber reg) {
    state.setOrigin(reg, cause == noRegister ? ownOrigin : originOf(cause));
  }

  void readSources() {
    any = all;
    some = 0;
    bool sources = false, scalars = true;
    RegisterNumber elsewhere = noRegister; // undefined in lanes that do not take part
    for (const RegisterAccess &read : info.vectorReads) {
      uint64_t lanes = info.rule == UndefinedRule::All ? someLanesOf(read) : lanesOf(read);
      if (uint64_t bad = ~lanes & exec)
        blame(undefinedIn(read, std::countr_zero(bad)));
      else if (~lanes)
        elsewhere = undefinedIn(read, std::countr_zero(~lanes));
      if (info.rule == UndefinedRule::Crossing)
        lanes = lanes ? all : 0;
      any &= lanes;
      some |= lanes;
      sources = true;
    }
    for (const RegisterAccess &read : info.scalarReads) {
      if (!scalarIsDefined(read))
        blame(undefinedIn(read, -1));
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
    if (info.readsScc && !state.sccDefined)
      blame(sccNumber);
    if (info.rule == UndefinedRule::Select)
      select();
    blame(elsewhere);
    result = info.rule == UndefinedRule::All || info.rule == UndefinedRule::Crossing ? some : any;
    if (info.rule == UndefinedRule::Select)
      result = any;
  }

  /// Lanes of a source that are defined.
  uint64_t lanesOf(const Operand &operand) const {
    if (operand.kind == OperandKind::Vgpr)
      return state.defined[operand.reg];
    if (operand.kind == OperandKind::Sgpr)
      return state.scalarDefined[operand.reg] == ~0u ? all : uint64_t(0);
    return all;
  }
  void blame(const Operand &operand) {
    if (operand.kind == OperandKind::Vgpr)
      blame(static_cast<RegisterNumber>(operand.reg));
    else if (operand.kind == OperandKind::Sgpr)
      blame(scalarNumber(operand.reg));
  }

  /// v_cndmask: bit set takes source 1. s_cselect takes source 0 if scc.
  void select() {
    const Instruction &in = step.instruction;
    cause = noRegister;
    if (in.encoding == Encoding::SOP2) {
      const Operand &chosen = in.source[step.wave.scc ? 0 : 1];
      any = state.sccDefined ? lanesOf(chosen) : 0;
      state.sccDefined ? blame(chosen) : blame(sccNumber);
      return;
    }
    unsigned maskRegister = vccLow;
    for (const RegisterAccess &read : info.scalarReads)
      if (read.count == 2)
        maskRegister = read.first;
    const uint64_t mask = step.wave.pair(maskRegister), known = maskBits(maskRegister);
    const uint64_t one = lanesOf(in.source[1]) | ~mask, other = lanesOf(in.source[0]) | mask;
    any = one & other & known;
    if (~known & exec)
      blame(scalarNumber(maskRegister + (static_cast<uint32_t>(~known & exec) == 0)));
    if (~one & exec)
      blame(in.source[1]);
    if (~other & exec)
      blame(in.source[0]);
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
        const uint64_t value = reg == write.first ? low : now;
        state.defined[reg] = (state.defined[reg] & ~lanes) | (value & lanes);
        if (lanes & ~value)
          setOrigin(static_cast<RegisterNumber>(reg));
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
      setScc(scalar);
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

  void setScc(bool defined) {
    state.sccDefined = defined;
    if (!defined)
      setOrigin(sccNumber);
  }

  /// `bits` are those of a register pair, or of each register of a longer tuple.
  void setScalar(const RegisterAccess &write, uint64_t bits) {
    if (write.first == execLow && bits != all) {
      blame(scalarNumber(execLow));
      reportUndefined(step, cause, std::countr_zero(~bits), "sets EXEC from ", "");
      bits = all;
    }
    for (unsigned i = 0; i < write.count; ++i) {
      const unsigned reg = write.first + i;
      state.scalarDefined[reg] =
          static_cast<uint32_t>(write.count == 2 && i == 1 ? bits >> 32 : bits);
      if (~state.scalarDefined[reg])
        setOrigin(scalarNumber(reg));
    }
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

  /// `bits` of a scalar source are undefined.
  void blame(const Operand &operand, uint64_t bits) {
    if (operand.kind == OperandKind::Sgpr)
      blame(scalarNumber(operand.reg + (static_cast<uint32_t>(bits) == 0)));
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
    if (~a.known & ~known & width)
      blame(in.source[0], ~a.known & ~known & width);
    if (~b.known & ~known & width)
      saves ? blame(scalarNumber(execLow)) : blame(in.source[1], ~b.known & ~known & width);
    if (info.writesScc)
      setScc((known & width) == width || name.starts_with("S_OR"));
    for (const RegisterAccess &write : info.scalarWrites) {
      bool oldExec = saves && write.first != execLow;
      setScalar(write, (oldExec ? maskBits(execLow) : known) | ~width);
    }
  }

  void swap() {
    if (info.vectorWrites.size() != 2)
      return;
    const unsigned one = info.vectorWrites[0].first, two = info.vectorWrites[1].first;
    uint64_t &upper = state.defined[one], &lower = state.defined[two];
    const uint64_t oldUpper = upper, oldLower = lower;
    const OriginId upperOrigin = ~oldUpper ? originOf(RegisterNumber(one)) : ownOrigin;
    const OriginId lowerOrigin = ~oldLower ? originOf(RegisterNumber(two)) : ownOrigin;
    llvm::StringRef name = info.hazard.name;
    if (!name.starts_with("V_PERMLANE")) {
      upper = (oldUpper & ~exec) | (oldLower & exec);
      lower = (oldLower & ~exec) | (oldUpper & exec);
    } else {
      unsigned span = name.contains("32_SWAP") ? 32 : 16;
      uint64_t low = span == 32 ? 0x00000000ffffffff : 0x0000ffff0000ffff;
      upper = (oldUpper & low) | (oldLower & low) << span;
      lower = (oldLower & ~low) | (oldUpper & ~low) >> span;
    }
    if (~upper)
      state.setOrigin(RegisterNumber(one), lowerOrigin ? lowerOrigin : upperOrigin);
    if (~lower)
      state.setOrigin(RegisterNumber(two), upperOrigin ? upperOrigin : lowerOrigin);
  }

  Step &step;
  WaveState &state;
  const InstructionInfo &info;
  const uint64_t exec;
  uint64_t any = all, some = all, result = all;
  bool scalarsDefined = true;
  RegisterNumber cause = noRegister;
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
