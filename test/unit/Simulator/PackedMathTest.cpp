// VOP3P arithmetic and dot products, with random operands and random op_sel, op_sel_hi and neg.
#include "WaveHarness.h"

#include <cmath>
#include <functional>
#include <random>

using namespace hocket::sim::test;

namespace {

constexpr unsigned seed = 21;
constexpr uint64_t someLanes = 0x8001f0f0ffff0001;

float half(uint32_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(float(mantissa), -24)
                                    : std::ldexp(float(1024 + mantissa), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// The f16 nearest to `x`, ties to even, by searching the neighbours.
uint32_t toHalf(double x) {
  uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  double a = std::fabs(x);
  if (a >= 65520)
    return sign | 0x7c00;
  uint32_t low = 0, high = 0x7c00; // half(low) <= a
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (double(half(middle)) <= a ? low : high) = middle;
  }
  double below = a - half(low), above = (high == 0x7c00 ? 65536.0 : half(high)) - a;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

float bfloat(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// What VOP3P adds to the operands.
struct Modifiers {
  bool sel[3] = {}, selHigh[3] = {true, true, true}, negLow[3] = {}, negHigh[3] = {};
  static std::string list(const char *name, const bool *bits, unsigned n) {
    std::string s = std::string(" ") + name + ":[";
    for (unsigned i = 0; i < n; ++i)
      s += std::string(i ? "," : "") + (bits[i] ? "1" : "0");
    return s + "]";
  }
  std::string negations(unsigned n) const {
    return list("neg_lo", negLow, n) + list("neg_hi", negHigh, n);
  }
  std::string text(unsigned n, bool negate) const {
    std::string s = list("op_sel", sel, n) + list("op_sel_hi", selHigh, n);
    return negate ? s + negations(n) : s;
  }
};

Modifiers randomModifiers(std::mt19937 &random) {
  Modifiers m;
  for (unsigned i = 0; i < 3; ++i) {
    m.sel[i] = random() & 1;
    m.selHigh[i] = random() & 1;
    m.negLow[i] = random() & 1;
    m.negHigh[i] = random() & 1;
  }
  return m;
}

/// Operands in v[2:3], v[4:5], v[6:7]; the result in v[0:1].
struct Operands : WaveHarness {
  explicit Operands(std::mt19937 &random, uint64_t exec) {
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        setLane(r, lane, uint32_t(random()));
    setExec(exec);
  }
  bool active(unsigned lane) { return wave().exec() >> lane & 1; }
};

using Function16 = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;

/// `f` on raw 16-bit values.
void check16(const char *op, unsigned n, bool isFloat, const Function16 &f,
             const char *suffix = "") {
  std::mt19937 random(seed);
  for (unsigned round = 0; round < 8; ++round) {
    Modifiers m = round ? randomModifiers(random) : Modifiers();
    Operands h(random, round % 2 ? someLanes : ~uint64_t(0));
    if (isFloat) // no infinities, no NaN
      for (unsigned r = 2; r < 8; ++r)
        for (unsigned lane = 0; lane < 64; ++lane)
          h.setLane(r, lane, h.v(r, lane) & 0xbfffbfff);
    uint32_t old[64], want[64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      old[lane] = h.v(0, lane);
      uint32_t low[3], high[3];
      for (unsigned i = 0; i < 3; ++i) {
        uint32_t word = h.v(2 + 2 * i, lane);
        low[i] = (word >> (m.sel[i] ? 16 : 0) & 0xffff) ^ (isFloat && m.negLow[i] ? 0x8000 : 0);
        high[i] =
            (word >> (m.selHigh[i] ? 16 : 0) & 0xffff) ^ (isFloat && m.negHigh[i] ? 0x8000 : 0);
      }
      want[lane] = (f(low[0], low[1], low[2]) & 0xffff) | f(high[0], high[1], high[2]) << 16;
    }
    std::string text =
        std::string(op) + " v0, v2, v4" + (n == 3 ? ", v6" : "") + m.text(n, isFloat) + suffix;
    h.run(text);
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(h.v(0, lane), h.active(lane) ? want[lane] : old[lane])
          << text << ", lane " << lane << ", seed " << seed;
  }
}

} // namespace

TEST(PackedMath, Halves) {
  check16("v_pk_add_f16", 2, true,
          [](auto a, auto b, auto) { return toHalf(double(half(a)) + half(b)); });
  check16("v_pk_mul_f16", 2, true, [](auto a, auto b, auto) {
    double p = double(half(a)) * half(b);
    return toHalf(p);
  });
  check16("v_pk_fma_f16", 3, true,
          [](auto a, auto b, auto c) { return toHalf(double(half(a)) * half(b) + half(c)); });
  auto less = [](uint32_t a, uint32_t b) {
    return half(a) < half(b) || (half(a) == half(b) && a > b); // -0 below +0
  };
  check16("v_pk_min_f16", 2, true, [=](auto a, auto b, auto) { return less(b, a) ? b : a; });
  check16("v_pk_max_f16", 2, true, [=](auto a, auto b, auto) { return less(a, b) ? b : a; });
  check16("v_pk_minimum3_f16", 3, true, [=](auto a, auto b, auto c) {
    uint32_t first = less(b, a) ? b : a;
    return less(c, first) ? c : first;
  });
  check16("v_pk_maximum3_f16", 3, true, [=](auto a, auto b, auto c) {
    uint32_t first = less(a, b) ? b : a;
    return less(first, c) ? c : first;
  });
  check16(
      "v_pk_add_f16", 2, true,
      [](auto a, auto b, auto) {
        double sum = double(half(a)) + half(b);
        return toHalf(sum < 0 || sum == 0 ? 0 : sum > 1 ? 1 : sum);
      },
      " clamp");
}

TEST(PackedMath, HalfSpecialValues) {
  WaveHarness h;
  h.setV(2, 0x7e017c00u); // NaN, infinity
  h.setV(4, 0x3c00fc00u); // 1, -infinity
  h.run("v_pk_max_f16 v0, v2, v4\nv_pk_maximum3_f16 v1, v2, v4, v4");
  EXPECT_EQ(h.v(0), 0x3c007c00u);
  EXPECT_EQ(h.v(1), 0x7e017c00u);
  // A constant is in the low half; op_sel_hi:0 gives it to both.
  h.run("v_pk_add_f16 v0, v4, 1.0 op_sel:[1,0] op_sel_hi:[1,0]\nv_pk_add_u16 v1, v4, 3 "
        "op_sel_hi:[1,0]");
  EXPECT_EQ(h.v(0), 0x40004000u);
  EXPECT_EQ(h.v(1), 0x3c03fc03u);
}

TEST(PackedMath, Integers) {
  auto s = [](uint32_t x) { return int32_t(int16_t(x)); };
  auto clampS = [](int64_t x) { return uint32_t(std::clamp<int64_t>(x, -32768, 32767)); };
  auto clampU = [](int64_t x) { return uint32_t(std::clamp<int64_t>(x, 0, 65535)); };
  check16("v_pk_add_u16", 2, false, [](auto a, auto b, auto) { return a + b; });
  check16("v_pk_sub_u16", 2, false, [](auto a, auto b, auto) { return a - b; });
  check16("v_pk_add_i16", 2, false, [](auto a, auto b, auto) { return a + b; });
  check16("v_pk_sub_i16", 2, false, [](auto a, auto b, auto) { return a - b; });
  check16("v_pk_mul_lo_u16", 2, false, [](auto a, auto b, auto) { return a * b; });
  check16("v_pk_mad_u16", 3, false, [](auto a, auto b, auto c) { return a * b + c; });
  check16("v_pk_mad_i16", 3, false, [](auto a, auto b, auto c) { return a * b + c; });
  check16("v_pk_lshlrev_b16", 2, false, [](auto a, auto b, auto) { return b << (a & 15); });
  check16("v_pk_lshrrev_b16", 2, false, [](auto a, auto b, auto) { return b >> (a & 15); });
  check16("v_pk_ashrrev_i16", 2, false,
          [=](auto a, auto b, auto) { return uint32_t(s(b) >> (a & 15)); });
  check16("v_pk_min_i16", 2, false, [=](auto a, auto b, auto) { return s(a) < s(b) ? a : b; });
  check16("v_pk_max_i16", 2, false, [=](auto a, auto b, auto) { return s(a) > s(b) ? a : b; });
  check16("v_pk_min_u16", 2, false, [](auto a, auto b, auto) { return a < b ? a : b; });
  check16("v_pk_max_u16", 2, false, [](auto a, auto b, auto) { return a > b ? a : b; });
  check16(
      "v_pk_add_u16", 2, false, [=](auto a, auto b, auto) { return clampU(int64_t(a) + b); },
      " clamp");
  check16(
      "v_pk_sub_u16", 2, false, [=](auto a, auto b, auto) { return clampU(int64_t(a) - b); },
      " clamp");
  check16(
      "v_pk_add_i16", 2, false, [=](auto a, auto b, auto) { return clampS(s(a) + s(b)); },
      " clamp");
  check16(
      "v_pk_sub_i16", 2, false, [=](auto a, auto b, auto) { return clampS(s(a) - s(b)); },
      " clamp");
  check16(
      "v_pk_mad_u16", 3, false, [=](auto a, auto b, auto c) { return clampU(int64_t(a) * b + c); },
      " clamp");
  check16(
      "v_pk_mad_i16", 3, false,
      [=](auto a, auto b, auto c) { return clampS(int64_t(s(a)) * s(b) + s(c)); }, " clamp");
}

TEST(PackedMath, PkFmac) {
  WaveHarness h;
  h.setV(0, 0x3c003c00u);
  h.setV(2, 0x44004000u);
  h.setV(4, 0x40004200u);
  h.run("v_pk_fmac_f16 v0, v2, v4");
  EXPECT_EQ(h.v(0), 0x48804700u); // 9, 7
}

TEST(PackedMath, Floats) {
  const struct {
    const char *op;
    unsigned n;
    std::function<float(float, float, float)> f;
  } cases[] = {{"v_pk_add_f32", 2, [](float a, float b, float) { return a + b; }},
               {"v_pk_mul_f32", 2, [](float a, float b, float) { return a * b; }},
               {"v_pk_fma_f32", 3, [](float a, float b, float c) { return std::fma(a, b, c); }}};
  std::mt19937 random(seed);
  for (const auto &c : cases)
    for (unsigned round = 0; round < 16; ++round) {
      Modifiers m = round < 2 ? Modifiers() : randomModifiers(random);
      Operands h(random, round % 2 ? someLanes : ~uint64_t(0));
      bool clamp = round == 15;
      for (unsigned r = 2; r < 8; ++r)
        for (unsigned lane = 0; lane < 64; ++lane)
          h.setLane(r, lane, uint32_t((h.v(r, lane) & 0x807fffff) | (110 + random() % 30) << 23));
      float want[2][64];
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned word = 0; word < 2; ++word) {
          float x[3];
          for (unsigned i = 0; i < 3; ++i) {
            x[i] = h.vf(2 + 2 * i + (word ? m.selHigh[i] : m.sel[i]), lane);
            if (word ? m.negHigh[i] : m.negLow[i])
              x[i] = -x[i];
          }
          float value = c.f(x[0], x[1], x[2]);
          want[word][lane] = !h.active(lane) ? h.vf(word, lane)
                             : !clamp        ? value
                                             : std::fmax(0.0f, std::fmin(1.0f, value));
        }
      std::string text = std::string(c.op) + " v[0:1], v[2:3], v[4:5]" +
                         (c.n == 3 ? ", v[6:7]" : "") + m.text(c.n, true) + (clamp ? " clamp" : "");
      h.run(text);
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned word = 0; word < 2; ++word)
          ASSERT_EQ(h.v(word, lane), std::bit_cast<uint32_t>(want[word][lane]))
              << text << ", seed " << seed;
    }
}

/// Scalar pairs, constants, a destination that is a source, rounding mode.
TEST(PackedMath, FloatOperands) {
  WaveHarness h;
  h.setS64(4, std::bit_cast<uint32_t>(2.0f) | uint64_t(std::bit_cast<uint32_t>(3.0f)) << 32);
  h.setV(0, 5.0f);
  h.setV(1, 7.0f);
  h.run("v_pk_mul_f32 v[0:1], v[0:1], s[4:5]");
  EXPECT_EQ(h.vf(0), 10.0f);
  EXPECT_EQ(h.vf(1), 21.0f);
  h.run("v_pk_add_f32 v[0:1], v[0:1], 1.0 op_sel:[1,0] op_sel_hi:[0,0]");
  EXPECT_EQ(h.vf(0), 22.0f);
  EXPECT_EQ(h.vf(1), 11.0f);
  h.run("v_pk_mov_b32 v[2:3], v[0:1], s[4:5] op_sel:[1,0]");
  EXPECT_EQ(h.vf(2), 11.0f);
  EXPECT_EQ(h.vf(3), 2.0f);
  h.setV(0, 1.0f);
  h.setV(2, 0x1p-30f);
  h.wave().mode.bits = (h.wave().mode.bits & ~3u) | 1; // towards plus infinity
  h.run("v_pk_add_f32 v[4:5], v[0:1], v[2:3]");
  EXPECT_EQ(h.vf(4), 1.0f + 0x1p-23f);
}

TEST(PackedMath, MixedPrecision) {
  std::mt19937 random(seed);
  for (unsigned round = 0; round < 30; ++round) {
    Modifiers m = randomModifiers(random);
    const char *op = round % 3 == 0   ? "v_fma_mix_f32"
                     : round % 3 == 1 ? "v_fma_mixlo_f16"
                                      : "v_fma_mixhi_f16";
    Operands h(random, round % 2 ? someLanes : ~uint64_t(0));
    uint32_t want[64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      float x[3];
      for (unsigned i = 0; i < 3; ++i) {
        uint32_t word = (h.v(2 + 2 * i, lane) & 0x8fff) | 0x3000 | (110 + random() % 20) << 23;
        word = m.selHigh[i] && m.sel[i] ? word & 0xbfffffff : word;
        h.setLane(2 + 2 * i, lane, word);
        x[i] =
            !m.selHigh[i] ? std::bit_cast<float>(word) : half(word >> (m.sel[i] ? 16 : 0) & 0xffff);
        if (m.negHigh[i])
          x[i] = std::fabs(x[i]);
        if (m.negLow[i])
          x[i] = -x[i];
      }
      float value = std::fma(x[0], x[1], x[2]);
      uint32_t old = h.v(0, lane), narrow = toHalf(value);
      want[lane] = !h.active(lane)  ? old
                   : round % 3 == 0 ? std::bit_cast<uint32_t>(value)
                   : round % 3 == 1 ? (old & 0xffff0000) | narrow
                                    : (old & 0xffff) | narrow << 16;
    }
    auto list = [](const bool *b) {
      return std::string(b[0] ? "[1," : "[0,") + (b[1] ? "1," : "0,") + (b[2] ? "1]" : "0]");
    };
    // neg_hi is written as an absolute value in mixed-precision operations.
    std::string text = std::string(op) + " v0";
    for (unsigned i = 0; i < 3; ++i) {
      std::string reg = "v" + std::to_string(2 + 2 * i);
      text += ", " + std::string(m.negLow[i] ? "-" : "") + (m.negHigh[i] ? "|" + reg + "|" : reg);
    }
    text += " op_sel:" + list(m.sel) + " op_sel_hi:" + list(m.selHigh);
    h.run(text);
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(h.v(0, lane), want[lane]) << text << ", seed " << seed << ", lane " << lane;
  }
}

TEST(DotProduct, Floats) {
  std::mt19937 random(seed);
  for (bool isBfloat : {false, true})
    for (unsigned round = 0; round < 8; ++round) {
      Modifiers m = round ? randomModifiers(random) : Modifiers();
      for (unsigned op = 0; op < 3; ++op) { // dot products have no op_sel
        m.sel[op] = false;
        m.selHigh[op] = true;
      }
      m.negHigh[2] = false; // the sum is f32: only its sign is modified
      Operands h(random, round % 2 ? someLanes : ~uint64_t(0));
      auto value = [&](uint32_t bits) { return isBfloat ? bfloat(bits) : half(bits); };
      uint32_t want[64];
      for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned r : {2u, 4u})
          h.setLane(r, lane, (h.v(r, lane) & 0x9fff9fff) | 0x20002000);
        h.setLane(6, lane, (h.v(6, lane) & 0x80ffffff) | 0x3f000000);
        float low[2], high[2];
        for (unsigned i = 0; i < 2; ++i) {
          uint32_t word = h.v(2 + 2 * i, lane);
          low[i] = value(word >> (m.sel[i] ? 16 : 0) & 0xffff) * (m.negLow[i] ? -1 : 1);
          high[i] = value(word >> (m.selHigh[i] ? 16 : 0) & 0xffff) * (m.negHigh[i] ? -1 : 1);
        }
        float sum = h.vf(6, lane) * (m.negLow[2] ? -1 : 1);
        float result = isBfloat ? low[0] * low[1] + high[0] * high[1] + sum
                                : sum + low[0] * low[1] + high[0] * high[1];
        want[lane] = h.active(lane) ? std::bit_cast<uint32_t>(result) : h.v(0, lane);
      }
      std::string text = std::string("v_dot2_f32_") + (isBfloat ? "bf16" : "f16") +
                         " v0, v2, v4, v6" + m.negations(3);
      h.run(text);
      for (unsigned lane = 0; lane < 64; ++lane)
        ASSERT_EQ(h.v(0, lane), want[lane]) << text << ", seed " << seed;
    }
}

TEST(DotProduct, Accumulating) {
  WaveHarness h;
  h.setV(2, 0x40003c00u); // f16 2, 1
  h.setV(3, 0x42004400u); // f16 3, 4
  h.setV(4, 0x40003f80u); // bf16 2, 1
  h.setV(5, 0x40404080u); // bf16 3, 4
  h.setV(0, 0.5f);
  h.run("v_dot2c_f32_f16 v0, v2, v3");
  EXPECT_EQ(h.vf(0), 10.5f);
  h.run("v_dot2c_f32_bf16 v0, v4, v5");
  EXPECT_EQ(h.vf(0), 20.5f);
  h.setLane(2, 1, 0u);
  h.setV(0, 0.0f);
  h.run("v_dot2c_f32_f16_dpp v0, v2, v3 row_newbcast:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(h.vf(0), 0.0f);
}

TEST(DotProduct, Integers) {
  std::mt19937 random(seed);
  const struct {
    const char *op;
    unsigned bits;
    bool isSigned, accumulates;
  } cases[] = {
      {"v_dot2_i32_i16", 16, true, false}, {"v_dot2_u32_u16", 16, false, false},
      {"v_dot4_i32_i8", 8, true, false},   {"v_dot4_u32_u8", 8, false, false},
      {"v_dot8_i32_i4", 4, true, false},   {"v_dot8_u32_u4", 4, false, false},
      {"v_dot2c_i32_i16", 16, true, true}, {"v_dot4c_i32_i8", 8, true, true},
      {"v_dot8c_i32_i4", 4, true, true},
  };
  for (const auto &c : cases)
    for (unsigned round = 0; round < 4; ++round) {
      bool clamp = round >= 2 && !c.accumulates;
      Operands h(random, round % 2 ? someLanes : ~uint64_t(0));
      uint32_t want[64];
      for (unsigned lane = 0; lane < 64; ++lane) {
        if (clamp && lane % 2)
          h.setLane(6, lane, c.isSigned ? 0x7ffffff0u : 0xfffffff0u);
        uint32_t sum = h.v(c.accumulates ? 0 : 6, lane);
        int64_t total = c.isSigned ? int64_t(int32_t(sum)) : int64_t(sum);
        for (unsigned e = 0; e < 32 / c.bits; ++e) {
          auto part = [&](unsigned reg) {
            int64_t x = h.v(reg, lane) >> (e * c.bits) & ((1u << c.bits) - 1);
            return c.isSigned && x >> (c.bits - 1) ? x - (int64_t(1) << c.bits) : x;
          };
          total += part(2) * part(4);
        }
        if (clamp)
          total = c.isSigned ? std::clamp<int64_t>(total, INT32_MIN, INT32_MAX)
                             : std::clamp<int64_t>(total, 0, UINT32_MAX);
        want[lane] = h.active(lane) ? uint32_t(total) : h.v(0, lane);
      }
      std::string text = std::string(c.op) + (c.accumulates ? " v0, v2, v4" : " v0, v2, v4, v6") +
                         (clamp ? " clamp" : "");
      h.run(text);
      for (unsigned lane = 0; lane < 64; ++lane)
        ASSERT_EQ(h.v(0, lane), want[lane]) << text << ", seed " << seed;
    }
}
