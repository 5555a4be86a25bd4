// Compiled attention kernels, executed in the simulator and verified against the float64 reference.
//
// Every problem runs under two interleavings of its waves, between guard regions of NaN patterns,
// and must meet the accuracy contract of Verify/Attention/Reference.h. The list covers types,
// masks, head ratios, lengths around tile and block borders, layouts, strides, data.
#include "Problems.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using test::Case;

namespace {
class Forward : public testing::TestWithParam<Case> {};
std::string caseName(const testing::TestParamInfo<Case> &info) { return info.param.name; }
} // namespace

TEST_P(Forward, Verifies) {
  Result<ForwardReport> report = test::runCase(GetParam(), "");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
  EXPECT_TRUE(report->verified);
}

INSTANTIATE_TEST_SUITE_P(Lengths, Forward, testing::ValuesIn(test::lengthCases()), caseName);
INSTANTIATE_TEST_SUITE_P(Features, Forward, testing::ValuesIn(test::featureCases()), caseName);
