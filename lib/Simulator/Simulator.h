// The simulator: executes AMDGPU code objects on the host, one compute unit's semantics at a time.
//
// It runs exactly what LLVM's disassembler says the bytes mean. What it does not know is an error
// with the instruction, its address and the kernel; nothing is skipped. Memory results land only at
// the wait that covers them, and the order and quantum of waves follow a seed, so that a kernel
// whose waits or barriers are wrong does not verify by luck. docs/Simulator.md says what is exact.
//
// Use: load a CodeObject, place it in a Memory as a Program, launch its kernels.
#pragma once

#include "hocket/Runtime/Device.h"
#include "Simulator/CodeObject.h"
#include "Simulator/Memory.h"
#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>

namespace hocket::sim {

class Instrument;

/// What `launch` may be told.
struct LaunchOptions {
  /// Order and quantum of waves, and when stores and LDS DMA land. 0: round robin, and everything
  /// lands as late as its wait allows. Any other value draws these from a generator.
  uint64_t seed = 0;
  /// Wave-instructions that one workgroup may execute, and seconds of processor time that it may
  /// take. Both 0: `defaultInstructionLimit` and `defaultSecondsLimit`; one 0: there is none.
  uint64_t maxWaveInstructions = 0;
  double maxSeconds = 0;
  /// Host threads; 0: one for each core. Results do not depend on it unless workgroups communicate.
  unsigned threads = 0;
  /// Watches the run (checked, timed or traced execution); must outlive the launch. Null: a plain
  /// run, which is the fastest.
  Instrument *instrument = nullptr;
  /// What checked execution holds loads of these lists to; other execution does not look at them.
  std::span<const runtime::NumberList> lists = {};
  /// A request to stop ends the launch within a fraction of a second, with an Execution error.
  std::stop_token stop = {};
};

/// What only a kernel that hangs takes for one workgroup; the simulator then says where it is.
/// Plain execution of simple instructions meets the first, anything slower the second.
inline constexpr uint64_t defaultInstructionLimit = 1'000'000'000;
inline constexpr double defaultSecondsLimit = 30;

/// Limits of one launch that the simulator checks: work-items of a workgroup, LDS bytes.
inline constexpr uint32_t maxWorkgroupSize = 1024;
/// LDS bytes of one workgroup on `architecture` (docs/Hardware.md 1).
uint32_t maxLdsBytes(std::string_view architecture);

/// A code object placed in device memory: its segments have addresses, its global variables
/// storage that lives from launch to launch. `memory` must outlive it.
class Program {
public:
  /// Copies the segments into `memory` and applies the relocations.
  static Result<std::unique_ptr<Program>> load(Memory &memory,
                                               std::shared_ptr<const CodeObject> codeObject);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  Memory &memory() const { return deviceMemory; }
  const CodeObject &codeObject() const { return *object; }
  /// Device address of the image's virtual address 0.
  uint64_t base() const { return loadBase; }

private:
  Program(Memory &memory, std::shared_ptr<const CodeObject> codeObject, uint64_t allocation,
          uint64_t loadBase);
  Memory &deviceMemory;
  std::shared_ptr<const CodeObject> object;
  uint64_t allocation;
  uint64_t loadBase;
};

/// Runs kernel number `kernel` of `program.codeObject().kernels()` to its end. `kernarg` is the
/// block of explicit arguments; it may be shorter than the kernel's (the rest is zero) or longer, `hidden_*`
/// arguments are filled here. Errors: InvalidInput for a shape or a kernarg the kernel cannot take,
/// Unsupported for what the descriptor asks and the simulator lacks, Execution for what the kernel
/// did wrong; then memory holds what was stored before.
Result<runtime::LaunchReport> launch(Program &program, size_t kernel,
                                     const runtime::LaunchShape &shape,
                                     std::span<const std::byte> kernarg,
                                     const LaunchOptions &options = {});

} // namespace hocket::sim
