// The rule of TileShape.h, in registers of one lane.
#include "TileShape.h"

#include "Tile/IR/FragmentAccess.h"
#include "hocket/Layout/LdsTile.h"
#include "hocket/Target/Arch/Occupancy.h"

#include <algorithm>

using namespace hocket;

static constexpr int64_t kWaves = 8, kFewWaves = 4;
static constexpr int64_t kFewKeys = 32, kKeys = 64, kManyKeys = 128;
static constexpr int64_t kWaveRows = 32, kElementBytes = 2;
/// Addresses, softmax state, exponentials on their way: what the shipped kernels were seen to need.
static constexpr int64_t kOtherRegisters = 40;

/// Registers of a lane that hold rows x columns elements of `bytes` bytes, spread over the wave.
static int64_t registersOf(const ArchInfo &arch, int64_t rows, int64_t columns, int64_t bytes) {
  return rows * columns * bytes / (4 * arch.waves.waveSize);
}

static bool fits(const ArchInfo &arch, int64_t depth, int64_t depthV, TileShape shape,
                 bool bothOperands) {
  auto narrow = [&](int64_t rows, int64_t columns) {
    return registersOf(arch, rows, columns, kElementBytes);
  };
  int64_t state = registersOf(arch, depthV, kWaveRows, 4) + narrow(depth, kWaveRows);
  int64_t first = narrow(shape.kvTile, depth) + registersOf(arch, shape.kvTile, kWaveRows, 4);
  int64_t second = narrow(shape.kvTile, depthV) + narrow(shape.kvTile, kWaveRows);
  int64_t perSimd = (shape.waves + arch.waves.simdsPerCu - 1) / arch.waves.simdsPerCu;
  int64_t operands = bothOperands ? first + second : std::max(first, second);
  return state + operands + kOtherRegisters <= static_cast<int64_t>(maxVgprsFor(arch, perSimd));
}

/// Waves that have something to write with each LDS DMA instruction of a panel of either tile.
static int64_t writingWaves(const ArchInfo &arch, int64_t depth, int64_t depthV, int64_t keys) {
  unsigned panel =
      std::min(panelBytesFor(depth * kElementBytes), panelBytesFor(depthV * kElementBytes));
  int64_t written = int64_t(arch.waves.waveSize) * std::ranges::max(arch.lds.dmaBytes);
  return std::max<int64_t>(1, keys * panel / written);
}

/// Keys where both operands are held and four waves share a tile.
static int64_t keysForBoth(const ArchInfo &arch, int64_t depth, int64_t depthV) {
  auto fit = [&](int64_t waves, int64_t keys) {
    return fits(arch, depth, depthV, {waves, keys}, /*bothOperands=*/true);
  };
  if (writingWaves(arch, depth, depthV, kFewKeys) < kFewWaves)
    return kKeys;
  bool two = fit(2 * kFewWaves, kFewKeys);
  return two || !fit(kFewWaves, kKeys) ? kFewKeys : kKeys;
}

TileShape hocket::chooseTileShape(const ArchInfo &arch, int64_t depth, int64_t depthV,
                                  const TileShapeWishes &wishes) {
  if (!arch.hasLdsDma(tile::kDmaBytes))
    return {wishes.waves.value_or(kFewWaves), wishes.kvTile.value_or(kFewKeys)};
  TileShape shape{wishes.waves.value_or(kWaves), wishes.kvTile.value_or(kKeys)};
  bool both = wishes.bothOperands;
  if (!wishes.waves && !fits(arch, depth, depthV, shape, both))
    shape.waves = kFewWaves;
  TileShape larger{shape.waves, kManyKeys};
  if (!wishes.kvTile && shape.waves == kWaves && fits(arch, depth, depthV, larger, both))
    shape = larger;
  if (!wishes.kvTile && shape.waves == kFewWaves && both)
    shape.kvTile = keysForBoth(arch, depth, depthV);
  if (!wishes.waves)
    shape.waves = std::min(shape.waves, writingWaves(arch, depth, depthV, shape.kvTile));
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

static std::optional<Held> heldOf(tile::ScheduleOp schedule, llvm::StringRef read,
                                  llvm::StringRef product) {
  std::optional<int64_t> from = timeOf(schedule, read), to = timeOf(schedule, product);
  if (!from || !to || *to <= *from)
    return std::nullopt;
  return Held{*from, *to};
}

bool hocket::holdsBothOperands(tile::ScheduleOp schedule) {
  auto clusters = int64_t(llvm::range_size(schedule.getBody().getOps<tile::ClusterOp>()));
  std::optional<Held> k = heldOf(schedule, "read_k", "qk"), v = heldOf(schedule, "read_v", "pv");
  if (!k || !v)
    return false;
  for (int64_t time = k->from; time <= k->to; ++time)
    for (int64_t other = v->from; other <= v->to; ++other)
      if ((time - other) % clusters == 0)
        return true;
  return false;
}
