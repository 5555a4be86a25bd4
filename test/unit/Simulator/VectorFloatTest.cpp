// f32, f64 and f16 arithmetic, conversions and approximations, one check per instruction.
#include "WaveHarness.h"

#include <cmath>
#include <limits>

using namespace hocket::sim::test;

static constexpr float inf = std::numeric_limits<float>::infinity();
static const float nan32 = std::numeric_limits<float>::quiet_NaN();

namespace {
struct Case {
  const char *op;
  float a, b, c, result;
};
struct WideCase {
  const char *op;
  double a, b, c, result;
};
struct BitCase {
  const char *op;
  uint32_t a, b, c, result;
};
} // namespace

static std::string replaced(std::string format, const char *op) {
  return format.replace(format.find("OP"), 2, op);
}

static void check(const std::vector<Case> &cases, const char *format) {
  for (const Case &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setV(2, c.a);
    h.setV(4, c.b);
    h.setV(6, c.c);
    h.setV(0, c.c);
    h.run(replaced(format, c.op));
    if (std::isnan(c.result))
      EXPECT_TRUE(std::isnan(h.vf(0, 63)));
    else
      EXPECT_EQ(h.v(0, 63), std::bit_cast<uint32_t>(c.result)) << h.vf(0) << " for " << c.result;
  }
}

static void checkWide(const std::vector<WideCase> &cases, const char *format) {
  for (const WideCase &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setV64(2, c.a);
    h.setV64(4, c.b);
    h.setV64(6, c.c);
    h.setV64(0, c.c);
    h.run(replaced(format, c.op));
    EXPECT_EQ(h.v64(0, 63), std::bit_cast<uint64_t>(c.result)) << h.vd(0);
  }
}

static void checkBits(const std::vector<BitCase> &cases, const char *format) {
  for (const BitCase &c : cases) {
    SCOPED_TRACE(c.op);
    WaveHarness h;
    h.setV(0, 0xaaaaaaaau);
    h.setV(2, c.a);
    h.setV(4, c.b);
    h.setV(6, c.c);
    h.run(replaced(format, c.op));
    EXPECT_EQ(h.v(0, 63), c.result);
  }
}

TEST(VectorFloat, TwoOperands) {
  check(
      {
          {"v_add_f32", 1, 2, 0, 3},
          {"v_sub_f32", 1, 2, 0, -1},
          {"v_subrev_f32", 1, 2, 0, 1},
          {"v_mul_f32", 3, 2, 0, 6},
          {"v_mul_legacy_f32", 0, inf, 0, 0},
          {"v_fmac_f32", 3, 2, 4, 10},
          {"v_min_f32", 1, 2, 0, 1},
          {"v_min_f32", nan32, 2, 0, 2},
          {"v_min_f32", 0.0f, -0.0f, 0, -0.0f},
          {"v_max_f32", 1, 2, 0, 2},
          {"v_max_f32", 1, nan32, 0, 1},
          {"v_max_f32", -0.0f, 0.0f, 0, 0.0f},
      },
      "OP v0, v2, v4");
  check({{"v_fmamk_f32", 3, 4, 0, 10}}, "OP v0, v2, 0x40000000, v4");
  check({{"v_fmaak_f32", 3, 4, 0, 14}}, "OP v0, v2, v4, 0x40000000");
}

TEST(VectorFloat, ThreeOperands) {
  check(
      {
          {"v_fma_f32", 0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f, 0x1p-46f},
          {"v_min3_f32", 3, 1, 2, 1},
          {"v_max3_f32", 3, 1, 2, 3},
          {"v_med3_f32", 3, 1, 2, 2},
          {"v_med3_f32", 3, nan32, 2, 2},
          {"v_minimum3_f32", 3, 1, 2, 1},
          {"v_minimum3_f32", 3, nan32, 2, nan32},
          {"v_maximum3_f32", 3, 1, 2, 3},
          {"v_cubeid_f32", 1, 2, -3, 5},
          {"v_cubesc_f32", 1, 2, -3, -1},
          {"v_cubetc_f32", 1, 2, -3, -2},
          {"v_cubema_f32", 1, 2, -3, -6},
      },
      "OP v0, v2, v4, v6");
}

TEST(VectorFloat, SignallingNanInIeeeMode) {
  checkBits({{"v_max_f32", 0x7f800001, 0x3f800000, 0, 0x7fc00001},
             {"v_min_f32", 0x3f800000, 0x7f800001, 0, 0x7fc00001}},
            "OP v0, v2, v4");
}

TEST(VectorFloat, OneOperand) {
  check(
      {
          {"v_trunc_f32", -1.5f, 0, 0, -1},
          {"v_ceil_f32", 1.25f, 0, 0, 2},
          {"v_floor_f32", -1.25f, 0, 0, -2},
          {"v_rndne_f32", 2.5f, 0, 0, 2},
          {"v_rndne_f32", 3.5f, 0, 0, 4},
          {"v_fract_f32", -0.25f, 0, 0, 0.75f},
          {"v_fract_f32", -1e-10f, 0, 0, 0x1.fffffep-1f},
          {"v_frexp_mant_f32", 12, 0, 0, 0.75f},
          {"v_rcp_f32", 4, 0, 0, 0.25f},
          {"v_rcp_f32", 0, 0, 0, inf},
          {"v_rcp_f32", 0x1p-130f, 0, 0, inf},
          {"v_rcp_iflag_f32", -2, 0, 0, -0.5f},
          {"v_rsq_f32", 16, 0, 0, 0.25f},
          {"v_sqrt_f32", 2, 0, 0, std::sqrt(2.0f)},
          {"v_sqrt_f32", -2, 0, 0, nan32},
          {"v_exp_f32", 10, 0, 0, 1024},
          {"v_exp_f32", -1, 0, 0, 0.5f},
          {"v_exp_f32", -inf, 0, 0, 0},
          {"v_exp_f32", -127, 0, 0, 0},
          {"v_exp_f32", 128, 0, 0, inf},
          {"v_exp_f32", nan32, 0, 0, nan32},
          {"v_log_f32", 8, 0, 0, 3},
          {"v_log_f32", 0, 0, 0, -inf},
          {"v_log_f32", -1, 0, 0, nan32},
          {"v_log_f32", inf, 0, 0, inf},
          {"v_sin_f32", 0.25f, 0, 0, 1},
          {"v_sin_f32", 0.75f, 0, 0, -1},
          {"v_cos_f32", 0.5f, 0, 0, -1},
          {"v_cos_f32", 0, 0, 0, 1},
          {"v_sin_f32", inf, 0, 0, nan32},
      },
      "OP v0, v2");
  checkBits({{"v_frexp_exp_i32_f32", std::bit_cast<uint32_t>(12.0f), 0, 0, 4},
             {"v_frexp_exp_i32_f32", 1, 0, 0, uint32_t(-148)}},
            "OP v0, v2");
  checkBits({{"v_ldexp_f32", std::bit_cast<uint32_t>(1.5f), 3, 0, std::bit_cast<uint32_t>(12.0f)},
             {"v_ldexp_f32", std::bit_cast<uint32_t>(1.5f), uint32_t(-149), 0, 2}},
            "OP v0, v2, v4");
}

TEST(VectorFloat, ApproximationsAreClose) {
  for (int i = -500; i < 500; i += 23) {
    WaveHarness h;
    for (unsigned lane = 0; lane < 64; ++lane) {
      float x = float(i) * 0.2f + float(lane) * 0.0731f;
      h.setLane(2, lane, x);
      h.setLane(3, lane, std::fabs(x) + 0.01f);
    }
    h.run("v_exp_f32 v0, v2\nv_log_f32 v1, v3\nv_sin_f32 v4, v2\nv_cos_f32 v5, v2");
    for (unsigned lane = 0; lane < 64; lane += 7) {
      double x = h.vf(2, lane), y = h.vf(3, lane), turns = 2 * M_PI * x;
      EXPECT_NEAR(h.vf(0, lane) / std::exp2(x), 1.0, 6e-8);
      EXPECT_NEAR(h.vf(1, lane), std::log2(y), 6e-8 * std::fabs(std::log2(y)) + 1e-12);
      EXPECT_NEAR(h.vf(4, lane), std::sin(turns), 1e-7);
      EXPECT_NEAR(h.vf(5, lane), std::cos(turns), 1e-7);
    }
  }
}

TEST(VectorFloat, Modifiers) {
  check({{"v_add_f32", 1, 2, 0, -3}}, "OP v0, -v2, -|v4|");
  check({{"v_add_f32", 1, 2, 0, 6}}, "OP v0, v2, v4 mul:2");
  check({{"v_add_f32", 1, 2, 0, 12}}, "OP v0, v2, v4 mul:4");
  check({{"v_add_f32", 1, 2, 0, 1.5f}}, "OP v0, v2, v4 div:2");
  check({{"v_add_f32", 1, 2, 0, 1}, {"v_sub_f32", 1, 2, 0, 0}, {"v_add_f32", nan32, 2, 0, 0}},
        "OP v0, v2, v4 clamp");
}

TEST(VectorFloat, ModeRegister) {
  WaveHarness h;
  h.setV(2, 1.0f);
  h.setV(4, 0x1p-30f);
  h.setV(5, 1u);
  h.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_add_f32 v0, v2, v4\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\nv_sub_f32 v1, v2, v4\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\nv_add_f32 v3, v2, v4\n"
        "v_add_f32 v6, v5, v5\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_add_f32 v7, v5, "
        "v5\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)");
  EXPECT_EQ(h.vf(0), 0x1.000002p0f) << "towards plus infinity";
  EXPECT_EQ(h.vf(1), 0x1.fffffep-1f) << "towards zero";
  EXPECT_EQ(h.vf(3), 1.0f) << "nearest";
  EXPECT_EQ(h.v(6), 2u) << "denormals kept";
  EXPECT_EQ(h.v(7), 0u) << "denormals flushed";
  EXPECT_EQ(h.s(0), 12u);
}

TEST(VectorFloat, OtherModesForHalvesAreRefused) {
  for (const char *mode : {"2, 2), 1", "6, 2), 0"}) {
    WaveHarness h;
    std::string text = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, " + std::string(mode);
    EXPECT_NE(h.tryRun(text + "\nv_add_f16 v0, v1, v1").find("overflow mode"), std::string::npos);
  }
  WaveHarness h;
  h.setV(1, 0xbe00);
  h.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\nv_cvt_f32_f16 v0, v1");
  EXPECT_EQ(h.vf(0), -1.5f) << "the mode of overflow changes f16 results alone";
}

TEST(VectorFloat, HalvesThatOverflowMayBecomeTheLargest) {
  WaveHarness h;
  h.setV(1, -1e6f);
  h.setV(2, std::numeric_limits<float>::infinity());
  h.setV(3, 0x7bff); // 65504
  h.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\nv_cvt_f16_f32 v4, v1\nv_cvt_f16_f32 v5, v2\nv_add_f16 v6, v3, v3");
  EXPECT_EQ(h.v(4), 0xfbffu);
  EXPECT_EQ(h.v(5), 0x7c00u) << "an infinity stays one";
  EXPECT_EQ(h.v(6), 0x7bffu);
}

TEST(VectorFloat, Doubles) {
  checkWide(
      {
          {"v_add_f64", 1, 0x1p-52, 0, 1 + 0x1p-52},
          {"v_mul_f64", 3, 0.5, 0, 1.5},
          {"v_min_f64", 3, -0.5, 0, -0.5},
          {"v_max_f64", 3, -0.5, 0, 3},
          {"v_fmac_f64", 3, 2, 4, 10},
      },
      "OP v[0:1], v[2:3], v[4:5]");
  checkWide({{"v_fma_f64", 1 + 0x1p-52, 1 + 0x1p-52, -(1 + 0x1p-51), 0x1p-104}},
            "OP v[0:1], v[2:3], v[4:5], v[6:7]");
  checkWide({{"v_add_f64", 1, 2, 0, -1}}, "OP v[0:1], v[2:3], -v[4:5]");
  checkWide(
      {
          {"v_trunc_f64", -1.5, 0, 0, -1},
          {"v_ceil_f64", 1.25, 0, 0, 2},
          {"v_floor_f64", -1.25, 0, 0, -2},
          {"v_rndne_f64", 2.5, 0, 0, 2},
          {"v_fract_f64", -0.25, 0, 0, 0.75},
          {"v_frexp_mant_f64", 12, 0, 0, 0.75},
          {"v_rcp_f64", 4, 0, 0, 0.25},
          {"v_rsq_f64", 4, 0, 0, 0.5},
          {"v_sqrt_f64", 2, 0, 0, std::sqrt(2.0)},
      },
      "OP v[0:1], v[2:3]");
  WaveHarness h;
  h.setV64(2, 12.0);
  h.setV(4, -1076);
  h.setV(6, 0u);
  h.run("v_frexp_exp_i32_f64 v8, v[2:3]\nv_ldexp_f64 v[0:1], v[2:3], v4\nv_trig_preop_f64 "
        "v[10:11], v[2:3], v6");
  EXPECT_EQ(h.v(8), 4u);
  EXPECT_EQ(h.v64(0), 3u) << "12 * 2^-1076 = 3 * 2^-1074";
  EXPECT_NEAR(h.vd(10), 2 / M_PI, 1e-15);
}

TEST(VectorFloat, DivisionSteps) {
  checkBits({{"v_div_fixup_f32", 0x40000000, 0, 0x3f800000, 0x7f800000},
             {"v_div_fixup_f32", 0x40000000, 0, 0, 0xffc00000},
             {"v_div_fixup_f32", 0x40000000, 0x7f800000, 0xbf800000, 0x80000000},
             {"v_div_fixup_f32", 0xc0000000, 0x3f800000, 0x40000000, 0x40000000},
             {"v_div_fixup_f32", 0x7fc00000, 0x00800000, 0x7f000000, 0x7f800000}},
            "OP v0, v2, v4, v6");
  WaveHarness h;
  h.setV(2, 0x1p-127f);
  h.setV(4, 1.0f);
  h.run("v_div_scale_f32 v0, vcc, v2, v2, v4\nv_div_scale_f32 v1, s[0:1], v4, v2, v4");
  EXPECT_EQ(h.vf(0), 0x1p-63f) << "the denominator is moved";
  EXPECT_EQ(h.vcc(), ~0ull) << "and the quotient will be moved back";
  EXPECT_EQ(h.vf(1), 1.0f) << "the numerator stays";
  h.setV(3, 1.0f);
  h.run("v_div_fmas_f32 v0, v3, v3, v3");
  EXPECT_EQ(h.vf(0), 0x1p-63f);
  h.setS64(106, 0);
  h.run("v_div_fmas_f32 v0, v3, v3, v3");
  EXPECT_EQ(h.vf(0), 2.0f);
  h.setV64(2, 3.0);
  h.setV64(4, 1.0);
  h.run("v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], v[4:5]\nv_div_fmas_f64 v[6:7], v[2:3], "
        "v[2:3], v[4:5]\nv_div_fixup_f64 v[8:9], v[6:7], v[2:3], -v[4:5]");
  EXPECT_EQ(h.vd(0), 3.0);
  EXPECT_EQ(h.vd(6), 10.0);
  EXPECT_EQ(h.vd(8), -10.0);
}

TEST(VectorConvert, All) {
  auto f = [](float x) { return std::bit_cast<uint32_t>(x); };
  checkBits(
      {
          {"v_cvt_f32_i32", uint32_t(-3), 0, 0, f(-3)},
          {"v_cvt_f32_u32", 0xffffffff, 0, 0, f(4294967296.0f)},
          {"v_cvt_i32_f32", f(-3.9f), 0, 0, uint32_t(-3)},
          {"v_cvt_i32_f32", f(1e20f), 0, 0, 0x7fffffff},
          {"v_cvt_i32_f32", f(-1e20f), 0, 0, 0x80000000},
          {"v_cvt_i32_f32", f(nan32), 0, 0, 0},
          {"v_cvt_u32_f32", f(-1), 0, 0, 0},
          {"v_cvt_u32_f32", f(3e9f), 0, 0, 3000000000u},
          {"v_cvt_u32_f32", f(1e20f), 0, 0, 0xffffffff},
          {"v_cvt_flr_i32_f32", f(-3.1f), 0, 0, uint32_t(-4)},
          {"v_cvt_rpi_i32_f32", f(2.5f), 0, 0, 3},
          {"v_cvt_off_f32_i4", 0xf, 0, 0, f(-0.0625f)},
          {"v_cvt_f32_ubyte0", 0x44332211, 0, 0, f(0x11)},
          {"v_cvt_f32_ubyte1", 0x44332211, 0, 0, f(0x22)},
          {"v_cvt_f32_ubyte2", 0x44332211, 0, 0, f(0x33)},
          {"v_cvt_f32_ubyte3", 0x44332211, 0, 0, f(0x44)},
          {"v_cvt_f16_f32", f(1.5f), 0, 0, 0x3e00},
          {"v_cvt_f16_f32", f(65520.0f), 0, 0, 0x7c00},
          {"v_cvt_f16_f32", f(0x1p-24f), 0, 0, 1},
          {"v_cvt_f16_f32", f(0x1p-25f), 0, 0, 0},
          {"v_cvt_f16_f32", f(0x1.8p-25f), 0, 0, 1},
          {"v_cvt_f16_f32", f(1.0f + 0x1p-11f), 0, 0, 0x3c00},
          {"v_cvt_f16_f32", f(1.0f + 0x1.8p-10f), 0, 0, 0x3c02},
          {"v_cvt_f32_f16", 0xbe00, 0, 0, f(-1.5f)},
          {"v_cvt_f32_f16", 0x0001, 0, 0, f(0x1p-24f)},
          {"v_cvt_f32_f16", 0x7c00, 0, 0, f(inf)},
          {"v_cvt_f16_u16", 3, 0, 0, 0x4200},
          {"v_cvt_f16_i16", 0xfffd, 0, 0, 0xc200},
          {"v_cvt_u16_f16", 0xc200, 0, 0, 0},
          {"v_cvt_i16_f16", 0xc200, 0, 0, 0xfffd},
          {"v_sat_pk_u8_i16", 0x0100ffff, 0, 0, 0xff00},
      },
      "OP v0, v2");
  checkBits({{"v_cvt_pk_i16_i32", 0x12345678, uint32_t(-40000), 0, 0x80007fff},
             {"v_cvt_pk_u16_u32", 0x12345678, 5, 0, 0x0005ffff}},
            "OP v0, v2, v4");
  checkBits({{"v_cvt_pk_u8_f32", f(2.5f), 1, 0x44444444, 0x44440244},
             {"v_ashr_pk_i8_i32", 0x1000, uint32_t(-16), 4, 0xaaaaff7f},
             {"v_ashr_pk_u8_i32", 0x1000, uint32_t(-16), 4, 0xaaaa00ff}},
            "OP v0, v2, v4, v6");
  WaveHarness h;
  h.setV(2, 1.5f);
  h.setV64(4, 1e300);
  h.setV64(6, -7.9);
  h.setV(8, 0xffffffffu);
  h.run("v_cvt_f64_f32 v[0:1], v2\nv_cvt_f32_f64 v10, v[4:5]\nv_cvt_i32_f64 v11, v[6:7]\n"
        "v_cvt_u32_f64 v12, v[4:5]\nv_cvt_f64_i32 v[14:15], v8\nv_cvt_f64_u32 v[16:17], v8");
  EXPECT_EQ(h.vd(0), 1.5);
  EXPECT_EQ(h.vf(10), inf);
  EXPECT_EQ(h.v(11), uint32_t(-7));
  EXPECT_EQ(h.v(12), 0xffffffffu);
  EXPECT_EQ(h.vd(14), -1.0);
  EXPECT_EQ(h.vd(16), 4294967295.0);
}

TEST(Vector16, Floats) {
  checkBits(
      {
          {"v_add_f16", 0x3c00, 0x4000, 0, 0x4200},
          {"v_sub_f16", 0x3c00, 0x4000, 0, 0xbc00},
          {"v_subrev_f16", 0x3c00, 0x4000, 0, 0x3c00},
          {"v_mul_f16", 0x4200, 0x4000, 0, 0x4600},
          {"v_min_f16", 0x4200, 0xc000, 0, 0xc000},
          {"v_max_f16", 0x4200, 0x7e00, 0, 0x4200},
          {"v_ldexp_f16", 0x3e00, 2, 0, 0x4600},
      },
      "OP v0, v2, v4");
  checkBits(
      {
          {"v_fma_f16", 0x4200, 0x4000, 0x3c00, 0xaaaa4700},
          {"v_mad_f16", 0x4200, 0x4000, 0x3c00, 0xaaaa4700},
          {"v_fma_legacy_f16", 0x4200, 0x4000, 0x3c00, 0x4700},
          {"v_mad_legacy_f16", 0x4200, 0x4000, 0x3c00, 0x4700},
          {"v_min3_f16", 0x4200, 0x4000, 0x3c00, 0xaaaa3c00},
          {"v_max3_f16", 0x4200, 0x4000, 0x3c00, 0xaaaa4200},
          {"v_med3_f16", 0x4200, 0x4000, 0x3c00, 0xaaaa4000},
          {"v_div_fixup_f16", 0x4000, 0x3c00, 0xc000, 0xaaaac000},
          {"v_div_fixup_legacy_f16", 0x4000, 0, 0xc000, 0xfc00},
      },
      "OP v0, v2, v4, v6");
  checkBits(
      {
          {"v_trunc_f16", 0xbe00, 0, 0, 0xbc00},
          {"v_ceil_f16", 0x3d00, 0, 0, 0x4000},
          {"v_floor_f16", 0xbd00, 0, 0, 0xc000},
          {"v_rndne_f16", 0x4100, 0, 0, 0x4000},
          {"v_fract_f16", 0xb400, 0, 0, 0x3a00},
          {"v_frexp_mant_f16", 0x4a00, 0, 0, 0x3a00},
          {"v_frexp_exp_i16_f16", 0x4a00, 0, 0, 4},
          {"v_rcp_f16", 0x4400, 0, 0, 0x3400},
          {"v_rsq_f16", 0x4c00, 0, 0, 0x3400},
          {"v_sqrt_f16", 0x4c00, 0, 0, 0x4400},
          {"v_exp_f16", 0x4200, 0, 0, 0x4800},
          {"v_log_f16", 0x4800, 0, 0, 0x4200},
          {"v_sin_f16", 0x3400, 0, 0, 0x3c00},
          {"v_cos_f16", 0x3800, 0, 0, 0xbc00},
      },
      "OP v0, v2");
  checkBits({{"v_add_f16", 0x3c000000, 0x4000, 0, 0x4200aaaa}},
            "v_fma_f16 v0, v2, 1.0, v4 op_sel:[1,0,0,1] ; OP");
}

TEST(Vector16, FusedRoundsOnce) {
  // The product lies halfway between two f16; what is added decides.
  checkBits({{"v_fma_f16", 0x3c01, 0x3e00, 0x8001, 0xaaaa3e01},
             {"v_mad_f16", 0x3c01, 0x3e00, 0x8001, 0xaaaa3e02}},
            "OP v0, v2, v4, v6");
}

TEST(Vector16, Integers) {
  checkBits(
      {
          {"v_add_u16", 0xffff, 2, 0, 1},
          {"v_sub_u16", 1, 2, 0, 0xffff},
          {"v_subrev_u16", 1, 2, 0, 1},
          {"v_mul_lo_u16", 0x101, 0x101, 0, 0x201},
          {"v_lshlrev_b16", 4, 0xff, 0, 0xff0},
          {"v_lshrrev_b16", 4, 0xff, 0, 0xf},
          {"v_ashrrev_i16", 4, 0x8000, 0, 0xf800},
          {"v_min_u16", 0xffff, 1, 0, 1},
          {"v_max_u16", 0xffff, 1, 0, 0xffff},
          {"v_min_i16", 0xffff, 1, 0, 0xffff},
          {"v_max_i16", 0xffff, 1, 0, 1},
          {"v_add_i16", 0x7fff, 1, 0, 0xaaaa8000},
          {"v_sub_i16", 0, 1, 0, 0xaaaaffff},
      },
      "OP v0, v2, v4");
  checkBits({{"v_add_u16", 0xffff, 2, 0, 0xffff},
             {"v_sub_u16", 1, 2, 0, 0},
             {"v_add_i16", 0x7fff, 1, 0, 0xaaaa7fff},
             {"v_sub_i16", 0x8000, 1, 0, 0xaaaa8000}},
            "OP v0, v2, v4 clamp");
  checkBits(
      {
          {"v_mad_u16", 3, 4, 5, 0xaaaa0011},
          {"v_mad_i16", 0xfffd, 4, 5, 0xaaaafff9},
          {"v_mad_legacy_u16", 3, 4, 5, 0x11},
          {"v_mad_legacy_i16", 0xfffd, 4, 5, 0xfff9},
          {"v_mad_u32_u16", 0xffff, 0xffff, 1, 0xfffe0002},
          {"v_mad_i32_i16", 0xffff, 5, 1, 0xfffffffc},
          {"v_min3_i16", 0xffff, 1, 2, 0xaaaaffff},
          {"v_max3_i16", 0xffff, 1, 2, 0xaaaa0002},
          {"v_med3_i16", 0xffff, 1, 2, 0xaaaa0001},
          {"v_min3_u16", 0xffff, 1, 2, 0xaaaa0001},
          {"v_max3_u16", 0xffff, 1, 2, 0xaaaaffff},
          {"v_med3_u16", 0xffff, 1, 2, 0xaaaa0002},
      },
      "OP v0, v2, v4, v6");
}
