// A factor, from the end of a region up to its numbers.
#include "ScaledYield.h"

#include "Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace hocket;

namespace {
class YieldScaling {
public:
  YieldScaling(Block &body, float factor, bool asksOfScore);
  bool run();

private:
  bool isNumber(Value value) const { return numbers.contains(value); }
  bool takesFactor(Value value, int64_t depth = 0) const;
  Value times(Value value);
  std::pair<Value, Value> product(Value a, Value b);
  Value scaled(Value value);

  Block &body;
  float factor;
  bool asksOfScore;   ///< whether the score may come times the factor
  bool asked = false; ///< whether it must
  ImplicitLocOpBuilder builder;
  llvm::DenseSet<Value> numbers; ///< the same for all scores of a head
};
} // namespace

YieldScaling::YieldScaling(Block &body, float factor, bool asksOfScore)
    : body(body), factor(factor), asksOfScore(asksOfScore && body.getArgument(0).hasOneUse()),
      builder(body.getTerminator()->getLoc(), body.getTerminator()) {
  constexpr unsigned batch = 1, head = 2, own = attn::ScoreModOp::kOwnArguments;
  for (BlockArgument argument : body.getArguments())
    if (unsigned number = argument.getArgNumber(); number == batch || number == head || number >= own)
      numbers.insert(argument);
  for (Operation &op : body.without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value operand) { return isNumber(operand); }))
      numbers.insert(op.result_begin(), op.result_end());
}

/// The factor goes through no more operations than these.
static constexpr int64_t kMaxDepth = 64;

/// Whether `value` can be made `factor` times as large at no cost a score.
bool YieldScaling::takesFactor(Value value, int64_t depth) const {
  if (isNumber(value) || value == body.getArgument(0))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || depth == kMaxDepth)
    return false;
  auto takes = [&](unsigned index) { return takesFactor(op->getOperand(index), depth + 1); };
  if (isa<arith::MulFOp>(op))
    return takes(0) || takes(1);
  if (isa<math::FmaOp>(op))
    return (takes(0) || takes(1)) && takes(2);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return takes(0) && takes(1);
  if (isa<arith::SelectOp>(op))
    return takes(1) && takes(2);
  return isa<arith::NegFOp, arith::DivFOp>(op) && takes(0);
}

Value YieldScaling::times(Value value) {
  Value by = arith::ConstantOp::create(builder, builder.getF32FloatAttr(factor));
  return arith::MulFOp::create(builder, value, by);
}

/// The operands of a product that is `factor` times that of `a` and `b`.
std::pair<Value, Value> YieldScaling::product(Value a, Value b) {
  if (isNumber(b) || (!isNumber(a) && !takesFactor(a)))
    return {a, scaled(b)};
  return {scaled(a), b};
}

Value YieldScaling::scaled(Value value) {
  if (value == body.getArgument(0) && asksOfScore) {
    asked = true;
    return value;
  }
  Operation *op = value.getDefiningOp();
  if (isNumber(value) || !op || !takesFactor(value))
    return times(value);
  auto operand = [&](unsigned index) { return op->getOperand(index); };
  if (isa<arith::MulFOp>(op)) {
    auto [a, b] = product(operand(0), operand(1));
    return arith::MulFOp::create(builder, a, b);
  }
  if (isa<math::FmaOp>(op)) {
    auto [a, b] = product(operand(0), operand(1));
    return math::FmaOp::create(builder, a, b, scaled(operand(2)));
  }
  // Of these all operands take it, but a divisor and what selects.
  IRMapping mapping;
  for (auto [index, each] : llvm::enumerate(op->getOperands())) {
    bool isOther = isa<arith::SelectOp>(op) ? index == 0 : isa<arith::DivFOp>(op) && index == 1;
    if (!isOther)
      mapping.map(each, scaled(each));
  }
  return builder.clone(*op, mapping)->getResult(0);
}

bool YieldScaling::run() {
  Operation *yield = body.getTerminator();
  yield->setOperand(0, scaled(yield->getOperand(0)));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return asked;
}

bool hocket::scaleYield(Block &body, float factor, bool asksOfScore) {
  return YieldScaling(body, factor, asksOfScore).run();
}
