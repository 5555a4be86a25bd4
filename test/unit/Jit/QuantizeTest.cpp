// Quantising in checked execution, and what its problems refuse. What it computes is in test/Python/quantize.py.
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static QuantizeProblem problemOf(ElementType from, ElementType to, ScalesPer per) {
  QuantizeProblem problem;
  problem.from = from, problem.to = to, problem.per = per;
  problem.batch = 2, problem.seq = 70, problem.heads = 3, problem.headDim = 64, problem.block = 24;
  return problem;
}

/// Runs the plan on random bits, NaN among them; what is found, as text.
static std::string findings(const LaunchPlan &plan) {
  auto device = sim::createDevice();
  device->setSimulationOptions({.check = true});
  std::mt19937 random(1);
  Buffers buffers;
  for (const BufferNeed &need : plan.buffers()) {
    auto address = device->allocate(need.bytes, 16, need.name);
    EXPECT_TRUE(address.ok());
    buffers[need.name] = {*address, need.bytes};
    if (need.name != "x")
      continue; // what is not written must not be read
    std::vector<std::byte> content(need.bytes);
    for (std::byte &byte : content)
      byte = static_cast<std::byte>(random());
    EXPECT_TRUE(device->copyToDevice(*address, content).ok());
  }
  auto reports = plan.run(*device, buffers);
  if (!reports.ok())
    return reports.error().message;
  std::string text;
  for (const runtime::LaunchReport &report : *reports)
    for (const runtime::Finding &finding : report.findings)
      text += describeFinding(finding) + "\n";
  return text;
}

TEST(Quantize, CheckedExecutionFindsNothing) {
  auto planner = jit::makePlanner();
  ASSERT_TRUE(planner.ok()) << planner.error().message;
  QuantizeProblem narrow = problemOf(ElementType::BF16, ElementType::F8E4M3, ScalesPer::Block);
  narrow.headDim = 24, narrow.block = 1, narrow.layout = Layout::BHSD;
  QuantizeProblem apart = problemOf(ElementType::F32, ElementType::I8, ScalesPer::Head);
  apart.headDim = 33, apart.headsOfScale = 3, apart.strides = TensorStrides{70 * 130, 130, 41};
  for (const QuantizeProblem &problem :
       {narrow, apart, problemOf(ElementType::BF16, ElementType::F8E4M3, ScalesPer::Tensor),
        problemOf(ElementType::F16, ElementType::F8E5M2, ScalesPer::Token),
        problemOf(ElementType::F16, ElementType::F8E4M3, ScalesPer::Mx),
        problemOf(ElementType::BF16, ElementType::F4E2M1, ScalesPer::Mx)}) {
    auto plan = (*planner)->planQuantize(problem);
    ASSERT_TRUE(plan.ok()) << problem.describe() << ": " << plan.error().message;
    EXPECT_EQ(findings(**plan), "") << problem.describe();
    EXPECT_EQ(*(*planner)->planQuantize(problem), *plan) << "plans are remembered";
  }
}

TEST(Quantize, WhatCannotBeIsRefusedByName) {
  const QuantizeProblem right = problemOf(ElementType::BF16, ElementType::F8E4M3, ScalesPer::Head);
  auto refusal = [&](auto change) {
    QuantizeProblem problem = right;
    change(problem);
    Status status = validate(problem);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refusal([](QuantizeProblem &) {}), "");
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.seq = 0; }), HasSubstr("seq is 0, it must be from 1 to 268435456"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.headDim = 1025; }), HasSubstr("head-dim is 1025, it must be from 1 to 1024"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.headsOfScale = 2; }),
              HasSubstr("heads-of-scale is 2 with scales per head of 3 heads; it divides the heads"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.from = ElementType::I8; }), HasSubstr("x has elements of i8, use bf16, fp16 or f32"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.to = ElementType::F6E2M3; }), HasSubstr("dtype is f6e2m3 per head, use f8e4m3"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.per = ScalesPer::Mx, p.headDim = 40; }),
              HasSubstr("head-dim is 40, scales per mx want a multiple of 32"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) {
                p.per = ScalesPer::Mx, p.to = ElementType::F4E2M1, p.strides = TensorStrides{70 * 195, 195, 64};
              }),
              HasSubstr("the sequence stride of 'x' is 195 elements, for f4e2m1 it must be even"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.strides = TensorStrides{-1, 195, 64}; }), HasSubstr("negative strides are not supported"));
  EXPECT_THAT(refusal([](QuantizeProblem &p) { p.strides = TensorStrides{0, int64_t(1) << 30, 64}; }),
              HasSubstr("the sequence stride of 'x' is 1073741824 elements, a tile of 64 rows then spans"));
}
