// MFMA on fp8, bf8, f8f6f4 with scales, i8 and f64, against scalar formulas over the layouts of
// docs/Hardware.md 2.1.
#include "SmallFormats.h"
#include "WaveHarness.h"

#include <random>

using namespace hocket::sim::test;

namespace {

constexpr unsigned seed = 41;
constexpr unsigned regA = 64, regB = 80;

struct Place {
  unsigned reg, lane;
};
Place resultPlace(unsigned size, unsigned block, unsigned i, unsigned j) {
  if (size == 32)
    return {block * 16 + i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j};
  if (size == 16)
    return {block * 4 + i % 4, i / 4 * 16 + j};
  return {i, block * 4 + j};
}

std::string tuple(unsigned first, unsigned count) {
  std::string last = std::to_string(first + count - 1);
  return count == 1 ? "v" + last : "v[" + std::to_string(first) + ":" + last + "]";
}

void randomise(WaveHarness &h, std::mt19937 &random, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(r, lane, uint32_t(random()));
}

/// Bits [bit, bit + count) of the registers from `first` on in one lane.
uint32_t bitsAt(WaveHarness &h, unsigned first, unsigned lane, unsigned bit, unsigned count) {
  uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i)
    value |= (h.v(first + (bit + i) / 32, lane) >> ((bit + i) % 32) & 1) << i;
  return value;
}

/// Takes NaN and infinity out of random 8-bit elements.
void makeFinite(WaveHarness &h, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(r, lane, h.v(r, lane) & 0xbfbfbfbf);
}

/// Element k of row or column i of an f8f6f4 operand.
double mixedElement(WaveHarness &h, const OcpFormat &f, unsigned size, unsigned first, unsigned i,
                    unsigned k) {
  unsigned groups = 64 / size, lane, e;
  if (f.bits == 8) {
    lane = k / 16 % groups * size + i;
    e = k / (16 * groups) * 16 + k % 16;
  } else {
    lane = k / 32 * size + i;
    e = k % 32;
  }
  return ocpValue(f, bitsAt(h, first, lane, e * f.bits, f.bits));
}

} // namespace

TEST(MatrixFormats, Bytes) {
  std::mt19937 random(seed);
  for (unsigned size : {32u, 16u})
    for (unsigned a : {0u, 1u})
      for (unsigned b : {0u, 1u}) {
        const char *names[] = {"fp8", "bf8"};
        std::string op = std::string("v_mfma_f32_") + (size == 32 ? "32x32x16_" : "16x16x32_") +
                         names[a] + "_" + names[b];
        SCOPED_TRACE(op);
        WaveHarness h;
        randomise(h, random, regA, 2);
        randomise(h, random, regB, 2);
        makeFinite(h, regA, 2);
        makeFinite(h, regB, 2);
        h.run(op + " " + tuple(0, size * size / 64) + ", v[64:65], v[80:81], 2.0");
        auto value = [&](const OcpFormat &f, unsigned first, unsigned i, unsigned k) {
          return float(ocpValue(f, bitsAt(h, first, k / 8 * size + i, k % 8 * 8, 8)));
        };
        for (unsigned i = 0; i < size; ++i)
          for (unsigned j = 0; j < size; ++j) {
            float want = 2;
            for (unsigned k = 0; k < 8 * 64 / size; ++k)
              want = std::fma(value(ocpFormats[a], regA, i, k), value(ocpFormats[b], regB, j, k),
                              want);
            Place p = resultPlace(size, 0, i, j);
            ASSERT_EQ(h.vf(p.reg, p.lane), want) << i << ", " << j << ", seed " << seed;
          }
      }
}

/// All pairs of formats, without and with scales; every scale byte is used.
TEST(MatrixFormats, MixedFormats) {
  std::mt19937 random(seed);
  for (unsigned size : {32u, 16u})
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = 0; b < 5; ++b) {
        const OcpFormat &fa = ocpFormats[a], &fb = ocpFormats[b];
        bool scaled = (a + b + size / 16) % 3 != 0;
        unsigned byteA = (a + b) % 4, byteB = (a + 2 * b + 1) % 4;
        WaveHarness h;
        randomise(h, random, regA, fa.bits);
        randomise(h, random, regB, fb.bits);
        if (fa.bits == 8)
          makeFinite(h, regA, 8);
        if (fb.bits == 8)
          makeFinite(h, regB, 8);
        randomise(h, random, 100, 2);
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned r : {100u, 101u}) // moderate scales: 2^-7 to 2^8
            h.setLane(r, lane, (h.v(r, lane) & 0x0f0f0f0f) + 0x78787878);
        std::string shape = size == 32 ? "32x32x64" : "16x16x128";
        std::string text = std::string(scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape +
                           "_f8f6f4 " + tuple(0, size * size / 64) + ", " + tuple(regA, fa.bits) +
                           ", " + tuple(regB, fb.bits) + ", 1.0";
        if (!scaled)
          text += " cbsz:" + std::to_string(a) + " blgp:" + std::to_string(b);
        else {
          auto pair = [](unsigned x, unsigned y) {
            return ":[" + std::to_string(x) + "," + std::to_string(y) + ",0]";
          };
          text = text.substr(0, text.size() - 5) + ", " + tuple(0, size * size / 64);
          text += ", v100, v101 op_sel" + pair(byteA & 1, byteB & 1) + " op_sel_hi" +
                  pair(byteA >> 1, byteB >> 1) + " cbsz:" + std::to_string(a) +
                  " blgp:" + std::to_string(b);
          for (unsigned r = 0; r < 16; ++r)
            h.setV(r, 1.0f);
        }
        SCOPED_TRACE(text);
        h.run(text);
        auto scale = [&](unsigned reg, unsigned byte, unsigned i, unsigned k) {
          return scaled
                     ? std::ldexp(1.0, int(h.v(reg, k / 32 * size + i) >> (8 * byte) & 255) - 127)
                     : 1.0;
        };
        for (unsigned i = 0; i < size; ++i)
          for (unsigned j = 0; j < size; ++j) {
            float want = 1;
            for (unsigned k = 0; k < 32 * 64 / size; ++k)
              want = std::fma(
                  float(mixedElement(h, fa, size, regA, i, k) * scale(100, byteA, i, k)),
                  float(mixedElement(h, fb, size, regB, j, k) * scale(101, byteB, j, k)), want);
            Place p = resultPlace(size, 0, i, j);
            ASSERT_EQ(h.vf(p.reg, p.lane), want) << i << ", " << j << ", seed " << seed;
          }
      }
}

/// Scales whose product is moderate though one alone leaves f32's range, and the NaN scale.
TEST(MatrixFormats, ExtremeScales) {
  WaveHarness h;
  for (unsigned r = 0; r < 16; ++r)
    h.setV(r, 0.5f);
  for (unsigned r = 0; r < 8; ++r) {
    h.setV(regA + r, 0x7e7e7e7eu); // 448
    h.setV(regB + r, 0x38383838u); // 1
  }
  h.setV(100, 254u);
  h.setV(101, 1u);
  h.setLane(101, 3, 255u);
  h.run("v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[64:71], v[80:87], v[0:15], v100, v101 "
        "op_sel_hi:[0,0,0]");
  EXPECT_EQ(h.vf(0, 0), 64 * 448 * 2.0f + 0.5f);
  EXPECT_EQ(h.v(0, 3), 0x7fc00000u);
}

TEST(MatrixFormats, RefusesUnknownFormats) {
  WaveHarness h;
  std::string error = h.tryRun("v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[64:65], v[80:81], 0 blgp:1");
  EXPECT_NE(error.find("does not have a meaning for"), std::string::npos) << error;
  error = h.tryRun("v_mfma_i32_32x32x16_i8 v[0:15], v[64:65], v[80:81], 0 cbsz:1");
  EXPECT_NE(error.find("with cbsz, abid or blgp"), std::string::npos) << error;
}

TEST(MatrixFormats, Integers) {
  const struct {
    const char *name;
    unsigned size, blocks, words;
  } shapes[] = {{"v_mfma_i32_32x32x32_i8", 32, 1, 4},   {"v_mfma_i32_16x16x64_i8", 16, 1, 4},
                {"v_mfma_i32_32x32x16_i8", 32, 1, 2},   {"v_mfma_i32_16x16x32_i8", 16, 1, 2},
                {"v_mfma_i32_32x32x4_2b_i8", 32, 2, 1}, {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 1},
                {"v_mfma_i32_4x4x4_16b_i8", 4, 16, 1}};
  std::mt19937 random(seed);
  for (const auto &s : shapes) {
    SCOPED_TRACE(s.name);
    WaveHarness h;
    unsigned results = s.size * s.size * s.blocks / 64, perLane = 4 * s.words;
    randomise(h, random, 0, results);
    randomise(h, random, regA, s.words);
    randomise(h, random, regB, s.words);
    auto element = [&](unsigned first, unsigned block, unsigned i, unsigned k) {
      unsigned lane = (k / perLane * s.blocks + block) * s.size + i;
      return int32_t(int8_t(bitsAt(h, first, lane, k % perLane * 8, 8)));
    };
    std::vector<uint32_t> want;
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.size; ++i)
        for (unsigned j = 0; j < s.size; ++j) {
          Place p = resultPlace(s.size, block, i, j);
          uint32_t sum = h.v(p.reg, p.lane);
          for (unsigned k = 0; k < 64 / (s.size * s.blocks) * perLane; ++k)
            sum += uint32_t(element(regA, block, i, k) * element(regB, block, j, k));
          want.push_back(sum);
        }
    h.run(std::string(s.name) + " " + tuple(0, results) + ", " + tuple(regA, s.words) + ", " +
          tuple(regB, s.words) + ", " + tuple(0, results));
    size_t next = 0;
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.size; ++i)
        for (unsigned j = 0; j < s.size; ++j) {
          Place p = resultPlace(s.size, block, i, j);
          ASSERT_EQ(h.v(p.reg, p.lane), want[next++]) << block << ", " << i << ", " << j;
        }
  }
}

TEST(MatrixFormats, Doubles) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  WaveHarness h;
  auto set = [&](unsigned reg, unsigned lane, double x) {
    uint64_t bits = std::bit_cast<uint64_t>(x);
    h.setLane(reg, lane, uint32_t(bits));
    h.setLane(reg + 1, lane, uint32_t(bits >> 32));
  };
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned reg : {regA, regB})
      set(reg, lane, uniform(random));
  h.run("v_mfma_f64_16x16x4_f64 v[0:7], v[64:65], v[80:81], 1.0 neg:[1,0,1]\n"
        "v_mfma_f64_4x4x4_4b_f64 v[8:9], v[64:65], v[80:81], 0.5");
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      double want = -1;
      for (unsigned k = 0; k < 4; ++k)
        want = std::fma(-h.vd(regA, 16 * k + i), h.vd(regB, 16 * k + j), want);
      ASSERT_EQ(h.vd(i / 4 * 2, i % 4 * 16 + j), want) << i << ", " << j << ", seed " << seed;
    }
  for (unsigned block = 0; block < 4; ++block)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j) {
        double want = 0.5;
        for (unsigned k = 0; k < 4; ++k)
          want = std::fma(h.vd(regA, 16 * k + 4 * block + i), h.vd(regB, 16 * k + 4 * block + j),
                          want);
        ASSERT_EQ(h.vd(8, 16 * i + 4 * block + j), want);
      }
}
