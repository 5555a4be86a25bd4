// Which chips there are, for those who meet them by number or need one without having been told.
#pragma once

#include "Target/Arch/ArchInfo.h"

#include <cstdint>
#include <string>

namespace hocket {

/// The chip that is meant where none is named: the first of `knownArchs`.
const ArchInfo &defaultArch();

/// The chip whose code objects have `machine` in the low byte of their ELF flags; null: none known.
const ArchInfo *findArchByElf(unsigned machine);

/// "gfx950 (0x4f) and gfx942 (0x4c)": all chips with their ELF machines, for messages.
std::string listArchs();

/// Device memory of the product with the most, in bytes (docs/Hardware.md 1).
uint64_t deviceMemoryBytes(const ArchInfo &arch);

} // namespace hocket
