// Timing of a program in the simulator's memory, without a device around it.
#pragma once

#include "Simulator/Simulator.h"
#include "Simulator/Timing.h"

#include <memory>

namespace hocket::sim {

/// A timed run that is ready to go. Several runs of one program may execute at the same time; they
/// are made and destroyed one after the other, and while none executes.
class PreparedRun {
public:
  static Result<std::unique_ptr<PreparedRun>> create(Program &program, size_t kernelNumber,
                                                     const runtime::LaunchShape &shape,
                                                     std::span<const std::byte> kernarg,
                                                     const TimingOptions &options);
  ~PreparedRun();
  /// Once. Any thread.
  Result<TimedRun> execute();

private:
  struct Parts;
  explicit PreparedRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

/// `timeWorkgroups` for callers that hold the program.
Result<TimedRun> timeProgram(Program &program, size_t kernelNumber,
                             const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                             const TimingOptions &options);
/// Workgroups of the launch that fit on a compute unit at a time.
Result<unsigned> residentWorkgroups(Program &program, size_t kernelNumber,
                                    const runtime::LaunchShape &shape);

} // namespace hocket::sim
