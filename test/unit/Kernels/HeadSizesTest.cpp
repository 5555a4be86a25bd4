// Heads of every size: powers of two and not, whole blocks and not, V unlike K.
//
// Each on a long and a short problem, checked, with the schedules that fit. A head that was rounded
// up must leave the columns behind it alone, in BSHD the next head's: guards and other heads'
// results would show it.
#include "Problems.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using test::Case;
using test::makeProblem;

namespace {
struct Heads {
  int64_t dim, dimV;
  std::vector<std::string> schedules;
};

std::vector<Heads> heads() {
  const std::vector<std::string> all = {"sequential", "double_buffer", "dual_wave"};
  return {{8, 8, {"sequential"}},
          {32, 32, all},
          {40, 136, {"sequential"}},
          {64, 64, all},
          {72, 72, all},
          {96, 96, all},
          {128, 64, {"dual_wave"}},
          {160, 160, {"sequential", "dual_wave", "read_ahead"}},
          {192, 128, all},
          {192, 192, {"read_ahead", "preload_1"}},
          {224, 224, {"sequential", "double_buffer"}},
          {256, 256, {"sequential", "double_buffer"}}, // preload_1: one scalar register too few
          {248, 248, {"read_ahead"}}}; // tiles of 32 keys: not the others' bits
}

ForwardProblem withHeads(ForwardProblem problem, const Heads &heads) {
  problem.headDim = heads.dim, problem.headDimV = heads.dimV;
  return problem;
}

class HeadSizesOf : public testing::TestWithParam<Heads> {};
} // namespace

TEST_P(HeadSizesOf, Verify) {
  const Heads &heads = GetParam();
  const Case cases[] = {
      {"long", withHeads(makeProblem(ElementType::BF16, true, 1, 4, 2, 150, 400), heads),
       DataKind::Rising, 4, true},
      {"short",
       withHeads(makeProblem(ElementType::F16, false, 2, 2, 1, 33, 70, true, Layout::BHSD), heads),
       DataKind::Normal, 2, true}};
  for (const Case &item : cases) {
    std::string bits;
    for (const std::string &schedule : heads.schedules) {
      SCOPED_TRACE(item.problem.describe() + " " + schedule);
      Result<ForwardReport> report = test::runCase(item, schedule);
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_TRUE(report->passed()) << toText(*report);
      std::string hash = std::to_string(report->outputHash);
      EXPECT_TRUE(bits.empty() || bits == hash) << "not the bits of " << heads.schedules.front();
      bits = hash;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HeadSizesOf, testing::ValuesIn(heads()), [](const auto &info) {
  return std::to_string(info.param.dim) + "x" + std::to_string(info.param.dimV);
});

/// With `onehot`, all rows of a head of 112 have a largest weight whose rounding to bf16 would be
/// near the worst, if their references were alike in their fractions. Divided by the sum of the
/// weights before rounding, the error would be that of the whole tensor.
TEST(HeadSizes, RowsAreNotRoundedAlike) {
  Case alike{"alike", makeProblem(ElementType::BF16, false, 1, 1, 1, 64, 300), DataKind::OneHot, 1};
  alike.problem.headDim = alike.problem.headDimV = 112;
  Result<ForwardReport> report = test::runCase(alike, "sequential");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
}
