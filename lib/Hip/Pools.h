// Memory pools: who counts what hipMallocAsync and its kin give out. Work is done within the call that gives it, so memory goes
// back to the device when it is freed, and a pool keeps nothing.
#pragma once

#include "Handles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>

namespace hocket::hip {

struct Pool {
  uint64_t used = 0, mostUsed = 0; ///< bytes
  uint64_t most = 0;               ///< bytes that it may give out; 0: what the device has
  uint64_t threshold = 0;          ///< hipMemPoolAttrReleaseThreshold
  std::array<int, 3> reuse = {1, 1, 1}; ///< the three attributes about reuse, which change nothing here
};

struct Pools {
  Handles<Pool> made = Handles<Pool>(5);
  std::shared_ptr<Pool> usual = std::make_shared<Pool>(); ///< the device's default one
  void *handleOfUsual = made.insert(usual);
  void *current = handleOfUsual; ///< that hipMallocAsync takes from
  struct Piece {
    std::shared_ptr<Pool> pool;
    uint64_t bytes = 0;
  };
  std::map<uint64_t, Piece> pieces; ///< by address

  void give(uint64_t address, std::shared_ptr<Pool> pool, uint64_t bytes) {
    pool->used += bytes;
    pool->mostUsed = std::max(pool->mostUsed, pool->used);
    pieces[address] = {std::move(pool), bytes};
  }
  /// Memory at `address` was freed, of a pool or not.
  void take(uint64_t address) {
    auto piece = pieces.find(address);
    if (piece == pieces.end())
      return;
    piece->second.pool->used -= piece->second.bytes;
    pieces.erase(piece);
  }
};

} // namespace hocket::hip
