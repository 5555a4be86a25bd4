// The state of one wave and what execute functions may do to it.
//
// Registers are plain arrays: vector registers as [register][64 lanes], scalar registers as the
// hardware encodes them, so that vcc, m0 and exec are elements of one array. Loads do not write
// their destination when they are issued: they poison it and leave a PendingOp behind, which lands
// when s_waitcnt, a full counter or the wave's end makes it (Pending.h).
#pragma once

#include "HostIsa.h"
#include "Instruction.h"
#include "Pending.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hocket::sim {

class Observer;
struct Workgroup;
struct Allocation;

inline constexpr unsigned waveSize = 64;
/// Architectural registers, accumulation registers, and room so that no tuple runs off the end.
inline constexpr unsigned vectorRegisters = 512 + 32;
inline constexpr unsigned accumulationBase = 256;

/// Pattern of a register whose load has not landed: NaN in f32, and in both halves as f16 and bf16.
inline constexpr uint32_t pendingPattern = 0x7fa57fa5;
/// Pattern of registers and LDS that nothing has written.
inline constexpr uint32_t uninitialisedPattern = 0x7fb97fb9;

namespace reg {
inline constexpr unsigned vcc = 106, m0 = 124, exec = 126;
}

/// Why a wave does not run on.
enum class Stop : uint8_t {
  None,
  Ended,   ///< s_endpgm
  Barrier, ///< waits at s_barrier
  Yield,   ///< gives up its quantum: s_sleep
  Failed,  ///< `Workgroup::error` says why
};

/// MODE register fields (docs/Hardware.md 2.8): round 32 [1:0], round 16/64 [3:2], denorm 32 [5:4],
/// denorm 16/64 [7:6], dx10_clamp 8, ieee 9, fp16_ovfl 23.
struct Mode {
  uint32_t bits = 0x3f0;
  HOCKET_SIM_INLINE bool ieee() const { return bits >> 9 & 1; }
  HOCKET_SIM_INLINE bool dx10Clamp() const { return bits >> 8 & 1; }
  HOCKET_SIM_INLINE unsigned round32() const { return bits & 3; }
  HOCKET_SIM_INLINE unsigned round64() const { return bits >> 2 & 3; }
  HOCKET_SIM_INLINE unsigned denormal32() const { return bits >> 4 & 3; }
  HOCKET_SIM_INLINE unsigned denormal64() const { return bits >> 6 & 3; }
  /// f16 (and fp8) overflow gives the largest finite value.
  HOCKET_SIM_INLINE bool fp16Overflow() const { return bits >> 23 & 1; }
  /// Round to nearest even, all denormals kept, overflow to infinity: what the host does by
  /// default.
  HOCKET_SIM_INLINE bool isDefault() const { return (bits & 0x8000ff) == 0xf0; }
};

struct Wave {
  /// [vectorRegisters][64]
  uint32_t (*vgpr)[waveSize] = nullptr;
  alignas(64) uint32_t sgpr[128 + 16] = {};
  uint32_t scc = 0;
  Mode mode;
  uint32_t pc = 0; ///< index of the next instruction, in dwords from the start of the text
  Stop stop = Stop::None;
  /// s_set_gpr_idx: bits 0 to 2 add M0[7:0] to source VGPR numbers, bit 3 to the destination's.
  /// s_setvskip: bit 7 leaves vector instructions out.
  uint8_t gprIndexing = 0;
  uint8_t index = 0; ///< within the workgroup
  Workgroup *group = nullptr;
  Observer *observer = nullptr; ///< the workgroup's, or null
  uint64_t instructions = 0;    ///< executed so far
  uint64_t idleLanes = 0; ///< of its vector memory accesses: lanes that took no part or were out of range
  uint64_t clock = 0;           ///< what s_memtime gave last
  PendingQueues pending;
  /// The allocation that the last access hit.
  const Allocation *cachedAllocation = nullptr;
  std::byte *scratch = nullptr; ///< [64 lanes][privateBytes]
  uint64_t randomState = 0;     ///< decides when stores and LDS DMA land; 0: always late

  HOCKET_SIM_INLINE uint64_t pair(unsigned index) const {
    return sgpr[index] | uint64_t(sgpr[index + 1]) << 32;
  }
  HOCKET_SIM_INLINE void setPair(unsigned index, uint64_t value) {
    sgpr[index] = static_cast<uint32_t>(value);
    sgpr[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  HOCKET_SIM_INLINE uint64_t exec() const { return pair(reg::exec); }
  HOCKET_SIM_INLINE void setExec(uint64_t value) { setPair(reg::exec, value); }
  HOCKET_SIM_INLINE uint64_t vcc() const { return pair(reg::vcc); }
  HOCKET_SIM_INLINE void setVcc(uint64_t value) { setPair(reg::vcc, value); }
  HOCKET_SIM_INLINE uint32_t m0() const { return sgpr[reg::m0]; }
};

/// Looks up the live allocation that holds `address`, or null.
const Allocation *findAllocation(const Wave &wave, uint64_t address);

/// The value of a special source: apertures (235..238), vccz, execz, scc; `word` 0 or 1.
uint32_t specialWord(const Wave &wave, unsigned encoding, unsigned word);
/// Word `word` of a scalar operand of `bits` bits (16, 32 or 64): registers, constants, specials.
uint32_t scalarWord(const Wave &wave, const Operand &operand, unsigned word, unsigned bits,
                    bool isFloat, bool isSigned);

/// Ends the workgroup with an error; `what` is completed with kernel, instruction, workgroup and
/// wave.
void failWave(Wave &wave, const Instruction &instruction, const char *what);
/// The same for an access of `lane` to the device address `address`; adds the nearest allocation.
void failAddress(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
                 uint64_t address, unsigned bytes);
/// The same for an access to LDS byte `address` outside of the workgroup's LDS.
void failLds(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
             uint32_t address, unsigned bytes);
/// The same for an access to byte `offset` outside of the lane's private segment.
void failScratch(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
                 uint64_t offset, unsigned bytes);

} // namespace hocket::sim
