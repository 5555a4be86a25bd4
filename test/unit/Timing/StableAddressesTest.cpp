// Addresses that the cycle model uses, whatever the host's are.
#include "Timing/StableAddresses.h"
#include "Workgroup.h"

#include <gtest/gtest.h>

using namespace hocket::sim;

namespace {
class Stable : public testing::Test {
protected:
  Stable() {
    context.memory = &memory;
    context.shape = {{1, 1, 1}, {128, 1, 1}, 0};
    context.ldsBytes = 1024;
    context.privateBytes = 32;
  }
  static uint64_t of(StableAddresses &addresses, const std::byte *host) {
    auto address = reinterpret_cast<uint64_t>(host);
    StableAddresses::Mapping mapping = addresses.mappingOf(address);
    EXPECT_TRUE(mapping.contains(address));
    return address + mapping.shift;
  }
  Memory memory;
  LaunchContext context;
};
} // namespace

TEST_F(Stable, DeviceMemoryHasItsDeviceAddresses) {
  Workgroup group(context);
  StableAddresses addresses(group, 0);
  std::vector<uint64_t> bases; // more than are remembered
  for (unsigned i = 0; i < 20; ++i)
    bases.push_back(*memory.allocate(100 + i));
  for (unsigned turn = 0; turn < 2; ++turn)
    for (uint64_t base : bases)
      EXPECT_EQ(of(addresses, memory.translate(base + 7, 1)), base + 7);
}

TEST_F(Stable, LdsAndScratchAreTheSameWhereverTheHostHasThem) {
  Workgroup one(context), other(context);
  StableAddresses first(one, 0), second(other, 0), neighbour(other, 1);
  EXPECT_EQ(of(first, one.lds + 5), of(second, other.lds + 5));
  EXPECT_EQ(of(first, one.waves[1].scratch + 9), of(second, other.waves[1].scratch + 9));
  EXPECT_NE(of(first, one.lds), of(first, one.waves[0].scratch));
  EXPECT_NE(of(first, one.lds), of(neighbour, other.lds)) << "resident together";
}
