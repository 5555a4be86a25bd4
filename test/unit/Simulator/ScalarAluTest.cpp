// Scalar arithmetic, one check per instruction.
#include "WaveHarness.h"

using namespace hocket::sim::test;

namespace {
struct Case {
  const char *op;
  uint64_t a, b;
  uint64_t result;
  int scc; ///< -1: unchanged (it is set to 1 before)
};
} // namespace

static void check(const std::vector<Case> &cases, const char *format, bool wide) {
  for (const Case &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setS64(2, c.a);
    h.setS64(4, c.b);
    h.wave().scc = 1;
    std::string text = format;
    text.replace(text.find("OP"), 2, c.op);
    h.run(text);
    EXPECT_EQ(wide ? h.s64(0) : h.s(0), c.result);
    EXPECT_EQ(int(h.wave().scc), c.scc < 0 ? 1 : c.scc);
  }
}

TEST(ScalarAlu, TwoOperands32) {
  check(
      {
          {"s_add_u32", 0xffffffff, 2, 1, 1},
          {"s_addc_u32", 1, 2, 4, 0},
          {"s_sub_u32", 1, 2, 0xffffffff, 1},
          {"s_subb_u32", 5, 2, 2, 0},
          {"s_add_i32", 0x7fffffff, 1, 0x80000000, 1},
          {"s_sub_i32", 3, 4, 0xffffffff, 0},
          {"s_mul_i32", 0xffffffff, 7, 0xfffffff9, -1},
          {"s_mul_hi_u32", 0x80000000, 6, 3, -1},
          {"s_mul_hi_i32", 0xffffffff, 6, 0xffffffff, -1},
          {"s_absdiff_i32", 0xfffffffe, 3, 5, 1},
          {"s_min_i32", 0xffffffff, 1, 0xffffffff, 1},
          {"s_min_u32", 0xffffffff, 1, 1, 0},
          {"s_max_i32", 0xffffffff, 1, 1, 0},
          {"s_max_u32", 0xffffffff, 1, 0xffffffff, 1},
          {"s_cselect_b32", 11, 22, 11, -1},
          {"s_and_b32", 12, 10, 8, 1},
          {"s_or_b32", 12, 10, 14, 1},
          {"s_xor_b32", 12, 12, 0, 0},
          {"s_andn2_b32", 12, 10, 4, 1},
          {"s_orn2_b32", 0, ~0u, 0, 0},
          {"s_nand_b32", ~0u, ~0u, 0, 0},
          {"s_nor_b32", 12, 10, 0xfffffff1, 1},
          {"s_xnor_b32", 12, 10, 0xfffffff9, 1},
          {"s_lshl_b32", 3, 33, 6, 1},
          {"s_lshr_b32", 0x80000000, 31, 1, 1},
          {"s_ashr_i32", 0x80000000, 31, 0xffffffff, 1},
          {"s_bfm_b32", 4, 8, 0xf00, -1},
          {"s_bfe_u32", 0xabcd1234, 8 << 16 | 16, 0xcd, 1},
          {"s_bfe_i32", 0xabcd1234, 8 << 16 | 16, 0xffffffcd, 1},
          {"s_lshl1_add_u32", 3, 4, 10, 0},
          {"s_lshl2_add_u32", 3, 4, 16, 0},
          {"s_lshl3_add_u32", 3, 4, 28, 0},
          {"s_lshl4_add_u32", 0xf0000000, 4, 4, 1},
          {"s_pack_ll_b32_b16", 0x11112222, 0x33334444, 0x44442222, -1},
          {"s_pack_lh_b32_b16", 0x11112222, 0x33334444, 0x33332222, -1},
          {"s_pack_hh_b32_b16", 0x11112222, 0x33334444, 0x33331111, -1},
      },
      "OP s0, s2, s4", false);
}

TEST(ScalarAlu, TwoOperands64) {
  check(
      {
          {"s_cselect_b64", 1ull << 40, 2, 1ull << 40, -1},
          {"s_and_b64", 3ull << 40, 1ull << 40, 1ull << 40, 1},
          {"s_or_b64", 1ull << 40, 1, 1ull << 40 | 1, 1},
          {"s_xor_b64", 1ull << 40, 1ull << 40, 0, 0},
          {"s_andn2_b64", 3ull << 40, 1ull << 40, 2ull << 40, 1},
          {"s_orn2_b64", 0, ~1ull, 1, 1},
          {"s_nand_b64", ~0ull, ~0ull, 0, 0},
          {"s_nor_b64", 0, 1, ~1ull, 1},
          {"s_xnor_b64", 5, 5, ~0ull, 1},
      },
      "OP s[0:1], s[2:3], s[4:5]", true);
  check(
      {
          {"s_lshl_b64", 1, 40, 1ull << 40, 1},
          {"s_lshr_b64", 1ull << 40, 40, 1, 1},
          {"s_ashr_i64", 1ull << 63, 63, ~0ull, 1},
          {"s_bfe_u64", 0xabull << 40, 8 << 16 | 40, 0xab, 1},
          {"s_bfe_i64", 0xabull << 40, 8 << 16 | 40, uint64_t(int64_t(int8_t(0xab))), 1},
      },
      "OP s[0:1], s[2:3], s4", true);
  check({{"s_bfm_b64", 4, 40, 0xfull << 40, -1}}, "OP s[0:1], s2, s4", true);
}

TEST(ScalarAlu, OneOperand) {
  check(
      {
          {"s_mov_b32", 77, 0, 77, -1},
          {"s_cmov_b32", 77, 0, 77, -1},
          {"s_not_b32", ~0u, 0, 0, 0},
          {"s_abs_i32", 0xfffffff0, 0, 16, 1},
          {"s_brev_b32", 3, 0, 0xc0000000, -1},
          {"s_bcnt0_i32_b32", 0xffffff00, 0, 8, 1},
          {"s_bcnt1_i32_b32", 0xffffff00, 0, 24, 1},
          {"s_ff0_i32_b32", 7, 0, 3, -1},
          {"s_ff1_i32_b32", 0, 0, 0xffffffff, -1},
          {"s_flbit_i32_b32", 0x00ffffff, 0, 8, -1},
          {"s_flbit_i32", 0xfff00000, 0, 12, -1},
          {"s_sext_i32_i8", 0x180, 0, 0xffffff80, -1},
          {"s_sext_i32_i16", 0x18000, 0, 0xffff8000, -1},
          {"s_wqm_b32", 0x100, 0, 0xf00, 1},
          {"s_quadmask_b32", 0x100, 0, 4, 1},
      },
      "OP s0, s2", false);
  check(
      {
          {"s_mov_b64", 1ull << 60, 0, 1ull << 60, -1},
          {"s_cmov_b64", 1ull << 60, 0, 1ull << 60, -1},
          {"s_not_b64", 0, 0, ~0ull, 1},
          {"s_brev_b64", 1, 0, 1ull << 63, -1},
          {"s_wqm_b64", 1ull << 40, 0, 15ull << 40, 1},
          {"s_quadmask_b64", 1ull << 40, 0, 1 << 10, 1},
      },
      "OP s[0:1], s[2:3]", true);
  check(
      {
          {"s_bcnt0_i32_b64", ~0ull << 8, 0, 8, 1},
          {"s_bcnt1_i32_b64", ~0ull << 8, 0, 56, 1},
          {"s_ff0_i32_b64", (1ull << 40) - 1, 0, 40, -1},
          {"s_ff1_i32_b64", 1ull << 40, 0, 40, -1},
          {"s_flbit_i32_b64", 1, 0, 63, -1},
          {"s_flbit_i32_i64", ~0ull, 0, 0xffffffff, -1},
      },
      "OP s0, s[2:3]", false);
  check({{"s_bitreplicate_b64_b32", 5, 0, 0x33, -1}}, "OP s[0:1], s2", true);
}

TEST(ScalarAlu, Compares) {
  const Case cases[] = {
      {"s_cmp_eq_i32", 1, 1, 0, 1},          {"s_cmp_lg_i32", 1, 1, 0, 0},
      {"s_cmp_gt_i32", 1, 0xffffffff, 0, 1}, {"s_cmp_ge_i32", 1, 1, 0, 1},
      {"s_cmp_lt_i32", 1, 0xffffffff, 0, 0}, {"s_cmp_le_i32", 1, 2, 0, 1},
      {"s_cmp_eq_u32", 1, 2, 0, 0},          {"s_cmp_lg_u32", 1, 2, 0, 1},
      {"s_cmp_gt_u32", 1, 0xffffffff, 0, 0}, {"s_cmp_ge_u32", 2, 1, 0, 1},
      {"s_cmp_lt_u32", 1, 0xffffffff, 0, 1}, {"s_cmp_le_u32", 2, 1, 0, 0},
      {"s_bitcmp0_b32", 4, 2, 0, 0},         {"s_bitcmp1_b32", 4, 2, 0, 1},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setS(2, static_cast<uint32_t>(c.a));
    h.setS(4, static_cast<uint32_t>(c.b));
    h.wave().scc = 1 - c.scc;
    h.run(std::string(c.op) + " s2, s4");
    EXPECT_EQ(int(h.wave().scc), c.scc);
  }
  WaveHarness h;
  h.setS64(2, 1ull << 40);
  h.setS64(4, 1ull << 40);
  h.run("s_cmp_eq_u64 s[2:3], s[4:5]");
  EXPECT_EQ(h.wave().scc, 1u);
  h.run("s_cmp_lg_u64 s[2:3], s[4:5]");
  EXPECT_EQ(h.wave().scc, 0u);
  h.setS(6, 40);
  h.run("s_bitcmp1_b64 s[2:3], s6");
  EXPECT_EQ(h.wave().scc, 1u);
  h.run("s_bitcmp0_b64 s[2:3], s6");
  EXPECT_EQ(h.wave().scc, 0u);
}

TEST(ScalarAlu, Immediates) {
  WaveHarness h;
  h.run("s_movk_i32 s0, -3");
  EXPECT_EQ(h.s(0), 0xfffffffd);
  h.run("s_addk_i32 s0, 5");
  EXPECT_EQ(h.s(0), 2u);
  h.run("s_mulk_i32 s0, -4");
  EXPECT_EQ(h.s(0), uint32_t(-8));
  const Case cases[] = {
      {"s_cmpk_eq_i32 s0, -8", 0, 0, 0, 1},     {"s_cmpk_lg_i32 s0, -8", 0, 0, 0, 0},
      {"s_cmpk_gt_i32 s0, -9", 0, 0, 0, 1},     {"s_cmpk_ge_i32 s0, -7", 0, 0, 0, 0},
      {"s_cmpk_lt_i32 s0, 0", 0, 0, 0, 1},      {"s_cmpk_le_i32 s0, -9", 0, 0, 0, 0},
      {"s_cmpk_eq_u32 s0, 0xfff8", 0, 0, 0, 0}, {"s_cmpk_lg_u32 s0, 1", 0, 0, 0, 1},
      {"s_cmpk_gt_u32 s0, 1", 0, 0, 0, 1},      {"s_cmpk_ge_u32 s0, 1", 0, 0, 0, 1},
      {"s_cmpk_lt_u32 s0, 1", 0, 0, 0, 0},      {"s_cmpk_le_u32 s0, 1", 0, 0, 0, 0},
  };
  for (const Case &c : cases) {
    h.wave().scc = 1 - c.scc;
    h.run(c.op);
    EXPECT_EQ(int(h.wave().scc), c.scc) << c.op;
  }
  h.wave().scc = 0;
  h.run("s_cmovk_i32 s0, 9");
  EXPECT_EQ(h.s(0), uint32_t(-8));
  h.wave().scc = 1;
  h.run("s_cmovk_i32 s0, 9");
  EXPECT_EQ(h.s(0), 9u);
}

TEST(ScalarAlu, BitsAndRelativeMoves) {
  WaveHarness h;
  h.setS64(0, 0);
  h.run("s_bitset1_b32 s0, 5");
  EXPECT_EQ(h.s(0), 32u);
  h.run("s_bitset0_b32 s0, 5");
  EXPECT_EQ(h.s(0), 0u);
  h.run("s_bitset1_b64 s[0:1], 40");
  EXPECT_EQ(h.s64(0), 1ull << 40);
  h.run("s_bitset0_b64 s[0:1], 40");
  EXPECT_EQ(h.s64(0), 0u);
  h.setS64(10, 0x1234567800000099);
  h.run("s_mov_b32 m0, 2\ns_movrels_b32 s0, s8");
  EXPECT_EQ(h.s(0), 0x99u);
  h.run("s_movrels_b64 s[0:1], s[8:9]\ns_movreld_b32 s20, s10\ns_movreld_b64 s[24:25], s[10:11]");
  EXPECT_EQ(h.s64(0), 0x1234567800000099u);
  EXPECT_EQ(h.s(22), 0x99u);
  EXPECT_EQ(h.s64(26), 0x1234567800000099u);
}

TEST(ScalarAlu, SaveExec) {
  const struct {
    const char *op;
    uint64_t exec;
  } cases[] = {
      {"s_and_saveexec_b64", 0x8},      {"s_or_saveexec_b64", 0xe},
      {"s_xor_saveexec_b64", 0x6},      {"s_andn2_saveexec_b64", 0x4},
      {"s_orn2_saveexec_b64", ~0x2ull}, {"s_nand_saveexec_b64", ~0x8ull},
      {"s_nor_saveexec_b64", ~0xeull},  {"s_xnor_saveexec_b64", ~0x6ull},
      {"s_andn1_saveexec_b64", 0x2},    {"s_orn1_saveexec_b64", ~0x4ull},
  };
  for (const auto &c : cases) {
    WaveHarness h;
    h.setS64(2, 0xc);
    h.setExec(0xa);
    h.run(std::string(c.op) + " s[0:1], s[2:3]");
    EXPECT_EQ(h.s64(0), 0xau) << c.op;
    EXPECT_EQ(h.wave().exec(), c.exec) << c.op;
    EXPECT_EQ(h.wave().scc, 1u) << c.op;
  }
  WaveHarness h;
  h.setS64(2, 0xc);
  h.setExec(0xa);
  h.run("s_andn1_wrexec_b64 s[0:1], s[2:3]");
  EXPECT_EQ(h.s64(0), 2u);
  EXPECT_EQ(h.wave().exec(), 2u);
  h.setExec(0xa);
  h.run("s_andn2_wrexec_b64 s[0:1], s[2:3]");
  EXPECT_EQ(h.wave().exec(), 4u);
}

TEST(ScalarAlu, Constants) {
  WaveHarness h;
  h.run("s_mov_b32 s0, 0x12345678\ns_mov_b32 s1, -16\ns_mov_b32 s2, 1.0\ns_mov_b64 s[4:5], 1.0\n"
        "s_mov_b64 s[6:7], -1\ns_mov_b64 s[8:9], src_shared_base\ns_mov_b64 s[10:11], "
        "src_private_base");
  EXPECT_EQ(h.s(0), 0x12345678u);
  EXPECT_EQ(h.s(1), uint32_t(-16));
  EXPECT_EQ(h.s(2), 0x3f800000u);
  EXPECT_EQ(h.s64(4), 0x3ff0000000000000u);
  EXPECT_EQ(h.s64(6), ~0ull);
  EXPECT_EQ(h.s64(8), hocket::sim::sharedAperture);
  EXPECT_EQ(h.s64(10), hocket::sim::privateAperture);
}
