// One decoded instruction: what the execute functions read instead of bits.
//
// LLVM's disassembler says which instruction the bytes are, how long it is and whether it is legal
// on the chip; the operands' fields are then read from the encoding, whose layout is the hardware's
// and does not change between LLVM versions. An instruction is decoded once, when first reached,
// and bound to a function pointer: no strings, no look-ups while a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::sim {

struct Wave;
struct Instruction;

/// Executes one instruction of one wave. The program counter already points behind it.
using ExecuteFunction = void (*)(Wave &, const Instruction &);

enum class Encoding : uint8_t {
  SOP1,
  SOP2,
  SOPK,
  SOPC,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  MAI,
  DS,
  MUBUF,
  MTBUF,
  FLAT,
};

/// What follows or replaces the plain 32-bit form of VOP1, VOP2 and VOPC.
enum class Extension : uint8_t { None, SDWA, DPP };

enum class OperandKind : uint8_t {
  None,
  Vgpr,        ///< `reg`: 0..255 architectural, 256..511 accumulation registers
  Sgpr,        ///< `reg`: 0..127 as encoded: 106 vcc, 124 m0, 126 exec
  Constant,    ///< `value`: an inline integer (sign-extended) or a literal
  Literal,     ///< `value`: a 32-bit literal; f64 operands take it as their upper half
  InlineFloat, ///< `reg`: 240..248, a constant whose bits depend on the operand's type
  Special,     ///< `reg`: 235..238 apertures, 251 vccz, 252 execz, 253 scc
};

/// Sub-dword selection of SDWA.
enum class SdwaSelect : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };

/// Three of them and what else vector instructions need share a cache line of the host, hence the
/// single bits.
struct Operand {
  OperandKind kind = OperandKind::None;
  bool negate : 1 = false;       ///< also neg_lo of packed operands
  bool absolute : 1 = false;     ///< for packed operands: neg_hi
  bool opSelect : 1 = false;     ///< op_sel: the upper half (low result of packed operations)
  bool opSelectHigh : 1 = false; ///< op_sel_hi of packed operations
  bool signExtend : 1 = false;   ///< SDWA sext
  uint16_t reg = 0;
  uint32_t value = 0;
  SdwaSelect select = SdwaSelect::Dword;

  bool modified() const { return negate || absolute; }
};

/// DPP16 controls (gfx9: no fetch-inactive bit).
struct DppControl {
  uint16_t control = 0; ///< 9 bits
  uint8_t rowMask = 15, bankMask = 15;
  bool boundControl = false; ///< lanes without a source read 0 instead of staying unwritten
};

/// Fields of memory instructions.
struct MemoryFields {
  int32_t offset = 0;
  uint8_t offset1 = 0;  ///< DS: second of two 8-bit offsets; `offset` is the whole 16 bits
  uint16_t address = 0; ///< first address VGPR
  uint16_t data = 0;    ///< store data or load result VGPR (accumulation registers + 256)
  uint16_t data1 = 0;   ///< DS: second data VGPR
  uint8_t scalarAddress =
      0x7f;            ///< FLAT: SGPR base, 0x7f: none. MUBUF: first SGPR of the descriptor
  uint8_t segment = 0; ///< FLAT: 0 flat, 1 scratch, 2 global
  bool offsetEnable = false, indexEnable = false; ///< MUBUF offen, idxen
  bool lds = false;                               ///< data goes to LDS
  bool sc0 = false, sc1 = false, nt = false;      ///< sc0 on an atomic: return the old value
  bool scratchVaddr = false;                      ///< scratch: the address VGPR counts (SVE)
  Operand scalarOffset;                           ///< MUBUF soffset
};

/// Zeroed memory is a valid, not yet decoded instruction. What most instructions need while they
/// execute comes first: one cache line of the host.
struct alignas(64) Instruction {
  ExecuteFunction execute = nullptr; ///< null: not decoded yet; see Text::decode for threads
  uint16_t destination = 0;          ///< VGPR (0..511) or SGPR, as the operation has it
  uint8_t size = 0;                  ///< in dwords
  Encoding encoding = Encoding::SOPP;
  /// Nothing but plain operands: no modifiers, no clamp or omod, no op_sel, no SDWA, no DPP.
  bool plain = true;
  /// The same, but operands may have neg and abs.
  bool simple = true;
  Extension extension = Extension::None;
  /// Of a vector encoding: `destination` is a scalar register nevertheless (compares, lane reads).
  bool scalarResult = false;
  uint8_t scalarDestination = 0;        ///< VOP3B and SDWA compares: SGPR pair of the carry or mask
  uint16_t immediate = 0;               ///< SOPK, SOPP
  uint8_t cbsz = 0, abid = 0, blgp = 0; ///< MAI
  bool clamp = false;
  Operand source[3];
  uint8_t outputModifier = 0;   ///< omod: 1 times 2, 2 times 4, 3 divided by 2
  bool destinationHigh = false; ///< op_sel[3]: the result goes to the upper half
  SdwaSelect destinationSelect = SdwaSelect::Dword;
  uint8_t destinationUnused = 0; ///< SDWA: 0 pad with zero, 1 sign-extend, 2 preserve
  DppControl dpp;
  MemoryFields memory;
  uint32_t literal = 0; ///< the 32-bit literal, if there is one (also K of fmamk, fmaak)
  uint32_t words[4] = {0, 0, 0, 0}; ///< the encoding; a literal or SDWA/DPP word is words[1]
};

static_assert(offsetof(Instruction, source) + sizeof(Instruction::source) <= 64);

} // namespace hocket::sim
