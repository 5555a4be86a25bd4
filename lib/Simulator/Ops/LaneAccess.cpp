// The general way of reading and writing vector operands: modifiers, op_sel, SDWA, DPP, clamp,
// omod. Slow next to the plain path in Lanes.h, and only taken by instructions that ask for it.
#include "Masks.h"

namespace hocket::sim::HOCKET_SIM_ISA {

u32 uniformWord(const Wave &wave, const Operand &operand, unsigned word, OperandType type) {
  return scalarWord(wave, operand, word, type.bits, type.isFloat, type.isSigned);
}

const u32 *applySigns(const u32 *from, const Operand &operand, u32 sign, LaneWords &buffer) {
  u32 keep = operand.absolute ? ~sign : ~0u, flip = operand.negate ? sign : 0;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    buffer.lane[i] = (from[i] & keep) ^ flip;
  return buffer.lane;
}

/// The lane that DPP control `control` lets `lane` read, or -1: none.
static int dppSource(unsigned control, unsigned lane) {
  unsigned row = lane & ~15u, inRow = lane & 15;
  unsigned amount = control & 15;
  if (control < 0x100) // quad_perm
    return static_cast<int>((lane & ~3u) | (control >> (2 * (lane & 3)) & 3));
  switch (control & 0x1f0) {
  case 0x100: // row_shl
    return inRow + amount < 16 ? static_cast<int>(lane + amount) : -1;
  case 0x110: // row_shr
    return inRow >= amount ? static_cast<int>(lane - amount) : -1;
  case 0x120: // row_ror
    return static_cast<int>(row | ((inRow - amount) & 15));
  case 0x150: // row_newbcast
    return static_cast<int>(row | amount);
  }
  switch (control) {
  case 0x130: // wave_shl:1
    return lane < 63 ? static_cast<int>(lane + 1) : -1;
  case 0x134: // wave_rol:1
    return static_cast<int>((lane + 1) & 63);
  case 0x138: // wave_shr:1
    return lane > 0 ? static_cast<int>(lane - 1) : -1;
  case 0x13c: // wave_ror:1
    return static_cast<int>((lane - 1) & 63);
  case 0x140: // row_mirror
    return static_cast<int>(row | (15 - inRow));
  case 0x141: // row_half_mirror
    return static_cast<int>((lane & ~7u) | (7 - (lane & 7)));
  case 0x142: // row_bcast:15
    return row > 0 ? static_cast<int>(row - 1) : -1;
  case 0x143: // row_bcast:31
    return lane >= 32 ? 31 : -1;
  }
  return -1;
}

static bool readable(u64 exec, int lane) { return lane >= 0 && (exec >> lane & 1); }

/// Moves the lanes of `words` as DPP says. A lane without a source, or with an inactive one, reads
/// 0.
static void permute(const Wave &wave, const Instruction &in, LaneWords &words) {
  LaneWords from = words;
  u64 exec = wave.exec();
  for (unsigned lane = 0; lane < 64; ++lane) {
    int source = dppSource(in.dpp.control, lane);
    words.lane[lane] = readable(exec, source) ? from.lane[source] : 0;
  }
}

u64 writeMaskGeneral(const Wave &wave, const Instruction &in) {
  u64 mask = wave.exec();
  if (in.extension != Extension::DPP)
    return mask;
  u64 exec = mask;
  for (unsigned lane = 0; lane < 64; ++lane) {
    bool row = in.dpp.rowMask >> (lane / 16) & 1;
    bool bank = in.dpp.bankMask >> (lane % 16 / 4) & 1;
    bool source = in.dpp.boundControl || readable(exec, dppSource(in.dpp.control, lane));
    if (!row || !bank || !source)
      mask &= ~(u64(1) << lane);
  }
  return mask;
}

static u32 selectSdwa(u32 word, SdwaSelect select, bool signExtend) {
  auto index = static_cast<unsigned>(select);
  if (select == SdwaSelect::Dword)
    return word;
  if (index < 4) {
    u32 byte = word >> (8 * index) & 0xff;
    return signExtend ? static_cast<u32>(static_cast<i32>(static_cast<i8>(byte))) : byte;
  }
  u32 half = word >> (16 * (index - 4)) & 0xffff;
  return signExtend ? static_cast<u32>(static_cast<i32>(static_cast<i16>(half))) : half;
}

void readGeneral(const Wave &wave, const Instruction &in, unsigned index, OperandType type,
                 LaneWords &low, LaneWords &high) {
  const Operand &operand = in.source[index];
  bool wide = type.bits == 64;
  auto load = [&](LaneWords &to, unsigned word) {
    LaneWords buffer;
    const u32 *from = readPlain(wave, operand, word, type, buffer);
    for (unsigned i = 0; i < 64; ++i)
      to.lane[i] = from[i];
  };
  load(low, 0);
  if (wide)
    load(high, 1);
  if (in.extension == Extension::DPP && index == 0) {
    permute(wave, in, low);
    if (wide)
      permute(wave, in, high);
  }
  if (in.extension == Extension::SDWA)
    for (unsigned i = 0; i < 64; ++i)
      low.lane[i] = selectSdwa(low.lane[i], operand.select, operand.signExtend);
  if (operand.opSelect && type.bits == 16)
    for (unsigned i = 0; i < 64; ++i)
      low.lane[i] >>= 16;
  if (!type.isFloat || !operand.modified())
    return;
  u32 sign = type.bits == 16 ? 0x8000u : 0x80000000u;
  LaneWords &top = wide ? high : low;
  applySigns(top.lane, operand, sign, top);
}

template <class T> static T modifyResult(T value, unsigned omod, bool clamp, bool dx10) {
  value = omod == 1 ? value * T(2) : omod == 2 ? value * T(4) : omod == 3 ? value * T(0.5) : value;
  if (!clamp)
    return value;
  if (value != value)
    return dx10 ? T(0) : value;
  return value < T(0) || value == T(0) ? T(0) : value > T(1) ? T(1) : value;
}

static void modifyFloats(const Wave &wave, const Instruction &in, OperandType type, LaneWords &low,
                         LaneWords &high) {
  unsigned omod = in.outputModifier;
  bool clamp = in.clamp, dx10 = wave.mode.dx10Clamp();
  for (unsigned i = 0; i < 64; ++i) {
    if (type.bits == 64) {
      f64 value = modifyResult(fromWords<f64>(low.lane[i], high.lane[i]), omod, clamp, dx10);
      low.lane[i] = lowWord(value);
      high.lane[i] = highWord(value);
    } else if (type.bits == 32) {
      low.lane[i] = lowWord(modifyResult(bitCast<f32>(low.lane[i]), omod, clamp, dx10));
    } else {
      f32 value = halfToFloat({static_cast<u16>(low.lane[i])});
      low.lane[i] = floatToHalf(modifyResult(value, omod, clamp, dx10)).bits;
    }
  }
}

/// Merges a narrow result into the old register as the SDWA destination fields say.
static u32 mergeSdwa(const Instruction &in, u32 result, u32 old) {
  auto index = static_cast<unsigned>(in.destinationSelect);
  if (in.destinationSelect == SdwaSelect::Dword)
    return result;
  unsigned width = index < 4 ? 8 : 16, shift = index < 4 ? 8 * index : 16 * (index - 4);
  u32 field = (u32(1) << width) - 1;
  u32 value = (result & field) << shift;
  if (in.destinationUnused == 2)
    return (old & ~(field << shift)) | value;
  bool negative = in.destinationUnused == 1 && (result >> (width - 1) & 1);
  u32 above = static_cast<u32>(~u64(0) << (shift + width));
  return negative ? value | above : value;
}

void writeGeneral(Wave &wave, const Instruction &in, OperandType type, LaneWords &low,
                  LaneWords &high, u64 mask, bool keepHigh) {
  if (type.isFloat && (in.outputModifier || in.clamp))
    modifyFloats(wave, in, type, low, high);
  u32 *to = wave.vgpr[in.destination];
  if (in.extension == Extension::SDWA) {
    for (unsigned i = 0; i < 64; ++i)
      low.lane[i] = mergeSdwa(in, low.lane[i], to[i]);
  } else if (in.encoding == Encoding::VOP3 && in.destinationHigh) {
    for (unsigned i = 0; i < 64; ++i)
      low.lane[i] = (to[i] & 0xffff) | low.lane[i] << 16;
  } else if (keepHigh && type.bits == 16) {
    for (unsigned i = 0; i < 64; ++i)
      low.lane[i] = (to[i] & 0xffff0000) | (low.lane[i] & 0xffff);
  }
  blend(to, low.lane, mask);
  if (type.bits == 64)
    blend(wave.vgpr[in.destination + 1], high.lane, mask);
}

#if defined(__x86_64__)
static constexpr unsigned hostRounding[4] = {_MM_ROUND_NEAREST, _MM_ROUND_UP, _MM_ROUND_DOWN,
                                             _MM_ROUND_TOWARD_ZERO};

FloatScope::FloatScope(const Wave &wave, bool wide) : saved(_mm_getcsr()) {
  unsigned round = wide ? wave.mode.round64() : wave.mode.round32();
  unsigned denormal = wide ? wave.mode.denormal64() : wave.mode.denormal32();
  unsigned control = saved & ~(_MM_ROUND_MASK | _MM_FLUSH_ZERO_MASK | 0x40u);
  control |= hostRounding[round];
  if (!(denormal & 1))
    control |= 0x40; // inputs
  if (!(denormal & 2))
    control |= _MM_FLUSH_ZERO_ON;
  _mm_setcsr(control);
}
FloatScope::~FloatScope() { _mm_setcsr(saved); }
#else
FloatScope::FloatScope(const Wave &, bool) : saved(0) {}
FloatScope::~FloatScope() = default;
#endif

static bool hasDefaultHalves(const Wave &wave) { return wave.mode.round64() == 0 && wave.mode.denormal64() == 3; }

bool refuseHalfMode(Wave &wave, const Instruction &in) {
  if (hasDefaultHalves(wave) && !wave.mode.fp16Overflow())
    return false;
  failWave(wave, in,
           "is f16 arithmetic in a rounding, denormal or overflow mode that is not implemented");
  return true;
}

/// Points to operand `index`: in place where nothing changes it, else in `buffer`.
static void pointToOperand(const Wave &wave, const Instruction &in, unsigned index,
                           OperandType type, LaneWords (&buffer)[2], const u32 *(&words)[2]) {
  const Operand &operand = in.source[index];
  bool changed =
      in.extension != Extension::None || operand.opSelect || (type.isFloat && operand.modified());
  if (changed) {
    readGeneral(wave, in, index, type, buffer[0], buffer[1]);
    words[0] = buffer[0].lane;
    words[1] = buffer[1].lane;
    return;
  }
  words[0] = readPlain(wave, operand, 0, type, buffer[0]);
  words[1] = words[0];
  if (type.bits == 64)
    words[1] = readPlain(wave, operand, 1, type, buffer[1]);
}

static bool givesHalf(const LaneSignature &signature) { return signature.result.isFloat && signature.result.bits == 16; }

/// Whether it is an infinity or no number.
static bool isSpecial(OperandType type, u32 low, u32 high) {
  if (!type.isFloat)
    return false;
  const u32 exponent = type.bits == 16 ? 0x7c00u : type.bits == 32 ? 0x7f800000u : 0x7ff00000u;
  return ((type.bits == 64 ? high : low) & exponent) == exponent;
}

/// MODE.FP16_OVFL: results that overflowed become the largest number; infinities of infinities stay (CDNA3 ISA, VOP3).
static void clampHalves(const LaneSignature &signature, const OperandWords &operands, LaneWords &results) {
  constexpr u32 infinity = 0x7c00, largest = 0x7bff, sign = 0x8000;
  for (unsigned lane = 0; lane != 64; ++lane) {
    u32 &result = results.lane[lane];
    bool isTrue = false;
    for (unsigned i = 0; i != signature.count; ++i)
      isTrue |= isSpecial(signature.argument[i], operands.word[i][0][lane], operands.word[i][1][lane]);
    if ((result & (sign - 1)) == infinity && !isTrue)
      result = (result & ~(sign - 1)) | largest;
  }
}

static void runInScope(Wave &wave, const Instruction &in, const LaneSignature &signature,
                       bool keepHigh) {
  LaneWords words[3][2], low, high;
  OperandWords operands;
  for (unsigned i = 0; i < signature.count; ++i)
    pointToOperand(wave, in, i, signature.argument[i], words[i], operands.word[i]);
  u64 mask = writeMaskGeneral(wave, in);
  signature.loop(low.lane, high.lane, operands);
  if (givesHalf(signature) && wave.mode.fp16Overflow())
    clampHalves(signature, operands, low);
  writeGeneral(wave, in, signature.result, low, high, mask, keepHigh);
}

void runGeneral(Wave &wave, const Instruction &in, const LaneSignature &signature, bool keepHigh) {
  if (!signature.anyFloat || wave.mode.isDefault())
    return runInScope(wave, in, signature, keepHigh);
  if (signature.anyHalf && !hasDefaultHalves(wave)) {
    refuseHalfMode(wave, in);
    return;
  }
  FloatScope scope(wave, signature.anyWide);
  runInScope(wave, in, signature, keepHigh);
}

static u64 maskSimple(Wave &wave, const Instruction &in, const LaneSignature &signature) {
  LaneWords buffer[3][2], flags;
  OperandWords operands;
  for (unsigned i = 0; i < signature.count; ++i) {
    OperandType type = signature.argument[i];
    const Operand &operand = in.source[i];
    const u32 *(&words)[2] = operands.word[i];
    words[0] = readPlain(wave, operand, 0, type, buffer[i][0]);
    bool wide = type.bits == 64;
    if (wide)
      words[1] = readPlain(wave, operand, 1, type, buffer[i][1]);
    if (type.isFloat && operand.modified())
      words[wide] =
          applySigns(words[wide], operand, type.bits == 16 ? 0x8000 : 0x80000000, buffer[i][wide]);
  }
  signature.loop(flags.lane, flags.lane, operands);
  return maskOfSigns(flags);
}

static u64 maskInScope(Wave &wave, const Instruction &in, const LaneSignature &signature) {
  LaneWords words[3][2], flags;
  OperandWords operands;
  for (unsigned i = 0; i < signature.count; ++i) {
    readGeneral(wave, in, i, signature.argument[i], words[i][0], words[i][1]);
    operands.word[i][0] = words[i][0].lane;
    operands.word[i][1] = words[i][1].lane;
  }
  signature.loop(flags.lane, flags.lane, operands);
  return maskOfSigns(flags);
}

u64 maskOfLanes(Wave &wave, const Instruction &in, const LaneSignature &signature) {
  bool usual = !signature.anyFloat || wave.mode.isDefault();
  if (in.simple && usual) [[likely]]
    return maskSimple(wave, in, signature);
  if (usual)
    return maskInScope(wave, in, signature);
  FloatScope scope(wave, signature.anyWide);
  return maskInScope(wave, in, signature);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
