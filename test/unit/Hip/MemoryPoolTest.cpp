// Memory that streams give out and take back, and the pools that count it.
#include "Hip.h"

using namespace hocket;

class HipMemoryPool : public HipTest {
protected:
  struct Properties {
    int allocationType = 1, handleTypes = 0, locationType = 1, location = 0;
    void *attributes = nullptr;
    size_t most = 0;
    unsigned char reserved[56] = {};
  };
  enum Attribute { reuse = 1, threshold = 4, reserved = 5, used = 7, mostUsed = 8 };

  uint64_t read(void *pool, int attribute) {
    uint64_t value = ~0ull;
    EXPECT_EQ(hipMemPoolGetAttribute(pool, attribute, &value), 0);
    return value;
  }
};

TEST_F(HipMemoryPool, CountsWhatTheDevicesPoolGaveOut) {
  void *pool = nullptr, *current = nullptr, *a = nullptr, *b = nullptr;
  ASSERT_EQ(hipDeviceGetDefaultMemPool(&pool, 0), 0);
  ASSERT_EQ(hipDeviceGetMemPool(&current, 0), 0);
  EXPECT_EQ(pool, current);
  const uint64_t before = read(pool, used);
  ASSERT_EQ(hipMallocAsync(&a, 1000, nullptr), 0);
  ASSERT_EQ(hipMallocAsync(&b, 24, nullptr), 0);
  EXPECT_EQ(read(pool, used), before + 1024);
  EXPECT_EQ(hipMemset(a, 1, 1000), 0);
  EXPECT_EQ(hipFreeAsync(a, nullptr), 0);
  EXPECT_EQ(hipMemset(a, 1, 1000), invalidValue);
  EXPECT_EQ(hipFree(b), 0); // as HIP allows
  EXPECT_EQ(read(pool, used), before);
  EXPECT_EQ(read(pool, reserved), before);
  EXPECT_GE(read(pool, mostUsed), before + 1024);
  uint64_t zero = 0;
  EXPECT_EQ(hipMemPoolSetAttribute(pool, mostUsed, &zero), 0);
  EXPECT_EQ(read(pool, mostUsed), before);
  EXPECT_EQ(hipMemPoolTrimTo(pool, 0), 0);
  int supported = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&supported, 88, 0), 0);
  EXPECT_EQ(supported, 1);
}

TEST_F(HipMemoryPool, MakesPools) {
  void *pool = nullptr, *usual = nullptr, *a = nullptr, *b = nullptr;
  Properties properties;
  properties.most = 100;
  ASSERT_EQ(hipMemPoolCreate(&pool, &properties), 0);
  ASSERT_EQ(hipMallocFromPoolAsync(&a, 64, pool, nullptr), 0);
  EXPECT_EQ(hipMallocFromPoolAsync(&b, 64, pool, nullptr), 2); // out of memory
  EXPECT_EQ(b, nullptr);
  ASSERT_EQ(hipDeviceSetMemPool(0, pool), 0);
  ASSERT_EQ(hipMallocAsync(&b, 36, nullptr), 0);
  EXPECT_EQ(read(pool, used), 100u);
  uint64_t bytes = 1 << 20;
  EXPECT_EQ(hipMemPoolSetAttribute(pool, threshold, &bytes), 0);
  EXPECT_EQ(read(pool, threshold), bytes);
  int off = 0, flag = 7;
  EXPECT_EQ(hipMemPoolSetAttribute(pool, reuse, &off), 0);
  EXPECT_EQ(hipMemPoolGetAttribute(pool, reuse, &flag), 0);
  EXPECT_EQ(flag, 0);
  int access[3] = {1, 0, 3};
  EXPECT_EQ(hipMemPoolSetAccess(pool, access, 1), 0);
  EXPECT_EQ(hipMemPoolGetAccess(&flag, pool, access), 0);
  EXPECT_EQ(flag, 3);
  // Memory outlives its pool, and the device goes back to its own.
  EXPECT_EQ(hipMemPoolDestroy(pool), 0);
  EXPECT_EQ(hipMemset(a, 0, 64), 0);
  EXPECT_EQ(hipFreeAsync(a, nullptr), 0);
  EXPECT_EQ(hipFreeAsync(b, nullptr), 0);
  ASSERT_EQ(hipDeviceGetMemPool(&usual, 0), 0);
  EXPECT_NE(usual, pool);
  EXPECT_EQ(hipMallocAsync(&a, 4, nullptr), 0);
  EXPECT_EQ(hipFreeAsync(a, nullptr), 0);
}

TEST_F(HipMemoryPool, RefusesMisuse) {
  void *pool = nullptr, *a = nullptr;
  Properties properties;
  EXPECT_EQ(hipMemPoolCreate(&pool, nullptr), invalidValue);
  properties.allocationType = 0;
  EXPECT_EQ(hipMemPoolCreate(&pool, &properties), invalidValue);
  properties = {};
  properties.location = 1;
  EXPECT_NE(hipMemPoolCreate(&pool, &properties), 0);
  properties = {};
  properties.handleTypes = 1; // shared with other processes
  EXPECT_NE(hipMemPoolCreate(&pool, &properties), 0);
  ASSERT_EQ(hipDeviceGetDefaultMemPool(&pool, 0), 0);
  EXPECT_EQ(hipMemPoolDestroy(pool), invalidValue);
  uint64_t value = 1;
  EXPECT_EQ(hipMemPoolSetAttribute(pool, used, &value), invalidValue);
  EXPECT_EQ(hipMemPoolSetAttribute(pool, mostUsed, &value), invalidValue);
  EXPECT_EQ(hipMemPoolGetAttribute(pool, 9, &value), invalidValue);
  EXPECT_EQ(hipMemPoolGetAttribute(&value, used, &value), invalidValue);
  int access[3] = {1, 0, 1}; // reading alone
  EXPECT_EQ(hipMemPoolSetAccess(pool, access, 1), invalidValue);
  EXPECT_EQ(hipDeviceSetMemPool(0, &value), invalidValue);
  EXPECT_NE(hipDeviceGetDefaultMemPool(&pool, 1), 0);
  EXPECT_EQ(hipMallocFromPoolAsync(&a, 4, nullptr, nullptr), invalidValue);
  EXPECT_EQ(hipMallocAsync(nullptr, 4, nullptr), invalidValue);
  EXPECT_NE(hipMallocAsync(&a, 4, &value), 0);
  EXPECT_EQ(hipMallocAsync(&a, 0, nullptr), 0);
  EXPECT_EQ(a, nullptr);
  EXPECT_EQ(hipFreeAsync(nullptr, nullptr), 0);
}

TEST_F(HipMemoryPool, EndsWithTheDevice) {
  void *pool = nullptr, *a = nullptr;
  Properties properties;
  ASSERT_EQ(hipMemPoolCreate(&pool, &properties), 0);
  ASSERT_EQ(hipMallocFromPoolAsync(&a, 64, pool, nullptr), 0);
  EXPECT_EQ(hipDeviceReset(), 0);
  EXPECT_EQ(hipFreeAsync(a, nullptr), invalidValue);
  ASSERT_EQ(hipDeviceGetDefaultMemPool(&pool, 0), 0);
  EXPECT_EQ(read(pool, used), 0u);
}
