// What an opcode is called and what kind of instruction it is, independent of its encoding.
//
// LLVM has one opcode per encoding and per chip family: `V_EXP_F32_e32_vi`, `V_EXP_F32_sdwa_gfx9`,
// `V_MFMA_F32_32X32X16_BF16_gfx940_vcd`. People and tables speak of `v_exp_f32`. This file takes
// the suffixes off and sorts the result into the classes that Hocket counts, times and checks.
// LLVM's target flags are not exported by its packages, so the classes follow from the names.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace llvm {
class MCInstrInfo;
}

namespace hocket::amdgpu {

/// The encoding that an opcode's suffix names. `Only` where an instruction has a single one.
enum class Encoding : uint8_t { Only, E32, E64, Sdwa, Dpp };

/// An opcode without its encoding and chip suffixes.
struct OpcodeName {
  std::string base; ///< upper case as in LLVM: "V_EXP_F32", "BUFFER_LOAD_DWORDX4_LDS_OFFEN"
  Encoding encoding = Encoding::Only;
};

/// Splits LLVM's name of an opcode: `V_EXP_F32_sdwa_gfx9` -> {`V_EXP_F32`, Sdwa}.
OpcodeName normalizeOpcodeName(llvm::StringRef llvmName);

/// What an instruction is counted as. Every instruction is of exactly one class.
enum class InstructionClass : uint8_t {
  Mfma,           ///< v_mfma_*, v_smfmac_*
  Transcendental, ///< v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos: quarter or half rate
  Packed,         ///< v_pk_*: two results in one slot
  Valu,           ///< every other vector ALU instruction
  Salu,           ///< scalar ALU without branches, waits, barriers and nops
  LdsRead,        ///< ds_read*, transposing reads included
  LdsWrite,       ///< ds_write*
  LdsOther,       ///< LDS atomics, ds_bpermute, ds_swizzle ...
  LdsDma,         ///< buffer_load ... lds and global_load_lds
  VmemLoad,       ///< buffer, global, flat and scratch loads into registers
  VmemStore,      ///< the same, stores
  VmemOther,      ///< global atomics, cache control
  Smem,           ///< scalar memory, cache control included
  Barrier,        ///< s_barrier
  Wait,           ///< s_waitcnt
  Nop,            ///< s_nop, v_nop
  Branch,         ///< s_branch, s_cbranch_*, s_setpc, s_swappc, s_endpgm
  Other,          ///< s_setprio, s_sleep, s_sendmsg, s_code_end ...
};
inline constexpr unsigned kInstructionClasses = unsigned(InstructionClass::Other) + 1;

/// Key of a class in reports and JSON: "mfma", "lds_read", ...
llvm::StringRef className(InstructionClass kind);

/// Class of an instruction by its normalised name.
InstructionClass classify(llvm::StringRef baseName);

/// Names and classes of opcodes, worked out when first asked for: LLVM has 47,000 of them and a
/// kernel uses some fifty. Belongs to one thread.
class OpcodeTable {
public:
  explicit OpcodeTable(const llvm::MCInstrInfo &instructions) : instructions(instructions) {}

  const OpcodeName &name(unsigned opcode) { return entry(opcode).name; }
  InstructionClass kind(unsigned opcode) { return entry(opcode).kind; }

private:
  struct Entry {
    OpcodeName name;
    InstructionClass kind = InstructionClass::Other;
  };
  const Entry &entry(unsigned opcode);

  const llvm::MCInstrInfo &instructions;
  std::unordered_map<unsigned, Entry> entries;
};

/// Counts per class.
class ClassCounts {
public:
  unsigned &operator[](InstructionClass kind) { return counts[unsigned(kind)]; }
  unsigned operator[](InstructionClass kind) const { return counts[unsigned(kind)]; }
  unsigned total() const;

private:
  std::array<unsigned, kInstructionClasses> counts{};
};

} // namespace hocket::amdgpu
