// Sparse matrix instructions, v_smfmac_*: A has two of each four consecutive k (CDNA3 ISA 7;
// docs/Hardware.md 2.2 for the dense operands).
//
// Kept elements of a row of A follow each other in k: lane group g has those of k from g times K /
// groups on. A column of B is dealt to the lane groups in pieces of 16 bytes, as dense operands
// are: the shapes of gfx942 have one piece a lane, so A and B meet within a lane group; the twice as
// deep ones of gfx950 have two, whose k lie K / 2 apart (docs/Hardware.md 2.1 has the evidence).
// Two bits of the index operand, in A's lane, say for each kept element which of its four it is. An
// index register has room for several sets: with cbsz 0, abid chooses one, else it is the first.
//
// The order of summation is fixed: k ascending, one fma each.
#include "Families.h"
#include "Half.h"
#include "Matrix.h"
#include "SmallFloatTables.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// Element formats: the value of element `e` of a lane of `operand`.
template <class T, unsigned Bits>
HOCKET_SIM_INLINE T elementBits(const u32 (*operand)[waveSize], unsigned e, unsigned lane) {
  constexpr unsigned perWord = 32 / Bits;
  return static_cast<T>(operand[e / perWord][lane] >> (Bits * (e % perWord)));
}
struct SparseHalf {
  using Sum = f32;
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static f32 at(const u32 (*operand)[waveSize], unsigned e, unsigned lane) {
    return halfToFloat({elementBits<u16, 16>(operand, e, lane)});
  }
};
struct SparseBfloat {
  using Sum = f32;
  static constexpr unsigned bits = 16;
  HOCKET_SIM_INLINE static f32 at(const u32 (*operand)[waveSize], unsigned e, unsigned lane) {
    return bfloatToFloat(elementBits<u16, 16>(operand, e, lane));
  }
};
template <SmallCode Code> struct SparseSmall {
  using Sum = f32;
  static constexpr unsigned bits = 8;
  static f32 at(const u32 (*operand)[waveSize], unsigned e, unsigned lane) {
    return decodeTables().value[unsigned(Code)][elementBits<u8, 8>(operand, e, lane)];
  }
};
struct SparseByte {
  using Sum = i32;
  static constexpr unsigned bits = 8;
  HOCKET_SIM_INLINE static i32 at(const u32 (*operand)[waveSize], unsigned e, unsigned lane) {
    return elementBits<i8, 8>(operand, e, lane);
  }
};

HOCKET_SIM_INLINE f32 accumulate(f32 a, f32 b, f32 c) { return multiplyAdd(a, b, c); }
HOCKET_SIM_INLINE i32 accumulate(i32 a, i32 b, i32 c) {
  return static_cast<i32>(static_cast<u32>(a * b) + static_cast<u32>(c));
}

/// v_smfmac_<Size>x<Size>x<K>: `Words` registers of A, twice as many of B. Of gfx942's shapes A has
/// two registers, of the deep ones four.
template <class A, class B, unsigned Size, unsigned Words>
static void sparseMatrix(Wave &wave, const Instruction &in) {
  using Sum = typename A::Sum;
  constexpr unsigned groups = waveSize / Size, kept = Words * 32 / A::bits;
  constexpr unsigned indexBits = 2 * kept, sets = 32 / indexBits;
  constexpr unsigned piece = 128 / A::bits; // elements of B in 16 bytes
  static_assert(A::bits == B::bits);
  const u32(*a)[waveSize] = &wave.vgpr[in.source[0].reg];
  const u32(*b)[waveSize] = &wave.vgpr[in.source[1].reg];
  const u32 *indices = wave.vgpr[in.source[2].reg];
  unsigned shift = (in.cbsz ? 0 : in.abid % sets) * indexBits;

  Sum columns[groups * 2 * kept][Size]; // by k
  for (unsigned lane = 0; lane < waveSize; ++lane)
    for (unsigned e = 0; e < 2 * kept; ++e) {
      unsigned k = (e / piece * groups + lane / Size) * piece + e % piece;
      columns[k][lane % Size] = B::at(b, e, lane);
    }
  Sum rows[groups][kept][Size];
  u32 index[waveSize];
  for (unsigned lane = 0; lane < waveSize; ++lane) {
    index[lane] = indices[lane] >> shift;
    for (unsigned e = 0; e < kept; ++e)
      rows[lane / Size][e][lane % Size] = A::at(a, e, lane);
  }

  Registers d = &wave.vgpr[in.destination];
  for (unsigned i = 0; i < Size; ++i) {
    u32 *where = reinterpret_cast<u32 *>(d) + rowOffset<Size>(i);
    Sum sums[Size];
    std::memcpy(sums, where, sizeof(sums));
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned e = 0; e < kept; ++e) {
        unsigned k = (group * kept + e) / 2 * 4 + (index[group * Size + i] >> (2 * e) & 3);
        for (unsigned j = 0; j < Size; ++j)
          sums[j] = accumulate(rows[group][e][i], columns[k][j], sums[j]);
      }
    std::memcpy(where, sums, sizeof(sums));
  }
  if constexpr (std::is_same_v<Sum, f32>)
    canonicaliseNaNs(d, Size * Size / waveSize);
}

/// The four shapes of one pair of 8-bit formats: two of gfx942, two twice as deep.
template <class A, class B>
static void registerBytes(OpTable &table, const char *const (&names)[4]) {
  table.add(names[0], sparseMatrix<A, B, 16, 2>);
  table.add(names[1], sparseMatrix<A, B, 32, 2>);
  table.add(names[2], sparseMatrix<A, B, 16, 4>);
  table.add(names[3], sparseMatrix<A, B, 32, 4>);
}
template <class A, class B>
static void registerFnuz(OpTable &table, const char *const (&names)[4]) {
  table.addFnuz(names[0], sparseMatrix<A, B, 16, 2>);
  table.addFnuz(names[1], sparseMatrix<A, B, 32, 2>);
}

#define HOCKET_SPARSE_NAMES(sum, formats)                                                          \
  {"v_smfmac_" sum "_16x16x64_" formats, "v_smfmac_" sum "_32x32x32_" formats,                     \
   "v_smfmac_" sum "_16x16x128_" formats, "v_smfmac_" sum "_32x32x64_" formats}

static void registerSmallFloats(OpTable &table) {
  using Fp8 = SparseSmall<SmallCode::Fp8>;
  using Bf8 = SparseSmall<SmallCode::Bf8>;
  using Fp8Fnuz = SparseSmall<SmallCode::Fp8Fnuz>;
  using Bf8Fnuz = SparseSmall<SmallCode::Bf8Fnuz>;
  registerBytes<Fp8, Fp8>(table, HOCKET_SPARSE_NAMES("f32", "fp8_fp8"));
  registerBytes<Fp8, Bf8>(table, HOCKET_SPARSE_NAMES("f32", "fp8_bf8"));
  registerBytes<Bf8, Fp8>(table, HOCKET_SPARSE_NAMES("f32", "bf8_fp8"));
  registerBytes<Bf8, Bf8>(table, HOCKET_SPARSE_NAMES("f32", "bf8_bf8"));
  registerFnuz<Fp8Fnuz, Fp8Fnuz>(table, HOCKET_SPARSE_NAMES("f32", "fp8_fp8"));
  registerFnuz<Fp8Fnuz, Bf8Fnuz>(table, HOCKET_SPARSE_NAMES("f32", "fp8_bf8"));
  registerFnuz<Bf8Fnuz, Fp8Fnuz>(table, HOCKET_SPARSE_NAMES("f32", "bf8_fp8"));
  registerFnuz<Bf8Fnuz, Bf8Fnuz>(table, HOCKET_SPARSE_NAMES("f32", "bf8_bf8"));
}

void registerMatrixSparse(OpTable &table) {
  table.add("v_smfmac_f32_16x16x32_f16", sparseMatrix<SparseHalf, SparseHalf, 16, 2>);
  table.add("v_smfmac_f32_32x32x16_f16", sparseMatrix<SparseHalf, SparseHalf, 32, 2>);
  table.add("v_smfmac_f32_16x16x64_f16", sparseMatrix<SparseHalf, SparseHalf, 16, 4>);
  table.add("v_smfmac_f32_32x32x32_f16", sparseMatrix<SparseHalf, SparseHalf, 32, 4>);
  table.add("v_smfmac_f32_16x16x32_bf16", sparseMatrix<SparseBfloat, SparseBfloat, 16, 2>);
  table.add("v_smfmac_f32_32x32x16_bf16", sparseMatrix<SparseBfloat, SparseBfloat, 32, 2>);
  table.add("v_smfmac_f32_16x16x64_bf16", sparseMatrix<SparseBfloat, SparseBfloat, 16, 4>);
  table.add("v_smfmac_f32_32x32x32_bf16", sparseMatrix<SparseBfloat, SparseBfloat, 32, 4>);
  registerBytes<SparseByte, SparseByte>(table, HOCKET_SPARSE_NAMES("i32", "i8"));
  registerSmallFloats(table);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
