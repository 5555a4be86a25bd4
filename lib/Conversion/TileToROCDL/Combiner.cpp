// How two numbers become one in a reduction.
#include "Combiner.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

Value Combiner::operator()(Value a, Value b) const {
  switch (kind) {
  case tile::Reduction::Sum:
    return isFloat ? arith::AddFOp::create(emit, a, b).getResult() : emit.add(a, b);
  case tile::Reduction::Max:
    return isFloat ? arith::MaximumFOp::create(emit, a, b).getResult()
                   : arith::MaxSIOp::create(emit, a, b).getResult();
  case tile::Reduction::Min:
    return isFloat ? arith::MinimumFOp::create(emit, a, b).getResult()
                   : arith::MinSIOp::create(emit, a, b).getResult();
  case tile::Reduction::Any: // not 0: one has a bit
    return arith::OrIOp::create(emit, a, b);
  case tile::Reduction::All: // not 0: the smallest is not
    return arith::MinUIOp::create(emit, a, b);
  }
  llvm_unreachable("unknown reduction");
}

Value Combiner::widen(Value value) const {
  auto vector = dyn_cast<VectorType>(value.getType());
  Type wide = vector ? Type(VectorType::get(vector.getShape(), type())) : type();
  if (wide == value.getType())
    return value;
  return isFloat ? arith::ExtFOp::create(emit, wide, value).getResult()
                 : arith::ExtSIOp::create(emit, wide, value).getResult();
}

Value Combiner::finish(Value value, Type element) const {
  if (kind == tile::Reduction::Any || kind == tile::Reduction::All) {
    Value isTrue = arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, value, emit.i32(0));
    value = arith::ExtUIOp::create(emit, emit.getI32Type(), isTrue);
  }
  if (element == type())
    return value;
  return isFloat ? arith::TruncFOp::create(emit, element, value).getResult()
                 : arith::TruncIOp::create(emit, element, value).getResult();
}

/// Of sums halves are added, so that packed instructions do it; others are combined one after the
/// other, which instructions of three operands do.
Value Combiner::fold(Value value) const {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return value;
  int64_t count = vector.getNumElements();
  if (kind == tile::Reduction::Sum)
    for (; count > 1; count /= 2) {
      auto half = [&](int64_t first) -> Value {
        return vector::ExtractStridedSliceOp::create(emit, value, first, count / 2, 1);
      };
      value = (*this)(half(0), half(count / 2));
    }
  Value result = emit.element(value, 0);
  for (int64_t i = 1; i < count; ++i)
    result = (*this)(result, emit.element(value, i));
  return result;
}
