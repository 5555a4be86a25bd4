// Checked execution: a launch that is watched for what a plain one gets away with.
//
// Use before the wait, races in LDS and global memory, use of what nothing has written, LDS beyond
// its size or misaligned, hazards, barriers that waves do not share: docs/Simulator.md has the list
// and what each finding means. Execution goes on after a finding where it can.
#pragma once

#include "Simulator/Simulator.h"

namespace hocket::sim {

/// As `launch`, with `LaunchReport::findings` filled in. What makes a plain launch fail with an
/// Execution error is a finding here, and `LaunchReport::fault` has the error's text; other errors
/// are those of `launch`. `options.instrument` must be null.
Result<runtime::LaunchReport> launchChecked(Program &program, size_t kernel,
                                            const runtime::LaunchShape &shape,
                                            std::span<const std::byte> kernarg,
                                            const LaunchOptions &options = {});

} // namespace hocket::sim
