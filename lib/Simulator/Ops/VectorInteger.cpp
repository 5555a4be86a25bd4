// Integer arithmetic, logic and bit fields on 32 and 64 bits (CDNA3 ISA 12.7 to 12.10).
#include "Families.h"
#include "Median.h"

namespace hocket::sim::HOCKET_SIM_ISA {

static constexpr auto addSigned = [](i32 a, i32 b) -> i32 {
  i64 sum = i64(a) + b;
  return static_cast<i32>(sum > 0x7fffffff      ? 0x7fffffff
                          : sum < -0x80000000ll ? -0x80000000ll
                                                : sum);
};
static constexpr auto subtractSigned = [](i32 a, i32 b) -> i32 {
  i64 d = i64(a) - b;
  return static_cast<i32>(d > 0x7fffffff ? 0x7fffffff : d < -0x80000000ll ? -0x80000000ll : d);
};

static void registerAddSubtract(OpTable &table) {
  table.addSaturating("v_add_u32", lanes<[](u32 a, u32 b) { return a + b; }>,
                      lanes<[](u32 a, u32 b) { return a + b < a ? ~0u : a + b; }>);
  table.addSaturating("v_sub_u32", lanes<[](u32 a, u32 b) { return a - b; }>,
                      lanes<[](u32 a, u32 b) { return a < b ? 0u : a - b; }>);
  table.addSaturating("v_subrev_u32", lanes<[](u32 a, u32 b) { return b - a; }>,
                      lanes<[](u32 a, u32 b) { return b < a ? 0u : b - a; }>);
  table.addSaturating("v_add_i32", lanes<[](u32 a, u32 b) { return a + b; }>, lanes<addSigned>);
  table.addSaturating("v_sub_i32", lanes<[](u32 a, u32 b) { return a - b; }>,
                      lanes<subtractSigned>);
  table.add("v_add3_u32", lanes<[](u32 a, u32 b, u32 c) { return a + b + c; }>);
  table.add("v_add_lshl_u32", lanes<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>);
  table.add("v_lshl_add_u32", lanes<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>);
  table.add("v_lshl_add_u64", lanes<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>);
  table.add("v_xad_u32", lanes<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>);
}

static HOCKET_SIM_INLINE i32 signed24(u32 a) { return static_cast<i32>(a << 8) >> 8; }

static void registerMultiply(OpTable &table) {
  table.add("v_mul_lo_u32", lanes<[](u32 a, u32 b) { return a * b; }>);
  table.add("v_mul_hi_u32", lanes<[](u32 a, u32 b) { return static_cast<u32>(u64(a) * b >> 32); }>);
  table.add("v_mul_hi_i32", lanes<[](i32 a, i32 b) { return static_cast<i32>(i64(a) * b >> 32); }>);
  table.add("v_mul_u32_u24", lanes<[](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }>);
  table.add("v_mul_i32_i24", lanes<[](u32 a, u32 b) {
              return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b));
            }>);
  table.add("v_mul_hi_u32_u24", lanes<[](u32 a, u32 b) {
              return static_cast<u32>(u64(a & 0xffffff) * (b & 0xffffff) >> 32);
            }>);
  table.add(
      "v_mul_hi_i32_i24",
      lanes<[](u32 a, u32 b) { return static_cast<i32>(i64(signed24(a)) * signed24(b) >> 32); }>);
  table.addSaturating(
      "v_mad_u32_u24",
      lanes<[](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }>,
      lanes<[](u32 a, u32 b, u32 c) {
        u64 sum = u64(a & 0xffffff) * (b & 0xffffff) + c;
        return static_cast<u32>(sum > 0xffffffff ? 0xffffffff : sum);
      }>);
  table.addSaturating("v_mad_i32_i24", lanes<[](u32 a, u32 b, u32 c) {
                        return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) + c;
                      }>,
                      lanes<[](u32 a, u32 b, i32 c) {
                        i64 sum = i64(signed24(a)) * signed24(b) + c;
                        sum = sum > 0x7fffffff ? 0x7fffffff : sum;
                        return static_cast<i32>(sum < -0x80000000ll ? -0x80000000ll : sum);
                      }>);
}

static void registerLogic(OpTable &table) {
  table.add("v_and_b32", lanes<[](u32 a, u32 b) { return a & b; }>);
  table.add("v_or_b32", lanes<[](u32 a, u32 b) { return a | b; }>);
  table.add("v_xor_b32", lanes<[](u32 a, u32 b) { return a ^ b; }>);
  table.add("v_xnor_b32", lanes<[](u32 a, u32 b) { return ~(a ^ b); }>);
  table.add("v_not_b32", lanes<[](u32 a) { return ~a; }>);
  table.add("v_and_or_b32", lanes<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>);
  table.add("v_or3_b32", lanes<[](u32 a, u32 b, u32 c) { return a | b | c; }>);
  table.add("v_lshl_or_b32", lanes<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>);
  table.add("v_lshlrev_b32", lanes<[](u32 n, u32 a) { return a << (n & 31); }>);
  table.add("v_lshrrev_b32", lanes<[](u32 n, u32 a) { return a >> (n & 31); }>);
  table.add("v_ashrrev_i32", lanes<[](u32 n, i32 a) { return a >> (n & 31); }>);
  table.add("v_lshlrev_b64", lanes<[](u32 n, u64 a) { return a << (n & 63); }>);
  table.add("v_lshrrev_b64", lanes<[](u32 n, u64 a) { return a >> (n & 63); }>);
  table.add("v_ashrrev_i64", lanes<[](u32 n, i64 a) { return a >> (n & 63); }>);
}

static HOCKET_SIM_INLINE u32 reverseBits(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
}

static void registerBitFields(OpTable &table) {
  table.add("v_bfe_u32", lanes<[](u32 a, u32 offset, u32 width) {
              u32 w = width & 31;
              return a >> (offset & 31) & ((1u << w) - 1);
            }>);
  table.add("v_bfe_i32", lanes<[](i32 a, u32 offset, u32 width) {
              u32 w = width & 31;
              u32 field = static_cast<u32>(a >> (offset & 31)) & ((1u << w) - 1);
              u32 sign = w ? 1u << (w - 1) : 0;
              return (field ^ sign) - sign;
            }>);
  table.add("v_bfi_b32", lanes<[](u32 m, u32 a, u32 b) { return (m & a) | (~m & b); }>);
  table.add("v_bfm_b32",
            lanes<[](u32 w, u32 offset) { return ((1u << (w & 31)) - 1) << (offset & 31); }>);
  table.add("v_bfrev_b32", lanes<[](u32 a) { return reverseBits(a); }>);
  table.add("v_bcnt_u32_b32",
            lanes<[](u32 a, u32 b) { return static_cast<u32>(__builtin_popcount(a)) + b; }>);
  table.add("v_ffbh_u32", lanes<[](u32 a) { return a ? __builtin_clz(a) : -1; }>);
  table.add("v_ffbl_b32", lanes<[](u32 a) { return a ? __builtin_ctz(a) : -1; }>);
  table.add("v_ffbh_i32", lanes<[](i32 a) {
              u32 signless = static_cast<u32>(a < 0 ? ~a : a);
              return signless ? __builtin_clz(signless) : -1;
            }>);
  table.add(
      "v_alignbit_b32",
      lanes<[](u32 a, u32 b, u32 n) { return static_cast<u32>((u64(a) << 32 | b) >> (n & 31)); }>);
  table.add("v_alignbyte_b32", lanes<[](u32 a, u32 b, u32 n) {
              return static_cast<u32>((u64(a) << 32 | b) >> (8 * (n & 3)));
            }>);
}

/// One result byte of v_perm_b32: a byte of {S0, S1}, a byte's sign, 0 or 0xff.
static HOCKET_SIM_INLINE u32 permuteByte(u64 bytes, u32 select) {
  u32 sign = static_cast<u32>(bytes >> (16 * (select & 3) + 15)) & 1;
  u32 plain = static_cast<u32>(bytes >> (8 * (select & 7))) & 0xff;
  return select >= 13 ? 0xff : select == 12 ? 0 : select >= 8 ? (sign ? 0xff : 0) : plain;
}

static constexpr auto permuteAny = [](u32 a, u32 b, u32 s) {
  u64 bytes = u64(a) << 32 | b;
  return permuteByte(bytes, s & 0xff) | permuteByte(bytes, s >> 8 & 0xff) << 8 |
         permuteByte(bytes, s >> 16 & 0xff) << 16 | permuteByte(bytes, s >> 24) << 24;
};

/// v_perm_b32. What transposes and packs elements has one selector for all lanes, of bytes of the
/// sources alone.
static void permute(Wave &wave, const Instruction &in) {
  if (!in.simple || in.source[2].kind == OperandKind::Vgpr)
    return lanes<permuteAny>(wave, in);
  u32 select = uniformWord(wave, in.source[2], 0, operandType<u32>);
  if (select & 0xf8f8f8f8)
    return lanes<permuteAny>(wave, in);
  LaneWords buffers[2], result;
  const u32 *sources[2] = {readPlain(wave, in.source[1], 0, operandType<u32>, buffers[0]),
                           readPlain(wave, in.source[0], 0, operandType<u32>, buffers[1])};
  const u32 *from[4];
  u32 shift[4];
  for (unsigned byte = 0; byte < 4; ++byte) {
    from[byte] = sources[select >> (8 * byte + 2) & 1];
    shift[byte] = 8 * (select >> (8 * byte) & 3);
  }
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    result.lane[i] = (from[0][i] >> shift[0] & 0xff) | (from[1][i] >> shift[1] & 0xff) << 8 |
                     (from[2][i] >> shift[2] & 0xff) << 16 | (from[3][i] >> shift[3] & 0xff) << 24;
  blend(wave.vgpr[in.destination], result.lane, wave.exec());
}

static void registerBytes(OpTable &table) {
  table.add("v_perm_b32", permute);
  table.add("v_lerp_u8", lanes<[](u32 a, u32 b, u32 c) {
              u32 result = 0;
              for (unsigned i = 0; i < 32; i += 8)
                result |= (((a >> i & 0xff) + (b >> i & 0xff) + (c >> i & 1)) >> 1 & 0xff) << i;
              return result;
            }>);
}

static void registerMinMax(OpTable &table) {
  table.add("v_min_i32", lanes<[](i32 a, i32 b) { return a < b ? a : b; }>);
  table.add("v_max_i32", lanes<[](i32 a, i32 b) { return a > b ? a : b; }>);
  table.add("v_min_u32", lanes<[](u32 a, u32 b) { return a < b ? a : b; }>);
  table.add("v_max_u32", lanes<[](u32 a, u32 b) { return a > b ? a : b; }>);
  auto three = [&]<class T>(T, const char *min, const char *max, const char *median) {
    table.add(min, lanes<leastOf3<T>>);
    table.add(max, lanes<greatestOf3<T>>);
    table.add(median, lanes<medianOf3<T>>);
  };
  three(i32(), "v_min3_i32", "v_max3_i32", "v_med3_i32");
  three(u32(), "v_min3_u32", "v_max3_u32", "v_med3_u32");
}

static HOCKET_SIM_INLINE u32 byteDifference(u32 a, u32 b, unsigned i) {
  i32 d = static_cast<i32>(a >> i & 0xff) - static_cast<i32>(b >> i & 0xff);
  return static_cast<u32>(d < 0 ? -d : d);
}
static HOCKET_SIM_INLINE u32 sumOfDifferences(u32 a, u32 b) {
  return byteDifference(a, b, 0) + byteDifference(a, b, 8) + byteDifference(a, b, 16) +
         byteDifference(a, b, 24);
}
/// Bytes of the reference `b` that are zero do not count.
static HOCKET_SIM_INLINE u32 maskedSum(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned i = 0; i < 32; i += 8)
    sum += (b >> i & 0xff) ? byteDifference(a, b, i) : 0;
  return sum;
}

/// v_mqsad_u32_u8: four masked sums at successive bytes of a 64-bit operand, each added to a word
/// of source 2 and written to a register of the destination.
static void fourMaskedSums(Wave &wave, const Instruction &in) {
  LaneWords low, high, reference, addend[4];
  readGeneral(wave, in, 0, operandType<u64>, low, high);
  LaneWords unused;
  readGeneral(wave, in, 1, operandType<u32>, reference, unused);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned i = 0; i < 64; ++i)
      addend[r].lane[i] = wave.vgpr[in.source[2].reg + r][i];
  for (unsigned r = 0; r < 4; ++r) {
    LaneWords result;
    for (unsigned i = 0; i < 64; ++i) {
      u64 window = u64(high.lane[i]) << 32 | low.lane[i];
      result.lane[i] =
          maskedSum(static_cast<u32>(window >> (8 * r)), reference.lane[i]) + addend[r].lane[i];
    }
    blend(wave.vgpr[in.destination + r], result.lane, wave.exec());
  }
}

static void registerDifferences(OpTable &table) {
  table.addSaturating("v_sad_u8",
                      lanes<[](u32 a, u32 b, u32 c) { return sumOfDifferences(a, b) + c; }>,
                      lanes<[](u32 a, u32 b, u32 c) {
                        u32 sum = sumOfDifferences(a, b) + c;
                        return sum < c ? ~0u : sum;
                      }>);
  table.add("v_sad_hi_u8",
            lanes<[](u32 a, u32 b, u32 c) { return (sumOfDifferences(a, b) << 16) + c; }>, false);
  table.add("v_sad_u16", lanes<[](u32 a, u32 b, u32 c) {
              i32 low = static_cast<i32>(a & 0xffff) - static_cast<i32>(b & 0xffff);
              i32 high = static_cast<i32>(a >> 16) - static_cast<i32>(b >> 16);
              return static_cast<u32>(low < 0 ? -low : low) +
                     static_cast<u32>(high < 0 ? -high : high) + c;
            }>,
            false);
  table.add("v_sad_u32", lanes<[](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }>,
            false);
  table.add("v_msad_u8", lanes<[](u32 a, u32 b, u32 c) { return maskedSum(a, b) + c; }>, false);
  table.add("v_qsad_pk_u16_u8", lanes<[](u64 a, u32 b, u64 c) {
              u64 result = 0;
              for (unsigned i = 0; i < 4; ++i) {
                u64 sum = sumOfDifferences(static_cast<u32>(a >> (8 * i)), b) + (c >> (16 * i));
                result |= (sum & 0xffff) << (16 * i);
              }
              return result;
            }>,
            false);
  table.add("v_mqsad_u32_u8", fourMaskedSums, false);
  table.add("v_mqsad_pk_u16_u8", lanes<[](u64 a, u32 b, u64 c) {
              u64 result = 0;
              for (unsigned i = 0; i < 4; ++i) {
                u64 sum = maskedSum(static_cast<u32>(a >> (8 * i)), b) + (c >> (16 * i));
                result |= (sum & 0xffff) << (16 * i);
              }
              return result;
            }>,
            false);
}

/// Any function of three bits: bit 4a + 2b + c of the table in the encoding is the result.
static HOCKET_SIM_INLINE u32 bitFunction(u32 a, u32 b, u32 c, u32 truth) {
  u32 result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    u32 term = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    result |= truth >> i & 1 ? term : 0;
  }
  return result;
}

/// The table's eight bits lie where other instructions have omod [7:6], abs [5:3] and neg [2:0].
static u32 truthTable(const Instruction &in) {
  u32 w0 = in.words[0], w1 = in.words[1];
  return (w1 >> 27 & 3) << 6 | (w0 >> 8 & 7) << 3 | (w1 >> 29 & 7);
}

static void bitFunction32(Wave &wave, const Instruction &in) {
  LaneWords buffer[3], result;
  const u32 *source[3];
  for (unsigned i = 0; i < 3; ++i)
    source[i] = readPlain(wave, in.source[i], 0, operandType<u32>, buffer[i]);
  u32 truth = truthTable(in);
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i)
    result.lane[i] = bitFunction(source[0][i], source[1][i], source[2][i], truth);
  blend(wave.vgpr[in.destination], result.lane, wave.exec());
}

void registerVectorInteger(OpTable &table) {
  registerAddSubtract(table);
  registerMultiply(table);
  registerLogic(table);
  registerBitFields(table);
  registerBytes(table);
  registerMinMax(table);
  registerDifferences(table);
  table.add("v_bitop3_b32", bitFunction32);
  // One step of a linear feedback shift register with polynomial 0xc5.
  table.add("v_prng_b32", lanes<[](u32 a) { return a << 1 ^ (a & 0x80000000 ? 197u : 0u); }>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
