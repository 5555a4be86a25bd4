// Numbers that follow from a sequence's lengths.
#include "LengthExpression.h"

#include "Manifest/ExpressionNode.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace hocket;
using Kind = manifest::Operation;
using Node = manifest::Expression::Node;

static bool isLength(StringRef name) { return name == "seq_q" || name == "seq_kv"; }

bool LengthExpression::isNeededFor(StringRef text) {
  Result<manifest::Expression> expression = manifest::Expression::parse(text);
  return expression.ok() && llvm::any_of(expression->variables(), isLength);
}

/// Whether the kernel computes `node`: in i32, and without what could not be undone by a bound.
static bool isSupported(const Node &node) {
  switch (node.operation) {
  case Kind::Constant:
    return node.constant.isInteger();
  case Kind::Variable:
  case Kind::Negate:
  case Kind::Add:
  case Kind::Subtract:
  case Kind::Min:
  case Kind::Max:
    return llvm::all_of(node.operands, [](const auto &operand) { return isSupported(*operand); });
  default:
    return false;
  }
}

Result<LengthExpression> LengthExpression::parse(StringRef text) {
  Result<manifest::Expression> expression = manifest::Expression::parse(text);
  if (!expression.ok())
    return expression.error();
  if (!isSupported(expression->tree()))
    return unsupported("the number '" + text.str() +
                       "' depends on lengths, which each sequence has for itself here: a kernel "
                       "computes sums, differences, minima and maxima of them; take 'seq_q' and "
                       "'seq_kv' and compute with them in the region");
  return LengthExpression(*std::move(expression));
}

namespace {
/// The least and the greatest value, as expressions over the problem's variables.
struct Interval {
  std::string lo, hi;
};
} // namespace

static Interval intervalOf(const Node &node) {
  SmallVector<Interval> operands;
  for (const auto &operand : node.operands)
    operands.push_back(intervalOf(*operand));
  auto joined = [&](const char *function) {
    Interval all = {std::string(function) + "(", std::string(function) + "("};
    for (auto [index, operand] : llvm::enumerate(operands)) {
      all.lo += (index ? ", " : "") + operand.lo;
      all.hi += (index ? ", " : "") + operand.hi;
    }
    return Interval{all.lo + ")", all.hi + ")"};
  };
  switch (node.operation) {
  case Kind::Constant:
    return {std::to_string(node.constant.asInteger()), std::to_string(node.constant.asInteger())};
  case Kind::Variable:
    return {isLength(node.variable) ? "0" : node.variable, node.variable};
  case Kind::Negate:
    return {"(0 - " + operands[0].hi + ")", "(0 - " + operands[0].lo + ")"};
  case Kind::Add:
    return {"(" + operands[0].lo + " + " + operands[1].lo + ")",
            "(" + operands[0].hi + " + " + operands[1].hi + ")"};
  case Kind::Subtract:
    return {"(" + operands[0].lo + " - " + operands[1].hi + ")",
            "(" + operands[0].hi + " - " + operands[1].lo + ")"};
  case Kind::Min:
    return joined("min");
  default:
    return joined("max");
  }
}

void LengthExpression::addArguments(KernelFrame &frame, int64_t most) const {
  for (const std::string &name : expression.variables()) {
    if (isLength(name))
      continue;
    StringRef kept = StringAttr::get(frame.context(), name).getValue();
    Type i32 = IntegerType::get(frame.context(), 32);
    if (!frame.typeOf(kept))
      frame.addScalar(i32, kept);
  }
  Interval range = intervalOf(expression.tree());
  frame.require("max(" + range.hi + ", 0 - " + range.lo + ") <= " + Twine(most),
                "'" + expression.text() + "' may be at most " + Twine(most) + " in size");
}

void LengthExpression::bindArguments(const KernelFrame &frame) {
  for (const std::string &name : expression.variables())
    if (!isLength(name))
      arguments[name] = frame.argument(name);
}

Value LengthExpression::emit(ExpansionBuilder &builder, Value seqQ, Value seqKv) const {
  return emitNode(builder, expression.tree(), seqQ, seqKv);
}

Value LengthExpression::emitNode(ExpansionBuilder &builder, const Node &node, Value seqQ,
                                 Value seqKv) const {
  SmallVector<Value> operands;
  for (const auto &operand : node.operands)
    operands.push_back(emitNode(builder, *operand, seqQ, seqKv));
  auto folded = [&](auto combine) {
    Value result = operands.front();
    for (Value operand : ArrayRef(operands).drop_front())
      result = combine(result, operand);
    return result;
  };
  switch (node.operation) {
  case Kind::Constant:
    return builder.constant(node.constant.asInteger());
  case Kind::Variable:
    return node.variable == "seq_q"    ? seqQ
           : node.variable == "seq_kv" ? seqKv
                                       : arguments.lookup(node.variable);
  case Kind::Negate:
    return arith::SubIOp::create(builder, builder.constant(int64_t(0)), operands[0]);
  case Kind::Add:
    return arith::AddIOp::create(builder, operands[0], operands[1]);
  case Kind::Subtract:
    return arith::SubIOp::create(builder, operands[0], operands[1]);
  case Kind::Min:
    return folded([&](Value a, Value b) -> Value { return arith::MinSIOp::create(builder, a, b); });
  default:
    return folded([&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, a, b); });
  }
}
