// One instruction as the cycle model sees it: which unit it goes to, for how long, and which
// registers order it after others. Made once for each place in the code.
#pragma once

#include "Simulator/Timing.h"
#include "Target/AMDGPU/Disassembler.h"
#include "Target/AMDGPU/Opcode.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <string>

namespace hocket::sim {

/// Registers in one number space: 0..255 VGPRs, 256..511 accumulation registers, then the scalar
/// registers as encoded, SCC last.
inline constexpr unsigned timedScalarBase = 512, timedScc = timedScalarBase + 128,
                          timedRegisters = timedScc + 1;

struct RegisterRange {
  uint16_t first = 0, count = 0;
  bool operator==(const RegisterRange &) const = default;
};

/// What an operation moves, for those whose cost depends on addresses.
enum class MemoryAccess : uint8_t {
  None,
  LdsRead,    ///< `bytes` a lane
  LdsWrite,   ///< the same
  LdsPair,    ///< ds_read2, ds_write2: twice `bytes`, at two offsets
  LdsAtomic,  ///< a read and a write
  LdsSwizzle, ///< no storage
  Load,       ///< vector memory to registers
  Store,
  Dma, ///< vector memory to LDS
  Scalar,
};

/// What the model asks at every issue comes first, in a cache line of the host.
struct alignas(64) TimedInstruction {
  amdgpu::InstructionClass kind = amdgpu::InstructionClass::Other;
  TimedUnit unit = TimedUnit::Internal;
  uint16_t portCycles = 4; ///< its port takes nothing else
  uint16_t ownCycles = 4;  ///< before the same wave's next instruction of the vector side
  uint16_t matrixCycles = 0;
  uint16_t resultCycles = 4; ///< to a dependent instruction
  uint16_t holdCycles = 4; ///< before the same wave's next instruction of any kind: s_nop, s_sleep
  uint8_t waitVector = 63, waitLds = 15; ///< of s_waitcnt
  uint8_t priority = 0;                  ///< of s_setprio
  bool packedFloat = false;              ///< not beneath the wave's own MFMA
  bool setsPriority = false, barrier = false, ends = false, branch = false, flat = false;
  uint32_t dot = 0; ///< opcode of a dot product, else 0: the same opcode may accumulate at once

  MemoryAccess access = MemoryAccess::None;
  uint8_t bytes = 0;            ///< of one lane
  bool transposed = false;      ///< ds_read_b64_tr
  bool atomic = false;          ///< of vector memory: `bytes` of a lane are updated behind the L1 cache
  uint16_t pairOffsets[2] = {}; ///< of LdsPair, in bytes

  RegisterRange accumulator; ///< SrcC of an MFMA or dot product, not among `vectorReads`
  llvm::SmallVector<RegisterRange, 4> vectorReads, vectorWrites;
  llvm::SmallVector<RegisterRange, 4> scalarReads, scalarWrites;

  std::string name; ///< "V_EXP_F32"
  std::string text; ///< as the assembler reads it
};

/// Describes instructions of one processor. Belongs to one thread.
class InstructionTimer {
public:
  static Result<std::unique_ptr<InstructionTimer>> create(std::string_view cpu,
                                                          const TimeParameters &parameters);
  /// The instruction whose encoding is `code` (8 or 16 bytes are enough; more are ignored). Bytes
  /// that are no instruction are an error.
  Result<TimedInstruction> describe(llvm::ArrayRef<uint8_t> code) const;

private:
  InstructionTimer(std::shared_ptr<const amdgpu::McTarget> target,
                   const TimeParameters &parameters);

  amdgpu::Disassembler disassembler;
  mutable amdgpu::OpcodeTable opcodes;
  TimeParameters parameters;
};

} // namespace hocket::sim
