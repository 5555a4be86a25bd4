// Device memory: addresses, guards, sparse pages, messages.
#include "Simulator/Memory.h"

#include "gtest/gtest.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::sim;
using testing::HasSubstr;

TEST(Memory, AddressesAreAlignedAsAskedAndNoBetter) {
  Memory memory;
  for (uint64_t alignment : {16, 256, 4096, 65536}) {
    auto address = memory.allocate(100, alignment);
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(*address % alignment, 0u);
    EXPECT_NE(*address % (2 * alignment), 0u);
    EXPECT_GT(*address, uint64_t(1) << 32);
  }
}

TEST(Memory, NothingLiesBehindAnAllocation) {
  Memory memory;
  uint64_t first = *memory.allocate(100), second = *memory.allocate(100);
  EXPECT_GE(second - first, uint64_t(16) << 20);
  EXPECT_NE(memory.find(first + 99), nullptr);
  EXPECT_EQ(memory.find(first + 100), nullptr);
  EXPECT_EQ(memory.translate(first + 97, 4), nullptr);
  EXPECT_EQ(memory.find(first & 0xffffffff), nullptr);
}

TEST(Memory, ReadsBackWhatWasWritten) {
  Memory memory;
  uint64_t address = *memory.allocate(8);
  uint32_t value = 0x12345678, back = 0;
  ASSERT_TRUE(memory.write(address + 4, std::as_bytes(std::span(&value, 1))).ok());
  ASSERT_TRUE(memory.read(std::as_writable_bytes(std::span(&back, 1)), address + 4).ok());
  EXPECT_EQ(back, value);
  Status status = memory.write(address + 5, std::as_bytes(std::span(&value, 1)));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::InvalidInput);
  EXPECT_THAT(status.error().message, HasSubstr("cannot write 4 bytes"));
}

TEST(Memory, HugeAllocationsCostOnlyTouchedPages) {
  Memory memory;
  uint64_t bytes = uint64_t(200) << 30;
  auto address = memory.allocate(bytes);
  ASSERT_TRUE(address.ok()) << address.error().message;
  ASSERT_TRUE(memory.fill(*address + bytes - 4, 0x5a, 4).ok());
  ASSERT_TRUE(memory.fill(*address, 0, bytes).ok());
  std::byte last;
  ASSERT_TRUE(memory.read({&last, 1}, *address + bytes - 1).ok());
  EXPECT_EQ(last, std::byte(0));
}

TEST(Memory, FillReachesExactlyItsBytes) {
  Memory memory;
  uint64_t address = *memory.allocate(20000);
  ASSERT_TRUE(memory.fill(address, 0xff, 20000).ok());
  ASSERT_TRUE(memory.fill(address + 5, 0, 15000).ok());
  std::vector<std::byte> bytes(20000);
  ASSERT_TRUE(memory.read(bytes, address).ok());
  for (size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(bytes[i], std::byte(i >= 5 && i < 15005 ? 0 : 0xff)) << i;
}

TEST(Memory, DescribesTheNearestAllocation) {
  Memory memory;
  EXPECT_EQ(memory.describe(64), "in no allocation; there is none");
  uint64_t k = *memory.allocate(256, 256, "k"), v = *memory.allocate(256, 256, "v");
  EXPECT_THAT(memory.describe(k + 256 + 16),
              HasSubstr("16 bytes past the end of the allocation 'k'"));
  EXPECT_THAT(memory.describe(v - 4), HasSubstr("4 bytes before the allocation 'v'"));
  ASSERT_TRUE(memory.free(k).ok());
  EXPECT_THAT(memory.describe(k + 8), HasSubstr("8 bytes into the freed allocation 'k'"));
}

TEST(Memory, RefusesBadRequests) {
  Memory memory(1000);
  EXPECT_THAT(memory.allocate(0).error().message, HasSubstr("0 bytes"));
  EXPECT_THAT(memory.allocate(8, 3).error().message, HasSubstr("power of two"));
  EXPECT_THAT(memory.allocate(1001).error().message,
              HasSubstr("passes the simulator's 1000 bytes"));
  EXPECT_EQ(memory.allocate(1001).error().kind, ErrorKind::Host);
  uint64_t address = *memory.allocate(1000);
  EXPECT_FALSE(memory.allocate(1).ok());
  EXPECT_THAT(memory.free(address + 16).error().message, HasSubstr("no allocation starts at"));
  EXPECT_TRUE(memory.free(address).ok());
  EXPECT_FALSE(memory.free(address).ok());
  EXPECT_EQ(memory.liveBytes(), 0u);
}

TEST(Memory, SharesHostMemoryAtItsOwnAddress) {
  std::vector<std::byte> host(100);
  {
    Memory memory(/*limit=*/64);
    auto address = memory.share(host, "pinned");
    ASSERT_TRUE(address.ok()) << address.error().message;
    EXPECT_EQ(*address, reinterpret_cast<uintptr_t>(host.data()));
    EXPECT_EQ(memory.translate(*address + 96, 4), host.data() + 96);
    EXPECT_EQ(memory.translate(*address + 97, 4), nullptr);
    EXPECT_EQ(memory.liveBytes(), 0u);
    ASSERT_TRUE(memory.fill(*address, 7, 100).ok());
    ASSERT_TRUE(memory.fill(*address + 10, 0, 80).ok());
    EXPECT_EQ(host[9], std::byte(7));
    EXPECT_EQ(host[10], std::byte(0));

    for (std::span<std::byte> range : {std::span(host).first(1), std::span(host).last(1)}) {
      auto again = memory.share(range);
      ASSERT_FALSE(again.ok());
      EXPECT_THAT(again.error().message, HasSubstr("overlaps device memory"));
    }
    auto nothing = memory.share({});
    ASSERT_FALSE(nothing.ok());
    EXPECT_THAT(nothing.error().message, HasSubstr("cannot be shared with the device"));
    EXPECT_TRUE(memory.free(*address).ok());
    EXPECT_EQ(memory.find(*address), nullptr);
    EXPECT_TRUE(memory.share(std::span(host).first(50)).ok());
    EXPECT_TRUE(memory.share(std::span(host).last(50)).ok());
  }
  EXPECT_EQ(host[99], std::byte(7)); // still the test's own
}
