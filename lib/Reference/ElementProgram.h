// Regions that compute one element (tile.map), interpreted in float64: what a kernel should give,
// from the region alone and nothing of its lowering.
//
// Each op is computed on float64 and rounded to its type, as the region says, so that arithmetic
// has the kernel's very bits. Functions of the math dialect are promised to an accuracy only
// (docs/Values.md), so a number carries a bound of how far the kernel's may be from it, which
// following ops propagate; a comparison that the bound leaves open makes what depends on it as
// uncertain as its two outcomes are apart.
#pragma once

#include "hocket/Support/ElementType.h"

#include "mlir/IR/Region.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::reference {

/// Integers are whole numbers of their signed value; true is -1, as all bits are set.
struct Number {
  double value = 0;
  /// How far the kernel's number may be away; infinite: anything, NaN too.
  double error = 0;
};

/// The type of an element that a region may compute with: f32, f16, bf16 and the signless integers of at most 32 bits;
/// an error for others.
Result<ElementType> computedTypeOf(mlir::Type type);

/// `value` as a number of `type`: rounded to nearest even.
double roundTo(ElementType type, double value);

/// The distance of neighbouring numbers of `type` at `value`.
double ulpOf(ElementType type, double value);

/// A region, ready to be run for many elements.
class ElementProgram {
public:
  /// An error for an op that regions of elements may not contain.
  static Result<ElementProgram> create(mlir::Region &region);

  /// What the region yields for these arguments.
  std::vector<Number> run(std::span<const Number> arguments) const;

private:
  using Function = Number (*)(const Number *operands, ElementType from, ElementType to,
                              int64_t detail);
  struct Step {
    Function function = nullptr;
    unsigned operands[3] = {};     ///< numbers of values, of which arguments are the first
    ElementType from{}, to{};      ///< of the first operand and the result
    int64_t detail = 0;            ///< the predicate of a comparison
    Number constant;               ///< if there is no function
  };

  size_t arguments = 0;
  std::vector<Step> steps;
  std::vector<unsigned> yields;
};

} // namespace hocket::reference
