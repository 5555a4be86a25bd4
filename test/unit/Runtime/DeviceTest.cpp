// The launch checks that all devices share, and the simulator behind the device interface.
#include "hocket/Runtime/Device.h"
#include "TestSupport.h"
#include "hocket/Runtime/Arguments.h"
#include "hocket/Runtime/Registry.h"
#include "hocket/Runtime/Stream.h"
#include "hocket/Simulator/RuntimeDevice.h"

using namespace hocket;
using namespace hocket::runtime;

static KernelInfo makeKernel() {
  KernelInfo kernel;
  kernel.name = "k";
  kernel.kernargSize = 8;
  kernel.staticLds = 100000;
  kernel.maxWorkgroupSize = 256;
  kernel.arguments = {{"p", "global_buffer", 0, 8}};
  return kernel;
}

static Status check(const LaunchShape &shape, uint64_t bytes = 8) {
  DeviceProperties device;
  device.name = "d";
  device.maxLdsPerWorkgroup = 163840;
  return checkLaunch(makeKernel(), device, shape, bytes);
}

TEST(CheckLaunch, TakesWhatFits) {
  EXPECT_TRUE(check({{1, 1, 1}, {256, 1, 1}, 63840}).ok());
  EXPECT_TRUE(check({{1 << 20, 65535, 65535}, {4, 8, 8}, 0}).ok());
}

TEST(CheckLaunch, NamesWhatDoesNotFit) {
  expectError(check({{1, 0, 1}, {1, 1, 1}, 0}), "grid 1x0x1 of kernel 'k' has a zero dimension");
  expectError(check({{1, 1, 1}, {1, 1, 0}, 0}), "block 1x1x0 of kernel 'k' has a zero dimension");
  expectError(check({{1, 65536, 1}, {1, 1, 1}, 0}), "at most 65535 workgroups in y and z");
  expectError(check({{1, 1, 65536}, {1, 1, 1}, 0}), "at most 65535 workgroups in y and z");
  expectError(check({{1u << 25, 1, 1}, {256, 1, 1}, 0}), "passes 4294967295 work-items in x");
  expectError(check({{1, 1, 1}, {256, 2, 1}, 0}), "block 256x2x1 is more than the 256 work-items");
  expectError(check({{1, 1, 1}, {1u << 31, 2, 1u << 31}, 0}), "is more than the 256 work-items");
  expectError(check({{1, 1, 1}, {1, 1, 1}, 63841}),
              "needs 163841 bytes of LDS (100000 static, 63841 dynamic)");
  expectError(check({{1, 1, 1}, {1, 1, 1}, 0}, 7), "takes 8 bytes of arguments, 7 given");
}

static std::shared_ptr<Device> openSimulator() {
  sim::registerSimulator();
  auto opened = openDevice("sim");
  return opened.ok() ? opened->device : nullptr;
}

TEST(SimDevice, IsAGfx950) {
  std::shared_ptr<Device> device = openSimulator();
  ASSERT_TRUE(device);
  EXPECT_EQ(device->kind(), "sim");
  EXPECT_EQ(device->properties().architecture, "gfx950");
  EXPECT_EQ(device->properties().computeUnits, 256u);
  EXPECT_EQ(device->properties().maxLdsPerWorkgroup, 163840u);
}

TEST(SimDevice, RunsAKernel) {
  std::shared_ptr<Device> device = openSimulator();
  ASSERT_TRUE(device);
  auto module = device->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok()) << module.error().message;
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  auto address = device->allocate(400);
  ASSERT_TRUE(address.ok());
  std::vector<ArgumentValue> values = {ArgumentValue::pointer(*address), ArgumentValue::u32(77),
                                       ArgumentValue::u32(100)};
  auto block = packArguments((*kernel)->info(), values);
  ASSERT_TRUE(block.ok());
  auto report = device->launch(**kernel, {{2, 1, 1}, {64, 1, 1}, 0}, *block);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->workgroups, 2u);
  EXPECT_GT(report->waveInstructions, 0u);
  std::array<uint32_t, 100> result{};
  ASSERT_TRUE(device->copyFromDevice(std::as_writable_bytes(std::span(result)), *address).ok());
  EXPECT_THAT(result, testing::Each(77u));
}

// Host memory is read and written where it is, and is nobody's afterwards.
TEST(SimDevice, SharesHostMemory) {
  std::shared_ptr<Device> device = openSimulator();
  auto module = device->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok());
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok());
  std::array<uint32_t, 100> result{};
  auto address = sim::shareHostMemory(*device, std::as_writable_bytes(std::span(result)), "mine");
  ASSERT_TRUE(address.ok()) << address.error().message;
  std::vector<ArgumentValue> values = {ArgumentValue::pointer(*address), ArgumentValue::u32(77),
                                       ArgumentValue::u32(100)};
  auto block = packArguments((*kernel)->info(), values);
  ASSERT_TRUE(block.ok());
  EXPECT_TRUE(device->launch(**kernel, {{2, 1, 1}, {64, 1, 1}, 0}, *block).ok());
  EXPECT_THAT(result, testing::Each(77u));
  EXPECT_TRUE(device->free(*address).ok());
  auto stale = device->launch(**kernel, {{2, 1, 1}, {64, 1, 1}, 0}, *block);
  ASSERT_FALSE(stale.ok());
  // The host may use the address for anything else, so it is not remembered.
  EXPECT_THAT(stale.error().message, testing::Not(testing::HasSubstr("'mine'")));
}

TEST(SimDevice, StopsWhenItIsToldTo) {
  std::shared_ptr<Device> device = openSimulator();
  auto module = device->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok());
  auto kernel = (*module)->kernel("fill");
  auto address = device->allocate(400);
  ASSERT_TRUE(kernel.ok() && address.ok());
  std::vector<ArgumentValue> values = {ArgumentValue::pointer(*address), ArgumentValue::u32(77),
                                       ArgumentValue::u32(100)};
  auto block = packArguments((*kernel)->info(), values);
  ASSERT_TRUE(block.ok());
  std::stop_source stop;
  SimulationOptions options;
  options.stop = stop.get_token();
  auto launch = [&] {
    device->setSimulationOptions(options);
    return device->launch(**kernel, {{2, 1, 1}, {64, 1, 1}, 0}, *block);
  };
  EXPECT_TRUE(launch().ok());
  stop.request_stop();
  for (bool check : {false, true}) {
    options.check = check;
    expectError(launch(), "the launch was stopped before its end");
  }
}

TEST(SimDevice, RefusesMisuse) {
  std::shared_ptr<Device> first = openSimulator(), second = openSimulator();
  auto module = first->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok());
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok());
  std::vector<std::byte> block(16);
  expectError(second->launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, block),
              "loaded on another device");
  expectError((*module)->kernel("none"), "'none'");
  expectError(first->allocate(0), "0");
  expectError(first->free(123), "0x7b");
  std::array<std::byte, 4> bytes{};
  EXPECT_FALSE(first->copyFromDevice(bytes, 0).ok());
}

TEST(SimDevice, OutlivesItsHandleThroughAModule) {
  std::shared_ptr<Module> module;
  {
    std::shared_ptr<Device> device = openSimulator();
    auto loaded = device->loadModule(testCodeObject(), "fill.co");
    ASSERT_TRUE(loaded.ok());
    module = *loaded;
  }
  EXPECT_TRUE(module->kernel("fill").ok());
}

// A stream has no report to put findings in: they end the launch.
TEST(SimDevice, FailsCheckedLaunchesOnStreams) {
  std::shared_ptr<Device> device = openSimulator();
  auto bytes = readFile(HOCKET_TEST_MIX);
  ASSERT_TRUE(device && bytes.ok());
  auto module = device->loadModule(*bytes, "mix.co");
  ASSERT_TRUE(module.ok());
  auto race = (*module)->kernel("race"), poke = (*module)->kernel("poke");
  auto stream = device->createStream();
  auto memory = device->allocate(512);
  ASSERT_TRUE(race.ok() && poke.ok() && stream.ok() && memory.ok());
  const LaunchShape shape = {{1, 1, 1}, {128, 1, 1}, 0};
  const uint64_t nowhere = 16;
  std::span<const std::byte> block = std::as_bytes(std::span(&*memory, 1));
  EXPECT_TRUE((*stream)->launch(**race, shape, block).ok());
  SimulationOptions checked;
  checked.check = true;
  device->setSimulationOptions(checked);
  Status raced = (*stream)->launch(**race, shape, block);
  expectError(raced, "kernel 'race': lds-race: 'ds_");
  EXPECT_EQ(raced.error().kind, ErrorKind::Execution);
  expectError((*stream)->launch(**poke, shape, std::as_bytes(std::span(&nowhere, 1))),
              "kernel 'poke': ");
}

// A device that nobody owns could go before its streams.
TEST(SimDevice, HasStreamsOnlyIfOwned) {
  struct Unowned final : Device {
    std::string_view kind() const override { return "unowned"; }
    const DeviceProperties &properties() const override { return none; }
    Result<DeviceAddress> allocate(uint64_t, uint64_t, std::string_view) override {
      return unsupported("none");
    }
    Status free(DeviceAddress) override { return Status::success(); }
    Status copyToDevice(DeviceAddress, std::span<const std::byte>) override {
      return Status::success();
    }
    Status copyFromDevice(std::span<std::byte>, DeviceAddress) override {
      return Status::success();
    }
    Status fill(DeviceAddress, uint8_t, uint64_t) override { return Status::success(); }
    Result<std::shared_ptr<Module>> loadModule(std::span<const std::byte>,
                                               std::string_view) override {
      return unsupported("none");
    }
    Result<LaunchReport> launch(Kernel &, const LaunchShape &,
                                std::span<const std::byte>) override {
      return unsupported("none");
    }
    Status synchronize() override { return Status::success(); }
    DeviceProperties none;
  } device;
  expectError(device.createStream(), "is not owned by a shared pointer");
  expectError(device.createEvent(), "is not owned by a shared pointer");
}
