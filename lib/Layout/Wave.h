// The waves that layouts are made for. A chip says how many lanes its waves have (`ArchInfo::waves`); layouts, and types
// of the tile dialect, which know no chip, are maps over so many lanes. A test holds all chips against it.
#pragma once

#include <cstdint>

namespace hocket {

inline constexpr unsigned kWaveLaneBits = 6;
inline constexpr int64_t kWaveLanes = int64_t(1) << kWaveLaneBits;

} // namespace hocket
