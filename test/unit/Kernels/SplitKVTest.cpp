// Split KV: producer and combine kernel together, against the reference and against no split.
//
// Slices without tiles, rows that see no key of any slice, heads that share keys, data that is hard
// on the weights; checked, under several interleavings.
#include "Problems.h"

#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <map>

using namespace hocket;
using namespace hocket::attention;
using test::Case;
using test::makeProblem;

static std::vector<PlannedLaunch> launchesFor(const ForwardProblem &problem,
                                              const std::string &schedule) {
  const Result<ForwardKernel> &kernel = test::kernelFor(problem, schedule);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<PlannedLaunch> launches = {{"first", std::make_shared<CompiledKernel>(*kernel)}};
  if (problem.tuning.isSplit())
    launches.push_back({"combine", test::combineFor(problem)});
  return launches;
}

static ForwardProblem inSlices(ForwardProblem problem, int64_t splits, int64_t dim) {
  problem.tuning.numSplits = splits;
  problem.headDim = problem.headDimV = dim;
  return problem;
}

/// Keys of which each sequence uses so many.
static ForwardProblem ofLengths(ForwardProblem problem, std::vector<int32_t> used) {
  problem.lists.usedKv = true;
  problem.known.lists["seqused_k"] = std::move(used);
  return problem;
}

namespace {
class SplitKV : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(SplitKV, Verify) {
  const Case &item = GetParam();
  ForwardOptions options;
  options.data = item.data;
  options.seed = 20261121;
  options.interleavings = item.interleavings;
  options.check = true;
  const char *schedule = item.problem.visibility != Visibility() ? "dual_wave" : "double_buffer";
  auto device = sim::createDevice();
  Result<ForwardReport> report =
      runForward(*device, launchesFor(item.problem, schedule), item.problem, options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
  EXPECT_TRUE(report->findings.empty()) << toText(*report);
  ASSERT_EQ(report->kernels.size(), 2u);
  for (const verify::KernelSummary &kernel : report->kernels)
    EXPECT_EQ(kernel.info.vgprSpills + kernel.info.sgprSpills, 0u) << kernel.name;
}

static std::vector<Case> cases() {
  constexpr ElementType bf16 = ElementType::BF16, fp16 = ElementType::F16;
  constexpr bool none = false, causal = true;
  // Few kernels serve many cases: compiling is most of the time.
  return {
      {"own_lengths", ofLengths(inSlices(makeProblem(bf16, causal, 3, 4, 2, 100, 300), 3, 64), {300, 0, 70})},
      {"two", inSlices(makeProblem(bf16, none, 1, 2, 1, 200, 500), 2, 64)},
      {"three_causal", inSlices(makeProblem(fp16, causal, 2, 4, 2, 100, 300), 3, 64)},
      {"seven_of_128", inSlices(makeProblem(bf16, causal, 1, 2, 2, 150, 600), 7, 128)},
      {"sixteen_one_row", inSlices(makeProblem(fp16, none, 1, 4, 1, 1, 1100), 16, 128)},
      {"more_than_tiles", inSlices(makeProblem(bf16, none, 1, 2, 2, 40, 65), 16, 64)},
      {"one_key", inSlices(makeProblem(bf16, causal, 1, 1, 1, 1, 1), 3, 128)},
      {"rows_without_keys", inSlices(makeProblem(fp16, causal, 1, 1, 1, 400, 60), 2, 64)},
      {"strided", inSlices(makeProblem(bf16, none, 2, 2, 1, 33, 400, true, Layout::BHSD), 5, 64)},
      {"rising", inSlices(makeProblem(bf16, none, 1, 1, 1, 70, 900), 7, 64), DataKind::Rising},
      {"large", inSlices(makeProblem(fp16, none, 1, 1, 1, 100, 400), 3, 128), DataKind::Large},
      {"onehot", inSlices(makeProblem(bf16, causal, 1, 1, 1, 90, 600), 7, 128), DataKind::OneHot},
      {"equal", inSlices(makeProblem(fp16, causal, 1, 1, 1, 130, 300), 2, 64), DataKind::Equal},
      {"without_lse", inSlices(makeProblem(bf16, none, 1, 1, 1, 50, 300, false), 3, 64)},
      // Nine slices: the combine kernel loads eight at a time. Heads that are no power of two.
      {"nine_odd_head", inSlices(makeProblem(bf16, none, 1, 1, 1, 20, 800), 9, 72)},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, SplitKV, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

namespace {
struct Outputs {
  verify::TypedArray o;
  std::vector<float> lse;
};
} // namespace

/// Runs a plan by hand, with the data of one seed.
static Outputs runPlan(const ForwardProblem &problem) {
  auto plan = ForwardPlan::make(problem, launchesFor(problem, "dual_wave"));
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  auto device = sim::createDevice();
  auto place = [&](uint64_t bytes, std::span<const std::byte> content = {}) {
    Result<runtime::DeviceAddress> address = device->allocate(std::max<uint64_t>(bytes, 16));
    EXPECT_TRUE(address.ok());
    if (!content.empty())
      EXPECT_TRUE(device->copyToDevice(*address, content).ok());
    return Buffer{*address, bytes};
  };
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, 7);
  Outputs outputs{verify::TypedArray(problem.dtype.o, size_t(problem.tensor("o").elements())),
                  std::vector<float>(size_t(problem.tensor("o").rows()))};
  Buffers buffers;
  for (auto [name, values] : {std::pair("q", &inputs.q), {"k", &inputs.k}, {"v", &inputs.v}})
    buffers[name] = place(values->bytes().size(), values->bytes());
  buffers["o"] = place(outputs.o.bytes().size());
  buffers["lse"] = place(4 * outputs.lse.size());
  buffers["workspace"] = place((*plan)->workspaceBytes());
  auto reports = (*plan)->run(*device, buffers);
  EXPECT_TRUE(reports.ok()) << reports.error().message;
  EXPECT_TRUE(device->copyFromDevice(outputs.o.bytes(), buffers["o"].address).ok());
  EXPECT_TRUE(
      device->copyFromDevice(std::as_writable_bytes(std::span(outputs.lse)), buffers["lse"].address)
          .ok());
  return outputs;
}

/// A head of one layout, [batch, head, sequence, dim], so that outputs line up as they are.
TEST(SplitKVPlans, AgreeWithNoSplitWithinRounding) {
  ForwardProblem problem =
      inSlices(makeProblem(ElementType::F16, true, 1, 2, 1, 60, 500, true, Layout::BHSD), 1, 64);
  Outputs whole = runPlan(problem);
  for (int64_t splits : {2, 3, 7, 16}) {
    problem.tuning.numSplits = splits;
    Outputs split = runPlan(problem);
    for (size_t i = 0; i < whole.o.size(); ++i) {
      double a = whole.o[i], b = split.o[i];
      // One rounding to fp16 each, of values whose weights were rounded to fp16 before.
      ASSERT_NEAR(a, b, 0x1p-10 * std::abs(a) + 3e-4) << splits << " slices, element " << i;
    }
    for (size_t i = 0; i < whole.lse.size(); ++i)
      ASSERT_NEAR(whole.lse[i], split.lse[i], 1e-5) << splits << " slices, row " << i;
  }
}
