#include "Placed.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include <span>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

/// What allocators of real devices give at least.
static constexpr uint64_t kAlignment = 256;

Status run::writeContents(runtime::Device &device, const Contents &contents, const Buffers &buffers) {
  for (const auto &[name, bytes] : contents)
    if (auto found = buffers.find(name); found != buffers.end() && found->second.address != 0)
      if (Status status = device.copyToDevice(found->second.address, bytes); !status.ok())
        return status;
  return Status::success();
}

static Result<Buffers> placeBuffers(runtime::Device &device, const LaunchPlan &plan) {
  Buffers buffers;
  for (const BufferNeed &need : plan.buffers()) {
    if (need.bytes == 0)
      continue;
    auto address = device.allocate(need.bytes, kAlignment, "tensor");
    if (!address.ok())
      return address.error();
    buffers[need.name] = {*address, need.bytes};
  }
  return buffers;
}

static Result<Placed::Launch> loadLaunch(runtime::Device &device, const PlannedLaunch &launch,
                                         manifest::Binding binding) {
  const manifest::Manifest &manifest = launch.compiled->manifest;
  auto module =
      device.loadModule(std::as_bytes(std::span(launch.compiled->codeObject)), manifest.kernel);
  if (!module.ok())
    return module.error();
  auto found = (*module)->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  if (Status status = manifest::checkKernel(manifest, (*found)->info()); !status.ok())
    return status.error();
  return Placed::Launch{launch.compiled, *module, *found, std::move(binding), launch.decides};
}

/// The strides of rows, as text.
static std::string rowsOf(const manifest::Variables &variables) {
  std::string text;
  for (const auto &[name, value] : variables)
    if (std::string_view(name).ends_with("_stride_s"))
      text += name + "=" + std::to_string(value.asInteger()) + " ";
  return text;
}

Result<Placed> Placed::make(const LaunchPlan &plan, const Contents &contents) {
  Placed placed;
  placed.rows = rowsOf(plan.knownVariables());
  const std::string &chip = plan.launches().front().compiled->manifest.target;
  placed.device = sim::createDevice(nullptr, chip);
  if (!placed.device)
    return unsupported("there is no simulator of '" + chip + "'");
  Result<Buffers> buffers = placeBuffers(*placed.device, plan);
  if (!buffers.ok())
    return buffers.error();
  if (Status status = writeContents(*placed.device, contents, *buffers); !status.ok())
    return status.error();
  Result<std::vector<manifest::Binding>> bindings = plan.bind(*buffers);
  if (!bindings.ok())
    return bindings.error();
  for (size_t i = 0; i < bindings->size(); ++i) {
    Result<Launch> launch = loadLaunch(*placed.device, plan.launches()[i], std::move((*bindings)[i]));
    if (!launch.ok())
      return launch.error();
    placed.launches.push_back(*std::move(launch));
  }
  return std::move(placed);
}

/// What a launch costs beside its execution counts for each.
static void addLaunch(sim::GridTime &total, const sim::GridTime &later) {
  total.executeMicroseconds += later.microseconds;
  total.memoryMicroseconds += later.memoryMicroseconds;
  total.microseconds += later.microseconds;
}

Result<std::vector<sim::GridTime>> run::predictLaunches(Placed &placed, const sim::TimingOptions &timing,
                                                        std::span<const LaunchAssumption> assumptions) {
  std::vector<sim::GridTime> totals;
  for (Placed::Launch &launch : placed.launches) {
    std::vector<sim::Assumption> assumed;
    for (const LaunchAssumption &assumption : assumptions)
      assumed.push_back({assumption.parameters, &(*assumption.caches)[placed.rows + launch.compiled->codeObject]});
    Result<std::vector<sim::GridTime>> grids = sim::predictGrids(
        *placed.device, *launch.kernel, launch.binding.shape, launch.binding.kernarg, timing, assumed);
    if (!grids.ok())
      return grids.error();
    // Samples have written some of what later launches go by.
    if (launch.decides)
      if (auto report = placed.device->launch(*launch.kernel, launch.binding.shape, launch.binding.kernarg); !report.ok())
        return report.error();
    if (totals.empty()) {
      totals = *std::move(grids);
      continue;
    }
    for (size_t i = 0; i != totals.size(); ++i)
      addLaunch(totals[i], (*grids)[i]);
  }
  return std::move(totals);
}

Result<sim::GridTime> run::predictLaunches(Placed &placed, const sim::TimingOptions &timing, KindCaches &caches) {
  const LaunchAssumption only = {timing.parameters, &caches};
  Result<std::vector<sim::GridTime>> totals = predictLaunches(placed, timing, std::span(&only, 1));
  return totals.ok() ? Result<sim::GridTime>(std::move(totals->front())) : totals.error();
}
