// The launches of a plan with their tensors on a simulator of its own, ready to be timed but not verified.
#pragma once

#include "ListedContents.h"

#include "hocket/Attention/LaunchPlan.h"
#include "hocket/Runtime/Device.h"
#include "Simulator/GridTime.h"

#include <memory>
#include <span>
#include <vector>

namespace hocket::run {

/// Writes contents to the buffers of those names.
Status writeContents(runtime::Device &device, const Contents &contents, const attention::Buffers &buffers);

/// The tensors hold zeros where `contents` says nothing, and take no host memory until a kernel touches them.
struct Placed {
  static Result<Placed> make(const attention::LaunchPlan &plan, const Contents &contents);

  struct Launch {
    std::shared_ptr<const attention::CompiledKernel> compiled;
    std::shared_ptr<runtime::Module> module;
    std::shared_ptr<runtime::Kernel> kernel;
    manifest::Binding binding;
    bool decides = false; ///< `PlannedLaunch::decides`
  };
  std::shared_ptr<runtime::Device> device;
  std::vector<Launch> launches;
  std::string rows; ///< how far apart rows lie, by which memory answers more or less quickly
};

/// Cycles of the kinds of workgroups seen, by the code that they are of and `Placed::rows`.
using KindCaches = std::map<std::string, sim::KindCache>;

/// Parameters to predict under, and what is known under them.
struct LaunchAssumption {
  sim::TimeParameters parameters;
  KindCaches *caches;
};

/// Predicts the launches one after the other under each of `assumptions`: the first launch's report, with the times of all.
Result<std::vector<sim::GridTime>> predictLaunches(Placed &placed, const sim::TimingOptions &timing,
                                                   std::span<const LaunchAssumption> assumptions);
/// Under `timing.parameters`.
Result<sim::GridTime> predictLaunches(Placed &placed, const sim::TimingOptions &timing, KindCaches &caches);

} // namespace hocket::run
