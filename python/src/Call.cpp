// One run of a plan on tensors where they are.
#include "Call.h"

#include "WithoutLock.h"

#include "hocket/Runtime/Hip.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using attention::Buffers;
using PlanPointer = std::shared_ptr<const attention::LaunchPlan>;

Result<Context *> Call::context() const {
  const Tensor &first = *tensors.front().second;
  return first.place == Place::Host ? simulatorOf(architecture) : gpuOf(first.device);
}

Status Call::runInSimulator(const std::stop_token &stop) const {
  Result<Context *> context = this->context();
  if (!context.ok())
    return context.error();
  runtime::Device &device = *(*context)->device;
  Result<PlanPointer> plan = makePlan(*(*context)->planner);
  if (!plan.ok())
    return plan.error();
  std::vector<std::byte> workspace((*plan)->workspaceBytes());
  std::lock_guard lock((*context)->mutex);
  runtime::SimulationOptions options;
  options.stop = stop;
  device.setSimulationOptions(options);
  SharedMemory memory(device);
  Buffers buffers;
  auto place = [&](const std::string &name, std::span<std::byte> bytes) {
    memory.add(bytes, name);
    buffers[name] = {reinterpret_cast<uintptr_t>(bytes.data()), bytes.size()};
  };
  for (const auto &[name, tensor] : tensors)
    place(name, tensor->span());
  if (!workspace.empty())
    place(std::string(manifest::workspaceName), workspace);
  if (Status status = memory.share(); !status.ok())
    return status;
  auto reports = (*plan)->run(device, buffers, own);
  return reports.ok() ? Status::success() : Status(reports.error());
}

Status Call::runOnGpu() const {
  Result<Context *> context = this->context();
  if (!context.ok())
    return context.error();
  runtime::Device &device = *(*context)->device;
  Result<PlanPointer> plan = makePlan(*(*context)->planner);
  if (!plan.ok())
    return plan.error();
  const int64_t handle = stream.value_or(0);
  Result<std::shared_ptr<runtime::Stream>> queue =
      runtime::borrowHipStream((*context)->device, reinterpret_cast<void *>(handle));
  if (!queue.ok())
    return queue.error();
  Buffers buffers;
  for (const auto &[name, tensor] : tensors)
    buffers[name] = {tensor->address(), tensor->spanBytes()};
  // Two threads on one stream: the second must not replace the workspace before the first has
  // given its work to the stream.
  std::unique_lock lock((*context)->mutex, std::defer_lock);
  if (const uint64_t bytes = (*plan)->workspaceBytes()) {
    lock.lock();
    Result<runtime::DeviceAddress> address = (*context)->workspace(**queue, handle, bytes);
    if (!address.ok())
      return address.error();
    buffers[std::string(manifest::workspaceName)] = {*address, bytes};
  }
  if (Status status = (*plan)->run(device, buffers, **queue, own); !status.ok())
    return status;
  // Whoever names no stream has nothing to wait for.
  return stream ? Status::success() : (*queue)->synchronize();
}

void Call::run() const {
  if (tensors.front().second->place == Place::Host) {
    withoutLock([&](const std::stop_token &stop) { return runInSimulator(stop); });
    return;
  }
  Status status;
  {
    py::gil_scoped_release released;
    status = runOnGpu();
  }
  check(status);
}

PlanPointer Call::plan() const {
  auto make = [&]() -> Result<PlanPointer> {
    py::gil_scoped_release released;
    Result<Context *> context = this->context();
    return context.ok() ? makePlan(*(*context)->planner) : context.error();
  };
  return valueOf(make());
}
