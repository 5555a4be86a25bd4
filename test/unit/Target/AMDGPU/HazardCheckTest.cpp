// Every hazard rule at its border: one wait state too few is found, the right number is not.
#include "Target/AMDGPU/HazardCheck.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;

/// Hazards of `text`, assembled as the whole code of a kernel at address 0x100.
static Result<std::vector<Hazard>> hazardsOf(const std::string &text) {
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
  return findHazards(kernel, Disassembler(*target));
}

/// `count` wait states as independent instructions.
static std::string waits(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += "s_nop 0\n";
  return text;
}

namespace {

struct Rule {
  const char *name;
  const char *producer;
  const char *consumer;
  unsigned needed;
  HazardSeverity severity = HazardSeverity::Error;
};

class Rules : public testing::TestWithParam<Rule> {};

} // namespace

TEST_P(Rules, HoldExactly) {
  const Rule &rule = GetParam();
  const auto program = [&](const std::string &between) {
    return std::string(rule.producer) + "\n" + between + rule.consumer + "\ns_endpgm\n";
  };
  Result<std::vector<Hazard>> enough = hazardsOf(program(waits(rule.needed)));
  ASSERT_TRUE(enough.ok()) << enough.error().message;
  EXPECT_TRUE(enough->empty()) << describe(enough->front(), "k");
  if (rule.needed == 0)
    return;
  Result<std::vector<Hazard>> tooFew = hazardsOf(program(waits(rule.needed - 1)));
  ASSERT_TRUE(tooFew.ok());
  ASSERT_EQ(tooFew->size(), 1u);
  EXPECT_EQ(tooFew->front().needed, rule.needed);
  EXPECT_EQ(tooFew->front().found, rule.needed - 1);
  EXPECT_EQ(tooFew->front().severity, rule.severity);
  EXPECT_EQ(tooFew->front().producer, 0x100u);
}

static const char *const mfma8 = "v_mfma_f32_32x32x16_bf16 v[0:15], v[20:23], v[24:27], v[0:15]";
static const char *const mfma8from64 =
    "v_mfma_f32_32x32x16_bf16 v[0:15], v[20:23], v[24:27], v[64:79]";
static const char *const mfma4 = "v_mfma_f32_16x16x32_f16 v[0:3], v[20:23], v[24:27], v[0:3]";
static const char *const mfma2 = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[20:21], v[24:25], v[0:3]";
static const char *const mfma16f32 = "v_mfma_f32_32x32x2_f32 v[0:15], v20, v24, v[0:15]";
static const char *const mfma16fp8 =
    "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[20:27], v[28:35], v[0:15]";
static const char *const mfma8fp4 =
    "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[20:23], v[28:31], v[0:15] cbsz:4 blgp:4";

/// A transcendental result that a swap reads breaks two rules: the certain one counts.
TEST(HazardCheck, MostSevereFirst) {
  Result<std::vector<Hazard>> hazards = hazardsOf("v_exp_f32_e32 v1, v2\n"
                                                  "v_permlane32_swap_b32_e32 v0, v1\ns_endpgm\n");
  ASSERT_TRUE(hazards.ok()) << hazards.error().message;
  ASSERT_EQ(hazards->size(), 1u);
  EXPECT_EQ(hazards->front().severity, HazardSeverity::Error);
  EXPECT_EQ(hazards->front().needed, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Hazard, Rules,
    testing::Values(
        Rule{"Mfma2ToValu", mfma2, "v_add_f32_e32 v40, v1, v1", 5},
        Rule{"Mfma4ToValu", mfma4, "v_add_f32_e32 v40, v3, v3", 8},
        Rule{"Mfma8ToValu", mfma8, "v_exp_f32_e32 v40, v15", 12},
        Rule{"Mfma16ToValu", mfma16fp8, "v_exp_f32_e32 v40, v15", 20},
        Rule{"MfmaFp4ToValu", mfma8fp4, "v_exp_f32_e32 v40, v15", 12},
        Rule{"MfmaF32ToValu", mfma16f32, "v_exp_f32_e32 v40, v15", 18},
        Rule{"Mfma8ToOther", mfma8, "v_exp_f32_e32 v40, v16", 0},
        Rule{"Mfma8ToValuWrite", mfma8, "v_mov_b32_e32 v7, 0", 12},
        Rule{"Mfma8ToLdsStore", mfma8, "ds_write_b32 v40, v2", 12},
        Rule{"Mfma8ToLdsRead", mfma8, "ds_read_b128 v[0:3], v40", 12},
        Rule{"Mfma4ToStore", mfma4, "global_store_dword v40, v2, s[0:1]", 8},
        Rule{"Mfma4ToDmaAddress", mfma4, "buffer_load_dwordx4 v1, s[4:7], 0 offen lds", 8},
        Rule{"Mfma8ToA", mfma8, "v_mfma_f32_16x16x32_f16 v[40:43], v[8:11], v[24:27], v[40:43]",
             12},
        Rule{"Mfma8ToSameC", mfma8, mfma8, 0}, //
        Rule{"Mfma2ToSameC", mfma2, mfma2, 2},
        Rule{"Mfma8ToPartOfC", mfma8,
             "v_mfma_f32_16x16x32_f16 v[40:43], v[20:23], v[24:27], v[4:7]", 10},
        Rule{"Mfma4ToPartOfC", mfma4,
             "v_mfma_f32_32x32x16_bf16 v[40:55], v[20:23], v[24:27], v[2:17]", 6},
        Rule{"Mfma8OverwriteC", mfma8from64, "v_mov_b32_e32 v70, 0", 7},
        Rule{"Mfma8OverwriteA", mfma8, "v_mov_b32_e32 v20, 0", 0},
        Rule{"F64ToValu", "v_mfma_f64_16x16x4_f64 v[0:7], v[20:21], v[24:25], v[0:7]",
             "v_mov_b32_e32 v40, v0", 19},
        Rule{"AccReadAfterMfma", "v_mfma_f32_16x16x32_f16 a[0:3], v[20:23], v[24:27], a[0:3]",
             "v_accvgpr_read_b32 v40, a1", 8},
        Rule{"ValuToA", "v_mov_b32_e32 v21, 0", mfma8, 2},
        Rule{"ValuToC", "v_mov_b32_e32 v1, 0", mfma8, 2},
        Rule{"DotToStore", "v_dot2c_f32_bf16_e32 v0, v1, v2", "ds_write_b32 v3, v0", 3},
        Rule{"DotToValu", "v_dot2c_f32_bf16_e32 v0, v1, v2", "v_add_f32_e32 v3, v0, v0", 3},
        Rule{"DotToSameC", "v_dot2c_f32_bf16_e32 v0, v1, v2", "v_dot2c_f32_bf16_e32 v0, v1, v2", 0},
        Rule{"DotToSameA", "v_dot2c_f32_bf16_e32 v0, v1, v2", "v_dot2c_f32_bf16_e32 v3, v0, v2", 3},
        Rule{"TransToValu", "v_exp_f32_e32 v0, v1", "v_add_f32_e32 v2, v0, v0", 1},
        Rule{"TransToTrans", "v_exp_f32_e32 v0, v1", "v_log_f32_e32 v2, v0", 0},
        Rule{"TransToStore", "v_exp_f32_e32 v0, v1", "ds_write_b32 v3, v0", 0},
        Rule{"CompareToSelect", "v_cmp_gt_f32_e32 vcc, v0, v1", "v_cndmask_b32_e32 v2, v3, v4, vcc",
             2, HazardSeverity::Padded},
        Rule{"CompareToSelectE64", "v_cmp_gt_f32_e64 s[0:1], v0, v1",
             "v_cndmask_b32_e64 v2, v3, v4, s[0:1]", 2, HazardSeverity::Padded},
        Rule{"CompareToBranchless", "v_cmp_gt_f32_e64 s[0:1], v0, v1",
             "s_and_b64 s[2:3], s[0:1], s[4:5]", 0},
        Rule{"LaneToValu", "v_readfirstlane_b32 s0, v0", "v_add_u32_e32 v1, s0, v1", 2,
             HazardSeverity::Padded},
        Rule{"LaneToVmem", "v_readfirstlane_b32 s8, v0",
             "buffer_load_dword v1, v2, s[4:7], s8 offen", 5},
        Rule{"LaneToResource", "v_readfirstlane_b32 s5, v0",
             "buffer_load_dword v1, v2, s[4:7], 0 offen", 5},
        Rule{"LaneToLaneSelect", "v_readfirstlane_b32 s8, v0", "v_readlane_b32 s9, v1, s8", 4},
        Rule{"ValuToReadlane", "v_mov_b32_e32 v0, 1", "v_readfirstlane_b32 s0, v0", 1},
        Rule{"ValuToDpp", "v_mov_b32_e32 v1, 0",
             "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 2},
        Rule{"ValuToPermlane", "v_mov_b32_e32 v1, 0", "v_permlane32_swap_b32_e32 v0, v1", 2,
             HazardSeverity::Padded},
        Rule{"VccToDivFmas", "v_cmp_gt_f32_e32 vcc, v8, v9", "v_div_fmas_f32 v0, v1, v2, v3", 4},
        Rule{"M0ToAddTid", "s_mov_b32 m0, s0", "ds_read_addtid_b32 v0 offset:4", 1},
        Rule{"ExecToMfma", "v_cmpx_gt_f32_e32 vcc, v40, v41", mfma8, 4},
        Rule{"ExecToReadlane", "v_cmpx_gt_f32_e32 vcc, v40, v41", "v_readlane_b32 s0, v0, 3", 4},
        Rule{"M0ToDma", "s_mov_b32 m0, s0", "buffer_load_dwordx4 v0, s[4:7], 0 offen lds", 1},
        Rule{"M0ToGlobalDma", "s_add_i32 m0, s0, 16", "global_load_lds_dwordx4 v[0:1], off", 1},
        Rule{"M0ToLoad", "s_mov_b32 m0, s0", "buffer_load_dwordx4 v[0:3], v4, s[4:7], 0 offen", 0},
        Rule{"SetregToGetreg", "s_setreg_b32 hwreg(HW_REG_MODE), s0",
             "s_getreg_b32 s1, hwreg(HW_REG_MODE)", 2},
        Rule{"SetregToOther", "s_setreg_b32 hwreg(HW_REG_MODE), s0",
             "s_getreg_b32 s1, hwreg(HW_REG_XCC_ID)", 0},
        Rule{"WideStore", "buffer_store_dwordx4 v[0:3], v4, s[4:7], 0 offen", "v_mov_b32_e32 v3, 0",
             2},
        Rule{"WideGlobalStore", "global_store_dwordx4 v8, v[0:3], s[0:1]", "v_mov_b32_e32 v0, 0",
             2},
        Rule{"WideStoreScalarOffset", "buffer_store_dwordx4 v[0:3], v4, s[4:7], s8 offen",
             "v_mov_b32_e32 v3, 0", 1, HazardSeverity::Advice},
        Rule{"NarrowStore", "buffer_store_dwordx2 v[0:1], v4, s[4:7], 0 offen",
             "v_mov_b32_e32 v1, 0", 0},
        Rule{"PartialWrite", "v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]",
             "v_add_u32_e32 v3, v0, v0", 1},
        Rule{"OtherHalf", "v_cvt_pk_fp8_f32 v0, v1, v2", "v_cvt_pk_fp8_f32 v0, v3, v4 op_sel:[0,0,1]", 1},
        Rule{"OtherByte", "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3",
             "v_cvt_scalef32_pk_fp4_f32 v0, v4, v5, v3 op_sel:[0,0,1,0]", 1},
        Rule{"LowerHalfAgain", "v_cvt_pk_bf8_f32 v0, v1, v2 op_sel:[0,0,1]", "v_cvt_pk_bf8_f32 v0, v3, v4", 1},
        Rule{"SameHalf", "v_cvt_pk_fp8_f32 v0, v1, v2", "v_cvt_pk_fp8_f32 v0, v3, v4", 0},
        Rule{"HalfOfOther", "v_cvt_pk_fp8_f32 v0, v1, v2", "v_cvt_pk_fp8_f32 v5, v3, v4 op_sel:[0,0,1]", 0},
        Rule{"WholeWrite", "v_cvt_pk_fp8_f32 v0, v1, v2", "v_add_u32_e32 v3, v0, v0", 0},
        Rule{"SubDword",
             "v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
             "src1_sel:DWORD",
             "v_mov_b32_e32 v3, v0", 1}),
    [](const testing::TestParamInfo<Rule> &info) { return info.param.name; });

TEST(HazardCheck, CountsWaitStatesOfNops) {
  const std::string exact = std::string(mfma8) + "\ns_nop 11\nv_exp_f32_e32 v40, v0\ns_endpgm\n";
  EXPECT_TRUE(hazardsOf(exact)->empty());
  const std::string less = std::string(mfma8) + "\ns_nop 10\nv_exp_f32_e32 v40, v0\ns_endpgm\n";
  EXPECT_EQ(hazardsOf(less)->size(), 1u);
}

/// The way around the loop is shorter than the way into it.
TEST(HazardCheck, KnowsTheLaneFromTheValue) {
  const std::string reload = "v_readlane_b32 s0, v8, 3\ns_nop 1\n";
  EXPECT_TRUE(hazardsOf(reload + "v_writelane_b32 v9, s0, 4\ns_endpgm\n")->empty());
  EXPECT_EQ(hazardsOf(reload + "v_writelane_b32 v9, 1, s0\ns_endpgm\n")->size(), 1u);
}

TEST(HazardCheck, FollowsLoops) {
  const std::string head = "loop:\nv_exp_f32_e32 v40, v0\n";
  const std::string tail = "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop\ns_endpgm\n";
  Result<std::vector<Hazard>> hazards = hazardsOf(head + waits(4) + mfma8 + "\n" + tail);
  ASSERT_TRUE(hazards.ok()) << hazards.error().message;
  ASSERT_EQ(hazards->size(), 1u);
  EXPECT_EQ(hazards->front().found, 2u);
  EXPECT_EQ(hazards->front().consumer, 0x100u);
  EXPECT_TRUE(hazardsOf(head + waits(4) + mfma8 + "\n" + waits(10) + tail)->empty());
}

/// Of two ways the shorter one counts, whichever is taken.
TEST(HazardCheck, TakesTheShortestWay) {
  const std::string program = std::string(mfma8) + "\ns_cbranch_scc0 skip\n" + waits(15) +
                              "skip:\nv_exp_f32_e32 v40, v0\ns_endpgm\n";
  Result<std::vector<Hazard>> hazards = hazardsOf(program);
  ASSERT_TRUE(hazards.ok());
  ASSERT_EQ(hazards->size(), 1u);
  EXPECT_EQ(hazards->front().found, 1u);
}

/// Nothing flows past an unconditional branch or the end of the program.
TEST(HazardCheck, DoesNotFallThroughJumps) {
  EXPECT_TRUE(
      hazardsOf(std::string(mfma8) + "\ns_branch end\nv_exp_f32_e32 v40, v0\nend:\ns_endpgm\n")
          ->empty());
  EXPECT_TRUE(
      hazardsOf(std::string(mfma8) + "\ns_endpgm\nv_exp_f32_e32 v40, v0\ns_endpgm\n")->empty());
}

TEST(HazardCheck, RefusesWhatItCannotFollow) {
  Result<std::vector<Hazard>> hazards = hazardsOf("s_nop 0\ns_setpc_b64 s[0:1]\n");
  ASSERT_FALSE(hazards.ok());
  EXPECT_EQ(hazards.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(hazards.error().message,
            "kernel 'k': cannot follow 's_setpc_b64 s[0:1]' at 0x104; hazards are checked in "
            "kernels without calls and indirect jumps");
}

TEST(HazardCheck, DescribesBothInstructionsAndTheWayOut) {
  Result<std::vector<Hazard>> hazards =
      hazardsOf("v_cmp_gt_f32_e32 vcc, v0, v1\nv_cndmask_b32_e32 v2, v3, v4, vcc\ns_endpgm\n");
  ASSERT_TRUE(hazards.ok());
  ASSERT_EQ(hazards->size(), 1u);
  EXPECT_EQ(describe(hazards->front(), "k"),
            "kernel 'k': 'v_cndmask_b32_e32 v2, v3, v4, vcc' at 0x104 follows 'v_cmp_gt_f32_e32 "
            "vcc, v0, v1' at 0x100 after 0 wait states, 2 are needed (scalar result of a vector "
            "instruction read by a vector instruction); put 's_nop 1' or other work between them");
}
