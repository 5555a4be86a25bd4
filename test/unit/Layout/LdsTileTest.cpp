// Tiles in LDS, what the DMA can write, and the search: every plan is executed on a byte array.
#include "hocket/Layout/LdsSearch.h"

#include "BankModel.h"
#include "hocket/Layout/FragmentReads.h"
#include "hocket/Layout/Mfma.h"
#include "hocket/Layout/OperandReuse.h"

#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using namespace hocket::dims;

static LdsUse keys(unsigned rows, unsigned headDim, const MfmaShape &shape = {}) {
  bool wide = shape.operandElements() == 8;
  return {wide ? LdsInstruction::ReadB128 : LdsInstruction::ReadB64,
          *directReads(*mfmaOperandATile(shape, rows, headDim), {Row, K}, 16, wide ? 16 : 8)};
}

/// V as operand A (columns of V are rows of O^T) in the key order of operand reuse.
static LdsUse values(unsigned rows, unsigned headDim, const MfmaShape &shape = {}) {
  LinearLayout order = *accumulatorAsOperand(*mfmaAccumulatorTile(shape, rows, shape.n),
                                             *mfmaOperandBTile(shape, rows, shape.n));
  LinearLayout fragment = *permuteOutput(*mfmaOperandATile(shape, headDim, rows), K, order);
  return {LdsInstruction::ReadTransposed, *transposedReads(fragment, {K, Row}, 16)};
}

using Place = std::pair<unsigned, unsigned>; // row, byte

/// LDS after the DMA has written one panel: address -> (row, byte) of what lies there.
static std::map<uint32_t, Place> writtenByDma(const LdsTileLayout &tile, const LdsDmaPlan &dma) {
  std::map<uint32_t, Place> lds;
  for (unsigned wave = 0; wave < dma.waves; ++wave)
    for (unsigned step = 0; step < dma.instructions; ++step) {
      Coordinates index = {{"wave", wave}, {"register", step}};
      uint32_t base = dma.chunk.apply(index, "chunk") * (tile.chunkBytes + tile.padding);
      Coordinates add = dma.instructionStep(step);
      for (unsigned lane = 0; lane < 64; ++lane) {
        Coordinates source = dma.source.apply({{"wave", wave}, {"register", 0}, {"lane", lane}});
        unsigned row = coordinate(source, Row) + coordinate(add, Row);
        unsigned byte = coordinate(source, Byte) + coordinate(add, Byte);
        for (unsigned i = 0; i < dma.bytesPerLane; ++i)
          EXPECT_TRUE(lds.emplace(base + lane * dma.bytesPerLane + i, Place(row, byte + i)).second)
              << "two lanes write one byte";
      }
    }
  return lds;
}

/// Every read at base + immediate finds the bytes that the access asks for.
static void expectReadable(const LdsTileChoice &choice, const LdsTileRequest &request) {
  std::map<uint32_t, Place> lds = writtenByDma(choice.layout, *choice.dma);
  EXPECT_EQ(lds.size(), size_t(request.rows) * choice.layout.panelBytes);
  EXPECT_LT(lds.rbegin()->first, choice.layout.panelStride());
  for (size_t use = 0; use < request.uses.size(); ++use) {
    const LinearLayout &access = request.uses[use].access;
    const LdsReadPlan &plan = choice.reads[use];
    for (unsigned reg = 0; reg < plan.immediates.size(); ++reg)
      for (unsigned lane = 0; lane < 64; ++lane) {
        uint32_t base = choice.layout.padded(plan.lanePart.apply({{"lane", lane}}, Offset));
        Coordinates wanted = access.apply({{"register", reg}, {"lane", lane}});
        for (unsigned i = 0; i < bytesPerLane(request.uses[use].instruction); ++i) {
          uint32_t address = base + plan.immediates[reg] + i;
          ASSERT_EQ(lds[address], Place(coordinate(wanted, Row), coordinate(wanted, Byte) + i));
          ASSERT_EQ(address,
                    choice.layout.address(coordinate(wanted, Row), coordinate(wanted, Byte) + i));
        }
      }
  }
}

struct SearchCase {
  const char *name;
  LdsTileRequest request;
};

static LdsTileRequest request(unsigned rows, unsigned rowBytes, unsigned waves,
                              std::vector<LdsUse> uses) {
  LdsTileRequest result;
  result.rows = rows;
  result.rowBytes = rowBytes;
  result.uses = std::move(uses);
  result.dmaWaves = waves;
  return result;
}

class LdsSearchCases : public ::testing::TestWithParam<SearchCase> {};

TEST_P(LdsSearchCases, FindsALayoutWithoutConflicts) {
  const LdsTileRequest &wanted = GetParam().request;
  Result<LdsTileChoice> choice = findLdsLayout(wanted, test::bankModel());
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  RecordProperty("layout", choice->describe(wanted.uses));
  RecordProperty("candidates", choice->candidates);
  EXPECT_EQ(choice->conflicts(), 0u) << choice->describe(wanted.uses) << '\n'
                                     << choice->layout.linear.str();
  ASSERT_TRUE(validateLdsTile(choice->layout).ok());
  expectReadable(*choice, wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, LdsSearchCases,
    ::testing::Values(
        SearchCase{"K_64x128", request(64, 256, 8, {keys(64, 128)})},
        SearchCase{"V_64x128", request(64, 256, 8, {values(64, 128)})},
        SearchCase{"K_64x128_FourWaves", request(64, 256, 4, {keys(64, 128)})},
        SearchCase{"V_64x128_FourWaves", request(64, 256, 4, {values(64, 128)})},
        SearchCase{"K_64x128_OneWave", request(64, 256, 1, {keys(64, 128)})},
        SearchCase{"V_64x128_OneWave", request(64, 256, 1, {values(64, 128)})},
        SearchCase{"K_32x128", request(32, 256, 4, {keys(32, 128)})},
        SearchCase{"V_32x128", request(32, 256, 4, {values(32, 128)})},
        SearchCase{"K_64x64", request(64, 128, 8, {keys(64, 64)})},
        SearchCase{"V_64x64", request(64, 128, 8, {values(64, 64)})},
        SearchCase{"K_64x256", request(64, 512, 8, {keys(64, 256)})},
        SearchCase{"V_64x256", request(64, 512, 8, {values(64, 256)})},
        SearchCase{"K_64x32", request(64, 64, 4, {keys(64, 32)})},
        SearchCase{"V_64x32", request(64, 64, 4, {values(64, 32)})},
        SearchCase{"K_128x128", request(128, 256, 8, {keys(128, 128)})},
        SearchCase{"K_64x192_Panels", request(64, 384, 8, {keys(64, 64)})},
        SearchCase{"V_64x192_Panels", request(64, 384, 8, {values(64, 64)})},
        SearchCase{"K_64x128_16x16x32", request(64, 256, 8, {keys(64, 128, {16, 16, 32, 16})})},
        SearchCase{"V_64x128_16x16x32", request(64, 256, 8, {values(64, 128, {16, 16, 32, 16})})}),
    [](const auto &info) { return info.param.name; });
