// A tensor is one host image with its rows where the strides say.
#include "ApiRun.h"

#include <cstring>

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::test;

DeviceBuffers::DeviceBuffers(runtime::Device &device, const ForwardPlan &plan) : device(device) {
  for (const BufferNeed &need : plan.buffers())
    buffers[need.name] = allocate(need.bytes);
}

DeviceBuffers::~DeviceBuffers() {
  for (const auto &[name, buffer] : buffers)
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

static Status upload(runtime::Device &device, const manifest::TensorSpec &tensor, const Buffer &to,
                     const verify::TypedArray &dense) {
  std::vector<std::byte> image(tensor.spanBytes());
  const std::byte *row = dense.bytes().data();
  for (uint64_t offset : tensor.rowOffsets()) {
    std::memcpy(image.data() + offset, row, size_t(tensor.rowBytes()));
    row += tensor.rowBytes();
  }
  return device.copyToDevice(to.address, image);
}

static Status download(runtime::Device &device, const manifest::TensorSpec &tensor,
                       const Buffer &from, verify::TypedArray &dense) {
  std::vector<std::byte> image(tensor.spanBytes());
  if (Status status = device.copyFromDevice(image, from.address); !status.ok())
    return status;
  dense = verify::TypedArray(tensor.type, size_t(tensor.elements()));
  std::byte *row = dense.bytes().data();
  for (uint64_t offset : tensor.rowOffsets()) {
    std::memcpy(row, image.data() + offset, size_t(tensor.rowBytes()));
    row += tensor.rowBytes();
  }
  return Status::success();
}

Result<ForwardErrors> test::runAndCompare(runtime::Device &device, const ForwardPlan &plan,
                                          uint64_t seed) {
  const ForwardProblem &problem = plan.problem();
  DeviceBuffers memory(device, plan);
  if (!memory.status.ok())
    return memory.status.error();
  ForwardInputs inputs = generateInputs(problem, DataKind::Normal, seed);
  for (auto [name, dense] :
       {std::pair("q", &inputs.q), std::pair("k", &inputs.k), std::pair("v", &inputs.v)})
    if (Status status = upload(device, problem.tensor(name), memory.buffers[name], *dense);
        !status.ok())
      return status.error();
  auto reports = plan.run(device, memory.buffers);
  if (!reports.ok())
    return reports.error();
  ForwardOutputs outputs;
  if (Status status = download(device, problem.tensor("o"), memory.buffers["o"], outputs.o);
      !status.ok())
    return status.error();
  if (problem.wantLse) {
    outputs.lse.resize(size_t(problem.tensor("lse").elements()));
    if (Status status = device.copyFromDevice(std::as_writable_bytes(std::span(outputs.lse)),
                                              memory.buffers["lse"].address);
        !status.ok())
      return status.error();
  }
  ForwardReference reference = computeReference(problem, inputs, chooseRows(problem, 400, seed));
  return compareForward(problem, inputs, reference, outputs);
}
