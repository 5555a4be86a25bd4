// The same programs on `sim` and on `hip`, where HIP is libhocket_hip: the interface means the same
// on both, and results agree to the bit.
#include "TestSupport.h"
#include "hocket/Runtime/Arguments.h"
#include "hocket/Runtime/CAPI.h"
#include "hocket/Runtime/Hip.h"
#include "hocket/Runtime/Registry.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <dlfcn.h>
#include <thread>

using namespace hocket;
using namespace hocket::runtime;

extern "C" int hocket_test_fill(const char *, const char *, uint32_t *, uint32_t, uint32_t);
extern "C" int hocket_test_streams(const char *, const char *, uint32_t *, uint32_t, double *);

static Result<std::shared_ptr<Device>> openHip() {
  HipOptions options;
  options.libraries = {HOCKET_HIP_LIBRARY_DIR "/libamdhip64.so.7"};
  return openHipDevice(options);
}

static std::shared_ptr<Device> open(const std::string &kind) {
  auto device = kind == "sim" ? Result<std::shared_ptr<Device>>(sim::createDevice()) : openHip();
  if (!device.ok())
    ADD_FAILURE() << device.error().message;
  return device.ok() ? *device : nullptr;
}

static std::shared_ptr<Kernel> loadMix(Device &device, const std::string &name) {
  auto bytes = readFile(HOCKET_TEST_MIX);
  if (!bytes.ok())
    return nullptr;
  auto module = device.loadModule(*bytes, "mix.co");
  if (!module.ok())
    return nullptr;
  // The module goes here: a kernel keeps it loaded.
  auto kernel = (*module)->kernel(name);
  return kernel.ok() ? *kernel : nullptr;
}

/// Bytes of a vector, for copies.
template <typename T> static std::span<std::byte> bytesOf(std::vector<T> &values) {
  return std::as_writable_bytes(std::span(values));
}

namespace {
class BothDevices : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    device = open(GetParam());
    ASSERT_TRUE(device);
  }
  DeviceAddress allocate(uint64_t bytes) {
    auto address = device->allocate(bytes);
    EXPECT_TRUE(address.ok()) << address.error().message;
    return address.ok() ? *address : 0;
  }
  std::shared_ptr<Stream> stream() {
    auto made = device->createStream();
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : nullptr;
  }
  std::shared_ptr<Event> event() {
    auto made = device->createEvent();
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : nullptr;
  }
  std::shared_ptr<Device> device;
};

INSTANTIATE_TEST_SUITE_P(Runtime, BothDevices, testing::Values("sim", "hip"),
                         [](const auto &info) { return info.param; });
} // namespace

static void expectOk(const Status &status) { EXPECT_TRUE(status.ok()) << status.error().message; }

static constexpr uint32_t items = 1000;

static std::vector<float> inputs() {
  std::vector<float> values(items);
  for (uint32_t i = 0; i != items; ++i)
    values[i] = float(int(i * 7919 % 2003) - 1000) / 512.0f;
  return values;
}

static std::vector<std::byte> mixArguments(const Kernel &kernel, DeviceAddress in,
                                           DeviceAddress out, DeviceAddress count) {
  const uint16_t shift = 3;
  const std::vector<ArgumentValue> values = {
      ArgumentValue::pointer(in), ArgumentValue::pointer(out),     ArgumentValue::pointer(count),
      ArgumentValue::f32(0.37f),  ArgumentValue::of(shift, "i16"), ArgumentValue::u32(items)};
  auto block = packArguments(kernel.info(), values);
  EXPECT_TRUE(block.ok()) << block.error().message;
  return block.ok() ? *block : std::vector<std::byte>();
}

static const LaunchShape mixShape = {{(items + 127) / 128, 1, 1}, {128, 1, 1}, 0};

/// The results of `mix` through streams: bits of the outputs, then the count.
static std::vector<uint32_t> runMix(Device &device) {
  std::shared_ptr<Kernel> kernel = loadMix(device, "mix");
  if (!kernel)
    return {};
  std::vector<float> in = inputs();
  std::vector<uint32_t> out(items + 1);
  auto stream = device.createStream();
  auto from = device.allocate(4 * items), to = device.allocate(4 * (items + 1));
  if (!stream.ok() || !from.ok() || !to.ok())
    return {};
  Stream &queue = **stream;
  const DeviceAddress count = *to + 4 * items;
  expectOk(queue.fill(*to, 0xcd, 4 * items));
  expectOk(queue.fill(count, 0, 4));
  expectOk(queue.copyToDevice(*from, bytesOf(in)));
  expectOk(queue.launch(*kernel, mixShape, mixArguments(*kernel, *from, *to, count)));
  expectOk(queue.copyFromDevice(bytesOf(out), *to));
  expectOk(queue.synchronize());
  expectOk(device.free(*from));
  expectOk(device.free(*to));
  return out;
}

TEST(Devices, AgreeToTheBit) {
  std::shared_ptr<Device> sim = open("sim"), hip = open("hip");
  ASSERT_TRUE(sim && hip);
  const std::vector<uint32_t> first = runMix(*sim), second = runMix(*hip);
  ASSERT_EQ(first.size(), items + 1);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[items], items); // counted once each
  EXPECT_NE(first[0], 0xcdcdcdcdu);
}

TEST(Devices, HaveTheSameProperties) {
  std::shared_ptr<Device> sim = open("sim"), hip = open("hip");
  ASSERT_TRUE(sim && hip);
  const DeviceProperties &a = sim->properties(), &b = hip->properties();
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.architecture, b.architecture);
  EXPECT_EQ(a.computeUnits, b.computeUnits);
  EXPECT_EQ(a.waveSize, b.waveSize);
  EXPECT_EQ(a.maxLdsPerWorkgroup, b.maxLdsPerWorkgroup);
}

TEST_P(BothDevices, LaunchReportsTime) {
  std::shared_ptr<Kernel> kernel = loadMix(*device, "mix");
  ASSERT_TRUE(kernel);
  const DeviceAddress memory = allocate(8 * items + 4);
  auto report =
      device->launch(*kernel, mixShape, mixArguments(*kernel, memory, memory, memory + 8 * items));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->seconds, 0);
  EXPECT_LT(report->seconds, 60);
}

// Two streams, ordered by an event; times of events; copies within the device.
TEST_P(BothDevices, OrdersStreamsByEvents) {
  auto first = stream(), second = stream();
  auto start = event(), middle = event(), stop = event();
  const DeviceAddress a = allocate(4096), b = allocate(4096);
  std::vector<uint32_t> values(1024), back(1024);
  for (uint32_t i = 0; i != 1024; ++i)
    values[i] = i * 2654435761u;

  expectOk(first->record(*start));
  expectOk(first->copyToDevice(a, bytesOf(values)));
  expectOk(first->record(*middle));
  expectOk(second->wait(*middle));
  expectOk(second->copyOnDevice(b, a, 4096));
  expectOk(second->fill(b + 4, 0xff, 4));
  expectOk(second->copyFromDevice(bytesOf(back), b));
  expectOk(second->record(*stop));
  expectOk(stop->synchronize());

  values[1] = 0xffffffff;
  EXPECT_EQ(values, back);
  for (Result<bool> done : {stop->isComplete(), second->isComplete()})
    EXPECT_TRUE(done.ok() && *done);
  auto all = stop->secondsSince(*start), part = stop->secondsSince(*middle);
  ASSERT_TRUE(all.ok() && part.ok());
  EXPECT_GE(*all, *part);
  EXPECT_GE(*part, 0);
  expectOk(first->synchronize());
  expectOk(device->synchronize());
}

TEST_P(BothDevices, RefusesWrongMemory) {
  auto queue = stream();
  const DeviceAddress address = allocate(64);
  std::vector<std::byte> host(128);
  const std::span<std::byte> null(static_cast<std::byte *>(nullptr), 16);
  for (DeviceAddress wrong : {address, DeviceAddress(0), DeviceAddress(12345), address + 65}) {
    const uint64_t bytes = wrong == address ? 65 : 1;
    const std::span<std::byte> part = std::span(host).first(bytes);
    EXPECT_FALSE(device->copyToDevice(wrong, part).ok()) << wrong;
    EXPECT_FALSE(device->copyFromDevice(part, wrong).ok()) << wrong;
    EXPECT_FALSE(device->fill(wrong, 1, bytes).ok()) << wrong;
    EXPECT_FALSE(queue->copyToDevice(wrong, part).ok()) << wrong;
    EXPECT_FALSE(queue->copyFromDevice(part, wrong).ok()) << wrong;
    EXPECT_FALSE(queue->fill(wrong, 1, bytes).ok()) << wrong;
    EXPECT_FALSE(queue->copyOnDevice(wrong, address, bytes).ok()) << wrong;
    EXPECT_FALSE(queue->copyOnDevice(address, wrong, bytes).ok()) << wrong;
  }
  expectError(device->copyToDevice(address, null), "host memory of a copy of 16 bytes is null");
  expectError(device->copyFromDevice(null, address), "host memory of a copy of 16 bytes is null");
  expectError(queue->copyToDevice(address, null), "host memory of a copy of 16 bytes is null");
  expectError(queue->copyFromDevice(null, address), "host memory of a copy of 16 bytes is null");
  // Nothing is nothing, wherever.
  expectOk(device->copyToDevice(0, {}));
  expectOk(queue->copyOnDevice(0, 0, 0));
  expectOk(queue->fill(0, 1, 0));
  expectOk(device->free(address));
  EXPECT_FALSE(device->free(address).ok());
  EXPECT_FALSE(device->fill(address, 1, 1).ok());
  EXPECT_FALSE(device->allocate(0).ok());
  EXPECT_FALSE(device->allocate(uint64_t(1) << 50).ok());
}

TEST_P(BothDevices, RefusesForeignEventsAndKernels) {
  std::shared_ptr<Device> other = open(GetParam() == "sim" ? "hip" : "sim"),
                          same = open(GetParam());
  auto queue = stream();
  auto own = event();
  for (const std::shared_ptr<Device> &stranger : {other, same}) {
    auto foreign = stranger->createEvent();
    ASSERT_TRUE(foreign.ok());
    expectError(queue->record(**foreign), "made by another device");
    expectError(queue->wait(**foreign), "made by another device");
    expectError(own->secondsSince(**foreign), "made by another device");
    std::shared_ptr<Kernel> kernel = loadMix(*stranger, "mix");
    ASSERT_TRUE(kernel);
    expectError(queue->launch(*kernel, mixShape, {}), "loaded on another device");
    expectError(device->launch(*kernel, mixShape, {}), "loaded on another device");
  }
  expectError(own->secondsSince(*own), "never recorded");
  auto done = own->isComplete();
  EXPECT_TRUE(done.ok() && *done);
  expectOk(own->synchronize());
}

TEST_P(BothDevices, RefusesWrongLaunches) {
  auto queue = stream();
  std::shared_ptr<Kernel> kernel = loadMix(*device, "mix");
  ASSERT_TRUE(kernel);
  std::vector<std::byte> block(kernel->info().explicitKernargSize());
  expectError(queue->launch(*kernel, {{0, 1, 1}, {64, 1, 1}, 0}, block), "has a zero dimension");
  expectError(queue->launch(*kernel, {{1, 1, 1}, {2048, 1, 1}, 0}, block), "use a smaller block");
  expectError(queue->launch(*kernel, mixShape, std::span(block).first(8)), "8 given");
  EXPECT_FALSE(queue->launch(*kernel, {{1, 1, 1}, {64, 1, 1}, 1 << 20}, block).ok());
  auto text = readFile(HOCKET_TEST_TEXT);
  ASSERT_TRUE(text.ok());
  EXPECT_FALSE(device->loadModule(*text, "text").ok());
  EXPECT_FALSE(device->loadModule({}, "nothing").ok());
}

// A stream, an event and a kernel are used after everything that they were made from was let go.
TEST_P(BothDevices, LiveAsLongAsTheyAreHeld) {
  auto queue = stream();
  auto mark = event();
  std::shared_ptr<Kernel> kernel = loadMix(*device, "mix");
  const DeviceAddress memory = allocate(8 * items + 4);
  const std::vector<std::byte> block = mixArguments(*kernel, memory, memory, memory + 8 * items);
  device.reset();
  expectOk(queue->launch(*kernel, mixShape, block));
  expectOk(queue->record(*mark));
  kernel.reset();
  queue.reset();
  expectOk(mark->synchronize());
}

TEST_P(BothDevices, TakesCallsFromManyThreads) {
  std::vector<uint32_t> expected = runMix(*device);
  ASSERT_EQ(expected.size(), items + 1);
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (size_t i = 0; i != same.size(); ++i)
    threads.emplace_back([&, i] {
      same[i] = true;
      for (int turn = 0; turn != 3; ++turn)
        same[i] = same[i] && runMix(*device) == expected;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(same, testing::Each(true));
}

// A kernel that faults is an error, on HIP one that sticks until the device is reset.
TEST_P(BothDevices, ReportsFaults) {
  std::shared_ptr<Kernel> kernel = loadMix(*device, "poke");
  ASSERT_TRUE(kernel);
  auto queue = stream();
  const uint64_t nowhere = 0x123456789abc;
  std::span<const std::byte> block = std::as_bytes(std::span(&nowhere, 1));
  const LaunchShape one = {{1, 1, 1}, {64, 1, 1}, 0};
  Status given = queue->launch(*kernel, one, block);
  Status waited = queue->synchronize();
  EXPECT_FALSE(given.ok() && waited.ok());
  auto report = device->launch(*kernel, one, block);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::HasSubstr("'poke'"));
  if (GetParam() != "hip")
    return;
  EXPECT_FALSE(device->synchronize().ok());
  kernel.reset();
  queue.reset();
  void *library = dlopen(HOCKET_HIP_LIBRARY_DIR "/libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library);
  auto *reset = reinterpret_cast<int (*)()>(dlsym(library, "hipDeviceReset"));
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset(), 0);
  dlclose(library);
  EXPECT_TRUE(device->synchronize().ok());
}

// The C interface from C, on both.
TEST_P(BothDevices, ServesC) {
  sim::registerSimulator();
  registerDevice("hip", openHip);
  const std::string &kind = GetParam();
  std::array<uint32_t, 100> result{};
  ASSERT_EQ(hocket_test_fill(kind.c_str(), HOCKET_TEST_CODE_OBJECT, result.data(), 100, 42),
            HOCKET_SUCCESS)
      << hocket_last_error();
  EXPECT_THAT(result, testing::Each(42u));
  double seconds = -1;
  ASSERT_EQ(
      hocket_test_streams(kind.c_str(), HOCKET_TEST_CODE_OBJECT, result.data(), 100, &seconds),
      HOCKET_SUCCESS)
      << hocket_last_error();
  for (uint32_t i = 0; i != 100; ++i)
    EXPECT_EQ(result[i], i < 50 ? 7u : 9u) << i;
  EXPECT_GE(seconds, 0);
  registerDevice("hip", [] { return openHipDevice(); });
}

TEST(BorrowedStream, BelongsToHip) {
  std::shared_ptr<Device> sim = open("sim"), hip = open("hip");
  ASSERT_TRUE(sim && hip);
  expectError(borrowHipStream(sim, nullptr), "on device 'hip' only, this is 'sim'");
  expectError(borrowHipStream(nullptr, nullptr), "this is 'none'");
  auto stream = borrowHipStream(hip, nullptr);
  ASSERT_TRUE(stream.ok());
  const DeviceAddress address = *hip->allocate(16);
  expectOk((*stream)->fill(address, 5, 16));
  expectOk((*stream)->synchronize());
  auto stale = borrowHipStream(hip, reinterpret_cast<void *>(uintptr_t(0x77777)));
  ASSERT_TRUE(stale.ok());
  expectError((*stale)->fill(address, 5, 16), "invalid resource handle (400)");
}
