// The simulated device: which chip it is and what it is called, wherever HIP asks.
#pragma once

#include "Target/Arch/KnownChips.h"

#include <string>
#include <string_view>

namespace hocket::hip {

/// The chip that is simulated.
inline const ArchInfo &simulatedChip() { return defaultArch(); }
/// "gfx950 simulator".
inline std::string deviceName() { return std::string(simulatedChip().name) + " simulator"; }
inline constexpr std::string_view pciBusId = "0000:00:00.0";

} // namespace hocket::hip
