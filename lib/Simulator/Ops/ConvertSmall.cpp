// Conversions to and from fp8, bf8, fp6, bf6 and fp4 (CDNA3 ISA 12.10, CDNA4 ISA).
//
// The scalef32 family divides by a power of two on the way down and multiplies on the way up: the
// exponent field of an f32 operand, of which 255 makes the result NaN. Which half or byte is read
// or written is in op_sel; other bits of a destination stay. The chained random numbers of packed
// stochastic forms are v_prng_b32's.
#include "Families.h"
#include "SmallFloat.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// Result types of conversions upwards.
struct ToFloat {
  static constexpr unsigned bits = 32;
  HOCKET_SIM_INLINE static u32 make(f64 x) { return bitCast<u32>(static_cast<f32>(x)); }
};
struct ToHalf {
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static u32 make(f64 x) { return doubleToHalf(x).bits; }
};
struct ToBfloat {
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static u32 make(f64 x) { return floatToBfloat(static_cast<f32>(x)); }
};

/// Source types of conversions downwards, `make` from the raw bits.
struct FromFloat {
  static constexpr unsigned bits = 32;
  HOCKET_SIM_INLINE static f64 make(u32 word) { return f64(bitCast<f32>(word)); }
};
struct FromHalf {
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static f64 make(u32 word) { return halfToFloat({static_cast<u16>(word)}); }
};
struct FromBfloat {
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static f64 make(u32 word) { return bfloatToFloat(static_cast<u16>(word)); }
};

HOCKET_SIM_INLINE unsigned scaleField(f32 scale) { return bitCast<u32>(scale) >> 23 & 0xff; }
HOCKET_SIM_INLINE f64 multiplier(f32 scale) {
  unsigned field = scaleField(scale);
  return field == 255 ? bitCast<f64>(u64(0x7ff8) << 48) : powerOfTwo(int(field) - 127);
}
HOCKET_SIM_INLINE f64 divisor(f32 scale) {
  unsigned field = scaleField(scale);
  return field == 255 ? bitCast<f64>(u64(0x7ff8) << 48) : powerOfTwo(127 - int(field));
}

HOCKET_SIM_INLINE u32 nextPseudoRandom(u32 x) { return x << 1 ^ (x >> 31 ? 197 : 0); }

/// MODE.FP16_OVFL.
static bool saturates(const Wave &wave) { return wave.mode.bits >> 23 & 1; }

/// `Clamped` if MODE.FP16_OVFL is set, else `Other`.
template <ExecuteFunction Clamped, ExecuteFunction Other>
static void byOverflow(Wave &wave, const Instruction &in) {
  (saturates(wave) ? Clamped : Other)(wave, in);
}

/// Operands of an instruction, with modifiers, in the lane function's types.
struct GeneralOperands {
  LaneWords words[3][2];
  OperandWords pointers;
  GeneralOperands(const Wave &wave, const Instruction &in, const LaneSignature &signature) {
    for (unsigned i = 0; i < signature.count; ++i) {
      readGeneral(wave, in, i, signature.argument[i], words[i][0], words[i][1]);
      pointers.word[i][0] = words[i][0].lane;
      pointers.word[i][1] = words[i][1].lane;
    }
  }
};

/// `F` gives one byte, which op_sel[3:2] places in the destination.
template <auto F> static void toByte(Wave &wave, const Instruction &in) {
  const LaneSignature &signature = detail::LaneFunctionOf<F>::signature;
  GeneralOperands operands(wave, in, signature);
  LaneWords result, none;
  signature.loop(result.lane, none.lane, operands.pointers);
  unsigned shift = 8 * (in.source[2].opSelect + 2 * in.destinationHigh);
  u32 *to = wave.vgpr[in.destination];
  for (unsigned i = 0; i < 64; ++i)
    result.lane[i] = (to[i] & ~(0xffu << shift)) | (result.lane[i] & 0xff) << shift;
  blend(to, result.lane, wave.exec());
}

/// `F` takes the byte of source 0 that op_sel[1:0] chooses, then the other operands.
template <auto F> static void fromByte(Wave &wave, const Instruction &in) {
  const LaneSignature &signature = detail::LaneFunctionOf<F>::signature;
  GeneralOperands operands(wave, in, signature);
  unsigned shift = 8 * (in.source[0].opSelect + 2 * in.source[1].opSelect);
  for (unsigned i = 0; i < 64; ++i)
    operands.words[0][0].lane[i] = operands.words[0][0].lane[i] >> shift & 0xff;
  LaneWords low, high;
  signature.loop(low.lane, high.lane, operands.pointers);
  writeGeneral(wave, in, signature.result, low, high, wave.exec(), /*keepHigh=*/true);
}

/// The lane functions for an 8-bit format; `S`: saturate.
template <SmallFormat F, bool S> struct Byte {
  HOCKET_SIM_INLINE static u32 nearest(f64 x) { return encodeSmall<F>(x, S, false, 0); }
  HOCKET_SIM_INLINE static u32 random(f64 x, u32 r) { return encodeSmall<F>(x, S, true, r); }
  HOCKET_SIM_INLINE static u16 pair(f64 low, f64 high) {
    return static_cast<u16>(nearest(low) | nearest(high) << 8);
  }
  static constexpr auto packed = [](f32 a, f32 b) { return pair(a, b); };
  static constexpr auto stochastic = [](f32 a, u32 r) { return random(a, r); };
  static constexpr auto scaledFloats = [](f32 a, f32 b, f32 scale) {
    return pair(a * divisor(scale), b * divisor(scale));
  };
  template <class From>
  static constexpr auto scaledPair = [](u32 ab, f32 scale) {
    return pair(From::make(ab & 0xffff) * divisor(scale), From::make(ab >> 16) * divisor(scale));
  };
  static constexpr auto scaledStochastic = [](f32 a, u32 r, f32 scale) {
    return random(a * divisor(scale), r);
  };
  template <class From>
  static constexpr auto scaledStochasticHalf =
      [](u16 a, u32 r, f32 scale) { return random(From::make(a) * divisor(scale), r); };
};

/// All conversions down to an 8-bit format; `names` in the order below.
template <SmallFormat F> static void registerToByte(OpTable &table, const char *const (&names)[8]) {
  using C = Byte<F, true>;
  using O = Byte<F, false>;
  table.add(names[0], byOverflow<lanesKeepHalf<C::packed>, lanesKeepHalf<O::packed>>);
  table.add(names[1], byOverflow<toByte<C::stochastic>, toByte<O::stochastic>>);
  table.add(names[2], byOverflow<lanesKeepHalf<C::scaledFloats>, lanesKeepHalf<O::scaledFloats>>);
  table.add(names[3], byOverflow<lanesKeepHalf<C::template scaledPair<FromHalf>>,
                                 lanesKeepHalf<O::template scaledPair<FromHalf>>>);
  table.add(names[4], byOverflow<lanesKeepHalf<C::template scaledPair<FromBfloat>>,
                                 lanesKeepHalf<O::template scaledPair<FromBfloat>>>);
  table.add(names[5], byOverflow<toByte<C::scaledStochastic>, toByte<O::scaledStochastic>>);
  table.add(names[6], byOverflow<toByte<C::template scaledStochasticHalf<FromHalf>>,
                                 toByte<O::template scaledStochasticHalf<FromHalf>>>);
  table.add(names[7], byOverflow<toByte<C::template scaledStochasticHalf<FromBfloat>>,
                                 toByte<O::template scaledStochasticHalf<FromBfloat>>>);
}

/// Two scaled values of `F` from the low bits of `packed`: a u64 of f32 or a u32 of 16-bit ones.
template <SmallFormat F, class To> HOCKET_SIM_INLINE auto unpackPair(u32 packed, f32 scale) {
  f64 factor = multiplier(scale);
  u32 low = To::make(decodeSmall<F>(packed) * factor);
  u32 high = To::make(decodeSmall<F>(packed >> F.bits()) * factor);
  if constexpr (To::bits == 32)
    return low | u64(high) << 32;
  else
    return low | high << 16;
}

/// An 8-bit source pair is a half of the register, chosen by op_sel[0] as for any 16-bit type.
template <SmallFormat F, class To>
static constexpr auto scaledPairUp =
    [](u16 pair, f32 scale) { return unpackPair<F, To>(pair, scale); };
template <SmallFormat F, class To>
static constexpr auto scaledNibblesUp =
    [](u32 byte, f32 scale) { return unpackPair<F, To>(byte, scale); };

/// Two 8-bit floats as two f32.
template <SmallFormat F> HOCKET_SIM_INLINE u64 pairUp(u32 pair) {
  u64 high = bitCast<u32>(decodeSmall<F>(pair >> 8));
  return bitCast<u32>(decodeSmall<F>(pair)) | high << 32;
}

/// All conversions up from an 8-bit format.
template <SmallFormat F>
static void registerFromByte(OpTable &table, const char *const (&names)[7]) {
  table.add(names[0], lanes<[](u32 a) { return decodeSmall<F>(a); }>);
  table.add(names[1], lanes<[](u32 a) { return pairUp<F>(a); }>);
  table.add(names[2], lanes<scaledPairUp<F, ToFloat>>);
  table.add(names[3], lanes<scaledPairUp<F, ToHalf>>);
  table.add(names[4], lanes<scaledPairUp<F, ToBfloat>>);
  table.add(names[5], fromByte<[](u32 byte, f32 scale) {
              return static_cast<f32>(decodeSmall<F>(byte) * multiplier(scale));
            }>);
  table.add(names[6], fromByte<[](u32 byte, f32 scale) {
              return doubleToHalf(decodeSmall<F>(byte) * multiplier(scale));
            }>);
}

HOCKET_SIM_INLINE u32 nibblePair(f64 low, f64 high, bool stochastic, u32 random) {
  u32 first = encodeSmall<e2m1>(low, true, stochastic, random);
  return first | encodeSmall<e2m1>(high, true, stochastic, nextPseudoRandom(random)) << 4;
}
template <class From, bool Stochastic>
HOCKET_SIM_INLINE u32 nibblesOf(u32 ab, f32 scale, u32 random) {
  f64 factor = divisor(scale);
  return nibblePair(From::make(ab & 0xffff) * factor, From::make(ab >> 16) * factor, Stochastic,
                    random);
}

static void registerNibbles(OpTable &table) {
  table.add("v_cvt_scalef32_pk_fp4_f32", toByte<[](f32 a, f32 b, f32 scale) {
              return nibblePair(a * divisor(scale), b * divisor(scale), false, 0);
            }>);
  table.add("v_cvt_scalef32_pk_fp4_f16",
            toByte<[](u32 ab, f32 scale) { return nibblesOf<FromHalf, false>(ab, scale, 0); }>);
  table.add("v_cvt_scalef32_pk_fp4_bf16",
            toByte<[](u32 ab, f32 scale) { return nibblesOf<FromBfloat, false>(ab, scale, 0); }>);
  table.add("v_cvt_scalef32_sr_pk_fp4_f32", toByte<[](u64 ab, u32 random, f32 scale) {
              f64 factor = divisor(scale), low = bitCast<f32>(static_cast<u32>(ab));
              f64 high = bitCast<f32>(static_cast<u32>(ab >> 32));
              return nibblePair(low * factor, high * factor, true, random);
            }>);
  table.add("v_cvt_scalef32_sr_pk_fp4_f16", toByte<[](u32 ab, u32 random, f32 scale) {
              return nibblesOf<FromHalf, true>(ab, scale, random);
            }>);
  table.add("v_cvt_scalef32_sr_pk_fp4_bf16", toByte<[](u32 ab, u32 random, f32 scale) {
              return nibblesOf<FromBfloat, true>(ab, scale, random);
            }>);
  table.add("v_cvt_scalef32_pk_f32_fp4", fromByte<scaledNibblesUp<e2m1, ToFloat>>);
  table.add("v_cvt_scalef32_pk_f16_fp4", fromByte<scaledNibblesUp<e2m1, ToHalf>>);
  table.add("v_cvt_scalef32_pk_bf16_fp4", fromByte<scaledNibblesUp<e2m1, ToBfloat>>);
}

/// One lane's 32 elements of 6 bits in 6 words.
struct SixBits {
  u32 words[7] = {};
  HOCKET_SIM_INLINE void put(unsigned index, u32 element) {
    unsigned bit = 6 * index;
    u64 shifted = u64(element) << (bit % 32);
    words[bit / 32] |= static_cast<u32>(shifted);
    words[bit / 32 + 1] |= static_cast<u32>(shifted >> 32);
  }
  HOCKET_SIM_INLINE u32 get(unsigned index) const {
    unsigned bit = 6 * index;
    u64 pair = words[bit / 32] | u64(words[bit / 32 + 1]) << 32;
    return pair >> (bit % 32) & 63;
  }
};

/// Word `lane` of each lane of a scalar-or-vector operand.
static void readUniform(const Wave &wave, const Instruction &in, unsigned index, LaneWords &to) {
  LaneWords buffer;
  const u32 *from = readPlain(wave, in.source[index], 0, operandType<f32>, buffer);
  __builtin_memcpy(to.lane, from, sizeof(to.lane));
}

/// Where the 32 elements of a conversion down to 6 bits come from.
enum class SixSource : u8 {
  Sequence,    ///< source 0; source 1 is the scale
  Random,      ///< source 0; source 1 is a random number, source 2 the scale
  Interleaved, ///< sources 0 and 1 in turn; source 2 is the scale
};

template <SmallFormat F, class From, SixSource Source>
static void toSix(Wave &wave, const Instruction &in) {
  LaneWords scale, random;
  readUniform(wave, in, Source == SixSource::Sequence ? 1 : 2, scale);
  if (Source == SixSource::Random)
    readUniform(wave, in, 1, random);
  unsigned first = in.source[0].reg, second = in.source[1].reg;
  for (u64 left = wave.exec(); left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    f64 factor = divisor(bitCast<f32>(scale.lane[lane]));
    u32 noise = Source == SixSource::Random ? random.lane[lane] : 0;
    SixBits packed;
    for (unsigned e = 0; e < 32; ++e) {
      unsigned reg = Source == SixSource::Interleaved ? (e % 2 ? second : first) + e / 2
                                                      : first + e * From::bits / 32;
      u32 word = wave.vgpr[reg][lane];
      u32 raw = From::bits == 16 ? word >> (16 * (e % 2)) & 0xffff : word;
      f64 value = From::make(raw) * factor;
      packed.put(e, encodeSmall<F>(value, true, Source == SixSource::Random, noise));
      noise = nextPseudoRandom(noise);
    }
    for (unsigned w = 0; w < 6; ++w)
      wave.vgpr[in.destination + w][lane] = packed.words[w];
  }
}

template <SmallFormat F, class To> static void fromSix(Wave &wave, const Instruction &in) {
  LaneWords scale;
  readUniform(wave, in, 1, scale);
  for (u64 left = wave.exec(); left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    f64 factor = multiplier(bitCast<f32>(scale.lane[lane]));
    SixBits packed;
    for (unsigned w = 0; w < 6; ++w)
      packed.words[w] = wave.vgpr[in.source[0].reg + w][lane];
    u32 words[32] = {};
    for (unsigned e = 0; e < 32; ++e) {
      u32 result = To::make(decodeSmall<F>(packed.get(e)) * factor);
      words[e * To::bits / 32] |= result << (To::bits == 16 ? 16 * (e % 2) : 0);
    }
    for (unsigned w = 0; w < To::bits; ++w)
      wave.vgpr[in.destination + w][lane] = words[w];
  }
}

/// All conversions between a 6-bit format and wider ones.
template <SmallFormat F> static void registerSix(OpTable &table, const char *const (&names)[9]) {
  table.add(names[0], toSix<F, FromFloat, SixSource::Interleaved>);
  table.add(names[1], toSix<F, FromHalf, SixSource::Sequence>);
  table.add(names[2], toSix<F, FromBfloat, SixSource::Sequence>);
  table.add(names[3], toSix<F, FromFloat, SixSource::Random>);
  table.add(names[4], toSix<F, FromHalf, SixSource::Random>);
  table.add(names[5], toSix<F, FromBfloat, SixSource::Random>);
  table.add(names[6], fromSix<F, ToFloat>);
  table.add(names[7], fromSix<F, ToHalf>);
  table.add(names[8], fromSix<F, ToBfloat>);
}

/// The forms of gfx942, which has no scales. `names`: packed down, stochastic, up, packed up.
template <SmallFormat F> static void registerFnuz(OpTable &table, const char *const (&names)[4]) {
  using C = Byte<F, true>;
  using O = Byte<F, false>;
  table.addFnuz(names[0], byOverflow<lanesKeepHalf<C::packed>, lanesKeepHalf<O::packed>>);
  table.addFnuz(names[1], byOverflow<toByte<C::stochastic>, toByte<O::stochastic>>);
  table.addFnuz(names[2], lanes<[](u32 a) { return decodeSmall<F>(a); }>);
  table.addFnuz(names[3], lanes<[](u32 a) { return pairUp<F>(a); }>);
}

void registerConvertSmall(OpTable &table) {
  registerToByte<e4m3>(table, {"v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", "v_cvt_scalef32_pk_fp8_f32",
                               "v_cvt_scalef32_pk_fp8_f16", "v_cvt_scalef32_pk_fp8_bf16",
                               "v_cvt_scalef32_sr_fp8_f32", "v_cvt_scalef32_sr_fp8_f16",
                               "v_cvt_scalef32_sr_fp8_bf16"});
  registerToByte<e5m2>(table, {"v_cvt_pk_bf8_f32", "v_cvt_sr_bf8_f32", "v_cvt_scalef32_pk_bf8_f32",
                               "v_cvt_scalef32_pk_bf8_f16", "v_cvt_scalef32_pk_bf8_bf16",
                               "v_cvt_scalef32_sr_bf8_f32", "v_cvt_scalef32_sr_bf8_f16",
                               "v_cvt_scalef32_sr_bf8_bf16"});
  registerFromByte<e4m3>(table, {"v_cvt_f32_fp8", "v_cvt_pk_f32_fp8", "v_cvt_scalef32_pk_f32_fp8",
                                 "v_cvt_scalef32_pk_f16_fp8", "v_cvt_scalef32_pk_bf16_fp8",
                                 "v_cvt_scalef32_f32_fp8", "v_cvt_scalef32_f16_fp8"});
  registerFromByte<e5m2>(table, {"v_cvt_f32_bf8", "v_cvt_pk_f32_bf8", "v_cvt_scalef32_pk_f32_bf8",
                                 "v_cvt_scalef32_pk_f16_bf8", "v_cvt_scalef32_pk_bf16_bf8",
                                 "v_cvt_scalef32_f32_bf8", "v_cvt_scalef32_f16_bf8"});
  registerFnuz<e4m3Fnuz>(
      table, {"v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", "v_cvt_f32_fp8", "v_cvt_pk_f32_fp8"});
  registerFnuz<e5m2Fnuz>(
      table, {"v_cvt_pk_bf8_f32", "v_cvt_sr_bf8_f32", "v_cvt_f32_bf8", "v_cvt_pk_f32_bf8"});
  registerNibbles(table);
  registerSix<e2m3>(table, {"v_cvt_scalef32_2xpk16_fp6_f32", "v_cvt_scalef32_pk32_fp6_f16",
                            "v_cvt_scalef32_pk32_fp6_bf16", "v_cvt_scalef32_sr_pk32_fp6_f32",
                            "v_cvt_scalef32_sr_pk32_fp6_f16", "v_cvt_scalef32_sr_pk32_fp6_bf16",
                            "v_cvt_scalef32_pk32_f32_fp6", "v_cvt_scalef32_pk32_f16_fp6",
                            "v_cvt_scalef32_pk32_bf16_fp6"});
  registerSix<e3m2>(table, {"v_cvt_scalef32_2xpk16_bf6_f32", "v_cvt_scalef32_pk32_bf6_f16",
                            "v_cvt_scalef32_pk32_bf6_bf16", "v_cvt_scalef32_sr_pk32_bf6_f32",
                            "v_cvt_scalef32_sr_pk32_bf6_f16", "v_cvt_scalef32_sr_pk32_bf6_bf16",
                            "v_cvt_scalef32_pk32_f32_bf6", "v_cvt_scalef32_pk32_f16_bf6",
                            "v_cvt_scalef32_pk32_bf16_bf6"});
}

} // namespace hocket::sim::HOCKET_SIM_ISA
