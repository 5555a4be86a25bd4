// Whether the final code has as many memory accesses between its waits as the passes counted when they wrote them.
//
// A wait says how many of a wave's accesses may stay in flight, and so relies on how many there are. LLVM does not know
// that: it may merge two loads, split one, or leave one out. What the passes assumed is a graph of loads to LDS, other
// counted accesses, waits and barriers; every way through the machine code must be a way through that graph.
#pragma once

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace hocket::amdgpu {

/// What the passes assumed of one wave of a kernel.
struct CountedPlan {
  enum class Kind : uint8_t {
    Pass,       ///< nothing that is counted
    LoadsToLds, ///< exactly `count` of them
    LookUps,    ///< loads of registers that come with those to LDS, beside which they stand: at least `count`
    Accesses,   ///< others, of registers and memory: at least `count`
    Wait,       ///< until at most `count` of both are in flight
    Barrier,
    End, ///< of the kernel
  };
  struct Node {
    Kind kind = Kind::Pass;
    unsigned count = 0;
    std::string place; ///< of a wait or a barrier, for messages: "the end of the cluster with 'fetch_k'"
    llvm::SmallVector<unsigned, 2> next;
  };
  std::string kernel;
  std::vector<Node> nodes; ///< the first one is where the kernel begins
};

/// Checks one kernel. A way on which the code has another number of loads to LDS, or fewer other accesses, than counted,
/// or in another order, so that a wait leaves more loads to LDS in flight, is an `Internal` error that names kernel, wait
/// and both numbers.
Status checkCounted(const KernelCode &kernel, const Disassembler &disassembler, const CountedPlan &plan);

/// Checks each kernel of a code object for which there is a plan.
Status checkCounted(llvm::StringRef codeObject, llvm::ArrayRef<CountedPlan> plans, llvm::StringRef name);

} // namespace hocket::amdgpu
