// Tiles in LDS, what the DMA can write, and the search: every plan is executed on a byte array.
#include "Layout/LdsSearch.h"

#include "BankModel.h"
#include "Layout/FragmentReads.h"
#include "Layout/Mfma.h"
#include "Layout/OperandReuse.h"

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

TEST(LdsTile, RowMajorAddressesAreThePlainOnes) {
  LdsTileLayout tile = *rowMajorLdsTile(16, 192);
  EXPECT_EQ(tile.panelBytes, 64u);
  EXPECT_EQ(tile.panels(), 3u);
  EXPECT_EQ(tile.bytes(), 16u * 192);
  EXPECT_EQ(tile.address(5, 130), 2u * 16 * 64 + 5 * 64 + 2);
  tile.chunkBytes = 64;
  tile.padding = 16;
  EXPECT_EQ(tile.address(5, 130), 2u * 16 * 80 + 5 * 80 + 2);
  EXPECT_EQ(tile.bytes(), 3u * 16 * 80);
}

// K rows of 256 bytes without a layout: sixteen lanes in the same four banks.
TEST(LdsTile, RowMajorKeysConflict) {
  LdsCost cost = *ldsUseCost(*rowMajorLdsTile(64, 256), keys(64, 128), test::bankModel());
  EXPECT_EQ(cost, (LdsCost{16 * 64, 64}));
}

// The cost of a use is the sum over its instructions of what the counter says of their addresses.
TEST(LdsTile, UseCostIsTheSumOfItsInstructions) {
  LdsTileLayout tile = *rowMajorLdsTile(64, 256);
  LdsBankModel model = test::bankModel();
  for (unsigned padding : {0u, 16u, 48u}) {
    tile.chunkBytes = 1024;
    tile.padding = padding;
    for (const LdsUse &use : {keys(64, 128), values(64, 128)}) {
      LdsCost sum;
      for (unsigned reg = 0; reg < 1u << use.access.inputBits(Register); ++reg) {
        uint32_t addresses[64];
        for (unsigned lane = 0; lane < 64; ++lane) {
          Coordinates at = use.access.apply({{"register", reg}, {"lane", lane}});
          addresses[lane] = tile.address(coordinate(at, Row), coordinate(at, Byte));
        }
        sum += ldsCost(model[use.instruction], bytesPerLane(use.instruction), addresses);
      }
      EXPECT_EQ(*ldsUseCost(tile, use, model), sum) << padding;
    }
  }
}

// A tile written by stores: rows of 128 bytes, each lane stores 8 bytes of a row and reads 8 of a
// column of pieces. Only swizzles and row padding are available.
TEST(LdsSearch, TilesWrittenByStores) {
  LdsTileRequest wanted = request(64, 128, 0, {});
  LinearLayout store = LinearLayout::identity(Lane, Byte, 4).scaleOutput(Byte, 3) *
                       LinearLayout::identity(Lane, Row, 2) *
                       LinearLayout::identity(Register, Row, 4);
  LinearLayout read = LinearLayout::identity(Lane, Row, 6) *
                      LinearLayout::identity(Register, Byte, 4).scaleOutput(Byte, 3);
  wanted.uses = {{LdsInstruction::WriteB64, store}, {LdsInstruction::ReadB64, read}};
  Result<LdsTileChoice> choice = findLdsLayout(wanted, test::bankModel());
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  EXPECT_EQ(choice->conflicts(), 0u) << choice->describe(wanted.uses);
  EXPECT_FALSE(choice->dma.has_value());
  LdsCost plain = *ldsUseCost(*rowMajorLdsTile(64, 128), wanted.uses[1], test::bankModel());
  EXPECT_GT(plain.conflicts(), 0u);
}

// Two accesses that want every bank at once through the same lanes: the best is reported, not
// hidden.
TEST(LdsSearch, ReportsWhatRemains) {
  LdsTileRequest wanted = request(64, 256, 8, {keys(64, 128)});
  LinearLayout down = LinearLayout::identity(Lane, Row, 6) *
                      LinearLayout::identity(Register, Byte, 6).scaleOutput(Byte, 2);
  wanted.uses.push_back({LdsInstruction::ReadB32, down});
  LdsBankModel model = test::bankModel();
  model[LdsInstruction::ReadB32] = {64, {~uint64_t(0)}};
  Result<LdsTileChoice> choice = findLdsLayout(wanted, model);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  EXPECT_GT(choice->conflicts(), 0u);
  EXPECT_LT(choice->conflicts(),
            ldsUseCost(*rowMajorLdsTile(64, 256), wanted.uses[1], model)->conflicts());
}

TEST(LdsSearch, DescribesItsChoice) {
  LdsTileRequest wanted = request(64, 256, 8, {keys(64, 128)});
  LdsTileChoice choice = *findLdsLayout(wanted, test::bankModel());
  EXPECT_EQ(choice.describe(wanted.uses),
            "64 x 256 bytes, chunks of 1024 bytes, padding 16, 0 swizzled bits; "
            "ds_read_b128 64 cycles, 0 lost to conflicts");
  EXPECT_EQ(choice.runBytes, 128u) << "a line of global memory is fetched by consecutive lanes";
}

TEST(LdsSearch, RefusesWhatItCannotServe) {
  LdsBankModel model = test::bankModel();
  auto refusal = [&](const LdsTileRequest &wanted) {
    return findLdsLayout(wanted, model).error().message;
  };
  EXPECT_EQ(refusal(request(48, 256, 8, {keys(64, 128)})),
            "no LDS layout for a tile of 48 x 256 bytes: rows must be a power of two and a row a "
            "multiple of 16 bytes");
  EXPECT_EQ(refusal(request(64, 256, 8, {})),
            "LDS tile of 64 x 256 bytes has no accesses to choose a layout for");
  EXPECT_EQ(refusal(request(4, 96, 8, {keys(64, 128)})),
            "no LDS layout for a tile of 4 x 96 bytes: a panel of 128 bytes is less than the 1024 "
            "that one LDS DMA "
            "instruction writes; use more rows");
  LdsUse unknown = keys(64, 128);
  unknown.instruction = LdsInstruction::ReadB96;
  EXPECT_EQ(refusal(request(64, 256, 8, {unknown})),
            "no bank model for 'ds_read_b96' on this target");
  EXPECT_EQ(refusal(request(32, 256, 8, {keys(64, 128)})),
            "layout gives 64 indices of 'row', the layout after it takes 32");
}

// XOR the piece with the row: free of conflicts, but the instruction's piece bits are swizzled too.
TEST(LdsTile, ImmediatesMustNotMeetSwizzledBits) {
  LdsTileLayout tile = *rowMajorLdsTile(64, 256);
  std::vector<Coordinates> rows;
  for (unsigned bit = 0; bit < 6; ++bit)
    rows.push_back({{"offset", (256u << bit) ^ (bit < 4 ? 16u << bit : 0)}});
  std::vector<Coordinates> bytes;
  for (unsigned bit = 0; bit < 8; ++bit)
    bytes.push_back({{"offset", 1u << bit}});
  tile.linear = *LinearLayout::fromBases({{"byte", bytes}, {"row", rows}}, {{"offset", 14}});
  EXPECT_EQ(ldsUseCost(tile, keys(64, 128), test::bankModel())->conflicts(), 0u);
  Result<LdsReadPlan> plan = planLdsReads(tile, keys(64, 128).access);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "LDS layout cannot be read with immediates: address bits 224 depend on both lane and "
            "instruction; swizzle other bits");
}

TEST(LdsTile, ImmediatesMustFit) {
  Result<LdsReadPlan> plan = planLdsReads(*rowMajorLdsTile(64, 256), keys(64, 128).access, 4000);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "LDS read needs the immediate 8192, at most 4000 can be encoded; use a smaller tile");
}

TEST(LdsTile, InvalidTilesAreRefused) {
  EXPECT_EQ(rowMajorLdsTile(3, 64).error().message,
            "LDS tile has 3 rows of 64 bytes; rows must be a power of two and neither may be 0");
  LdsTileLayout tile = *rowMajorLdsTile(16, 64);
  EXPECT_TRUE(validateLdsTile(tile).ok());
  tile.chunkBytes = 48;
  EXPECT_EQ(validateLdsTile(tile).error().message,
            "LDS tile has chunks of 48 bytes, a power of two of at most 1024 is needed");
  tile.chunkBytes = 64;
  tile.panelBytes = 48;
  EXPECT_EQ(validateLdsTile(tile).error().message,
            "LDS tile has 16 rows of 64 bytes in panels of 48; rows and panel must "
            "be powers of two and the panel must divide the row");
  tile.panelBytes = 32;
  EXPECT_EQ(validateLdsTile(tile).error().message,
            "the linear part of an LDS tile must map every (row, byte) of a panel "
            "to an offset of its own");
}

TEST(LdsDma, WritesAreLaneLinear) {
  LinearLayout chunk = ldsDmaChunk(16);
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(chunk.apply({{"lane", lane}, {"byte", 5}}, Offset), 16 * lane + 5);
}

TEST(LdsDma, PrefersStepsAlongTheRow) {
  LdsTileRequest wanted = request(64, 256, 8, {keys(64, 128)});
  LdsTileChoice choice = *findLdsLayout(wanted, test::bankModel());
  ASSERT_EQ(choice.dma->instructions, 2u);
  Coordinates step = choice.dma->instructionStep(1);
  EXPECT_EQ(coordinate(step, Row), 0u);
  EXPECT_EQ(coordinate(step, Byte), 128u);
}

TEST(LdsDma, SurplusWavesDoNothing) {
  LdsTileLayout tile = *rowMajorLdsTile(16, 128);
  tile.chunkBytes = 1024;
  LdsDmaPlan plan = *planLdsDma(tile, 8);
  EXPECT_EQ(plan.waves, 2u);
  EXPECT_EQ(plan.instructions, 1u);
}

TEST(LdsDma, RefusesWhatAWaveCannotWrite) {
  LdsTileLayout tile = *rowMajorLdsTile(64, 256);
  EXPECT_EQ(planLdsDma(tile, 8).error().message,
            "LDS tile has chunks of 16384 bytes, a wave writes 1024 with one LDS DMA "
            "instruction; make the tile at least that large");
  tile.chunkBytes = 1024;
  EXPECT_EQ(planLdsDma(tile, 6).error().message,
            "no plan for an LDS DMA by 6 waves, a power of two is needed");
  EXPECT_EQ(planLdsDma(tile, 8, 8).error().message,
            "no plan for an LDS DMA of 8 bytes a lane; known are 4 and 16");
  LdsTileLayout transposed = tile;
  transposed.linear =
      LinearLayout::identity(Row, Offset, 6) * LinearLayout::identity(Byte, Offset, 8);
  EXPECT_EQ(planLdsDma(transposed, 8).error().message,
            "LDS tile splits pieces of 16 bytes, which the LDS DMA cannot write");
}

// A swizzle by chunk bits needs those bits to be the wave's: with one wave every instruction would
// need its own address register.
TEST(LdsDma, RefusesSwizzlesAcrossItsOwnInstructions) {
  LdsTileLayout tile = *rowMajorLdsTile(16, 128);
  std::vector<Coordinates> rows, bytes;
  for (unsigned bit = 0; bit < 4; ++bit)
    rows.push_back({{"offset", (128u << bit) ^ (bit == 3 ? 16u : 0)}});
  for (unsigned bit = 0; bit < 7; ++bit)
    bytes.push_back({{"offset", 1u << bit}});
  tile.linear = *LinearLayout::fromBases({{"byte", bytes}, {"row", rows}}, {{"offset", 11}});
  tile.chunkBytes = 1024;
  EXPECT_TRUE(planLdsDma(tile, 2).ok());
  EXPECT_EQ(planLdsDma(tile, 1).error().message,
            "LDS DMA by 1 wave(s) would need an address register for each instruction: the swizzle "
            "reaches across chunks; "
            "use more waves or another layout");
}

/// 16-byte reads of an operand of `width` rows (of the tile) and 64 columns by wave w, which reads
/// part w / stride % (256 / width) of 256 rows.
static LdsUse partOfWave(unsigned width, unsigned stride, bool left) {
  LinearLayout access = left ? *directReads(*mfmaOperandATile({}, width, 64), {Row, K}, 16, 16)
                             : *directReads(*mfmaOperandBTile({}, 64, width), {Col, K}, 16, 16);
  InputBases waves{std::string(Wave), {}};
  for (unsigned bit = 1; bit < 8; bit *= 2) {
    uint64_t row = bit < stride ? 0 : uint64_t(width) * bit / stride;
    waves.bases.push_back({{std::string(Row), row < 256 ? row : 0}});
  }
  return {LdsInstruction::ReadB128,
          *access.concatInputs(*LinearLayout::fromBases({waves}, {{std::string(Row), 8}}))};
}

// A tile of 128-byte rows that eight waves read in parts, as either operand. Without padding no
// order of rows is free of conflicts: the search comes to an XOR swizzle, after all of them. Every
// wave's reads find their bytes where the DMA has put them.
TEST(LdsSearch, SwizzlesTilesThatWavesReadInParts) {
  LdsTileRequest tile = request(256, 128, 8, {partOfWave(128, 4, true), partOfWave(64, 1, false)});
  LdsTileChoice padded = *findLdsLayout(tile, test::bankModel());
  EXPECT_EQ(padded.conflicts(), 0u);
  EXPECT_GT(padded.layout.padding, 0u);
  tile.maxPadding = 0;
  LdsTileChoice choice = *findLdsLayout(tile, test::bankModel());
  EXPECT_EQ(choice.conflicts(), 0u) << choice.describe(tile.uses);
  EXPECT_EQ(choice.layout.bytes(), 256u * 128);
  EXPECT_GT(choice.swizzledBits, 0u);
  std::map<uint32_t, Place> lds = writtenByDma(choice.layout, *choice.dma);
  for (size_t use = 0; use != tile.uses.size(); ++use)
    for (unsigned wave = 0; wave != 8; ++wave)
      for (unsigned reg = 0; reg != choice.reads[use].immediates.size(); ++reg)
        for (unsigned lane = 0; lane != 64; ++lane) {
          Coordinates wanted =
              tile.uses[use].access.apply({{"register", reg}, {"lane", lane}, {"wave", wave}});
          uint32_t address =
              choice.reads[use].lanePart.apply({{"lane", lane}, {"wave", wave}}, Offset) +
              choice.reads[use].immediates[reg];
          ASSERT_EQ(lds[address], Place(coordinate(wanted, Row), coordinate(wanted, Byte)));
        }
}
