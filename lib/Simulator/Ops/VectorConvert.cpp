// Conversions between integers, f16, f32 and f64, one value a lane (CDNA3 ISA 12.8 to 12.10).
//
// Float to integer truncates, saturates, and turns NaN into 0. Packed conversions to f16, bf16 and
// fp8 are in other files.
#include "Families.h"
#include "FloatMath.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static void registerToFloat(OpTable &table) {
  table.add("v_cvt_f32_i32", lanes<[](i32 a) { return static_cast<f32>(a); }>);
  table.add("v_cvt_f32_u32", lanes<[](u32 a) { return static_cast<f32>(a); }>);
  table.add("v_cvt_f64_i32", lanes<[](i32 a) { return static_cast<f64>(a); }>);
  table.add("v_cvt_f64_u32", lanes<[](u32 a) { return static_cast<f64>(a); }>);
  table.add("v_cvt_f32_ubyte0", lanes<[](u32 a) { return static_cast<f32>(i32(a & 0xff)); }>);
  table.add("v_cvt_f32_ubyte1", lanes<[](u32 a) { return static_cast<f32>(i32(a >> 8 & 0xff)); }>);
  table.add("v_cvt_f32_ubyte2", lanes<[](u32 a) { return static_cast<f32>(i32(a >> 16 & 0xff)); }>);
  table.add("v_cvt_f32_ubyte3", lanes<[](u32 a) { return static_cast<f32>(i32(a >> 24)); }>);
  // Four bits as a signed sixteenth.
  table.add(
      "v_cvt_off_f32_i4",
      lanes<[](u32 a) { return static_cast<f32>(static_cast<i32>(a << 28) >> 28) * 0.0625f; }>);
}

static void registerToInteger(OpTable &table) {
  table.add("v_cvt_i32_f32", lanes<[](f32 a) { return toInteger<i32>(a); }>);
  table.add("v_cvt_u32_f32", lanes<[](f32 a) { return toInteger<u32>(a); }>);
  table.add("v_cvt_i32_f64", lanes<[](f64 a) { return toInteger<i32>(a); }>);
  table.add("v_cvt_u32_f64", lanes<[](f64 a) { return toInteger<u32>(a); }>);
  table.add("v_cvt_flr_i32_f32", lanes<[](f32 a) { return toInteger<i32>(floorOf(a)); }>);
  table.add("v_cvt_rpi_i32_f32",
            lanes<[](f32 a) { return toInteger<i32>(floorOf(static_cast<f64>(a) + 0.5)); }>);
}

static void registerFloatWidths(OpTable &table) {
  table.add("v_cvt_f64_f32", lanes<[](f32 a) { return static_cast<f64>(a); }>);
  table.add("v_cvt_f32_f64", lanes<[](f64 a) { return static_cast<f32>(a); }>);
  table.add("v_cvt_f32_f16", lanes<[](Half a) { return halfToFloat(a); }>);
  table.add("v_cvt_f16_f32", lanes<[](f32 a) { return floatToHalf(a); }>);
}

static void registerHalfIntegers(OpTable &table) {
  table.add("v_cvt_f16_u16", lanes<[](u16 a) { return floatToHalf(static_cast<f32>(i32(a))); }>);
  table.add("v_cvt_f16_i16", lanes<[](i16 a) { return floatToHalf(static_cast<f32>(i32(a))); }>);
  table.add("v_cvt_u16_f16", lanes<[](Half a) {
              i32 v = toInteger<i32>(halfToFloat(a));
              return static_cast<u16>(v < 0 ? 0 : v > 0xffff ? 0xffff : v);
            }>);
  table.add("v_cvt_i16_f16", lanes<[](Half a) {
              i32 v = toInteger<i32>(halfToFloat(a));
              return static_cast<i16>(v < -0x8000 ? -0x8000 : v > 0x7fff ? 0x7fff : v);
            }>);
}

static HOCKET_SIM_INLINE u32 saturateSigned16(i32 a) {
  return static_cast<u32>(a < -0x8000 ? -0x8000 : a > 0x7fff ? 0x7fff : a) & 0xffff;
}
static HOCKET_SIM_INLINE u32 saturateUnsigned16(u32 a) { return a > 0xffff ? 0xffff : a; }

/// f32 to u8 (round to nearest even, saturate) into byte `select` of `old`.
static HOCKET_SIM_INLINE u32 insertByte(f32 a, u32 select, u32 old) {
  f32 rounded = roundEvenOf(a);
  u32 byte = isNan(a) || rounded < 0 ? 0 : rounded > 255.0f ? 255 : static_cast<u32>(rounded);
  u32 shift = 8 * (select & 3);
  return (old & ~(0xffu << shift)) | byte << shift;
}

static void registerPacked(OpTable &table) {
  table.add("v_cvt_pk_i16_i32",
            lanes<[](i32 a, i32 b) { return saturateSigned16(a) | saturateSigned16(b) << 16; }>);
  table.add(
      "v_cvt_pk_u16_u32",
      lanes<[](u32 a, u32 b) { return saturateUnsigned16(a) | saturateUnsigned16(b) << 16; }>);
  table.add("v_cvt_pk_u8_f32",
            lanes<[](f32 a, u32 select, u32 old) { return insertByte(a, select, old); }>);
  // The other bytes of the destination stay: it is the third operand (addImplicitSources).
  table.add("v_cvt_pkaccum_u8_f32",
            lanes<[](f32 a, u32 select, u32 old) { return insertByte(a, select, old); }>);
  table.add("v_sat_pk_u8_i16", lanes<[](u32 a) {
              auto saturate = [](i32 v) { return static_cast<u32>(v < 0 ? 0 : v > 255 ? 255 : v); };
              return saturate(static_cast<i16>(a)) | saturate(static_cast<i16>(a >> 16)) << 8;
            }>);
}

void registerVectorConvert(OpTable &table) {
  registerToFloat(table);
  registerToInteger(table);
  registerFloatWidths(table);
  registerHalfIntegers(table);
  registerPacked(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
