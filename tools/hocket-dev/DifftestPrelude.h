// What stands in front of generated code: types, operations that are defined for all values, and
// the differences between the two targets. Included by DifftestGenerator.cpp alone.
#pragma once

namespace hocket::run {

inline constexpr const char difftestPrelude[] = R"(
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef f16 hv2 __attribute__((ext_vector_type(2)));
typedef f32 fv2 __attribute__((ext_vector_type(2)));
typedef u16 sv2 __attribute__((ext_vector_type(2)));
typedef u8 bv4 __attribute__((ext_vector_type(4)));
#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define UPDATE(name, p, v) __scoped_atomic_fetch_##name(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define OPAQUE(x) __asm__("" : "+v"(x))
#define BARRIER                                                                                    \
  do {                                                                                             \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                         \
    __builtin_amdgcn_s_barrier();                                                                  \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                         \
  } while (0)
#else
#define GLOBAL
#define LOCAL
#define UPDATE(name, p, v) __atomic_fetch_##name(p, v, __ATOMIC_RELAXED)
#define OPAQUE(x) (void)(x)
#endif
#define FN static inline
FN u32 fb(f32 x) { return x != x ? 0x7fc00000u : __builtin_bit_cast(u32, x); }
FN u64 db(f64 x) { return x != x ? 0x7ff8000000000000ul : __builtin_bit_cast(u64, x); }
FN u32 hb(f16 x) { return x != x ? 0x7e00u : __builtin_bit_cast(u16, x); }
/* The additions keep sign extensions away from floats: LLVM 22 makes them selections of sub-dwords
   and loses the sign. */
FN f32 bf(u32 x) { return __builtin_bit_cast(f32, x + 0x01000100u); }
FN f64 bd(u64 x) { return __builtin_bit_cast(f64, x); }
/* LLVM 22 makes an operand `0 - x` the operand `-x` and `(f16)(a * b)` a multiplication plus +0: both
   give the other sign of zero. So it does not see what sums and conversions are taken of. */
#define SUMS(type, letter)                                                                         \
  FN type add##letter(type a, type b) { a = a + b; OPAQUE(a); return a; }                          \
  FN type sub##letter(type a, type b) { a = a - b; OPAQUE(a); return a; }
SUMS(f32, f)
SUMS(f64, d)
SUMS(f16, h)
FN f32 maf(f32 a, f32 b, f32 c) { a = __builtin_fmaf(a, b, c); OPAQUE(a); return a; }
FN f64 mad(f64 a, f64 b, f64 c) { a = __builtin_fma(a, b, c); OPAQUE(a); return a; }
FN f16 fh(f32 x) { OPAQUE(x); return (f16)x; }
/* Sign changes must not move: LLVM 22 hoists one out of an `else` into places where it is not always
   passed. */
#define SIGNS(type, letter, suffix)                                                                \
  FN type neg##letter(type a) { OPAQUE(a); return -a; }                                            \
  FN type abs##letter(type a) { OPAQUE(a); return (type)__builtin_fabs##suffix(a); }
SIGNS(f32, f, f)
SIGNS(f64, d, )
SIGNS(f16, h, f)
FN f16 bh(u32 x) { return __builtin_bit_cast(f16, (u16)(x + 0x0101u)); }
FN i32 fi(f32 x) { return x > -2.0e9f && x < 2.0e9f ? (i32)x : 7; }
FN u32 fu(f32 x) { return x >= 0.0f && x < 4.0e9f ? (u32)x : 7; }
FN i64 fl(f32 x) { return x > -9.0e18f && x < 9.0e18f ? (i64)x : 7; }
FN u64 ful(f32 x) { return x >= 0.0f && x < 1.8e19f ? (u64)x : 7; }
FN i32 di(f64 x) { return x > -2.0e9 && x < 2.0e9 ? (i32)x : 7; }
FN u32 du(f64 x) { return x >= 0.0 && x < 4.0e9 ? (u32)x : 7; }
FN i64 dl(f64 x) { return x > -9.0e18 && x < 9.0e18 ? (i64)x : 7; }
FN u64 dul(f64 x) { return x >= 0.0 && x < 1.8e19 ? (u64)x : 7; }
FN i32 hi(f16 x) { return x == x && x < (f16)60000.0f && x > (f16)-60000.0f ? (i32)x : 7; }
FN u32 udiv(u32 a, u32 b) { return b ? a / b : a; }
FN u32 urem(u32 a, u32 b) { return b ? a % b : a; }
FN u64 uldiv(u64 a, u64 b) { return b ? a / b : a; }
FN u64 ulrem(u64 a, u64 b) { return b ? a % b : a; }
FN u32 sdiv(u32 a, u32 b) { return b + 1 > 1 ? (u32)((i32)a / (i32)b) : a; }
FN u32 srem(u32 a, u32 b) { return b + 1 > 1 ? (u32)((i32)a % (i32)b) : a; }
FN u64 sldiv(u64 a, u64 b) { return b + 1 > 1 ? (u64)((i64)a / (i64)b) : a; }
FN u64 slrem(u64 a, u64 b) { return b + 1 > 1 ? (u64)((i64)a % (i64)b) : a; }
FN u32 clz(u32 a) { return a ? (u32)__builtin_clz(a) : 32; }
FN u32 ctz(u32 a) { return a ? (u32)__builtin_ctz(a) : 32; }
/* LLVM 22 loses the upper half of the complement of a 64-bit count that is used in another block. */
FN u32 clzl(u64 a) { u32 n = a ? (u32)__builtin_clzl(a) : 64; OPAQUE(n); return n; }
FN u32 ctzl(u64 a) { u32 n = a ? (u32)__builtin_ctzl(a) : 64; OPAQUE(n); return n; }
FN u32 mulhi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
FN u32 smulhi(u32 a, u32 b) { return (u32)(((i64)(i32)a * (i32)b) >> 32); }
FN u64 umulhi64(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
FN u32 rot(u32 a, u32 n) { return __builtin_rotateleft32(a, n); }
FN u64 rotl(u64 a, u64 n) { return __builtin_rotateleft64(a, n); }
)";

} // namespace hocket::run
