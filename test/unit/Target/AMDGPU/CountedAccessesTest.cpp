// Plans against hand-written code: what was counted passes, one access merged, left out, split or repeated does not.
#include "Target/AMDGPU/CountedAccesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;
using testing::HasSubstr;
using Kind = CountedPlan::Kind;

static Status check(const std::string &text, const CountedPlan &plan) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  if (!target)
    return target.error();
  Result<llvm::SmallVector<uint8_t, 0>> code = assembleCode(**target, text);
  if (!code)
    return code.error();
  KernelCode kernel;
  kernel.name = "k";
  kernel.address = 0x100;
  kernel.code = *code;
  return checkCounted(kernel, Disassembler(*target), plan);
}

static CountedPlan planOf(std::vector<CountedPlan::Node> nodes) { return {"k", std::move(nodes)}; }

static const std::string kLoadToLds = "buffer_load_dwordx4 v0, s[0:3], 0 offen lds\n",
                         kLoad = "buffer_load_dword v1, v0, s[0:3], 0 offen\n", kBarrier = "s_barrier\n",
                         kEnd = "s_endpgm\n";

static std::string wait(int count) { return "s_waitcnt vmcnt(" + std::to_string(count) + ")\n"; }

/// A loop: two loads to LDS and two look-ups, a wait that leaves them, a barrier; behind it all is waited for.
static CountedPlan loopPlan() {
  return planOf({{Kind::Pass, 0, "", {1}},
                 {Kind::Pass, 0, "", {2, 6}},
                 {Kind::LookUps, 2, "", {3}},
                 {Kind::LoadsToLds, 2, "", {4}},
                 {Kind::Wait, 4, "the end of the cluster with step 'fetch_k'", {5}},
                 {Kind::Barrier, 0, "", {1}},
                 {Kind::Wait, 0, "", {7}},
                 {Kind::End, 0, "", {}}});
}

static std::string loop(const std::string &accesses) {
  return "top:\n" + accesses + wait(4) + kBarrier + "s_cbranch_scc1 top\n" + wait(0) + kEnd;
}

TEST(CountedAccesses, AreInTheCode) {
  Status checked = check(loop(kLoad + kLoadToLds + kLoad + kLoadToLds), loopPlan());
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(CountedAccesses, MayBeMore) {
  Status checked = check(loop(kLoad + kLoad + kLoad + kLoadToLds + kLoadToLds), loopPlan());
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(CountedAccesses, AreMissedWhereTwoBecameOne) {
  Status checked = check(loop("buffer_load_dwordx2 v[2:3], v0, s[0:3], 0 offen\n" + kLoadToLds + kLoadToLds), loopPlan());
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().kind, ErrorKind::Internal);
  EXPECT_THAT(checked.error().message,
              HasSubstr("kernel 'k': from the kernel's begin to the wait vm(4) at the end of the cluster with step "
                        "'fetch_k' the passes counted 2 loads to LDS and 2 other accesses, the code in front of "));
  EXPECT_THAT(checked.error().message, HasSubstr(" has 2 and 1: LLVM has merged, split, repeated or left out one"));
  EXPECT_THAT(checked.error().message, HasSubstr("use another schedule or other tiles meanwhile"));
}

TEST(CountedAccesses, OfLdsAreAsManyAsCounted) {
  for (int loads : {0, 1, 3, 4}) {
    std::string text = kLoad + kLoad;
    for (int i = 0; i != loads; ++i)
      text += kLoadToLds;
    EXPECT_FALSE(check(loop(text), loopPlan()).ok()) << loads;
  }
}

// The first turn is right: it is the way around that is not.
TEST(CountedAccesses, AreCountedOnEveryWay) {
  const std::string right = kLoad + kLoad + kLoadToLds + kLoadToLds;
  const std::string text = "s_branch second\nfirst:\n" + kLoad + kLoadToLds + kLoadToLds + wait(4) + kBarrier + "second:\n" +
                           right + wait(4) + kBarrier + "s_cbranch_scc1 first\n" + wait(0) + kEnd;
  EXPECT_FALSE(check(text, loopPlan()).ok());
  EXPECT_FALSE(check("s_cbranch_scc1 over\n" + kLoad + "over:\n" + loop(kLoad + kLoadToLds + kLoadToLds), loopPlan()).ok());
}

// LLVM puts in waits of its own, makes those that there are stricter, and one of two.
TEST(CountedAccesses, StandBetweenOurWaitsNotOthers) {
  EXPECT_TRUE(check("top:\n" + kLoad + wait(0) + kLoad + wait(1) + kLoadToLds + kLoadToLds + wait(2) + kBarrier +
                        "s_cbranch_scc1 top\n" + wait(0) + kEnd,
                    loopPlan())
                  .ok());
  EXPECT_FALSE(check("top:\n" + kLoad + kLoad + kLoadToLds + kLoadToLds + wait(5) + kBarrier + "s_cbranch_scc1 top\n" +
                         wait(0) + kEnd,
                     loopPlan())
                   .ok())
      << "a weaker wait";
  EXPECT_FALSE(
      check("top:\n" + kLoad + kLoad + kLoadToLds + kLoadToLds + kBarrier + "s_cbranch_scc1 top\n" + wait(0) + kEnd, loopPlan())
          .ok())
      << "no wait";
  const CountedPlan twoWaits = planOf({{Kind::Pass, 0, "", {1}},
                                       {Kind::LoadsToLds, 1, "", {2}},
                                       {Kind::Wait, 4, "", {3}},
                                       {Kind::Wait, 1, "", {4}},
                                       {Kind::End, 0, "", {}}});
  EXPECT_TRUE(check(kLoadToLds + wait(1) + kEnd, twoWaits).ok());
}

TEST(CountedAccesses, OfOneOfTwoBranches) {
  const CountedPlan plan = planOf({{Kind::Pass, 0, "", {1, 2}},
                                   {Kind::LoadsToLds, 2, "", {2}},
                                   {Kind::Wait, 0, "", {3}},
                                   {Kind::End, 0, "", {}}});
  auto branch = [&](const std::string &inside) {
    return check("s_cbranch_scc1 over\n" + inside + "over:\n" + wait(0) + kEnd, plan);
  };
  EXPECT_TRUE(branch(kLoadToLds + kLoadToLds).ok());
  EXPECT_FALSE(branch(kLoadToLds).ok());
  EXPECT_FALSE(branch(kLoadToLds + kLoadToLds + kLoadToLds).ok());
}

TEST(CountedAccesses, AreRefusedInPlansThatCannotBeCounted) {
  const CountedPlan plan = planOf({{Kind::Pass, 0, "", {1}}, {Kind::LoadsToLds, 1, "", {1, 2}}, {Kind::End, 0, "", {}}});
  Status checked = check(kLoadToLds + kEnd, plan);
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().message, HasSubstr("loads to LDS stand in a loop without a wait or a barrier"));
}

// Two fetches in one cluster, of which the wait leaves the second: its look-up must not stand in front of the first.
TEST(CountedAccesses, StandInTheOrderInWhichTheyWereCounted) {
  const CountedPlan plan = planOf({{Kind::Pass, 0, "", {1}},
                                   {Kind::LoadsToLds, 2, "", {2}},
                                   {Kind::LookUps, 1, "", {3}},
                                   {Kind::LoadsToLds, 2, "", {4}},
                                   {Kind::LookUps, 1, "", {5}},
                                   {Kind::Wait, 3, "", {6}},
                                   {Kind::Barrier, 0, "", {7}},
                                   {Kind::End, 0, "", {}}});
  const std::string two = kLoadToLds + kLoadToLds, end = wait(3) + kBarrier + kEnd;
  EXPECT_TRUE(check(two + kLoad + two + kLoad + end, plan).ok());
  EXPECT_TRUE(check(kLoad + two + kLoad + two + end, plan).ok());
  EXPECT_FALSE(check(kLoad + kLoad + two + two + end, plan).ok());
}

/// What LLVM makes of an access whose descriptor it does not know to be the same in all lanes: a loop over those that
/// differ.
static std::string forLanes(const std::string &access, const std::string &behind = "s_mov_b64 exec, s[18:19]\n") {
  static int loops = 0;
  const std::string label = "lanes" + std::to_string(loops++);
  return "s_mov_b64 s[18:19], exec\n" + label +
         ":\nv_readfirstlane_b32 s0, v4\nv_cmp_eq_u32_e32 vcc, s0, v4\ns_and_saveexec_b64 s[20:21], vcc\n" + access +
         "s_xor_b64 exec, exec, s[20:21]\ns_cbranch_execnz " + label + "\n" + behind;
}

TEST(CountedAccesses, AreCountedOnceWhereLlvmRepeatsThemForLanes) {
  EXPECT_TRUE(check(loop(kLoad + kLoad + forLanes(kLoadToLds) + forLanes(kLoadToLds)), loopPlan()).ok());
  EXPECT_FALSE(check(loop(kLoad + kLoad + forLanes(kLoadToLds)), loopPlan()).ok());
  EXPECT_FALSE(check(loop(kLoad + forLanes(kLoadToLds) + kLoadToLds), loopPlan()).ok());
}

// Lanes that are done leave such a loop; the second turn has a load less.
TEST(CountedAccesses, AreCountedInEveryTurnOfOtherLoopsOverLanes) {
  const std::string first = kLoad + kLoad + kLoadToLds, turn = kLoadToLds + wait(4) + kBarrier,
                    next = kLoad + kLoad + "s_andn2_b64 exec, exec, s[2:3]\ns_cbranch_execnz top\n", end = wait(0) + kEnd;
  EXPECT_FALSE(check(first + "top:\n" + turn + next + end, loopPlan()).ok());
  EXPECT_TRUE(check("top:\n" + first + turn + "s_andn2_b64 exec, exec, s[2:3]\ns_cbranch_execnz top\n" + end, loopPlan()).ok());
}

// Behind a loop over lanes all of them are back: a branch for the case that there is none is never taken.
TEST(CountedAccesses, AreNotCountedOnWaysThatNoLaneTakes) {
  const CountedPlan plan = planOf({{Kind::Pass, 0, "", {1}},
                                   {Kind::LoadsToLds, 2, "", {2}},
                                   {Kind::Wait, 0, "", {3}},
                                   {Kind::Barrier, 0, "", {4}},
                                   {Kind::End, 0, "", {}}});
  const std::string rest = "s_cbranch_execz behind\n" + kLoadToLds + wait(0) + "behind:\n" + kBarrier + kEnd;
  EXPECT_TRUE(check(kLoadToLds + rest, plan).ok());
  EXPECT_TRUE(check(forLanes(kLoadToLds) + rest, plan).ok());
  EXPECT_TRUE(check(forLanes(kLoadToLds, "s_or_b64 exec, exec, s[18:19]\n") + rest, plan).ok());
  EXPECT_FALSE(check(forLanes(kLoadToLds, "") + rest, plan).ok()) << "lanes are gone";
  EXPECT_FALSE(check(forLanes(kLoadToLds, "s_mov_b64 s[18:19], s[22:23]\ns_mov_b64 exec, s[18:19]\n") + rest, plan).ok())
      << "another mask";
  EXPECT_FALSE(check(forLanes(kLoadToLds, "s_mov_b32 s19, 1\ns_mov_b64 exec, s[18:19]\n") + rest, plan).ok())
      << "half of the mask is another";
}

// "If it was the one way": a mask of all ones or zeros says so; arithmetic, nops, and reads of LDS and of the kernel's
// arguments that LLVM moved up, may stand in front of the branch.
TEST(CountedAccesses, AreNotCountedOnWaysThatAMaskDecides) {
  const CountedPlan plan = planOf({{Kind::Pass, 0, "", {1}},
                                   {Kind::LoadsToLds, 2, "", {2}},
                                   {Kind::Wait, 0, "", {3}},
                                   {Kind::Barrier, 0, "", {4}},
                                   {Kind::End, 0, "", {}}});
  auto decided = [&](const std::string &ofOther, const std::string &ofBoth, const std::string &inFront = "") {
    return check(kLoadToLds + "s_cbranch_scc1 other\n" + kLoadToLds + wait(0) + "s_mov_b64 s[4:5], 0\ns_branch both\nother:\n" +
                     ofOther + "both:\n" + inFront + "s_andn2_b64 vcc, exec, s[4:5]\n" + ofBoth + "s_cbranch_vccnz behind\n" + kLoadToLds +
                     wait(0) + "behind:\n" + kBarrier + kEnd,
                 plan);
  };
  const std::string isOther = "s_mov_b64 s[4:5], -1\n", computes = "v_and_b32_e32 v1, 32, v0\n";
  EXPECT_TRUE(decided(isOther, "").ok());
  EXPECT_TRUE(decided(isOther, computes).ok());
  EXPECT_TRUE(decided(isOther, computes, "ds_read_b128 v[4:7], v0\nv_pk_mul_f32 v[8:9], v[8:9], v[10:11]\n").ok());
  const std::string spills = "v_writelane_b32 v9, s8, 14\ns_nop 0\n";
  EXPECT_TRUE(decided(isOther, spills, spills).ok()) << "scalars are spilled to lanes, with a nop in front of the next";
  EXPECT_TRUE(decided(isOther, computes, "s_load_dwordx4 s[28:31], s[0:1], 0xa8\n").ok());
  EXPECT_FALSE(decided(isOther, computes, kLoad).ok()) << "what is counted stands there once";
  EXPECT_TRUE(decided(isOther, "v_cmp_lt_f32_e64 s[4:5], s8, 0\n").ok()) << "the mask has another use behind its last";
  EXPECT_FALSE(decided("s_mov_b64 s[4:5], 0\n", computes).ok()) << "the load is left out";
  EXPECT_FALSE(decided("s_mov_b64 s[4:5], s[6:7]\n", computes).ok()) << "nobody knows the mask";
  // On one way alone.
  EXPECT_TRUE(check(kLoadToLds + "s_mov_b64 s[4:5], -1\ns_andn2_b64 vcc, exec, s[4:5]\n" + computes +
                        "s_cbranch_vccnz behind\n" + kLoadToLds + wait(0) + "behind:\n" + kBarrier + kEnd,
                    plan)
                  .ok());
}
