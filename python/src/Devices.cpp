#include "Devices.h"

#include "hocket/Runtime/Hip.h"
#include "hocket/Runtime/Registry.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::python;

namespace {
/// What the process has opened. Never destroyed: threads may still compute when it ends.
struct Opened {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Context>, std::less<>> contexts;
  std::shared_ptr<jit::Jit> compiler;
};
Opened &opened() {
  static Opened &all = *new Opened;
  return all;
}
} // namespace

/// The context called `name`, made of what `open` gives if there is none yet.
template <typename Open> static Result<Context *> contextOf(const std::string &name, Open open) {
  Opened &all = opened();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<Context> &known = all.contexts[name];
  if (known)
    return known.get();
  Result<std::shared_ptr<runtime::Device>> device = open();
  if (!device.ok())
    return device.error();
  jit::PlannerOptions options;
  options.architecture = (*device)->properties().architecture;
  options.computeUnits = (*device)->properties().computeUnits;
  Result<std::shared_ptr<attention::Planner>> planner = jit::makePlanner(options);
  if (!planner.ok())
    return planner.error();
  known = std::make_unique<Context>();
  known->device = *std::move(device);
  known->planner = *std::move(planner);
  return known.get();
}

Result<Context *> python::simulatorOf(std::string_view architecture) {
  sim::registerSimulator();
  const std::string name = sim::deviceNameFor(architecture);
  return contextOf(name, [&]() -> Result<std::shared_ptr<runtime::Device>> {
    Result<runtime::OpenedDevice> device = runtime::openDevice(name);
    if (!device.ok())
      return device.error();
    return device->device;
  });
}

Result<Context *> python::gpuOf(int index) {
  return contextOf("hip:" + std::to_string(index),
                   [&]() -> Result<std::shared_ptr<runtime::Device>> {
                     runtime::HipOptions options;
                     options.index = index;
                     Result<std::shared_ptr<runtime::Device>> device =
                         runtime::openHipDevice(options);
                     if (device.ok())
                       return device;
                     options.architecture = "gfx942";
                     Result<std::shared_ptr<runtime::Device>> older =
                         runtime::openHipDevice(options);
                     return older.ok() ? older : device;
                   });
}

Result<std::shared_ptr<jit::Jit>> python::compiler() {
  Opened &all = opened();
  std::lock_guard lock(all.mutex);
  if (!all.compiler) {
    Result<std::shared_ptr<jit::Jit>> made = jit::Jit::create();
    if (!made.ok())
      return made.error();
    all.compiler = *std::move(made);
  }
  return all.compiler;
}

Result<runtime::DeviceAddress> Context::workspace(runtime::Stream &stream, int64_t handle,
                                                  uint64_t bytes) {
  attention::Buffer &kept = workspaces[handle];
  if (kept.bytes >= bytes)
    return kept.address;
  if (kept.address != 0) {
    if (Status status = stream.synchronize(); !status.ok())
      return status.error();
    if (Status status = device->free(kept.address); !status.ok())
      return status.error();
    kept = {};
  }
  Result<runtime::DeviceAddress> address = device->allocate(bytes);
  if (!address.ok())
    return address.error();
  kept = {*address, bytes};
  return *address;
}

SharedMemory::~SharedMemory() {
  for (runtime::DeviceAddress address : shared)
    (void)device.free(address).ok();
}

void SharedMemory::add(std::span<std::byte> piece, const std::string &label) {
  if (piece.empty())
    return;
  const auto begin = reinterpret_cast<uintptr_t>(piece.data());
  ranges.push_back({begin, begin + piece.size(), label});
}

Status SharedMemory::share() {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range &range : ranges) {
    if (joined.empty() || range.begin >= joined.back().end) {
      joined.push_back(range);
      continue;
    }
    joined.back().end = std::max(joined.back().end, range.end);
    joined.back().label += ", " + range.label;
  }
  for (const Range &range : joined) {
    auto *data = reinterpret_cast<std::byte *>(range.begin);
    Result<runtime::DeviceAddress> address =
        sim::shareHostMemory(device, {data, range.end - range.begin}, range.label);
    if (!address.ok())
      return address.error();
    shared.push_back(*address);
  }
  return Status::success();
}
