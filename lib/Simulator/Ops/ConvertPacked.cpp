// Conversions that pack two results or narrow to 16 bits: bf16, f16 by rounding to nearest, to zero
// or stochastically, normalised integers, shifts that saturate to bytes (CDNA3 ISA 12.10, CDNA4
// ISA).
//
// v_cvt_pk_bf16_f32 is how attention turns probabilities into the second product's operand. It and
// v_cvt_pk_f16_f32 always round to nearest even. Stochastic rounding adds the random word's top
// bits below the result's last bit and truncates.
#include "Families.h"
#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

HOCKET_SIM_INLINE u32 packHalves(u32 low, u32 high) { return low | high << 16; }

/// f16 bits of `value`, truncated: too large a value gives the largest finite one.
HOCKET_SIM_INLINE u32 truncateToHalf(f32 value) {
  u32 bits = bitCast<u32>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  u32 special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  u32 normal = (magnitude >> 13) - (112u << 10);
  // Below 2^-14: the mantissa with its hidden bit, moved to units of 2^-24.
  u32 exponent = magnitude >> 23;
  u32 shift = 126 - (exponent > 126 ? 126 : exponent);
  u32 subnormal = shift < 32 ? ((magnitude & 0x7fffff) | 0x800000) >> shift : 0;
  u32 result = magnitude >= 0x7f800000   ? special
               : magnitude >= 0x47800000 ? 0x7bff
               : magnitude >= 0x38800000 ? normal
                                         : subnormal;
  return sign | result;
}

/// f16 by stochastic rounding: 13 bits are cut off a normal result, as many random ones added.
HOCKET_SIM_INLINE u16 stochasticHalf(f32 value, u32 random) {
  u32 bits = bitCast<u32>(value), magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return floatToHalf(value).bits;
  u32 exponent = magnitude >> 23;
  u32 drop = 13 + (exponent < 113 ? 113 - exponent : 0);
  u32 mantissa = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  u64 sum = (u64(mantissa) << 32) + (drop < 64 ? u64(random) << (drop < 32 ? drop : 32) : 0);
  u32 units = drop >= 32 ? 0 : static_cast<u32>(sum >> (32 + drop));
  u32 base = exponent < 113 ? 0 : (exponent - 113) << 10;
  u32 result = base + units;
  return static_cast<u16>(bits >> 16 & 0x8000) | (result > 0x7c00 ? 0x7c00 : result);
}

HOCKET_SIM_INLINE u16 stochasticBfloat(f32 value, u32 random) {
  u32 bits = bitCast<u32>(value), magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return floatToBfloat(value);
  return static_cast<u16>((bits + (random >> 16)) >> 16);
}

/// x in [-1, 1] or [0, 1] as an integer of full scale `scale`, to nearest even.
HOCKET_SIM_INLINE u16 normalise(f32 x, f32 low, f32 scale) {
  f32 limited = x != x ? 0.0f : x < low ? low : x > 1.0f ? 1.0f : x;
  return static_cast<u16>(static_cast<i32>(roundEvenOf(limited * scale)));
}

HOCKET_SIM_INLINE u32 saturateByte(i32 value, i32 low, i32 high) {
  return static_cast<u32>(value < low ? low : value > high ? high : value) & 0xff;
}

static void registerNarrowing(OpTable &table) {
  table.add("v_cvt_pk_bf16_f32",
            lanes<[](f32 a, f32 b) { return packHalves(floatToBfloat(a), floatToBfloat(b)); }>);
  table.add(
      "v_cvt_pk_f16_f32",
      lanes<[](f32 a, f32 b) { return packHalves(floatToHalf(a).bits, floatToHalf(b).bits); }>);
  table.add("v_cvt_pkrtz_f16_f32",
            lanes<[](f32 a, f32 b) { return packHalves(truncateToHalf(a), truncateToHalf(b)); }>);
  table.add("v_cvt_sr_f16_f32",
            lanesKeepHalf<[](f32 a, u32 random) { return stochasticHalf(a, random); }>);
  table.add("v_cvt_sr_bf16_f32",
            lanesKeepHalf<[](f32 a, u32 random) { return stochasticBfloat(a, random); }>);
  table.add("v_cvt_f32_bf16", lanes<[](u16 a) { return bfloatToFloat(a); }>);
  table.add("v_pack_b32_f16", lanes<[](Half a, Half b) { return packHalves(a.bits, b.bits); }>);
}

static void registerNormalised(OpTable &table) {
  table.add("v_cvt_pknorm_i16_f32", lanes<[](f32 a, f32 b) {
              return packHalves(normalise(a, -1.0f, 32767.0f), normalise(b, -1.0f, 32767.0f));
            }>);
  table.add("v_cvt_pknorm_u16_f32", lanes<[](f32 a, f32 b) {
              return packHalves(normalise(a, 0.0f, 65535.0f), normalise(b, 0.0f, 65535.0f));
            }>);
  table.add("v_cvt_pknorm_i16_f16", lanes<[](Half a, Half b) {
              return packHalves(normalise(halfToFloat(a), -1.0f, 32767.0f),
                                normalise(halfToFloat(b), -1.0f, 32767.0f));
            }>);
  table.add("v_cvt_pknorm_u16_f16", lanes<[](Half a, Half b) {
              return packHalves(normalise(halfToFloat(a), 0.0f, 65535.0f),
                                normalise(halfToFloat(b), 0.0f, 65535.0f));
            }>);
  table.add("v_cvt_norm_i16_f16",
            lanes<[](Half a) { return normalise(halfToFloat(a), -1.0f, 32767.0f); }>);
  table.add("v_cvt_norm_u16_f16",
            lanes<[](Half a) { return normalise(halfToFloat(a), 0.0f, 65535.0f); }>);
}

static void registerShifts(OpTable &table) {
  table.add("v_ashr_pk_i8_i32", lanesKeepHalf<[](i32 a, i32 b, u32 amount) {
              return static_cast<u16>(saturateByte(a >> (amount & 31), -128, 127) |
                                      saturateByte(b >> (amount & 31), -128, 127) << 8);
            }>);
  table.add("v_ashr_pk_u8_i32", lanesKeepHalf<[](i32 a, i32 b, u32 amount) {
              return static_cast<u16>(saturateByte(a >> (amount & 31), 0, 255) |
                                      saturateByte(b >> (amount & 31), 0, 255) << 8);
            }>);
}

void registerConvertPacked(OpTable &table) {
  registerNarrowing(table);
  registerNormalised(table);
  registerShifts(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
