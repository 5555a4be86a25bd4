// The device, its contexts, and errors.
#include "Hip.h"

#include <array>
#include <thread>

using namespace hocket;

class HipDevice : public HipTest {};

TEST_F(HipDevice, IsOneGfx950) {
  int count = 0, current = -1, version = 0;
  EXPECT_EQ(hipInit(0), 0);
  EXPECT_EQ(hipInit(1), invalidValue);
  ASSERT_EQ(hipGetDeviceCount(&count), 0);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(hipSetDevice(0), 0);
  EXPECT_EQ(hipSetDevice(1), invalidDevice);
  EXPECT_EQ(hipSetDevice(-1), invalidDevice);
  ASSERT_EQ(hipGetDevice(&current), 0);
  EXPECT_EQ(current, 0);
  ASSERT_EQ(hipDriverGetVersion(&version), 0);
  EXPECT_EQ(version / 10000000, 7); // loaded by a name without a number
  char name[8];
  ASSERT_EQ(hipDeviceGetName(name, sizeof(name), 0), 0);
  EXPECT_STREQ(name, "gfx950 "); // cut to fit
  EXPECT_EQ(hipDeviceGetName(name, 0, 0), invalidValue);
  EXPECT_EQ(hipDeviceGetName(name, 8, 1), invalidDevice);
}

// Both layouts, and not a byte beyond them.
TEST_F(HipDevice, FillsBothPropertyLayouts) {
  auto read = [](const std::vector<char> &from, size_t at, auto value) {
    std::memcpy(&value, &from[at], sizeof(value));
    return value;
  };
  std::vector<char> old(800, 'x'), current(1480, 'x');
  ASSERT_EQ(hipGetDeviceProperties(old.data(), 0), 0);
  ASSERT_EQ(hipGetDevicePropertiesR0600(current.data(), 0), 0);
  EXPECT_STREQ(old.data(), "gfx950 simulator");
  EXPECT_STREQ(current.data(), "gfx950 simulator");
  EXPECT_STREQ(&old[396], "gfx950:sramecc+:xnack-");
  EXPECT_STREQ(&current[1160], "gfx950:sramecc+:xnack-");
  EXPECT_EQ(read(old, 264, size_t()), 163840u);
  EXPECT_EQ(read(current, 296, size_t()), 163840u);
  EXPECT_EQ(read(old, 276, int()), 64);
  EXPECT_EQ(read(current, 308, int()), 64);
  EXPECT_EQ(read(old, 336, int()), 256);
  EXPECT_EQ(read(current, 388, int()), 256);
  EXPECT_EQ(read(old, 256, size_t()), read(current, 288, size_t()));
  EXPECT_EQ(std::string(&old[792], 8), "xxxxxxxx");
  EXPECT_EQ(std::string(&current[1472], 8), "xxxxxxxx");
  EXPECT_EQ(hipGetDeviceProperties(nullptr, 0), invalidValue);
  EXPECT_EQ(hipGetDevicePropertiesR0600(current.data(), 1), invalidDevice);
}

TEST_F(HipDevice, AnswersAttributes) {
  int value = 0;
  ASSERT_EQ(hipDeviceGetAttribute(&value, 87, 0), 0); // WarpSize
  EXPECT_EQ(value, 64);
  ASSERT_EQ(hipDeviceGetAttribute(&value, 63, 0), 0); // MultiprocessorCount
  EXPECT_EQ(value, 256);
  ASSERT_EQ(hipDeviceGetAttribute(&value, 74, 0), 0); // MaxSharedMemoryPerBlock
  EXPECT_EQ(value, 163840);
  ASSERT_EQ(hipDeviceGetAttribute(&value, 56, 0), 0); // MaxThreadsPerBlock
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(hipDeviceGetAttribute(&value, 12345, 0), invalidValue);
  EXPECT_EQ(hipDeviceGetAttribute(nullptr, 87, 0), invalidValue);
}

TEST_F(HipDevice, KeepsContexts) {
  void *context = nullptr, *popped = nullptr;
  ASSERT_EQ(hipCtxGetCurrent(&context), 0);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(hipCtxPushCurrent(context), 0);
  EXPECT_EQ(hipCtxPopCurrent(&popped), 0);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(hipCtxPopCurrent(&popped), invalidContext);
  EXPECT_EQ(hipCtxSetCurrent(&context), invalidContext);
}

TEST_F(HipDevice, KeepsTheLastErrorOfEachThread) {
  EXPECT_EQ(hipPeekAtLastError(), 0);
  hipSetDevice(7);
  hipSetDevice(0); // a success does not hide it
  int other = -1;
  std::thread([&] { other = hipPeekAtLastError(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(hipPeekAtLastError(), invalidDevice);
  EXPECT_EQ(hipGetLastError(), invalidDevice);
  EXPECT_EQ(hipGetLastError(), 0);
  EXPECT_STREQ(hipGetErrorName(719), "hipErrorLaunchFailure");
  EXPECT_STREQ(hipGetErrorName(0), "hipSuccess");
  EXPECT_STREQ(hipGetErrorName(12345), "hipErrorUnknown");
  EXPECT_STREQ(hipGetErrorString(1), "invalid argument");
  EXPECT_STREQ(hipGetErrorString(12345), "unknown error");
}

// What is not there says so, by name and once, and is an error.
TEST_F(HipDevice, NamesWhatIsMissing) {
  void *graph = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipGraphClone(&graph, nullptr), notSupported);
  EXPECT_EQ(hipGraphClone(&graph, nullptr), notSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libhocket_hip: hipGraphClone is not supported\n");
  EXPECT_EQ(hipGetLastError(), notSupported);
  testing::internal::CaptureStderr();
  EXPECT_EQ(hiprtcVersion(nullptr, nullptr), 11);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libhocket_hip: hiprtcVersion is not supported\n");
}

TEST_F(HipDevice, FindsFunctionsByName) {
  void *function = nullptr, *other = nullptr;
  int status = 7, count = 0;
  ASSERT_EQ(hipGetProcAddress("hipGetDeviceCount", &function, 701, 0, &status), 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(reinterpret_cast<int (*)(int *)>(function)(&count), 0);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(function, reinterpret_cast<void *>(&hipGetDeviceCount));
  // Which structure hipGetDeviceProperties fills, the version says, in both ways to count.
  for (int version : {600, 60'300'000}) {
    ASSERT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, version, 0, nullptr), 0);
    EXPECT_EQ(function, reinterpret_cast<void *>(&hipGetDevicePropertiesR0600));
  }
  for (int version : {502, 50'200'000}) {
    ASSERT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, version, 0, nullptr), 0);
    EXPECT_EQ(function, reinterpret_cast<void *>(&hipGetDeviceProperties));
  }
  // The form for the thread's own stream, where there is one.
  ASSERT_EQ(hipGetProcAddress("hipStreamQuery", &function, 701, 0, nullptr), 0);
  ASSERT_EQ(hipGetProcAddress("hipStreamQuery", &other, 701, 2, nullptr), 0);
  EXPECT_NE(function, other);
  EXPECT_EQ(hipGetProcAddress("hipNoSuchFunction", &function, 701, 0, &status), invalidValue);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(hipGetProcAddress("hipInit", &function, 701, 64, nullptr), invalidValue);
  EXPECT_EQ(hipGetProcAddress(nullptr, &function, 701, 0, nullptr), invalidValue);
}
