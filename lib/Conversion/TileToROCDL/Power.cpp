// math.powf in f32, a number at a time.
//
// An error of the logarithm is multiplied by the exponent, up to 150 here, so that the logarithm and
// its product are computed in f64, which matrix chips do as fast as f32: log2(m 2^e) = e + log2(m)
// with m next to 1, log2(m) = 2 / ln 2 atanh(s) by its series, s = (m - 1) / (m + 1). Only the
// fraction of the product goes through the f32 exponential. MLIR's expansion (math-expand-ops) is
// exp(y log x) in f32, whose error grows with the result's exponent.
#include "Elementary.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numbers>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
class Power {
public:
  Power(Emitter &emit, Value x, Value y) : emit(emit), x(x), y(y) {}
  Value compute();

private:
  Value f32(float value) { return emit.f32(value); }
  Value f64(double value) { return arith::ConstantOp::create(emit, emit.getF64FloatAttr(value)); }
  Value fma(Value a, Value b, Value c) { return LLVM::FMAOp::create(emit, a, b, c); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(emit, a, b); }
  Value add(Value a, Value b) { return arith::AddFOp::create(emit, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(emit, a, b); }
  Value widen(Value a) { return arith::ExtFOp::create(emit, emit.getF64Type(), a); }
  Value narrow(Value a) { return arith::TruncFOp::create(emit, emit.getF32Type(), a); }
  Value trunc(Value a) { return LLVM::FTruncOp::create(emit, a); }
  Value is(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(emit, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(emit, condition, a, b);
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(emit, a, b); }

  Value reciprocal(Value a);
  Value binaryLogarithm(Value size);
  Value powerOfTwo(Value exponent);

  Emitter &emit;
  Value x, y;
};
} // namespace

/// Of f64, to some 46 bits: the f32 instruction's and a step of Newton's.
Value Power::reciprocal(Value a) {
  Value guess = widen(emit.intrinsic("llvm.amdgcn.rcp", emit.getF32Type(), narrow(a)));
  Value negated = arith::NegFOp::create(emit, a);
  return fma(guess, fma(negated, guess, f64(1)), guess);
}

/// In f64, of a positive f32; what it gives for others is replaced.
Value Power::binaryLogarithm(Value size) {
  Type type = emit.getF64Type();
  Value wide = widen(size);
  Value mantissa = emit.intrinsic("llvm.amdgcn.frexp.mant", type, wide);
  Value exponent = emit.intrinsic("llvm.amdgcn.frexp.exp", emit.getI32Type(), wide);
  // From sqrt(1/2) to sqrt(2).
  Value isSmall = is(arith::CmpFPredicate::OLT, mantissa, f64(std::numbers::sqrt2 / 2));
  mantissa = select(isSmall, add(mantissa, mantissa), mantissa);
  exponent = arith::SubIOp::create(
      emit, exponent, arith::ExtUIOp::create(emit, emit.getI32Type(), isSmall));
  Value above = sub(mantissa, f64(1)), sum = add(mantissa, f64(1));
  Value inverse = reciprocal(sum), guess = mul(above, inverse);
  Value negated = arith::NegFOp::create(emit, sum);
  Value s = fma(fma(negated, guess, above), inverse, guess);
  // s^2 is below 0.0295, and what is left out 2^-40 of the sum.
  Value square = mul(s, s), series = f64(1.0 / 15);
  for (int64_t divisor = 13; divisor > 0; divisor -= 2)
    series = fma(series, square, f64(1.0 / static_cast<double>(divisor)));
  Value logarithm = mul(mul(s, f64(2 / std::numbers::ln2)), series);
  return add(logarithm, arith::SIToFPOp::create(emit, type, exponent));
}

/// Of f64 to f32; no NaN comes out, whatever goes in.
Value Power::powerOfTwo(Value exponent) {
  // Beyond, results are infinite and zero.
  Value bounded = LLVM::MinNumOp::create(emit, exponent, f64(200));
  bounded = LLVM::MaxNumOp::create(emit, bounded, f64(-200));
  Value whole = LLVM::RoundEvenOp::create(emit, bounded);
  Value fraction = narrow(sub(bounded, whole));
  Value number = arith::FPToSIOp::create(emit, emit.getI32Type(), whole);
  Value mantissa = emit.intrinsic("llvm.amdgcn.exp2", emit.getF32Type(), fraction);
  return emit.intrinsic("llvm.ldexp", emit.getF32Type(), {mantissa, number});
}

/// Special cases as C has them.
Value Power::compute() {
  using P = arith::CmpFPredicate;
  const float inf = std::numeric_limits<float>::infinity();
  Value zero = f32(0), one = f32(1), nan = f32(std::numeric_limits<float>::quiet_NaN());
  Value size = LLVM::FAbsOp::create(emit, x);
  Value logarithm = binaryLogarithm(size);
  logarithm = select(is(P::OEQ, size, zero), f64(-inf), logarithm);
  logarithm = select(is(P::OEQ, size, f32(inf)), f64(inf), logarithm);
  Value result = powerOfTwo(mul(widen(y), logarithm));
  // Infinite exponents, whose products with 0 are none.
  result = select(is(P::OEQ, size, one), one, result);

  Value half = mul(y, f32(0.5f));
  Value isWhole = is(P::OEQ, trunc(y), y);
  Value isOdd = both(isWhole, is(P::UNE, trunc(half), half));
  Value sign = LLVM::CopySignOp::create(emit, one, x);
  result = mul(result, select(isOdd, sign, one));
  Value isNegative = both(is(P::OLT, x, zero), is(P::OGT, x, f32(-inf)));
  Value isFraction = is(P::UNE, trunc(y), y);
  result = select(both(isNegative, isFraction), nan, result);
  result = select(is(P::UNO, x, y), nan, result);
  result = select(is(P::OEQ, y, zero), one, result);
  return select(is(P::OEQ, x, one), one, result);
}

Value hocket::lowering::power(Emitter &emit, Value x, Value y) {
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector)
    return Power(emit, x, y).compute();
  SmallVector<Value> results;
  for (int64_t i = 0; i != vector.getNumElements(); ++i)
    results.push_back(Power(emit, emit.element(x, i), emit.element(y, i)).compute());
  return vector::FromElementsOp::create(emit, vector, results);
}
