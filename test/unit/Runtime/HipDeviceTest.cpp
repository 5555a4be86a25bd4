// The `hip` device over stand-ins for libamdhip64: both property layouts, launches, and each way in
// which a machine can lack HIP.
#include "TestSupport.h"
#include "hocket/Runtime/Arguments.h"
#include "hocket/Runtime/Hip.h"

#include <dlfcn.h>

using namespace hocket;
using namespace hocket::runtime;

static Result<std::shared_ptr<Device>> openFake(const std::string &name) {
  HipOptions options;
  options.libraries = {"libhocket-no-such-hip.so.7",
                       std::string(HOCKET_FAKE_HIP_DIR) + "/libfakehip_" + name + ".so"};
  return openHipDevice(options);
}

TEST(HipDevice, ReadsTheNewPropertyLayout) {
  auto device = openFake("r0600");
  ASSERT_TRUE(device.ok()) << device.error().message;
  const DeviceProperties &properties = (*device)->properties();
  EXPECT_EQ((*device)->kind(), "hip");
  EXPECT_EQ(properties.name, "Fake new");
  EXPECT_EQ(properties.architecture, "gfx950");
  EXPECT_EQ(properties.totalMemory, 1000000u);
  EXPECT_EQ(properties.maxLdsPerWorkgroup, 163840u);
  EXPECT_EQ(properties.waveSize, 64u);
  EXPECT_EQ(properties.computeUnits, 256u);
}

TEST(HipDevice, ReadsTheOldPropertyLayout) {
  for (const char *name : {"r0000", "5"}) {
    auto device = openFake(name);
    ASSERT_TRUE(device.ok()) << device.error().message;
    const DeviceProperties &properties = (*device)->properties();
    EXPECT_EQ(properties.name, "Fake old");
    EXPECT_EQ(properties.architecture, "gfx950");
    EXPECT_EQ(properties.totalMemory, 2000000u);
    EXPECT_EQ(properties.maxLdsPerWorkgroup, 163840u);
    EXPECT_EQ(properties.waveSize, 64u);
    EXPECT_EQ(properties.computeUnits, 255u);
  }
}

TEST(HipDevice, SaysWhatIsMissing) {
  HipOptions none;
  none.libraries = {"libhocket-none.so.7", "libhocket-none.so.6", "libhocket-none.so"};
  expectError(openHipDevice(none),
              "no HIP library: libhocket-none.so.7, libhocket-none.so.6 or "
              "libhocket-none.so cannot be opened; install ROCm, or use device 'sim'");
  expectError(openFake("nodevice"), "no ROCm-capable device is detected (100)");
  expectError(openFake("gfx942"), "finds gfx90a, gfx942; use device 'sim'");
  expectError(openFake("incomplete"), "has no function 'hipModuleLaunchKernel'");
  HipOptions broken;
  broken.libraries = {HOCKET_TEST_TEXT};
  expectError(openHipDevice(broken), "cannot be loaded: ");
}

TEST(HipDevice, CopiesAndFills) {
  auto opened = openFake("r0600");
  ASSERT_TRUE(opened.ok());
  Device &device = **opened;
  auto address = device.allocate(16, 4096);
  ASSERT_TRUE(address.ok()) << address.error().message;
  EXPECT_EQ(*address % 4096, 0u);
  ASSERT_TRUE(device.fill(*address, 0xab, 16).ok());
  std::array<std::byte, 4> bytes = {std::byte(1), std::byte(2), std::byte(3), std::byte(4)};
  ASSERT_TRUE(device.copyToDevice(*address + 4, bytes).ok());
  std::array<std::byte, 12> back{};
  ASSERT_TRUE(device.copyFromDevice(back, *address).ok());
  EXPECT_EQ(back[3], std::byte(0xab));
  EXPECT_EQ(back[4], std::byte(1));
  EXPECT_EQ(back[8], std::byte(0xab));
  EXPECT_TRUE(device.free(*address).ok());
  expectError(device.free(*address), "no live allocation of this device starts at 0x");
  expectError(device.allocate(0), "allocation of 0 bytes");
  expectError(device.allocate(16, 24), "alignment 24 is not a power of two");
  expectError(device.allocate(uint64_t(1) << 50), "hipMalloc of 1125899906842624 bytes failed");
  expectError(device.allocate(UINT64_MAX, 512), "more than a device has");
}

TEST(HipDevice, LaunchesWithAPackedBlock) {
  auto opened = openFake("r0600");
  ASSERT_TRUE(opened.ok());
  Device &device = **opened;
  auto module = device.loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT((*module)->kernelNames(), testing::ElementsAre("fill", "sizes"));
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  auto address = device.allocate(40);
  ASSERT_TRUE(address.ok());
  std::vector<ArgumentValue> values = {ArgumentValue::pointer(*address), ArgumentValue::u32(77),
                                       ArgumentValue::u32(10)};
  auto block = packArguments((*kernel)->info(), values);
  ASSERT_TRUE(block.ok());
  auto report = device.launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, *block);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_DOUBLE_EQ(report->seconds, 2.5e-3);
  std::array<uint32_t, 10> result{};
  ASSERT_TRUE(device.copyFromDevice(std::as_writable_bytes(std::span(result)), *address).ok());
  EXPECT_THAT(result, testing::Each(77u));
  EXPECT_TRUE(device.synchronize().ok());

  values[1] = ArgumentValue::u32(0xdead);
  block = packArguments((*kernel)->info(), values);
  expectError(device.launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, *block),
              "kernel 'fill': hipModuleLaunchKernel failed: unspecified launch failure (719)");
  EXPECT_TRUE(device.free(*address).ok());
}

// A stand-in's stream is not done when it is asked first.
TEST(HipDevice, TellsUnfinishedWork) {
  auto opened = openFake("r0600");
  ASSERT_TRUE(opened.ok());
  auto stream = (*opened)->createStream();
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  auto first = (*stream)->isComplete(), second = (*stream)->isComplete();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(*first);
  EXPECT_TRUE(*second);
}

namespace {
/// The stand-in's functions, as another part of the program would call them.
struct Library {
  Library() : handle(dlopen(HOCKET_FAKE_HIP_DIR "/libfakehip_r0600.so", RTLD_NOW)) {}
  ~Library() { dlclose(handle); }
  template <typename T> T get(const char *name) { return reinterpret_cast<T>(dlsym(handle, name)); }
  void *handle;
};
} // namespace

// The thread's current device and last error belong to the program.
TEST(HipDevice, LeavesTheThreadAsItWas) {
  Library library;
  auto *getDevice = library.get<int (*)(int *)>("hipGetDevice");
  auto *getLastError = library.get<int (*)()>("hipGetLastError");
  ASSERT_TRUE(getDevice && getLastError);
  auto opened = openFake("r0600");
  ASSERT_TRUE(opened.ok());
  auto address = (*opened)->allocate(16); // works on device 1 only
  ASSERT_TRUE(address.ok()) << address.error().message;
  int current = -1;
  ASSERT_EQ(getDevice(&current), 0);
  EXPECT_EQ(current, 0);
  EXPECT_FALSE((*opened)->fill(77, 0, 1).ok());
  auto stream = (*opened)->createStream();
  ASSERT_TRUE(stream.ok());
  auto done = (*stream)->isComplete(); // hipErrorNotReady
  EXPECT_TRUE(done.ok() && !*done);
  EXPECT_EQ(getLastError(), 0);
  auto module = (*opened)->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok());
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok());
  const std::array<uint32_t, 4> failing = {0, 0, 0xdead, 0};
  expectError(
      (*stream)->launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, std::as_bytes(std::span(failing))),
      "hipModuleLaunchKernel failed");
  EXPECT_EQ(getLastError(), 0);
  EXPECT_TRUE((*opened)->free(*address).ok());
}

// Memory that the program got from HIP itself can be used through the device.
TEST(HipDevice, TakesForeignAllocations) {
  Library library;
  auto *memory = library.get<char *>("fakeForeignMemory");
  ASSERT_TRUE(memory);
  auto opened = openFake("r0600");
  ASSERT_TRUE(opened.ok());
  const auto address = DeviceAddress(reinterpret_cast<uintptr_t>(memory));
  ASSERT_TRUE((*opened)->fill(address + 1, 0x11, 63).ok());
  EXPECT_EQ(memory[0], 0);
  EXPECT_EQ(memory[63], 0x11);
  expectError((*opened)->fill(address + 1, 0, 64), "the allocation there is 64 bytes at 0x");
  expectError((*opened)->free(address), "no live allocation of this device");
}

TEST(HipDevice, TakesTheNumberedDevice) {
  HipOptions options;
  options.libraries = {HOCKET_FAKE_HIP_DIR "/libfakehip_r0600.so"};
  options.index = 1;
  EXPECT_TRUE(openHipDevice(options).ok());
  options.index = 0;
  expectError(openHipDevice(options), "HIP device 0 is a gfx90a, not a gfx950");
  options.index = 2;
  expectError(openHipDevice(options), "no HIP device 2: ");
  options.index = -1;
  expectError(openHipDevice(options), "no HIP device -1: ");
}

TEST(HipDevice, RefusesMisuse) {
  auto first = openFake("r0600"), second = openFake("r0600");
  ASSERT_TRUE(first.ok() && second.ok());
  auto module = (*first)->loadModule(testCodeObject(), "fill.co");
  ASSERT_TRUE(module.ok());
  auto kernel = (*module)->kernel("fill");
  ASSERT_TRUE(kernel.ok());
  std::vector<std::byte> block(16);
  expectError((*second)->launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, block),
              "loaded on another device");
  expectError((*first)->launch(**kernel, {{0, 1, 1}, {64, 1, 1}, 0}, block),
              "has a zero dimension");
  expectError((*first)->launch(**kernel, {{1, 1, 1}, {64, 1, 1}, 0}, std::span(block).first(8)),
              "takes 16 bytes of arguments, 8 given");
  expectError((*module)->kernel("none"), "has no kernel 'none'; it has 'fill', 'sizes'");
  expectError((*first)->loadModule({}, "empty"), "'empty' is not a code object");
}
