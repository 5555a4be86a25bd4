// Attention forward on tensors of others: the problem that their shapes describe, planned, and run
// where they are.
#include "Forward.h"

#include "Devices.h"
#include "WithoutLock.h"

#include "hocket/Pipelines/Modifications.h"
#include "hocket/Runtime/Hip.h"

#include <pybind11/stl.h>

#include <map>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using attention::Buffers;
using attention::ForwardPlan;
using attention::ForwardProblem;

namespace {
/// One call. Members of Python's are only looked at with the interpreter lock.
struct Call {
  ForwardProblem problem;
  std::vector<std::pair<std::string, std::shared_ptr<Tensor>>> tensors;
  std::string architecture;
  std::optional<int64_t> stream;

  Status runInSimulator(const std::stop_token &stop) const;
  Status runOnGpu(int index) const;
};

using PlanPointer = std::shared_ptr<const ForwardPlan>;
} // namespace

static attention::TensorStrides stridesOf(const Tensor &tensor, attention::Layout layout) {
  std::vector<int64_t> s = tensor.strides;
  // Packed: rows, heads, elements.
  if (s.size() == 3)
    return {0, tensor.shape[0] == 1 ? (tensor.shape[2] + 7) / 8 * 8 : s[0],
            tensor.shape[1] == 1 ? (tensor.shape[2] + 7) / 8 * 8 : s[1]};
  // What a dimension of one element has for a stride says nothing, and may be anything. Kernels work on
  // blocks of rows and tell those beyond the last by their places, so a row must have a length.
  for (size_t i = 0; i != s.size(); ++i)
    if (tensor.shape[i] == 1)
      s[i] = (tensor.shape[3] + 7) / 8 * 8;
  return layout == attention::Layout::BSHD ? attention::TensorStrides{s[0], s[1], s[2]}
                                           : attention::TensorStrides{s[0], s[2], s[1]};
}

Status Call::runInSimulator(const std::stop_token &stop) const {
  Result<Context *> context = simulatorOf(architecture);
  if (!context.ok())
    return context.error();
  runtime::Device &device = *(*context)->device;
  Result<PlanPointer> plan = (*context)->planner->plan(problem);
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
  auto reports = (*plan)->run(device, buffers);
  return reports.ok() ? Status::success() : Status(reports.error());
}

Status Call::runOnGpu(int index) const {
  Result<Context *> context = gpuOf(index);
  if (!context.ok())
    return context.error();
  runtime::Device &device = *(*context)->device;
  Result<PlanPointer> plan = (*context)->planner->plan(problem);
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
  if (Status status = (*plan)->run(device, buffers, **queue); !status.ok())
    return status;
  // Whoever names no stream has nothing to wait for.
  return stream ? Status::success() : (*queue)->synchronize();
}

/// Shipped ones have no text.
static void addModifications(ForwardProblem &problem, const py::dict &what) {
  for (const py::handle &entry : what["modifications"].cast<py::list>()) {
    const auto [name, text] = entry.cast<std::pair<std::string, std::string>>();
    if (text.empty()) {
      problem.modifications.push_back(valueOf(shippedModification(name)));
      continue;
    }
    for (attention::Modification &modification : valueOf(parseModifications(text, name)))
      problem.modifications.push_back(std::move(modification));
  }
  for (const auto &[name, number] : what["numbers"].cast<py::dict>())
    problem.numbers[name.cast<std::string>()] = number.cast<double>();
  for (const auto &[name, extents] : what["extents"].cast<py::dict>())
    problem.capturedExtents[name.cast<std::string>()] = extents.cast<std::vector<int64_t>>();
}

static ForwardProblem problemOf(const py::dict &what) {
  ForwardProblem problem;
  problem.dtype = valueOf(parseDataType(what["dtype"].cast<std::string>()));
  problem.layout = valueOf(attention::parseLayout(what["layout"].cast<std::string>()));
  problem.batch = what["batch"].cast<int64_t>();
  problem.heads = what["heads"].cast<int64_t>();
  problem.kvHeads = what["kv_heads"].cast<int64_t>();
  problem.seqQ = what["seq_q"].cast<int64_t>();
  problem.seqKv = what["seq_kv"].cast<int64_t>();
  problem.headDim = what["head_dim"].cast<int64_t>();
  problem.headDimV = what["head_dim_v"].cast<int64_t>();
  problem.visibility = valueOf(attention::Visibility::parse(what["mask"].cast<std::string>()));
  if (!what["scale"].is_none())
    problem.scale = what["scale"].cast<double>();
  problem.tuning.numSplits = what["num_splits"].cast<int64_t>();
  for (const attention::SequenceList &list : attention::sequenceLists())
    problem.lists.*list.value = what["lists"].cast<py::list>().contains(std::string(list.tensor));
  if (!what["pages"].is_none()) {
    std::tie(problem.lists.pageSize, problem.numPages) = what["pages"].cast<std::pair<int64_t, int64_t>>();
    problem.tablePages = what["table_pages"].cast<int64_t>();
  }
  problem.totalQ = what["total_q"].cast<int64_t>();
  problem.totalKv = what["total_kv"].cast<int64_t>();
  if (!what["dropout"].is_none()) {
    const auto [probability, seed, offset] = what["dropout"].cast<std::tuple<double, int64_t, int64_t>>();
    problem.dropout = true;
    problem.dropping = {.probability = probability, .seed = seed, .offset = offset};
  }
  if (!what["blocks"].is_none()) {
    const auto [queries, keys] = what["blocks"].cast<std::pair<int64_t, int64_t>>();
    problem.blocks = {queries, keys};
    problem.fullBlocks = what["extents"].contains("full_kv_indices");
  }
  addModifications(problem, what);
  return problem;
}

void python::forward(const py::dict &what, const py::dict &tensors,
                     const std::string &architecture, std::optional<int64_t> stream) {
  Call call{problemOf(what), {}, architecture, stream};
  for (const auto &[key, value] : tensors) {
    auto name = key.cast<std::string>();
    auto tensor = value.cast<std::shared_ptr<Tensor>>();
    if (name == "lse")
      call.problem.wantLse = true;
    else if (name == "sink")
      call.problem.sink = true;
    else if (tensor->shape.size() > 2 && !call.problem.capturedExtents.contains(name))
      call.problem.strides[name] = stridesOf(*tensor, call.problem.layout);
    call.tensors.emplace_back(std::move(name), std::move(tensor));
  }
  const Tensor &first = *call.tensors.front().second;
  if (first.place == Place::Host) {
    withoutLock([&](const std::stop_token &stop) { return call.runInSimulator(stop); });
    return;
  }
  const int index = first.device;
  Status status;
  {
    py::gil_scoped_release released;
    status = call.runOnGpu(index);
  }
  check(status);
}
