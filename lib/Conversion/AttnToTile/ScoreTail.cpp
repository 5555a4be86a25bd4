// From a region's end to the last value that differs by more than a product and a sum.
#include "ScoreTail.h"

#include "Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace hocket;

/// In size, of factor times inner, and of the addend: f32 holds their sum to 2e-4, also where they cancel.
static constexpr double kLargest = 4096;
/// No value is looked at through more operations.
static constexpr int64_t kMaxTailDepth = 64;

namespace {
/// What numbers in f32 are at least and at most.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  bool isPositive() const { return least > 0; }
  double size() const { return std::max(std::abs(least), std::abs(most)); }
};

/// Bounds of the values of a region.
class BoundsOf {
public:
  explicit BoundsOf(Operation *op) : op(op) {}
  Bounds operator()(Value value, int64_t depth = 0) const;

private:
  Bounds ofArgument(BlockArgument argument) const;
  Bounds ofProduct(Value a, Value b, int64_t depth) const;

  Operation *op;
};
} // namespace

/// What `attn.requires` says of the number: comparisons with constants.
Bounds BoundsOf::ofArgument(BlockArgument argument) const {
  Bounds bounds;
  auto name = cast<FunctionOpInterface>(op).getArgAttrOfType<StringAttr>(argument.getArgNumber(), "attn.value");
  auto rules = op->getAttrOfType<ArrayAttr>(attn::kRequires);
  if (!name || !rules)
    return bounds;
  for (ArrayAttr rule : rules.getAsRange<ArrayAttr>()) {
    SmallVector<StringRef> words;
    cast<StringAttr>(rule[0]).getValue().split(words, ' ', -1, /*KeepEmpty=*/false);
    double limit = 0;
    if (words.size() != 3 || words[0] != name.getValue() || words[2].getAsDouble(limit))
      continue;
    if (words[1] == ">" || words[1] == ">=")
      bounds.least = std::max(bounds.least, words[1] == ">" ? std::nextafter(limit, HUGE_VAL) : limit);
    else if (words[1] == "<" || words[1] == "<=")
      bounds.most = std::min(bounds.most, limit);
  }
  return bounds;
}

/// A square is not negative; the product of what is not bounded says nothing.
Bounds BoundsOf::ofProduct(Value a, Value b, int64_t depth) const {
  Bounds x = (*this)(a, depth), y = (*this)(b, depth), product;
  double corners[] = {x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most};
  if (llvm::none_of(corners, [](double corner) { return std::isnan(corner); }))
    product = {*llvm::min_element(corners), *llvm::max_element(corners)};
  if (a == b)
    product.least = std::max(product.least, 0.0);
  return product;
}

Bounds BoundsOf::operator()(Value value, int64_t depth) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return {constant.getValueAsDouble(), constant.getValueAsDouble()};
  Operation *made = value.getDefiningOp();
  if (!made || depth == kMaxTailDepth)
    return {};
  auto operand = [&](unsigned index) { return (*this)(made->getOperand(index), depth + 1); };
  if (isa<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(made))
    return {-1, 1};
  if (isa<math::Exp2Op, math::ExpOp, math::AbsFOp>(made))
    return {0, std::numeric_limits<double>::infinity()};
  if (isa<math::RsqrtOp>(made)) {
    // Instructions may be one unit beyond.
    Bounds of = operand(0);
    return {0, of.isPositive() ? 1.000001 / std::sqrt(of.least) : std::numeric_limits<double>::infinity()};
  }
  if (isa<arith::NegFOp>(made)) {
    Bounds of = operand(0);
    return {-of.most, -of.least};
  }
  if (isa<arith::AddFOp>(made)) {
    Bounds a = operand(0), b = operand(1);
    return {a.least + b.least, a.most + b.most};
  }
  if (isa<arith::MulFOp>(made))
    return ofProduct(made->getOperand(0), made->getOperand(1), depth + 1);
  return {};
}

namespace {
/// Goes from what is yielded to the tail's inner value, making up factor and addend.
class TailWalk {
public:
  TailWalk(Block &body, function_ref<bool(Value)> isNumber)
      : isNumber(isNumber), builder(body.getTerminator()->getLoc(), body.getTerminator()),
        tail{body.getTerminator()->getOperand(0), {}, {}} {}

  ScoreTail run() {
    while (step())
      ;
    return tail;
  }

private:
  bool step();
  Value times(Value number) {
    return tail.factor ? arith::MulFOp::create(builder, tail.factor, number).getResult() : number;
  }
  void multiply(Value number) { tail.factor = times(number); }
  void add(Value number) {
    Value more = times(number);
    tail.addend = tail.addend ? arith::AddFOp::create(builder, more, tail.addend).getResult() : more;
  }

  function_ref<bool(Value)> isNumber;
  ImplicitLocOpBuilder builder;
  ScoreTail tail;
};
} // namespace

/// Takes one operation into the tail; whether there was one.
bool TailWalk::step() {
  Operation *op = tail.inner.getDefiningOp();
  if (!op || isNumber(tail.inner) || !tail.inner.hasOneUse())
    return false;
  bool isProduct = isa<arith::MulFOp, math::FmaOp>(op), isFma = isa<math::FmaOp>(op);
  if (!isProduct && !isa<arith::AddFOp>(op) && !isa<arith::SubFOp>(op))
    return false;
  if (isFma && !isNumber(op->getOperand(2)))
    return false;
  unsigned number = isNumber(op->getOperand(1)) ? 1 : 0;
  if (!isNumber(op->getOperand(number)) || (isa<arith::SubFOp>(op) && number == 0))
    return false;
  if (isFma)
    add(op->getOperand(2));
  if (isProduct)
    multiply(op->getOperand(number));
  else
    add(isa<arith::SubFOp>(op) ? arith::NegFOp::create(builder, op->getOperand(1)).getResult() : op->getOperand(number));
  tail.inner = op->getOperand(1 - number);
  return true;
}

std::optional<ScoreTail> hocket::findScoreTail(Operation *op, Block &body, function_ref<bool(Value)> isNumber) {
  ScoreTail tail = TailWalk(body, isNumber).run();
  if (!tail.factor)
    return std::nullopt;
  BoundsOf boundsOf(op);
  Bounds factor = boundsOf(tail.factor);
  // Not above: NaN is not below it either.
  if (!factor.isPositive() || !(factor.size() * boundsOf(tail.inner).size() <= kLargest))
    return std::nullopt;
  if (tail.addend && !(boundsOf(tail.addend).size() <= kLargest))
    return std::nullopt;
  return tail;
}
