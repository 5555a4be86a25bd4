// Kernels whose rows are the pairs of a query and a head of a group: few queries of many heads, as in decoding.
//
// Random problems with groups of any size, packed sequences, lengths of their own and keys in pages, slices and both
// chips, against the reference; and against the kernel that has queries for rows, to the bit. HOCKET_RANDOM_GROUPS=N
// draws more than the suite does, HOCKET_TEST_SEED=N others.
#include "DrawSequences.h"
#include "Problems.h"

#include "Reference/ScoreInterpreter.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::attention;

namespace {
constexpr uint64_t kDefaultCount = 4, kDefaultSeed = 20261122;

} // namespace

/// What heads differ in (ALiBi, a bias, a sink), what queries do (a window), and what neither does.
static void addModifications(ForwardProblem &problem, Draw &draw) {
  auto add = [&](const char *name) { problem.modifications.push_back(*shippedModification(name)); };
  problem.sink = draw.oneIn(4);
  if (draw.oneIn(4)) {
    problem.numbers["soft_cap"] = 7;
    add("soft_cap");
  }
  if (draw.oneIn(4))
    add("alibi");
  if (draw.oneIn(4)) {
    add(problem.dtype == ElementType::BF16 ? "bias_bf16" : "bias_fp16");
    problem.capturedExtents["bias"] = {1, draw.oneIn(2) ? 1 : problem.heads,
                                       draw.oneIn(2) ? 1 : problem.seqQ, problem.seqKv};
  }
  if (draw.oneIn(3)) {
    problem.numbers["window_left"] = static_cast<double>(draw.between(0, 200));
    problem.numbers["window_right"] = static_cast<double>(draw.between(-1, 30));
    add("window");
  }
}

static ForwardProblem drawProblem(Draw &draw) {
  constexpr int64_t groups[] = {1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 40, 64, 71};
  ForwardProblem problem;
  problem.dtype = draw.oneIn(2) ? ElementType::BF16 : ElementType::F16;
  problem.batch = draw.between(1, 3);
  problem.kvHeads = draw.between(1, 3);
  problem.heads = problem.kvHeads * groups[draw.between(0, 12)];
  constexpr int64_t dims[] = {128, 128, 64, 72};
  problem.headDim = problem.headDimV = dims[draw.between(0, 3)];
  if (draw.oneIn(5))
    problem.headDim = 192, problem.headDimV = 128;
  problem.seqQ = draw.oneIn(2) ? 1 : draw.between(1, 17);
  problem.seqKv = draw.between(1, 500);
  problem.visibility = draw.oneIn(2) ? Visibility::causal() : Visibility();
  problem.wantLse = draw.oneIn(2);
  problem.layout = draw.oneIn(3) ? Layout::BHSD : Layout::BSHD;
  addModifications(problem, draw);
  if (draw.oneIn(2))
    return problem;
  problem.lists.usedKv = true;
  for (int64_t i = 0; i != problem.batch; ++i)
    problem.known.lists["seqused_k"].push_back(
        static_cast<int32_t>(draw.oneIn(4) ? 0 : draw.between(0, problem.seqKv)));
  if (draw.oneIn(2))
    addPages(problem, draw);
  if (draw.oneIn(2))
    return problem;
  problem.lists.packedQ = true;
  std::vector<int32_t> &starts = problem.known.lists["cu_seqlens_q"];
  starts = {0};
  for (int64_t i = 0; i != problem.batch; ++i)
    starts.push_back(starts.back() + static_cast<int32_t>(draw.between(0, problem.seqQ)));
  problem.totalQ = std::max(1, starts.back());
  return problem;
}

static CompileOptions optionsFor(const std::string &target) {
  CompileOptions options;
  options.target = target;
  options.schedule = target == "gfx950" ? "double_buffer" : "register_pipeline";
  options.waves = 4;
  options.kvTile = target == "gfx950" ? 64 : 32;
  return options;
}

/// Both kernels: rows that are queries, and rows that are pairs. Of the schedule, or where registers forbid that, with
/// small tiles.
static std::vector<ForwardKernel> compileBoth(const ForwardProblem &problem, CompileOptions options) {
  for (int attempt = 0; attempt != 3; ++attempt) {
    std::vector<ForwardKernel> kernels;
    for (bool groupRows : {false, true}) {
      options.groupRows = groupRows;
      if (Result<ForwardKernel> kernel = compileForward(problem, options); kernel.ok())
        kernels.push_back(*std::move(kernel));
    }
    if (kernels.size() == 2)
      return kernels;
    options.schedule = "sequential";
    options.kvTile = 32;
    // Modifications may want more scalar registers than there are: as the registry's last resort has it.
    options.scalarsInLanes = attempt == 1;
    options.waves = attempt == 1 ? 2 : 4;
  }
  return {};
}

/// What `kernel` computes, which must be right under checked execution.
static ForwardOutputs outputsOf(const ForwardProblem &problem, const ForwardKernel &kernel,
                                const std::string &target, uint64_t seed) {
  ForwardOutputs outputs;
  ForwardOptions run;
  run.check = true;
  run.interleavings = interleavingsWanted();
  run.seed = seed;
  run.scoreRules = reference::interpretModifications;
  run.save = [&](const ForwardInputs &, const ForwardOutputs &found) {
    outputs = found;
    return Status::success();
  };
  auto device = sim::createDevice(nullptr, target);
  Result<ForwardReport> report =
      runForward(*device, std::as_bytes(std::span(kernel.codeObject)), kernel.manifest, problem, run);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (report.ok())
    EXPECT_TRUE(report->passed()) << toText(*report);
  return outputs;
}

/// A slope is the same for all rows of a wave, or each row's own: products and sums are contracted in other places, and
/// scores of up to some ten differ in their last bits.
static void expectWithinRounding(const std::vector<float> &a, const std::vector<float> &b) {
  constexpr float kMostDifference = 1e-5f;
  for (size_t i = 0; i != a.size(); ++i)
    if (a[i] != b[i])
      ASSERT_NEAR(a[i], b[i], kMostDifference) << "LSE " << i;
}

/// Waves that have the same rows and split the keys: of the schedule, or as the registry's last resort has it.
static void verifySplitWaves(const ForwardProblem &problem, uint64_t seed) {
  CompileOptions options = optionsFor("gfx950");
  options.groupRows = options.splitWaves = true;
  options.kvTile = 128;
  Result<ForwardKernel> kernel = compileForward(problem, options);
  if (!kernel.ok()) {
    options.scalarsInLanes = true;
    kernel = compileForward(problem, options);
  }
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  outputsOf(problem, *kernel, options.target, seed);
}

static void runOne(uint64_t seed) {
  Draw draw(seed);
  ForwardProblem problem = drawProblem(draw);
  std::string target = draw.oneIn(3) ? "gfx942" : "gfx950";
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe() + " on " + target);
  ASSERT_TRUE(validate(problem).ok()) << validate(problem).error().message;
  std::vector<ForwardKernel> kernels = compileBoth(problem, optionsFor(target));
  ASSERT_EQ(kernels.size(), 2u) << "neither compiles";
  ForwardOutputs apart = outputsOf(problem, kernels[0], target, seed);
  ForwardOutputs grouped = outputsOf(problem, kernels[1], target, seed);
  // Waves read parts of tiles that have a power of two of columns.
  auto isPower = [](int64_t dim) { return dim == 64 || dim == 128; };
  const bool canSplit = isPower(problem.headDim) && isPower(problem.valueHeadDim());
  if (target == "gfx950" && canSplit && !problem.semantics().lists.vectorPages)
    verifySplitWaves(problem, seed);
  ASSERT_EQ(apart.lse.size(), grouped.lse.size());
  auto isAlibi = [](const Modification &modification) { return modification.name == "alibi"; };
  if (std::ranges::any_of(problem.modifications, isAlibi))
    return expectWithinRounding(apart.lse, grouped.lse);
  // Which rows a wave has changes nothing of what any of them computes.
  EXPECT_EQ(apart.o, grouped.o);
  EXPECT_EQ(0, std::memcmp(apart.lse.data(), grouped.lse.data(), apart.lse.size() * sizeof(float)));
}

TEST(GroupRows, RandomProblemsGiveTheBitsOfTheOtherOrder) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_GROUPS", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count && !::testing::Test::HasFailure(); ++i)
    runOne(first + i);
}

/// Slices of rows that are pairs, and what combines them; `shares`: its waves share the slices.
static void combineSlices(bool splitWaves, bool shares = false, int64_t headDim = 64) {
  ForwardProblem problem = test::makeProblem(ElementType::BF16, true, 2, 40, 1, 3, 700);
  problem.headDim = problem.headDimV = headDim;
  problem.wantLse = true;
  // Of ten slices the waves that share them have eight, two, and none.
  problem.tuning.numSplits = shares ? 10 : 4;
  problem.lists.usedKv = true;
  problem.known.lists["seqused_k"] = {700, 130};
  CompileOptions options = optionsFor("gfx950");
  options.groupRows = true;
  options.splitWaves = splitWaves;
  if (splitWaves)
    options.kvTile = 128;
  Result<ForwardKernel> slices = compileForward(problem, options);
  ASSERT_TRUE(slices.ok()) << slices.error().message;
  Result<CompiledKernel> combine = compileKernel(
      describeCombine(problem, {.waves = 4, .splitWaves = shares}), "<combine>", CompileOptions());
  ASSERT_TRUE(combine.ok()) << combine.error().message;
  const std::vector<PlannedLaunch> launches = {{"slices", std::make_shared<CompiledKernel>(*slices)},
                                               {"combine", std::make_shared<CompiledKernel>(*combine)}};
  ForwardOptions run;
  run.check = true;
  run.interleavings = 2;
  auto device = sim::createDevice();
  Result<ForwardReport> report = runForward(*device, launches, problem, run);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
}

TEST(GroupRows, SlicesAreCombined) { combineSlices(/*splitWaves=*/false); }

TEST(GroupRows, WavesShareSlicesThatAreCombined) {
  for (int64_t headDim : {64, 72, 128})
    combineSlices(/*splitWaves=*/false, /*shares=*/true, headDim);
}

/// Of 130 keys of the second sequence some slices, and some waves of others, have none.
TEST(GroupRows, SlicesWhoseWavesSplitKeysAreCombined) { combineSlices(/*splitWaves=*/true); }
