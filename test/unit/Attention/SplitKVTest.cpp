// The heuristic of split KV and what is selected for it. What it is worth against the cycle model
// is checked elsewhere (test/Tools/hocket-dev/splits.test).
#include "hocket/Attention/SplitKV.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static const KernelRegistry &registry() { return *KernelRegistry::shipped(); }

static ForwardProblem makeProblem(int64_t batch, int64_t heads, int64_t seqQ, int64_t seqKv,
                                  int64_t dim = 64, int64_t splits = 0) {
  ForwardProblem problem;
  problem.batch = batch;
  problem.heads = problem.kvHeads = heads;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.headDim = problem.headDimV = dim;
  problem.tuning.numSplits = splits;
  return problem;
}

static SelectedKernels select(const ForwardProblem &problem, unsigned units = 256) {
  Result<SelectedKernels> selected = selectKernels(registry(), problem, "gfx950", units);
  EXPECT_TRUE(selected.ok()) << selected.error().message;
  return selected.ok() ? *selected : SelectedKernels();
}

static std::string errorOf(const ForwardProblem &problem, std::string_view architecture = "gfx950") {
  Result<SelectedKernels> selected = selectKernels(registry(), problem, architecture, 256);
  return selected.ok() ? "no error" : selected.error().message;
}

TEST(SplitKV, AFewRowsAgainstManyKeysAreSplit) {
  SelectedKernels selected = select(makeProblem(1, 16, 128, 65535));
  EXPECT_GE(selected.split.splits, 8);
  EXPECT_EQ(selected.problem.tuning.numSplits, selected.split.splits);
  ASSERT_EQ(selected.kernels.size(), 2u);
  EXPECT_EQ(selected.kernels[0]->role, KernelRole::Slices);
  EXPECT_EQ(selected.kernels[1]->role, KernelRole::Combine);
  EXPECT_THAT(selected.split.reason, HasSubstr(" slices: expected are "));
  ASSERT_FALSE(selected.split.estimates.empty());
  EXPECT_EQ(selected.split.estimates.front().splits, 1);
  EXPECT_EQ(selected.split.estimates.front().combine, 0);
}

TEST(SplitKV, HeadsOfEverySizeAreSplit) {
  for (int64_t dim : {8, 72, 96, 160, 192, 200, 256}) {
    EXPECT_GE(select(makeProblem(1, 16, 1, 32768, dim)).split.splits, 8) << dim;
    ForwardProblem grouped = makeProblem(1, 16, 1, 32768, dim);
    grouped.kvHeads = 2;
    EXPECT_GE(select(grouped).split.splits, 8) << dim;
  }
}

/// What a mask leaves of the keys is not known here; most leave most of them.
TEST(SplitKV, ModifiedProblemsAreSplit) {
  ForwardProblem problem = makeProblem(1, 16, 4, 32768, 128);
  problem.dropout = true;
  EXPECT_GE(select(problem).split.splits, 8);
  problem.blocks.queries = 128, problem.blocks.keys = 128;
  EXPECT_GE(select(problem).split.splits, 8);
  problem.seqQ = 256;
  EXPECT_EQ(select(problem).split.splits, 1);
  EXPECT_THAT(select(problem).split.reason, HasSubstr("not split: what masks or block lists leave"));
}

TEST(SplitKV, SinksAndPackedQueriesAreSplit) {
  ForwardProblem problem = makeProblem(4, 16, 4, 32768, 128);
  problem.kvHeads = 2, problem.sink = true;
  EXPECT_GE(select(problem).split.splits, 8);
  problem.lists.packedQ = true, problem.totalQ = 16;
  EXPECT_GE(select(problem).split.splits, 8);
}

TEST(SplitKV, AWindowOfFewKeysIsNotSplit) {
  ForwardProblem problem = makeProblem(1, 16, 1, 32768, 128);
  problem.modifications.push_back({});
  problem.modifications.back().name = "window", problem.modifications.back().isMask = true;
  problem.numbers = {{"window_left", 127}, {"window_right", 0}};
  EXPECT_EQ(select(problem).split.splits, 1);
  problem.numbers["window_left"] = 16383;
  EXPECT_GE(select(problem).split.splits, 8);
}

TEST(SplitKV, AFullGridIsNotSplit) {
  // Of the published case that is not split: 8 x 16 heads, 8192 x 8192.
  SelectedKernels selected = select(makeProblem(8, 16, 8192, 8192));
  EXPECT_EQ(selected.split.splits, 1);
  EXPECT_EQ(selected.problem.tuning.numSplits, 0);
  EXPECT_EQ(selected.kernels.size(), 1u);
  EXPECT_THAT(selected.split.reason, HasSubstr("not split"));
}

TEST(SplitKV, TheNumberOfComputeUnitsDecides) {
  // 16 workgroups are a full round on 16 units, and a sixteenth of one on 256.
  ForwardProblem problem = makeProblem(1, 16, 256, 8192);
  EXPECT_EQ(select(problem, 16).split.splits, 1);
  EXPECT_GT(select(problem, 256).split.splits, select(problem, 64).split.splits);
  // Unknown: only what the problem asks for.
  EXPECT_EQ(select(problem, 0).split.splits, 1);
  problem.tuning.numSplits = 4;
  EXPECT_EQ(select(problem, 0).split.splits, 4);
}

TEST(SplitKV, AKeyOrTwoAreNotSplit) {
  EXPECT_EQ(select(makeProblem(1, 1, 1, 1)).split.splits, 1);
  EXPECT_EQ(select(makeProblem(1, 4, 128, 128)).split.splits, 1);
}

TEST(SplitKV, OneTurnsItOffAndMoreForceIt) {
  ForwardProblem problem = makeProblem(1, 16, 128, 65535, 64, 1);
  EXPECT_EQ(select(problem).kernels.size(), 1u);
  problem = makeProblem(8, 16, 8192, 8192, 128, 3);
  SelectedKernels forced = select(problem);
  EXPECT_EQ(forced.split.splits, 3);
  EXPECT_EQ(forced.kernels.size(), 2u);
}

TEST(SplitKV, WhatIsNotThereIsRefusedByName) {
  EXPECT_THAT(errorOf(makeProblem(1, 1, 128, 4096, 264, 4)), HasSubstr("head-dim is 264"));
  ForwardProblem wide = makeProblem(1, 1, 128, 4096, 128, 4);
  wide.dtype = ElementType::F32;
  EXPECT_THAT(
      errorOf(wide, "gfx942"),
      testing::AllOf(HasSubstr("splits4' on gfx942: dtype is f32, this kernel takes bf16 or fp16;"),
                     HasSubstr("; with num-splits 1 it is supported as it is")));
  EXPECT_THAT(errorOf(makeProblem(1, 1, 128, 4096, 64, -1)),
              HasSubstr("num-splits is -1, it must be 0 to 1024: 0 to let the heuristic choose"));
  EXPECT_THAT(errorOf(makeProblem(1, 1, 128, 4096, 64, 1025)), HasSubstr("num-splits is 1025"));
}

TEST(SplitKV, WithoutAKernelThatCombinesTheErrorSaysSo) {
  std::string text = R"({"hocket_registry": 1, "kernels": [{"name": "slices", "summary": "s",
    "role": "slices", "arch": ["gfx950"], "dtypes": ["bf16"], "head_dims": [[64, 64]],
    "masks": ["none"], "lse": [false], "max_sequence": 4096,
    "stride_multiple": 8, "schedule": "sequential", "waves": 8, "kv_tile": 64,
    "block_order": "linear", "priority": 1, "pays": "1", "because": "b"}], "profiles": []})";
  Result<KernelRegistry> alone = KernelRegistry::parse(text, "test");
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  Result<SelectedKernels> selected =
      selectKernels(*alone, makeProblem(1, 1, 128, 4096, 64, 4), "gfx950", 256);
  ASSERT_FALSE(selected.ok());
  EXPECT_THAT(
      selected.error().message,
      HasSubstr("no kernel combines the slices of the problem 'bf16 B1 H1 Sq128 Skv4096 D64 "
                "bshd splits4' on gfx950: the registry has none; use num-splits 1"));
}

TEST(SplitKV, TheCombiningKernelDependsOnTheOutputAlone) {
  ForwardProblem problem = makeProblem(1, 1, 128, 4096, 64, 4);
  problem.visibility = Visibility::causal();
  problem.wantLse = true;
  Result<const KernelEntry *> entry = registry().selectCombine(problem, "gfx950");
  ASSERT_TRUE(entry.ok()) << entry.error().message;
  KernelVariant variant = variantOf(**entry, problem);
  EXPECT_EQ(variant.visibility, Visibility());
  EXPECT_TRUE(variant.wantLse);
  EXPECT_EQ((*entry)->variantName(variant), "fmha_combine_d64_bf16_none_lse");
  problem.headDim = 128;
  EXPECT_EQ(variantOf(**entry, problem), variant);
}
