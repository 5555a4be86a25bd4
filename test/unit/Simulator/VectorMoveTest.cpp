// Moves, selects, lane access, compares.
#include "WaveHarness.h"

#include <cmath>

using namespace hocket::sim;
using namespace hocket::sim::test;

TEST(VectorMove, MovesAndAccumulators) {
  WaveHarness h;
  h.setV64(2, 0x1122334455667788ull);
  h.run("v_mov_b32 v0, v2\nv_mov_b64 v[4:5], v[2:3]\nv_accvgpr_write_b32 a7, v3\n"
        "v_accvgpr_mov_b32 a9, a7\nv_accvgpr_read_b32 v8, a9\nv_mov_b32 v9, 0xdeadbeef\n"
        "v_mov_b32 v10, -5\nv_mov_b64 v[12:13], 1.0\nv_nop");
  EXPECT_EQ(h.v(0), 0x55667788u);
  EXPECT_EQ(h.v64(4), 0x1122334455667788ull);
  EXPECT_EQ(h.v(8), 0x11223344u);
  EXPECT_EQ(h.v(accumulationBase + 9), 0x11223344u);
  EXPECT_EQ(h.v(9), 0xdeadbeefu);
  EXPECT_EQ(h.v(10), uint32_t(-5));
  EXPECT_EQ(h.vd(12), 1.0);
}

TEST(VectorMove, Select) {
  WaveHarness h;
  h.setV(2, 1.0f);
  h.setV(4, 2.0f);
  h.setS64(reg::vcc, 2);
  h.setS64(10, 1);
  h.run("v_cndmask_b32 v0, v2, v4, vcc\nv_cndmask_b32 v1, v2, -v4, s[10:11]");
  EXPECT_EQ(h.vf(0, 0), 1.0f);
  EXPECT_EQ(h.vf(0, 1), 2.0f);
  EXPECT_EQ(h.vf(1, 0), -2.0f);
  EXPECT_EQ(h.vf(1, 1), 1.0f);
}

TEST(VectorMove, Lanes) {
  WaveHarness h;
  for (unsigned lane = 0; lane < 64; ++lane)
    h.setLane(2, lane, lane * 10);
  h.setExec(0xf0);
  h.setS(5, 9);
  h.run("v_readfirstlane_b32 s0, v2\nv_readlane_b32 s1, v2, 7\nv_readlane_b32 s2, v2, s5\n"
        "v_writelane_b32 v2, s5, 63\nv_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3");
  EXPECT_EQ(h.s(0), 40u);
  EXPECT_EQ(h.s(1), 70u);
  EXPECT_EQ(h.s(2), 90u);
  EXPECT_EQ(h.v(2, 63), 9u) << "v_writelane ignores EXEC";
  EXPECT_EQ(h.v(3, 6), 6u);
  h.setExec(~0ull);
  h.run("v_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(h.v(3, lane), lane);
  h.setExec(0);
  h.run("v_readfirstlane_b32 s0, v2");
  EXPECT_EQ(h.s(0), 0u) << "lane 0 if none is active";
}

TEST(VectorMove, Swap) {
  WaveHarness h;
  h.setV(0, 1u);
  h.setV(1, 2u);
  h.setExec(1);
  h.run("v_swap_b32 v0, v1");
  EXPECT_EQ(h.v(0, 0), 2u);
  EXPECT_EQ(h.v(1, 0), 1u);
  EXPECT_EQ(h.v(0, 1), 1u);
}

TEST(VectorMove, IndexingLeavesScalarResultsAlone) {
  WaveHarness h;
  h.setV(1, 77u);
  h.setS(0, 180);
  h.run("s_set_gpr_idx_on s0, gpr_idx(DST)\nv_readfirstlane_b32 s9, v1\nv_readlane_b32 s10, v1, 1\n"
        "v_cmp_eq_u32_e64 s[12:13], v1, v1\ns_set_gpr_idx_off");
  EXPECT_EQ(h.s(9), 77u);
  EXPECT_EQ(h.s(10), 77u);
  EXPECT_EQ(h.s(12), ~0u);
  EXPECT_EQ(h.s(13), ~0u);
}

TEST(VectorMove, IndexedRegisters) {
  WaveHarness h;
  h.setV(13, 77u);
  h.setS(0, 3);
  h.run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v10\ns_set_gpr_idx_off\n"
        "s_set_gpr_idx_on s0, gpr_idx(DST)\nv_mov_b32 v20, v1\ns_set_gpr_idx_off\nv_mov_b32 v2, "
        "v13");
  EXPECT_EQ(h.v(1), 77u);
  EXPECT_EQ(h.v(23), 77u);
  EXPECT_EQ(h.v(2), 77u);
  h.setS(0, 250);
  EXPECT_NE(h.tryRun("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v10").find("beyond v255"),
            std::string::npos);
}

namespace {
struct FloatCompare {
  const char *name;
  bool less, equal, greater, unordered;
};
const FloatCompare floatCompares[] = {
    {"f", 0, 0, 0, 0},   {"lt", 1, 0, 0, 0},  {"eq", 0, 1, 0, 0},  {"le", 1, 1, 0, 0},
    {"gt", 0, 0, 1, 0},  {"lg", 1, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"o", 1, 1, 1, 0},
    {"u", 0, 0, 0, 1},   {"nge", 1, 0, 0, 1}, {"nlg", 0, 1, 0, 1}, {"ngt", 1, 1, 0, 1},
    {"nle", 0, 0, 1, 1}, {"neq", 1, 0, 1, 1}, {"nlt", 0, 1, 1, 1}, {"tru", 1, 1, 1, 1},
};
} // namespace

TEST(VectorCompare, Floats) {
  for (const FloatCompare &c : floatCompares) {
    WaveHarness h;
    const float b[4] = {2.0f, 1.0f, 0.5f, NAN};
    const uint32_t half[4] = {0x4000, 0x3c00, 0x3800, 0x7e00};
    h.setV(2, 1.0f);
    h.setV64(4, 1.0);
    h.setV(6, 0x3c00u);
    for (unsigned lane = 0; lane < 4; ++lane) {
      h.setLane(8, lane, b[lane]);
      auto wide = std::bit_cast<uint64_t>(double(b[lane]));
      h.setLane(10, lane, uint32_t(wide));
      h.setLane(11, lane, uint32_t(wide >> 32));
      h.setLane(12, lane, half[lane]);
    }
    h.setExec(0xf);
    std::string name = c.name;
    h.run("v_cmp_" + name + "_f32 s[0:1], v2, v8\nv_cmp_" + name +
          "_f64 s[2:3], v[4:5], v[10:11]\n" + "v_cmp_" + name + "_f16 s[4:5], v6, v12");
    uint64_t expected = c.less | c.equal << 1 | c.greater << 2 | c.unordered << 3;
    EXPECT_EQ(h.s64(0), expected) << name;
    EXPECT_EQ(h.s64(2), expected) << name;
    EXPECT_EQ(h.s64(4), expected) << name;
    h.run("v_cmpx_" + name + "_f32 vcc, v2, v8");
    EXPECT_EQ(h.wave().exec(), expected) << name;
    EXPECT_EQ(h.vcc(), expected) << name;
  }
}

TEST(VectorCompare, Integers) {
  const struct {
    const char *name;
    bool less, equal, greater;
  } cases[] = {{"f", 0, 0, 0},  {"lt", 1, 0, 0}, {"eq", 0, 1, 0}, {"le", 1, 1, 0},
               {"gt", 0, 0, 1}, {"ne", 1, 0, 1}, {"ge", 0, 1, 1}, {"t", 1, 1, 1}};
  for (const auto &c : cases) {
    WaveHarness h;
    // -1 against 0, -1 and -2: as unsigned the order is another.
    h.setV64(2, ~0ull);
    for (unsigned lane = 0; lane < 3; ++lane) {
      h.setLane(4, lane, uint32_t(-int(lane)));
      h.setLane(5, lane, lane ? ~0u : 0u);
    }
    h.setExec(7);
    std::string name = c.name;
    for (const char *type : {"16", "32", "64"}) {
      std::string a = type == std::string("64") ? "v[2:3], v[4:5]" : "v2, v4";
      h.run("v_cmp_" + name + "_i" + type + " s[0:1], " + a + "\nv_cmp_" + name + "_u" + type +
            " s[2:3], " + a);
      uint64_t isSigned = c.less | c.equal << 1 | c.greater << 2;
      uint64_t isUnsigned = c.greater | c.equal << 1 | c.greater << 2;
      EXPECT_EQ(h.s64(0), isSigned) << name << type;
      EXPECT_EQ(h.s64(2), isUnsigned) << name << type;
    }
  }
}

TEST(VectorCompare, Class) {
  const uint32_t values[10] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
                               0x80000000, 0,          1,          0x3f800000, 0x7f800000};
  const uint32_t halves[10] = {0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001,
                               0x8000, 0,      1,      0x3c00, 0x7c00};
  const uint64_t wides[10] = {0x7ff0000000000001,
                              0x7ff8000000000000,
                              0xfff0000000000000,
                              0xbff0000000000000,
                              0x8000000000000001,
                              0x8000000000000000,
                              0,
                              1,
                              0x3ff0000000000000,
                              0x7ff0000000000000};
  for (unsigned bit = 0; bit < 10; ++bit) {
    WaveHarness h;
    for (unsigned lane = 0; lane < 10; ++lane) {
      h.setLane(2, lane, values[lane]);
      h.setLane(3, lane, halves[lane]);
      h.setLane(4, lane, uint32_t(wides[lane]));
      h.setLane(5, lane, uint32_t(wides[lane] >> 32));
    }
    h.setExec(0x3ff);
    h.setV(6, 1u << bit);
    h.run("v_cmp_class_f32 s[0:1], v2, v6\nv_cmp_class_f16 s[2:3], v3, v6\nv_cmp_class_f64 "
          "s[4:5], v[4:5], v6");
    EXPECT_EQ(h.s64(0), 1u << bit);
    EXPECT_EQ(h.s64(2), 1u << bit);
    EXPECT_EQ(h.s64(4), 1u << bit);
  }
}
