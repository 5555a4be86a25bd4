// Memory of all kinds, copies and fills, and their misuse.
#include "Hip.h"

#include <array>
#include <numeric>

using namespace hocket;

class HipMemory : public HipTest {};

/// hipPointerAttribute_t.
struct Attributes {
  int type, device;
  void *devicePointer, *hostPointer;
  int managed;
  unsigned flags;
};

TEST_F(HipMemory, CopiesInAllDirections) {
  std::vector<uint8_t> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 0);
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(hipMalloc(&a, 1000), 0);
  ASSERT_EQ(hipMalloc(&b, 1000), 0);
  EXPECT_EQ(hipMemcpy(a, in.data(), 1000, hostToDevice), 0);
  EXPECT_EQ(hipMemcpy(b, a, 1000, deviceToDevice), 0);
  EXPECT_EQ(hipMemcpy(out.data(), b, 1000, anyDirection), 0);
  EXPECT_EQ(in, out);
  EXPECT_EQ(hipMemcpyAsync(static_cast<char *>(b) + 1, a, 999, deviceToDevice, nullptr), 0);
  EXPECT_EQ(hipMemcpy(out.data(), b, 1000, deviceToHost), 0);
  EXPECT_EQ(out[999], in[998]);
  EXPECT_EQ(hipFree(a), 0);
  EXPECT_EQ(hipFree(b), 0);
  EXPECT_EQ(hipFree(nullptr), 0);
}

TEST_F(HipMemory, RefusesMisuse) {
  std::array<uint8_t, 100> host{};
  void *a = nullptr;
  EXPECT_EQ(hipMalloc(nullptr, 4), invalidValue);
  EXPECT_EQ(hipMalloc(&a, 0), 0);
  EXPECT_EQ(a, nullptr);
  EXPECT_EQ(hipMalloc(&a, size_t(1) << 60), 2);
  ASSERT_EQ(hipMalloc(&a, 64), 0);
  char *inside = static_cast<char *>(a) + 1;
  EXPECT_EQ(hipMemcpy(a, host.data(), 65, hostToDevice), invalidValue);
  EXPECT_EQ(hipMemcpy(inside, host.data(), 64, hostToDevice), invalidValue);
  EXPECT_EQ(hipMemcpy(host.data(), inside, 64, deviceToHost), invalidValue);
  EXPECT_EQ(hipMemcpy(a, nullptr, 4, hostToDevice), invalidValue);
  EXPECT_EQ(hipMemcpy(nullptr, a, 4, deviceToHost), invalidValue);
  EXPECT_EQ(hipMemcpy(host.data(), host.data(), 4, hostToDevice), invalidValue);
  EXPECT_EQ(hipMemcpy(a, host.data(), 4, 17), invalidDirection);
  EXPECT_EQ(hipMemcpy(a, host.data(), 0, hostToDevice), 0);
  EXPECT_EQ(hipMemset(host.data(), 0, 4), invalidValue);
  EXPECT_EQ(hipMemset(a, 0, 65), invalidValue);
  EXPECT_EQ(hipMemsetD32(a, 0, 17), invalidValue);
  EXPECT_EQ(hipMemsetD32(a, 0, SIZE_MAX), invalidValue);
  EXPECT_EQ(hipFree(inside), invalidValue);
  EXPECT_EQ(hipFree(host.data()), invalidValue);
  EXPECT_EQ(hipFree(a), 0);
  EXPECT_EQ(hipFree(a), invalidValue);
  EXPECT_EQ(hipMemcpy(a, host.data(), 4, hostToDevice), invalidValue);
}

TEST_F(HipMemory, FillsByWidth) {
  std::array<uint32_t, 4> out{};
  void *a = nullptr;
  ASSERT_EQ(hipMalloc(&a, 16), 0);
  EXPECT_EQ(hipMemsetD32(a, 0x11223344, 4), 0);
  EXPECT_EQ(hipMemsetD16(a, 0x5566, 1), 0);
  EXPECT_EQ(hipMemset(static_cast<char *>(a) + 4, 0x77, 1), 0);
  EXPECT_EQ(hipMemcpy(out.data(), a, 16, deviceToHost), 0);
  EXPECT_THAT(out, testing::ElementsAre(0x11225566u, 0x11223377u, 0x11223344u, 0x11223344u));
}

TEST_F(HipMemory, CopiesAndFillsRectangles) {
  void *a = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(hipMallocPitch(&a, &pitch, 10, 3), 0);
  EXPECT_EQ(pitch, 256u);
  std::array<uint8_t, 36> in{}, out{};
  std::iota(in.begin(), in.end(), 0);
  EXPECT_EQ(hipMemset2D(a, pitch, 0xee, 10, 3), 0);
  EXPECT_EQ(hipMemcpy2D(a, pitch, in.data(), 12, 9, 3, hostToDevice), 0);
  EXPECT_EQ(hipMemcpy2D(out.data(), 12, a, pitch, 10, 3, deviceToHost), 0);
  EXPECT_EQ(out[8], 8);
  EXPECT_EQ(out[9], 0xee);
  EXPECT_EQ(out[10], 0);
  EXPECT_EQ(out[24 + 8], 32);
  EXPECT_EQ(hipMemcpy2D(a, 8, in.data(), 12, 9, 3, hostToDevice), invalidPitch);
  EXPECT_EQ(hipMemset2D(a, 8, 0, 9, 3), invalidPitch);
  EXPECT_EQ(hipMemcpy2D(a, pitch, in.data(), 12, 9, 4, hostToDevice), invalidValue);
  EXPECT_EQ(hipMallocPitch(&a, &pitch, SIZE_MAX, 3), invalidValue);
  EXPECT_EQ(hipMallocPitch(&a, &pitch, size_t(1) << 40, size_t(1) << 40), 2);
}

TEST_F(HipMemory, SharesHostMemory) {
  void *pinned = nullptr, *managed = nullptr, *device = nullptr;
  unsigned flags = 0;
  ASSERT_EQ(hipHostMalloc(&pinned, 100, 2), 0);
  ASSERT_EQ(hipMallocManaged(&managed, 100, 1), 0);
  std::memset(pinned, 5, 100); // the host's own
  ASSERT_EQ(hipHostGetDevicePointer(&device, static_cast<char *>(pinned) + 4, 0), 0);
  EXPECT_EQ(device, static_cast<char *>(pinned) + 4);
  ASSERT_EQ(hipHostGetFlags(&flags, pinned), 0);
  EXPECT_EQ(flags, 2u);
  EXPECT_EQ(hipMemcpy(managed, pinned, 100, deviceToDevice), 0);
  EXPECT_EQ(static_cast<char *>(managed)[99], 5);
  EXPECT_EQ(hipHostFree(pinned), 0);
  EXPECT_EQ(hipFree(managed), 0);
  EXPECT_EQ(hipHostFree(pinned), invalidValue);
  EXPECT_EQ(hipHostFree(nullptr), 0);

  std::vector<char> own(100);
  EXPECT_EQ(hipHostUnregister(own.data()), notRegistered);
  ASSERT_EQ(hipHostRegister(own.data(), 100, 0), 0);
  EXPECT_EQ(hipHostRegister(own.data() + 50, 10, 0), alreadyRegistered);
  EXPECT_EQ(hipMemset(own.data() + 10, 9, 80), 0);
  EXPECT_EQ(own[10], 9);
  EXPECT_EQ(own[9], 0);
  EXPECT_EQ(hipHostFree(own.data()), invalidValue);
  EXPECT_EQ(hipHostUnregister(own.data()), 0);
  EXPECT_EQ(hipHostRegister(nullptr, 10, 0), invalidValue);
}

TEST_F(HipMemory, AnswersQuestions) {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr, *base = nullptr;
  size_t bytes = 0, before = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), 0);
  ASSERT_EQ(hipMalloc(&device, 100), 0);
  ASSERT_EQ(hipHostMalloc(&pinned, 100, 0), 0);
  ASSERT_EQ(hipMallocManaged(&managed, 100, 1), 0);
  ASSERT_EQ(hipMemGetInfo(&after, &total), 0);
  EXPECT_EQ(before - after, 100u);
  EXPECT_EQ(total, size_t(288) << 30);
  ASSERT_EQ(hipMemGetAddressRange(&base, &bytes, static_cast<char *>(device) + 99), 0);
  EXPECT_EQ(base, device);
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(hipMemGetAddressRange(&base, &bytes, static_cast<char *>(device) + 100), nameNotFound);

  // The newest HIP's numbers, since the library has none in its name: host 1, device 2, managed 3.
  Attributes attributes;
  ASSERT_EQ(hipPointerGetAttributes(&attributes, device), 0);
  EXPECT_EQ(attributes.type, 2);
  EXPECT_EQ(attributes.devicePointer, device);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_EQ(hipPointerGetAttributes(&attributes, pinned), 0);
  EXPECT_EQ(attributes.type, 1);
  EXPECT_EQ(attributes.hostPointer, pinned);
  EXPECT_EQ(attributes.managed, 0);
  ASSERT_EQ(hipPointerGetAttributes(&attributes, managed), 0);
  EXPECT_EQ(attributes.type, 3);
  EXPECT_EQ(attributes.managed, 1);
  // Memory that HIP does not know is no error since HIP 6.
  ASSERT_EQ(hipPointerGetAttributes(&attributes, &attributes), 0);
  EXPECT_EQ(attributes.type, 0);
  EXPECT_EQ(hipPointerGetAttributes(nullptr, device), invalidValue);
}

// hipPointer_attribute: each value in its own type, next to bytes that must stay.
TEST_F(HipMemory, TellsSingleAttributes) {
  void *device = nullptr, *pinned = nullptr;
  ASSERT_EQ(hipMalloc(&device, 100), 0);
  ASSERT_EQ(hipHostMalloc(&pinned, 50, 0), 0);
  char *inside = static_cast<char *>(device) + 40;
  void *address = nullptr;
  uint64_t number = 0;
  int small = 7;
  bool flag = true;
  EXPECT_EQ(hipPointerGetAttribute(&address, 3, inside), 0);
  EXPECT_EQ(address, inside);
  EXPECT_EQ(hipPointerGetAttribute(&small, 2, device), 0);
  EXPECT_EQ(small, 2);
  EXPECT_EQ(hipPointerGetAttribute(&address, 4, pinned), 0);
  EXPECT_EQ(address, pinned);
  EXPECT_EQ(hipPointerGetAttribute(&address, 4, device), invalidValue); // it has none on the host
  EXPECT_EQ(hipPointerGetAttribute(&flag, 8, pinned), 0);
  EXPECT_FALSE(flag);
  EXPECT_EQ(hipPointerGetAttribute(&small, 9, inside), 0);
  EXPECT_EQ(small, 0);
  EXPECT_EQ(hipPointerGetAttribute(&address, 11, inside), 0);
  EXPECT_EQ(address, device);
  EXPECT_EQ(hipPointerGetAttribute(&number, 12, inside), 0);
  EXPECT_EQ(number, 100u);
  // What Triton asks for memory that the device cannot reach.
  EXPECT_EQ(hipPointerGetAttribute(&address, 3, &number), invalidValue);
  EXPECT_EQ(hipPointerGetAttribute(nullptr, 3, device), invalidValue);
  EXPECT_EQ(hipPointerGetAttribute(&number, 5, device), notSupported);

  const int which[] = {3, 12};
  void *values[] = {&address, &number};
  EXPECT_EQ(hipDrvPointerGetAttributes(2, which, values, pinned), 0);
  EXPECT_EQ(address, pinned);
  EXPECT_EQ(number, 50u);
  EXPECT_EQ(hipDrvPointerGetAttributes(0, which, values, pinned), invalidValue);
  values[1] = nullptr;
  EXPECT_EQ(hipDrvPointerGetAttributes(2, which, values, pinned), invalidValue);
}

TEST_F(HipMemory, IsGoneAfterAReset) {
  void *device = nullptr, *pinned = nullptr;
  ASSERT_EQ(hipMalloc(&device, 100), 0);
  ASSERT_EQ(hipHostMalloc(&pinned, 100, 0), 0);
  ASSERT_EQ(hipDeviceReset(), 0);
  EXPECT_EQ(hipMemset(device, 0, 1), invalidValue);
  EXPECT_EQ(hipFree(device), invalidValue);
  EXPECT_EQ(hipHostFree(pinned), invalidValue);
}
