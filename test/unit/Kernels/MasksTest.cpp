// Every kind of mask that there is, compiled, executed and verified: lengths that leave rows
// without keys, diagonals in the middle of a tile, and blocks that end within them. Whoever adds a
// kind finds it tested here.
#include "Problems.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using test::Case;

namespace {
class Masks : public testing::TestWithParam<const MaskKind *> {};

std::vector<const MaskKind *> allKinds() {
  std::vector<const MaskKind *> kinds;
  for (const MaskKind &kind : Visibility::kinds())
    kinds.push_back(&kind);
  return kinds;
}
} // namespace

TEST_P(Masks, Verify) {
  constexpr std::pair<int64_t, int64_t> lengths[] = {{300, 300}, {90, 500}, {500, 90}, {1, 70}};
  for (const char *schedule : {"sequential", "dual_wave", "double_buffer"})
    for (auto [seqQ, seqKv] : lengths) {
      Case item{"mask", test::makeProblem(ElementType::BF16, false, 1, 2, 1, seqQ, seqKv)};
      item.problem.visibility = Visibility(*GetParam());
      SCOPED_TRACE(item.problem.describe() + " " + schedule);
      Result<ForwardReport> report = test::runCase(item, schedule);
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_TRUE(report->verified);
      EXPECT_TRUE(report->passed()) << toText(*report);
    }
}

/// A kernel of one mask takes no problem with another.
TEST_P(Masks, AreRefusedByKernelsOfOthers) {
  ForwardProblem problem = test::makeProblem(ElementType::BF16, false, 1, 1, 1, 64, 64);
  problem.visibility = Visibility(*GetParam());
  const Result<ForwardKernel> &kernel = test::kernelFor(problem, "sequential");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const MaskKind &other : Visibility::kinds()) {
    problem.visibility = Visibility(other);
    EXPECT_EQ(checkRequirements(kernel->manifest, problemVariables(problem)).ok(),
              &other == GetParam())
        << other.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Masks, testing::ValuesIn(allKinds()),
                         [](const auto &info) { return std::string(info.param->name); });
