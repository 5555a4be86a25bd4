// Operands of packed instructions (VOP3P): two values in one register, or a pair of registers for
// the f32 forms.
//
// op_sel chooses the half that the low result reads and op_sel_hi the half for the high result;
// neg_lo and neg_hi negate them (Operand::negate and ::absolute). Inline constants stand in the low
// half: float constants with a zero high half, integers as 32 bits.
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// Integer packed operations take inline constants as 32 bits, f16 ones as f16 bits.
inline constexpr OperandType packedInteger = {32, false, true};

/// The two 16-bit halves that the low and the high result use, in the low bits of each lane.
struct PackedHalves {
  LaneWords low, high;
  HOCKET_SIM_INLINE PackedHalves(const Wave &wave, const Instruction &in, unsigned index,
                                 OperandType type) {
    const Operand &operand = in.source[index];
    LaneWords buffer;
    const u32 *from = readPlain(wave, operand, 0, type, buffer);
    unsigned lowShift = operand.opSelect ? 16 : 0, highShift = operand.opSelectHigh ? 16 : 0;
    u32 lowSign = type.isFloat && operand.negate ? 0x8000 : 0;
    u32 highSign = type.isFloat && operand.absolute ? 0x8000 : 0;
    for (unsigned i = 0; i < 64; ++i) {
      low.lane[i] = (from[i] >> lowShift & 0xffff) ^ lowSign;
      high.lane[i] = (from[i] >> highShift & 0xffff) ^ highSign;
    }
  }
};

/// One half of a packed f32 operand: a register of the pair, or a constant for both halves.
struct PackedFloat {
  LaneWords words;
  HOCKET_SIM_INLINE PackedFloat(const Wave &wave, const Operand &operand, bool high) {
    unsigned word = high ? operand.opSelectHigh : operand.opSelect;
    u32 sign = (high ? operand.absolute : operand.negate) ? 0x80000000 : 0;
    bool pair = operand.kind == OperandKind::Vgpr || operand.kind == OperandKind::Sgpr;
    LaneWords buffer;
    const u32 *from = readPlain(wave, operand, pair ? word : 0, operandType<f32>, buffer);
    for (unsigned i = 0; i < 64; ++i)
      words.lane[i] = from[i] ^ sign;
  }
  HOCKET_SIM_INLINE f32 operator[](unsigned lane) const { return bitCast<f32>(words.lane[lane]); }
};

/// A float result under the clamp bit.
HOCKET_SIM_INLINE f32 clampFloat(f32 value, bool dx10) {
  if (value != value)
    return dx10 ? 0.0f : value;
  return value <= 0.0f ? 0.0f : value > 1.0f ? 1.0f : value;
}

} // namespace hocket::sim::HOCKET_SIM_ISA
