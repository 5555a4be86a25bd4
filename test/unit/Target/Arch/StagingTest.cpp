// Tiles that pass through registers on gfx942: every plan is executed on a byte array.
#include "Layout/LdsStaging.h"

#include "Layout/FragmentReads.h"
#include "Layout/Mfma.h"
#include "Layout/OperandReuse.h"
#include "Target/Arch/ArchInfo.h"

#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using namespace hocket::dims;

namespace {
/// An element of one panel, counted in elements.
using Element = std::pair<uint64_t, uint64_t>; // row, column
constexpr unsigned kElementBytes = 2;

struct Tile {
  unsigned keys, headDim, waves;
};

const LdsBankModel &model() { return (*findArch("gfx942"))->lds.access; }
unsigned panelColumns(unsigned columns) { return panelBytesFor(columns * 2) / 2; }

/// K: the fragment's rows are the tile's.
LinearLayout alongRows(const Tile &tile) {
  return *mfmaOperandATile({}, tile.keys, panelColumns(tile.headDim));
}
LdsUse alongRowsUse(const Tile &tile) {
  return {LdsInstruction::ReadB128, *directReads(alongRows(tile), {Row, K}, 16, 16)};
}

/// V: the fragment's rows are the tile's columns, its depth the keys in accumulator order.
LinearLayout acrossRows(const Tile &tile) {
  LinearLayout order = *accumulatorAsOperand(*mfmaAccumulatorTile({}, tile.keys, 32),
                                             *mfmaOperandBTile({}, tile.keys, 32));
  return *permuteOutput(*mfmaOperandATile({}, panelColumns(tile.headDim), tile.keys), K, order);
}
LdsUse acrossRowsUse(const Tile &tile) {
  GatheredReads reads = *gatheredReads(acrossRows(tile), {K, Row}, 16, 16);
  return {LdsInstruction::ReadB128, reads.access, reads.rows};
}

LdsTileRequest request(const Tile &tile, LdsUse use) {
  LdsTileRequest result;
  result.rows = tile.keys;
  result.rowBytes = tile.headDim * kElementBytes;
  result.uses = {std::move(use)};
  result.dmaWaves = tile.waves;
  return result;
}

/// What the stores of all waves leave in LDS: address of an element -> which it is.
std::map<uint32_t, Element> written(const LdsTileLayout &layout, const LdsStagingPlan &plan) {
  std::map<uint32_t, Element> lds;
  unsigned columns = plan.loadBytes / kElementBytes;
  for (unsigned wave = 0; wave < plan.waves; ++wave)
    for (unsigned lane = 0; lane < 64; ++lane) {
      // The lane's registers, element by element, by load.
      std::vector<std::vector<Element>> loaded(plan.loads);
      for (unsigned load = 0; load < plan.loads; ++load) {
        Coordinates at =
            plan.source.apply({{"register", load}, {"lane", lane}, {"wave", wave}});
        for (unsigned c = 0; c < columns; ++c)
          loaded[load].push_back({coordinate(at, Row), coordinate(at, Byte) / 2 + c});
      }
      auto base = static_cast<uint32_t>(
          plan.addresses.lanePart.apply({{"lane", lane}, {"wave", wave}}, Offset));
      for (unsigned s = 0; s < plan.addresses.stores.size(); ++s) {
        auto [variant, immediate] = plan.addresses.stores[s];
        uint32_t address = layout.padded(base ^ plan.addresses.variants[variant]) + immediate;
        unsigned group = s / plan.storesOfGroup(), column = s % plan.storesOfGroup();
        for (unsigned i = 0; i < plan.storeBytes / kElementBytes; ++i) {
          Element element = plan.gathered == 1 ? loaded[s][i]
                                               : loaded[group * plan.gathered + i][column];
          EXPECT_TRUE(lds.emplace(address + i * kElementBytes, element).second)
              << "two stores write byte " << address;
        }
      }
    }
  return lds;
}

/// Every read finds the fragment's elements.
void expectReads(const LdsTileChoice &choice, const std::map<uint32_t, Element> &lds,
                 const LinearLayout &fragment, bool across) {
  const LdsReadPlan &plan = choice.reads[0];
  for (unsigned reg = 0; reg < plan.immediates.size(); ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      uint32_t base = choice.layout.padded(
          static_cast<uint32_t>(plan.lanePart.apply({{"lane", lane}}, Offset)));
      for (unsigned i = 0; i < 8; ++i) {
        Coordinates wanted = fragment.apply({{"register", reg * 8 + i}, {"lane", lane}});
        Element element{coordinate(wanted, across ? K : Row), coordinate(wanted, across ? Row : K)};
        auto found = lds.find(base + plan.immediates[reg] + i * kElementBytes);
        ASSERT_NE(found, lds.end());
        ASSERT_EQ(found->second, element) << "read " << reg << ", lane " << lane;
      }
    }
}

void check(const Tile &tile, bool across, unsigned mostConflicts) {
  SCOPED_TRACE(std::to_string(tile.keys) + " keys, head " + std::to_string(tile.headDim) + ", " +
               std::to_string(tile.waves) + " waves, " + (across ? "across" : "along") + " rows");
  LdsTileRequest wanted = request(tile, across ? acrossRowsUse(tile) : alongRowsUse(tile));
  Result<LdsTileChoice> choice = findStagedLdsLayout(wanted, model());
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  Result<LdsStagingPlan> plan = planLdsStaging(choice->layout, tile.waves, model());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->gathered > 1, across);
  EXPECT_LE(choice->conflicts(), mostConflicts) << choice->describe(wanted.uses);
  std::map<uint32_t, Element> lds = written(choice->layout, *plan);
  EXPECT_EQ(lds.size(), size_t(tile.keys) * panelColumns(tile.headDim));
  EXPECT_LT(lds.rbegin()->first, choice->layout.panelStride());
  expectReads(*choice, lds, across ? acrossRows(tile) : alongRows(tile), across);
}
} // namespace

TEST(Staging, TilesOfTheForwardKernel) {
  for (unsigned headDim : {32u, 64u, 96u, 128u, 160u, 192u, 256u})
    for (bool across : {false, true})
      check({32, headDim, 4}, across, 0);
}

TEST(Staging, OtherTilesAndWaves) {
  for (Tile tile : {Tile{64, 128, 4}, Tile{64, 64, 2}, Tile{128, 128, 8}, Tile{32, 64, 1}})
    for (bool across : {false, true})
      check(tile, across, 0);
}

/// Few waves load more rows than are interleaved in one group: the groups' stores follow one another.
TEST(Staging, SeveralGroupsOfRows) {
  for (Tile tile : {Tile{32, 256, 1}, Tile{64, 256, 2}}) {
    Result<LdsTileChoice> choice = findStagedLdsLayout(request(tile, acrossRowsUse(tile)), model());
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    Result<LdsStagingPlan> plan = planLdsStaging(choice->layout, tile.waves, model());
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_GT(plan->loads, plan->gathered);
    EXPECT_EQ(plan->addresses.stores.size(), plan->loads / plan->gathered * plan->storesOfGroup());
    check(tile, /*across=*/true, ~0u);
  }
}
