// How many waves a workgroup of a backward has and how many rows a tile of what passes, where nobody says.
//
// Tiles of 32 rows, or 64 where there is ample room: from the registers of a lane that one iteration takes. How much is
// ample was seen: where both files of registers are needed, LLVM spills long before they are full. Eight waves, two on
// a SIMD, if they have the registers, else four.
#include "Backward.h"

#include "ExpansionBuilder.h"
#include "Forward.h"
#include "QuerySums.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/FragmentAccess.h"
#include "Target/Arch/Occupancy.h"

using namespace mlir;
using namespace hocket;
using attn::BackwardPart;

static constexpr int64_t kFewRows = 32, kManyRows = 64;
/// Tiles of queries that an iteration of a fused loop goes through: so many parts of dQ's queries.
static constexpr int64_t kFusedTiles = 2;
/// Columns of dK and dV that a wave sums with half of a SIMD's registers.
static constexpr int64_t kFusedSums = 256;
/// Addresses, what is computed beside fragments, and what the register allocator needs to move.
static constexpr int64_t kUncountedRegisters = 24;

/// Registers of a lane for a fragment of so many numbers of 4 bytes, or of elements of the problem.
static int64_t f32Registers(int64_t numbers) { return numbers / kWaveLanes; }
static int64_t packedRegisters(attn::BackwardOp op, int64_t numbers) {
  return numbers * bitsOf(op.getElementType()) / (32 * kWaveLanes);
}

/// Registers of a lane in one iteration: sums, what is held, the operand that is read, S, dP, P, slopes of modified
/// scores and row statistics.
static int64_t registersOf(attn::BackwardOp op, int64_t rows) {
  int64_t depth = llvm::alignTo(op.getHeadDim(), kHeadBlock);
  int64_t depthV = llvm::alignTo(op.getValueHeadDim(), kHeadBlock);
  BackwardPart part = op.getPart();
  int64_t sums = part == BackwardPart::Dv     ? depthV
                 : part == BackwardPart::DkDv ? depth + depthV
                                              : depth;
  int64_t held = part == BackwardPart::Dv ? depth : depth + depthV;
  int64_t scores = f32Registers(rows * kWaveRows);
  int64_t statistics = part == BackwardPart::Dq ? 2 : 2 * rows / 2;
  int64_t slopes = op.getScoreMods() ? scores : 0;
  return slopes + f32Registers(sums * kWaveRows) + packedRegisters(op, held * kWaveRows) +
         packedRegisters(op, rows * std::max(depth, depthV)) + 2 * scores + scores / 2 + statistics +
         kUncountedRegisters;
}

/// How many waves may fetch a tile of so many rows: each at least what one instruction writes to LDS.
static int64_t fetchingWaves(attn::BackwardOp op, const ArchInfo &arch, int64_t rows) {
  if (!arch.hasLdsDma(tile::kDmaBytes))
    return kManyWaves;
  int64_t dim = llvm::alignTo(op.getHeadDim(), kHeadBlock), dimV = llvm::alignTo(op.getValueHeadDim(), kHeadBlock);
  return writingWaves(arch, {dim, dimV, bytesOf(op.getElementType())}, rows);
}

/// For several workgroups on a compute unit: one wave of each on a SIMD, and what registers have no room for in LDS.
static BackwardShape shapeOfSeveral(attn::BackwardOp op, const ArchInfo &arch, int64_t workgroups) {
  BackwardShape shape;
  shape.waves = op.getWaves().value_or(kFewWaves);
  shape.kvTile = op.getLoopTile().value_or(kFewRows);
  shape.workgroups = workgroups;
  shape.secondInLds = op.getPart() == BackwardPart::DkDv;
  return shape;
}

/// Of a fused loop: each wave makes one block of queries of dQ, of as many columns as there are waves for.
static BackwardShape shapeOfFused(attn::BackwardOp op, const ArchInfo &arch) {
  BackwardShape shape;
  shape.kvTile = kFewRows;
  shape.tilesAtOnce = kFusedTiles;
  int64_t columns = QuerySums::columnsOf(op), ofMany = kManyWaves / kFusedTiles * kHeadBlock;
  bool fits = columns + llvm::alignTo(op.getValueHeadDim(), kHeadBlock) <= kFusedSums;
  shape.waves = fits && columns % ofMany == 0 ? kManyWaves : kFewWaves;
  // Of tiles that so many waves cannot fetch together fewer hold keys: right, and slow.
  int64_t fetching = fetchingWaves(op, arch, shape.kvTile);
  shape.waves = op.getWaves().value_or(std::min(shape.waves, fetching));
  return shape;
}

/// As the head wants it, whatever the problem.
static BackwardShape shapeOfHead(attn::BackwardOp op, const ArchInfo &arch, tile::ScheduleOp schedule) {
  if (op.getPart() == BackwardPart::Fused)
    return shapeOfFused(op, arch);
  if (schedule && schedule.getWorkgroups())
    return shapeOfSeveral(op, arch, *schedule.getWorkgroups());
  auto fits = [&](int64_t waves, int64_t rows) {
    int64_t perSimd = llvm::divideCeil(waves, arch.waves.simdsPerCu);
    int64_t registers = maxVgprsFor(arch, perSimd);
    if (rows == kManyRows)
      registers = op.getPart() == BackwardPart::Dq ? registers * 3 / 4 : registers * 5 / 6;
    return registersOf(op, rows) <= registers;
  };
  bool passesLds = arch.hasLdsDma(tile::kDmaBytes);
  BackwardShape shape;
  shape.waves = kFewWaves, shape.kvTile = kFewRows;
  if (passesLds && fits(kManyWaves, kFewRows))
    shape.waves = kManyWaves;
  if (passesLds && fits(shape.waves, kManyRows))
    shape.kvTile = kManyRows;
  shape.kvTile = op.getLoopTile().value_or(shape.kvTile);
  shape.waves = std::min(shape.waves, fetchingWaves(op, arch, shape.kvTile));
  shape.waves = op.getWaves().value_or(shape.waves);
  return shape;
}

BackwardShape hocket::backwardShape(attn::BackwardOp op, const ArchInfo &arch, tile::ScheduleOp schedule) {
  BackwardShape shape = shapeOfHead(op, arch, schedule);
  if (!op.getKeyBlock())
    return shape;
  // A block of lists has all rows of a workgroup, and whole tiles.
  bool holdsKeys = op.getPart() != BackwardPart::Dq;
  int64_t held = holdsKeys ? *op.getKeyBlock() : *op.getQueryBlock();
  int64_t passing = holdsKeys ? *op.getQueryBlock() : *op.getKeyBlock();
  while (!op.getWaves() && shape.waves > 1 && held % (shape.waves * kWaveRows) != 0)
    shape.waves /= 2;
  if (!op.getLoopTile() && passing % shape.kvTile != 0)
    shape.kvTile = kFewRows;
  if (!op.getWaves())
    shape.waves = std::min(shape.waves, fetchingWaves(op, arch, shape.kvTile));
  return shape;
}
