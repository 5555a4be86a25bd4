// Random C for differential testing: kernels that the host can run too.
//
// A case is a kernel of two phases with a barrier between them. Work-items compute on integers of
// all widths, floats, halves, doubles and small vectors, under divergent control flow, with arrays
// on the stack, through LDS and with atomics. Nothing in it is undefined or depends on the order of
// work-items: unsigned arithmetic, masked shifts, guarded division and conversion, and each atomic
// cell is updated by one commutative operation. A NaN has one bit pattern before its bits are
// looked at. One source serves both targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::run {

/// Shape of every case.
inline constexpr unsigned difftestBlock = 128, difftestGroups = 2;
inline constexpr unsigned difftestItems = difftestBlock * difftestGroups;
/// Input words (64-bit) of each work-item; atomic cells (64-bit) behind all of them.
inline constexpr unsigned difftestInputs = 4, difftestCells = 16;

/// One case: statements of the two phases, each of which may be left out.
struct DifftestCase {
  uint64_t seed = 0;
  std::vector<std::string> phases[2];
};

DifftestCase makeDifftestCase(uint64_t seed);

/// C source with all `cases`: kernels `k<i>` for the GPU, and for the host
/// `void k<i>(const u64 *in, u64 *out, u64 *cells)` over all work-items.
std::string difftestSource(const std::vector<DifftestCase> &cases);

} // namespace hocket::run
