// The problems that compiled attention kernels are tested on.
#include "Problems.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

using namespace hocket;
using namespace hocket::attention;
using test::Case;

const Result<ForwardKernel> &test::kernelFor(const ForwardProblem &problem,
                                             const std::string &schedule,
                                             const std::string &target) {
  static std::mutex mutex;
  static std::map<std::string, Result<ForwardKernel>> kernels;
  std::lock_guard lock(mutex);
  std::string key = describeForward(problem) + schedule + target;
  auto found = kernels.find(key);
  if (found != kernels.end())
    return found->second;
  CompileOptions options;
  options.target = target;
  if (!schedule.empty())
    options.schedule = schedule;
  return kernels.emplace(key, compileForward(problem, options)).first->second;
}

std::shared_ptr<const CompiledKernel> test::combineFor(const ForwardProblem &problem, const std::string &target) {
  static std::map<std::string, std::shared_ptr<const CompiledKernel>> kernels;
  std::string text = describeCombine(problem, {});
  std::shared_ptr<const CompiledKernel> &kernel = kernels[text + target];
  if (kernel)
    return kernel;
  CompileOptions options;
  options.target = target;
  Result<CompiledKernel> compiled = compileKernel(text, "<combine>", options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  kernel = std::make_shared<CompiledKernel>(compiled.ok() ? *std::move(compiled) : CompiledKernel());
  return kernel;
}

ForwardProblem test::makeProblem(ElementType dtype, bool causal, int64_t batch, int64_t heads,
                                 int64_t kvHeads, int64_t seqQ, int64_t seqKv, bool lse,
                                 Layout layout) {
  ForwardProblem problem;
  problem.dtype = dtype;
  problem.visibility = causal ? Visibility::causal() : Visibility();
  problem.batch = batch;
  problem.heads = heads;
  problem.kvHeads = kvHeads;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.wantLse = lse;
  problem.layout = layout;
  return problem;
}

namespace {
ForwardProblem withScale(ForwardProblem problem, double scale) {
  problem.scale = scale;
  return problem;
}

/// Strides that push offsets past 4 GiB: in the batch, or row by row.
ForwardProblem spread(ForwardProblem problem, TensorStrides strides) {
  for (const char *tensor : {"q", "k", "v", "o"})
    problem.strides[tensor] = strides;
  return problem;
}

constexpr ElementType bf16 = ElementType::BF16, fp16 = ElementType::F16;
constexpr bool none = false, causal = true;

} // namespace

std::vector<Case> test::lengthCases() {
  static const int64_t lengths[][2] = {
      {1, 1},   {1, 63},    {1, 257},   {63, 63},   {64, 64},   {65, 65},  {63, 65},  {65, 1},
      {257, 1}, {256, 256}, {257, 257}, {300, 129}, {129, 300}, {31, 512}, {512, 31}, {1000, 1000}};
  std::vector<Case> cases;
  for (auto [seqQ, seqKv] : lengths)
    for (bool mask : {none, causal})
      for (ElementType dtype : {bf16, fp16}) {
        std::string name = std::string(optionName(dtype)) + (mask ? "_causal_" : "_none_") +
                           std::to_string(seqQ) + "_" + std::to_string(seqKv);
        cases.push_back({name, makeProblem(dtype, mask, 1, 2, 1, seqQ, seqKv)});
      }
  return cases;
}

std::vector<Case> test::featureCases() {
  return {
      {"mha_bhsd", makeProblem(bf16, causal, 2, 3, 3, 200, 200, true, Layout::BHSD)},
      {"mha_bshd", makeProblem(fp16, none, 2, 3, 3, 200, 200)},
      {"gqa_8_2_bhsd", makeProblem(bf16, none, 1, 8, 2, 130, 260, true, Layout::BHSD)},
      {"gqa_8_2_causal", makeProblem(fp16, causal, 1, 8, 2, 130, 260)},
      {"mqa_5_1", makeProblem(bf16, causal, 1, 5, 1, 100, 100)},
      {"batch_3", makeProblem(bf16, none, 3, 1, 1, 64, 190)},
      {"no_lse_bf16", makeProblem(bf16, causal, 1, 2, 1, 300, 300, false)},
      {"no_lse_fp16", makeProblem(fp16, none, 1, 2, 1, 300, 300, false)},
      {"scale_large", withScale(makeProblem(bf16, none, 1, 1, 1, 128, 128), 1.0)},
      {"scale_negative", withScale(makeProblem(bf16, causal, 1, 1, 1, 128, 128), -0.2)},
      {"scale_zero", withScale(makeProblem(fp16, causal, 1, 1, 1, 128, 128), 0.0)},
      {"scale_tiny", withScale(makeProblem(fp16, none, 1, 1, 1, 128, 128), 1e-20)},
      {"rows_without_keys", makeProblem(bf16, causal, 1, 1, 1, 700, 60)},
      {"equal", makeProblem(bf16, causal, 1, 1, 1, 333, 333), DataKind::Equal},
      {"rising_bf16", makeProblem(bf16, none, 1, 1, 1, 100, 900), DataKind::Rising},
      {"rising_fp16_causal", makeProblem(fp16, causal, 1, 1, 1, 500, 500), DataKind::Rising},
      {"large_bf16", makeProblem(bf16, causal, 1, 1, 1, 333, 333), DataKind::Large},
      {"large_fp16", makeProblem(fp16, none, 1, 1, 1, 333, 333), DataKind::Large},
      {"onehot_bf16", makeProblem(bf16, none, 1, 1, 1, 200, 400), DataKind::OneHot},
      {"onehot_fp16_causal", makeProblem(fp16, causal, 1, 1, 1, 400, 400), DataKind::OneHot},
      {"zeros", makeProblem(bf16, causal, 1, 1, 1, 100, 100), DataKind::Zeros},
      {"batch_stride_beyond_4gib",
       spread(makeProblem(bf16, causal, 2, 1, 1, 100, 100), {int64_t(1) << 32, 128, 128})},
      {"row_stride_beyond_4gib",
       spread(makeProblem(bf16, causal, 1, 1, 1, 2300, 2300), {0, 1 << 20, 128})},
      // More batches than grid dimension y takes: one interleaving, because it is 65536 workgroups.
      {"many_batches", makeProblem(bf16, none, 32770, 1, 1, 1, 1), DataKind::Normal, 1},
  };
}

Result<ForwardReport> test::runCase(const Case &item, const std::string &schedule,
                                    runtime::Device *device) {
  const Result<ForwardKernel> &kernel = kernelFor(item.problem, schedule, item.target);
  if (!kernel.ok())
    return kernel.error();
  std::shared_ptr<runtime::Device> own;
  if (!device) {
    own = sim::createDevice(nullptr, item.target);
    device = own.get();
  }
  ForwardOptions options;
  options.data = item.data;
  options.seed = 20261121;
  options.interleavings = item.interleavings;
  options.check = item.check;
  return runForward(*device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest,
                    item.problem, options);
}
