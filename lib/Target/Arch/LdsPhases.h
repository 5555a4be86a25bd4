// Lane masks from which a chip's LDS phases are written down. Private to the chips' files.
#pragma once

#include <cstdint>
#include <vector>

namespace hocket::chips {

/// Lanes `first` to `last`.
inline uint64_t lanes(unsigned first, unsigned last) {
  uint64_t upTo = last >= 63 ? ~uint64_t(0) : (uint64_t(1) << (last + 1)) - 1;
  return upTo & ~((uint64_t(1) << first) - 1);
}

/// Groups of `size` consecutive lanes.
inline std::vector<uint64_t> consecutive(unsigned size) {
  std::vector<uint64_t> phases;
  for (unsigned first = 0; first < 64; first += size)
    phases.push_back(lanes(first, first + size - 1));
  return phases;
}

/// The phases of lanes 0-31, and the same for lanes 32-63.
inline std::vector<uint64_t> bothHalves(std::vector<uint64_t> phases) {
  size_t count = phases.size();
  for (size_t i = 0; i < count; ++i)
    phases.push_back(phases[i] << 32);
  return phases;
}

} // namespace hocket::chips
