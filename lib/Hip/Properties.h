// What the simulated device is called, wherever HIP asks.
#pragma once

#include <string_view>

namespace hocket::hip {

inline constexpr std::string_view deviceName = "gfx950 simulator";
inline constexpr std::string_view pciBusId = "0000:00:00.0";

} // namespace hocket::hip
