// What the checks need to know of an instruction, worked out once for each slot of the text and
// shared by all threads and launches.
#pragma once

#include "../Decode.h"

#include "Target/AMDGPU/HazardRules.h"
#include "Target/AMDGPU/RegisterEffects.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hocket::sim::check {

/// How what is undefined goes through an instruction.
enum class UndefinedRule : uint8_t {
  Any,        ///< the result is undefined where any source is
  All,        ///< only where all are: bit operations and packing, which compilers use to merge
  Carry,      ///< 64-bit sums: a result dword depends on its own and lower ones of the sources
  Select,     ///< v_cndmask, s_cselect: as the chosen source
  Compare,    ///< lanes to bits of a scalar pair
  ScalarBits, ///< s_and, s_or and the like: bit by bit
  LaneRead,   ///< v_readlane, v_readfirstlane
  LaneWrite,  ///< v_writelane
  Swap,       ///< v_permlane*_swap, v_swap
  Crossing,   ///< DPP, ds_permute: other lanes' values; taken as defined unless no lane is
  Load,       ///< from memory: defined, LDS has its own shadow
};

/// What a memory instruction does.
enum class MemoryKind : uint8_t { None, Load, Store, Atomic, LdsDma };

/// One pair of instructions that is too close, seen from the later one.
struct BrokenHazard {
  uint32_t producer = 0; ///< slot
  unsigned found = 0;
  amdgpu::HazardRequirement requirement;
};

using RegisterList = llvm::SmallVector<amdgpu::RegisterAccess, 4>;

/// The registers that an instruction reads or writes, as bits: enough to see that none of them
/// needs a closer look (`WaveState::isQuiet`).
struct RegisterMask {
  uint64_t vector[4] = {}; ///< registers 64 * word[i] and up
  uint64_t scalar[2] = {};
  uint8_t word[4] = {};
  uint8_t words = 0;     ///< of `vector` in use
  bool complete = false; ///< all of them are here, and defined sources make defined results
};

/// What every execution of it needs comes first: a cache line and a half of the host.
struct alignas(64) InstructionInfo {
  RegisterMask mask;
  bool readsScc = false, writesScc = false;
  bool hazardProducer = false;
  uint8_t waitStates = 1; ///< that issuing it provides
  RegisterList vectorReads, vectorWrites, scalarReads, scalarWrites;
  bool carriesMask = false; ///< a scalar pair it reads has a bit for each lane
  amdgpu::InstructionClass kind = amdgpu::InstructionClass::Other;
  UndefinedRule rule = UndefinedRule::Any;
  MemoryKind lds = MemoryKind::None;    ///< what it does to LDS by its LDS address
  MemoryKind global = MemoryKind::None; ///< what it does to global memory
  uint8_t ldsBytes = 0;                 ///< of each lane, at each of its addresses
  bool ldsTwo = false;                  ///< a second address, `PendingOp::scalar` bytes further
  bool ldsOneLane = false;              ///< ds_append, ds_consume
  uint8_t globalBytes = 0;              ///< of each lane; scalar accesses: see the operation
  bool formatted = false;               ///< the buffer's format says how many bytes
  bool relative = false;                ///< s_movrel: m0 moves its registers
  amdgpu::HazardInstruction hazard;

  /// Bytes from the beginning of one lane's data in global memory to the next one's, if lanes lie
  /// next to each other, for `Access::byte`. 0: scalar, the wave as a whole.
  unsigned laneStride() const {
    return kind == amdgpu::InstructionClass::Smem ? 0 : formatted ? 16 : globalBytes;
  }
  bool isMemory() const { return lds != MemoryKind::None || global != MemoryKind::None; }
};

/// The lane that byte `byte` of an access to global memory belongs to, -1: none.
inline int8_t laneOf(const InstructionInfo &info, uint64_t byte) {
  const unsigned stride = info.laneStride();
  return stride ? static_cast<int8_t>(byte / stride) : int8_t(-1);
}

/// Infos of one text. Any thread may ask.
class InstructionTable final : public Text::Table {
public:
  /// The table of `text`, which is made for the first launch and kept with the text.
  static Result<std::shared_ptr<InstructionTable>> of(Text &text, std::string_view cpu);
  ~InstructionTable() override;

  /// The info of slot `index`, whose decoded form is `decoded`.
  const InstructionInfo &get(uint32_t index, const sim::Instruction &decoded) {
    const InstructionInfo *known = __atomic_load_n(&slots[index], __ATOMIC_ACQUIRE);
    return known ? *known : make(index, decoded);
  }
  /// Slot `index` is likely to be asked for next.
  void expect(uint32_t index) const {
    if (index < code.dwords())
      __builtin_prefetch(slots[index]);
  }
  /// The info of a slot that has been asked for.
  const InstructionInfo &known(uint32_t index) const {
    return *__atomic_load_n(&slots[index], __ATOMIC_ACQUIRE);
  }
  std::string text(uint32_t index) { return code.disassemble(index).text; }

  /// Hazards between `consumer` and the slots of `window` (the latest last, with the wait states
  /// between each and the consumer).
  struct Distance {
    uint32_t slot;
    unsigned between;
  };
  void findBroken(uint32_t consumer, llvm::ArrayRef<Distance> window,
                  std::vector<BrokenHazard> &broken);
  unsigned longest() const { return longestDistance; }

private:
  explicit InstructionTable(Text &text) : code(text) {}
  const InstructionInfo &make(uint32_t index, const sim::Instruction &decoded);

  Text &code;
  std::shared_ptr<const amdgpu::McTarget> target;
  std::unique_ptr<amdgpu::Disassembler> disassembler;
  std::unique_ptr<amdgpu::OpcodeTable> opcodes;
  const HazardTable *hazards = nullptr;
  unsigned longestDistance = 0;
  std::mutex mutex;
  InstructionInfo **slots = nullptr;
  std::vector<std::unique_ptr<InstructionInfo>> infos;
};

} // namespace hocket::sim::check
