// A tensor is one host image with its rows where the strides say.
#include "ApiRun.h"

#include <cstring>

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::test;

DeviceBuffers::DeviceBuffers(runtime::Device &device, const ForwardPlan &plan) : device(device) {
  const ForwardProblem &problem = plan.problem();
  buffers.q = allocate(problem.spanBytes(TensorName::Q));
  buffers.k = allocate(problem.spanBytes(TensorName::K));
  buffers.v = allocate(problem.spanBytes(TensorName::V));
  buffers.o = allocate(problem.spanBytes(TensorName::O));
  buffers.lse = allocate(lseBytes(problem));
  buffers.workspace = allocate(plan.workspaceBytes());
}

DeviceBuffers::~DeviceBuffers() {
  for (const Buffer &buffer :
       {buffers.q, buffers.k, buffers.v, buffers.o, buffers.lse, buffers.workspace})
    if (buffer.address != 0)
      (void)device.free(buffer.address).ok();
}

Buffer DeviceBuffers::allocate(uint64_t bytes) {
  if (bytes == 0)
    return {};
  Result<runtime::DeviceAddress> address = device.allocate(bytes);
  if (address.ok())
    return {*address, bytes};
  status = address.error();
  return {};
}

/// Calls `visit` with the number of each dense row and its byte offset in the image.
template <typename Visit>
static void forEachRow(const ForwardProblem &problem, TensorName name, Visit visit) {
  TensorShape shape = problem.shape(name);
  TensorStrides strides = problem.stridesOf(name);
  size_t row = 0;
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      for (int64_t s = 0; s < shape.sequence; ++s)
        visit(row++, 2 * size_t(b * strides.batch + h * strides.head + s * strides.sequence));
}

static Status upload(runtime::Device &device, const ForwardProblem &problem, TensorName name,
                     const Buffer &to, const std::vector<uint16_t> &dense) {
  std::vector<std::byte> image(problem.spanBytes(name));
  size_t rowBytes = 2 * size_t(problem.shape(name).dim);
  forEachRow(problem, name, [&](size_t row, size_t offset) {
    std::memcpy(image.data() + offset, dense.data() + row * rowBytes / 2, rowBytes);
  });
  return device.copyToDevice(to.address, image);
}

Result<ForwardErrors> test::runAndCompare(runtime::Device &device, const ForwardPlan &plan,
                                          uint64_t seed) {
  const ForwardProblem &problem = plan.problem();
  DeviceBuffers memory(device, plan);
  if (!memory.status.ok())
    return memory.status.error();
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, seed);
  const std::pair<TensorName, const std::vector<uint16_t> *> tensors[] = {
      {TensorName::Q, &inputs.q}, {TensorName::K, &inputs.k}, {TensorName::V, &inputs.v}};
  const Buffer *places[] = {&memory.buffers.q, &memory.buffers.k, &memory.buffers.v};
  for (size_t i = 0; i < 3; ++i)
    if (Status status = upload(device, problem, tensors[i].first, *places[i], *tensors[i].second);
        !status.ok())
      return status.error();
  auto reports = plan.run(device, memory.buffers);
  if (!reports.ok())
    return reports.error();
  ForwardOutputs outputs;
  TensorShape shape = problem.shape(TensorName::O);
  outputs.o.resize(size_t(shape.elements()));
  std::vector<std::byte> image(problem.spanBytes(TensorName::O));
  if (Status status = device.copyFromDevice(image, memory.buffers.o.address); !status.ok())
    return status.error();
  forEachRow(problem, TensorName::O, [&](size_t row, size_t offset) {
    std::memcpy(outputs.o.data() + row * size_t(shape.dim), image.data() + offset,
                2 * size_t(shape.dim));
  });
  if (problem.wantLse) {
    outputs.lse.resize(size_t(shape.rows()));
    if (Status status = device.copyFromDevice(std::as_writable_bytes(std::span(outputs.lse)),
                                              memory.buffers.lse.address);
        !status.ok())
      return status.error();
  }
  ForwardReference reference = computeReference(problem, inputs, chooseRows(problem, 400, seed));
  return compareForward(problem, inputs, reference, outputs);
}
