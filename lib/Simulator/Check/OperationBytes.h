// Which bytes of LDS a memory operation touches, lane by lane.
#pragma once

#include "../Pending.h"
#include "InstructionInfo.h"

#include <algorithm>
#include <bit>

namespace hocket::sim::check {

inline constexpr uint64_t allLanes = ~uint64_t(0);

/// Bytes of LDS from one lane's data of a load to LDS to the next one's.
inline unsigned dmaStride(const InstructionInfo &info) {
  return std::max<unsigned>(info.globalBytes, 4);
}

/// Calls `visit(lane, address, bytes)` for the LDS bytes that `op` touches by LDS address.
template <class Visit>
void forEachLds(const InstructionInfo &info, const PendingOp &op, Visit visit) {
  if (info.lds == MemoryKind::LdsDma) {
    unsigned stride = dmaStride(info);
    if (op.mask == allLanes)
      return visit(0u, op.scalar, 64 * stride);
    for (uint64_t left = op.mask; left; left &= left - 1) {
      auto lane = static_cast<unsigned>(std::countr_zero(left));
      visit(lane, op.scalar + lane * stride, stride);
    }
    return;
  }
  if (info.ldsOneLane)
    return visit(0u, op.ldsAddress[0], 4u);
  for (uint64_t left = op.mask; left; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    visit(lane, op.ldsAddress[lane], unsigned(info.ldsBytes));
    if (info.ldsTwo)
      visit(lane, op.ldsAddress[lane] + op.scalar, unsigned(info.ldsBytes));
  }
}

} // namespace hocket::sim::check
