// What one wave executes in one turn of a kernel's hot loop, counted from an executed trace.
//
// The hot loop is found in the trace, not in the source: its header is the target of a backward
// branch between whose visits most matrix instructions run. Of its turns the shortest is taken, the
// one in which no rare path (a mask, a rescale) ran. Clusters are what lies between barriers;
// Clusters.h has how they get the schedule's numbers.
#pragma once

#include "Simulator/Clusters.h"
#include "Simulator/Trace.h"
#include "hocket/Support/Result.h"
#include "Target/AMDGPU/CodeObjectFile.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::sim {

/// Executed instructions by kind. Packed f32 instructions count as two of `valu`.
struct InstructionCounts {
  unsigned mfma = 0, trans = 0, valu = 0, ldsRead = 0, ldsWrite = 0, ldsDma = 0, barrier = 0,
           waits = 0, nop = 0, salu = 0, branch = 0, other = 0;
  unsigned instructions = 0;     ///< all of them, each once
  unsigned nopWaitStates = 0;    ///< that the s_nop provide
  unsigned emptyShadows = 0;     ///< MFMAs followed at once by another MFMA
  uint64_t matrixMultiplies = 0; ///< multiply-adds of all MFMAs

  void add(const InstructionCounts &other);
};

/// One turn of the hot loop.
struct SteadyState {
  unsigned wave = 0;
  uint64_t header = 0;                     ///< virtual address of the loop's header
  unsigned turns = 0;                      ///< turns in the trace
  unsigned shortest = 0;                   ///< of them, as short as the one that was counted
  InstructionCounts total;                 ///< the sum over `clusters`
  /// Between barriers: from the schedule's first cluster on where its clusters are known, else from
  /// the loop's header on.
  std::vector<InstructionCounts> clusters;
  unsigned scheduled = 0;         ///< clusters of the schedule; 0: not known
  std::vector<std::string> waits; ///< operands of each s_waitcnt: "vmcnt(4) lgkmcnt(0)"
};

/// Counts `trace` of `kernel`, whose code is for `cpu`, by one of `waves` waves. Errors:
/// InvalidInput where the trace has no loop with matrix instructions that turns at least once, or
/// leaves the kernel's code.
Result<SteadyState> countSteadyState(const WaveTrace &trace, const amdgpu::KernelCode &kernel,
                                     llvm::StringRef cpu, const ClusterNumbers &numbers = {},
                                     unsigned waves = 1);

} // namespace hocket::sim
