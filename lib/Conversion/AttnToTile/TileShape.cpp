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

static bool fits(const ArchInfo &arch, int64_t depth, int64_t depthV, TileShape shape) {
  auto narrow = [&](int64_t rows, int64_t columns) {
    return registersOf(arch, rows, columns, kElementBytes);
  };
  int64_t state = registersOf(arch, depthV, kWaveRows, 4) + narrow(depth, kWaveRows);
  int64_t first = narrow(shape.kvTile, depth) + registersOf(arch, shape.kvTile, kWaveRows, 4);
  int64_t second = narrow(shape.kvTile, depthV) + narrow(shape.kvTile, kWaveRows);
  int64_t perSimd = (shape.waves + arch.waves.simdsPerCu - 1) / arch.waves.simdsPerCu;
  return state + std::max(first, second) + kOtherRegisters <=
         static_cast<int64_t>(maxVgprsFor(arch, perSimd));
}

/// Waves that have something to write with each LDS DMA instruction of a panel of either tile.
static int64_t writingWaves(const ArchInfo &arch, int64_t depth, int64_t depthV, int64_t keys) {
  unsigned panel =
      std::min(panelBytesFor(depth * kElementBytes), panelBytesFor(depthV * kElementBytes));
  int64_t written = int64_t(arch.waves.waveSize) * std::ranges::max(arch.lds.dmaBytes);
  return std::max<int64_t>(1, keys * panel / written);
}

TileShape hocket::chooseTileShape(const ArchInfo &arch, int64_t depth, int64_t depthV,
                                  const TileShapeWishes &wishes) {
  if (!arch.hasLdsDma(tile::kDmaBytes))
    return {wishes.waves.value_or(kFewWaves), wishes.kvTile.value_or(kFewKeys)};
  TileShape shape{wishes.waves.value_or(kWaves), wishes.kvTile.value_or(kKeys)};
  if (!wishes.waves && !fits(arch, depth, depthV, shape))
    shape.waves = kFewWaves;
  TileShape larger{shape.waves, kManyKeys};
  if (!wishes.kvTile && shape.waves == kWaves && fits(arch, depth, depthV, larger))
    shape = larger;
  if (!wishes.waves)
    shape.waves = std::min(shape.waves, writingWaves(arch, depth, depthV, shape.kvTile));
  return shape;
}
