// v_smfmac_*: every form against the dense product of what its index says A is.
//
// Elements are small integers, which all formats hold and whose sums are exact, so the expected
// value does not depend on the order of summation.
#include "SmallFormats.h"
#include "WaveHarness.h"

#include <map>
#include <random>

using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {
enum class Kind { Half, Bfloat, Integer, Fp8, Bf8 };

struct Form {
  const char *name;
  unsigned size, words; ///< rows, registers of A
  Kind a, b;
};

constexpr unsigned regA = 64, regB = 80, regIndex = 100;

unsigned bitsOf(Kind kind) { return kind == Kind::Half || kind == Kind::Bfloat ? 16 : 8; }

/// The bits of the integer `value` (|value| at most 8). `fnuz`: the formats of gfx942.
uint32_t encode(Kind kind, int value, bool fnuz) {
  if (kind == Kind::Integer)
    return static_cast<uint8_t>(value);
  float f = static_cast<float>(value);
  if (kind == Kind::Bfloat)
    return std::bit_cast<uint32_t>(f) >> 16;
  if (kind == Kind::Half)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(f));
  OcpFormat format = ocpFormats[kind == Kind::Bf8];
  format.bias += fnuz;
  for (uint32_t bits = 0; bits < 256; ++bits)
    if (bits != 0x80 && ocpValue(format, bits) == value)
      return bits;
  ADD_FAILURE() << value << " is not in the format";
  return 0;
}

std::vector<Form> forms(bool deep) {
  std::vector<Form> list = {{"f32_16x16x32_f16", 16, 2, Kind::Half, Kind::Half},
                            {"f32_32x32x16_f16", 32, 2, Kind::Half, Kind::Half},
                            {"f32_16x16x32_bf16", 16, 2, Kind::Bfloat, Kind::Bfloat},
                            {"f32_32x32x16_bf16", 32, 2, Kind::Bfloat, Kind::Bfloat},
                            {"i32_16x16x64_i8", 16, 2, Kind::Integer, Kind::Integer},
                            {"i32_32x32x32_i8", 32, 2, Kind::Integer, Kind::Integer},
                            {"f32_16x16x64_fp8_fp8", 16, 2, Kind::Fp8, Kind::Fp8},
                            {"f32_16x16x64_fp8_bf8", 16, 2, Kind::Fp8, Kind::Bf8},
                            {"f32_16x16x64_bf8_fp8", 16, 2, Kind::Bf8, Kind::Fp8},
                            {"f32_16x16x64_bf8_bf8", 16, 2, Kind::Bf8, Kind::Bf8},
                            {"f32_32x32x32_fp8_fp8", 32, 2, Kind::Fp8, Kind::Fp8},
                            {"f32_32x32x32_fp8_bf8", 32, 2, Kind::Fp8, Kind::Bf8},
                            {"f32_32x32x32_bf8_fp8", 32, 2, Kind::Bf8, Kind::Fp8},
                            {"f32_32x32x32_bf8_bf8", 32, 2, Kind::Bf8, Kind::Bf8}};
  const Form deepForms[] = {{"f32_16x16x64_f16", 16, 4, Kind::Half, Kind::Half},
                            {"f32_32x32x32_f16", 32, 4, Kind::Half, Kind::Half},
                            {"f32_16x16x64_bf16", 16, 4, Kind::Bfloat, Kind::Bfloat},
                            {"f32_32x32x32_bf16", 32, 4, Kind::Bfloat, Kind::Bfloat},
                            {"i32_16x16x128_i8", 16, 4, Kind::Integer, Kind::Integer},
                            {"i32_32x32x64_i8", 32, 4, Kind::Integer, Kind::Integer},
                            {"f32_16x16x128_fp8_fp8", 16, 4, Kind::Fp8, Kind::Fp8},
                            {"f32_16x16x128_fp8_bf8", 16, 4, Kind::Fp8, Kind::Bf8},
                            {"f32_16x16x128_bf8_fp8", 16, 4, Kind::Bf8, Kind::Fp8},
                            {"f32_16x16x128_bf8_bf8", 16, 4, Kind::Bf8, Kind::Bf8},
                            {"f32_32x32x64_fp8_fp8", 32, 4, Kind::Fp8, Kind::Fp8},
                            {"f32_32x32x64_fp8_bf8", 32, 4, Kind::Fp8, Kind::Bf8},
                            {"f32_32x32x64_bf8_fp8", 32, 4, Kind::Bf8, Kind::Fp8},
                            {"f32_32x32x64_bf8_bf8", 32, 4, Kind::Bf8, Kind::Bf8}};
  if (deep)
    list.insert(list.end(), std::begin(deepForms), std::end(deepForms));
  return list;
}

/// One run: fills the operands, keeps what they mean, and compares D with the product.
class SparseRun {
public:
  SparseRun(const Form &form, const std::string &architecture, unsigned cbsz, unsigned abid)
      : form(form), h({.architecture = architecture}), fnuz(architecture == "gfx942") {
    kept = form.words * 32 / bitsOf(form.a);
    unsigned indexBits = 2 * kept;
    shift = cbsz ? 0 : abid % (32 / indexBits) * indexBits;
    fill();
    std::string d = "v[0:" + std::to_string(form.size * form.size / 64 - 1) + "]";
    std::string b = std::to_string(regB + 2 * form.words - 1);
    h.run("v_smfmac_" + std::string(form.name) + " " + d +
          ", v[64:" + std::to_string(regA + form.words - 1) + "], v[80:" + b +
          "], v100 cbsz:" + std::to_string(cbsz) + " abid:" + std::to_string(abid));
  }

  void check() {
    for (unsigned i = 0; i < form.size; ++i)
      for (unsigned j = 0; j < form.size; ++j) {
        int want = static_cast<int>(3 * i + j);
        for (unsigned k = 0; k < denseDepth(); ++k)
          want += a[i][k] * b[k][j];
        unsigned reg = form.size == 32 ? i / 8 * 4 + i % 4 : i % 4;
        unsigned lane = form.size == 32 ? i / 4 % 2 * 32 + j : i / 4 * 16 + j;
        uint32_t found = h.v(reg, lane);
        int value = form.a == Kind::Integer ? int(found) : int(std::bit_cast<float>(found));
        ASSERT_EQ(value, want) << form.name << " row " << i << " column " << j;
      }
  }

private:
  unsigned denseDepth() const { return 64 / form.size * 2 * kept; }

  /// Where element `e` of a lane of B lies in k: pieces of 16 bytes go round the lane groups
  /// (docs/Hardware.md 2.1).
  unsigned denseK(unsigned group, unsigned e) const {
    unsigned piece = 128 / bitsOf(form.b), groups = 64 / form.size;
    return (e / piece * groups + group) * piece + e % piece;
  }

  void put(unsigned reg, unsigned lane, unsigned element, Kind kind, int value) {
    unsigned bits = bitsOf(kind), perWord = 32 / bits;
    h.wave().vgpr[reg + element / perWord][lane] |= encode(kind, value, fnuz)
                                                    << (bits * (element % perWord));
  }

  void fill() {
    for (unsigned r = 0; r < 16; ++r) {
      h.setV(regA + r, 0);
      h.setV(regB + r, 0);
    }
    for (unsigned i = 0; i < form.size; ++i)
      for (unsigned j = 0; j < form.size; ++j) {
        unsigned reg = form.size == 32 ? i / 8 * 4 + i % 4 : i % 4;
        unsigned lane = form.size == 32 ? i / 4 % 2 * 32 + j : i / 4 * 16 + j;
        int c = static_cast<int>(3 * i + j);
        h.setLane(reg, lane,
                  form.a == Kind::Integer ? uint32_t(c)
                                          : std::bit_cast<uint32_t>(static_cast<float>(c)));
      }
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned group = lane / form.size, row = lane % form.size;
      uint32_t index = random();
      h.setLane(regIndex, lane, index);
      for (unsigned e = 0; e < kept; ++e) {
        int value = static_cast<int>(random() % 9) - 4;
        put(regA, lane, e, form.a, value);
        unsigned position = index >> (shift + 2 * e) & 3;
        a[row][group * 2 * kept + 4 * (e / 2) + position] += value;
      }
      for (unsigned e = 0; e < 2 * kept; ++e) {
        int value = static_cast<int>(random() % 9) - 4;
        put(regB, lane, e, form.b, value);
        b[denseK(group, e)][row] = value;
      }
    }
  }

  Form form;
  WaveHarness h;
  bool fnuz;
  unsigned kept, shift;
  std::mt19937 random{7};
  std::map<unsigned, std::map<unsigned, int>> a, b; ///< [row][k] and [k][column]
};
} // namespace

TEST(MatrixSparse, EveryForm) {
  for (const Form &form : forms(/*deep=*/true))
    SparseRun(form, "gfx950", 0, 0).check();
}

/// gfx942's formats are the fnuz ones; it does not have the deep forms.
TEST(MatrixSparse, EveryFormOfGfx942) {
  for (const Form &form : forms(/*deep=*/false))
    SparseRun(form, "gfx942", 0, 0).check();
}

/// What AMD's 8-bit attention kernels rely on, in plain numbers: a kept element of lane group 1 is
/// of k = 32, which column lanes of group 2 have first; one of group 2 is of k = 64, which group 0
/// has behind its first 16 bytes.
TEST(MatrixSparse, DeepFormsPairAcrossLaneGroups) {
  struct Case {
    const char *name;
    unsigned groupOfA, laneOfB, wordOfB;
  };
  const Case cases[] = {{"f32_16x16x128_fp8_fp8", 1, 32, 0},
                        {"f32_16x16x128_fp8_fp8", 2, 0, 4},
                        {"f32_32x32x64_fp8_fp8", 1, 0, 4}};
  for (const Case &one : cases) {
    const bool wide = std::string_view(one.name).starts_with("f32_32");
    WaveHarness h;
    for (unsigned r = 0; r < 16; ++r) {
      h.setV(r, 0);
      h.setV(regA + r, 0);
      h.setV(regB + r, 0);
    }
    h.setV(regIndex, 0);
    h.setLane(regA, one.groupOfA * (wide ? 32 : 16), 0x38u); // 1.0 in row 0
    h.setLane(regB + one.wordOfB, one.laneOfB + 5, 0x40u); // 2.0 in column 5
    h.run(std::string("v_smfmac_") + one.name + (wide ? " v[0:15]" : " v[0:3]") +
          ", v[64:67], v[80:87], v100");
    EXPECT_EQ(h.vf(0, 5), 2.0f) << one.name << ", lane group " << one.groupOfA;
  }
}

TEST(MatrixSparse, AbidChoosesAnIndexSetUnlessCbszIsSet) {
  for (unsigned abid = 0; abid < 4; ++abid) {
    SparseRun(forms(false)[0], "gfx950", 0, abid).check();
    SparseRun(forms(false)[6], "gfx950", 0, abid).check();
    SparseRun(forms(true)[14], "gfx950", 0, abid).check();
    SparseRun(forms(false)[1], "gfx950", 1, abid).check();
  }
}
