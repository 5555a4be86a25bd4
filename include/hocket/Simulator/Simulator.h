// The simulator: executes AMDGPU code objects on the host, one compute unit's semantics at a time.
//
// It runs exactly what LLVM's disassembler says the bytes mean. What it does not know is an error
// with the instruction, its address and the kernel; nothing is skipped. Memory results land only at
// the wait that covers them, and the order and quantum of waves follow a seed, so that a kernel
// whose waits or barriers are wrong does not verify by luck. docs/Simulator.md says what is exact.
#pragma once

#include "hocket/Runtime/Device.h"
#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hocket::sim {

/// Device memory: a sparse 64-bit address space of live allocations with guard gaps between them.
/// Thread-safe for loads and stores of running kernels; allocation is not concurrent with launches.
class Memory;

/// A code object, parsed and decoded once; immutable and shareable between threads.
class CodeObject;

/// What `launch` may be told.
struct LaunchOptions {
  uint64_t seed = 0;
  uint64_t maxWaveInstructions = 0; ///< per workgroup; 0: default limit
  unsigned threads = 0;             ///< 0: all cores
};

} // namespace hocket::sim
