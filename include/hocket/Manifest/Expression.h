// The small language in which a manifest says what a kernel's arguments and grid are.
//
// An expression is arithmetic over a problem's variables: "ceildiv(seq_q, 256)", "scale * log2e",
// "select(causal, seq_kv - seq_q, 0)". Integers are 64-bit and every overflow is an error; floats
// are double. docs/Manifest.md has the grammar and the functions.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::manifest {

/// A 64-bit integer or a double. Truth values are the integers 0 and 1.
class Value {
public:
  Value() = default;
  static Value integer(int64_t value) { return Value(true, value, 0); }
  static Value real(double value) { return Value(false, 0, value); }

  bool isInteger() const { return integral; }
  /// The value of an integer; 0 for a float.
  int64_t asInteger() const { return integerValue; }
  /// The value as a double, rounded if it is an integer beyond 2^53.
  double asReal() const { return integral ? static_cast<double>(integerValue) : realValue; }
  bool operator==(const Value &) const = default;

private:
  Value(bool integral, int64_t integerValue, double realValue)
      : integral(integral), integerValue(integerValue), realValue(realValue) {}
  bool integral = true;
  int64_t integerValue = 0;
  double realValue = 0;
};

/// A problem's variables by name.
using Variables = std::map<std::string, Value, std::less<>>;

/// A parsed expression; immutable and cheap to copy.
class Expression {
public:
  struct Node;

  /// The constant 0.
  Expression();
  /// Parses `text`. InvalidInput names the column and what was expected there.
  static Result<Expression> parse(std::string_view text);
  /// The expression that is the number `value`.
  static Expression constant(int64_t value);

  /// As it was written.
  const std::string &text() const { return source; }
  /// The value under `variables`. Errors (InvalidInput): an unknown variable, integer overflow,
  /// division by zero, a float where an integer is needed, a result that is not finite.
  Result<Value> evaluate(const Variables &variables) const;
  /// The variables it mentions, sorted, each once.
  std::vector<std::string> variables() const;
  /// For those in Hocket who know what a node is (lib/Manifest/ExpressionNode.h).
  const Node &tree() const { return *root; }

private:
  Expression(std::string source, std::shared_ptr<const Node> root)
      : source(std::move(source)), root(std::move(root)) {}
  std::string source;
  std::shared_ptr<const Node> root;
};

} // namespace hocket::manifest
