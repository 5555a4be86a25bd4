// Timing of a program in the simulator's memory, without a device around it.
#pragma once

#include "hocket/Simulator/Simulator.h"
#include "hocket/Simulator/Timing.h"

namespace hocket::sim {

/// `timeWorkgroups` for callers that hold the program.
Result<TimedRun> timeProgram(Program &program, size_t kernelNumber,
                             const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                             const TimingOptions &options);
/// Workgroups of the launch that fit on a compute unit at a time.
Result<unsigned> residentWorkgroups(Program &program, size_t kernelNumber,
                                    const runtime::LaunchShape &shape);

} // namespace hocket::sim
