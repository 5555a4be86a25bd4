// What all devices share: the anchors of the interface's classes, and the checks that a launch must
// pass wherever it runs. HIP's limits hold in the simulator too, so that what runs there also runs
// on the hardware.
#include "hocket/Runtime/Device.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::runtime;

Kernel::~Kernel() = default;
Module::~Module() = default;
Device::~Device() = default;

Result<LaunchReport> Device::launchWith(std::span<const NumberList>, Kernel &kernel, const LaunchShape &shape,
                                        std::span<const std::byte> kernarg) {
  return launch(kernel, shape, kernarg);
}

uint32_t KernelInfo::explicitKernargSize() const {
  if (arguments.empty())
    return kernargSize;
  uint64_t end = 0;
  for (const KernelArgument &argument : arguments)
    if (!argument.isHidden())
      end = std::max(end, argument.end());
  return static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
}

static std::string text(const Dim3 &dim) {
  return std::to_string(dim.x) + "x" + std::to_string(dim.y) + "x" + std::to_string(dim.z);
}

static Status checkGrid(const std::string &kernel, const LaunchShape &shape) {
  const Dim3 &grid = shape.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return invalidInput("grid " + text(grid) + " of kernel '" + kernel +
                        "' has a zero dimension; every dimension is at least 1");
  if (grid.y > 65535 || grid.z > 65535)
    return invalidInput("grid " + text(grid) + " of kernel '" + kernel +
                        "' is too large, HIP takes at most 65535 workgroups in y and z; move the "
                        "large dimension to x");
  if (uint64_t(grid.x) * shape.block.x > UINT32_MAX)
    return invalidInput("grid " + text(grid) + " of kernel '" + kernel + "' with blocks of " +
                        text(shape.block) +
                        " passes 4294967295 work-items in x; use a smaller grid");
  return Status::success();
}

static Status checkBlock(const KernelInfo &kernel, const Dim3 &block) {
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return invalidInput("block " + text(block) + " of kernel '" + kernel.name +
                        "' has a zero dimension; every dimension is at least 1");
  uint32_t limit = kernel.maxWorkgroupSize == 0 ? 1024 : std::min(kernel.maxWorkgroupSize, 1024u);
  // Each dimension on its own first, so that the product cannot overflow.
  if (block.x > limit || block.y > limit || block.z > limit ||
      uint64_t(block.x) * block.y * block.z > limit)
    return invalidInput("block " + text(block) + " is more than the " + std::to_string(limit) +
                        " work-items that kernel '" + kernel.name + "' takes; use a smaller block");
  return Status::success();
}

Status runtime::checkLaunch(const KernelInfo &kernel, const DeviceProperties &device,
                            const LaunchShape &shape, uint64_t kernargBytes) {
  if (Status status = checkBlock(kernel, shape.block); !status.ok())
    return status;
  if (Status status = checkGrid(kernel.name, shape); !status.ok())
    return status;
  uint64_t lds = uint64_t(kernel.staticLds) + shape.dynamicLds;
  if (device.maxLdsPerWorkgroup != 0 && lds > device.maxLdsPerWorkgroup)
    return invalidInput("kernel '" + kernel.name + "' needs " + std::to_string(lds) +
                        " bytes of LDS (" + std::to_string(kernel.staticLds) + " static, " +
                        std::to_string(shape.dynamicLds) + " dynamic), device '" + device.name +
                        "' has " + std::to_string(device.maxLdsPerWorkgroup) +
                        "; use less dynamic LDS");
  if (kernargBytes < kernel.explicitKernargSize())
    return invalidInput("kernel '" + kernel.name + "' takes " +
                        std::to_string(kernel.explicitKernargSize()) + " bytes of arguments, " +
                        std::to_string(kernargBytes) + " given; pass all of them");
  return Status::success();
}
