// The tree behind an expression, shared by its parser and its evaluator.
#pragma once

#include "hocket/Manifest/Expression.h"

namespace hocket::manifest {

enum class Operation {
  Constant,
  Variable,
  Negate,
  Not,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  // Functions
  Min,
  Max,
  CeilDiv,
  RoundUp,
  Select,
  Abs,
  Floor,
  Ceil,
  Sqrt,
  Log2,
  Exp2,
};

/// What a function is called and how many operands it takes.
struct Function {
  std::string_view name;
  Operation operation;
  unsigned minOperands, maxOperands;
};
/// The function called `name`, or null.
const Function *findFunction(std::string_view name);

struct Expression::Node {
  Operation operation = Operation::Constant;
  Value constant;
  std::string variable;
  std::vector<std::shared_ptr<const Node>> operands;
};

} // namespace hocket::manifest
