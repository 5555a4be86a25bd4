// The backward's tensors and variables follow from the forward's.
#include "hocket/Attention/BackwardProblem.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

static BackwardProblem example() {
  BackwardProblem problem;
  problem.forward.heads = 4, problem.forward.kvHeads = 2;
  problem.forward.seqQ = 10, problem.forward.seqKv = 20;
  problem.forward.headDim = 64, problem.forward.headDimV = 32;
  return problem;
}

TEST(BackwardProblem, Tensors) {
  BackwardProblem problem = example();
  std::string read, written;
  for (const manifest::TensorSpec &tensor : problem.tensors()) {
    EXPECT_TRUE(tensor.wanted) << tensor.name;
    (tensor.role == manifest::TensorRole::Input ? read : written) += tensor.name + " ";
  }
  EXPECT_EQ(read, "q k v do o lse ");
  EXPECT_EQ(written, "dq dk dv ");
  EXPECT_EQ(problem.tensor("do").rowElements, 32);
  EXPECT_EQ(problem.tensor("dk").elements(), 2 * 20 * 64);
  EXPECT_EQ(problem.tensor("dv").elements(), 2 * 20 * 32);
}

/// The sink's gradient is there where it is asked for; packed tensors have packed gradients.
TEST(BackwardProblem, OtherGradientsAndPackedOnes) {
  BackwardProblem problem = example();
  problem.forward.sink = true;
  problem.otherGradients = {"sink"};
  manifest::TensorSpec gradient = problem.tensor("d_sink");
  EXPECT_EQ(gradient.role, manifest::TensorRole::Output);
  EXPECT_EQ(gradient.type, ElementType::F32);
  EXPECT_EQ(gradient.elements(), 4);
  problem.forward.lists.packedKv = true;
  problem.forward.totalKv = 77;
  EXPECT_EQ(problem.tensor("dk").elements(), 77 * 2 * 64);
  EXPECT_EQ(problem.tensor("dq").elements(), 10 * 4 * 64);
  EXPECT_EQ(problem.describe(), "backward of bf16 B1 H4/2 Sq10 Skv20 D64/32 bshd packed-kv Tkv77 sink d_sink");
}

TEST(BackwardProblem, StridesOfGradients) {
  BackwardProblem problem = example();
  // Those of Q are not those of its gradient.
  problem.forward.strides["q"] = {100000, 5000, 64};
  problem.gradientStrides["dk"] = {50000, 2000, 1000};
  ASSERT_TRUE(validate(problem).ok());
  manifest::Variables variables = problemVariables(problem);
  EXPECT_EQ(variables.at("q_stride_s").asInteger(), 5000);
  EXPECT_EQ(variables.at("dq_stride_s").asInteger(), 4 * 64);
  EXPECT_EQ(variables.at("dk_stride_s").asInteger(), 2000);
  EXPECT_EQ(variables.at("do_stride_h").asInteger(), 32);
  EXPECT_EQ(problem.describe(), "backward of bf16 B1 H4/2 Sq10 Skv20 D64/32 bshd q=100000,5000,64 dk=50000,2000,1000");
}

TEST(BackwardProblem, Refused) {
  BackwardProblem problem = example();
  problem.gradientStrides["q"] = {};
  EXPECT_EQ(validate(problem).error().message,
            "strides are given for 'q'; gradients are do, dq, dk, dv");
  problem = example();
  problem.gradientStrides["dv"] = {640, 0, 32};
  EXPECT_FALSE(validate(problem).ok()); // rows of an output that overlap
  problem = example();
  problem.forward.heads = 3;
  EXPECT_FALSE(validate(problem).ok());
  problem = example();
  problem.forward.lists.pageSize = 16, problem.forward.lists.usedKv = true;
  EXPECT_EQ(validate(problem).error().message, "keys in pages have no backward; give dense or packed ones");
  problem = example();
  problem.otherGradients = {"sink"};
  EXPECT_EQ(validate(problem).error().message, "the gradient of 'sink' is asked for; the problem has no sink");
  problem.forward.sink = true;
  EXPECT_TRUE(validate(problem).ok());
  problem.otherGradients.insert("lse");
  EXPECT_EQ(validate(problem).error().message,
            "the gradient of 'lse' is asked for; there are those of q, k, v, the sink, and tensors of floating-point "
            "numbers that modifications of scores read");
  problem.otherGradients = {"bias"};
  problem.forward.modifications.push_back(
      {"biased", false, "", {{"bias", ElementType::F16, {"heads", "seq_q", "seq_kv"}}}, {}});
  EXPECT_TRUE(validate(problem).ok());
  problem.forward.capturedExtents["bias"] = {1, 10, 20};
  manifest::TensorSpec ofBias = problem.tensor("d_bias");
  EXPECT_EQ(ofBias.type, ElementType::F16);
  EXPECT_EQ(ofBias.elements(), 200);
  EXPECT_EQ(problemVariables(problem).at("d_bias_stride_0").asInteger(), 0);
  problem.forward.modifications.back().isMask = true;
  EXPECT_FALSE(validate(problem).ok());
  problem = example();
  problem.transposedLists = true;
  EXPECT_EQ(validate(problem).error().message, "transposed lists are given, of no block lists; leave them out");
  problem.forward.blocks = {128, 128};
  EXPECT_TRUE(validate(problem).ok()) << validate(problem).error().message;
  problem.accumulate = Accumulation::F32;
  EXPECT_EQ(validate(problem).error().message, "'accumulate' does not go by block lists; leave it out");
  problem.accumulate = Accumulation::None;
  problem.forward.blocks = {128, 48};
  EXPECT_EQ(validate(problem).error().message,
            "blocks have 128 queries and 48 keys, the backward takes multiples of 32; use such");
  problem.forward.blocks = {128, 64};
  problem.forward.modifications = {{"biased", false, "", {{"bias", ElementType::F16, {"heads", "seq_q", "seq_kv"}}}, {}}};
  problem.otherGradients = {"bias"};
  EXPECT_TRUE(validate(problem).ok()) << validate(problem).error().message;
}

/// Transposed lists are tensors where they are given, else a launch leaves them for others.
TEST(BackwardProblem, TransposedLists) {
  BackwardProblem problem = example();
  EXPECT_TRUE(problem.temporaries().empty());
  problem.forward.seqQ = 300, problem.forward.seqKv = 100;
  problem.forward.blocks = {128, 32};
  auto names = [](const std::vector<manifest::TensorSpec> &tensors) {
    std::string text;
    for (const manifest::TensorSpec &tensor : tensors)
      if (tensor.name.find("q_") != std::string::npos && tensor.wanted)
        text += tensor.name + " ";
    return text;
  };
  EXPECT_EQ(names(problem.temporaries()), "q_num_blocks q_indices ");
  EXPECT_EQ(names(problem.tensors()), "");
  problem.forward.fullBlocks = true;
  EXPECT_EQ(names(problem.temporaries()), "q_num_blocks q_indices full_q_num_blocks full_q_indices ");
  EXPECT_EQ(problem.temporaries()[1].elements(), 1 * 4 * 4 * 3); // 4 blocks of keys, 3 of queries
  EXPECT_EQ(problem.temporaries()[1].rowElements, 3);
  problem.transposedLists = true;
  EXPECT_TRUE(problem.temporaries().empty());
  EXPECT_EQ(names(problem.tensors()), "q_num_blocks q_indices full_q_num_blocks full_q_indices ");
  EXPECT_EQ(problem.tensor("q_indices").role, manifest::TensorRole::Input);
  // One list for all heads is one list for all heads.
  problem.forward.capturedExtents["kv_indices"] = {1, 1, 3, 4};
  problem.forward.capturedExtents["kv_num_blocks"] = {1, 1, 3};
  EXPECT_EQ(problem.tensor("q_indices").elements(), 4 * 3);
  EXPECT_EQ(problemVariables(problem).at("q_indices_stride_1").asInteger(), 0);
}
