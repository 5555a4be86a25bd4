// Regions that compute one element, emitted on vectors, so that LLVM finds packed instructions.
//
// An arith op is repeated on vectors as it stands, without flags. bf16 has no arithmetic of its own:
// it is computed in f32 and rounded, and so are functions of the math dialect in f16. Conversions to
// integers saturate, whereas arith leaves numbers out of range undefined.
#include "RegionEmitter.h"

#include "SmallFloats.h"

#include "Elementary.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static Type elementOf(Type type) { return getElementTypeOrSelf(type); }

Type RegionEmitter::like(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

Value RegionEmitter::spread(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return emit.splat(value, VectorType::get({count}, value.getType()));
}

/// Between floating-point types.
Value RegionEmitter::convert(Value x, Type element) {
  Type from = elementOf(x.getType());
  if (from == element)
    return x;
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(emit, like(x, element), x);
  return arith::TruncFOp::create(emit, like(x, element), x);
}

Value RegionEmitter::repeat(Operation *op, Type element, ValueRange operands) {
  OperationState state(emit.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(like(operands.front(), element));
  // What a comparison compares; flags are left out.
  if (std::optional<Attribute> predicate = op->getInherentAttr("predicate"); predicate && *predicate)
    state.addAttribute("predicate", *predicate);
  return emit.create(state)->getResult(0);
}

Value RegionEmitter::toInteger(Operation *op, Value x, bool isSigned) {
  Type element = op->getResult(0).getType();
  return emit.intrinsic(isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat", like(x, element),
                        convert(x, emit.getF32Type()));
}

/// Whether the op computes in f32 what its type says is narrower.
static bool widens(Operation *op) {
  if (isa<arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  bool isMath = isa<math::MathDialect>(op->getDialect());
  bool toFloat = isa<arith::SIToFPOp, arith::UIToFPOp>(op);
  auto narrow = [&](Type type) { return type.isBF16() || ((isMath || toFloat) && type.isF16()); };
  return llvm::any_of(op->getOperandTypes(), narrow) || llvm::any_of(op->getResultTypes(), narrow);
}

/// What lanes hold for a constant.
static TypedAttr storedConstant(arith::ConstantOp constant) {
  auto number = dyn_cast<FloatAttr>(constant.getValue());
  if (!number || !isSmallFloat(number.getType()))
    return constant.getValue();
  return IntegerAttr::get(storedType(number.getType()), number.getValue().bitcastToAPInt());
}

/// Ops on floats of 8 bits: conversions, by way of f32 where the chip has none that is direct, and their bits as they are;
/// null for other ops.
Value RegionEmitter::convertSmall(Operation *op, ValueRange operands) {
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(op))
    return {};
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (!isSmallFloat(from) && !isSmallFloat(to))
    return {};
  Value x = operands.front();
  if (isa<arith::BitcastOp>(op))
    return x;
  if (isSmallFloat(from) && canWidenTo(arch, x.getType(), to))
    return widenSmallTo(emit, x, from, to);
  x = isSmallFloat(from) ? widenSmall(emit, x, from) : convert(x, emit.getF32Type());
  return isSmallFloat(to) ? narrowSmall(emit, x, to) : convert(x, to);
}

Value RegionEmitter::emitOp(Operation *op) {
  Type result = storedType(op->getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(emit, storedConstant(constant));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(valueOf(operand));
  if (llvm::any_of(operands, [](Value v) { return isa<VectorType>(v.getType()); }))
    for (Value &operand : operands)
      operand = spread(operand);
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return toInteger(op, operands.front(), isa<arith::FPToSIOp>(op));

  if (Value value = convertSmall(op, operands))
    return value;
  if (isa<math::AbsIOp>(op)) {
    Value zero = arith::SubIOp::create(emit, operands.front(), operands.front());
    Value negated = arith::SubIOp::create(emit, zero, operands.front());
    return arith::MaxSIOp::create(emit, operands.front(), negated);
  }

  bool wide = widens(op);
  Type f32 = emit.getF32Type();
  if (wide)
    for (Value &operand : operands)
      if (isa<FloatType>(elementOf(operand.getType())))
        operand = convert(operand, f32);
  if (Value value = elementary(emit, op, operands))
    return isa<FloatType>(result) ? convert(value, result) : value;
  Type computed = wide && isa<FloatType>(result) ? f32 : result;
  Value value = repeat(op, computed, operands);
  return computed == result ? value : convert(value, result);
}

void RegionEmitter::emitOps(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!values.contains(op.getResult(0)))
      bind(op.getResult(0), emitOp(&op));
}
