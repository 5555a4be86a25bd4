// Derivatives of ops for the reference of gradients.
#pragma once

#include <span>
#include <string_view>

namespace hocket::reference {

/// How fast the floating-point result of the op `name` moves when its operands, 3 at most, move by `tangents`. NaN for
/// an op without derivative whose operands move.
double tangentOf(std::string_view name, std::span<const double> operands, std::span<const double> tangents,
                 double result);

} // namespace hocket::reference
