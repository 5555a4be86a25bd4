// Compiled attention kernels, executed in the simulator and verified against the float64 reference.
//
// Every problem runs under two interleavings of its waves, between guard regions of NaN patterns,
// and must meet the accuracy contract of hocket/Attention/Reference.h. The list covers what issue A
// promises: types, masks, head ratios, lengths around tile and block borders, layouts, strides,
// data.
#include "hocket/Attention/RunForward.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/Registry.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>
#include <map>
#include <mutex>

using namespace hocket;
using namespace hocket::attention;

namespace {
struct Case {
  const char *name;
  ForwardProblem problem;
  DataKind data = DataKind::Normal;
  const char *schedule = nullptr;
  unsigned interleavings = 2;
};

/// Kernels are the same for many problems: compile each once per process.
const Result<ForwardKernel> &kernelFor(const ForwardProblem &problem, const char *schedule) {
  static std::mutex mutex;
  static std::map<std::string, Result<ForwardKernel>> kernels;
  std::lock_guard lock(mutex);
  std::string key = describeForward(problem) + (schedule ? schedule : "");
  auto found = kernels.find(key);
  if (found != kernels.end())
    return found->second;
  CompileOptions options;
  if (schedule)
    options.schedule = schedule;
  return kernels.emplace(key, compileForward(problem, options)).first->second;
}

class Forward : public testing::TestWithParam<Case> {};

/// A problem in one line of the table below.
ForwardProblem make(DataType dtype, bool causal, int64_t batch, int64_t heads, int64_t kvHeads,
                    int64_t seqQ, int64_t seqKv, bool lse = true, Layout layout = Layout::BSHD) {
  ForwardProblem problem;
  problem.dtype = dtype;
  problem.causal = causal;
  problem.batch = batch;
  problem.heads = heads;
  problem.kvHeads = kvHeads;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.wantLse = lse;
  problem.layout = layout;
  return problem;
}

ForwardProblem withScale(ForwardProblem problem, double scale) {
  problem.scale = scale;
  return problem;
}

/// Strides that push offsets past 4 GiB: in the batch, or row by row.
ForwardProblem spread(ForwardProblem problem, TensorStrides strides) {
  for (std::optional<TensorStrides> &tensor : problem.strides)
    tensor = strides;
  return problem;
}

constexpr DataType bf16 = DataType::BF16, fp16 = DataType::FP16;
constexpr bool none = false, causal = true;

std::vector<Case> lengthCases() {
  static const int64_t lengths[][2] = {
      {1, 1},   {1, 63},    {1, 257},   {63, 63},   {64, 64},   {65, 65},  {63, 65},  {65, 1},
      {257, 1}, {256, 256}, {257, 257}, {300, 129}, {129, 300}, {31, 512}, {512, 31}, {1000, 1000}};
  static std::vector<std::string> names;
  names.reserve(64);
  std::vector<Case> cases;
  for (auto [seqQ, seqKv] : lengths)
    for (bool mask : {none, causal})
      for (DataType dtype : {bf16, fp16}) {
        names.push_back(std::string(toString(dtype)) + (mask ? "_causal_" : "_none_") +
                        std::to_string(seqQ) + "_" + std::to_string(seqKv));
        cases.push_back({names.back().c_str(), make(dtype, mask, 1, 2, 1, seqQ, seqKv)});
      }
  return cases;
}

std::vector<Case> featureCases() {
  return {
      {"mha_bhsd", make(bf16, causal, 2, 3, 3, 200, 200, true, Layout::BHSD)},
      {"mha_bshd", make(fp16, none, 2, 3, 3, 200, 200)},
      {"gqa_8_2_bhsd", make(bf16, none, 1, 8, 2, 130, 260, true, Layout::BHSD)},
      {"gqa_8_2_causal", make(fp16, causal, 1, 8, 2, 130, 260)},
      {"mqa_5_1", make(bf16, causal, 1, 5, 1, 100, 100)},
      {"batch_3", make(bf16, none, 3, 1, 1, 64, 190)},
      {"no_lse_bf16", make(bf16, causal, 1, 2, 1, 300, 300, false)},
      {"no_lse_fp16", make(fp16, none, 1, 2, 1, 300, 300, false)},
      {"scale_large", withScale(make(bf16, none, 1, 1, 1, 128, 128), 1.0)},
      {"scale_negative", withScale(make(bf16, causal, 1, 1, 1, 128, 128), -0.2)},
      {"scale_zero", withScale(make(fp16, causal, 1, 1, 1, 128, 128), 0.0)},
      {"scale_tiny", withScale(make(fp16, none, 1, 1, 1, 128, 128), 1e-20)},
      {"rows_without_keys", make(bf16, causal, 1, 1, 1, 700, 60)},
      {"equal", make(bf16, causal, 1, 1, 1, 333, 333), DataKind::Equal},
      {"rising_bf16", make(bf16, none, 1, 1, 1, 100, 900), DataKind::Rising},
      {"rising_fp16_causal", make(fp16, causal, 1, 1, 1, 500, 500), DataKind::Rising},
      {"large_bf16", make(bf16, causal, 1, 1, 1, 333, 333), DataKind::Large},
      {"large_fp16", make(fp16, none, 1, 1, 1, 333, 333), DataKind::Large},
      {"onehot_bf16", make(bf16, none, 1, 1, 1, 200, 400), DataKind::OneHot},
      {"onehot_fp16_causal", make(fp16, causal, 1, 1, 1, 400, 400), DataKind::OneHot},
      {"zeros", make(bf16, causal, 1, 1, 1, 100, 100), DataKind::Zeros},
      {"batch_stride_beyond_4gib",
       spread(make(bf16, causal, 2, 1, 1, 100, 100), {int64_t(1) << 32, 128, 128})},
      {"row_stride_beyond_4gib",
       spread(make(bf16, causal, 1, 1, 1, 2300, 2300), {0, 1 << 20, 128})},
      // More batches than grid dimension y takes: one interleaving, because it is 65536 workgroups.
      {"many_batches", make(bf16, none, 32770, 1, 1, 1, 1), DataKind::Normal, nullptr, 1},
  };
}

/// Every shipped schedule gives right results for short, odd and long loops.
std::vector<Case> scheduleCases() {
  return {
      {"double_buffer_one_tile", make(bf16, none, 1, 1, 1, 64, 64), DataKind::Normal,
       "double_buffer"},
      {"double_buffer_two_tiles", make(bf16, causal, 1, 1, 1, 128, 128), DataKind::Normal,
       "double_buffer"},
      {"double_buffer_odd", make(bf16, none, 1, 2, 1, 70, 5 * 64), DataKind::Rising,
       "double_buffer"},
      {"double_buffer_long", make(fp16, causal, 1, 2, 1, 700, 700), DataKind::Normal,
       "double_buffer"},
      {"dual_wave_one_tile", make(bf16, none, 1, 1, 1, 64, 1), DataKind::Normal, "dual_wave"},
      {"dual_wave_too_short_to_overlap", make(fp16, causal, 1, 1, 1, 200, 200), DataKind::Rising,
       "dual_wave"},
      {"dual_wave_shortest_overlap", make(bf16, none, 1, 1, 1, 100, 5 * 64), DataKind::Rising,
       "dual_wave"},
      {"dual_wave_even", make(bf16, none, 1, 2, 1, 70, 6 * 64), DataKind::Rising, "dual_wave"},
      {"dual_wave_odd", make(fp16, none, 1, 2, 1, 70, 7 * 64 - 1), DataKind::Normal, "dual_wave"},
      {"dual_wave_long", make(bf16, causal, 1, 2, 1, 1100, 1100), DataKind::Normal, "dual_wave"},
      {"dual_wave_large", make(fp16, causal, 1, 1, 1, 700, 900), DataKind::Large, "dual_wave"},
      {"dual_wave_no_keys", make(bf16, causal, 1, 1, 1, 900, 400), DataKind::OneHot, "dual_wave"},
      {"double_buffer_no_keys", make(fp16, causal, 1, 1, 1, 700, 60), DataKind::Normal,
       "double_buffer"},
  };
}

std::string caseName(const testing::TestParamInfo<Case> &info) { return info.param.name; }
} // namespace

TEST_P(Forward, Verifies) {
  const Case &item = GetParam();
  const Result<ForwardKernel> &kernel = kernelFor(item.problem, item.schedule);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  sim::registerSimulator();
  Result<runtime::OpenedDevice> opened = runtime::openDevice("sim");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ForwardOptions options;
  options.data = item.data;
  options.seed = 20261121;
  options.interleavings = item.interleavings;
  Result<ForwardReport> report =
      runForward(*opened->device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest,
                 item.problem, options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
  EXPECT_TRUE(report->verified);
}

INSTANTIATE_TEST_SUITE_P(Lengths, Forward, testing::ValuesIn(lengthCases()), caseName);
INSTANTIATE_TEST_SUITE_P(Features, Forward, testing::ValuesIn(featureCases()), caseName);
INSTANTIATE_TEST_SUITE_P(Schedules, Forward, testing::ValuesIn(scheduleCases()), caseName);
