// What each op of a region does to numbers with error bounds. Private to the interpreter.
#pragma once

#include "Reference/ElementProgram.h"

#include <string_view>

namespace hocket::reference {

using ElementFunction = Number (*)(const Number *operands, ElementType from, ElementType to,
                                   int64_t detail);

/// The function of the op `name`; null if there is none.
ElementFunction arithmeticFunction(std::string_view name);
ElementFunction integerFunction(std::string_view name);
ElementFunction mathFunction(std::string_view name);

/// One of these; null if there is none.
ElementFunction functionOf(std::string_view name);
/// The number of an `arith.constant`.
Result<Number> constantOf(mlir::Operation &op);

inline constexpr double kAnything = std::numeric_limits<double>::infinity();

/// Bits of a number.
inline unsigned widthOf(ElementType type) { return infoOf(type).bits; }

/// `value`, rounded to `type`, when the exact result may be `error` off: a rounding that differs
/// is one unit in the last place.
Number rounded(ElementType type, double value, double error);

} // namespace hocket::reference
