// MFMA against a scalar formula over the operand layouts of docs/Hardware.md 2.1.
#include "WaveHarness.h"

#include <cmath>
#include <random>

using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {

enum class Format { Bf16, F16, F32, Xf32 };

/// One float MFMA: `words` registers for each of A and B; K follows.
struct Shape {
  const char *name;
  Format format;
  unsigned size, blocks, words;

  unsigned perWord() const { return format == Format::F32 || format == Format::Xf32 ? 1 : 2; }
  HarnessOptions options() const {
    return {.architecture = format == Format::Xf32 ? "gfx942" : "gfx950"};
  }
  unsigned perLane() const { return words * perWord(); }
  unsigned depth() const { return 64 / (size * blocks) * perLane(); }
  unsigned results() const { return size * size * blocks / 64; }
};

const Shape shapes[] = {
    {"v_mfma_f32_32x32x16_bf16", Format::Bf16, 32, 1, 4},
    {"v_mfma_f32_16x16x32_bf16", Format::Bf16, 16, 1, 4},
    {"v_mfma_f32_32x32x8_bf16", Format::Bf16, 32, 1, 2},
    {"v_mfma_f32_16x16x16_bf16", Format::Bf16, 16, 1, 2},
    {"v_mfma_f32_32x32x4_2b_bf16", Format::Bf16, 32, 2, 2},
    {"v_mfma_f32_16x16x4_4b_bf16", Format::Bf16, 16, 4, 2},
    {"v_mfma_f32_4x4x4_16b_bf16", Format::Bf16, 4, 16, 2},
    {"v_mfma_f32_32x32x16_f16", Format::F16, 32, 1, 4},
    {"v_mfma_f32_16x16x32_f16", Format::F16, 16, 1, 4},
    {"v_mfma_f32_32x32x8_f16", Format::F16, 32, 1, 2},
    {"v_mfma_f32_16x16x16_f16", Format::F16, 16, 1, 2},
    {"v_mfma_f32_32x32x4_2b_f16", Format::F16, 32, 2, 2},
    {"v_mfma_f32_16x16x4_4b_f16", Format::F16, 16, 4, 2},
    {"v_mfma_f32_4x4x4_16b_f16", Format::F16, 4, 16, 2},
    {"v_mfma_f32_32x32x2_f32", Format::F32, 32, 1, 1},
    {"v_mfma_f32_16x16x4_f32", Format::F32, 16, 1, 1},
    {"v_mfma_f32_32x32x1_2b_f32", Format::F32, 32, 2, 1},
    {"v_mfma_f32_16x16x1_4b_f32", Format::F32, 16, 4, 1},
    {"v_mfma_f32_4x4x1_16b_f32", Format::F32, 4, 16, 1},
    {"v_mfma_f32_32x32x4_xf32", Format::Xf32, 32, 1, 2},
    {"v_mfma_f32_16x16x8_xf32", Format::Xf32, 16, 1, 2},
};

constexpr unsigned regA = 64, regB = 80, regC = 0, accumulators = 256;

float decode(Format format, uint32_t bits) {
  if (format == Format::F32)
    return std::bit_cast<float>(bits);
  if (format == Format::Xf32) { // 11 significant bits, to nearest even
    int exponent = 0;
    float fraction = std::frexp(std::bit_cast<float>(bits), &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
  }
  if (format == Format::Bf16)
    return std::bit_cast<float>(bits << 16);
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(float(mantissa), -24)
                                    : std::ldexp(float(1024 + mantissa), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// A finite value of moderate size.
uint32_t randomElement(Format format, std::mt19937 &random) {
  uint32_t bits = random();
  if (format == Format::F32 || format == Format::Xf32)
    return (bits & 0x807fffff) | (120 + bits % 16) << 23;
  if (format == Format::Bf16)
    return (bits & 0x807f) | (120 + (bits >> 16) % 16) << 7;
  return bits & 0xbfff; // subnormals included
}

/// Element k of row or column `i` of `block`, as the operand layout says.
float element(WaveHarness &h, const Shape &s, unsigned first, unsigned block, unsigned i,
              unsigned k) {
  unsigned lane = (k / s.perLane() * s.blocks + block) * s.size + i;
  unsigned e = k % s.perLane();
  uint32_t word = h.v(first + e / s.perWord(), lane);
  return decode(s.format, s.perWord() == 1 ? word : word >> (16 * (e % 2)) & 0xffff);
}

struct Place {
  unsigned reg, lane;
};
Place resultPlace(const Shape &s, unsigned block, unsigned i, unsigned j) {
  if (s.size == 32)
    return {block * 16 + i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j};
  if (s.size == 16)
    return {block * 4 + i % 4, i / 4 * 16 + j};
  return {i, block * 4 + j};
}

std::string tuple(char file, unsigned first, unsigned count) {
  if (count == 1)
    return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" +
         std::to_string(first + count - 1) + "]";
}

void fillOperands(WaveHarness &h, const Shape &s, std::mt19937 &random, unsigned offset = 0) {
  for (unsigned w = 0; w < s.words; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned first : {regA, regB}) {
        uint32_t low = randomElement(s.format, random);
        uint32_t high = s.perWord() == 2 ? randomElement(s.format, random) << 16 : 0;
        h.setLane(offset + first + w, lane, low | high);
      }
}

/// d = c; for k ascending: d = fma(a, b, d).
float expected(WaveHarness &h, const Shape &s, unsigned block, unsigned i, unsigned j, float c,
               unsigned offset = 0) {
  for (unsigned k = 0; k < s.depth(); ++k)
    c = std::fma(element(h, s, offset + regA, block, i, k),
                 element(h, s, offset + regB, block, j, k), c);
  return c;
}

template <class Body> void forEachResult(const Shape &s, Body body) {
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.size; ++i)
      for (unsigned j = 0; j < s.size; ++j)
        body(block, i, j, resultPlace(s, block, i, j));
}

class Matrix : public testing::TestWithParam<HostIsa> {
protected:
  void SetUp() override {
    if (!hostHasIsa(GetParam()))
      GTEST_SKIP() << "this CPU, or this build, does not have the instruction set";
    saved = hostIsa();
    forceHostIsa(GetParam());
  }
  void TearDown() override { forceHostIsa(saved); }
  HostIsa saved = hostIsa();
};

INSTANTIATE_TEST_SUITE_P(Isa, Matrix,
                         testing::Values(HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512),
                         [](const auto &info) {
                           return std::string(info.param == HostIsa::Baseline ? "Baseline"
                                              : info.param == HostIsa::Avx2   ? "Avx2"
                                                                              : "Avx512");
                         });

} // namespace

/// EXEC does not matter: half of the runs have it partly zero.
TEST_P(Matrix, AccumulatesInPlace) {
  const unsigned seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const Shape &s : shapes) {
    SCOPED_TRACE(s.name);
    WaveHarness h(s.options());
    fillOperands(h, s, random);
    for (unsigned r = 0; r < s.results(); ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        h.setLane(regC + r, lane, randomElement(Format::F32, random));
    std::vector<float> want;
    forEachResult(s, [&](unsigned block, unsigned i, unsigned j, Place p) {
      want.push_back(expected(h, s, block, i, j, h.vf(regC + p.reg, p.lane)));
    });
    if (random() & 1)
      h.setExec(random());
    h.run(std::string(s.name) + " " + tuple('v', regC, s.results()) + ", " +
          tuple('v', regA, s.words) + ", " + tuple('v', regB, s.words) + ", " +
          tuple('v', regC, s.results()));
    size_t next = 0;
    forEachResult(s, [&](unsigned block, unsigned i, unsigned j, Place p) {
      ASSERT_EQ(h.vf(regC + p.reg, p.lane), want[next++])
          << "block " << block << " row " << i << " column " << j;
    });
  }
}

TEST_P(Matrix, AccumulationRegistersAndConstantC) {
  std::mt19937 random(2);
  for (const Shape &s : shapes) {
    SCOPED_TRACE(s.name);
    WaveHarness h(s.options());
    fillOperands(h, s, random, accumulators);
    h.run(std::string(s.name) + " " + tuple('a', 4, s.results()) + ", " +
          tuple('a', regA, s.words) + ", " + tuple('a', regB, s.words) + ", 1.0");
    forEachResult(s, [&](unsigned block, unsigned i, unsigned j, Place p) {
      ASSERT_EQ(h.vf(accumulators + 4 + p.reg, p.lane),
                expected(h, s, block, i, j, 1.0f, accumulators))
          << "block " << block << " row " << i << " column " << j;
    });
  }
}

/// C in other registers than D, and D on top of A.
TEST_P(Matrix, OverlappingRegisters) {
  std::mt19937 random(3);
  const Shape &s = shapes[0];
  WaveHarness h;
  fillOperands(h, s, random);
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(2 + r, lane, randomElement(Format::F32, random));
  std::vector<float> want;
  forEachResult(s, [&](unsigned block, unsigned i, unsigned j, Place p) {
    want.push_back(expected(h, s, block, i, j, h.vf(2 + p.reg, p.lane)));
  });
  h.run("v_mfma_f32_32x32x16_bf16 v[64:79], v[64:67], v[80:83], v[2:17]");
  size_t next = 0;
  forEachResult(s, [&](unsigned, unsigned i, unsigned j, Place p) {
    ASSERT_EQ(h.vf(regA + p.reg, p.lane), want[next++]) << "row " << i << " column " << j;
  });
}

TEST_P(Matrix, SpecialValues) {
  WaveHarness h;
  for (unsigned w = 0; w < 4; ++w) {
    h.setV(regA + w, 0x3f803f80);
    h.setV(regB + w, 0x3f803f80);
  }
  // Row 3: infinity minus infinity. Row 5: a NaN with a payload. Row 6: infinity.
  h.setLane(regA, 3, 0xff807f80u);
  h.setLane(regA, 5, 0x3f80ffc5u);
  h.setLane(regA, 6, 0x3f807f80u);
  h.run("v_mfma_f32_32x32x16_bf16 v[0:15], v[64:67], v[80:83], 0");
  auto row = [&](unsigned i) { return h.v(i / 8 * 4 + i % 4, i / 4 % 2 * 32 + 7); };
  EXPECT_EQ(row(3), 0x7fc00000u);
  EXPECT_EQ(row(5), 0x7fc00000u);
  EXPECT_EQ(row(6), 0x7f800000u);
  EXPECT_EQ(row(7), std::bit_cast<uint32_t>(16.0f));
}

/// Zeros of either sign times finite numbers leave C as it is, but for -0; what is not finite makes NaNs of them.
TEST_P(Matrix, Zeros) {
  const uint32_t zeros[] = {0, 0x80008000}, others[] = {0x3f80c1a0, 0, 0x7f807f80, 0xffc5ffc5};
  const uint32_t sums[] = {0, 0x80000000, 0x3f800000};
  for (uint32_t zero : zeros)
    for (uint32_t other : others)
      for (uint32_t sum : sums)
        for (bool zeroA : {true, false}) {
          WaveHarness h;
          for (unsigned w = 0; w < 4; ++w) {
            h.setV(regA + w, zeroA ? zero : other);
            h.setV(regB + w, zeroA ? other : zero);
          }
          for (unsigned r = 0; r < 16; ++r)
            h.setV(regC + r, sum);
          h.run("v_mfma_f32_32x32x16_bf16 v[0:15], v[64:67], v[80:83], v[0:15]");
          // The order of signs in a word: 1.0 and -20.0 or zeros; -0 stays where every product is -0.
          auto productIsNegative = [&](uint32_t half) { return ((half ^ zero) & 0x8000) != 0; };
          bool allNegative = productIsNegative(other & 0xffff) && productIsNegative(other >> 16);
          uint32_t want = sum == 0x80000000 && !allNegative ? 0 : sum;
          if ((other & 0x7f80) == 0x7f80)
            want = 0x7fc00000;
          for (unsigned r = 0; r < 16; ++r)
            EXPECT_EQ(h.v(regC + r), want) << std::hex << zero << " times " << other << " and " << sum;
        }
}

/// One number among zeros, and one that is not finite: each is seen wherever it stands.
TEST_P(Matrix, OneAmongZeros) {
  for (const Shape &s : shapes) {
    if (s.format != Format::Bf16 || s.size == 4)
      continue;
    SCOPED_TRACE(s.name);
    for (unsigned lane : {0u, 17u, 63u})
      for (bool infinite : {false, true}) {
        WaveHarness h(s.options());
        for (unsigned w = 0; w < s.words; ++w) {
          h.setV(regA + w, 0);
          h.setV(regB + w, infinite ? 0u : 0x3f803f80u);
        }
        for (unsigned r = 0; r < s.results(); ++r)
          h.setV(regC + r, 0);
        h.setLane(regA + s.words - 1, lane, infinite ? 0x7f800000u : 0x3f800000u);
        h.run(std::string(s.name) + " " + tuple('v', regC, s.results()) + ", " + tuple('v', regA, s.words) + ", " +
              tuple('v', regB, s.words) + ", " + tuple('v', regC, s.results()));
        unsigned changed = 0;
        forEachResult(s, [&](unsigned, unsigned, unsigned, Place p) {
          uint32_t result = std::bit_cast<uint32_t>(h.vf(regC + p.reg, p.lane));
          if (result == 0)
            return;
          ++changed;
          EXPECT_EQ(result, infinite ? 0x7fc00000u : 0x3f800000u);
        });
        EXPECT_EQ(changed, s.size) << "lane " << lane;
      }
  }
}

/// Subnormal operands and results are kept.
TEST_P(Matrix, Subnormals) {
  WaveHarness h;
  for (unsigned w = 0; w < 4; ++w) {
    h.setV(regA + w, 0u);
    h.setV(regB + w, 0u);
  }
  h.setV(regA, 1u); // 2^-133 as bf16
  h.setV(regB, 0x3f80u);
  h.run("v_mfma_f32_32x32x16_bf16 v[0:15], v[64:67], v[80:83], 0");
  EXPECT_EQ(h.v(0), 0x20000u);
}

TEST_P(Matrix, BroadcastControls) {
  std::mt19937 random(4);
  const Shape s = {"v_mfma_f32_4x4x4_16b_f16", Format::F16, 4, 16, 2};
  WaveHarness h;
  fillOperands(h, s, random);
  h.run("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[64:65], v[80:81], 0 cbsz:2 abid:3");
  forEachResult(s, [&](unsigned block, unsigned i, unsigned j, Place p) {
    float want = 0;
    for (unsigned k = 0; k < 4; ++k)
      want = std::fma(element(h, s, regA, block / 4 * 4 + 3, i, k),
                      element(h, s, regB, block, j, k), want);
    ASSERT_EQ(h.vf(p.reg, p.lane), want);
  });
  const unsigned firstLane[8] = {0, 0, 32, 16, 0, 16, 32, 48};
  for (unsigned blgp = 1; blgp < 8; ++blgp) {
    h.run("v_mfma_f32_32x32x2_f32 v[0:15], v64, v80, 0 blgp:" + std::to_string(blgp));
    auto b = [&](unsigned lane) {
      unsigned span = blgp < 3 ? 32 : blgp == 3 ? 64 : 16;
      return h.vf(regB, (firstLane[blgp] + lane % span) % 64);
    };
    auto a = [&](unsigned lane) { return h.vf(regA, lane); };
    float want = std::fma(a(33), b(32 + 5), a(1) * b(5));
    EXPECT_EQ(h.vf(1, 5), want) << "blgp " << blgp;
  }
}

TEST_P(Matrix, RefusesBroadcastsTheShapeDoesNotHave) {
  WaveHarness h;
  std::string error = h.tryRun("v_mfma_f32_32x32x16_bf16 v[0:15], v[64:67], v[80:83], 0 cbsz:1");
  EXPECT_NE(error.find("has a cbsz or abid that its shape does not have"), std::string::npos)
      << error;
}
