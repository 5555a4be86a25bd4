// A device that runs nothing and remembers what it was asked to do.
#pragma once

#include "hocket/Runtime/Device.h"

#include <atomic>
#include <cstring>

namespace hocket::test {

class FakeDevice : public runtime::Device {
public:
  struct Launch {
    runtime::LaunchShape shape;
    std::vector<std::byte> kernarg;
  };

  FakeDevice() { props.name = "fake", props.architecture = "gfx950"; }
  std::string_view kind() const override { return "fake"; }
  const runtime::DeviceProperties &properties() const override { return props; }
  Result<runtime::DeviceAddress> allocate(uint64_t, uint64_t, std::string_view) override {
    return runtime::DeviceAddress(4096);
  }
  Status free(runtime::DeviceAddress) override { return {}; }
  Status copyToDevice(runtime::DeviceAddress, std::span<const std::byte>) override { return {}; }
  Status copyFromDevice(std::span<std::byte>, runtime::DeviceAddress) override { return {}; }
  Status fill(runtime::DeviceAddress, uint8_t, uint64_t) override { return {}; }
  Result<std::shared_ptr<runtime::Module>> loadModule(std::span<const std::byte>,
                                                      std::string_view) override {
    ++loads;
    return std::shared_ptr<runtime::Module>(std::make_shared<FakeModule>());
  }
  Result<runtime::LaunchReport> launch(runtime::Kernel &, const runtime::LaunchShape &shape,
                                       std::span<const std::byte> kernarg) override {
    launches.push_back({shape, {kernarg.begin(), kernarg.end()}});
    return runtime::LaunchReport();
  }
  Status synchronize() override { return {}; }

  runtime::DeviceProperties props;
  std::vector<Launch> launches;
  std::atomic<int> loads = 0;

private:
  class FakeKernel : public runtime::Kernel {
  public:
    FakeKernel() {
      details.name = "k";
      details.kernargSize = 16;
    }
    const runtime::KernelInfo &info() const override { return details; }
    runtime::KernelInfo details;
  };
  class FakeModule : public runtime::Module {
  public:
    std::vector<std::string> kernelNames() const override { return {"k"}; }
    Result<std::shared_ptr<runtime::Kernel>> kernel(std::string_view) override {
      return std::shared_ptr<runtime::Kernel>(std::make_shared<FakeKernel>());
    }
  };
};

} // namespace hocket::test
