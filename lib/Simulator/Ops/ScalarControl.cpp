// Control flow, waits, barriers, hardware registers: SOPP, and the SOP1 and SOPK that move the
// program counter or touch the MODE register (CDNA3 ISA 4 and 12.5).
#include "../Workgroup.h"
#include "Families.h"
#include "Scalar.h"

using namespace hocket::sim;

/// Jumps to a virtual address of the image.
static void jumpTo(Wave &wave, const Instruction &in, uint64_t deviceAddress) {
  const LaunchContext &context = wave.group->context;
  uint64_t address = deviceAddress - context.base;
  if (!context.text->contains(address) || address % 4 != 0) {
    failWave(wave, in, "jumps out of the code");
    return;
  }
  wave.pc = static_cast<uint32_t>((address - context.text->begin()) / 4);
}

static uint64_t nextAddress(const Wave &wave) {
  const LaunchContext &context = wave.group->context;
  return context.base + context.text->addressOf(wave.pc);
}

static void branch(Wave &wave, const Instruction &in) {
  int64_t target = int64_t(wave.pc) + static_cast<int16_t>(in.immediate);
  if (target < 0 || target >= wave.group->context.text->dwords()) {
    failWave(wave, in, "jumps out of the code");
    return;
  }
  wave.pc = static_cast<uint32_t>(target);
}

template <auto Condition> static void branchIf(Wave &wave, const Instruction &in) {
  if (Condition(wave))
    branch(wave, in);
}

/// Conditions that only a debugger sets.
static bool never(const Wave &) { return false; }

static void registerBranches(OpTable &table) {
  table.add("s_branch", branch);
  table.add("s_cbranch_scc0", branchIf<[](const Wave &w) { return w.scc == 0; }>);
  table.add("s_cbranch_scc1", branchIf<[](const Wave &w) { return w.scc != 0; }>);
  table.add("s_cbranch_vccz", branchIf<[](const Wave &w) { return w.vcc() == 0; }>);
  table.add("s_cbranch_vccnz", branchIf<[](const Wave &w) { return w.vcc() != 0; }>);
  table.add("s_cbranch_execz", branchIf<[](const Wave &w) { return w.exec() == 0; }>);
  table.add("s_cbranch_execnz", branchIf<[](const Wave &w) { return w.exec() != 0; }>);
  for (const char *name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
                           "s_cbranch_cdbgsys_and_user"})
    table.add(name, branchIf<never>);
  table.add("s_getpc_b64",
            [](Wave &w, const Instruction &in) { w.setPair(in.destination, nextAddress(w)); });
  table.add("s_setpc_b64", [](Wave &w, const Instruction &in) {
    jumpTo(w, in, readScalar<uint64_t>(w, in.source[0]));
  });
  table.add("s_swappc_b64", [](Wave &w, const Instruction &in) {
    uint64_t target = readScalar<uint64_t>(w, in.source[0]);
    w.setPair(in.destination, nextAddress(w));
    jumpTo(w, in, target);
  });
  table.add("s_call_b64", [](Wave &w, const Instruction &in) {
    w.setPair(in.destination, nextAddress(w));
    branch(w, in);
  });
}

/// s_waitcnt: vmcnt {[15:14], [3:0]}, lgkmcnt [11:8]; expcnt has nothing to wait for.
static void waitCount(Wave &wave, const Instruction &in) {
  unsigned vector = (in.immediate & 15) | (in.immediate >> 14 & 3) << 4;
  unsigned ldsAndScalar = in.immediate >> 8 & 15;
  waitVectorMemory(wave, vector);
  waitLdsAndScalar(wave, ldsAndScalar);
}

static void endProgram(Wave &wave, const Instruction &) {
  landAll(wave);
  if (wave.stop != Stop::Failed)
    wave.stop = Stop::Ended;
}

/// s_sendmsg: interrupts go to a host that does not listen; other messages are for graphics, trap
/// handlers and debuggers.
static void sendMessage(Wave &wave, const Instruction &in) {
  constexpr unsigned interrupt = 1;
  if ((in.immediate & 15) != interrupt)
    failWave(wave, in, "sends a message that nothing receives in a compute kernel");
}

static void registerProgramControl(OpTable &table) {
  table.add("s_endpgm", endProgram);
  table.add("s_endpgm_saved", endProgram);
  table.add("s_waitcnt", waitCount);
  table.add("s_barrier", [](Wave &w, const Instruction &) { w.stop = Stop::Barrier; });
  table.add("s_sleep", [](Wave &w, const Instruction &) { w.stop = Stop::Yield; });
  auto nothing = [](Wave &, const Instruction &) {};
  for (const char *name : {"s_nop", "s_setprio", "s_wakeup", "s_icache_inv", "s_ttracedata",
                           "s_incperflevel", "s_decperflevel"})
    table.add(name, nothing);
  table.add("s_trap", [](Wave &w, const Instruction &in) {
    failWave(w, in,
             "is a trap: the kernel gave up (an abort, a failed assertion or "
             "unreachable code)");
  });
  table.add("s_sendmsg", sendMessage);
  table.add("s_sendmsghalt", [](Wave &w, const Instruction &in) {
    failWave(w, in, "halts the wave, and nothing can wake it here");
  });
  table.add("s_setkill", [](Wave &w, const Instruction &in) {
    if (in.immediate & 1)
      endProgram(w, in);
  });
  table.add("s_sethalt", [](Wave &w, const Instruction &in) {
    if (in.immediate & 1)
      failWave(w, in, "halts the wave, and nothing can wake it here");
  });
}

/// Hardware registers: id [5:0], offset [10:6], size - 1 [15:11] of the immediate.
struct HardwareRegister {
  unsigned id, offset, size;
  explicit HardwareRegister(unsigned immediate)
      : id(immediate & 63), offset(immediate >> 6 & 31), size((immediate >> 11 & 31) + 1) {}
  uint32_t mask() const { return static_cast<uint32_t>(((uint64_t(1) << size) - 1) << offset); }
};

namespace hwreg {
enum {
  Mode = 1,
  Status = 2,
  TrapStatus = 3,
  HardwareId = 4,
  GprAlloc = 5,
  LdsAlloc = 6,
  XccId = 20
};
}

static bool readHardwareRegister(const Wave &wave, unsigned id, uint32_t &value) {
  switch (id) {
  case hwreg::Mode:
    value = wave.mode.bits;
    return true;
  case hwreg::Status: // scc [0], execz [9], vccz [10]
    value = wave.scc | uint32_t(wave.exec() == 0) << 9 | uint32_t(wave.vcc() == 0) << 10;
    return true;
  case hwreg::TrapStatus:
    value = 0;
    return true;
  case hwreg::HardwareId: // one compute unit; wave [3:0], SIMD [5:4]
    value = (wave.index / 4u) | (wave.index % 4u) << 4;
    return true;
  case hwreg::LdsAlloc: // size in 128-byte units [20:12]
    value = (wave.group->ldsBytes + 127) / 128 << 12;
    return true;
  case hwreg::XccId: // workgroups go round the eight XCDs
    value = static_cast<uint32_t>(wave.group->linear % 8);
    return true;
  }
  return false;
}

static void getRegister(Wave &wave, const Instruction &in) {
  HardwareRegister r(in.immediate);
  uint32_t value = 0;
  if (!readHardwareRegister(wave, r.id, value)) {
    failWave(wave, in, "reads a hardware register that the simulator does not have");
    return;
  }
  wave.sgpr[in.destination] = (value & r.mask()) >> r.offset;
}

static void setRegister(Wave &wave, const Instruction &in, uint32_t value) {
  HardwareRegister r(in.immediate);
  if (r.id == hwreg::TrapStatus)
    return; // exception flags: nothing reads them
  if (r.id != hwreg::Mode) {
    failWave(wave, in, "writes a hardware register that the simulator does not have");
    return;
  }
  wave.mode.bits = (wave.mode.bits & ~r.mask()) | (value << r.offset & r.mask());
}

static void registerHardwareRegisters(OpTable &table) {
  table.add("s_getreg_b32", getRegister);
  table.add("s_setreg_b32",
            [](Wave &w, const Instruction &in) { setRegister(w, in, w.sgpr[in.destination]); });
  table.add("s_setreg_imm32_b32",
            [](Wave &w, const Instruction &in) { setRegister(w, in, in.literal); });
}

/// M0[7:0] is the index, M0[15:12] says which operands it moves.
static void setIndexMode(Wave &wave, unsigned mode) {
  wave.gprIndexing = (wave.gprIndexing & 0x80) | (mode & 15);
  wave.sgpr[reg::m0] = (wave.m0() & ~0xf000u) | (mode & 15) << 12;
}

static void registerIndexing(OpTable &table) {
  table.add("s_set_gpr_idx_on", [](Wave &w, const Instruction &in) {
    w.sgpr[reg::m0] = (w.m0() & ~0xffu) | (readScalar<uint32_t>(w, in.source[0]) & 0xff);
    setIndexMode(w, in.immediate); // the second source field is the mode itself
  });
  table.add("s_set_gpr_idx_mode",
            [](Wave &w, const Instruction &in) { setIndexMode(w, in.immediate); });
  table.add("s_set_gpr_idx_idx", [](Wave &w, const Instruction &in) {
    w.sgpr[reg::m0] = (w.m0() & ~0xffu) | (readScalar<uint32_t>(w, in.source[0]) & 0xff);
  });
  table.add("s_set_gpr_idx_off", [](Wave &w, const Instruction &) { w.gprIndexing &= 0x80; });
  table.add("s_setvskip", [](Wave &w, const Instruction &in) {
    uint32_t bits = readScalar<uint32_t>(w, in.source[0]);
    bool skip = bits >> (readScalar<uint32_t>(w, in.source[1]) & 31) & 1;
    w.gprIndexing = (w.gprIndexing & 15) | (skip ? 0x80 : 0);
  });
}

void hocket::sim::registerScalarControl(OpTable &table) {
  registerBranches(table);
  registerProgramControl(table);
  registerHardwareRegisters(table);
  registerIndexing(table);
}
