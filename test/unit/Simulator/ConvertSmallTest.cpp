// Conversions between wide floats and the 8-, 6- and 4-bit formats, against tables of values.
#include "SmallFormats.h"
#include "WaveHarness.h"

#include <random>

using namespace hocket::sim::test;

namespace {

constexpr unsigned seed = 51;
const OcpFormat &fp8 = ocpFormats[0], &bf8 = ocpFormats[1], &fp6 = ocpFormats[2],
                &bf6 = ocpFormats[3], &fp4 = ocpFormats[4];

/// The encoding of `x` rounded to nearest even among all finite values of `f`; too large a value
/// is NaN or infinity, or the largest one if the format has neither or `saturate` is set.
uint32_t nearest(const OcpFormat &f, double x, bool saturate = false) {
  uint32_t sign = std::signbit(x) ? 1u << (f.bits - 1) : 0, best = 0;
  double a = std::fabs(x);
  uint32_t count = 0; // finite magnitudes are 0 .. count - 1
  while (count < 1u << (f.bits - 1) && ocpValue(f, count) <= f.largest)
    ++count;
  for (uint32_t i = 0; i < count; ++i) {
    double d = std::fabs(a - ocpValue(f, i)), bestDistance = std::fabs(a - ocpValue(f, best));
    if (d < bestDistance || (d == bestDistance && i % 2 == 0))
      best = i;
  }
  double step = ocpValue(f, count - 1) - ocpValue(f, count - 2);
  bool overflow = a > f.largest + step / 2 || (a == f.largest + step / 2 && (count - 1) % 2 == 1);
  if (overflow && f.nan && !saturate)
    best = f.infinity ? count : (1u << (f.bits - 1)) - 1;
  return sign | best;
}

/// The same, rounding down after adding random / 2^32 of the last place.
uint32_t stochastic(const OcpFormat &f, double x, uint32_t random) {
  double a = std::fabs(x);
  int exponent = std::max(a == 0 ? -1000 : std::ilogb(a), 1 - f.bias);
  double unit = std::ldexp(1.0, exponent - int(f.mantissa));
  double rounded = std::floor(a / unit + random * 0x1p-32) * unit;
  return nearest(f, std::signbit(x) ? -rounded : rounded);
}

uint32_t nextRandom(uint32_t x) { return x << 1 ^ (x >> 31 ? 197 : 0); }

double half(uint32_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double m = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -m : m;
}
double bfloat(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// v2.. v33 hold values of magnitude 2^low to 2^high, in f32, or as pairs of f16 or bf16.
enum class Wide { F32, F16, Bf16 };
struct Values : WaveHarness {
  std::mt19937 random{seed};
  Values(Wide type, int low, int high) {
    for (unsigned r = 2; r < 34; ++r)
      for (unsigned lane = 0; lane < 64; ++lane) {
        auto make = [&] {
          uint32_t exponent = uint32_t(low + int(random() % unsigned(high - low)));
          uint32_t bits = uint32_t(random());
          return type == Wide::F32    ? (bits & 0x807fffff) | (exponent + 127) << 23
                 : type == Wide::Bf16 ? (bits & 0x807f) | (exponent + 127) << 7
                                      : (bits & 0x83ff) | (exponent + 15) << 10;
        };
        uint32_t word = make();
        setLane(r, lane, type == Wide::F32 ? word : word | make() << 16);
      }
    for (unsigned lane = 0; lane < 64; ++lane) {
      setLane(40, lane, uint32_t(random()));
      // Scales: only the exponent counts, 2^-3 to 2^4.
      setLane(41, lane, (uint32_t(random()) & 0x807fffff) | (124 + uint32_t(random()) % 8) << 23);
    }
  }
  double wide(Wide type, unsigned reg, unsigned index, unsigned lane) {
    if (type == Wide::F32)
      return vf(reg + index, lane);
    uint32_t bits = v(reg + index / 2, lane) >> (16 * (index % 2)) & 0xffff;
    return type == Wide::F16 ? half(bits) : bfloat(bits);
  }
  double scale(unsigned lane) { return std::ldexp(1.0, int(v(41, lane) >> 23 & 255) - 127); }
};

uint32_t field(uint32_t word, unsigned at, unsigned width) {
  return word >> at & ((1u << width) - 1);
}

const char *wideName(Wide type) {
  return type == Wide::F32 ? "f32" : type == Wide::F16 ? "f16" : "bf16";
}

} // namespace

TEST(ConvertSmall, PackNearest) {
  const struct {
    const OcpFormat &f;
    const char *name;
  } formats[] = {{fp8, "fp8"}, {bf8, "bf8"}};
  for (const auto &[f, name] : formats) {
    Values h(Wide::F32, -20, f.infinity ? 18 : 11);
    h.setLane(2, 0, NAN);
    h.setLane(2, 1, INFINITY);
    h.setV(0, 0x11112222u);
    h.setV(1, 0x11112222u);
    h.run(std::string("v_cvt_pk_") + name + "_f32 v0, v2, v3\nv_cvt_pk_" + name +
          "_f32 v1, v2, v3 op_sel:[0,0,1]");
    EXPECT_EQ(h.v(0, 0) & 0xff, 0x7fu);
    EXPECT_EQ(h.v(0, 1) & 0xff, f.infinity ? 0x7cu : 0x7fu);
    for (unsigned lane = 2; lane < 64; ++lane) {
      uint32_t want = nearest(f, h.vf(2, lane)) | nearest(f, h.vf(3, lane)) << 8;
      ASSERT_EQ(h.v(0, lane), 0x11110000u | want) << h.vf(2, lane) << ", " << h.vf(3, lane);
      ASSERT_EQ(h.v(1, lane), 0x2222u | want << 16);
    }
    h.wave().mode.bits |= 1u << 23; // FP16_OVFL
    h.run(std::string("v_cvt_pk_") + name + "_f32 v0, v2, v3");
    for (unsigned lane = 2; lane < 64; ++lane)
      ASSERT_EQ(h.v(0, lane) & 0xff, nearest(f, h.vf(2, lane), true));
  }
}

TEST(ConvertSmall, Stochastic) {
  for (bool isBf8 : {false, true}) {
    const OcpFormat &f = isBf8 ? bf8 : fp8;
    std::string name = isBf8 ? "bf8" : "fp8";
    Values h(Wide::F32, -12, 8);
    h.setV(0, 0x11112222u);
    h.run("v_cvt_sr_" + name + "_f32 v0, v2, v40 op_sel:[0,0,1,0]\nv_cvt_sr_" + name +
          "_f32 v0, v3, v40 op_sel:[0,0,1,1]");
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(h.v(0, lane), 0x22u | stochastic(f, h.vf(2, lane), h.v(40, lane)) << 8 | 0x110000u |
                                  stochastic(f, h.vf(3, lane), h.v(40, lane)) << 24);
  }
}

TEST(ConvertSmall, ScaledDown) {
  for (bool isBf8 : {false, true})
    for (Wide type : {Wide::F32, Wide::F16, Wide::Bf16}) {
      const OcpFormat &f = isBf8 ? bf8 : fp8;
      std::string name = isBf8 ? "bf8" : "fp8", from = wideName(type);
      SCOPED_TRACE(name + " " + from);
      Values h(type, -9, 8);
      h.setV(0, 0x11112222u);
      h.setV(1, 0x11112222u);
      bool f32 = type == Wide::F32;
      h.run("v_cvt_scalef32_pk_" + name + "_" + from +
            (f32 ? " v0, v2, v3, v41 op_sel:[0,0,0,1]" : " v0, v2, v41 op_sel:[0,0,1]") +
            "\nv_cvt_scalef32_sr_" + name + "_" + from + " v1, v2, v40, v41 op_sel:[0,0,1,0]");
      for (unsigned lane = 0; lane < 64; ++lane) {
        double low = h.wide(type, 2, 0, lane) / h.scale(lane);
        double high = h.wide(type, 2, 1, lane) / h.scale(lane);
        ASSERT_EQ(h.v(0, lane), 0x2222u | nearest(f, low) << 16 | nearest(f, high) << 24);
        ASSERT_EQ(h.v(1, lane), 0x11110022u | stochastic(f, low, h.v(40, lane)) << 8);
      }
    }
}

TEST(ConvertSmall, Nibbles) {
  for (Wide type : {Wide::F32, Wide::F16, Wide::Bf16}) {
    std::string from = wideName(type);
    SCOPED_TRACE(from);
    Values h(type, -6, 6);
    h.setV(0, 0x11112222u);
    h.setV(1, 0x11112222u);
    bool f32 = type == Wide::F32;
    h.run("v_cvt_scalef32_pk_fp4_" + from +
          (f32 ? " v0, v2, v3, v41 op_sel:[0,0,1,1]" : " v0, v2, v41 op_sel:[0,0,1,1]") +
          "\nv_cvt_scalef32_sr_pk_fp4_" + from +
          (f32 ? " v1, v[2:3], v40, v41" : " v1, v2, v40, v41") + " op_sel:[0,0,1,0]");
    for (unsigned lane = 0; lane < 64; ++lane) {
      double low = h.wide(type, 2, 0, lane) / h.scale(lane);
      double high = h.wide(type, 2, 1, lane) / h.scale(lane);
      uint32_t random = h.v(40, lane);
      ASSERT_EQ(h.v(0, lane), 0x112222u | (nearest(fp4, low) | nearest(fp4, high) << 4) << 24);
      ASSERT_EQ(h.v(1, lane),
                0x11110022u |
                    (stochastic(fp4, low, random) | stochastic(fp4, high, nextRandom(random)) << 4)
                        << 8);
    }
  }
}

TEST(ConvertSmall, BytesUp) {
  for (bool isBf8 : {false, true}) {
    const OcpFormat &f = isBf8 ? bf8 : fp8;
    std::string name = isBf8 ? "bf8" : "fp8";
    for (unsigned base = 0; base < 256; base += 64) {
      Values h(Wide::F32, 0, 1);
      for (unsigned lane = 0; lane < 64; ++lane)
        h.setLane(2, lane, (base + lane) * 0x01010101u ^ 0x80400000u);
      for (unsigned r = 10; r < 30; ++r)
        h.setV(r, 0x5555aaaau);
      h.run("v_cvt_f32_" + name + " v10, v2\nv_cvt_f32_" + name +
            "_sdwa v11, v2 src0_sel:BYTE_2\nv_cvt_pk_f32_" + name +
            " v[12:13], v2\nv_cvt_scalef32_pk_f32_" + name +
            " v[14:15], v2, v41 op_sel:[1,0,0]\nv_cvt_scalef32_f32_" + name +
            " v16, v2, v41 op_sel:[1,1,0]\nv_cvt_scalef32_pk_f16_" + name +
            " v17, v2, v41\nv_cvt_scalef32_pk_bf16_" + name +
            " v18, v2, v41 op_sel:[1,0,0]\nv_cvt_scalef32_f16_" + name +
            " v19, v2, v41 op_sel:[0,1,1]");
      auto same = [](double got, double want) {
        return got == want || (std::isnan(got) && std::isnan(want));
      };
      for (unsigned lane = 0; lane < 64; ++lane) {
        double value[4], scale = h.scale(lane);
        for (unsigned i = 0; i < 4; ++i)
          value[i] = ocpValue(f, h.v(2, lane) >> (8 * i) & 255);
        ASSERT_TRUE(same(h.vf(10, lane), value[0])) << name << " " << base + lane;
        ASSERT_TRUE(same(h.vf(11, lane), value[2]));
        ASSERT_TRUE(same(h.vf(12, lane), value[0]) && same(h.vf(13, lane), value[1]));
        ASSERT_TRUE(same(h.vf(14, lane), value[2] * scale) &&
                    same(h.vf(15, lane), value[3] * scale));
        ASSERT_TRUE(same(h.vf(16, lane), value[3] * scale));
        ASSERT_TRUE(same(bfloat(h.v(18, lane) & 0xffff), value[2] * scale));
        ASSERT_EQ(h.v(19, lane) & 0xffff, 0xaaaau);
        if (std::fabs(value[0] * scale) < 65504 && std::fabs(value[0] * scale) > 0x1p-20) {
          ASSERT_EQ(half(h.v(17, lane) & 0xffff), value[0] * scale);
        }
        if (std::fabs(value[2] * scale) < 65504 && std::fabs(value[2] * scale) > 0x1p-20) {
          ASSERT_EQ(half(h.v(19, lane) >> 16), value[2] * scale);
        }
      }
    }
  }
}

TEST(ConvertSmall, NibblesUp) {
  Values h(Wide::F32, 0, 1);
  for (unsigned lane = 0; lane < 64; ++lane)
    h.setLane(2, lane, lane * 0x04010204u ^ 0x35790000u);
  h.run("v_cvt_scalef32_pk_f32_fp4 v[10:11], v2, v41 op_sel:[1,0,0]\n"
        "v_cvt_scalef32_pk_f16_fp4 v12, v2, v41 op_sel:[0,1,0]\n"
        "v_cvt_scalef32_pk_bf16_fp4 v13, v2, v41 op_sel:[1,1,0]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    auto want = [&](unsigned byte, unsigned i) {
      return ocpValue(fp4, h.v(2, lane) >> (8 * byte + 4 * i) & 15) * h.scale(lane);
    };
    for (unsigned i = 0; i < 2; ++i) {
      ASSERT_EQ(h.vf(10 + i, lane), want(1, i));
      ASSERT_EQ(half(h.v(12, lane) >> (16 * i) & 0xffff), want(2, i));
      ASSERT_EQ(bfloat(h.v(13, lane) >> (16 * i) & 0xffff), want(3, i));
    }
  }
}

/// 32 elements of 6 bits in six registers, from and to 32 wide ones.
TEST(ConvertSmall, SixBits) {
  for (bool isBf6 : {false, true})
    for (Wide type : {Wide::F32, Wide::F16, Wide::Bf16}) {
      const OcpFormat &f = isBf6 ? bf6 : fp6;
      std::string name = isBf6 ? "bf6" : "fp6", wide = wideName(type);
      SCOPED_TRACE(name + " " + wide);
      Values h(type, -6, 6);
      bool f32 = type == Wide::F32;
      h.setExec(0xfffffffffffffff0);
      h.setV(50, 7u);
      std::string to = f32 ? "v[100:131]" : "v[100:115]", from = f32 ? "v[2:33]" : "v[2:17]";
      h.run((f32 ? "v_cvt_scalef32_2xpk16_" + name + "_f32 v[50:55], v[2:17], v[18:33], v41"
                 : "v_cvt_scalef32_pk32_" + name + "_" + wide + " v[50:55], v[2:17], v41") +
            "\nv_cvt_scalef32_sr_pk32_" + name + "_" + wide + " v[60:65], " + from +
            ", v40, v41\nv_cvt_scalef32_pk32_" + wide + "_" + name + " " + to + ", v[50:55], v41");
      EXPECT_EQ(h.v(50, 3), 7u);
      for (unsigned lane = 4; lane < 64; ++lane) {
        uint32_t random = h.v(40, lane);
        for (unsigned e = 0; e < 32; ++e) {
          auto six = [&](unsigned first) {
            unsigned bit = 6 * e;
            uint64_t pair = h.v(first + bit / 32, lane);
            if (bit / 32 < 5)
              pair |= uint64_t(h.v(first + bit / 32 + 1, lane)) << 32;
            return field(uint32_t(pair >> (bit % 32)), 0, 6);
          };
          unsigned source = f32 ? e % 2 * 16 + e / 2 : e; // two sources are interleaved
          double scale = h.scale(lane);
          ASSERT_EQ(six(50), nearest(f, h.wide(type, 2, source, lane) / scale)) << e;
          ASSERT_EQ(six(60), stochastic(f, h.wide(type, 2, e, lane) / scale, random)) << e;
          ASSERT_EQ(h.wide(type, 100, e, lane), ocpValue(f, six(50)) * scale) << e;
          random = nextRandom(random);
        }
      }
    }
}

/// gfx942's formats: bias one larger, no infinity, NaN where negative zero would be.
TEST(ConvertSmall, FnuzFormatsOfGfx942) {
  WaveHarness h({.architecture = "gfx942"});
  for (unsigned index : {0u, 1u}) {
    OcpFormat format = ocpFormats[index];
    ++format.bias;
    format.largest = index == 0 ? 240 : 57344;
    const std::string name = index == 0 ? "fp8" : "bf8";
    for (unsigned first = 0; first < 256; first += 64) {
      for (unsigned lane = 0; lane < 64; ++lane)
        h.setLane(1, lane, (first + lane) | 0x3800u);
      h.run("v_cvt_f32_" + name + " v2, v1\nv_cvt_pk_f32_" + name + " v[4:5], v1\n" + "v_cvt_pk_" +
            name + "_f32 v6, v2, -v2\nv_mov_b32 v8, 0\nv_mov_b32 v7, 0\n" + "v_cvt_sr_" + name +
            "_f32 v7, v2, v8");
      for (unsigned lane = 0; lane < 64; ++lane) {
        uint32_t bits = first + lane;
        if (bits == 0x80) {
          EXPECT_TRUE(std::isnan(h.vf(2, lane)));
          EXPECT_EQ(h.v(6, lane) & 0xffff, 0x8080u);
          EXPECT_EQ(h.v(7, lane) & 0xff, 0x80u);
          continue;
        }
        EXPECT_EQ(h.vf(2, lane), float(ocpValue(format, bits))) << name << ' ' << bits;
        EXPECT_EQ(h.vf(4, lane), h.vf(2, lane));
        EXPECT_EQ(h.vf(5, lane), float(ocpValue(format, 0x38)));
        uint32_t negative = bits == 0 ? 0 : bits ^ 0x80;
        EXPECT_EQ(h.v(6, lane) & 0xffff, bits | negative << 8) << name << ' ' << bits;
        EXPECT_EQ(h.v(7, lane) & 0xff, bits);
      }
    }
    // Too large a value is NaN; what rounds to zero has no sign.
    h.setV(2, float(format.largest) * 1.5f);
    h.setV(3, -1e-20f);
    h.run("v_cvt_pk_" + name + "_f32 v6, v2, v3");
    EXPECT_EQ(h.v(6) & 0xffff, 0x0080u);
    h.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\nv_cvt_pk_" + name +
          "_f32 v6, v2, v3\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0");
    EXPECT_EQ(h.v(6) & 0xffff, 0x007fu);
  }
}
