// Integer vector instructions, one check per instruction.
#include "WaveHarness.h"

using namespace hocket::sim::test;

namespace {
struct Case {
  const char *op;
  uint64_t a, b, c, result;
};
} // namespace

/// Runs each case with a in v[2:3], b in v[4:5], c in v[6:7] and compares v0 or v[0:1].
static void check(const std::vector<Case> &cases, const char *format, bool wide = false) {
  for (const Case &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setV64(0, uint64_t(0));
    h.setV64(2, c.a);
    h.setV64(4, c.b);
    h.setV64(6, c.c);
    std::string text = format;
    text.replace(text.find("OP"), 2, c.op);
    h.run(text);
    for (unsigned lane : {0u, 37u, 63u})
      EXPECT_EQ(wide ? h.v64(0, lane) : h.v(0, lane), c.result);
  }
}

TEST(VectorInteger, AddSubtractMultiply) {
  check(
      {
          {"v_add_u32", 0xffffffff, 2, 0, 1},
          {"v_sub_u32", 1, 2, 0, 0xffffffff},
          {"v_subrev_u32", 1, 2, 0, 1},
          {"v_mul_u32_u24", 0xff000003, 0xaa000005, 0, 15},
          {"v_mul_i32_i24", 0xffffff, 5, 0, uint32_t(-5)},
          {"v_mul_hi_u32_u24", 0xffffff, 0xffffff, 0, 0xffff},
          {"v_mul_hi_i32_i24", 0xffffff, 5, 0, 0xffffffff},
          {"v_add_i32", 0x7fffffff, 1, 0, 0x80000000},
          {"v_sub_i32", 0, 1, 0, 0xffffffff},
          {"v_mul_lo_u32", 0x10001, 0x10001, 0, 0x20001},
          {"v_mul_hi_u32", 0x80000000, 6, 0, 3},
          {"v_mul_hi_i32", 0x80000000, 2, 0, 0xffffffff},
      },
      "OP v0, v2, v4");
  check(
      {
          {"v_add3_u32", 1, 2, 3, 6},
          {"v_add_lshl_u32", 1, 2, 3, 24},
          {"v_lshl_add_u32", 1, 4, 3, 19},
          {"v_xad_u32", 6, 3, 10, 15},
          {"v_mad_u32_u24", 0xff000003, 5, 1, 16},
          {"v_mad_i32_i24", 0xffffff, 5, 1, uint32_t(-4)},
          {"v_sad_u8", 0x01020304, 0x04030201, 100, 108},
          {"v_sad_hi_u8", 0x01020304, 0x04030201, 1, (8 << 16) + 1},
          {"v_sad_u16", 0x00010005, 0x00030002, 10, 15},
          {"v_sad_u32", 5, 9, 1, 5},
          {"v_msad_u8", 0x01020304, 0x04030001, 100, 107},
          {"v_lerp_u8", 0x01020304, 0x03040506, 0x01010101, 0x02030405},
      },
      "OP v0, v2, v4, v6");
  check({{"v_lshl_add_u64", 1ull << 40, 3, 5, (1ull << 43) + 5}}, "OP v[0:1], v[2:3], v4, v[6:7]",
        true);
}

TEST(VectorInteger, ClampSaturates) {
  check(
      {
          {"v_add_u32", 0xffffffff, 2, 0, 0xffffffff},
          {"v_sub_u32", 1, 2, 0, 0},
          {"v_subrev_u32", 2, 1, 0, 0},
          {"v_add_i32", 0x7fffffff, 1, 0, 0x7fffffff},
          {"v_sub_i32", 0x80000000, 1, 0, 0x80000000},
      },
      "OP v0, v2, v4 clamp");
}

TEST(VectorInteger, LogicAndShifts) {
  check(
      {
          {"v_and_b32", 12, 10, 0, 8},
          {"v_or_b32", 12, 10, 0, 14},
          {"v_xor_b32", 12, 10, 0, 6},
          {"v_xnor_b32", 12, 10, 0, ~6u},
          {"v_lshlrev_b32", 33, 3, 0, 6},
          {"v_lshrrev_b32", 31, 0x80000000, 0, 1},
          {"v_ashrrev_i32", 31, 0x80000000, 0, 0xffffffff},
          {"v_bfm_b32", 4, 8, 0, 0xf00},
          {"v_bcnt_u32_b32", 0xff, 3, 0, 11},
      },
      "OP v0, v2, v4");
  check(
      {
          {"v_and_or_b32", 12, 10, 1, 9},
          {"v_or3_b32", 1, 2, 4, 7},
          {"v_lshl_or_b32", 1, 4, 3, 19},
          {"v_bfe_u32", 0xabcd1234, 16, 8, 0xcd},
          {"v_bfe_i32", 0xabcd1234, 16, 8, 0xffffffcd},
          {"v_bfi_b32", 0xff00, 0x1234, 0xabcd, 0x12cd},
          {"v_alignbit_b32", 0x12345678, 0x9abcdef0, 4, 0x89abcdef},
          {"v_alignbyte_b32", 0x12345678, 0x9abcdef0, 1, 0x789abcde},
          {"v_perm_b32", 0x44332211, 0x88776655, 0x0c0d0403, 0x00ff1188},
      },
      "OP v0, v2, v4, v6");
  check({{"v_perm_b32", 0x80332211, 0x88770655, 0x0b0a0908, 0xff00ff00}}, "OP v0, v2, v4, v6");
  check(
      {
          {"v_lshlrev_b64", 40, 1, 0, 1ull << 40},
          {"v_lshrrev_b64", 40, 1ull << 40, 0, 1},
          {"v_ashrrev_i64", 40, 1ull << 63, 0, uint64_t(int64_t(1ull << 63) >> 40)},
      },
      "OP v[0:1], v2, v[4:5]", true);
  check(
      {
          {"v_not_b32", 12, 0, 0, ~12u},
          {"v_bfrev_b32", 3, 0, 0, 0xc0000000},
          {"v_ffbh_u32", 0x00ffffff, 0, 0, 8},
          {"v_ffbl_b32", 0x100, 0, 0, 8},
          {"v_ffbh_i32", 0xfff00000, 0, 0, 12},
          {"v_prng_b32", 0x80000001, 0, 0, 2 ^ 197},
      },
      "OP v0, v2");
}

TEST(VectorInteger, BitFunction) {
  for (unsigned truth : {0x80u, 0x96u, 0xcau, 0x01u, 0xf0u}) {
    WaveHarness h;
    h.setV(2, 0xf0f0f0f0u);
    h.setV(4, 0xccccccccu);
    h.setV(6, 0xaaaaaaaau);
    h.run("v_bitop3_b32 v0, v2, v4, v6 bitop3:" + std::to_string(truth));
    EXPECT_EQ(h.v(0), truth * 0x01010101u);
    h.run("v_bitop3_b16 v0, v2, v4, v6 bitop3:" + std::to_string(truth));
    EXPECT_EQ(h.v(0) & 0xffff, truth * 0x0101u);
  }
}

TEST(VectorInteger, MinMaxMedian) {
  check(
      {
          {"v_min_i32", 0xffffffff, 1, 0, 0xffffffff},
          {"v_max_i32", 0xffffffff, 1, 0, 1},
          {"v_min_u32", 0xffffffff, 1, 0, 1},
          {"v_max_u32", 0xffffffff, 1, 0, 0xffffffff},
      },
      "OP v0, v2, v4");
  check(
      {
          {"v_min3_i32", 0xffffffff, 1, 2, 0xffffffff},
          {"v_max3_i32", 0xffffffff, 1, 2, 2},
          {"v_med3_i32", 0xffffffff, 1, 2, 1},
          {"v_min3_u32", 0xffffffff, 1, 2, 1},
          {"v_max3_u32", 0xffffffff, 1, 2, 0xffffffff},
          {"v_med3_u32", 0xffffffff, 1, 2, 2},
      },
      "OP v0, v2, v4, v6");
}

TEST(VectorInteger, WideDifferences) {
  check(
      {
          {"v_qsad_pk_u16_u8", 0x04030201, 0x04030201, 0x0001000100010001, 0x000d000c00080001},
          {"v_mqsad_pk_u16_u8", 0x04030201, 0x04030200, 0x0001000100010001, 0x000a000a00070001},
      },
      "OP v[0:1], v[2:3], v4, v[6:7]", true);
}

TEST(VectorCarry, ChainsThroughMasks) {
  WaveHarness h;
  h.setV64(2, 0x00000001ffffffffull);
  h.setV64(4, uint64_t(1));
  h.setLane(2, 5, 7u);
  h.run("v_add_co_u32 v0, vcc, v2, v4\nv_addc_co_u32 v1, vcc, v3, v5, vcc");
  EXPECT_EQ(h.v64(0), 0x200000000ull);
  EXPECT_EQ(h.v64(0, 5), 0x100000008ull);
  EXPECT_EQ(h.vcc(), 0u);
  h.run("v_sub_co_u32 v0, s[10:11], v4, v2\nv_subb_co_u32 v1, s[12:13], v5, v3, s[10:11]");
  EXPECT_EQ(h.v64(0), 1 - 0x1ffffffffull);
  EXPECT_EQ(h.s64(10), ~0ull);
  EXPECT_EQ(h.s64(12), ~0ull);
  h.run("v_subrev_co_u32 v0, vcc, v2, v4\nv_subbrev_co_u32 v1, vcc, v3, v5, vcc");
  EXPECT_EQ(h.v64(0), 1 - 0x1ffffffffull);
  h.setExec(0xff);
  h.run("v_sub_co_u32 v0, vcc, v4, v2");
  EXPECT_EQ(h.vcc(), 0xffull) << "bits of inactive lanes are zero";
}

TEST(VectorCarry, MultiplyAdd64) {
  WaveHarness h;
  h.setV(2, 0xffffffffu);
  h.setV(4, 0xffffffffu);
  h.setV64(6, ~0ull);
  h.run("v_mad_u64_u32 v[0:1], s[2:3], v2, v4, v[6:7]");
  EXPECT_EQ(h.v64(0), 0xfffffffe00000001ull - 1);
  EXPECT_EQ(h.s64(2), ~0ull);
  h.run("v_mad_i64_i32 v[0:1], s[2:3], v2, v4, v[6:7]");
  EXPECT_EQ(h.v64(0), 0u);
}

TEST(VectorInteger, ExecMasksTheResult) {
  WaveHarness h;
  h.setV(0, 99u);
  h.setV(2, 1u);
  h.setExec(0x8000000000000001ull);
  h.run("v_add_u32 v0, v2, v2");
  EXPECT_EQ(h.v(0, 0), 2u);
  EXPECT_EQ(h.v(0, 1), 99u);
  EXPECT_EQ(h.v(0, 63), 2u);
}

TEST(VectorInteger, OverlappingTuples) {
  WaveHarness h;
  h.setV64(2, 0x0123456789abcdefull);
  h.setV(1, 0u);
  h.run("v_lshlrev_b64 v[2:3], 4, v[2:3]\nv_lshrrev_b64 v[4:5], 8, v[2:3]");
  EXPECT_EQ(h.v64(4), 0x0123456789abcdefull << 4 >> 8);
}

TEST(VectorInteger, Sdwa) {
  WaveHarness h;
  h.setV(2, 0x80ff1234u);
  h.setV(4, 0x00000010u);
  h.setV(0, 0xaaaaaaaau);
  h.run("v_add_u32_sdwa v0, v2, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 "
        "src1_sel:DWORD");
  EXPECT_EQ(h.v(0), 0xaaaa22aau);
  h.run("v_add_u32_sdwa v0, v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 "
        "src1_sel:DWORD");
  EXPECT_EQ(h.v(0), 0x12440000u);
  h.run("v_add_u32_sdwa v0, sext(v2), v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 "
        "src1_sel:DWORD");
  EXPECT_EQ(h.v(0), uint32_t(-128 + 16));
  h.run("v_or_b32_sdwa v0, v2, v4 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 "
        "src1_sel:DWORD");
  EXPECT_EQ(h.v(0), 0xffffffffu);
}

/// A selector that all lanes share has code of its own: it must do what one in a register does.
TEST(VectorInteger, PermutesAlikeByScalarAndVectorSelectors) {
  for (uint32_t select : {0x05040100u, 0x07060302u, 0x03020706u, 0x00010203u, 0x04070105u,
                          0x0c0c0100u, 0x07060d0au, 0x0b0a0908u, 0x10000000u}) {
    SCOPED_TRACE(select);
    WaveHarness h;
    for (unsigned lane = 0; lane < 64; ++lane) {
      h.setLane(2, lane, 0x9e3779b9u * (lane + 1));
      h.setLane(4, lane, 0x85ebca6bu * (lane + 3));
    }
    for (unsigned reg : {0u, 1u, 5u, 7u})
      h.setV(reg, 77);
    h.setV(6, select);
    h.setS(10, select);
    h.setS(11, 0xc0ffee11);
    h.setExec(0xf0f0f0f0f0f0f0ff);
    h.run("v_perm_b32 v0, v2, v4, v6\n"
          "v_perm_b32 v1, v2, v4, s10\n"
          "v_mov_b32 v3, s11\n"
          "v_perm_b32 v5, v3, v2, v6\n"
          "v_mov_b32 v8, s10\n"
          "v_perm_b32 v7, v3, v2, s10\n");
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(h.v(0, lane), h.v(1, lane));
      EXPECT_EQ(h.v(5, lane), h.v(7, lane));
    }
    EXPECT_EQ(h.v(1, 8), 77u);
  }
}
