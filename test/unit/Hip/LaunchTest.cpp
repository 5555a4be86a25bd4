// Modules, kernels, launches.
#include "Hip.h"

#include <array>
#include <thread>

using namespace hocket;

namespace {
class HipLaunch : public HipTest {
protected:
  void SetUp() override {
    HipTest::SetUp();
    ASSERT_EQ(hipModuleLoad(&module, HOCKET_TEST_CODE_OBJECT), 0);
    ASSERT_EQ(hipModuleGetFunction(&fill, module, "fill"), 0);
    ASSERT_EQ(hipMalloc(&memory, 400), 0);
  }
  /// Fills `count` numbers with `value` by pointers to arguments.
  int launch(uint32_t value, uint32_t count) {
    void *parameters[] = {&memory, &value, &count};
    return hipModuleLaunchKernel(fill, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                                 nullptr);
  }
  std::array<uint32_t, 100> result() {
    std::array<uint32_t, 100> values{};
    EXPECT_EQ(hipMemcpy(values.data(), memory, 400, deviceToHost), 0);
    return values;
  }
  void *module = nullptr, *fill = nullptr, *memory = nullptr;
};

constexpr uintptr_t bufferPointer = 1, bufferSize = 2, bufferEnd = 3;
void *key(uintptr_t value) { return reinterpret_cast<void *>(value); }
} // namespace

TEST_F(HipLaunch, TakesParameters) {
  ASSERT_EQ(launch(77, 100), 0);
  EXPECT_THAT(result(), testing::Each(77u));
}

TEST_F(HipLaunch, TakesAPackedBlock) {
  struct {
    void *to;
    uint32_t value, count;
  } arguments = {memory, 78, 100};
  size_t size = sizeof(arguments);
  void *extra[] = {key(bufferSize), &size, key(bufferPointer), &arguments, key(bufferEnd)};
  auto run = [&](void **parameters, void **given) {
    return hipModuleLaunchKernel(fill, 2, 1, 1, 64, 1, 1, 0, nullptr, parameters, given);
  };
  ASSERT_EQ(run(nullptr, extra), 0);
  EXPECT_THAT(result(), testing::Each(78u));
  void *parameters[] = {&arguments.to, &arguments.value, &arguments.count};
  EXPECT_EQ(run(parameters, extra), invalidValue);
  EXPECT_EQ(run(nullptr, nullptr), invalidValue);
  parameters[1] = nullptr;
  EXPECT_EQ(run(parameters, nullptr), invalidValue);
  size = 8;
  EXPECT_EQ(run(nullptr, extra), invalidValue);
  void *noSize[] = {key(bufferPointer), &arguments, key(bufferEnd)};
  EXPECT_EQ(run(nullptr, noSize), invalidValue);
  void *unknown[] = {key(99), &arguments, key(bufferEnd)};
  EXPECT_EQ(run(nullptr, unknown), invalidValue);
}

// HIP_LAUNCH_CONFIG as HIP 7's headers have it.
TEST_F(HipLaunch, TakesAttributes) {
  struct Attribute {
    int id, padding;
    union {
      char bytes[64];
      int number;
    } value;
  } attributes[2] = {{8, 0, {}}, {2, 0, {}}}; // a priority, and that the launch is not cooperative
  struct Config {
    unsigned grid[3], block[3], sharedBytes;
    void *stream;
    Attribute *attributes;
    unsigned count;
  } config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, attributes, 2};
  static_assert(sizeof(Attribute) == 72 && sizeof(Config) == 56);
  uint32_t value = 79, count = 100;
  void *parameters[] = {&memory, &value, &count};
  ASSERT_EQ(hipDrvLaunchKernelEx(&config, fill, parameters, nullptr), 0);
  EXPECT_THAT(result(), testing::Each(79u));
  attributes[1].value.number = 1;
  EXPECT_EQ(hipDrvLaunchKernelEx(&config, fill, parameters, nullptr), notSupported);
  attributes[1].id = 4; // clusters
  EXPECT_EQ(hipDrvLaunchKernelEx(&config, fill, parameters, nullptr), notSupported);
  config.attributes = nullptr;
  EXPECT_EQ(hipDrvLaunchKernelEx(&config, fill, parameters, nullptr), invalidValue);
  EXPECT_EQ(hipDrvLaunchKernelEx(nullptr, fill, parameters, nullptr), invalidValue);
}

TEST_F(HipLaunch, RefusesWrongShapes) {
  uint32_t value = 1, count = 100;
  void *parameters[] = {&memory, &value, &count};
  auto run = [&](unsigned grid, unsigned block, unsigned lds) {
    return hipModuleLaunchKernel(fill, grid, 1, 1, block, 1, 1, lds, nullptr, parameters, nullptr);
  };
  EXPECT_EQ(run(0, 64, 0), invalidConfiguration);
  EXPECT_EQ(run(1, 0, 0), invalidConfiguration);
  EXPECT_EQ(run(1, 2048, 0), invalidConfiguration);
  EXPECT_EQ(run(1, 64, 163841), invalidConfiguration);
  EXPECT_EQ(run(2, 64, 163840), 0);
}

TEST_F(HipLaunch, KnowsItsModules) {
  void *none = nullptr, *other = nullptr;
  EXPECT_EQ(hipModuleLoad(&none, "/no/such.co"), fileNotFound);
  EXPECT_EQ(hipModuleLoad(nullptr, HOCKET_TEST_CODE_OBJECT), invalidValue);
  EXPECT_EQ(hipModuleLoadData(&none, nullptr), invalidValue);
  const std::array<char, 64> text = {"no code object at all"};
  EXPECT_EQ(hipModuleLoadData(&none, text.data()), invalidImage);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(hipModuleGetFunction(&none, module, "nothing"), nameNotFound);
  EXPECT_EQ(hipModuleGetFunction(&none, memory, "fill"), invalidHandle);
  const std::vector<std::byte> bytes = readBytes(HOCKET_TEST_CODE_OBJECT);
  ASSERT_EQ(hipModuleLoadData(&other, bytes.data()), 0);
  EXPECT_NE(other, module);
  int value = 0;
  EXPECT_EQ(hipFuncGetAttribute(&value, 0, fill), 0); // threads per block
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(hipFuncGetAttribute(&value, 8, fill), 0); // dynamic LDS
  EXPECT_EQ(value, 163840);
  EXPECT_EQ(hipFuncGetAttribute(&value, 77, fill), invalidValue);
}

TEST_F(HipLaunch, EndsWithItsModule) {
  void *other = nullptr;
  ASSERT_EQ(hipModuleLoad(&other, HOCKET_TEST_CODE_OBJECT), 0);
  ASSERT_EQ(hipModuleUnload(module), 0);
  EXPECT_EQ(hipModuleUnload(module), invalidHandle);
  EXPECT_EQ(launch(1, 100), invalidHandle);
  int value = 0;
  EXPECT_EQ(hipFuncGetAttribute(&value, 0, fill), invalidHandle);
}

TEST_F(HipLaunch, FindsGlobals) {
  void *mix = nullptr, *kernel = nullptr, *address = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(hipModuleLoad(&mix, HOCKET_TEST_MIX), 0);
  ASSERT_EQ(hipModuleGetGlobal(&address, &bytes, mix, "launches"), 0);
  EXPECT_EQ(bytes, 4u);
  uint32_t launches = 41;
  ASSERT_EQ(hipMemcpy(address, &launches, 4, hostToDevice), 0);
  ASSERT_EQ(hipModuleGetFunction(&kernel, mix, "mix"), 0);
  void *in = nullptr, *out = nullptr, *count = nullptr;
  ASSERT_EQ(hipMalloc(&in, 512), 0);
  ASSERT_EQ(hipMalloc(&out, 512), 0);
  ASSERT_EQ(hipMalloc(&count, 4), 0);
  float scale = 1;
  uint16_t shift = 1;
  uint32_t n = 128;
  void *parameters[] = {&in, &out, &count, &scale, &shift, &n};
  ASSERT_EQ(hipModuleLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), 0);
  ASSERT_EQ(hipMemcpy(&launches, address, 4, deviceToHost), 0);
  EXPECT_EQ(launches, 42u);
  EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, mix, "mix.kd"), 0); // an object like any other
  EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, mix, "mix"), nameNotFound);
  EXPECT_EQ(hipModuleGetGlobal(&address, &bytes, mix, "none"), nameNotFound);
}

TEST_F(HipLaunch, CountsResidentBlocks) {
  int blocks = 0, grid = 0, block = 0;
  // 8 waves on each of 4 SIMDs: 2048 work-items.
  ASSERT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0), 0);
  EXPECT_EQ(blocks, 8);
  ASSERT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 81920), 0);
  EXPECT_EQ(blocks, 2);
  ASSERT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 2048, 0), 0);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 0, 0), invalidValue);
  ASSERT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0), 0);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 512);
  ASSERT_EQ(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 300), 0);
  EXPECT_EQ(block, 256);
}

// The fault is printed, and the device is unusable until it is reset.
TEST_F(HipLaunch, FaultsStick) {
  void *mix = nullptr, *poke = nullptr;
  ASSERT_EQ(hipModuleLoad(&mix, HOCKET_TEST_MIX), 0);
  ASSERT_EQ(hipModuleGetFunction(&poke, mix, "poke"), 0);
  uint64_t nowhere = 0x123456789abc;
  void *parameters[] = {&nowhere};
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipModuleLaunchKernel(poke, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr),
            launchFailure);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("libhocket_hip: kernel 'poke': 'global_store"),
                             testing::HasSubstr("0x123456789abc")));
  EXPECT_EQ(hipGetLastError(), launchFailure);
  EXPECT_EQ(hipDeviceSynchronize(), launchFailure);
  EXPECT_EQ(hipStreamSynchronize(nullptr), launchFailure);
  EXPECT_EQ(launch(1, 100), launchFailure);
  uint32_t word = 0;
  EXPECT_EQ(hipMemcpy(&word, memory, 4, deviceToHost), launchFailure);
  ASSERT_EQ(hipDeviceReset(), 0);
  EXPECT_EQ(hipDeviceSynchronize(), 0);
  SetUp();
  EXPECT_EQ(launch(5, 100), 0);
}

// Kernels write to memory that the host has too.
TEST_F(HipLaunch, WritesToPinnedMemory) {
  void *pinned = nullptr;
  ASSERT_EQ(hipHostMalloc(&pinned, 400, 0), 0);
  memory = pinned;
  ASSERT_EQ(launch(9, 100), 0);
  EXPECT_EQ(static_cast<uint32_t *>(pinned)[99], 9u);
}

TEST_F(HipLaunch, RunsFromManyThreads) {
  std::array<int, 8> wrong{};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t != wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint32_t turn = 0; turn != 10; ++turn) {
        void *own = nullptr, *stream = nullptr;
        uint32_t value = t * 100 + turn, count = 100;
        std::array<uint32_t, 100> back{};
        void *parameters[] = {&own, &value, &count};
        const bool ran =
            hipMalloc(&own, 400) == 0 && hipStreamCreate(&stream) == 0 &&
            hipModuleLaunchKernel(fill, 2, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr) == 0 &&
            hipMemcpyAsync(back.data(), own, 400, deviceToHost, stream) == 0 &&
            hipStreamDestroy(stream) == 0 && hipFree(own) == 0;
        wrong[t] += !ran || back[0] != value || back[99] != value;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}
