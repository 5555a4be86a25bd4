// gfx942: the same algorithm with tiles that pass through registers.
//
// All schedules of one problem must give the same bits, in checked execution where that is quick:
// head sizes, lengths around tile borders, grouped heads, hard data.
#include "Problems.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using test::Case;
using test::makeProblem;

namespace {
Case on942(Case item, bool check) {
  item.target = "gfx942";
  item.check = check;
  return item;
}

/// Runs `item` with each schedule; the bits must agree.
void runAndVerify(const Case &item, const std::vector<std::string> &schedules) {
  std::string bits;
  for (const std::string &schedule : schedules) {
    SCOPED_TRACE(item.name + ": " + item.problem.describe() + " " + schedule);
    Result<ForwardReport> report = test::runCase(item, schedule);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->passed()) << toText(*report);
    std::string hash = std::to_string(report->outputHash);
    EXPECT_TRUE(bits.empty() || bits == hash) << "not the bits of " << schedules.front();
    bits = hash;
  }
}

const std::vector<std::string> pipelined = {"register_pipeline", "register_pipeline_deep"};
} // namespace

TEST(Gfx942, HeadSizes) {
  struct Heads {
    int64_t dim, dimV;
    std::vector<std::string> schedules;
  };
  const std::vector<std::string> all = {"sequential", "double_buffer", "register_pipeline", "register_pipeline_deep"};
  const Heads sizes[] = {{8, 8, pipelined},     {40, 136, pipelined},  {64, 64, all},
                         {72, 72, pipelined},   {128, 128, pipelined}, {192, 128, pipelined},
                         {224, 224, pipelined}, {256, 256, pipelined}};
  const Case grouped{"long", makeProblem(ElementType::BF16, true, 1, 4, 2, 150, 300), DataKind::Rising,
                     2};
  const Case single{"short",
                    makeProblem(ElementType::F16, false, 1, 2, 1, 33, 70, true, Layout::BHSD)};
  for (const Heads &heads : sizes)
    for (Case item : {grouped, single}) {
      item.problem.headDim = heads.dim, item.problem.headDimV = heads.dimV;
      runAndVerify(on942(item, true), heads.schedules);
    }
}

// Every length of lengthCases, unchecked: those around 64 are borders of two tiles here.
TEST(Gfx942, Lengths) {
  for (const Case &item : test::lengthCases())
    runAndVerify(on942(item, false), pipelined);
}

TEST(Gfx942, Features) {
  for (const Case &item : test::featureCases())
    if (item.interleavings > 1)
      runAndVerify(on942(item, false), pipelined);
}

// Keys around a few tiles of 32, for loops with every remainder.
TEST(Gfx942, TileBorders) {
  for (int64_t keys : {1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 129})
    runAndVerify(
        on942({"borders", makeProblem(ElementType::BF16, keys % 2 == 1, 1, 1, 1, 40, keys)}, true),
        {"sequential", "double_buffer", "register_pipeline", "register_pipeline_deep", "preload_1"});
}
