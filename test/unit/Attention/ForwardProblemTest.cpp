// What a problem is and what is refused: every message names the field.
#include "hocket/Attention/ForwardProblem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

static ForwardProblem makeProblem() {
  ForwardProblem problem;
  problem.batch = 2;
  problem.heads = 8;
  problem.kvHeads = 2;
  problem.seqQ = 100;
  problem.seqKv = 300;
  return problem;
}

static std::string errorOf(const ForwardProblem &problem) {
  Status status = validate(problem);
  return status.ok() ? "valid" : status.error().message;
}

template <typename Change> static std::string errorWith(Change change) {
  ForwardProblem problem = makeProblem();
  change(problem);
  return errorOf(problem);
}

TEST(ForwardProblem, HasDenseStrides) {
  ForwardProblem problem = makeProblem();
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{300 * 2 * 128, 2 * 128, 128}));
  problem.layout = Layout::BHSD;
  EXPECT_EQ(stridesOf(problem.tensor("q")), (TensorStrides{8 * 100 * 128, 128, 100 * 128}));
  EXPECT_EQ(problem.tensor("q").spanBytes(), 2u * 2 * 8 * 100 * 128);
}

TEST(ForwardProblem, AlignsTheCausalMaskToTheBottomRight) {
  ForwardProblem problem = makeProblem();
  EXPECT_EQ(problem.visibleKeys(0), (KeyRange{0, 300}));
  problem.visibility = Visibility::causal();
  EXPECT_EQ(problem.visibleKeys(0), (KeyRange{0, 201}));
  EXPECT_EQ(problem.visibleKeys(99), (KeyRange{0, 300}));
  problem.seqKv = 40;
  EXPECT_EQ(problem.visibleKeys(59), (KeyRange{0, 0}));
  EXPECT_EQ(problem.visibleKeys(60), (KeyRange{0, 1}));
  EXPECT_EQ(problem.visibleKeys(99), (KeyRange{0, 40}));
}

TEST(ForwardProblem, DescribesItself) {
  ForwardProblem problem = makeProblem();
  problem.visibility = Visibility::causal();
  EXPECT_EQ(problem.describe(), "bf16 B2 H8/2 Sq100 Skv300 D128 causal bshd");
  EXPECT_DOUBLE_EQ(problem.effectiveScale(), 1 / std::sqrt(128.0));
}

TEST(ForwardProblem, RefusesExtentsByName) {
  EXPECT_EQ(errorOf(makeProblem()), "valid");
  EXPECT_EQ(errorWith([](auto &p) { p.batch = 0; }), "batch is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.heads = -8; }), "heads is -8, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.kvHeads = 0; }), "kv-heads is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.seqQ = 0; }), "seq-q is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.seqKv = 0; }), "seq-kv is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.headDim = 0; }), "head-dim is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.headDimV = 0; }), "head-dim-v is 0, it must be at least 1");
  EXPECT_THAT(errorWith([](auto &p) { p.seqKv = int64_t(1) << 40; }),
              testing::HasSubstr("seq-kv is 1099511627776, at most"));
  EXPECT_THAT(errorWith([](auto &p) { p.kvHeads = 3; }),
              testing::HasSubstr("heads (8) is not a multiple of kv-heads (3)"));
  EXPECT_THAT(errorWith([](auto &p) { p.scale = INFINITY; }),
              testing::HasSubstr("scale is not a finite number"));
  // The range of scores (docs/Accuracy.md), of either sign; its end is in it.
  for (double scale : {1e8, -4.66e7, 1e300})
    EXPECT_THAT(errorWith([&](auto &p) { p.scale = scale; }),
                testing::ContainsRegex("^scale is .*, at most 46500000 in size is possible: scaled "
                                       "scores beyond 2.26 in log2 units"));
  ForwardProblem large;
  for (double scale : {4.65e7, -4.65e7, 0.0})
    EXPECT_TRUE((large.scale = scale, validate(large)));
  EXPECT_THAT(errorWith([](auto &p) { p.batch = p.seqQ = p.seqKv = int64_t(1) << 31; }),
              testing::HasSubstr("tensor 'q' has more than"));
}

TEST(ForwardProblem, RefusesStridesByName) {
  auto strided = [](const char *tensor, TensorStrides strides) {
    return errorWith([&](auto &p) { p.strides[tensor] = strides; });
  };
  EXPECT_EQ(strided("k", {0, 128, -1}),
            "the head stride of 'k' is -1, negative strides are not supported");
  EXPECT_EQ(strided("q", {-5, 128, 1}),
            "the batch stride of 'q' is -5, negative strides are not supported");
  EXPECT_THAT(
      strided("v", {0, int64_t(1) << 25, 0}),
      testing::HasSubstr("the sequence stride of 'v' is 33554432 elements, a tile of 256 rows"));
  EXPECT_THAT(strided("q", {0, 0, INT64_MAX}),
              testing::HasSubstr("tensor 'q' spans more than"));
  EXPECT_THAT(
      strided("o", {0, 128, 128 * 100}),
      testing::HasSubstr("the strides of 'o' make its rows overlap: a stride of 0 elements"));
  EXPECT_EQ(strided("lse", {100, 1, 100}),
            "strides are given for 'lse'; tensors with strides are q, k, v, o");
  EXPECT_EQ(strided("k", {0, 128, 0}), "valid") << "inputs may be broadcast";
  EXPECT_EQ(strided("o", {int64_t(1) << 33, 1024, 128}), "valid") << "offsets pass 4 GiB";
}

TEST(ForwardProblem, ParsesItsWords) {
  EXPECT_EQ(*parseDataType("fp16"), DataType::FP16);
  EXPECT_EQ(parseDataType("f32").error().message, "dtype 'f32' is not supported; use bf16 or fp16");
  EXPECT_EQ(*parseLayout("bhsd"), Layout::BHSD);
  EXPECT_EQ(parseLayout("sbhd").error().message, "layout 'sbhd' is not known; use bshd or bhsd");
}

TEST(ForwardProblem, GivesVariablesToManifests) {
  ForwardProblem problem = makeProblem();
  manifest::Variables without = problemVariables(problem);
  EXPECT_FALSE(without.contains("q"));
  EXPECT_EQ(without.at("k_stride_s").asInteger(), 256);
  EXPECT_EQ(without.at("kv_heads").asInteger(), 2);
  EXPECT_EQ(without.at("is_bf16").asInteger(), 1);
  EXPECT_EQ(without.at("v_bytes").asInteger(), 2 * 2 * 2 * 300 * 128);
  EXPECT_EQ(without.at("causal").asInteger(), 0);
  EXPECT_EQ(without.at("mask_left").asInteger(), -1);
  EXPECT_EQ(without.at("mask_right").asInteger(), -1);
  EXPECT_EQ(without.at("want_lse").asInteger(), 0);
  EXPECT_EQ(without.at("lse_stride_b").asInteger(), 8 * 100);
  manifest::Addresses addresses = {{"lse", 77}};
  manifest::Variables with = problemVariables(problem, &addresses);
  EXPECT_EQ(with.at("lse").asInteger(), 77);
  EXPECT_EQ(with.at("q").asInteger(), 0);
  EXPECT_EQ(with.at("workspace").asInteger(), 0);
}
