// A region as a list of steps.
#include "Reference/ElementProgram.h"

#include "ElementOps.h"

#include "IR/ElementTypes.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>

using namespace hocket;
using namespace hocket::reference;

Result<ElementType> hocket::reference::computedTypeOf(mlir::Type type) {
  std::optional<ElementType> found = asElementType(type);
  constexpr ElementType computed[] = {ElementType::F32,        ElementType::F16,    ElementType::BF16,
                                      ElementType::I32,        ElementType::I16,    ElementType::I8,
                                      ElementType::I1,         ElementType::F8E4M3, ElementType::F8E5M2,
                                      ElementType::F8E4M3FNUZ, ElementType::F8E5M2FNUZ};
  if (found && llvm::is_contained(computed, *found))
    return *found;
  return invalidInput("a region of elements cannot compute with this type");
}

double hocket::reference::ulpOf(ElementType type, double value) {
  if (!isFloat(type))
    return 0;
  const ElementTypeInfo &info = infoOf(type);
  int exponent = value == 0 || !std::isfinite(value) ? info.leastExponent() : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, info.leastExponent()) - info.mantissaBits);
}

double hocket::reference::roundTo(ElementType type, double value) {
  // Conversions to floats of 8 bits saturate (docs/Values.md), infinities too.
  if (isFloat(type) && infoOf(type).bits == 8 && !std::isnan(value))
    return decode(type, encode(type, value, Overflow::Saturate));
  return isFloat(type) && std::isfinite(value) ? decode(type, encode(type, value)) : value;
}

Number hocket::reference::rounded(ElementType type, double value, double error) {
  double result = roundTo(type, value);
  if (std::isnan(error) || (std::isnan(result) && error != 0))
    return {result, kAnything};
  if (error == 0)
    return {result, 0};
  // Near the largest number the kernel's may be infinite, or the other way round.
  if (std::isfinite(error) && !std::isinf(result) &&
      !std::isinf(roundTo(type, std::copysign(std::fabs(value) + error, value))))
    return {result, error + ulpOf(type, std::fabs(value) + error)};
  return {result, kAnything};
}

/// The number of an arith.constant.
Result<Number> hocket::reference::constantOf(mlir::Operation &op) {
  mlir::Attribute value = op.getAttr("value");
  if (auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(value)) {
    llvm::APFloat wide = number.getValue();
    bool losesInfo = false;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return Number{wide.convertToDouble(), 0};
  }
  if (auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(value))
    return Number{static_cast<double>(number.getValue().getSExtValue()), 0};
  return invalidInput("a region of elements has a constant that is no number");
}

ElementFunction hocket::reference::functionOf(std::string_view name) {
  for (auto find : {arithmeticFunction, integerFunction, mathFunction})
    if (ElementFunction function = find(name))
      return function;
  return nullptr;
}

Result<ElementProgram> ElementProgram::create(mlir::Region &region) {
  mlir::Block &block = region.front();
  ElementProgram program;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  for (mlir::Value argument : block.getArguments())
    numbers[argument] = numbers.size();
  program.arguments = block.getNumArguments();
  for (mlir::Operation &op : block.without_terminator()) {
    std::string name = op.getName().getStringRef().str();
    Step step;
    if (op.getNumResults() != 1 || op.getNumOperands() > 3)
      return invalidInput("'" + name + "' is nothing that computes one element");
    Result<ElementType> to = reference::computedTypeOf(op.getResult(0).getType());
    if (!to)
      return to.error();
    step.from = step.to = *to;
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      Result<ElementType> type = reference::computedTypeOf(operand.getType());
      if (!type)
        return type.error();
      step.operands[index] = numbers.lookup(operand);
      if (index == 0)
        step.from = *type;
    }
    if (auto predicate = op.getAttrOfType<mlir::IntegerAttr>("predicate"))
      step.detail = predicate.getInt();
    step.function = functionOf(name);
    if (name == "arith.constant") {
      Result<Number> constant = constantOf(op);
      if (!constant)
        return constant.error();
      step.constant = *constant;
    } else if (!step.function) {
      return invalidInput("the interpreter of regions does not know '" + name + "'");
    }
    unsigned number = numbers.size();
    numbers[op.getResult(0)] = number;
    program.steps.push_back(step);
  }
  for (mlir::Value value : block.getTerminator()->getOperands())
    program.yields.push_back(numbers.lookup(value));
  return program;
}

std::vector<Number> ElementProgram::run(std::span<const Number> given) const {
  std::vector<Number> values(given.begin(), given.end());
  values.reserve(given.size() + steps.size());
  for (const Step &step : steps) {
    if (!step.function) {
      values.push_back(step.constant);
      continue;
    }
    Number operands[3];
    for (size_t i = 0; i != 3; ++i)
      operands[i] = values[step.operands[i]];
    values.push_back(step.function(operands, step.from, step.to, step.detail));
  }
  std::vector<Number> results;
  for (unsigned yield : yields)
    results.push_back(values[yield]);
  return results;
}
