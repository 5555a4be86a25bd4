// Evaluates an expression: 64-bit integers with every overflow found, doubles that stay finite.
//
// An operation on two integers is an integer; a float on either side makes it a double. '/' and '%'
// truncate toward zero as C's do. select, && and || evaluate only what they need, so that
// "select(n == 0, 0, m / n)" is right.
#include "ExpressionNode.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::manifest;

namespace {
class Evaluator {
public:
  explicit Evaluator(const Variables &variables) : variables(variables) {}
  /// Sets `error` and returns 0 on failure; callers stop at the first.
  Value evaluate(const Expression::Node &node);
  std::string error;

private:
  Value variable(const std::string &name);
  Value unary(Operation operation, Value operand);
  Value binary(Operation operation, Value left, Value right);
  Value integers(Operation operation, int64_t left, int64_t right);
  Value reals(Operation operation, double left, double right);
  Value compare(Operation operation, Value left, Value right);
  Value divide(Operation operation, int64_t left, int64_t right);
  Value select(const Expression::Node &node);
  Value connective(const Expression::Node &node);
  Value truth(bool value) { return Value::integer(value ? 1 : 0); }
  Value fail(std::string what) {
    if (error.empty())
      error = std::move(what);
    return Value();
  }
  Value finite(double value) {
    return std::isfinite(value) ? Value::real(value) : fail("the result is not a finite number");
  }

  const Variables &variables;
};
} // namespace

static bool isTrue(Value value) {
  return value.isInteger() ? value.asInteger() != 0 : value.asReal() != 0;
}

static std::string text(int64_t value) { return std::to_string(value); }

Value Evaluator::variable(const std::string &name) {
  auto it = variables.find(name);
  if (it != variables.end())
    return it->second;
  std::string known;
  for (const auto &[variable, value] : variables)
    known += (known.empty() ? "" : ", ") + variable;
  return fail("unknown variable '" + name + "'; this problem has " +
              (known.empty() ? "none" : known));
}

/// Quotients and what is built from them; `right` is the divisor.
Value Evaluator::divide(Operation operation, int64_t left, int64_t right) {
  if (right == 0)
    return fail("division of " + text(left) + " by zero");
  if (left == INT64_MIN && right == -1)
    return fail("integer overflow in " + text(left) + " / -1");
  if (operation == Operation::Divide)
    return Value::integer(left / right);
  if (operation == Operation::Remainder)
    return Value::integer(left % right);
  if (right < 0)
    return fail("ceildiv and roundup need a positive divisor, found " + text(right));
  int64_t quotient = left / right + (left % right > 0 ? 1 : 0);
  if (operation == Operation::CeilDiv)
    return Value::integer(quotient);
  int64_t rounded;
  if (llvm::MulOverflow(quotient, right, rounded))
    return fail("integer overflow in roundup(" + text(left) + ", " + text(right) + ")");
  return Value::integer(rounded);
}

Value Evaluator::integers(Operation operation, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  const char *sign = "+";
  switch (operation) {
  case Operation::Add:
    overflow = llvm::AddOverflow(left, right, result);
    break;
  case Operation::Subtract:
    overflow = llvm::SubOverflow(left, right, result);
    sign = "-";
    break;
  case Operation::Multiply:
    overflow = llvm::MulOverflow(left, right, result);
    sign = "*";
    break;
  case Operation::Min:
    return Value::integer(std::min(left, right));
  case Operation::Max:
    return Value::integer(std::max(left, right));
  default:
    return divide(operation, left, right);
  }
  if (overflow)
    return fail("integer overflow in " + text(left) + " " + sign + " " + text(right));
  return Value::integer(result);
}

Value Evaluator::reals(Operation operation, double left, double right) {
  switch (operation) {
  case Operation::Add:
    return finite(left + right);
  case Operation::Subtract:
    return finite(left - right);
  case Operation::Multiply:
    return finite(left * right);
  case Operation::Divide:
    return right == 0 ? fail("division by zero") : finite(left / right);
  case Operation::Min:
    return Value::real(std::min(left, right));
  case Operation::Max:
    return Value::real(std::max(left, right));
  default:
    return fail("'%', ceildiv and roundup need integers; use floor() or ceil()");
  }
}

Value Evaluator::compare(Operation operation, Value left, Value right) {
  // Two integers are compared as such: doubles cannot tell those beyond 2^53 apart.
  bool both = left.isInteger() && right.isInteger();
  int64_t a = left.asInteger(), b = right.asInteger();
  double x = left.asReal(), y = right.asReal();
  bool less = both ? a < b : x < y;
  bool equal = both ? a == b : x == y;
  switch (operation) {
  case Operation::Less:
    return truth(less);
  case Operation::LessEqual:
    return truth(less || equal);
  case Operation::Greater:
    return truth(!less && !equal);
  case Operation::GreaterEqual:
    return truth(!less);
  case Operation::Equal:
    return truth(equal);
  default:
    return truth(!equal);
  }
}

Value Evaluator::binary(Operation operation, Value left, Value right) {
  if (operation >= Operation::Less && operation <= Operation::NotEqual)
    return compare(operation, left, right);
  if (left.isInteger() && right.isInteger())
    return integers(operation, left.asInteger(), right.asInteger());
  return reals(operation, left.asReal(), right.asReal());
}

Value Evaluator::unary(Operation operation, Value operand) {
  double real = operand.asReal();
  switch (operation) {
  case Operation::Not:
    return truth(!isTrue(operand));
  case Operation::Negate:
  case Operation::Abs: {
    bool keep = operation == Operation::Abs && real >= 0;
    if (keep)
      return operand;
    return operand.isInteger() ? integers(Operation::Subtract, 0, operand.asInteger())
                               : Value::real(-real);
  }
  case Operation::Floor:
  case Operation::Ceil: {
    if (operand.isInteger())
      return operand;
    double rounded = operation == Operation::Floor ? std::floor(real) : std::ceil(real);
    // 2^63 is the first double that no int64 holds.
    if (!(rounded >= -0x1p63 && rounded < 0x1p63))
      return fail("floor or ceil of a float beyond 64-bit integers");
    return Value::integer(static_cast<int64_t>(rounded));
  }
  case Operation::Sqrt:
    return real < 0 ? fail("square root of a negative number") : finite(std::sqrt(real));
  case Operation::Log2:
    return real <= 0 ? fail("log2 of a number that is not positive") : finite(std::log2(real));
  default:
    return finite(std::exp2(real));
  }
}

Value Evaluator::select(const Expression::Node &node) {
  Value condition = evaluate(*node.operands[0]);
  if (!error.empty())
    return Value();
  return evaluate(*node.operands[isTrue(condition) ? 1 : 2]);
}

Value Evaluator::connective(const Expression::Node &node) {
  Value left = evaluate(*node.operands[0]);
  if (!error.empty())
    return Value();
  if (isTrue(left) == (node.operation == Operation::Or))
    return truth(isTrue(left));
  Value right = evaluate(*node.operands[1]);
  return truth(isTrue(right));
}

Value Evaluator::evaluate(const Expression::Node &node) {
  switch (node.operation) {
  case Operation::Constant:
    return node.constant;
  case Operation::Variable:
    return variable(node.variable);
  case Operation::Select:
    return select(node);
  case Operation::And:
  case Operation::Or:
    return connective(node);
  default:
    break;
  }
  Value result = evaluate(*node.operands[0]);
  if (!error.empty())
    return Value();
  if (node.operands.size() == 1)
    return unary(node.operation, result);
  for (size_t i = 1; i != node.operands.size(); ++i) {
    Value right = evaluate(*node.operands[i]);
    if (!error.empty())
      return Value();
    result = binary(node.operation, result, right);
  }
  return result;
}

Result<Value> Expression::evaluate(const Variables &variables) const {
  Evaluator evaluator(variables);
  Value value = evaluator.evaluate(*root);
  if (!evaluator.error.empty())
    return invalidInput("expression '" + source + "': " + evaluator.error);
  return value;
}
