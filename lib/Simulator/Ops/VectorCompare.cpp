// VOPC: compares into a mask, and v_cmpx, which also sets EXEC (CDNA3 ISA 12.9).
//
// Bits of inactive lanes are zero in the result.
#include "Families.h"
#include "FloatMath.h"
#include "Masks.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// A predicate as a lane function.
template <auto F, class Signature> struct Flag;
template <auto F, class L, class... A> struct Flag<F, bool (L::*)(A...) const> {
  static constexpr auto function = [](A... a) -> u32 { return F(a...) ? ~0u : 0u; };
};

template <auto F, bool SetsExec> static void compare(Wave &wave, const Instruction &in) {
  u64 mask = maskOf<Flag<F, decltype(&decltype(F)::operator())>::function>(wave, in) & wave.exec();
  if (SetsExec)
    wave.setExec(mask);
  wave.setPair(in.destination, mask);
}

/// Registers v_cmp_NAME_TYPE and v_cmpx_NAME_TYPE.
template <auto F> static void add(OpTable &table, const char *name, const char *type) {
  char text[64] = "v_cmp_";
  __builtin_strcat(text, name);
  __builtin_strcat(text, type);
  table.add(text, compare<F, false>);
  char exec[64] = "v_cmpx_";
  __builtin_strcat(exec, name);
  __builtin_strcat(exec, type);
  table.add(exec, compare<F, true>);
}

/// f16 compares in f32, which holds every f16 exactly.
static HOCKET_SIM_INLINE f32 value(Half h) { return halfToFloat(h); }
static HOCKET_SIM_INLINE f32 value(f32 x) { return x; }
static HOCKET_SIM_INLINE f64 value(f64 x) { return x; }

template <class T> static void registerFloat(OpTable &table, const char *type) {
  add<[](T, T) { return false; }>(table, "f", type);
  add<[](T a, T b) { return value(a) < value(b); }>(table, "lt", type);
  add<[](T a, T b) { return value(a) == value(b); }>(table, "eq", type);
  add<[](T a, T b) { return value(a) <= value(b); }>(table, "le", type);
  add<[](T a, T b) { return value(a) > value(b); }>(table, "gt", type);
  add<[](T a, T b) { return value(a) < value(b) || value(a) > value(b); }>(table, "lg", type);
  add<[](T a, T b) { return value(a) >= value(b); }>(table, "ge", type);
  add<[](T a, T b) { return value(a) == value(a) && value(b) == value(b); }>(table, "o", type);
  add<[](T a, T b) { return value(a) != value(a) || value(b) != value(b); }>(table, "u", type);
  add<[](T a, T b) { return !(value(a) >= value(b)); }>(table, "nge", type);
  add<[](T a, T b) { return !(value(a) < value(b) || value(a) > value(b)); }>(table, "nlg", type);
  add<[](T a, T b) { return !(value(a) > value(b)); }>(table, "ngt", type);
  add<[](T a, T b) { return !(value(a) <= value(b)); }>(table, "nle", type);
  add<[](T a, T b) { return !(value(a) == value(b)); }>(table, "neq", type);
  add<[](T a, T b) { return !(value(a) < value(b)); }>(table, "nlt", type);
  add<[](T, T) { return true; }>(table, "tru", type);
}

template <class T> static void registerInteger(OpTable &table, const char *type) {
  add<[](T, T) { return false; }>(table, "f", type);
  add<[](T a, T b) { return a < b; }>(table, "lt", type);
  add<[](T a, T b) { return a == b; }>(table, "eq", type);
  add<[](T a, T b) { return a <= b; }>(table, "le", type);
  add<[](T a, T b) { return a > b; }>(table, "gt", type);
  add<[](T a, T b) { return a != b; }>(table, "ne", type);
  add<[](T a, T b) { return a >= b; }>(table, "ge", type);
  add<[](T, T) { return true; }>(table, "t", type);
}

/// The classes of f16 are not those of the f32 with the same value: denormals differ.
static HOCKET_SIM_INLINE bool isOfClass(Half h, u32 mask) {
  u32 magnitude = h.bits & 0x7fff;
  bool negative = h.bits & 0x8000;
  u32 bit = magnitude > 0x7c00    ? (magnitude & 0x200 ? 1 : 0)
            : magnitude == 0x7c00 ? (negative ? 2 : 9)
            : magnitude == 0      ? (negative ? 5 : 6)
            : magnitude < 0x400   ? (negative ? 4 : 7)
                                  : (negative ? 3 : 8);
  return mask >> bit & 1;
}

void registerVectorCompare(OpTable &table) {
  registerFloat<Half>(table, "_f16");
  registerFloat<f32>(table, "_f32");
  registerFloat<f64>(table, "_f64");
  registerInteger<i16>(table, "_i16");
  registerInteger<u16>(table, "_u16");
  registerInteger<i32>(table, "_i32");
  registerInteger<u32>(table, "_u32");
  registerInteger<i64>(table, "_i64");
  registerInteger<u64>(table, "_u64");
  add<[](Half a, u32 m) { return isOfClass(a, m); }>(table, "class", "_f16");
  add<[](f32 a, u32 m) { return isOfClass(a, m); }>(table, "class", "_f32");
  add<[](f64 a, u32 m) { return isOfClass(a, m); }>(table, "class", "_f64");
}

} // namespace hocket::sim::HOCKET_SIM_ISA
