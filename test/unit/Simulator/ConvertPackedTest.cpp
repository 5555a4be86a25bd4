// Conversions that pack, narrow or round stochastically.
#include "WaveHarness.h"

#include <cmath>
#include <random>

using namespace hocket::sim::test;

namespace {

constexpr unsigned seed = 31;

double halfValue(uint32_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Lanes of v2 and v3 hold values around the range of f16, or of all of f32.
struct Values : WaveHarness {
  std::mt19937 random{seed};
  explicit Values(unsigned lowExponent, unsigned exponents) {
    for (unsigned r = 2; r < 4; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        setLane(r, lane,
                uint32_t((random() & 0x807fffff) | (lowExponent + random() % exponents) << 23));
  }
};

} // namespace

TEST(ConvertPacked, Bf16) {
  Values h(0, 255);
  h.setLane(2, 0, 0x3f808000u); // tie, even below
  h.setLane(2, 1, 0x3f818000u); // tie, even above
  h.setLane(2, 2, 0x7f7fffffu); // overflows
  h.setLane(2, 3, 0x7f800001u); // signalling NaN
  h.setLane(2, 4, 0xff800000u);
  h.run("v_cvt_pk_bf16_f32 v0, v2, v3\nv_cvt_pk_bf16_f32 v1, -v2, |v3|");
  EXPECT_EQ(h.v(0, 0) & 0xffff, 0x3f80u);
  EXPECT_EQ(h.v(0, 1) & 0xffff, 0x3f82u);
  EXPECT_EQ(h.v(0, 2) & 0xffff, 0x7f80u);
  EXPECT_EQ(h.v(0, 3) & 0xffff, 0x7fc0u);
  EXPECT_EQ(h.v(0, 4) & 0xffff, 0xff80u);
  for (unsigned lane = 5; lane < 64; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      uint32_t bits = h.v(2 + i, lane), low = bits & 0xffff0000;
      double x = std::bit_cast<float>(bits), below = std::bit_cast<float>(low);
      double above = std::bit_cast<float>(low + 0x10000);
      bool up = std::fabs(above - x) < std::fabs(x - below);
      uint32_t got = h.v(0, lane) >> (16 * i) & 0xffff;
      ASSERT_EQ(got, (low >> 16) + up) << "seed " << seed;
      ASSERT_EQ(h.v(1, lane) >> (16 * i) & 0xffff, i ? got & 0x7fff : got ^ 0x8000);
    }
}

TEST(ConvertPacked, F16) {
  Values h(95, 60);
  h.run("v_cvt_pk_f16_f32 v0, v2, v3\nv_cvt_pkrtz_f16_f32 v1, v2, v3");
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      double x = h.vf(2 + i, lane);
      uint32_t nearest = h.v(0, lane) >> (16 * i) & 0xffff;
      uint32_t truncated = h.v(1, lane) >> (16 * i) & 0xffff;
      double a = std::fabs(x), t = std::fabs(halfValue(truncated));
      ASSERT_LE(t, a);
      if ((truncated & 0x7fff) < 0x7bff) {
        ASSERT_GT(std::fabs(halfValue(truncated + 1)), a);
      }
      ASSERT_EQ(truncated >> 15, uint32_t(std::signbit(x)));
      double middle = std::fabs((halfValue(truncated) + halfValue(truncated + 1)) / 2);
      bool up = a > middle || (a == middle && truncated & 1);
      ASSERT_EQ(nearest, truncated + up) << "seed " << seed << " value " << x;
    }
  h.setV(2, INFINITY);
  h.setV(3, NAN);
  h.run("v_cvt_pkrtz_f16_f32 v1, v2, v3");
  EXPECT_EQ(h.v(1), 0x7e007c00u);
}

/// Adding the random word below the last bit and truncating.
TEST(ConvertPacked, StochasticRounding) {
  Values h(95, 45);
  for (unsigned lane = 0; lane < 64; ++lane)
    h.setLane(4, lane, uint32_t(h.random()));
  h.setV(0, 0x11112222u);
  h.setV(1, 0x11112222u);
  h.run("v_cvt_sr_bf16_f32 v0, v2, v4\nv_cvt_sr_bf16_f32 v0, v3, v4 op_sel:[0,0,1]\n"
        "v_cvt_sr_f16_f32 v1, v2, v4");
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint32_t noise = h.v(4, lane);
    for (unsigned i = 0; i < 2; ++i) {
      uint32_t bits = h.v(2 + i, lane);
      ASSERT_EQ(h.v(0, lane) >> (16 * i) & 0xffff, (uint64_t(bits) + (noise >> 16)) >> 16);
    }
    double a = std::fabs(double(h.vf(2, lane)));
    int exponent = std::max(std::ilogb(a), -14);
    double unit = std::ldexp(1.0, exponent - 10);
    double want = std::floor(a / unit + noise * 0x1p-32) * unit;
    ASSERT_EQ(std::fabs(halfValue(h.v(1, lane) & 0xffff)), want) << "seed " << seed;
    ASSERT_EQ(h.v(1, lane) >> 16, 0x1111u);
  }
}

TEST(ConvertPacked, Bf16ToFloat) {
  WaveHarness h;
  h.setV(2, 0x4049c0a0u);
  h.run("v_cvt_f32_bf16 v0, v2\nv_cvt_f32_bf16_sdwa v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
        "src0_sel:WORD_1");
  EXPECT_EQ(h.vf(0), -5.0f);
  EXPECT_EQ(h.v(1), 0x40490000u);
}

TEST(ConvertPacked, PackHalves) {
  WaveHarness h;
  h.setV(2, 0x11112222u);
  h.setV(3, 0x33334444u);
  h.run("v_pack_b32_f16 v0, v2, v3\nv_pack_b32_f16 v1, v2, -v3 op_sel:[1,1,0]");
  EXPECT_EQ(h.v(0), 0x44442222u);
  EXPECT_EQ(h.v(1), 0xb3331111u);
}

TEST(ConvertPacked, Normalised) {
  WaveHarness h;
  h.setV(2, -2.0f);
  h.setV(3, 0.5f);
  h.setV(4, 0x3800bc00u); // f16 0.5, -1
  h.run("v_cvt_pknorm_i16_f32 v0, v2, v3\nv_cvt_pknorm_u16_f32 v1, v2, v3\n"
        "v_cvt_pknorm_i16_f16 v5, v4, v4 op_sel:[0,1,0]\n"
        "v_cvt_pknorm_u16_f16 v6, v4, v4 op_sel:[0,1,0]\n"
        "v_cvt_norm_i16_f16 v7, v4\nv_cvt_norm_u16_f16 v8, v4");
  EXPECT_EQ(h.v(0), 0x40008001u);
  EXPECT_EQ(h.v(1), 0x80000000u);
  EXPECT_EQ(h.v(5), 0x40008001u);
  EXPECT_EQ(h.v(6), 0x80000000u);
  EXPECT_EQ(h.v(7), 0x8001u);
  EXPECT_EQ(h.v(8), 0u);
}

TEST(ConvertPacked, ShiftAndSaturate) {
  WaveHarness h;
  h.setV(0, 0xaaaabbbbu);
  h.setV(1, 0xaaaabbbbu);
  h.setV(2, 0x00000730);
  h.setV(3, -0x20000);
  h.setV(4, 36u); // 4, as only five bits count
  h.run("v_ashr_pk_i8_i32 v0, v2, v3, v4\nv_ashr_pk_u8_i32 v1, v2, v3, v4");
  EXPECT_EQ(h.v(0), 0xaaaa8073u);
  EXPECT_EQ(h.v(1), 0xaaaa0073u);
}
