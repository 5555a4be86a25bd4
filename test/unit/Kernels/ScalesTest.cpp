// Scores of every size: scales from 1e-30 to 1e30, on data whose maxima stay, move and tie.
//
// The reference is that of all other problems, in float64. Where scores are so large that one key
// has all the weight, float32 and float64 agree on which, unless two differ by less than float32
// resolves; the data here has no such rows. A NaN, a row of zeros or a lost tie is wrong.
#include "Problems.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using test::Case;
using test::makeProblem;

static void runScale(const std::string &target, DataType dtype, bool causal, DataKind data,
                     double scale, const std::string &schedule) {
  Case item{"scale", makeProblem(dtype, causal, 1, 1, 1, 64, 200), data, 1, /*check=*/true, target};
  item.problem.scale = scale;
  SCOPED_TRACE(target + " " + item.problem.describe() + " " + std::string(toString(data)) + " " +
               schedule);
  Result<ForwardReport> report = test::runCase(item, schedule);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
}

namespace {
class Scales : public testing::TestWithParam<double> {};
} // namespace

TEST_P(Scales, GiveTheSoftmaxInFloat64) {
  for (const char *target : {"gfx950", "gfx942"})
    for (DataType dtype : {DataType::BF16, DataType::FP16})
      for (DataKind data :
           {DataKind::Normal, DataKind::Rising, DataKind::Large, DataKind::OneHot, DataKind::Equal})
        for (double sign : {1.0, -1.0})
          runScale(target, dtype, data == DataKind::Rising, data, sign * GetParam(), "");
}

TEST_P(Scales, WithTwoWaveGroups) {
  for (DataKind data : {DataKind::Rising, DataKind::Equal})
    runScale("gfx950", DataType::FP16, false, data, GetParam(), "dual_wave");
}

INSTANTIATE_TEST_SUITE_P(, Scales,
                         testing::Values(1e-30, 1e-20, 1e-10, 1e-3, 1e2, 1e4, 1e5, 3e5, 1e6, 3e6,
                                         1e7, 1e8, 1e9, 1e10, 1e20, 1e30));
