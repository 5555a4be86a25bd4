// Sequences of lengths of their own: what packing must not change, and what only it can show.
#include "Problems.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::attention;
using test::makeProblem;

/// `problem`, whose sequences are all alike, with its rows one behind the other.
static ForwardProblem packed(ForwardProblem problem) {
  problem.lists.packedQ = problem.lists.packedKv = true;
  problem.totalQ = problem.batch * problem.seqQ;
  problem.totalKv = problem.batch * problem.seqKv;
  for (int64_t i = 0; i <= problem.batch; ++i) {
    problem.known.lists["cu_seqlens_q"].push_back(static_cast<int32_t>(i * problem.seqQ));
    problem.known.lists["cu_seqlens_k"].push_back(static_cast<int32_t>(i * problem.seqKv));
  }
  return problem;
}

/// What `schedule` computes, which must be right under checked execution.
static ForwardOutputs outputsOf(const ForwardProblem &problem, const std::string &schedule,
                                const std::string &target = "gfx950") {
  const Result<ForwardKernel> &kernel = test::kernelFor(problem, schedule, target);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  ForwardOutputs outputs;
  if (!kernel.ok())
    return outputs;
  ForwardOptions options;
  options.check = true;
  options.interleavings = 2;
  options.save = [&](const ForwardInputs &, const ForwardOutputs &found) {
    outputs = found;
    return Status::success();
  };
  auto device = sim::createDevice(nullptr, target);
  Result<ForwardReport> report =
      runForward(*device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest, problem, options);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (report.ok())
    EXPECT_TRUE(report->passed()) << problem.describe() << "\n" << toText(*report);
  return outputs;
}

static void expectSame(const ForwardOutputs &a, const ForwardOutputs &b, const std::string &what) {
  EXPECT_EQ(a.o, b.o) << what;
  ASSERT_EQ(a.lse.size(), b.lse.size()) << what;
  EXPECT_EQ(0, std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float))) << what;
}

TEST(Sequences, OfEqualLengthsAreDenseTensorsToTheBit) {
  struct Shape {
    const char *schedule, *target;
    bool causal;
    int64_t seqQ, seqKv;
  };
  for (const Shape &shape : {Shape{"dual_wave", "gfx950", true, 300, 300},
                             Shape{"double_buffer", "gfx950", false, 70, 450},
                             Shape{"register_pipeline", "gfx942", true, 100, 170}}) {
    ForwardProblem dense = makeProblem(ElementType::BF16, shape.causal, 3, 4, 2, shape.seqQ, shape.seqKv);
    expectSame(outputsOf(dense, shape.schedule, shape.target),
               outputsOf(packed(dense), shape.schedule, shape.target), shape.schedule);
  }
}

// The rows in between do not exist anywhere: what lies behind 2^31 elements is reached nevertheless.
TEST(Sequences, LieBeyondWhat32BitsReach) {
  constexpr int32_t far = 40'000'000; // rows of 256 elements, 20 GB of them
  ForwardProblem problem = makeProblem(ElementType::F16, true, 2, 2, 2, 100, 200);
  problem.lists = {true, true, true, true};
  problem.totalQ = far + 70, problem.totalKv = far + 200;
  problem.known.lists = {{"cu_seqlens_q", {0, far, far + 70}},
                         {"cu_seqlens_k", {0, far, far + 200}},
                         {"seqused_q", {100, 70}},
                         {"seqused_k", {17, 200}}};
  EXPECT_EQ(outputsOf(problem, "double_buffer").o.size(), size_t(2 * 170 * 128));
}

// A sequence without rows writes nothing, one without keys zeros and -inf; those around them notice nothing.
TEST(Sequences, MayBeEmpty) {
  ForwardProblem problem = makeProblem(ElementType::BF16, true, 5, 2, 1, 100, 300);
  problem.lists = {true, true, false, false};
  problem.totalQ = 172, problem.totalKv = 400;
  problem.known.lists = {{"cu_seqlens_q", {0, 0, 33, 133, 172, 172}},
                         {"cu_seqlens_k", {0, 100, 100, 400, 400, 400}}};
  ForwardOutputs outputs = outputsOf(problem, "dual_wave");
  EXPECT_EQ(outputs.lse.size(), size_t(2 * 172));
  EXPECT_EQ(outputs.lse.front(), -std::numeric_limits<float>::infinity());
}
