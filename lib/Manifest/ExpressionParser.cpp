// Recursive descent over the grammar of docs/Manifest.md, one function a level.
//
// Depth and length are bounded, so that no text can exhaust the stack; numbers are parsed by LLVM,
// so that the host's locale has no say.
#include "ExpressionNode.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cmath>
#include <numbers>
#include <set>

using namespace hocket;
using namespace hocket::manifest;
using llvm::StringRef;
using NodePtr = std::shared_ptr<const Expression::Node>;

namespace {
constexpr size_t maxLength = 4096;
constexpr unsigned maxDepth = 64;

constexpr Function functions[] = {
    {"abs", Operation::Abs, 1, 1},         {"ceil", Operation::Ceil, 1, 1},
    {"ceildiv", Operation::CeilDiv, 2, 2}, {"exp2", Operation::Exp2, 1, 1},
    {"floor", Operation::Floor, 1, 1},     {"log2", Operation::Log2, 1, 1},
    {"max", Operation::Max, 2, 16},        {"min", Operation::Min, 2, 16},
    {"roundup", Operation::RoundUp, 2, 2}, {"select", Operation::Select, 3, 3},
    {"sqrt", Operation::Sqrt, 1, 1},
};

struct NamedConstant {
  std::string_view name;
  double value;
};
constexpr NamedConstant constants[] = {{"ln2", std::numbers::ln2}, {"log2e", std::numbers::log2e}};

/// One binary operator and its spelling; longer spellings stand before their prefixes.
struct BinaryOperator {
  StringRef spelling;
  Operation operation;
};

class Parser {
public:
  explicit Parser(StringRef text) : text(text), rest(text) {}
  Result<NodePtr> run();

private:
  NodePtr disjunction(unsigned depth);
  NodePtr conjunction(unsigned depth);
  NodePtr comparison(unsigned depth);
  NodePtr sum(unsigned depth);
  NodePtr product(unsigned depth);
  NodePtr unary(unsigned depth);
  NodePtr primary(unsigned depth);
  NodePtr number();
  NodePtr nameOrCall(unsigned depth);
  NodePtr call(StringRef name, unsigned depth);
  NodePtr chain(NodePtr (Parser::*operand)(unsigned), llvm::ArrayRef<BinaryOperator> operators,
                unsigned depth);

  void skipSpace() { rest = rest.ltrim(" \t\n\r"); }
  bool accept(StringRef token);
  std::nullptr_t fail(const std::string &what);

  StringRef text, rest;
  std::string error;
};
} // namespace

const Function *manifest::findFunction(std::string_view name) {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

static NodePtr makeNode(Operation operation, std::vector<NodePtr> operands) {
  auto node = std::make_shared<Expression::Node>();
  node->operation = operation;
  node->operands = std::move(operands);
  return node;
}

static NodePtr makeConstant(Value value) {
  auto node = std::make_shared<Expression::Node>();
  node->constant = value;
  return node;
}

std::nullptr_t Parser::fail(const std::string &what) {
  if (error.empty())
    error = "expression '" + text.str() + "', column " +
            std::to_string(rest.data() - text.data() + 1) + ": " + what;
  return nullptr;
}

bool Parser::accept(StringRef token) {
  skipSpace();
  return rest.consume_front(token);
}

Result<NodePtr> Parser::run() {
  if (text.size() > maxLength)
    return invalidInput("expression of " + std::to_string(text.size()) +
                        " characters is longer than the limit of " + std::to_string(maxLength));
  NodePtr root = disjunction(0);
  skipSpace();
  if (root && !rest.empty())
    root = fail("expected an operator or the end, found '" + rest.take_front(8).str() + "'");
  if (!root)
    return invalidInput(error);
  return root;
}

/// operand (operator operand)*, to the left.
NodePtr Parser::chain(NodePtr (Parser::*operand)(unsigned),
                      llvm::ArrayRef<BinaryOperator> operators, unsigned depth) {
  NodePtr left = (this->*operand)(depth);
  while (left) {
    const BinaryOperator *found = nullptr;
    for (const BinaryOperator &candidate : operators)
      if (accept(candidate.spelling)) {
        found = &candidate;
        break;
      }
    if (!found)
      return left;
    NodePtr right = (this->*operand)(depth);
    if (!right)
      return nullptr;
    // A chain leans to the left: its length is the depth of the tree that evaluation recurses into.
    left = makeNode(found->operation, {left, right});
  }
  return nullptr;
}

NodePtr Parser::disjunction(unsigned depth) {
  if (depth > maxDepth)
    return fail("nested more than " + std::to_string(maxDepth) + " deep");
  static constexpr BinaryOperator operators[] = {{"||", Operation::Or}};
  return chain(&Parser::conjunction, operators, depth + 1);
}

NodePtr Parser::conjunction(unsigned depth) {
  static constexpr BinaryOperator operators[] = {{"&&", Operation::And}};
  return chain(&Parser::comparison, operators, depth);
}

NodePtr Parser::comparison(unsigned depth) {
  static constexpr BinaryOperator operators[] = {
      {"<=", Operation::LessEqual}, {">=", Operation::GreaterEqual}, {"==", Operation::Equal},
      {"!=", Operation::NotEqual},  {"<", Operation::Less},          {">", Operation::Greater},
  };
  return chain(&Parser::sum, operators, depth);
}

NodePtr Parser::sum(unsigned depth) {
  static constexpr BinaryOperator operators[] = {{"+", Operation::Add}, {"-", Operation::Subtract}};
  return chain(&Parser::product, operators, depth);
}

NodePtr Parser::product(unsigned depth) {
  static constexpr BinaryOperator operators[] = {
      {"*", Operation::Multiply}, {"/", Operation::Divide}, {"%", Operation::Remainder}};
  return chain(&Parser::unary, operators, depth);
}

NodePtr Parser::unary(unsigned depth) {
  if (depth > maxDepth)
    return fail("nested more than " + std::to_string(maxDepth) + " deep");
  Operation operation;
  if (accept("-"))
    operation = Operation::Negate;
  else if (!rest.starts_with("!=") && accept("!"))
    operation = Operation::Not;
  else
    return primary(depth);
  NodePtr operand = unary(depth + 1);
  return operand ? makeNode(operation, {operand}) : nullptr;
}

NodePtr Parser::primary(unsigned depth) {
  skipSpace();
  if (accept("(")) {
    NodePtr inner = disjunction(depth + 1);
    if (inner && !accept(")"))
      return fail("expected ')'");
    return inner;
  }
  if (!rest.empty() && llvm::isDigit(rest.front()))
    return number();
  if (!rest.empty() && (llvm::isAlpha(rest.front()) || rest.front() == '_'))
    return nameOrCall(depth);
  return fail(rest.empty()
                  ? "expected a number, a name or '(', found the end"
                  : "expected a number, a name or '(', found '" + rest.take_front(1).str() + "'");
}

/// digits, or digits with a fraction or an exponent: 1, 0x10, 1.5, 2e-3.
NodePtr Parser::number() {
  size_t length = rest.find_if_not([](char c) { return llvm::isAlnum(c) || c == '.'; });
  length = std::min(length, rest.size());
  StringRef token = rest.take_front(length);
  bool hex = token.starts_with_insensitive("0x");
  if (!hex && (token.ends_with("e") || token.ends_with("E")) && length < rest.size() &&
      (rest[length] == '-' || rest[length] == '+')) {
    size_t more = rest.find_if_not(llvm::isDigit, length + 1);
    token = rest.take_front(std::min(more, rest.size()));
  }
  Value value;
  if (hex || token.find_first_of(".eE") == StringRef::npos) {
    int64_t integer;
    if (token.getAsInteger(hex ? 0 : 10, integer))
      return fail("'" + token.str() + "' is not a 64-bit integer");
    value = Value::integer(integer);
  } else {
    double real;
    if (token.getAsDouble(real) || !std::isfinite(real))
      return fail("'" + token.str() + "' is not a number");
    value = Value::real(real);
  }
  rest = rest.drop_front(token.size());
  return makeConstant(value);
}

NodePtr Parser::nameOrCall(unsigned depth) {
  StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (rest.drop_front(name.size()).ltrim(" \t\n\r").starts_with("("))
    return call(name, depth);
  rest = rest.drop_front(name.size());
  for (const NamedConstant &constant : constants)
    if (name == StringRef(constant.name))
      return makeConstant(Value::real(constant.value));
  auto node = std::make_shared<Expression::Node>();
  node->operation = Operation::Variable;
  node->variable = name.str();
  return node;
}

NodePtr Parser::call(StringRef name, unsigned depth) {
  const Function *function = findFunction(name);
  if (!function)
    return fail(
        "unknown function '" + name.str() +
        "'; known are abs, ceil, ceildiv, exp2, floor, log2, max, min, roundup, select, sqrt");
  rest = rest.drop_front(name.size());
  accept("(");
  std::vector<NodePtr> operands;
  do {
    NodePtr operand = disjunction(depth + 1);
    if (!operand)
      return nullptr;
    operands.push_back(operand);
  } while (accept(","));
  if (!accept(")"))
    return fail("expected ',' or ')' in the operands of '" + name.str() + "'");
  if (operands.size() < function->minOperands || operands.size() > function->maxOperands)
    return fail("function '" + name.str() + "' takes " + std::to_string(function->minOperands) +
                (function->maxOperands != function->minOperands ? " or more" : "") + " operands, " +
                std::to_string(operands.size()) + " given");
  return makeNode(function->operation, std::move(operands));
}

Expression::Expression() : Expression(constant(0)) {}

Expression Expression::constant(int64_t value) {
  return Expression(std::to_string(value), makeConstant(Value::integer(value)));
}

Result<Expression> Expression::parse(std::string_view text) {
  Result<NodePtr> root = Parser(StringRef(text)).run();
  if (!root.ok())
    return root.error();
  return Expression(std::string(text), *std::move(root));
}

static void collect(const Expression::Node &node, std::set<std::string> &names) {
  if (node.operation == Operation::Variable)
    names.insert(node.variable);
  for (const NodePtr &operand : node.operands)
    collect(*operand, names);
}

std::vector<std::string> Expression::variables() const {
  std::set<std::string> names;
  collect(*root, names);
  return {names.begin(), names.end()};
}
