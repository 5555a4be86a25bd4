// Which registers an instruction reads and writes, dword by dword.
//
// Checked and timed execution both ask this of every instruction of a kernel. The answer comes from
// LLVM's instruction descriptions (definitions, uses, tied and implicit operands); what they do not
// say - which lanes take part, which bytes of a result stay as they were - follows from the
// instruction's name and modifiers. Work it out once for each instruction and keep it.
#pragma once

#include "Target/AMDGPU/Disassembler.h"
#include "Target/AMDGPU/Opcode.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace hocket::amdgpu {

enum class RegisterFile : uint8_t {
  Vector, ///< 0 to 255 architectural, 256 to 511 accumulation registers
  Scalar, ///< as encoded: 0 to 101, 106 vcc, 108 ttmp0, 124 m0, 126 exec
  Scc,
  Mode, ///< the MODE register
};

/// Scalar registers by their encoding; EXEC is this one and the next.
inline constexpr unsigned kVcc = 106, kM0 = 124, kExec = 126;

/// A run of dwords in one register file that an instruction reads or writes.
struct RegisterAccess {
  RegisterFile file = RegisterFile::Vector;
  uint16_t first = 0;
  uint8_t count = 1; ///< dwords
  /// Bytes of each dword that are written; the others keep their content. Reads have all four.
  uint8_t bytes = 0xf;
  /// Vector registers: only lanes whose EXEC bit is set take part. Otherwise all may, whatever EXEC
  /// says: MFMA operands, sources of DPP and of lane reads.
  bool masked = false;
  /// Named by no operand (vcc of a carry, exec, m0, MODE).
  bool implicit = false;

  unsigned end() const { return first + count; }
  bool operator==(const RegisterAccess &) const = default;
};

struct RegisterEffects {
  llvm::SmallVector<RegisterAccess, 6> reads; ///< in the order of LLVM's operands, implicit last
  llvm::SmallVector<RegisterAccess, 3> writes;
};

/// Effects of one decoded instruction. Registers that hold no state of a kernel (apertures, null)
/// are left out. VGPR numbers are those of the encoding: `s_set_gpr_idx` moves them at run time,
/// as `s_movrel` does its scalar operands.
RegisterEffects registerEffects(const Instruction &instruction, const Disassembler &disassembler,
                                OpcodeTable &opcodes);

} // namespace hocket::amdgpu
