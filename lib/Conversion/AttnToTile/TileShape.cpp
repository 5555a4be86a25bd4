// The rule of TileShape.h, in registers of one lane.
#include "Conversion/TileShape.h"

#include "ExpansionBuilder.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/StepRole.h"
#include "Layout/LdsTile.h"
#include "Target/Arch/Occupancy.h"

#include <algorithm>

using namespace hocket;

static constexpr int64_t kFewKeys = 32, kKeys = 64, kManyKeys = 128;
/// Addresses, softmax state, exponentials on their way: what the shipped kernels were seen to need.
static constexpr int64_t kOtherRegisters = 40;

/// Registers of a lane that hold rows x columns elements of `bytes` bytes, spread over the wave.
static int64_t registersOf(const ArchInfo &arch, int64_t rows, int64_t columns, int64_t bytes) {
  return rows * columns * bytes / (4 * arch.waves.waveSize);
}

static bool fits(const ArchInfo &arch, HeadWidths head, TileShape shape, bool bothOperands) {
  auto narrow = [&](int64_t rows, int64_t columns) { return registersOf(arch, rows, columns, head.operandBytes); };
  int64_t state = registersOf(arch, std::max(head.depthV, head.columns), kWaveRows, 4) + narrow(head.depth, kWaveRows);
  int64_t first = narrow(shape.kvTile, head.depth) + registersOf(arch, shape.kvTile, kWaveRows, 4);
  int64_t second = narrow(shape.kvTile, head.depthV) + narrow(shape.kvTile, kWaveRows);
  int64_t perSimd = (shape.waves + arch.waves.simdsPerCu - 1) / arch.waves.simdsPerCu;
  int64_t operands = bothOperands ? first + second : std::max(first, second);
  return state + operands + kOtherRegisters <= static_cast<int64_t>(maxVgprsFor(arch, perSimd));
}

int64_t hocket::writingWaves(const ArchInfo &arch, HeadWidths head, int64_t keys) {
  unsigned panel =
      std::min(panelBytesFor(head.depth * head.elementBytes), panelBytesFor(head.depthV * head.elementBytes));
  int64_t written = int64_t(arch.waves.waveSize) * std::ranges::max(arch.lds.dmaBytes);
  return std::max<int64_t>(1, keys * panel / written);
}

int64_t hocket::fetchableKeys(const ArchInfo &arch, HeadWidths head, int64_t waves, int64_t keys) {
  if (!arch.hasLdsDma(tile::kDmaBytes))
    return keys;
  while (keys < kManyKeys && writingWaves(arch, head, keys) < waves)
    keys *= 2;
  return keys;
}

/// Keys where both operands are held and four waves share a tile.
static int64_t keysForBoth(const ArchInfo &arch, HeadWidths head) {
  auto fit = [&](int64_t waves, int64_t keys) {
    return fits(arch, head, {waves, keys}, /*bothOperands=*/true);
  };
  if (writingWaves(arch, head, kFewKeys) < kFewWaves)
    return kKeys;
  bool two = fit(2 * kFewWaves, kFewKeys);
  return two || !fit(kFewWaves, kKeys) ? kFewKeys : kKeys;
}

TileShape hocket::chooseTileShape(const ArchInfo &arch, HeadWidths head, const TileShapeConstraints &constraints) {
  if (!arch.hasLdsDma(tile::kDmaBytes))
    return {constraints.waves.value_or(kFewWaves), constraints.kvTile.value_or(kFewKeys)};
  TileShape shape{constraints.waves.value_or(kManyWaves), constraints.kvTile.value_or(kKeys)};
  bool both = constraints.bothOperands;
  if (!constraints.waves && !fits(arch, head, shape, both))
    shape.waves = kFewWaves;
  TileShape larger{shape.waves, kManyKeys};
  if (!constraints.kvTile && shape.waves == kManyWaves && fits(arch, head, larger, both))
    shape = larger;
  if (!constraints.kvTile && shape.waves == kFewWaves && both)
    shape.kvTile = keysForBoth(arch, head);
  if (!constraints.waves)
    shape.waves = std::min(shape.waves, writingWaves(arch, head, shape.kvTile));
  else if (!constraints.kvTile)
    shape.kvTile = fetchableKeys(arch, head, shape.waves, shape.kvTile);
  return shape;
}

namespace {
/// From the read of an operand to its product, as `timeOf` counts.
struct Held {
  int64_t from, to;
};
} // namespace

/// Where the step stands, in clusters from the start of the iteration that stands at its tile; none
/// if the schedule has no place for it.
static std::optional<int64_t> timeOf(tile::ScheduleOp schedule, llvm::StringRef step) {
  int64_t clusters = 0;
  std::optional<int64_t> number, offset;
  for (auto cluster : schedule.getBody().getOps<tile::ClusterOp>()) {
    for (auto place : cluster.getPlaces().getAsRange<tile::PlaceAttr>())
      if (place.getStep() == step)
        number = clusters, offset = place.getOffset();
    ++clusters;
  }
  return number ? std::optional(*number - *offset * clusters) : std::nullopt;
}

/// From the read of an operand to the last of its products.
static std::optional<Held> heldOf(tile::ScheduleOp schedule, const tile::OperandUse &use) {
  tile::StepOp read = use.read, product = use.products.back();
  std::optional<int64_t> from = timeOf(schedule, read.getSymName()),
                         to = timeOf(schedule, product.getSymName());
  if (!from || !to || *to <= *from)
    return std::nullopt;
  return Held{*from, *to};
}

/// Whether some cluster lies within both times, of any two tiles.
static bool overlap(const Held &a, const Held &b, int64_t clusters) {
  for (int64_t time = a.from; time <= a.to; ++time)
    for (int64_t other = b.from; other <= b.to; ++other)
      if ((time - other) % clusters == 0)
        return true;
  return false;
}

bool hocket::holdsBothOperands(tile::ForTilesOp loop, tile::ScheduleOp schedule) {
  auto clusters = int64_t(llvm::range_size(schedule.getBody().getOps<tile::ClusterOp>()));
  llvm::SmallVector<std::pair<mlir::Value, Held>> held;
  for (const tile::OperandUse &use : tile::operandUses(loop))
    if (std::optional<Held> time = heldOf(schedule, use))
      held.emplace_back(use.ring, *time);
  for (const auto &[ring, time] : held)
    for (const auto &[otherRing, otherTime] : held)
      if (ring != otherRing && overlap(time, otherTime, clusters))
        return true;
  return false;
}
