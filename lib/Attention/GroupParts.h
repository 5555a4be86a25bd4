// Where workgroups of keys are few, and what shares a compute unit.
#pragma once

#include "hocket/Attention/BackwardProblem.h"

namespace hocket::attention {

/// Keys of a workgroup of dK and dV of which two fit on a compute unit, and the units of a chip.
inline constexpr int64_t kKeysOfTwo = 128, kUnits = 256, kWorkgroupsOfTwo = 2;
/// Of a head: slices of its queries for workgroups of their own.
inline constexpr int64_t kMaxSlices = 64;

/// Whether heads are such that two workgroups fit on a compute unit; smaller ones have eight waves there anyway.
bool mayShareUnits(const ForwardProblem &problem);
/// Blocks of so many keys of all KV heads and batches.
int64_t blocksOfKeys(const ForwardProblem &problem);

} // namespace hocket::attention
