// The derivatives of ops of arith and math, as code.
#include "Attn/Transforms/Derivative.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace hocket::attn;

namespace {
/// Emits the expressions that derivatives are made of. What is multiplied by 1 folds.
class Formula {
public:
  Formula(ImplicitLocOpBuilder &builder, Type type) : builder(builder), type(type) {}

  Value number(double value) const {
    return arith::ConstantOp::create(builder, builder.getFloatAttr(type, value));
  }
  /// `x`, or the largest number there is: what has no say, zero, times it is zero.
  Value finite(Value x) const {
    const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
    Value largest =
        arith::ConstantOp::create(builder, FloatAttr::get(type, APFloat::getLargest(semantics)));
    return arith::MinimumFOp::create(builder, x, largest);
  }
  Value add(Value a, Value b) const { return builder.createOrFold<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return builder.createOrFold<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return builder.createOrFold<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) const { return builder.createOrFold<arith::DivFOp>(a, b); }
  Value neg(Value a) const { return builder.createOrFold<arith::NegFOp>(a); }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, condition, a, b);
  }
  Value is(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, predicate, a, b);
  }
  template <typename Function> Value of(Value x) const { return Function::create(builder, x); }

private:
  ImplicitLocOpBuilder &builder;
  Type type;
};
} // namespace

/// d result / dx of a function of one number; null: there is none.
static Value slopeOf(const Formula &f, Operation *op, Value x, Value result) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return f.finite(result); })
      .Case([&](math::Exp2Op) { return f.mul(f.finite(result), f.number(std::numbers::ln2)); })
      .Case([&](math::ExpM1Op) { return f.finite(f.add(result, f.number(1))); })
      .Case([&](math::LogOp) { return f.div(f.number(1), x); })
      .Case([&](math::Log2Op) { return f.div(f.number(std::numbers::log2e), x); })
      .Case([&](math::Log10Op) { return f.div(f.number(std::numbers::log10e), x); })
      .Case([&](math::Log1pOp) { return f.div(f.number(1), f.add(x, f.number(1))); })
      .Case([&](math::SqrtOp) { return f.div(f.number(0.5), result); })
      .Case([&](math::RsqrtOp) {
        return f.mul(f.mul(result, result), f.mul(result, f.number(-0.5)));
      })
      .Case([&](math::TanhOp) { return f.sub(f.number(1), f.mul(result, result)); })
      .Case([&](math::ErfOp) {
        Value bell = f.of<math::ExpOp>(f.neg(f.mul(x, x)));
        return f.mul(bell, f.number(2 * std::numbers::inv_sqrtpi));
      })
      .Case([&](math::SinOp) { return f.of<math::CosOp>(x); })
      .Case([&](math::CosOp) { return f.neg(f.of<math::SinOp>(x)); })
      .Case([&](math::AbsFOp) {
        Value zero = f.number(0);
        Value negative = f.select(f.is(arith::CmpFPredicate::OLT, x, zero), f.number(-1), zero);
        return f.select(f.is(arith::CmpFPredicate::OGT, x, zero), f.number(1), negative);
      })
      .Default([](Operation *) { return Value(); });
}

/// The powers' derivatives by base and exponent, whatever the other is.
static Value slopeOfBase(const Formula &f, ImplicitLocOpBuilder &builder, Value x, Value y) {
  Value less = f.sub(y, f.number(1));
  return f.mul(y, math::PowFOp::create(builder, x, less));
}
static Value slopeOfExponent(const Formula &f, Value x, Value result) {
  Value none = f.is(arith::CmpFPredicate::OEQ, x, f.number(0));
  return f.select(none, f.number(0), f.mul(result, f.of<math::LogOp>(x)));
}

/// Ops that are constant but for steps.
static bool isStep(Operation *op) {
  return isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp>(op);
}

std::optional<SmallVector<Value>>
hocket::attn::adjointsOfOperands(ImplicitLocOpBuilder &builder, Operation *op, Value adjoint,
                                 function_ref<bool(Value)> isWanted) {
  Value result = op->getResult(0), g = adjoint;
  Formula f(builder, result.getType());
  SmallVector<Value> values(op->getNumOperands());
  // Those that nobody wants are not emitted.
  auto hand = [&](unsigned index, function_ref<Value()> value) {
    if (isWanted(op->getOperand(index)))
      values[index] = value();
  };
  auto operand = [&](unsigned index) { return op->getOperand(index); };
  auto larger = [&](arith::CmpFPredicate predicate) {
    Value first = f.is(predicate, operand(0), operand(1));
    hand(0, [&] { return f.select(first, g, f.number(0)); });
    hand(1, [&] { return f.select(first, f.number(0), g); });
  };
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::AddFOp) {
        for (unsigned index : {0, 1})
          hand(index, [&] { return g; });
      })
      .Case([&](arith::SubFOp) {
        hand(0, [&] { return g; });
        hand(1, [&] { return f.neg(g); });
      })
      .Case([&](arith::MulFOp) {
        for (unsigned index : {0, 1})
          hand(index, [&] { return f.mul(operand(1 - index), g); });
      })
      .Case([&](arith::DivFOp) {
        hand(0, [&] { return f.div(g, operand(1)); });
        hand(1, [&] { return f.neg(f.div(f.mul(result, g), operand(1))); });
      })
      .Case([&](arith::NegFOp) { hand(0, [&] { return f.neg(g); }); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) { larger(arith::CmpFPredicate::OGE); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) { larger(arith::CmpFPredicate::OLE); })
      .Case([&](arith::SelectOp) {
        hand(1, [&] { return f.select(operand(0), g, f.number(0)); });
        hand(2, [&] { return f.select(operand(0), f.number(0), g); });
      })
      .Case([&](arith::ExtFOp) {
        hand(0, [&]() -> Value { return arith::TruncFOp::create(builder, operand(0).getType(), g); });
      })
      .Case([&](arith::TruncFOp) {
        hand(0, [&]() -> Value { return arith::ExtFOp::create(builder, operand(0).getType(), g); });
      })
      .Case([&](math::FmaOp) {
        for (unsigned index : {0, 1})
          hand(index, [&] { return f.mul(operand(1 - index), g); });
        hand(2, [&] { return g; });
      })
      .Case([&](math::PowFOp) {
        hand(0, [&] { return f.mul(slopeOfBase(f, builder, operand(0), operand(1)), g); });
        hand(1, [&] { return f.mul(slopeOfExponent(f, operand(0), result), g); });
      })
      .Case([&](math::CopySignOp) {
        hand(0, [&] {
          Value one = f.number(1);
          Value from = math::CopySignOp::create(builder, one, operand(0));
          Value to = math::CopySignOp::create(builder, one, operand(1));
          return f.mul(f.mul(from, to), g);
        });
      })
      .Default([&](Operation *) {
        if (isStep(op))
          return;
        Value slope = op->getNumOperands() == 1 ? slopeOf(f, op, operand(0), result) : Value();
        isKnown = slope != nullptr;
        if (isKnown)
          hand(0, [&] { return f.mul(slope, g); });
      });
  if (!isKnown)
    return std::nullopt;
  return values;
}
