// Launches timed by the device: warm-up, repetitions, median and spread.
#pragma once

#include "ListedContents.h"

#include "hocket/Attention/LaunchPlan.h"
#include "hocket/Runtime/Device.h"

namespace hocket::run {

struct MeasureOptions {
  unsigned warmup = 3, repetitions = 20;
};

/// Microseconds of the repetitions.
struct Measurement {
  double median = 0, low = 0, high = 0; ///< low and high: the quartiles
  double fastest = 0;
  unsigned repetitions = 0;
};

/// The order statistics of `times`, which must not be empty.
Measurement summarize(std::vector<double> times);

/// The number of an option '--NAME', which is `text`: repetitions of measured launches.
Result<unsigned> readRepetitions(const std::string &name, const std::string &text);

/// Microseconds of launches of one kernel, one after the other, as `device` times them. Errors: Unsupported for a device
/// whose times say nothing about a GPU; what a launch says.
Result<Measurement> measureLaunch(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
                                  std::span<const std::byte> kernarg, const MeasureOptions &options);

/// Runs `plan` with tensors of zeros where `contents` says nothing. Device time on HIP; host time elsewhere, which says
/// nothing about a GPU.
Result<Measurement> measurePlan(runtime::Device &device, const attention::LaunchPlan &plan,
                                const Contents &contents, const MeasureOptions &options);

} // namespace hocket::run
