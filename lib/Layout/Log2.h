#pragma once

#include <bit>

namespace hocket {

/// Of a power of two; rounded down of what is none.
constexpr unsigned log2(unsigned value) { return std::bit_width(value) - 1; }

} // namespace hocket
