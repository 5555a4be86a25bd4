// MFMA with f32 results from f32, f16 and bf16 operands (CDNA3 ISA 7, docs/Hardware.md 2.1 and
// 2.2). Layouts, order of summation and NaNs: Matrix.h.
//
// The gfx950 shapes 32x32x16 and 16x16x32 are what attention kernels live on: operands are unpacked
// to f32 once (a shift for bf16), then every host FMA does useful work. cbsz and abid broadcast one
// block's A to a group of 2^cbsz blocks, blgp rearranges B by lane groups; both are applied to a
// copy of the operand before it is unpacked.
#include "Families.h"
#include "Matrix.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// Element formats: `perWord` elements in each 32-bit word; `at` gives one, `unpack` those of
/// `vectorWidth` words, even elements first.
struct Bfloat16 {
  static constexpr unsigned perWord = 2;
  HOCKET_SIM_INLINE static f32 at(u32 word, unsigned index) {
    return bitCast<f32>(index ? word & 0xffff0000 : word << 16);
  }
  HOCKET_SIM_INLINE static void unpack(const u32 *words, f32 *const *to) {
    IntVector packed = *reinterpret_cast<const IntVector *>(words);
    *reinterpret_cast<IntVector *>(to[0]) = packed << 16;
    *reinterpret_cast<IntVector *>(to[1]) = packed & static_cast<i32>(0xffff0000);
  }
};
struct Float16 {
  static constexpr unsigned perWord = 2;
  HOCKET_SIM_INLINE static f32 at(u32 word, unsigned index) {
    return halfToFloat({static_cast<u16>(index ? word >> 16 : word)});
  }
  HOCKET_SIM_INLINE static void unpack(const u32 *words, f32 *const *to) {
#if defined(__AVX512F__)
    // Convert both elements of eight words at a time, then separate even from odd ones.
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    auto *halves = reinterpret_cast<const __m256i *>(words);
    __m512 first = _mm512_cvtph_ps(_mm256_loadu_si256(halves));
    __m512 second = _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1));
    _mm512_storeu_ps(to[0], _mm512_permutex2var_ps(first, even, second));
    _mm512_storeu_ps(to[1], _mm512_permutex2var_ps(first, odd, second));
#else
    for (unsigned index = 0; index < 2; ++index)
      for (unsigned i = 0; i < vectorWidth; ++i)
        to[index][i] = at(words[i], index);
#endif
  }
};
struct Float32 {
  static constexpr unsigned perWord = 1;
  HOCKET_SIM_INLINE static f32 at(u32 word, unsigned) { return bitCast<f32>(word); }
  HOCKET_SIM_INLINE static void unpack(const u32 *words, f32 *const *to) {
    std::memcpy(to[0], words, vectorWidth * sizeof(f32));
  }
};

/// gfx942's xf32: f32 registers whose values are rounded to 10 mantissa bits, to nearest even. The
/// hardware's rounding is not published.
struct Xfloat32 {
  static constexpr unsigned perWord = 1;
  HOCKET_SIM_INLINE static f32 at(u32 word, unsigned) {
    u32 rounded = (word + 0xfff + (word >> 13 & 1)) & ~u32(0x1fff);
    return bitCast<f32>((word & 0x7f800000) == 0x7f800000 ? word : rounded);
  }
  HOCKET_SIM_INLINE static void unpack(const u32 *words, f32 *const *to) {
    for (unsigned i = 0; i < vectorWidth; ++i)
      to[0][i] = at(words[i], 0);
  }
};

/// Unpacks block `block` of an operand of `Words` registers to [k][row or column].
template <class Element, unsigned Size, unsigned Blocks, unsigned Words>
HOCKET_SIM_INLINE void unpack(const u32 (*operand)[waveSize], unsigned block, f32 (*to)[Size]) {
  constexpr unsigned groups = waveSize / (Size * Blocks);
  for (unsigned group = 0; group < groups; ++group)
    for (unsigned w = 0; w < Words; ++w) {
      const u32 *words = operand[w] + (group * Blocks + block) * Size;
      f32(*rows)[Size] = to + (group * Words + w) * Element::perWord;
      for (unsigned i = 0; i < Size; i += vectorWidth) {
        f32 *const parts[2] = {&rows[0][i], &rows[Element::perWord - 1][i]};
        Element::unpack(words + i, parts);
      }
    }
}

/// The lane of B that `lane` uses under blgp (CDNA3 ISA 7.1, "B matrix lane group pattern").
static unsigned patternLane(unsigned blgp, unsigned lane) {
  switch (blgp) {
  case 1: // the first 32 lanes for both halves
    return lane % 32;
  case 2: // the second 32 lanes for both
    return 32 + lane % 32;
  case 3: // rotated down by 16 lanes
    return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7: // 16 lanes for all four groups
    return 16 * (blgp - 4) + lane % 16;
  default:
    return lane;
  }
}

/// Copies A with one block of each group of 2^cbsz blocks broadcast to the whole group.
static void broadcastBlocks(const u32 (*from)[waveSize], Registers to, unsigned words,
                            unsigned size, unsigned blocks, unsigned cbsz, unsigned abid) {
  for (unsigned w = 0; w < words; ++w)
    for (unsigned lane = 0; lane < waveSize; ++lane) {
      unsigned block = lane / size % blocks;
      unsigned source = (block >> cbsz << cbsz) + abid;
      to[w][lane] = from[w][lane + source * size - block * size];
    }
}

/// A group of 2^cbsz blocks must exist, and abid be one of it.
static bool acceptBroadcast(Wave &wave, const Instruction &in, unsigned blocks) {
  unsigned group = 1u << in.cbsz;
  if (group <= blocks && in.abid < group)
    return true;
  failWave(wave, in, "has a cbsz or abid that its shape does not have");
  return false;
}

/// 4x4 results in 16 blocks: register r of D has row r; lane l is column l % 4 of block l / 4.
template <class Element, unsigned Words>
static void multiplyFours(Registers d, const u32 (*a)[waveSize], const u32 (*b)[waveSize]) {
  for (unsigned row = 0; row < 4; ++row) {
    LaneWords acc;
    std::memcpy(acc.lane, d[row], sizeof(acc.lane));
    for (unsigned e = 0; e < Words * Element::perWord; ++e) {
      unsigned word = e / Element::perWord, index = e % Element::perWord;
      for (unsigned lane = 0; lane < waveSize; ++lane)
        acc.lane[lane] = bitCast<u32>(multiplyAdd(Element::at(a[word][(lane & ~3u) + row], index),
                                                  Element::at(b[word][lane], index),
                                                  bitCast<f32>(acc.lane[lane])));
    }
    std::memcpy(d[row], acc.lane, sizeof(acc.lane));
  }
  canonicaliseNaNs(d, 4);
}

template <class Element, unsigned Size, unsigned Blocks, unsigned Words>
HOCKET_SIM_INLINE void multiplyAll(Wave &wave, const Instruction &in, const u32 (*a)[waveSize],
                                   const u32 (*b)[waveSize]) {
  constexpr unsigned registers = Blocks * Size * Size / waveSize;
  constexpr unsigned depth = waveSize / (Size * Blocks) * Words * Element::perWord;
  Registers d = &wave.vgpr[in.destination];
  if constexpr (Size == 4) {
    u32 aCopy[Words][waveSize], bCopy[Words][waveSize];
    std::memcpy(aCopy, a, sizeof(aCopy));
    std::memcpy(bCopy, b, sizeof(bCopy));
    placeAccumulator(wave, in, registers, operandType<f32>);
    multiplyFours<Element, Words>(d, aCopy, bCopy);
  } else {
    alignas(64) f32 rows[Blocks][depth][Size], columns[Blocks][depth][Size];
    for (unsigned block = 0; block < Blocks; ++block) {
      unpack<Element, Size, Blocks, Words>(a, block, rows[block]);
      unpack<Element, Size, Blocks, Words>(b, block, columns[block]);
    }
    placeAccumulator(wave, in, registers, operandType<f32>);
    for (unsigned block = 0; block < Blocks; ++block)
      multiplyBlock<Size>(d + block * (registers / Blocks), rows[block], columns[block], depth);
  }
}

/// The forms that move lanes of A or B first.
template <class Element, unsigned Size, unsigned Blocks, unsigned Words>
__attribute__((noinline)) static void rearranged(Wave &wave, const Instruction &in) {
  if (!acceptBroadcast(wave, in, Blocks))
    return;
  u32 a[Words][waveSize], b[Words][waveSize];
  const u32(*fromB)[waveSize] = &wave.vgpr[in.source[1].reg];
  broadcastBlocks(&wave.vgpr[in.source[0].reg], a, Words, Size, Blocks, in.cbsz, in.abid);
  for (unsigned w = 0; w < Words; ++w)
    for (unsigned lane = 0; lane < waveSize; ++lane)
      b[w][lane] = fromB[w][patternLane(in.blgp, lane)];
  multiplyAll<Element, Size, Blocks, Words>(wave, in, a, b);
}

/// v_mfma_f32_<Size>x<Size>x<K>[_<Blocks>b]_<Element>; `Words` registers for each of A and B.
template <class Element, unsigned Size, unsigned Blocks, unsigned Words>
static void matrix(Wave &wave, const Instruction &in) {
  if (in.cbsz | in.abid | in.blgp) [[unlikely]]
    return rearranged<Element, Size, Blocks, Words>(wave, in);
  multiplyAll<Element, Size, Blocks, Words>(wave, in, &wave.vgpr[in.source[0].reg],
                                            &wave.vgpr[in.source[1].reg]);
}

void registerMatrixFloat(OpTable &table) {
  table.add("v_mfma_f32_32x32x16_bf16", matrix<Bfloat16, 32, 1, 4>);
  table.add("v_mfma_f32_16x16x32_bf16", matrix<Bfloat16, 16, 1, 4>);
  table.add("v_mfma_f32_32x32x8_bf16", matrix<Bfloat16, 32, 1, 2>);
  table.add("v_mfma_f32_16x16x16_bf16", matrix<Bfloat16, 16, 1, 2>);
  table.add("v_mfma_f32_32x32x4_2b_bf16", matrix<Bfloat16, 32, 2, 2>);
  table.add("v_mfma_f32_16x16x4_4b_bf16", matrix<Bfloat16, 16, 4, 2>);
  table.add("v_mfma_f32_4x4x4_16b_bf16", matrix<Bfloat16, 4, 16, 2>);

  table.add("v_mfma_f32_32x32x16_f16", matrix<Float16, 32, 1, 4>);
  table.add("v_mfma_f32_16x16x32_f16", matrix<Float16, 16, 1, 4>);
  table.add("v_mfma_f32_32x32x8_f16", matrix<Float16, 32, 1, 2>);
  table.add("v_mfma_f32_16x16x16_f16", matrix<Float16, 16, 1, 2>);
  table.add("v_mfma_f32_32x32x4_2b_f16", matrix<Float16, 32, 2, 2>);
  table.add("v_mfma_f32_16x16x4_4b_f16", matrix<Float16, 16, 4, 2>);
  table.add("v_mfma_f32_4x4x4_16b_f16", matrix<Float16, 4, 16, 2>);

  table.add("v_mfma_f32_32x32x2_f32", matrix<Float32, 32, 1, 1>);
  table.add("v_mfma_f32_16x16x4_f32", matrix<Float32, 16, 1, 1>);
  table.add("v_mfma_f32_32x32x4_xf32", matrix<Xfloat32, 32, 1, 2>);
  table.add("v_mfma_f32_16x16x8_xf32", matrix<Xfloat32, 16, 1, 2>);
  table.add("v_mfma_f32_32x32x1_2b_f32", matrix<Float32, 32, 2, 1>);
  table.add("v_mfma_f32_16x16x1_4b_f32", matrix<Float32, 16, 4, 1>);
  table.add("v_mfma_f32_4x4x1_16b_f32", matrix<Float32, 4, 16, 1>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
