// The expression language: precedence, integer and float rules, and every error it can give.
#include "hocket/Manifest/Expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::manifest;

static const Variables problem = {{"seq_q", Value::integer(1000)},
                                  {"heads", Value::integer(8)},
                                  {"zero", Value::integer(0)},
                                  {"big", Value::integer(INT64_MAX)},
                                  {"scale", Value::real(0.5)}};

static Value evaluate(const std::string &text) {
  Result<Expression> expression = Expression::parse(text);
  if (!expression.ok()) {
    ADD_FAILURE() << expression.error().message;
    return Value();
  }
  Result<Value> value = expression->evaluate(problem);
  if (!value.ok()) {
    ADD_FAILURE() << value.error().message;
    return Value();
  }
  return *value;
}

static int64_t integer(const std::string &text) {
  Value value = evaluate(text);
  EXPECT_TRUE(value.isInteger()) << text;
  return value.asInteger();
}

static double real(const std::string &text) {
  Value value = evaluate(text);
  EXPECT_FALSE(value.isInteger()) << text;
  return value.asReal();
}

static std::string parseError(const std::string &text) {
  Result<Expression> expression = Expression::parse(text);
  return expression.ok() ? "parsed" : expression.error().message;
}

static std::string evaluationError(const std::string &text) {
  Result<Expression> expression = Expression::parse(text);
  if (!expression.ok())
    return "does not parse: " + expression.error().message;
  Result<Value> value = expression->evaluate(problem);
  return value.ok() ? "evaluated" : value.error().message;
}

TEST(Expression, BindsAsInC) {
  EXPECT_EQ(integer("2 + 3 * 4"), 14);
  EXPECT_EQ(integer("(2 + 3) * 4"), 20);
  EXPECT_EQ(integer("20 - 6 - 4"), 10);
  EXPECT_EQ(integer("100 / 7 % 5"), 4);
  EXPECT_EQ(integer("-2 * -3"), 6);
  EXPECT_EQ(integer("- - 3"), 3);
  EXPECT_EQ(integer("1 + 1 == 2 && 3 < 2 || 1"), 1);
  EXPECT_EQ(integer("!0 + !5"), 1);
  EXPECT_EQ(integer("1 != 2"), 1);
  EXPECT_EQ(integer("0x10 + 010"), 26);
}

TEST(Expression, TruncatesTowardZero) {
  EXPECT_EQ(integer("-7 / 2"), -3);
  EXPECT_EQ(integer("-7 % 2"), -1);
  EXPECT_EQ(integer("ceildiv(7, 2)"), 4);
  EXPECT_EQ(integer("ceildiv(-7, 2)"), -3);
  EXPECT_EQ(integer("ceildiv(8, 2)"), 4);
  EXPECT_EQ(integer("roundup(1000, 256)"), 1024);
  EXPECT_EQ(integer("roundup(0, 256)"), 0);
}

TEST(Expression, MixesIntegersAndFloats) {
  EXPECT_DOUBLE_EQ(real("scale * log2e"), 0.5 * 1.4426950408889634);
  EXPECT_DOUBLE_EQ(real("1 / 2.0"), 0.5);
  EXPECT_DOUBLE_EQ(real("1.5e-2 + 2E1"), 20.015);
  EXPECT_DOUBLE_EQ(real("ln2"), 0.6931471805599453);
  EXPECT_DOUBLE_EQ(real("-scale"), -0.5);
  EXPECT_EQ(integer("scale < 1"), 1);
  EXPECT_EQ(integer("floor(-0.5)"), -1);
  EXPECT_EQ(integer("ceil(0.5)"), 1);
  EXPECT_EQ(integer("floor(7)"), 7);
  EXPECT_DOUBLE_EQ(real("sqrt(2.25)"), 1.5);
  EXPECT_DOUBLE_EQ(real("log2(8)"), 3);
  EXPECT_DOUBLE_EQ(real("exp2(-1)"), 0.5);
  EXPECT_EQ(integer("9223372036854775807 == 9223372036854775806"), 0);
}

TEST(Expression, HasFunctions) {
  EXPECT_EQ(integer("min(3, 1, 2)"), 1);
  EXPECT_EQ(integer("max(3, 1, 2)"), 3);
  EXPECT_EQ(integer("abs(-3)"), 3);
  EXPECT_EQ(integer("select(heads > 4, 10, 20)"), 10);
  EXPECT_EQ(integer("ceildiv ( seq_q , 256 )"), 4);
}

TEST(Expression, EvaluatesOnlyWhatItNeeds) {
  EXPECT_EQ(integer("select(zero == 0, 1, 5 / zero)"), 1);
  EXPECT_EQ(integer("zero != 0 && 5 / zero > 1"), 0);
  EXPECT_EQ(integer("1 || 5 / zero"), 1);
}

TEST(Expression, ListsItsVariables) {
  Result<Expression> expression = Expression::parse("seq_q + heads * seq_q + log2e");
  ASSERT_TRUE(expression.ok());
  EXPECT_THAT(expression->variables(), testing::ElementsAre("heads", "seq_q"));
  EXPECT_EQ(expression->text(), "seq_q + heads * seq_q + log2e");
}

TEST(Expression, SaysWhereItIsMalformed) {
  EXPECT_EQ(parseError(""),
            "expression '', column 1: expected a number, a name or '(', found the end");
  EXPECT_EQ(parseError("1 +"),
            "expression '1 +', column 4: expected a number, a name or '(', found the end");
  EXPECT_EQ(parseError("(1"), "expression '(1', column 3: expected ')'");
  EXPECT_EQ(parseError("1 2"),
            "expression '1 2', column 3: expected an operator or the end, found '2'");
  EXPECT_EQ(parseError("$"),
            "expression '$', column 1: expected a number, a name or '(', found '$'");
  EXPECT_THAT(parseError("min(1)"),
              testing::HasSubstr("function 'min' takes 2 or more operands, 1 given"));
  EXPECT_THAT(parseError("select(1, 2)"),
              testing::HasSubstr("function 'select' takes 3 operands, 2 given"));
  EXPECT_THAT(parseError("foo(1)"), testing::HasSubstr("unknown function 'foo'; known are abs"));
  EXPECT_THAT(parseError("min(1, 2"),
              testing::HasSubstr("expected ',' or ')' in the operands of 'min'"));
  EXPECT_THAT(parseError("9223372036854775808"), testing::HasSubstr("is not a 64-bit integer"));
  EXPECT_THAT(parseError("1e999"), testing::HasSubstr("'1e999' is not a number"));
  EXPECT_THAT(parseError("1x"), testing::HasSubstr("'1x' is not a 64-bit integer"));
}

TEST(Expression, BoundsDepthAndLength) {
  EXPECT_THAT(parseError(std::string(1000, '(') + "1"),
              testing::HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(parseError(std::string(1000, '-') + "1"),
              testing::HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(parseError(std::string(5000, '1')),
              testing::HasSubstr("longer than the limit of 4096"));
  std::string chain = "1";
  while (chain.size() < 4000)
    chain += "+1";
  EXPECT_EQ(integer(chain), 2001 - (4001 - static_cast<int64_t>(chain.size())) / 2);
}

TEST(Expression, RefusesWhatCannotBeComputed) {
  EXPECT_EQ(evaluationError("1 / zero"), "expression '1 / zero': division of 1 by zero");
  EXPECT_THAT(evaluationError("1 % zero"), testing::HasSubstr("by zero"));
  EXPECT_THAT(evaluationError("scale / 0"), testing::HasSubstr("division by zero"));
  EXPECT_THAT(evaluationError("big + 1"),
              testing::HasSubstr("integer overflow in 9223372036854775807 + 1"));
  EXPECT_THAT(evaluationError("-big - 2"), testing::HasSubstr("integer overflow"));
  EXPECT_THAT(evaluationError("big * 2"), testing::HasSubstr("integer overflow"));
  EXPECT_THAT(evaluationError("-(-big - 1)"), testing::HasSubstr("integer overflow"));
  EXPECT_THAT(evaluationError("(-big - 1) / -1"), testing::HasSubstr("integer overflow"));
  EXPECT_THAT(evaluationError("(-big - 1) % -1"), testing::HasSubstr("integer overflow"));
  EXPECT_THAT(evaluationError("roundup(big, 2)"),
              testing::HasSubstr("integer overflow in roundup"));
  EXPECT_THAT(evaluationError("ceildiv(1, -1)"),
              testing::HasSubstr("need a positive divisor, found -1"));
  EXPECT_THAT(evaluationError("scale % 2"), testing::HasSubstr("need integers"));
  EXPECT_THAT(evaluationError("floor(1e300)"), testing::HasSubstr("beyond 64-bit integers"));
  EXPECT_THAT(evaluationError("exp2(5000)"), testing::HasSubstr("not a finite number"));
  EXPECT_THAT(evaluationError("sqrt(-1)"), testing::HasSubstr("square root of a negative number"));
  EXPECT_THAT(evaluationError("log2(0)"),
              testing::HasSubstr("log2 of a number that is not positive"));
  EXPECT_EQ(evaluationError("seq_k"),
            "expression 'seq_k': unknown variable 'seq_k'; this problem has "
            "big, heads, scale, seq_q, zero");
}
