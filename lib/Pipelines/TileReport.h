// What a kernel is cut into, for reports: rows of a workgroup, waves, tiles, schedules. Read off
// its tile-level form, since the code object does not say.
#pragma once

#include "Tile/IR/Tile.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace hocket {

struct KernelTiles {
  /// One tile of a ring.
  struct Ring {
    std::string name;
    int64_t rows = 0, columns = 0;
  };

  std::string kernel;
  int64_t blockRows = 0, blockColumns = 0; ///< of a workgroup; 0: the kernel does not say
  int64_t waves = 0;
  int64_t workgroups = 1; ///< that are to share a compute unit
  std::vector<Ring> rings;
  std::vector<std::string> schedules; ///< of its loops, in order
  std::string note;                   ///< what the expansion made of the schedule's wishes
};

KernelTiles readTiles(tile::KernelOp kernel);

/// Lines for people, under the kernel's name.
std::string toText(const KernelTiles &tiles);
/// Adds "block", "waves", "tiles" and "schedules" to a kernel's report.
void addTo(llvm::json::Object &kernel, const KernelTiles &tiles);

} // namespace hocket
