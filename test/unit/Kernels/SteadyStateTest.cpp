// What the steady state of the shipped kernels executes, counted in the simulator: the figures that
// Hocket promises for `dual_wave`.
#include "Problems.h"

#include "Reference/ScoreInterpreter.h"
#include "Simulator/SteadyState.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using sim::InstructionCounts;
using sim::SteadyState;
using test::Case;

namespace {
struct Kernel {
  ElementType dtype;
  bool causal;
};

class DualWave : public testing::TestWithParam<Kernel> {};

/// One turn of one wave of each group.
std::vector<SteadyState> steadyStates(const Kernel &kernel) {
  Case item{"steady", test::makeProblem(kernel.dtype, kernel.causal, 1, 1, 1, 256, 1280, false),
            DataKind::Equal, 1};
  sim::Tracer tracer(/*workgroup=*/0, {0, 4});
  std::shared_ptr<runtime::Device> device = sim::createDevice(&tracer.instrument());
  Result<ForwardReport> report = test::runCase(item, "dual_wave", device.get());
  EXPECT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report.ok() && report->passed()) << toText(*report);
  const Result<ForwardKernel> &compiled = test::kernelFor(item.problem, "dual_wave");
  auto code = amdgpu::readKernels(compiled->codeObject);
  std::vector<SteadyState> states;
  if (!code.ok())
    return states;
  for (const sim::WaveTrace &trace : tracer.traces()) {
    Result<SteadyState> state = sim::countSteadyState(trace, code->front(), "gfx950");
    EXPECT_TRUE(state.ok()) << state.error().message;
    if (state.ok())
      states.push_back(*state);
  }
  return states;
}
} // namespace

TEST_P(DualWave, SteadyStateKeepsItsBudget) {
  std::vector<SteadyState> states = steadyStates(GetParam());
  ASSERT_EQ(states.size(), 2u) << "one wave of each group";
  for (const SteadyState &state : states) {
    SCOPED_TRACE(state.wave);
    EXPECT_GE(state.shortest, 2u);
    EXPECT_EQ(state.clusters.size(), 8u);
    EXPECT_EQ(state.total.mfma, 64u);
    EXPECT_LE(state.total.trans, 66u);
    EXPECT_LE(state.total.valu, 180u);
    EXPECT_EQ(state.total.ldsRead, 96u);
    EXPECT_EQ(state.total.ldsDma, 8u);
    EXPECT_EQ(state.total.barrier, 8u);
    ASSERT_EQ(state.waits.size(), 4u);
    for (const std::string &wait : state.waits)
      EXPECT_EQ(wait.find("vmcnt(0)"), std::string::npos) << wait;
  }
}

/// Each cluster executes what the schedule put into it, and nothing moved to another.
TEST_P(DualWave, ClustersHoldWhatTheScheduleSays) {
  for (const SteadyState &state : steadyStates(GetParam())) {
    SCOPED_TRACE(state.wave);
    ASSERT_EQ(state.clusters.size(), 8u);
    unsigned compute = 0, keyReads = 0, valueReads = 0;
    for (const InstructionCounts &cluster : state.clusters) {
      EXPECT_EQ(cluster.barrier, 1u);
      if (cluster.mfma == 0) {
        EXPECT_EQ(cluster.trans, 0u);
        EXPECT_EQ(cluster.ldsDma, 2u);
        keyReads += cluster.ldsRead == 16, valueReads += cluster.ldsRead == 32;
        continue;
      }
      ++compute;
      EXPECT_EQ(cluster.mfma, 16u);
      EXPECT_EQ(cluster.trans, 16u);
      EXPECT_EQ(cluster.ldsRead + cluster.ldsDma + cluster.waits, 0u);
      // Beside the last one, whose shadow is empty on purpose.
      EXPECT_LE(cluster.emptyShadows, 2u);
    }
    EXPECT_EQ(compute, 4u);
    EXPECT_EQ(keyReads, 2u) << "16 reads of 16 bytes are a tile of K";
    EXPECT_EQ(valueReads, 2u) << "32 transposing reads of 8 bytes are a tile of V";
  }
}

TEST_P(DualWave, FitsInRegistersAndLds) {
  ForwardProblem problem =
      test::makeProblem(GetParam().dtype, GetParam().causal, 1, 1, 1, 256, 1280, false);
  const Result<ForwardKernel> &kernel = test::kernelFor(problem, "dual_wave");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  auto code = amdgpu::readKernels(kernel->codeObject);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_LE(code->front().vgprs, 256u);
  EXPECT_EQ(code->front().agprs, 0u);
  EXPECT_EQ(code->front().vgprSpills + code->front().sgprSpills, 0u);
  EXPECT_EQ(code->front().scratchBytes, 0u);
}

/// Vector instructions, packed f32 ones twice, and transcendental ones of one turn of `dual_wave`, of two tiles, with
/// the shipped modification `name`, if there is a name.
static InstructionCounts turnWith(const char *name, int64_t waves = 8) {
  ForwardProblem problem = test::makeProblem(ElementType::BF16, false, 1, 1, 1, 256, 1280, false);
  if (name) {
    Result<Modification> modification = shippedModification(name);
    EXPECT_TRUE(modification.ok()) << modification.error().message;
    problem.modifications.push_back(*modification);
  }
  problem.numbers["soft_cap"] = 30;
  CompileOptions options;
  options.schedule = "dual_wave";
  options.waves = waves;
  Result<ForwardKernel> kernel = compileForward(problem, options);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  if (!kernel.ok())
    return {};
  sim::Tracer tracer(/*workgroup=*/0, {0});
  std::shared_ptr<runtime::Device> device = sim::createDevice(&tracer.instrument());
  ForwardOptions run;
  run.data = DataKind::Equal;
  run.seed = 1; // a slope below zero: scores fall from tile to tile, and O need not be rescaled
  run.scoreRules = reference::interpretModifications;
  Result<ForwardReport> report =
      runForward(*device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest, problem, run);
  EXPECT_TRUE(report.ok() && report->passed());
  auto code = amdgpu::readKernels(kernel->codeObject);
  if (!code.ok() || tracer.traces().empty())
    return {};
  Result<SteadyState> state = sim::countSteadyState(tracer.traces().front(), code->front(), "gfx950");
  EXPECT_TRUE(state.ok()) << state.error().message;
  return state.ok() ? state->total : InstructionCounts();
}

/// What modifications may cost, for 32 x 64 scores.
TEST(DualWaveModified, SteadyStateKeepsItsBudget) {
  InstructionCounts plain = turnWith(nullptr);
  ASSERT_GT(plain.valu, 0u);
  InstructionCounts alibi = turnWith("alibi");
  ASSERT_GT(alibi.valu, 0u);
  EXPECT_LE(alibi.valu, plain.valu + 2 * 40);
  EXPECT_EQ(alibi.trans, plain.trans);
  InstructionCounts capped = turnWith("soft_cap");
  ASSERT_GT(capped.valu, 0u);
  // Of a lane's 32 scores of a tile.
  EXPECT_LE(capped.trans, plain.trans + 2 * 32 * 2);
  EXPECT_LE(capped.valu, plain.valu + 2 * 32 * 4 + 4);
  // With eight waves there are too few registers.
  plain = turnWith(nullptr, 4);
  InstructionCounts biased = turnWith("bias_bf16", 4);
  ASSERT_GT(biased.valu, 0u);
  EXPECT_LE(biased.valu, plain.valu + 2 * 110);
}

INSTANTIATE_TEST_SUITE_P(
    All, DualWave,
    testing::Values(Kernel{ElementType::BF16, false}, Kernel{ElementType::BF16, true},
                    Kernel{ElementType::F16, false}, Kernel{ElementType::F16, true}),
    [](const testing::TestParamInfo<Kernel> &info) {
      return std::string(optionName(info.param.dtype)) + (info.param.causal ? "_causal" : "_none");
    });
