// Every kind of finding: a few instructions with exactly that fault, and their corrected twin, of
// which nothing is found.
#include "CheckHarness.h"

using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {
struct FaultCase {
  const char *name;
  std::string wrong, right;
  Kinds kinds;
  CheckOptions options = {};
  FindingSeverity severity = FindingSeverity::Error;
};

/// LDS address of the lane in v1: 4 bytes each. v2 is that of the other wave's lane.
const std::string addresses = "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 256, v1\n";
const std::string filled = addresses + "ds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
/// LDS bytes [0, 1024) from memory, by loads to LDS of wave 0.
const std::string dma =
    "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 after\ns_mov_b32 m0, 0\nv_mov_b32 v3, 0\n"
    "s_nop 0\nbuffer_load_dwordx4 v3, s[8:11], 0 offen lds\n";
const std::string zero = "v_mov_b32 v1, 0\n";
} // namespace

static void expectFaults(const std::vector<FaultCase> &faults) {
  for (const FaultCase &fault : faults)
    for (uint64_t seed : {0, 1, 2}) {
      CheckOptions options = fault.options;
      options.seed = seed;
      CheckRun wrong = runChecked(fault.wrong, options);
      EXPECT_EQ(wrong.kinds(fault.severity), fault.kinds) << fault.name << ", seed " << seed;
      CheckRun right = runChecked(fault.right, options);
      EXPECT_EQ(right.kinds(fault.severity), Kinds()) << fault.name << ", seed " << seed;
      for (const auto &[key, finding] : right.findings)
        if (finding.severity == fault.severity)
          ADD_FAILURE() << fault.name << ": " << finding.what;
      EXPECT_EQ(right.error, "") << fault.name;
    }
}

TEST(Check, UseBeforeWait) {
  const Kinds once{FindingKind::UseBeforeWait};
  const std::string vm = zero + "global_load_dword v2, v1, s[4:5]\n";
  expectFaults({
      {"LDS read", filled + "ds_read_b32 v3, v1\nv_mov_b32 v4, v3",
       filled + "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v3", once},
      {"overwritten", filled + "ds_read_b32 v3, v1\nv_mov_b32 v3, 0",
       filled + "ds_read_b32 v3, v1\nv_mov_b32 v4, 0", once},
      {"vector memory", vm + "v_add_u32 v3, v2, v1",
       vm + "s_waitcnt vmcnt(0)\nv_add_u32 v3, v2, v1", once},
      {"one too many in flight",
       vm + "global_load_dword v5, v1, s[4:5]\ns_waitcnt vmcnt(1)\nv_add_u32 v3, v5, v1",
       vm + "global_load_dword v5, v1, s[4:5]\ns_waitcnt vmcnt(1)\nv_add_u32 v3, v2, v1", once},
      {"data of a store", vm + "global_store_dword v1, v2, s[4:5] offset:4",
       vm + "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[4:5] offset:4", once},
      {"scalar", "s_load_dword s12, s[4:5], 0\ns_add_u32 s13, s12, 1",
       "s_load_dword s12, s[4:5], 0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s13, s12, 1", once},
      {"scalar loads come in any order",
       "s_load_dword s12, s[4:5], 0\ns_load_dword s14, s[4:5], 4\ns_waitcnt lgkmcnt(1)\n"
       "s_add_u32 s13, s12, 1",
       "s_load_dword s12, s[4:5], 0\ns_load_dword s14, s[4:5], 4\ns_waitcnt lgkmcnt(0)\n"
       "s_add_u32 s13, s12, 1",
       once},
      {"matrix operand",
       vm + "global_load_dwordx4 v[4:7], v1, s[4:5]\nv_mov_b32 v8, 0\n"
            "v_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 4\n"
            "v_mfma_f32_32x32x16_bf16 a[0:15], v[4:7], v[8:11], 0",
       vm + "global_load_dwordx4 v[4:7], v1, s[4:5]\nv_mov_b32 v8, 0\n"
            "v_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_waitcnt vmcnt(0)\ns_nop 4\n"
            "v_mfma_f32_32x32x16_bf16 a[0:15], v[4:7], v[8:11], 0",
       once},
      {"own load to LDS", dma + "ds_read_b32 v4, v3\nafter:",
       dma + "s_waitcnt vmcnt(0)\nds_read_b32 v4, v3\nafter:", once},
      {"load to LDS that is still read",
       dma + "s_waitcnt vmcnt(0)\nds_read_b32 v4, v3\n"
             "buffer_load_dwordx4 v3, s[8:11], 0 offen lds\nafter:",
       dma + "s_waitcnt vmcnt(0)\nds_read_b32 v4, v3\ns_waitcnt lgkmcnt(0)\n"
             "buffer_load_dwordx4 v3, s[8:11], 0 offen lds\nafter:",
       once},
  });
}

TEST(Check, LdsRaces) {
  const Kinds once{FindingKind::LdsRace};
  const CheckOptions two{.waves = 2};
  const std::string write = addresses + "ds_write_b32 v1, v0\n";
  const std::string read = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";
  const std::string bytes =
      "v_lshlrev_b32 v1, 1, v0\nv_and_b32 v1, 126, v1\nv_add_u32 v1, s0, v1\n";
  expectFaults({
      {"no barrier", write + "s_waitcnt lgkmcnt(0)\n" + read,
       write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read, once, two},
      {"no wait before the barrier", write + "s_barrier\n" + read,
       write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read, once, two},
      {"overwritten while others read", filled + read + "ds_write_b32 v1, v0",
       filled + read + "s_barrier\nds_write_b32 v1, v0", once, two},
      {"a read in flight at the barrier",
       filled + "ds_read_b32 v3, v2\ns_barrier\nds_write_b32 v1, v0",
       filled + "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_write_b32 v1, v0", once,
       two},
      {"a load to LDS in flight at the barrier",
       dma + "after:\ns_barrier\nv_mov_b32 v4, 16\nds_read_b32 v5, v4\ns_waitcnt vmcnt(0)",
       dma + "after:\ns_waitcnt vmcnt(0)\ns_barrier\nv_mov_b32 v4, 16\nds_read_b32 v5, v4",
       // The issuing wave reads what its own load will write, the other one races with it.
       {FindingKind::LdsRace, FindingKind::UseBeforeWait},
       two},
      {"bytes of one dword", bytes + "ds_write_b16 v1, v0", bytes + "ds_write_b8 v1, v0", once,
       two},
      {"atomic and plain", zero + "v_mov_b32 v2, 1\nds_add_u32 v1, v2\nds_write_b32 v1, v2",
       zero + "v_mov_b32 v2, 1\nds_add_u32 v1, v2", once, two},
  });
}

TEST(Check, GlobalRaces) {
  const Kinds once{FindingKind::GlobalRace};
  const std::string own = "s_lshl_b32 s2, s1, 8\nv_lshlrev_b32 v1, 2, v0\nv_add_u32 v2, s2, v1\n";
  const std::string swapped = addresses + "global_store_dword v1, v0, s[4:5]\n";
  expectFaults({
      {"workgroups",
       own + "global_store_dword v1, v0, s[4:5]",
       own + "global_store_dword v2, v0, s[4:5]",
       once,
       {.workgroups = 3}},
      {"workgroups, atomics",
       own + "global_store_dword v1, v0, s[4:5]",
       own + "global_atomic_add v1, v0, s[4:5]",
       once,
       {.workgroups = 3}},
      {"workgroups, an atomic load",
       own + "global_store_dword v1, v0, s[4:5]\nglobal_load_dword v3, v1, s[4:5] sc1",
       own + "global_load_dword v3, v1, s[4:5] sc1\nglobal_store_dword v1, v0, s[4:5] sc1\n"
             "global_atomic_add v1, v0, s[4:5]",
       once,
       {.workgroups = 3}},
      {"workgroups, the scope of a workgroup",
       own + "global_store_dword v1, v0, s[4:5] sc0",
       own + "global_store_dword v1, v0, s[4:5] sc0 sc1",
       once,
       {.workgroups = 3}},
      {"waves, an atomic load",
       swapped + "s_waitcnt vmcnt(0)\nglobal_load_dword v3, v2, s[4:5] sc0",
       addresses + "global_atomic_add v1, v0, s[4:5]\ns_waitcnt vmcnt(0)\n"
                   "global_load_dword v3, v2, s[4:5] sc0\nglobal_atomic_add v2, v0, s[4:5]",
       once,
       {.waves = 2}},
      {"waves",
       swapped + "s_waitcnt vmcnt(0)\nglobal_load_dword v3, v2, s[4:5]",
       swapped + "s_waitcnt vmcnt(0)\ns_barrier\nglobal_load_dword v3, v2, s[4:5]",
       once,
       {.waves = 2}},
  });
}

TEST(Check, Uninitialised) {
  const Kinds once{FindingKind::UninitialisedRegister}, lds{FindingKind::UninitialisedLds};
  // Undefined, but within bounds.
  const std::string small = "v_and_b32 v1, 0xfc, v1\n";
  const std::string matrix = "v_mfma_f32_32x32x16_bf16 v[16:31], v[4:7], v[4:7], ";
  const std::string operands = "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\n";
  std::string sparse = zero + operands + "v_mov_b32 v16, 0\nv_mov_b32 v7, 0\n";
  for (unsigned i = 8; i != 12; ++i)
    sparse += "v_mov_b32 v" + std::to_string(i) + ", 0\n";
  sparse += "s_nop 4\nv_smfmac_f32_16x16x128_fp8_fp8 v[16:19], v[8:11], v[4:11], v1\ns_nop 15\n";
  expectFaults({
      {"address", small + "global_load_dword v2, v1, s[4:5]",
       zero + "global_load_dword v2, v1, s[4:5]", once},
      {"through arithmetic", small + "v_add_u32 v1, 4, v1\nds_read_b32 v2, v1",
       zero + "v_add_u32 v1, 4, v1\nds_read_b32 v2, v1", once},
      {"matrix operand", operands + "s_nop 4\n" + matrix + "0",
       operands + "v_mov_b32 v7, 0\ns_nop 4\n" + matrix + "0", once},
      {"accumulator", operands + "v_mov_b32 v7, 0\ns_nop 4\n" + matrix + "v[16:31]",
       operands + "v_mov_b32 v7, 0\ns_nop 4\n" + matrix + "0", once},
      // Of what a sparse product adds to in place, what is not used may be undefined.
      {"accumulator in place",
       sparse + "global_store_dword v1, v18, s[4:5]", sparse + "global_store_dword v1, v16, s[4:5]", once},
      {"branch", "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 1\ns_nop 0",
       "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 1\ns_nop 0", once},
      {"EXEC", "v_cmp_eq_u32 vcc, 0, v1\ns_and_saveexec_b64 s[12:13], vcc",
       zero + "v_cmp_eq_u32 vcc, 0, v1\ns_and_saveexec_b64 s[12:13], vcc", once},
      {"stored", zero + "global_store_dword v1, v2, s[4:5]",
       zero + "v_mov_b32 v2, 0\nglobal_store_dword v1, v2, s[4:5]", once},
      // The same register, with a value in half of the lanes.
      {"some lanes",
       zero + "s_mov_b32 exec_hi, 0\nv_mov_b32 v2, 0\ns_mov_b32 exec_hi, -1\n"
              "global_store_dword v1, v2, s[4:5]",
       zero + "s_mov_b32 exec_hi, 0\nv_mov_b32 v2, 0\nglobal_store_dword v1, v2, s[4:5]", once},
      {"chosen",
       zero + "v_cmp_gt_u32 vcc, 64, v0\ns_nop 1\nv_cndmask_b32 v3, v1, v2, vcc\n"
              "global_store_dword v1, v3, s[4:5]",
       zero + "v_cmp_gt_u32 vcc, 64, v0\ns_nop 1\nv_cndmask_b32 v3, v2, v1, vcc\n"
              "global_store_dword v1, v3, s[4:5]",
       once},
      {"m0", zero + "s_and_b32 m0, s20, 0xfc\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds",
       zero + "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds", once},
      {"LDS", zero + "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[4:5]",
       zero + "ds_write_b32 v1, v1\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n"
              "global_store_dword v1, v2, s[4:5]",
       lds},
      {"undefined data through LDS",
       zero + "ds_write_b32 v1, v5\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n"
              "global_store_dword v1, v2, s[4:5]",
       zero + "ds_write_b32 v1, v5\nds_write_b32 v1, v0\nds_read_b32 v2, v1\n"
              "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[4:5]",
       lds},
  });
}

TEST(Check, FollowsRegistersThatM0Moves) {
  // v[1 + 4] is read and written, v1 is not.
  const std::string indexed = "v_mov_b32 v5, 0\ns_mov_b32 s12, 4\ns_set_gpr_idx_on s12, 1\n"
                              "v_mov_b32 v3, v1\ns_set_gpr_idx_off\n";
  EXPECT_EQ(runChecked(indexed + "global_load_dword v2, v3, s[4:5]").kinds(), Kinds());
}

TEST(Check, Bounds) {
  const std::string high = "v_mov_b32 v1, 0x10000\n", low = "v_mov_b32 v1, 0xfffc\n";
  const std::string fill = "v_mov_b32 v2, 0\n";
  expectFaults({
      {"LDS",
       high + fill + "ds_write_b32 v1, v2",
       low + fill + "ds_write_b32 v1, v2",
       {FindingKind::LdsOutOfBounds}},
      {"global memory",
       high + "global_load_dword v2, v1, s[4:5]",
       low + "global_load_dword v2, v1, s[4:5]",
       {FindingKind::InvalidGlobalAccess}},
      {"scratch",
       "v_mov_b32 v1, 64\nscratch_load_dword v2, v1, off",
       "v_mov_b32 v1, 60\nscratch_load_dword v2, v1, off",
       {FindingKind::InvalidScratchAccess}},
      {"trap", "s_trap 2", "s_nop 0", {FindingKind::IllegalExecution}},
  });
}

TEST(Check, Alignment) {
  const std::string odd = "v_mov_b32 v1, 2\n", data = "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\n";
  expectFaults({
      {"atomic",
       odd + data + "ds_add_u32 v1, v2",
       zero + data + "ds_add_u32 v1, v2",
       {FindingKind::MisalignedLds}},
      {"load to LDS",
       zero + "s_mov_b32 m0, 2\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds",
       zero + "s_mov_b32 m0, 4\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds",
       {FindingKind::MisalignedLds}},
      {"plain",
       "v_mov_b32 v1, 4\n" + data + "ds_write_b64 v1, v[2:3]",
       "v_mov_b32 v1, 8\n" + data + "ds_write_b64 v1, v[2:3]",
       {FindingKind::MisalignedLds},
       {},
       FindingSeverity::Advice},
  });
}

TEST(Check, Hazards) {
  const std::string setup = "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n"
                            "s_nop 4\nv_mfma_f32_32x32x16_bf16 v[16:31], v[4:7], v[4:7], 0\n";
  // The jump back makes two instructions neighbours that are not so in the text.
  const std::string loop = "s_mov_b32 s12, 0\nloop:\nv_exp_f32 v2, v1\n",
                    back = "s_add_u32 s12, s12, 1\ns_cmp_lt_u32 s12, 3\ns_cbranch_scc1 loop\n";
  expectFaults({
      {"matrix result",
       setup + "v_mov_b32 v8, v16",
       setup + "s_nop 15\ns_nop 7\nv_mov_b32 v8, v16",
       {FindingKind::Hazard}},
      {"m0",
       zero + "s_mov_b32 m0, 0\nbuffer_load_dword v1, s[8:11], 0 offen lds",
       zero + "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds",
       {FindingKind::Hazard}},
      {"around a loop",
       zero + "s_mov_b32 s12, 0\ns_mov_b32 m0, 0\ns_nop 0\nloop:\n"
              "buffer_load_dword v1, s[8:11], 0 offen lds\ns_add_u32 s12, s12, 1\n"
              "s_cmp_lt_u32 s12, 3\ns_cbranch_scc0 done\ns_branch set\nset:\ns_mov_b32 m0, 0\n"
              "buffer_load_dword v1, s[8:11], 0 offen lds\ndone:",
       zero + "s_mov_b32 s12, 0\ns_mov_b32 m0, 0\ns_nop 0\nloop:\n"
              "buffer_load_dword v1, s[8:11], 0 offen lds\ns_add_u32 s12, s12, 1\n"
              "s_cmp_lt_u32 s12, 3\ns_cbranch_scc1 loop\n",
       {FindingKind::Hazard}},
  });
}

/// A hazard is found wherever it stands: the ways that lead to it are not confused.
TEST(Check, HazardsAnywhere) {
  for (unsigned before = 0; before < 140; before += 3) {
    std::string code = zero + "v_mov_b32 v2, 1.0\n";
    for (unsigned i = 0; i < before; ++i)
      code += "s_nop 0\n";
    CheckRun run = runChecked(code + "v_rcp_f32 v3, v2\nv_mul_f32 v4, v3, v2");
    EXPECT_EQ(run.kinds(), Kinds{FindingKind::Hazard}) << before;
  }
}

TEST(Check, Barriers) {
  const std::string skip = "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 done\ns_barrier\ndone:";
  expectFaults({{"an ended wave",
                 skip,
                 "s_barrier",
                 {FindingKind::DivergentBarrier},
                 {.waves = 2},
                 FindingSeverity::Advice}});
  // Waves may meet at different barriers, as staggered groups do.
  EXPECT_EQ(
      runChecked("s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 other\ns_barrier\ns_branch done\nother:\n"
                 "s_barrier\ndone:",
                 {.waves = 2})
          .findings.size(),
      0u);
}

TEST(Check, CountsAndKeepsTheFirstPlace) {
  CheckRun run =
      runChecked("v_mov_b32 v1, 0\ns_mov_b32 s12, 0\nloop:\nglobal_load_dword v2, v1, s[4:5]\n"
                 "v_mov_b32 v3, v2\ns_waitcnt vmcnt(0)\ns_add_u32 s12, s12, 1\n"
                 "s_cmp_lt_u32 s12, 5\ns_cbranch_scc1 loop",
                 {.waves = 2});
  ASSERT_EQ(run.findings.size(), 1u);
  const auto &finding = run.findings.begin()->second;
  EXPECT_EQ(finding.count, 10u);
  EXPECT_EQ(finding.at.wave, 0);
  EXPECT_EQ(finding.at.lane, 0);
  EXPECT_EQ(finding.at.index, 4u);
  EXPECT_EQ(finding.other.index, 2u);
}
