// What may stand in regions that compute one element: a list, so that every op in it has a defined
// result for every input, a lowering without calls, and a meaning in the reference interpreter.
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/MatrixVerify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hocket::tile;

namespace {
/// What must hold of an op of the list beside its types.
enum class Condition { None, ConstantDivisor, ConstantShift };
} // namespace

static std::optional<Condition> conditionOf(StringRef name) {
  return llvm::StringSwitch<std::optional<Condition>>(name)
      .Cases({"arith.constant", "arith.select", "arith.cmpf", "arith.cmpi", "arith.bitcast"},
             Condition::None)
      .Cases({"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf"},
             Condition::None)
      .Cases({"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"},
             Condition::None)
      .Cases({"arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"},
             Condition::None)
      .Cases({"arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"}, Condition::None)
      .Cases({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"},
             Condition::ConstantDivisor)
      .Cases({"arith.shli", "arith.shrsi", "arith.shrui"}, Condition::ConstantShift)
      .Cases({"arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci"},
             Condition::None)
      .Cases({"arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"}, Condition::None)
      .Cases({"math.absf", "math.absi", "math.copysign", "math.fma", "math.ceil", "math.floor",
              "math.trunc", "math.round", "math.roundeven"},
             Condition::None)
      .Cases({"math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt"},
             Condition::None)
      .Cases({"math.tanh", "math.erf", "math.sin", "math.cos", "math.log10", "math.log1p",
              "math.expm1", "math.powf"},
             Condition::None)
      .Default(std::nullopt);
}

static StringRef wayOut(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("scf.if", "use 'arith.select'")
      .Case("math.fpowi", "multiply, or use 'math.powf'")
      .Case("math.cbrt", "use 'math.powf'")
      .Case("math.erfc", "subtract 'math.erf' from 1")
      .Case("math.tan", "divide 'math.sin' by 'math.cos'")
      .Cases({"math.sinh", "math.cosh"}, "use 'math.exp' or 'math.expm1'")
      .Cases({"math.isnan", "math.isinf", "math.isfinite", "math.isnormal"}, "use 'arith.cmpf'")
      .Case("math.clampf", "use 'arith.minimumf' and 'arith.maximumf'")
      .Case("arith.remf", "subtract 'math.floor' of the quotient times the divisor")
      .Case("arith.index_cast", "coordinates are i32 already")
      .Default("docs/Values.md lists what may stand there");
}

static bool isElementType(Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isSignlessInteger(32) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(8) || type.isSignlessInteger(1);
}

/// Floats of 8 bits are no numbers to compute with: they are converted, chosen among, and taken as their bits.
static bool takesSmallFloats(StringRef name) {
  return llvm::is_contained({"arith.extf", "arith.truncf", "arith.select", "arith.bitcast", "arith.constant"}, name);
}

/// What arith ops carry beside their operands and would change results.
static LogicalResult verifyPlain(Operation *op) {
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
      fast && fast.getFastMathFlagsAttr() &&
      fast.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
    return op->emitOpError("has fast-math flags, a map computes what is written; remove them");
  if (auto rounding = dyn_cast<arith::ArithRoundingModeInterface>(op);
      rounding && rounding.getRoundingModeAttr())
    return op->emitOpError("has a rounding mode, a map rounds to nearest even; remove it");
  return success();
}

static LogicalResult verifyCondition(Operation *op, Condition condition) {
  if (condition == Condition::None)
    return success();
  APInt value;
  bool known = matchPattern(op->getOperand(1), m_ConstantInt(&value));
  if (condition == Condition::ConstantDivisor) {
    if (known && !value.isZero() && !value.isAllOnes())
      return success();
    return op->emitOpError("divides by a number that is no constant, or 0 or -1; divide by another "
                           "constant, or in floating point");
  }
  if (known && value.ult(value.getBitWidth()))
    return success();
  return op->emitOpError() << "shifts by a number that is no constant from 0 to "
                           << cast<IntegerType>(op->getOperand(1).getType()).getWidth() - 1
                           << "; multiply or divide instead, or write the constant";
}

LogicalResult hocket::tile::verifyElementOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  std::optional<Condition> condition = conditionOf(name);
  if (!condition)
    return op->emitOpError() << "may not stand in a region that computes one element; "
                             << wayOut(name);
  for (Type type : llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                            llvm::to_vector(op->getResultTypes())))
    if (isSmallFloat(type) && !takesSmallFloats(name))
      return op->emitOpError() << "computes with " << type << "; widen it by 'arith.extf', and round by 'arith.truncf'";
    else if (!isSmallFloat(type) && !isElementType(type))
      return op->emitOpError() << "computes with " << type
                               << " in a region of elements, expected f32, f16, bf16, a float of 8 bits, i32, i16, i8 or i1";
  if (failed(verifyPlain(op)))
    return failure();
  return verifyCondition(op, *condition);
}

Type hocket::tile::elementTypeOf(Type type) {
  if (auto frag = dyn_cast<FragType>(type))
    return frag.getElementType();
  if (auto rows = dyn_cast<RowsType>(type))
    return rows.getElementType();
  if (auto columns = dyn_cast<ColumnsType>(type))
    return columns.getElementType();
  return type;
}
