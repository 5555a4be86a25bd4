// From each lane's consecutive words in memory to registers and back, for all 64 lanes: transposing
// 64 rows of memory to a few registers of 64 lanes. It is most of what LDS reads of attention
// kernels cost, so hosts with AVX-512 have versions of their own.
#pragma once

#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

typedef u32 FourWords __attribute__((ext_vector_type(4), aligned(1), may_alias));

/// Four lanes' rows of four words become four registers' columns, and back.
HOCKET_SIM_INLINE void transpose(FourWords (&m)[4]) {
  FourWords a = __builtin_shufflevector(m[0], m[1], 0, 4, 1, 5);
  FourWords b = __builtin_shufflevector(m[2], m[3], 0, 4, 1, 5);
  FourWords c = __builtin_shufflevector(m[0], m[1], 2, 6, 3, 7);
  FourWords d = __builtin_shufflevector(m[2], m[3], 2, 6, 3, 7);
  m[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  m[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  m[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  m[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

#if defined(__AVX512F__)

/// Four words of each lane, `at(lane)` being where they are: a host register holds lanes i, i + 4,
/// i + 8 and i + 12 of sixteen, so that transposing within its quarters puts words into the order
/// of lanes.
template <class Address> HOCKET_SIM_INLINE void gatherFourWords(Address at, u32 (*to)[waveSize]) {
  auto row = [&](unsigned lane) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(at(lane)));
  };
  for (unsigned lane = 0; lane < 64; lane += 16) {
    __m512i m[4];
    for (unsigned i = 0; i < 4; ++i) {
      __m512i rows = _mm512_castsi128_si512(row(lane + i));
      rows = _mm512_inserti32x4(rows, row(lane + i + 4), 1);
      rows = _mm512_inserti32x4(rows, row(lane + i + 8), 2);
      m[i] = _mm512_inserti32x4(rows, row(lane + i + 12), 3);
    }
    __m512i a = _mm512_unpacklo_epi32(m[0], m[1]), b = _mm512_unpacklo_epi32(m[2], m[3]);
    __m512i c = _mm512_unpackhi_epi32(m[0], m[1]), d = _mm512_unpackhi_epi32(m[2], m[3]);
    _mm512_storeu_si512(&to[0][lane], _mm512_unpacklo_epi64(a, b));
    _mm512_storeu_si512(&to[1][lane], _mm512_unpackhi_epi64(a, b));
    _mm512_storeu_si512(&to[2][lane], _mm512_unpacklo_epi64(c, d));
    _mm512_storeu_si512(&to[3][lane], _mm512_unpackhi_epi64(c, d));
  }
}

#else

template <class Address> HOCKET_SIM_INLINE void gatherFourWords(Address at, u32 (*to)[waveSize]) {
  for (unsigned lane = 0; lane < 64; lane += 4) {
    FourWords m[4];
    for (unsigned i = 0; i < 4; ++i)
      m[i] = *reinterpret_cast<const FourWords *>(at(lane + i));
    transpose(m);
    for (unsigned i = 0; i < 4; ++i)
      *reinterpret_cast<FourWords *>(&to[i][lane]) = m[i];
  }
}

#endif

/// The four 16-bit elements of each lane, transposed among sixteen lanes: row r is the lanes 4r to
/// 4r + 3. (The gathers of AVX-512 are slower than this on CPUs that guard against data sampling.)
HOCKET_SIM_INLINE void gatherQuads16(const std::byte *base, const u32 *address,
                                     u32 (*to)[waveSize]) {
  typedef u16 FourHalves __attribute__((ext_vector_type(4), aligned(1), may_alias));
  typedef u16 EightHalves __attribute__((ext_vector_type(8), aligned(4), may_alias));
  for (unsigned group = 0; group < 64; group += 16)
    for (unsigned quad = 0; quad < 4; ++quad) {
      FourHalves row[4];
      for (unsigned r = 0; r < 4; ++r)
        row[r] = *reinterpret_cast<const FourHalves *>(base + address[group + 4 * r + quad]);
      unsigned lane = group + 4 * quad;
      for (unsigned i = 0; i < 2; ++i)
        *reinterpret_cast<EightHalves *>(&to[i][lane]) =
            __builtin_shufflevector(row[2 * i], row[2 * i + 1], 0, 4, 1, 5, 2, 6, 3, 7);
    }
}

#if defined(__AVX512F__)

/// Whether the four lanes of each row of `gatherTransposed16` lie side by side, as tiles do.
HOCKET_SIM_INLINE bool rowsAreContiguous(const u32 *address) {
  const __m512i steps = _mm512_set4_epi32(24, 16, 8, 0);
  u32 apart = 0;
  for (unsigned lane = 0; lane < 64; lane += 16) {
    __m512i all = _mm512_loadu_si512(address + lane);
    __m512i first = _mm512_shuffle_epi32(all, _MM_PERM_AAAA);
    apart |= _mm512_cmpneq_epi32_mask(_mm512_add_epi32(first, steps), all);
  }
  return apart == 0;
}

/// Two rows of sixteen 16-bit elements as pairs.
HOCKET_SIM_INLINE __m512i pairRows(const std::byte *low, const std::byte *high) {
  auto row = [](const std::byte *at) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(at)));
  };
  return _mm512_or_si512(row(low), _mm512_slli_epi32(row(high), 16));
}

HOCKET_SIM_INLINE void gatherTransposed16(const std::byte *base, const u32 *address,
                                          u32 (*to)[waveSize]) {
  if (!rowsAreContiguous(address)) [[unlikely]]
    return gatherQuads16(base, address, to);
  for (unsigned lane = 0; lane < 64; lane += 16)
    for (unsigned i = 0; i < 2; ++i)
      _mm512_storeu_si512(&to[i][lane],
                          pairRows(base + address[lane + 8 * i], base + address[lane + 8 * i + 4]));
}

#else

HOCKET_SIM_INLINE void gatherTransposed16(const std::byte *base, const u32 *address,
                                          u32 (*to)[waveSize]) {
  gatherQuads16(base, address, to);
}

#endif

} // namespace hocket::sim::HOCKET_SIM_ISA
