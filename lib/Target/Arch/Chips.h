// The chips this build knows. Private: users call findArch.
#pragma once

#include "Target/Arch/ArchInfo.h"

namespace hocket::chips {

const ArchInfo &gfx942();
const ArchInfo &gfx950();

/// Device memory of the product with the most (docs/Hardware.md 1 SPEC D).
inline constexpr uint64_t kGfx942MemoryBytes = uint64_t(256) << 30; // MI325X
inline constexpr uint64_t kGfx950MemoryBytes = uint64_t(288) << 30; // MI355X

} // namespace hocket::chips
