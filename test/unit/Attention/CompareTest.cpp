// The verdict must be able to say no: each rule is violated alone, just above and just below its
// limit.
#include "Verify/Attention/Reference.h"
#include "Verify/DeviceTensor.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

namespace {
/// A problem with its reference and a result that is the reference rounded to the type.
struct Fixture {
  explicit Fixture(ElementType type = ElementType::BF16, int64_t seqQ = 50, int64_t seqKv = 40,
                   bool causal = false) {
    problem.dtype = type;
    problem.heads = problem.kvHeads = 2;
    problem.seqQ = seqQ;
    problem.seqKv = seqKv;
    problem.visibility = causal ? Visibility::causal() : Visibility();
    problem.wantLse = true;
    inputs = generateInputs(problem, DataKind::Normal, 8);
    reference = computeReference(problem, inputs, chooseRows(problem, 1 << 20, 0));
    outputs.o = verify::TypedArray(type, reference.o);
    for (double value : reference.lse)
      outputs.lse.push_back(static_cast<float>(value));
  }
  ForwardErrors compare() const { return compareForward(problem, inputs, reference, outputs); }
  std::string failures() const {
    std::string text;
    for (const std::string &failure : compare().failures)
      text += failure + "\n";
    return text;
  }

  ForwardProblem problem;
  ForwardInputs inputs;
  ForwardReference reference;
  ForwardOutputs outputs;
};
} // namespace

TEST(Compare, PassesTheRoundedReference) {
  for (ElementType type : {ElementType::BF16, ElementType::F16}) {
    Fixture fixture(type);
    ForwardErrors errors = fixture.compare();
    EXPECT_EQ(fixture.failures(), "");
    EXPECT_EQ(errors.rowsChecked, 100);
    EXPECT_GT(errors.tensorRelative, 0);
    EXPECT_LT(errors.tensorRelative, errors.tolerance);
    EXPECT_GT(errors.worstRowRatio, 0);
    EXPECT_LT(errors.worstRowRatio, 1);
  }
}

TEST(Compare, FindsOneWrongRow) {
  Fixture fixture;
  // Row 73 is off by its own half: far above 3 tol, while the tensor as a whole may stay below tol.
  for (int64_t d = 0; d != 128; ++d)
    fixture.outputs.o.set(73 * 128 + d, 1.02 * fixture.reference.o[73 * 128 + d]);
  ForwardErrors errors = fixture.compare();
  EXPECT_EQ(errors.worstRow, 73);
  EXPECT_THAT(fixture.failures(),
              testing::HasSubstr("times the allowed at batch 0, head 1, query 23"));
  EXPECT_LT(errors.tensorRelative, errors.tolerance);
}

TEST(Compare, FindsAWrongTensor) {
  Fixture fixture;
  // Every row within 3 tol, all together above tol.
  for (size_t i = 0; i != fixture.outputs.o.size(); ++i)
    fixture.outputs.o.set(i, 1.007 * fixture.reference.o[i]);
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("relative error of the whole tensor"));
  EXPECT_LT(fixture.compare().worstRowRatio, 1);
}

TEST(Compare, FindsAWrongLse) {
  Fixture fixture;
  double exact = fixture.reference.lse[20];
  fixture.outputs.lse[20] = static_cast<float>(exact + 0.9e-4 * std::max(1.0, std::abs(exact)));
  EXPECT_EQ(fixture.failures(), "");
  fixture.outputs.lse[20] = static_cast<float>(exact + 1.1e-4 * std::max(1.0, std::abs(exact)));
  EXPECT_THAT(fixture.failures(),
              testing::HasSubstr("LSE error is 0.00011 at batch 0, head 0, query 20"));
}

TEST(Compare, FindsNanAndInfinity) {
  Fixture fixture;
  fixture.outputs.o.setBits(5, 0x7fc0);
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("1 output elements are NaN"));
  fixture.outputs.o.setBits(5, 0x7f80);
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("row error is inf times the allowed"));
  Fixture second;
  second.outputs.lse[5] = NAN;
  EXPECT_THAT(second.failures(), testing::HasSubstr("1 output elements are NaN"));
}

TEST(Compare, FindsWhatWasNotWritten) {
  Fixture fixture;
  fixture.outputs.o.setBits(5, verify::guardPattern);
  uint32_t bits = uint32_t(verify::guardPattern) << 16 | verify::guardPattern;
  std::memcpy(&fixture.outputs.lse[7], &bits, 4);
  EXPECT_EQ(fixture.compare().unwrittenElements, 2);
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("2 output elements were not written"));
}

TEST(Compare, LooksForNanOutsideOfTheSample) {
  Fixture fixture;
  fixture.reference = computeReference(fixture.problem, fixture.inputs, {0, 1});
  fixture.outputs.o.setBits(90 * 128, 0x7fc1);
  EXPECT_EQ(fixture.compare().rowsChecked, 2);
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("1 output elements are NaN"));
}

TEST(Compare, AsksForExactEmptyRows) {
  Fixture fixture(ElementType::F16, 50, 40, true);
  EXPECT_EQ(fixture.failures(), "");
  fixture.outputs.o.setBits(3 * 128, 0x0001); // the smallest number there is
  EXPECT_THAT(fixture.failures(),
              testing::HasSubstr("1 rows that see no key are not exactly O = 0"));
  fixture.outputs.o.setBits(3 * 128, 0);
  fixture.outputs.lse[3] = -1e30f;
  EXPECT_THAT(fixture.failures(), testing::HasSubstr("1 rows that see no key"));
}

TEST(Compare, AllowsNoErrorWhereAllIsZero) {
  Fixture fixture;
  fixture.inputs = generateInputs(fixture.problem, DataKind::Zeros, 0);
  fixture.reference =
      computeReference(fixture.problem, fixture.inputs, chooseRows(fixture.problem, 1000, 0));
  fixture.outputs.o = verify::TypedArray(ElementType::BF16, fixture.outputs.o.size());
  std::fill(fixture.outputs.lse.begin(), fixture.outputs.lse.end(), std::log(40.0f));
  EXPECT_EQ(fixture.failures(), "");
  fixture.outputs.o.setBits(1000, 0x0080);
  EXPECT_NE(fixture.failures(), "");
}
