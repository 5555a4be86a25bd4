// Elementary functions in f32.
//
// exp, log, log2, log10, sqrt and rounding are LLVM's, which expands them in place; exp2, rsqrt and
// rcp are the hardware's. tanh, erf, sin and cos are composed here, of minimax polynomials whose
// coefficients were fitted for this file (Remez exchange in float64, rounded to f32), expm1 of its
// series and log1p of log, in forms that lose nothing to cancellation. Power.cpp has powf.
#include "Elementary.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// f32 arithmetic on numbers and vectors alike.
class Math {
public:
  explicit Math(Emitter &emit) : emit(emit) {}

  Value constant(float value, Type type) {
    Value scalar = emit.f32(value);
    auto vector = dyn_cast<VectorType>(type);
    return vector ? emit.splat(scalar, vector) : scalar;
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(emit, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(emit, a, b); }
  Value mul(Value a, float b) { return mul(a, constant(b, a.getType())); }
  Value fma(Value a, Value b, Value c) { return LLVM::FMAOp::create(emit, a, b, c); }
  Value fma(Value a, float b, Value c) { return fma(a, constant(b, a.getType()), c); }
  Value abs(Value x) { return LLVM::FAbsOp::create(emit, x); }
  Value copySign(Value x, Value sign) { return LLVM::CopySignOp::create(emit, x, sign); }
  Value isBelow(Value x, float bound) {
    return arith::CmpFOp::create(emit, arith::CmpFPredicate::OLT, x, constant(bound, x.getType()));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(emit, condition, a, b);
  }
  /// coefficients[0] + x (coefficients[1] + x (...)).
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = constant(coefficients.back(), x.getType());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constant(coefficient, x.getType()));
    return sum;
  }

  Value exp2(Value x) { return each(x, "llvm.amdgcn.exp2"); }
  Value reciprocal(Value x) { return each(x, "llvm.amdgcn.rcp"); }
  Value reciprocalRoot(Value x) { return each(x, "llvm.amdgcn.rsq"); }

  Value tanh(Value x);
  Value erf(Value x);
  Value log1p(Value x);
  Value expm1(Value x);
  /// sin(x + quarters * pi / 2), for 0 and 1 quarters.
  Value sine(Value x, int quarters);

private:
  /// An instruction for each number.
  Value each(Value x, StringRef intrinsic) {
    auto vector = dyn_cast<VectorType>(x.getType());
    Type f32 = emit.getF32Type();
    if (!vector)
      return emit.intrinsic(intrinsic, f32, x);
    SmallVector<Value> results;
    for (int64_t i = 0; i != vector.getNumElements(); ++i)
      results.push_back(emit.intrinsic(intrinsic, f32, emit.element(x, i)));
    return vector::FromElementsOp::create(emit, vector, results);
  }

  Emitter &emit;
};
} // namespace

/// Near 0 an odd polynomial, else 1 - 2 / (exp(2 |x|) + 1).
Value Math::tanh(Value x) {
  constexpr float kSmall = 0.625f;
  Value square = mul(x, x);
  Value series = polynomial(square, {-0.33333284f, 0.13331491f, -0.053743497f, 0.020650588f,
                                     -0.005717045f});
  Value small = fma(mul(x, square), series, x);
  Value size = abs(x);
  Value exponential = exp2(mul(size, 2 * std::numbers::log2e_v<float>));
  Value one = constant(1.0f, x.getType());
  Value large = fma(reciprocal(add(exponential, one)), -2.0f, one);
  return select(isBelow(size, kSmall), small, copySign(large, x));
}

/// Near 0 an odd polynomial, else 1 - erfc, whose logarithm is a polynomial.
Value Math::erf(Value x) {
  constexpr float kSmall = 1.0f, kSaturated = 4.0f;
  Value square = mul(x, x);
  Value series = polynomial(square, {0.12837911f, -0.37612626f, 0.112835854f, -0.026853813f,
                                     0.0051883277f, -0.00080101937f, 7.8538607e-05f});
  Value small = fma(x, series, x);
  Value size = abs(x);
  Value top = constant(kSaturated, x.getType());
  // A NaN stays one: the comparison fails and the number is taken as it is.
  Value within = select(arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, size, top), top, size);
  Value logarithm =
      polynomial(within, {-0.0005103108f, -1.625975f, -0.9207650f, -0.1486515f, 0.031458419f,
                          -0.0042409557f, 0.00026772660f});
  Value one = constant(1.0f, x.getType());
  Value large = fma(exp2(logarithm), -1.0f, one);
  return select(isBelow(size, kSmall), small, copySign(large, x));
}

/// log(1 + x), corrected by what the sum has lost.
Value Math::log1p(Value x) {
  Type type = x.getType();
  Value one = constant(1.0f, type), zero = constant(0.0f, type);
  Value sum = add(x, one);
  Value lost = arith::SubFOp::create(emit, x, arith::SubFOp::create(emit, sum, one));
  Value logarithm = LLVM::LogOp::create(emit, sum);
  Value corrected = fma(lost, reciprocal(sum), logarithm);
  // At the ends, where the correction is no number.
  Value isFinite = arith::CmpFOp::create(
      emit, arith::CmpFPredicate::OLT, sum,
      constant(std::numeric_limits<float>::infinity(), type));
  Value isPositive = arith::CmpFOp::create(emit, arith::CmpFPredicate::OGT, sum, zero);
  return select(arith::AndIOp::create(emit, isFinite, isPositive), corrected, logarithm);
}

/// With n the whole number next to x / ln 2 and r = x - n ln 2: 2^n (exp(r) - 1) + (2^n - 1), in
/// halves, so that the largest results need no 2^128.
Value Math::expm1(Value x) {
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  Type type = x.getType();
  auto bounded = [&](Value value, arith::CmpFPredicate beyond, float bound) {
    Value limit = constant(bound, type); // a NaN is not beyond it
    return select(arith::CmpFOp::create(emit, beyond, value, limit), limit, value);
  };
  Value within = bounded(x, arith::CmpFPredicate::OGT, 88.8f);
  within = bounded(within, arith::CmpFPredicate::OLT, -30.0f);
  Value n = LLVM::RoundEvenOp::create(emit, mul(within, std::numbers::log2e_v<float>));
  Value rest = fma(n, -kLn2Low, fma(n, -kLn2High, within));
  // (exp(r) - 1 - r) / r^2 for |r| <= 0.35: the first terms of its series.
  Value series = polynomial(rest, {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720,
                                   1.0f / 5040, 1.0f / 40320});
  Value small = fma(mul(rest, rest), series, rest);
  auto vector = dyn_cast<VectorType>(type);
  Type i32 = vector ? Type(VectorType::get(vector.getShape(), emit.getI32Type())) : emit.getI32Type();
  Value exponent = emit.intrinsic("llvm.fptosi.sat", i32, add(n, constant(-1.0f, type)));
  Value half = emit.intrinsic("llvm.ldexp", type, {constant(1.0f, type), exponent});
  Value halved = fma(half, small, add(half, constant(-0.5f, type)));
  Value isZero = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, n, constant(0.0f, type));
  return select(isZero, small, mul(halved, 2.0f));
}

/// With n the whole number next to x / pi + quarters / 2, the sine of what is left of x, negated if
/// n is odd. pi stands in three parts, and products with n are exact as long as n is.
Value Math::sine(Value x, int quarters) {
  constexpr float kRange = 4194304.0f; // 2^22
  constexpr float kPi0 = 3.14159274f, kPi1 = -8.74227766e-08f, kPi2 = -3.43024902e-15f;
  Type type = x.getType();
  float phase = 0.5f * static_cast<float>(quarters);
  Value turns = fma(x, std::numbers::inv_pi_v<float>, constant(phase, type));
  Value whole = LLVM::RoundEvenOp::create(emit, turns);
  // x + quarters pi / 2 - n pi
  Value n = add(whole, constant(-phase, type));
  Value rest = fma(n, -kPi2, fma(n, -kPi1, fma(n, -kPi0, x)));
  Value square = mul(rest, rest);
  Value series = polynomial(square, {-0.16666667f, 0.008333331f, -0.00019840892f, 2.7526519e-06f,
                                     -2.3907361e-08f});
  Value sine = fma(mul(rest, square), series, rest);
  // n is odd where its half has a fraction.
  Value half = mul(whole, 0.5f);
  Value even = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, half,
                                     LLVM::RoundEvenOp::create(emit, half));
  Value result = select(even, sine, arith::NegFOp::create(emit, sine));
  Value nan = constant(std::numeric_limits<float>::quiet_NaN(), type);
  Value inRange = arith::CmpFOp::create(emit, arith::CmpFPredicate::OLE, abs(x),
                                        constant(kRange, type));
  return select(inRange, result, nan);
}

Value hocket::lowering::reciprocal(Emitter &emit, Value x) { return Math(emit).reciprocal(x); }

Value hocket::lowering::elementary(Emitter &emit, Operation *op, ValueRange operands) {
  Math math(emit);
  Value x = operands.front();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::AbsFOp) { return LLVM::FAbsOp::create(emit, x).getResult(); })
      .Case([&](math::CopySignOp) {
        return LLVM::CopySignOp::create(emit, x, operands[1]).getResult();
      })
      .Case([&](math::FmaOp) {
        return LLVM::FMAOp::create(emit, x, operands[1], operands[2]).getResult();
      })
      .Case([&](math::CeilOp) { return LLVM::FCeilOp::create(emit, x).getResult(); })
      .Case([&](math::FloorOp) { return LLVM::FFloorOp::create(emit, x).getResult(); })
      .Case([&](math::TruncOp) { return LLVM::FTruncOp::create(emit, x).getResult(); })
      .Case([&](math::RoundEvenOp) { return LLVM::RoundEvenOp::create(emit, x).getResult(); })
      .Case([&](math::ExpOp) { return LLVM::ExpOp::create(emit, x).getResult(); })
      .Case([&](math::LogOp) { return LLVM::LogOp::create(emit, x).getResult(); })
      .Case([&](math::Log10Op) { return LLVM::Log10Op::create(emit, x).getResult(); })
      .Case([&](math::Log1pOp) { return math.log1p(x); })
      .Case([&](math::ExpM1Op) { return math.expm1(x); })
      .Case([&](math::PowFOp) { return power(emit, x, operands[1]); })
      .Case([&](math::RoundOp) { return LLVM::RoundOp::create(emit, x).getResult(); })
      .Case([&](math::Log2Op) { return LLVM::Log2Op::create(emit, x).getResult(); })
      .Case([&](math::SqrtOp) { return LLVM::SqrtOp::create(emit, x).getResult(); })
      .Case([&](math::Exp2Op) { return math.exp2(x); })
      .Case([&](math::RsqrtOp) { return math.reciprocalRoot(x); })
      .Case([&](math::TanhOp) { return math.tanh(x); })
      .Case([&](math::ErfOp) { return math.erf(x); })
      .Case([&](math::SinOp) { return math.sine(x, 0); })
      .Case([&](math::CosOp) { return math.sine(x, 1); })
      .Default([](Operation *) { return Value(); });
}
