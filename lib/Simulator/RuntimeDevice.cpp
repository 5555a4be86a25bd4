// The runtime's device interface over the simulator.
//
// The simulator's memory must not change under a launch, so one lock per device orders all calls;
// launches use all cores on their own. Modules hold on to the device, whose memory they lie in.
// There are no queues: streams are the runtime's synchronous ones.
#include "hocket/Simulator/RuntimeDevice.h"

#include "hocket/Runtime/Registry.h"
#include "hocket/Runtime/Stream.h"
#include "Simulator/Check.h"
#include "Simulator/Simulator.h"
#include "Target/Arch/ArchInfo.h"

#include <mutex>

using namespace hocket;
using namespace hocket::sim;
using runtime::DeviceAddress;
using runtime::LaunchReport;
using runtime::LaunchShape;

namespace {
class SimDevice;

class SimKernel final : public runtime::Kernel {
public:
  SimKernel(std::weak_ptr<SimDevice> device, std::shared_ptr<Program> program, size_t index)
      : device(std::move(device)), program(std::move(program)), index(index) {}
  const runtime::KernelInfo &info() const override {
    return program->codeObject().kernels()[index];
  }

  const std::weak_ptr<SimDevice> device;
  const std::shared_ptr<Program> program;
  const size_t index;
};

class SimModule final : public runtime::Module {
public:
  SimModule(std::shared_ptr<SimDevice> device, std::unique_ptr<Program> loaded);
  std::vector<std::string> kernelNames() const override;
  Result<std::shared_ptr<runtime::Kernel>> kernel(std::string_view name) override;

private:
  const std::shared_ptr<SimDevice> device;
  const std::shared_ptr<Program> program;
};

class SimDevice final : public runtime::Device {
public:
  SimDevice(Instrument *instrument, const ArchInfo &arch);
  std::string_view kind() const override { return "sim"; }
  const runtime::DeviceProperties &properties() const override { return deviceProperties; }

  Result<DeviceAddress> allocate(uint64_t bytes, uint64_t alignment,
                                 std::string_view label) override {
    std::lock_guard lock(mutex);
    return memory.allocate(bytes, alignment, label);
  }
  Result<DeviceAddress> share(std::span<std::byte> host, std::string_view label) {
    std::lock_guard lock(mutex);
    return memory.share(host, label);
  }
  Status free(DeviceAddress address) override {
    std::lock_guard lock(mutex);
    return memory.free(address);
  }
  Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) override {
    if (Status status = runtime::checkHostMemory(from.data(), from.size()); !status)
      return status;
    std::lock_guard lock(mutex);
    return from.empty() ? Status::success() : memory.write(to, from);
  }
  Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) override {
    if (Status status = runtime::checkHostMemory(to.data(), to.size()); !status)
      return status;
    std::lock_guard lock(mutex);
    return to.empty() ? Status::success() : memory.read(to, from);
  }
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes) override {
    std::lock_guard lock(mutex);
    return bytes == 0 ? Status::success() : memory.fill(to, value, bytes);
  }
  Result<std::shared_ptr<runtime::Module>> loadModule(std::span<const std::byte> codeObject,
                                                      std::string_view name) override;
  Result<LaunchReport> launch(runtime::Kernel &kernel, const LaunchShape &shape,
                              std::span<const std::byte> kernarg) override {
    return launchWith({}, kernel, shape, kernarg);
  }
  Result<LaunchReport> launchWith(std::span<const runtime::NumberList> lists, runtime::Kernel &kernel,
                                  const LaunchShape &shape, std::span<const std::byte> kernarg) override;
  Status use(runtime::Kernel &kernel, const std::function<void(Program &, size_t)> &use);
  Status synchronize() override { return Status::success(); }
  void setSimulationOptions(const runtime::SimulationOptions &options) override {
    std::lock_guard lock(mutex);
    simulation = options;
  }

private:
  friend class SimModule;
  std::shared_ptr<SimDevice> self() {
    return std::static_pointer_cast<SimDevice>(shared_from_this());
  }
  Instrument *const instrument;
  std::mutex mutex;
  Memory memory;
  runtime::SimulationOptions simulation;
  runtime::DeviceProperties deviceProperties;
};
} // namespace

SimDevice::SimDevice(Instrument *instrument, const ArchInfo &arch) : instrument(instrument) {
  deviceProperties.name = std::string(arch.name) + " simulator";
  deviceProperties.architecture = arch.name;
  deviceProperties.totalMemory = memory.limitBytes();
  deviceProperties.computeUnits = arch.chip.computeUnits;
  deviceProperties.waveSize = arch.waves.waveSize;
  deviceProperties.maxLdsPerWorkgroup = arch.lds.bytesPerWorkgroup;
}

SimModule::SimModule(std::shared_ptr<SimDevice> owner, std::unique_ptr<Program> loaded)
    : device(std::move(owner)),
      // Unloading gives memory back, which has to wait for a running launch like any other call.
      program(loaded.release(), [device = device](Program *last) {
        std::lock_guard lock(device->mutex);
        delete last;
      }) {}

std::vector<std::string> SimModule::kernelNames() const {
  std::vector<std::string> names;
  for (const runtime::KernelInfo &kernel : program->codeObject().kernels())
    names.push_back(kernel.name);
  return names;
}

Result<std::shared_ptr<runtime::Kernel>> SimModule::kernel(std::string_view name) {
  Result<size_t> index = program->codeObject().kernelIndex(name);
  if (!index.ok())
    return index.error();
  return std::shared_ptr<runtime::Kernel>(std::make_shared<SimKernel>(device, program, *index));
}

Result<std::shared_ptr<runtime::Module>>
SimDevice::loadModule(std::span<const std::byte> codeObject, std::string_view name) {
  Result<std::shared_ptr<const CodeObject>> parsed = CodeObject::load(codeObject, name);
  if (!parsed.ok())
    return parsed.error();
  std::unique_lock lock(mutex);
  Result<std::unique_ptr<Program>> program = Program::load(memory, *std::move(parsed));
  lock.unlock();
  if (!program.ok())
    return program.error();
  return std::shared_ptr<runtime::Module>(std::make_shared<SimModule>(self(), *std::move(program)));
}

Status SimDevice::use(runtime::Kernel &kernel, const std::function<void(Program &, size_t)> &use) {
  auto *simKernel = dynamic_cast<SimKernel *>(&kernel);
  if (!simKernel || simKernel->device.lock().get() != this)
    return invalidInput("kernel '" + kernel.info().name +
                        "' was loaded on another device; load its module on this one");
  std::lock_guard lock(mutex);
  use(*simKernel->program, simKernel->index);
  return Status::success();
}

Status sim::withProgram(runtime::Device &device, runtime::Kernel &kernel,
                        const std::function<void(Program &, size_t)> &use) {
  auto *simDevice = dynamic_cast<SimDevice *>(&device);
  if (!simDevice)
    return unsupported("cycles can be predicted on the simulator only, this device is '" +
                       std::string(device.kind()) + "'; use --device=sim");
  return simDevice->use(kernel, use);
}

Result<LaunchReport> SimDevice::launchWith(std::span<const runtime::NumberList> lists, runtime::Kernel &kernel,
                                           const LaunchShape &shape, std::span<const std::byte> kernarg) {
  auto *simKernel = dynamic_cast<SimKernel *>(&kernel);
  if (!simKernel || simKernel->device.lock().get() != this)
    return invalidInput("kernel '" + kernel.info().name +
                        "' was loaded on another device; load its module on this one");
  if (Status status = checkLaunch(kernel.info(), deviceProperties, shape, kernarg.size());
      !status.ok())
    return status.error();
  std::lock_guard lock(mutex);
  LaunchOptions options;
  options.seed = simulation.seed;
  options.maxWaveInstructions = simulation.maxWaveInstructions;
  options.maxSeconds = simulation.maxSeconds;
  options.threads = simulation.threads;
  options.stop = simulation.stop;
  options.instrument = instrument;
  options.lists = lists;
  if (simulation.check)
    return launchChecked(*simKernel->program, simKernel->index, shape, kernarg, options);
  return sim::launch(*simKernel->program, simKernel->index, shape, kernarg, options);
}

Result<DeviceAddress> sim::shareHostMemory(runtime::Device &device, std::span<std::byte> host,
                                           std::string_view label) {
  auto *simDevice = dynamic_cast<SimDevice *>(&device);
  if (!simDevice)
    return unsupported("host memory can be shared with the simulator only, this device is '" +
                       std::string(device.kind()) + "'");
  return simDevice->share(host, label);
}

std::shared_ptr<runtime::Device> sim::createDevice(Instrument *instrument,
                                                   std::string_view architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  return arch ? std::make_shared<SimDevice>(instrument, **arch) : nullptr;
}

std::string sim::deviceNameFor(std::string_view architecture) {
  return architecture == knownArchs().front() ? "sim" : "sim:" + std::string(architecture);
}

void sim::registerSimulator() {
  for (std::string_view architecture : knownArchs())
    runtime::registerDevice(deviceNameFor(architecture),
                            [architecture]() -> Result<std::shared_ptr<runtime::Device>> {
                              return createDevice(nullptr, architecture);
                            });
}

void hocket_register_simulator(void) { sim::registerSimulator(); }
