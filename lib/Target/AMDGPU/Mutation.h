// Small faults for a kernel: a wait dropped or weakened, a barrier or nop dropped, an LDS offset, a
// buffer slot or a counter off by a little, one at a time and in place.
//
// Whoever claims to find such faults is measured by them. A mutant that nothing can tell from the
// original says nothing, so for waits and nops there is a check on the machine code alone whether
// the change can matter.
#pragma once

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace hocket::amdgpu {

enum class MutationKind : uint8_t {
  DropWait,
  WeakenWait, ///< one counter allows one more operation in flight
  DropBarrier,
  DropNop,    ///< one wait state less; a single one changes places with the next instruction
  LdsOffset,  ///< of an LDS instruction
  BufferSlot, ///< m0, or the offset of a load to LDS
  Counter,    ///< in loops: a step left out, a branch's bound plus one
};

/// Key of a kind in reports: "drop-wait", ...
llvm::StringRef mutationName(MutationKind kind);

struct Mutant {
  MutationKind kind = MutationKind::DropWait;
  size_t instruction = 0;     ///< number within the kernel
  uint64_t offset = 0;        ///< of the changed bytes from the kernel's entry
  std::vector<uint8_t> bytes; ///< what stands there instead
  std::string before, after;  ///< as the assembler reads them
  bool isLoadToLds = false;   ///< the instruction is one
};

/// All mutants of a kernel, in the order of its code. Fails where the code cannot be decoded or control flow cannot be
/// followed.
Result<std::vector<Mutant>> enumerateMutants(const KernelCode &kernel,
                                             const Disassembler &disassembler);

// Why a mutant, in whose checked runs nothing was found, is the same program as the original. From the machine code
// alone, for every order of waves:
inline constexpr llvm::StringLiteral kUnreachable = "instruction unreachable",
                                     kDominatedWait = "wait dominated by an equal or stronger one on all paths",
                                     kBeyondTheDistance = "nop beyond the required distance",
                                     /// Wherever another bound decides something else, the one way leads to the other
                                     /// and changes nothing that is read there.
                                     kDecidesTheSame = "branch decides the same, or what changes nothing";
// And from runs, in which the mutant shows nothing:
/// It closes an epoch in which registers are loaded from global memory at most, or opens one without accesses of LDS; or
/// all accesses of both are in the runs. No two conflict.
inline constexpr llvm::StringLiteral kRedundantByEpochs = "barrier redundant by epochs",
                                     /// Its descriptor has no bytes, whenever it is executed: it is there for the
                                     /// counter. Nobody has read its zeros.
                                     kFetchesNothing = "fetch of nothing on all ways";

/// One of these reasons, or "" where nothing can be shown. Fails where control flow cannot be followed.
Result<std::string> proveEquivalent(const KernelCode &kernel, const Mutant &mutant,
                                    const Disassembler &disassembler);

} // namespace hocket::amdgpu
