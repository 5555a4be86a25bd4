// Data moving between lanes: permlane swaps, DS permutations, DPP.
#include "WaveHarness.h"

#include <functional>

using namespace hocket::sim::test;

namespace {

/// v0: the lane number plus 100; v1: the lane number plus 200.
struct Lanes : WaveHarness {
  Lanes() {
    for (unsigned lane = 0; lane < 64; ++lane) {
      setLane(0, lane, 100 + lane);
      setLane(1, lane, 200 + lane);
    }
  }
};

constexpr uint64_t someLanes = 0x00ff00ff12345679;

} // namespace

TEST(CrossLane, PermlaneSwaps) {
  for (const char *suffix : {"_e32", "_e64"}) {
    Lanes h;
    h.run(std::string("v_permlane32_swap_b32") + suffix + " v0, v1");
    for (unsigned lane = 0; lane < 64; ++lane) {
      ASSERT_EQ(h.v(0, lane), lane < 32 ? 100 + lane : 200 + lane - 32);
      ASSERT_EQ(h.v(1, lane), lane < 32 ? 100 + lane + 32 : 200 + lane);
    }
  }
  Lanes h;
  h.run("v_permlane16_swap_b32 v0, v1");
  for (unsigned lane = 0; lane < 64; ++lane) {
    bool upper = lane % 32 >= 16;
    ASSERT_EQ(h.v(0, lane), upper ? 200 + lane - 16 : 100 + lane);
    ASSERT_EQ(h.v(1, lane), upper ? 200 + lane : 100 + lane + 16);
  }
}

TEST(CrossLane, BackwardPermute) {
  for (uint64_t exec : {~uint64_t(0), someLanes}) {
    Lanes h;
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(2, lane, (lane * 7 + 3) * 4 + 1); // low bits and bits above the lane are ignored
    h.setV(3, 9u);
    h.setExec(exec);
    h.run("ds_bpermute_b32 v3, v2, v0 offset:8\ns_waitcnt lgkmcnt(0)");
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned source = (lane * 7 + 3 + 2) % 64;
      uint32_t want = exec >> source & 1 ? 100 + source : 0;
      ASSERT_EQ(h.v(3, lane), exec >> lane & 1 ? want : 9u) << lane;
    }
  }
}

TEST(CrossLane, ForwardPermute) {
  for (uint64_t exec : {~uint64_t(0), someLanes}) {
    Lanes h;
    uint32_t want[64] = {};
    for (unsigned lane = 0; lane < 64; ++lane) {
      h.setLane(2, lane, lane / 2 * 12);
      if (exec >> lane & 1)
        want[lane / 2 * 3 % 64] = 100 + lane;
    }
    h.setV(3, 9u);
    h.setExec(exec);
    h.run("ds_permute_b32 v3, v2, v0\ns_waitcnt lgkmcnt(0)");
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(h.v(3, lane), exec >> lane & 1 ? want[lane] : 9u) << lane;
  }
}

TEST(CrossLane, Swizzle) {
  const struct {
    const char *pattern;
    std::function<unsigned(unsigned)> source; ///< within 32 lanes
  } cases[] = {
      {"swizzle(QUAD_PERM,3,2,0,1)",
       [](unsigned l) {
         const unsigned to[4] = {3, 2, 0, 1};
         return (l & ~3u) + to[l & 3];
       }},
      {"swizzle(BITMASK_PERM,\"01pip\")", [](unsigned l) { return (l & 5) | 8 | ((l & 2) ^ 2); }},
      {"swizzle(BROADCAST,8,3)", [](unsigned l) { return (l & ~7u) + 3; }},
      {"swizzle(SWAP,16)", [](unsigned l) { return l ^ 16; }},
      {"swizzle(REVERSE,32)", [](unsigned l) { return 31 - l; }},
      {"0xc020", [](unsigned l) { return (l + 1) & 31; }},
      {"0xc421", [](unsigned l) { return (l & 1) | ((l - 1) & 30); }},
      {"0xe000",
       [](unsigned l) {
         return (l & 1) << 4 | (l & 2) << 2 | (l & 4) | (l & 8) >> 2 | (l & 16) >> 4;
       }},
  };
  for (const auto &c : cases)
    for (uint64_t exec : {~uint64_t(0), someLanes}) {
      SCOPED_TRACE(c.pattern);
      Lanes h;
      h.setV(3, 9u);
      h.setExec(exec);
      h.run(std::string("ds_swizzle_b32 v3, v0 offset:") + c.pattern + "\ns_waitcnt lgkmcnt(0)");
      for (unsigned lane = 0; lane < 64; ++lane) {
        unsigned source = lane / 32 * 32 + c.source(lane % 32);
        uint32_t want = exec >> source & 1 ? 100 + source : 0;
        ASSERT_EQ(h.v(3, lane), exec >> lane & 1 ? want : 9u) << lane;
      }
    }
}

/// Every DPP control of gfx9, with and without bound_ctrl.
TEST(CrossLane, DppControls) {
  using Source = std::function<int(int)>;
  auto inRow = [](int lane, int offset) {
    int at = lane % 16 + offset;
    return at < 0 || at > 15 ? -1 : lane + offset;
  };
  const struct {
    const char *control;
    Source source;
  } cases[] = {
      {"quad_perm:[3,1,0,2]",
       [](int l) {
         const int to[4] = {3, 1, 0, 2};
         return l / 4 * 4 + to[l % 4];
       }},
      {"row_shl:3", [&](int l) { return inRow(l, 3); }},
      {"row_shr:5", [&](int l) { return inRow(l, -5); }},
      {"row_ror:4", [](int l) { return l / 16 * 16 + (l + 12) % 16; }},
      {"wave_shl:1", [](int l) { return l == 63 ? -1 : l + 1; }},
      {"wave_rol:1", [](int l) { return (l + 1) % 64; }},
      {"wave_shr:1", [](int l) { return l - 1; }},
      {"wave_ror:1", [](int l) { return (l + 63) % 64; }},
      {"row_mirror", [](int l) { return l / 16 * 16 + 15 - l % 16; }},
      {"row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
      {"row_bcast:15", [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }},
      {"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }},
      {"row_newbcast:6", [](int l) { return l / 16 * 16 + 6; }},
  };
  for (const auto &c : cases)
    for (bool bound : {false, true})
      for (uint64_t exec : {~uint64_t(0), someLanes}) {
        SCOPED_TRACE(c.control);
        Lanes h;
        h.setV(3, 9u);
        h.setExec(exec);
        h.run(std::string("v_mov_b32_dpp v3, v0 ") + c.control + " row_mask:0xb bank_mask:0xd" +
              (bound ? " bound_ctrl:0" : ""));
        for (int lane = 0; lane < 64; ++lane) {
          int source = c.source(lane);
          bool valid = source >= 0 && exec >> source & 1;
          bool masked = lane / 16 == 2 || lane % 16 / 4 == 1;
          bool writes = exec >> lane & 1 && !masked && (valid || bound);
          ASSERT_EQ(h.v(3, lane), !writes ? 9u : valid ? 100u + source : 0u) << lane;
        }
      }
}

/// DPP moves only source 0; the wide form moves both words; compares write a mask.
TEST(CrossLane, DppForms) {
  Lanes h;
  h.run("v_sub_u32_dpp v3, v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0");
  EXPECT_EQ(h.v(3, 5), 106u - 205u);
  EXPECT_EQ(h.v(3, 15), 0u - 215u);
  h.run("v_mov_b64_dpp v[4:5], v[0:1] row_newbcast:3 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(h.v(4, 20), 119u);
  EXPECT_EQ(h.v(5, 20), 219u);
}
