// The hash by which code objects are told apart.
#pragma once

#include <string>
#include <string_view>

namespace hocket::attention {

/// SHA-256 of `bytes`, 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace hocket::attention
