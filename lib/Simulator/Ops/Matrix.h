// What all MFMA families share: where the lanes keep the matrices, and the products themselves.
//
// D = A * B + C for `blocks` independent blocks of `size` x `size` results and depth K
// (docs/Hardware.md 2.1). Lane l of an operand holds row (or column) l % size of block
// l / size % blocks, and the elements k = kpl * (l / (size * blocks)) + e. A row of D is contiguous
// in a register: for size 32 register r has row 8 * (r / 4) + r % 4 in its lower lanes and the row
// 4 below in its upper ones, for size 16 lane group g of register r has row 4 * g + r. So D is
// updated in place, row by row, with B unpacked to [k][column] and elements of A broadcast.
//
// The order of summation is fixed: d = c; for k ascending: d = fma(a[k], b[k], d). Hardware
// documents none. Products of f16 and bf16 are exact in f32, so rounding happens once per k.
// A NaN result is the canonical 0x7fc00000 whatever the operands' payloads, since host instruction
// sets differ in which payload they keep. EXEC and MODE are ignored.
#pragma once

#include "Lanes.h"

#include <cstring>

namespace hocket::sim::HOCKET_SIM_ISA {

#if defined(__AVX512F__)
inline constexpr unsigned vectorWidth = 16, accumulatorVectors = 16;
#elif defined(__AVX2__)
inline constexpr unsigned vectorWidth = 8, accumulatorVectors = 8;
#else
inline constexpr unsigned vectorWidth = 4, accumulatorVectors = 8;
#endif

/// Host vectors that may sit anywhere in a register.
typedef f32 FloatVector __attribute__((ext_vector_type(vectorWidth), aligned(4), may_alias));
typedef i32 IntVector __attribute__((ext_vector_type(vectorWidth), aligned(4), may_alias));

using Registers = u32 (*)[waveSize];

HOCKET_SIM_INLINE f32 multiplyAdd(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

/// Where row `row` of a block starts, in words from its first register.
template <unsigned Size> HOCKET_SIM_INLINE constexpr unsigned rowOffset(unsigned row) {
  if (Size == 32)
    return (row / 8 * 4 + row % 4) * waveSize + (row / 4 % 2) * 32;
  return row % 4 * waveSize + row / 4 * 16;
}

/// Finds out whether there are NaNs among many results: a NaN in `a` or `b` makes `probe` one, and
/// stays. Infinities may do so too, which costs time only.
HOCKET_SIM_INLINE FloatVector probeForNaN(FloatVector probe, FloatVector a, FloatVector b) {
#if defined(__FMA__)
  return __builtin_elementwise_fma(a, b, probe);
#else
  return probe + (a + b);
#endif
}

inline constexpr unsigned probes = accumulatorVectors / 2;

/// Rows `first` to `first + Rows` of `Size` x `Size` results: accumulators stay in host registers.
template <unsigned Size, unsigned Rows>
HOCKET_SIM_INLINE void multiplyRows(u32 *d, const f32 (*a)[Size], const f32 (*b)[Size],
                                    unsigned depth, unsigned first, FloatVector (&probe)[probes]) {
  constexpr unsigned vectors = Size / vectorWidth;
  static_assert(Rows * vectors == accumulatorVectors);
  FloatVector acc[accumulatorVectors];
#pragma clang loop unroll(full)
  for (unsigned r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (unsigned v = 0; v < vectors; ++v)
      acc[r * vectors + v] =
          *reinterpret_cast<const FloatVector *>(d + rowOffset<Size>(first + r) + v * vectorWidth);
#pragma clang loop unroll_count(8)
  for (unsigned k = 0; k < depth; ++k) {
    FloatVector columns[vectors];
#pragma clang loop unroll(full)
    for (unsigned v = 0; v < vectors; ++v)
      columns[v] = *reinterpret_cast<const FloatVector *>(&b[k][v * vectorWidth]);
#pragma clang loop unroll(full)
    for (unsigned r = 0; r < Rows; ++r) {
      FloatVector row = a[k][first + r];
#pragma clang loop unroll(full)
      for (unsigned v = 0; v < vectors; ++v)
        acc[r * vectors + v] = __builtin_elementwise_fma(row, columns[v], acc[r * vectors + v]);
    }
  }
#pragma clang loop unroll(full)
  for (unsigned r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (unsigned v = 0; v < vectors; ++v)
      *reinterpret_cast<FloatVector *>(d + rowOffset<Size>(first + r) + v * vectorWidth) =
          acc[r * vectors + v];
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < probes; ++i)
    probe[i] = probeForNaN(probe[i], acc[2 * i], acc[2 * i + 1]);
}

/// Replaces NaNs in `registers` registers of results by the canonical one.
inline void canonicaliseNaNs(Registers d, unsigned registers) {
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned lane = 0; lane < waveSize; ++lane)
      if ((d[r][lane] & 0x7fffffff) > 0x7f800000)
        d[r][lane] = 0x7fc00000;
}

/// Whether `count` words are zero under `mask`.
HOCKET_SIM_INLINE bool isZero(const void *words, unsigned count, i32 mask) {
  for (unsigned i = 0; i < count; i += vectorWidth)
    if (__builtin_reduce_or(*(static_cast<const IntVector *>(words) + i / vectorWidth) & mask) != 0)
      return false;
  return true;
}

/// Whether `count` numbers are neither infinite nor NaN.
HOCKET_SIM_INLINE bool isFinite(const f32 *numbers, unsigned count) {
  FloatVector probe = FloatVector(0.0f);
  for (unsigned i = 0; i < count; i += vectorWidth)
    probe += *reinterpret_cast<const FloatVector *>(numbers + i) * FloatVector(0.0f);
  IntVector unordered = probe != probe;
  return __builtin_reduce_or(unordered) == 0;
}

/// Whether D is +0 throughout and stays so: A or B is zero, of whatever signs, and the other finite. Kernels are often
/// timed with tensors of zeros.
template <unsigned Size>
HOCKET_SIM_INLINE bool staysZero(Registers d, const f32 (*a)[Size], const f32 (*b)[Size], unsigned depth) {
  constexpr i32 magnitude = 0x7fffffff;
  return isZero(d, Size * Size, -1) && ((isZero(a, depth * Size, magnitude) && isFinite(b[0], depth * Size)) ||
                                        (isZero(b, depth * Size, magnitude) && isFinite(a[0], depth * Size)));
}

/// One block: D, which holds C, plus A (as [k][row]) times B (as [k][column]). Size 32 or 16.
template <unsigned Size>
HOCKET_SIM_INLINE void multiplyBlock(Registers d, const f32 (*a)[Size], const f32 (*b)[Size],
                                     unsigned depth) {
  if (staysZero<Size>(d, a, b, depth))
    return;
  constexpr unsigned rows = accumulatorVectors * vectorWidth / Size;
  FloatVector probe[probes];
  for (FloatVector &one : probe)
    one = FloatVector(1.0f);
#pragma clang loop unroll(disable)
  for (unsigned first = 0; first < Size; first += rows)
    multiplyRows<Size, rows>(d[0], a, b, depth, first, probe);
  for (unsigned i = 1; i < probes; ++i)
    probe[0] += probe[i];
  IntVector unordered = probe[0] != probe[0];
  if (__builtin_reduce_or(unordered) != 0) [[unlikely]]
    canonicaliseNaNs(d, Size * Size / waveSize);
}

/// Puts C where D is to be: copies it, or fills in a constant of `bits` 32 or 64.
HOCKET_SIM_INLINE void placeAccumulator(Wave &wave, const Instruction &in, unsigned registers,
                                        OperandType type) {
  const Operand &c = in.source[2];
  Registers d = &wave.vgpr[in.destination];
  if (c.kind == OperandKind::Vgpr) {
    if (c.reg != in.destination)
      std::memmove(d, &wave.vgpr[c.reg], registers * sizeof(*d));
    return;
  }
  unsigned words = type.bits / 32;
  for (unsigned r = 0; r < registers; ++r) {
    u32 value = uniformWord(wave, c, r % words, type);
    for (unsigned lane = 0; lane < waveSize; ++lane)
      d[r][lane] = value;
  }
}

} // namespace hocket::sim::HOCKET_SIM_ISA
