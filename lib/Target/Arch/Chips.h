// The chips this build knows. Private: users call findArch.
#pragma once

#include "hocket/Target/Arch/ArchInfo.h"

namespace hocket::chips {

const ArchInfo &gfx942();
const ArchInfo &gfx950();

} // namespace hocket::chips
