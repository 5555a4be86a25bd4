// Waves, barriers, control flow, limits, errors that end a workgroup.
#include "WaveHarness.h"

#include <gmock/gmock.h>

using namespace hocket::sim;
using namespace hocket::sim::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Control, BranchesAndCalls) {
  WaveHarness h;
  h.setS(0, 0);
  // A loop of five rounds, then a call that comes back, then code that is jumped over.
  h.run("s_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, 5\ns_cbranch_scc1 65533\n"
        "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 20\ns_addc_u32 s5, s5, 0\ns_swappc_b64 s[6:7], "
        "s[4:5]\ns_mov_b32 s1, 7\ns_branch 2\ns_mov_b32 s2, 8\ns_setpc_b64 s[6:7]");
  EXPECT_EQ(h.s(0), 5u);
  EXPECT_EQ(h.s(1), 7u);
  EXPECT_EQ(h.s(2), 8u);
}

TEST(Control, ConditionalBranches) {
  const struct {
    const char *op;
    uint32_t scc;
    uint64_t vcc, exec;
    bool taken;
  } cases[] = {
      {"s_cbranch_scc0", 0, 0, 1, true},   {"s_cbranch_scc0", 1, 0, 1, false},
      {"s_cbranch_scc1", 1, 0, 1, true},   {"s_cbranch_vccz", 0, 0, 1, true},
      {"s_cbranch_vccz", 0, 4, 1, false},  {"s_cbranch_vccnz", 0, 4, 1, true},
      {"s_cbranch_execz", 0, 0, 0, true},  {"s_cbranch_execz", 0, 0, 1, false},
      {"s_cbranch_execnz", 0, 0, 1, true}, {"s_cbranch_execnz", 0, 0, 0, false},
  };
  for (const auto &c : cases) {
    WaveHarness h;
    h.wave().scc = c.scc;
    h.setS64(reg::vcc, c.vcc);
    h.setExec(c.exec);
    h.setS(0, 0);
    h.run(std::string(c.op) + " 1\ns_mov_b32 s0, 1");
    EXPECT_EQ(h.s(0), c.taken ? 0u : 1u) << c.op;
  }
  WaveHarness h;
  h.setS(0, 0);
  h.run("s_call_b64 s[4:5], 1\ns_mov_b32 s0, 1\ns_nop 3\ns_setprio 1\ns_sleep 1");
  EXPECT_EQ(h.s(0), 0u);
}

TEST(Control, HardwareRegisters) {
  WaveHarness h;
  h.setS(1, 3);
  h.run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s1\n"
        "s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 4)\ns_getreg_b32 s3, hwreg(HW_REG_XCC_ID)\n"
        "s_getreg_b32 s4, hwreg(HW_REG_HW_ID)");
  EXPECT_EQ(h.s(0), 0x3f0u);
  EXPECT_EQ(h.s(2), 3u);
  EXPECT_EQ(h.s(3), 0u);
  EXPECT_THAT(h.tryRun("s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES)"),
              HasSubstr("hardware register"));
  EXPECT_THAT(h.tryRun("s_setreg_b32 hwreg(HW_REG_LDS_ALLOC), s0"), HasSubstr("hardware register"));
}

/// Wave i stores i + 1 at LDS byte 4 * i; after the barrier every wave reads what wave 3 stored.
static const char *const exchange = "ds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                                    "ds_read_b32 v3, v4\ns_waitcnt lgkmcnt(0)";

static void prepareExchange(WaveHarness &h) {
  for (unsigned w = 0; w < 4; ++w)
    for (unsigned lane = 0; lane < 64; ++lane) {
      h.wave(w).vgpr[1][lane] = 4 * w;
      h.wave(w).vgpr[2][lane] = w + 1;
      h.wave(w).vgpr[4][lane] = 12;
    }
}

TEST(Barrier, OrdersWaves) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    WaveHarness h({.waves = 4, .seed = seed});
    prepareExchange(h);
    h.run(exchange);
    for (unsigned w = 0; w < 4; ++w)
      EXPECT_EQ(h.wave(w).vgpr[3][0], 4u);
  }
}

TEST(Barrier, AMissingOneShows) {
  WaveHarness h({.waves = 4});
  prepareExchange(h);
  h.run("ds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v4\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(h.wave(0).vgpr[3][0], uninitialisedPattern);
}

TEST(Barrier, AMissingWaitShows) {
  WaveHarness h({.waves = 4});
  prepareExchange(h);
  h.run("ds_write_b32 v1, v2\ns_barrier\nds_read_b32 v3, v4\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(h.wave(0).vgpr[3][0], uninitialisedPattern);
}

TEST(Barrier, EndedWavesDoNotCountAndAnyBarrierDoes) {
  WaveHarness h({.waves = 4});
  for (unsigned w = 0; w < 4; ++w)
    h.wave(w).sgpr[0] = w;
  // Wave 3 ends at once; wave 0 meets the others at a barrier of its own.
  h.run("s_cmp_eq_u32 s0, 3\ns_cbranch_scc1 6\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 2\ns_barrier\n"
        "s_branch 1\ns_barrier\ns_mov_b32 s1, 5");
  EXPECT_EQ(h.wave(0).sgpr[1], 5u);
  EXPECT_EQ(h.wave(2).sgpr[1], 5u);
}

TEST(Barrier, OneThatIsNeverMetIsReported) {
  WaveHarness h({.waves = 2, .limit = 100000});
  h.wave(0).sgpr[0] = 0;
  h.wave(1).sgpr[0] = 1;
  EXPECT_THAT(h.tryRun("s_cmp_eq_u32 s0, 1\ns_cbranch_scc1 1\ns_branch 65535\ns_barrier"),
              AllOf(HasSubstr("limit of 100000 wave-instructions"),
                    HasSubstr("keeps the wave in a loop, at offset 0x8, that nothing leads out of"),
                    HasSubstr("wave 1 waits at the barrier at offset 0xc, which wave 0 never "
                              "reaches"),
                    HasSubstr("kernel 'test'")));
}

/// A loop over a barrier is endless, too; it is told apart from a barrier that is never met.
TEST(Barrier, ALoopThatPassesItIsSaidToDoSo) {
  for (uint64_t seed : {0, 1, 2}) {
    WaveHarness h({.waves = 3, .seed = seed, .limit = 30000});
    h.setS(0, 0);
    EXPECT_THAT(h.tryRun("s_barrier\ns_cmp_eq_u32 s0, s0\ns_cbranch_scc1 65533"),
                AllOf(HasSubstr("'s_cbranch_scc1 65533' at offset 0x8"),
                      HasSubstr("offset 0x0 to offset 0x8; it passes the barrier at offset 0x0"),
                      HasSubstr("nothing in it reads memory")));
  }
}

/// Waves 0 and 1 poll LDS that nobody writes; wave 2 has ended.
TEST(Barrier, ALoopThatPollsNamesItsRead) {
  WaveHarness h({.waves = 3, .limit = 50000});
  for (unsigned w = 0; w < 3; ++w) {
    h.wave(w).sgpr[0] = w;
    for (unsigned lane = 0; lane < 64; ++lane)
      h.wave(w).vgpr[1][lane] = 0;
  }
  EXPECT_THAT(h.tryRun("s_cmp_eq_u32 s0, 2\ns_cbranch_scc1 6\nds_read_b32 v2, v1\n"
                       "s_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s1, v2\ns_cmp_lg_u32 s1, 7\n"
                       "s_cbranch_scc1 65530"),
              AllOf(HasSubstr("'s_cbranch_scc1 65530'"),
                    HasSubstr("it reads memory, first with 'ds_read_b32 v2, v1' at offset 0x8"),
                    HasSubstr("wave 1 is in it too"), Not(HasSubstr("barrier"))));
}

/// The error of running `text` on a fresh wave.
static std::string errorOf(const std::string &text) {
  WaveHarness h({.limit = 1000});
  return h.tryRun(text);
}

TEST(Errors, EndTheWorkgroup) {
  EXPECT_THAT(errorOf("s_branch 65535"),
              AllOf(HasSubstr("'s_branch 65535' at offset 0x0"), HasSubstr("limit of 1000")));
  EXPECT_THAT(errorOf("s_nop 0\ns_trap 2"), AllOf(HasSubstr("offset 0x4"), HasSubstr("trap")));
  EXPECT_THAT(errorOf("s_sethalt 1"), HasSubstr("halts"));
  EXPECT_THAT(errorOf("s_branch 100"), HasSubstr("jumps out of the code"));
  EXPECT_THAT(errorOf("s_mov_b64 s[0:1], 0\ns_setpc_b64 s[0:1]\n"), HasSubstr("limit"));
  EXPECT_THAT(errorOf("s_mov_b64 s[0:1], 2\ns_setpc_b64 s[0:1]\n"),
              HasSubstr("jumps out of the code"));
  EXPECT_THAT(errorOf("s_rfe_b64 s[0:1]"),
              AllOf(HasSubstr("'s_rfe_b64 s[0:1]'"), HasSubstr("is not implemented")));
  EXPECT_THAT(errorOf("v_msad_u8 v0, v1, v2, v3 clamp"), HasSubstr("clamp bit"));
}

TEST(Errors, IllegalInstruction) {
  // The literal is jumped into; no instruction has these bits.
  EXPECT_THAT(errorOf("s_branch 1\ns_mov_b32 s0, 0xff00ff00"),
              AllOf(HasSubstr("0xff00ff00"), HasSubstr("not a legal instruction")));
}

TEST(Errors, RunningOffTheEnd) {
  WaveHarness h;
  // The appended s_endpgm is jumped over by a taken branch to just behind it.
  EXPECT_THAT(h.tryRun("s_branch 1"), HasSubstr("jumps out of the code"));
}

TEST(Scheduler, SeedsChangeTheOrderAndNothingElse) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    WaveHarness h({.waves = 8, .seed = seed});
    h.setV(1, 0u);
    h.setV(2, 1u);
    std::string text;
    for (int i = 0; i < 50; ++i)
      text += "ds_add_u32 v1, v2\n";
    h.run("v_mov_b32 v9, 0\nds_write_b32 v1, v9\ns_waitcnt lgkmcnt(0)\ns_barrier\n" + text);
    uint32_t sum;
    std::memcpy(&sum, h.workgroup().lds, 4);
    EXPECT_EQ(sum, 8u * 64 * 50);
  }
}
