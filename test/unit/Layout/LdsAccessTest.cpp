// The conflict counter on patterns whose cost can be told by hand.
#include "Layout/LdsAccess.h"

#include "BankModel.h"
#include "Random.h"

#include <array>
#include <set>

using namespace hocket;

using Addresses = std::array<uint32_t, 64>;

static Addresses strided(uint32_t stride) {
  Addresses result;
  for (unsigned lane = 0; lane < 64; ++lane)
    result[lane] = lane * stride;
  return result;
}

static LdsCost cost(LdsInstruction instruction, const Addresses &addresses,
                    uint64_t active = ~uint64_t(0)) {
  LdsBankModel model = test::bankModel();
  return ldsCost(model[instruction], bytesPerLane(instruction), addresses, active);
}

TEST(LdsAccess, ConsecutiveLanesHaveNoConflicts) {
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(16)), (LdsCost{4, 4}));
  EXPECT_EQ(cost(LdsInstruction::ReadB64, strided(8)), (LdsCost{2, 2}));
  EXPECT_EQ(cost(LdsInstruction::WriteB64, strided(8)), (LdsCost{4, 4}));
}

TEST(LdsAccess, SameAddressIsABroadcast) {
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(0)), (LdsCost{4, 4}));
}

// Rows of 256 bytes: all 16 lanes of a phase want the same four banks.
TEST(LdsAccess, RowsOf256BytesConflictSixteenfold) {
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(256)), (LdsCost{64, 4}));
  EXPECT_EQ(cost(LdsInstruction::ReadB64, strided(256)), (LdsCost{64, 2}));
}

TEST(LdsAccess, TwoAndFourWayConflicts) {
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(32)).cycles, 8u);
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(64)).cycles, 16u);
}

TEST(LdsAccess, BanksDependOnTheInstruction) {
  // 16 lanes at 16 bytes: 64 banks hold them side by side, 32 banks twice over.
  EXPECT_EQ(cost(LdsInstruction::WriteB64, strided(16)).cycles, 8u);
  EXPECT_EQ(cost(LdsInstruction::ReadB64, strided(16)).cycles, 4u);
}

TEST(LdsAccess, InactiveLanesTakeNoPart) {
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(256), 1).cycles, 4u);
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(256), 3).cycles, 5u);
  EXPECT_EQ(cost(LdsInstruction::ReadB128, strided(256), 0).cycles, 4u);
}

TEST(LdsAccess, MisalignedLanesTouchOneDwordMore) {
  Addresses two = strided(0);
  LdsAccessRule rule{64, {3}};
  two[1] = 64 * 4 + 2;
  EXPECT_EQ(ldsPhaseCycles(rule, 4, two), std::vector<unsigned>{2});
  two[0] = 4;
  EXPECT_EQ(ldsPhaseCycles(rule, 4, two), std::vector<unsigned>{2})
      << "its second dword is in bank 1";
  two[0] = 8;
  EXPECT_EQ(ldsPhaseCycles(rule, 4, two), std::vector<unsigned>{1});
}

class LdsAccessProperty : public test::RandomTest {};

TEST_F(LdsAccessProperty, AgreesWithTheDefinition) {
  LdsBankModel model = test::bankModel();
  for (int round = 0; round < 200; ++round) {
    Addresses addresses;
    for (uint32_t &address : addresses)
      address = below(512) * 4;
    uint64_t active = rng();
    for (const auto &[instruction, rule] : model) {
      unsigned cycles = 0;
      for (uint64_t phase : rule.phases) {
        std::map<unsigned, std::set<unsigned>> wanted;
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned byte = 0;
               phase >> lane & active >> lane & 1 && byte < bytesPerLane(instruction); ++byte)
            wanted[(addresses[lane] + byte) / 4 % rule.banks].insert((addresses[lane] + byte) / 4);
        size_t busiest = 1;
        for (const auto &[bank, dwords] : wanted)
          busiest = std::max(busiest, dwords.size());
        cycles += busiest;
      }
      EXPECT_EQ(ldsCost(rule, bytesPerLane(instruction), addresses, active).cycles, cycles)
          << name(instruction);
    }
  }
}
