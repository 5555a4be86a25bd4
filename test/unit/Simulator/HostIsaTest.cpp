// The copies of the lane loops for different host instruction sets give the same bits.
#include "OpTable.h"
#include "WaveHarness.h"

using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {
/// Sets the host instruction set for one scope.
class Forced {
public:
  explicit Forced(HostIsa isa) : before(hostIsa()) { forceHostIsa(isa); }
  ~Forced() { forceHostIsa(before); }

private:
  HostIsa before;
};
} // namespace

static uint64_t nextNumber(uint64_t &state) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return state >> 20;
}

/// Random bits, and floats of middling size, and special values.
static uint32_t someWord(uint64_t &state, unsigned lane) {
  static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                     0x7fc00000, 1,          0x007fffff, 0x3f800000};
  auto word = static_cast<uint32_t>(nextNumber(state));
  if (lane % 4 == 0)
    return special[word & 7];
  return lane % 4 == 1 ? word : (word & 0x83ffffff) | 0x3c000000;
}

static std::string runOnce(HostIsa isa, const std::string &text, uint64_t seed) {
  Forced forced(isa);
  WaveHarness h;
  uint64_t state = seed;
  for (unsigned r = 2; r < 16; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(r, lane, someWord(state, lane));
  h.setV64(0, 0ull);
  h.setS64(reg::vcc, nextNumber(state));
  h.run(text);
  std::string result(reinterpret_cast<const char *>(h.wave().vgpr[0]), 2 * 256);
  return result + std::to_string(h.vcc());
}

/// The copies that this build has and this CPU can run; the first is what others are compared with.
static std::vector<HostIsa> copies() {
  std::vector<HostIsa> found;
  for (HostIsa isa : {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512})
    if (hostHasIsa(isa))
      found.push_back(isa);
  return found;
}

TEST(HostIsa, AllCopiesGiveTheSameBits) {
  if (copies().size() < 2)
    GTEST_SKIP() << "one copy alone (HOCKET_SIMULATOR_ISAS, or the CPU)";
  const char *const instructions[] = {
      "v_fma_f32 v0, v2, v4, v6",
      "v_add_f32 v0, v2, v4",
      "v_mul_f32 v0, v2, v4 clamp mul:2",
      "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
      "v_exp_f32 v0, v2",
      "v_log_f32 v0, v2",
      "v_sin_f32 v0, v2",
      "v_cos_f32 v0, v2",
      "v_rcp_f32 v0, v2",
      "v_rsq_f32 v0, v2",
      "v_sqrt_f32 v0, v2",
      "v_rcp_f64 v[0:1], v[2:3]",
      "v_cvt_f16_f32 v0, v2",
      "v_cvt_f32_f16 v0, v2",
      "v_cvt_i32_f32 v0, v2",
      "v_cvt_u32_f32 v0, v2",
      "v_cvt_u32_f64 v0, v[2:3]",
      "v_cvt_f32_f64 v0, v[2:3]",
      "v_rndne_f32 v0, v2",
      "v_floor_f64 v[0:1], v[2:3]",
      "v_fma_f16 v0, v2, v4, v6",
      "v_exp_f16 v0, v2",
      "v_max3_f32 v0, v2, v4, v6",
      "v_med3_f16 v0, v2, v4, v6",
      "v_ldexp_f64 v[0:1], v[2:3], v4",
      "v_div_scale_f32 v0, vcc, v2, v2, v4",
      "v_div_fmas_f32 v0, v2, v4, v6",
      "v_cmp_lt_f32 vcc, v2, v4",
      "v_cndmask_b32 v0, v2, v4, vcc",
      "v_mul_hi_u32 v0, v2, v4",
      "v_add_co_u32 v0, vcc, v2, v4",
      "v_perm_b32 v0, v2, v4, v6",
      "v_cvt_pk_bf16_f32 v0, v2, v4",
      "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
      "v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v4, 0\nv_accvgpr_read_b32 v0, a0",
  };
  for (const char *instruction : instructions)
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::string expected = runOnce(copies().front(), instruction, seed);
      for (HostIsa isa : copies())
        EXPECT_EQ(runOnce(isa, instruction, seed), expected)
            << instruction << ", copy " << int(isa) << ", seed " << seed;
    }
}

TEST(HostIsa, AllCopiesHaveTheSameInstructions) {
  ASSERT_FALSE(copies().empty());
  auto names = opTable(copies().front()).mnemonics();
  EXPECT_GT(names.size(), 500u);
  for (HostIsa isa : copies())
    EXPECT_EQ(opTable(isa).mnemonics(), names);
}
