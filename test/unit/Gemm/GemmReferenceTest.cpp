// The reference and the verdict for matrix products: right results pass, and each way of being
// wrong is seen.
#include "Verify/Gemm/GemmReference.h"

#include "Verify/Attention/Data.h"
#include "Verify/DeviceTensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hocket;
using namespace hocket::gemm;

static GemmProblem problemOf(int64_t m, int64_t n, int64_t k, ElementType type = ElementType::BF16) {
  GemmProblem problem;
  problem.m = m, problem.n = n, problem.k = k, problem.dtype = type;
  return problem;
}

static std::vector<int64_t> allRows(const GemmProblem &problem) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row != problem.m; ++row)
    rows.push_back(row);
  return rows;
}

/// C as a kernel with float32 accumulation gives it.
static verify::TypedArray product(const GemmProblem &problem, const GemmInputs &inputs) {
  verify::TypedArray c(problem.dtype);
  for (int64_t i = 0; i != problem.m; ++i)
    for (int64_t j = 0; j != problem.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k != problem.k; ++k)
        sum += float(inputs.a[i * problem.k + k]) * float(inputs.b[j * problem.k + k]);
      c.push_back(sum);
    }
  return c;
}

// Sizes around the blocks of the reference: 64 rows, 256 columns, 256 in depth.
TEST(GemmReference, AcceptsProducts) {
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (DataKind kind : {DataKind::Normal, DataKind::Integers, DataKind::OneHot, DataKind::Zeros})
      for (auto [m, n, k] : {std::tuple(1, 1, 1), std::tuple(65, 33, 257), std::tuple(3, 257, 64),
                             std::tuple(2, 5, 3000)}) {
        GemmProblem problem = problemOf(m, n, k, type);
        GemmInputs inputs = generateInputs(problem, kind, 7);
        GemmReference reference = computeReference(problem, inputs, allRows(problem));
        GemmErrors errors = compareGemm(problem, kind, reference, product(problem, inputs));
        EXPECT_TRUE(errors.failures.empty())
            << problem.describe() << " " << toString(kind) << ": " << errors.failures.front();
        EXPECT_EQ(errors.rowsChecked, m);
      }
}

TEST(GemmReference, SumsAndMagnitudes) {
  GemmProblem problem = problemOf(2, 1, 3);
  GemmInputs inputs;
  for (double value : {1.0, -2.0, 3.0, 0.0, 0.0, -1.0})
    inputs.a.push_back(value);
  for (double value : {4.0, 5.0, 6.0})
    inputs.b.push_back(value);
  GemmReference reference = computeReference(problem, inputs, {0, 1});
  EXPECT_EQ(reference.sums, (std::vector<double>{12, -6}));
  EXPECT_EQ(reference.magnitudes, (std::vector<double>{32, 6}));
}

class WrongProduct : public testing::Test {
protected:
  GemmErrors spoil(DataKind kind, const std::function<void(verify::TypedArray &)> &change) {
    GemmInputs inputs = generateInputs(problem, kind, 1);
    verify::TypedArray c = product(problem, inputs);
    change(c);
    return compareGemm(problem, kind, computeReference(problem, inputs, allRows(problem)), c);
  }
  GemmProblem problem = problemOf(20, 30, 100);
};

TEST_F(WrongProduct, OneUnitInTheLastPlaceOfAnExactSum) {
  GemmErrors errors = spoil(DataKind::Integers, [](auto &c) { c.setBits(7 * 30 + 3, c.bits(7 * 30 + 3) ^ 1); });
  ASSERT_EQ(errors.failures.size(), 1u);
  EXPECT_EQ(errors.failures[0], "element (7, 3) of C is off by some, this data gives exact sums");
}

// Of 100 products one is missing, in one element: far more than rounding does.
TEST_F(WrongProduct, OneProductMissing) {
  GemmInputs inputs = generateInputs(problem, DataKind::Normal, 1);
  double missing = inputs.a[5 * 100 + 99] * inputs.b[6 * 100 + 99];
  ASSERT_GT(std::abs(missing), 0.25);
  GemmErrors errors = spoil(DataKind::Normal, [&](auto &c) {
    c.set(5 * 30 + 6, c[5 * 30 + 6] - missing);
  });
  EXPECT_EQ(errors.worstRow, 5);
  EXPECT_EQ(errors.worstColumn, 6);
  EXPECT_GT(errors.worstRatio, 1);
  EXPECT_EQ(errors.failures.size(), 1u);
}

// A NaN compares false with everything; it must not hide, nor hide others.
TEST_F(WrongProduct, NaNAndUnwritten) {
  GemmErrors errors = spoil(DataKind::Normal, [](auto &c) {
    c.setBits(0, 0x7fff);
    c.setBits(1, verify::guardPattern);
  });
  EXPECT_EQ(errors.nanElements, 1);
  EXPECT_EQ(errors.unwrittenElements, 1);
  ASSERT_EQ(errors.failures.size(), 3u);
  EXPECT_EQ(errors.failures[0], "1 elements of C were not written");
  EXPECT_EQ(errors.failures[1], "1 elements of C are NaN");
}

TEST(GemmProblem, StridesAndVariables) {
  GemmProblem problem = problemOf(5, 9, 65);
  EXPECT_EQ(problem.tensors()[0].dimensions[0].stride, 72);
  EXPECT_EQ(problem.tensors()[2].dimensions[0].stride, 16);
  problem.strides["a"] = 100;
  EXPECT_EQ(problem.describe(), "bf16 5x9x65 a=100");
  manifest::Variables variables = problemVariables(problem);
  EXPECT_EQ(variables.at("a_stride"), manifest::Value::integer(100));
  EXPECT_FALSE(variables.contains("a"));
  manifest::Addresses addresses = {{"a", 16}, {"b", 32}, {"c", 48}};
  EXPECT_EQ(problemVariables(problem, &addresses).at("c"), manifest::Value::integer(48));
}

TEST(GemmProblem, Refusals) {
  EXPECT_TRUE(validate(problemOf(1, 1, 1)).ok());
  EXPECT_EQ(validate(problemOf(1, 0, 1)).error().message, "n is 0, 1 to 2147483648 are possible");
  GemmProblem overlapping = problemOf(2, 9, 1);
  overlapping.strides["c"] = 8;
  EXPECT_FALSE(validate(overlapping).ok());
  overlapping.m = 1; // one row cannot overlap
  EXPECT_TRUE(validate(overlapping).ok());
}
