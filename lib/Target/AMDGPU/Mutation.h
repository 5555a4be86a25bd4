// Small faults for a kernel: a wait dropped or weakened, a barrier or nop dropped, an LDS offset, a
// buffer slot or a counter off by a little, one at a time and in place.
//
// Whoever claims to find such faults is measured by them. A mutant that nothing can tell from the
// original says nothing, so for waits and nops there is a check on the machine code alone whether
// the change can matter.
#pragma once

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

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
};

/// All mutants of a kernel, in the order of its code. Fails where the code cannot be decoded.
Result<std::vector<Mutant>> enumerateMutants(const KernelCode &kernel,
                                             const Disassembler &disassembler);

/// Why `mutant`, in whose checked runs nothing was found, is the same program as the original:
/// "wait dominated by an equal or stronger one on all paths", "nop beyond the required distance" and
/// "instruction unreachable" follow from the machine code alone; "barrier redundant by epochs" says that the barrier closes an
/// epoch in which registers are loaded from global memory at most, or opens one without accesses of
/// LDS, and that runs without it have no two accesses in one epoch that conflict. "" where nothing can be shown. Fails where control flow cannot be followed.
Result<std::string> proveEquivalent(const KernelCode &kernel, const Mutant &mutant,
                                    const Disassembler &disassembler);

} // namespace hocket::amdgpu
