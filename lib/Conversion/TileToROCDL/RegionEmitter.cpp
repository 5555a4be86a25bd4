// Regions that compute one element, emitted on vectors, so that LLVM finds packed instructions.
//
// An arith op is repeated on vectors as it stands, without flags. bf16 has no arithmetic of its own:
// it is computed in f32 and rounded, and so are functions of the math dialect in f16. Conversions to
// integers saturate, whereas arith leaves numbers out of range undefined.
#include "RegionEmitter.h"

#include "SmallFloats.h"

#include "Elementary.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
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

/// Whether a number of the region is positive, or zero with the sign of positive ones, if it is not NaN.
static bool isPositive(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    return number && !number.getValue().isNegative();
  }
  if (isa<arith::AddFOp>(op))
    return isPositive(op->getOperand(0)) && isPositive(op->getOperand(1));
  return isa<math::ExpOp, math::Exp2Op, math::AbsFOp>(op);
}

/// The square of a reciprocal root of a number that is not negative, which is the reciprocal, where nothing else needs the
/// root; null for other ops.
Value RegionEmitter::squareOfRoot(Operation *op) {
  auto product = dyn_cast<arith::MulFOp>(op);
  if (!product || product.getLhs() != product.getRhs() || !product.getType().isF32())
    return {};
  auto root = product.getLhs().getDefiningOp<math::RsqrtOp>();
  bool isAlone = root && llvm::all_of(root->getUsers(), [&](Operation *user) { return user == op; });
  return isAlone && isPositive(root.getOperand()) ? reciprocal(emit, valueOf(root.getOperand())) : Value();
}

/// Two floats of 16 bits, or zero for each whose byte is more than a number: `select(byte <= number, x, 0)`. Both
/// differences from the number leave their signs in one word, of which one permutation makes a mask, where LLVM compares
/// and selects each half and puts them together again. Null for other ops.
Value RegionEmitter::keepByBytes(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  Type element = op->getResult(0).getType();
  if (!select || count != 2 || !element.isFloat() || element.getIntOrFloatBitWidth() != 16 ||
      !matchPattern(select.getFalseValue(), m_PosZeroFloat()))
    return {};
  auto comparison = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!comparison || comparison.getPredicate() != arith::CmpIPredicate::ule || !comparison.getLhs().getType().isInteger(32))
    return {};
  auto byte = comparison.getLhs().getDefiningOp<arith::ExtUIOp>();
  Value most = valueOf(comparison.getRhs()), kept = valueOf(select.getTrueValue());
  if (!byte || !byte.getIn().getType().isInteger(8) || isa<VectorType>(most.getType()) || !isa<VectorType>(kept.getType()))
    return {};
  Type i32 = emit.getI32Type();
  Value bytes = valueOf(byte.getIn());
  auto widened = [&](int64_t index) -> Value { return arith::ExtUIOp::create(emit, i32, emit.element(bytes, index)); };
  Value second = arith::ShLIOp::create(emit, widened(1), emit.i32(16));
  Value both = arith::OrIOp::create(emit, second, widened(0));
  // In each half 0x8000 + the number - the byte, whose highest bit says that it is kept; none borrows of the other.
  Value bounded = arith::MinUIOp::create(emit, most, emit.i32(0xff));
  Value half = emit.add(bounded, emit.i32(0x8000));
  Value limits = emit.mul(half, emit.i32(0x10001));
  Value left = arith::SubIOp::create(emit, limits, both);
  constexpr int32_t kSignsOfHalves = 0x09090808;
  Value mask = emit.intrinsic("llvm.amdgcn.perm", i32, {left, left, emit.i32(kSignsOfHalves)});
  Value bits = arith::AndIOp::create(emit, LLVM::BitcastOp::create(emit, i32, kept), mask);
  return LLVM::BitcastOp::create(emit, kept.getType(), bits);
}

Value RegionEmitter::emitOp(Operation *op) {
  Type result = storedType(op->getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(emit, storedConstant(constant));
  if (Value value = squareOfRoot(op))
    return value;
  if (Value value = keepByBytes(op))
    return value;
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
