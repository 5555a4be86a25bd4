// Lists that no host has seen and that are wrong: followed nowhere outside of the tensors, and said in checked execution.
#include "Problems.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

using namespace hocket;
using namespace hocket::attention;
using test::makeProblem;
using testing::AllOf;
using testing::HasSubstr;

using Lists = std::map<std::string, std::vector<int32_t>>;

static std::shared_ptr<const ForwardPlan> planFor(const ForwardProblem &problem) {
  const Result<ForwardKernel> &kernel = test::kernelFor(problem, "double_buffer");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  if (!kernel.ok())
    return nullptr;
  auto plan = ForwardPlan::make(problem, {{"kernel", std::make_shared<CompiledKernel>(*kernel)}});
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *std::move(plan) : nullptr;
}

/// Runs `plan` on tensors of zeros with these lists; what checked execution found.
static std::vector<runtime::Finding> findingsOf(const ForwardPlan &plan, const Lists &lists) {
  auto device = sim::createDevice();
  device->setSimulationOptions({.check = true});
  Buffers buffers;
  for (const BufferNeed &need : plan.buffers()) {
    if (need.bytes == 0)
      continue;
    std::vector<std::byte> content(need.bytes);
    if (auto list = lists.find(need.name); list != lists.end()) {
      EXPECT_EQ(list->second.size() * sizeof(int32_t), need.bytes) << need.name;
      std::memcpy(content.data(), list->second.data(), need.bytes);
    }
    auto address = device->allocate(need.bytes, 16, need.name);
    EXPECT_TRUE(address.ok() && device->copyToDevice(*address, content).ok());
    buffers[need.name] = {*address, need.bytes};
  }
  auto reports = plan.run(*device, buffers);
  EXPECT_TRUE(reports.ok()) << reports.error().message;
  return reports.ok() ? reports->front().findings : std::vector<runtime::Finding>();
}

/// The only finding, as text; empty if there is none.
static std::string findingOf(const ForwardPlan &plan, const Lists &lists) {
  std::vector<runtime::Finding> findings = findingsOf(plan, lists);
  if (findings.empty())
    return "";
  for (const runtime::Finding &finding : findings)
    EXPECT_EQ(finding.kind, runtime::FindingKind::NumberOutOfRange) << describeFinding(finding);
  return describeFinding(findings.front());
}

TEST(WrongLists, OfRowsReachNothingOutside) {
  ForwardProblem problem = makeProblem(ElementType::BF16, false, 2, 1, 1, 64, 64);
  problem.lists = {.packedQ = true, .packedKv = true};
  problem.totalQ = problem.totalKv = 128;
  auto plan = planFor(problem);
  ASSERT_TRUE(plan);
  const std::vector<int32_t> right = {0, 64, 128};
  EXPECT_EQ(findingOf(*plan, {{"cu_seqlens_q", right}, {"cu_seqlens_k", right}}), "");
  const std::vector<std::vector<int32_t>> lists = {
      {0, 64, 1000}, {0, 128, 127}, {100, 64, 0}, {0, INT32_MAX, 5}, {2000, 3000, 4000}, {-100, 64, 128},
      {INT32_MIN, -5, 3}};
  for (const std::vector<int32_t> &list : lists)
    for (bool ofQ : {true, false})
      EXPECT_THAT(findingOf(*plan, {{"cu_seqlens_q", ofQ ? list : right}, {"cu_seqlens_k", ofQ ? right : list}}),
                  HasSubstr(ofQ ? "'cu_seqlens_q'[" : "'cu_seqlens_k'["));
}

// Of a table only what sequences use matters, and of that every number.
TEST(WrongLists, OfPagesAreFoundWhereTheyAreUsed) {
  ForwardProblem problem = makeProblem(ElementType::BF16, true, 2, 2, 1, 5, 64);
  problem.lists = {.usedKv = true, .pageSize = 16};
  problem.numPages = 6, problem.tablePages = 4;
  auto plan = planFor(problem);
  ASSERT_TRUE(plan);
  const std::vector<int32_t> used = {40, 64};
  EXPECT_EQ(findingOf(*plan, {{"seqused_k", used}, {"block_table", {0, 5, 3, -1, 1, 1, 4, 2}}}), "");
  for (int32_t wrong : {-1, 6, INT32_MAX, INT32_MIN})
    EXPECT_THAT(findingOf(*plan, {{"seqused_k", used}, {"block_table", {0, 5, 3, -1, 1, 1, 4, wrong}}}),
                AllOf(HasSubstr("loads " + std::to_string(wrong) + " from 'block_table'[1, 3]"), HasSubstr(", lane 48"),
                      HasSubstr("which is to be a page of 'k' and 'v': 0 to 5")));
  EXPECT_THAT(findingOf(*plan, {{"seqused_k", {40, 65}}, {"block_table", {0, 5, 3, -1, 1, 1, 4, 2}}}),
              HasSubstr("loads 65 from 'seqused_k'[1]"));
}
