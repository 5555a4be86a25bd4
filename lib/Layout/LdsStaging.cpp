// Deals the bits of a tile's address out to load bytes, interleaved rows, lanes, waves and loads.
#include "Layout/LdsStaging.h"
#include "Layout/Wave.h"

#include "Layout/Log2.h"

#include <algorithm>
#include <bit>
#include <functional>

using namespace hocket;

/// Log2 of the bytes of an element, of the widest load and store, and of a line of global memory.
static constexpr unsigned kElementLog = 1, kWidestLog = 4, kLineLog = 7;

namespace {
using DealtBits = std::vector<TileBit>;

/// Who takes which address bits.
struct Deal {
  unsigned loadLog = 0; ///< byte bits below this lie within a load
  DealtBits gathered; ///< row bits whose loads are interleaved
  DealtBits lanes, waves, loads;
};
} // namespace

static Coordinates image(const TileBit &bit) {
  return {{std::string(bit.dim), uint64_t(1) << bit.bit}};
}

static InputBases input(std::string_view name, const DealtBits &bits) {
  InputBases bases{std::string(name), {}};
  for (const TileBit &bit : bits)
    bases.bases.push_back(image(bit));
  return bases;
}

/// The row bits that lie right above an element, at most three: 16 bytes.
static DealtBits gatheredRows(const LdsTileLayout &tile) {
  DealtBits rows;
  for (unsigned position = kElementLog; position < kWidestLog; ++position) {
    unsigned bit = 0, count = tile.linear.inputBits(dims::Row);
    while (bit < count && tile.linear.basis(dims::Row, bit, dims::Offset) != uint64_t(1)
                                                                                 << position)
      ++bit;
    if (bit == count)
      break;
    rows.push_back({dims::Row, bit});
  }
  return rows;
}

/// Log2 of the bytes of memory that lie together, 16 at most.
static unsigned runLog(const LdsTileLayout &tile) {
  DealtBits bits = memoryBits(tile.vectors, tile.rows, tile.panelBytes, 1u << kWidestLog);
  unsigned bit = 0;
  while (bit < bits.size() && tile.linear.basis(bits[bit].dim, bits[bit].bit, dims::Offset) == uint64_t(1) << bit)
    ++bit;
  return bit;
}

static Error tooSmall(const LdsTileLayout &tile, unsigned waves, unsigned bytes) {
  return unsupported("a panel of " + std::to_string(tile.rows * tile.panelBytes) +
                     " bytes does not give every lane of " + std::to_string(waves) + " waves " +
                     std::to_string(bytes) + " bytes to load; use fewer waves or larger tiles");
}

/// Everything but the order of the lanes: whole lines first.
static Result<Deal> deal(const LdsTileLayout &tile, unsigned waves) {
  unsigned byteBits = tile.linear.inputBits(dims::Byte);
  unsigned rowBits = tile.linear.inputBits(dims::Row);
  unsigned shared = kWaveLaneBits + log2(waves);
  // Memory that holds rows side by side has gathered them.
  DealtBits gatherable = tile.vectors == TileVectors::Rows ? DealtBits() : gatheredRows(tile);
  unsigned least = gatherable.empty() ? 2 : 3;
  if (rowBits + byteBits < shared + least)
    return tooSmall(tile, waves, 1u << least);
  unsigned laneLog = rowBits + byteBits - shared;
  Deal result;
  if (gatherable.empty()) {
    result.loadLog = std::min({kWidestLog, laneLog, runLog(tile)});
  } else {
    result.loadLog = std::min({kWidestLog, laneLog - 1, byteBits});
    size_t count = std::min<size_t>(gatherable.size(), laneLog - result.loadLog);
    result.gathered.assign(gatherable.begin(), gatherable.begin() + count);
    gatherable.erase(gatherable.begin(), gatherable.begin() + count);
  }
  if (result.loadLog < 2)
    return unsupported("LDS tile keeps no four bytes of a row together, which is the least that "
                       "passes through registers");
  DealtBits line = memoryBits(tile.vectors, tile.rows, tile.panelBytes, 1u << kLineLog);
  DealtBits rest(line.begin() + std::min<size_t>(result.loadLog, line.size()), line.end());
  // Rows that are neighbours in LDS next: in other banks without any swizzle.
  rest.insert(rest.end(), gatherable.begin(), gatherable.end());
  auto isDealt = [&](const TileBit &bit) {
    return std::ranges::count(line, bit) || std::ranges::count(rest, bit) || std::ranges::count(result.gathered, bit);
  };
  for (auto [dim, count] : {std::pair(dims::Row, rowBits), std::pair(dims::Byte, byteBits)})
    for (unsigned bit = 0; bit < count; ++bit)
      if (TileBit next{dim, bit}; !isDealt(next))
        rest.push_back(next);
  auto lanesEnd = rest.begin() + kWaveLaneBits, wavesEnd = rest.begin() + shared;
  result.lanes.assign(rest.begin(), lanesEnd);
  result.waves.assign(lanesEnd, wavesEnd);
  result.loads.assign(wavesEnd, rest.end());
  return result;
}

static Result<LinearLayout> layoutOf(const LdsTileLayout &tile, const DealtBits &registers,
                                     const Deal &deal) {
  return LinearLayout::fromBases({input(dims::Register, registers), input(dims::Lane, deal.lanes),
                                  input(dims::Wave, deal.waves)},
                                 {{std::string(dims::Row), tile.linear.inputBits(dims::Row)},
                                  {std::string(dims::Byte), tile.linear.inputBits(dims::Byte)}});
}

static LdsInstruction storeOf(unsigned bytes) {
  return bytes == 16  ? LdsInstruction::WriteB128
         : bytes == 8 ? LdsInstruction::WriteB64
                      : LdsInstruction::WriteB32;
}

/// The plan without addresses.
static Result<LdsStagingPlan> planOf(const LdsTileLayout &tile, const Deal &deal) {
  LdsStagingPlan plan;
  plan.waves = 1u << deal.waves.size();
  plan.loadBytes = 1u << deal.loadLog;
  plan.gathered = 1u << deal.gathered.size();
  plan.loads = plan.gathered << deal.loads.size();
  DealtBits loads = deal.gathered, stores;
  loads.insert(loads.end(), deal.loads.begin(), deal.loads.end());
  plan.storeBytes = plan.loadBytes;
  if (plan.gathered > 1) {
    plan.storeBytes = plan.gathered << kElementLog;
    for (unsigned bit = kElementLog; bit < deal.loadLog; ++bit)
      stores.push_back({dims::Byte, bit});
  }
  stores.insert(stores.end(), deal.loads.begin(), deal.loads.end());
  Result<LinearLayout> source = layoutOf(tile, loads, deal), target = layoutOf(tile, stores, deal);
  if (!source || !target)
    return source ? target.error() : source.error();
  plan.source = *std::move(source);
  plan.target = *std::move(target);
  return plan;
}

static Result<LdsStorePlan> addressesOf(const LdsTileLayout &tile, const LinearLayout &target) {
  Result<LinearLayout> offsets = target.then(tile.linear);
  if (!offsets)
    return offsets.error();
  LdsStorePlan plan;
  plan.lanePart = offsets->sublayout({dims::Lane, dims::Wave}, {dims::Offset});
  plan.variants = {0};
  uint64_t laneReach =
      offsets->reach(dims::Lane, dims::Offset) | offsets->reach(dims::Wave, dims::Offset);
  LinearLayout registers = offsets->sublayout({dims::Register}, {dims::Offset});
  for (uint64_t i = 0; i != uint64_t(1) << registers.inputBits(dims::Register); ++i) {
    uint64_t offset = registers.applyFlat(i);
    auto swizzled = static_cast<uint32_t>(offset & laneReach);
    auto variant = std::ranges::find(plan.variants, swizzled);
    if (variant == plan.variants.end())
      variant = plan.variants.insert(variant, swizzled);
    plan.stores.push_back({static_cast<unsigned>(variant - plan.variants.begin()),
                           tile.padded(static_cast<uint32_t>(offset & ~laneReach))});
  }
  return plan;
}

/// `bits` with those in `mask` behind the others, both in order.
static DealtBits moveUp(const DealtBits &bits, uint32_t mask) {
  DealtBits result;
  for (uint32_t wanted : {0u, 1u})
    for (unsigned i = 0; i < bits.size(); ++i)
      if ((mask >> i & 1) == wanted)
        result.push_back(bits[i]);
  return result;
}

Result<LdsStagingPlan> hocket::planLdsStaging(const LdsTileLayout &tile, unsigned waves,
                                              const LdsBankModel &model) {
  if (Status status = validateLdsTile(tile); !status)
    return status.error();
  if (!std::has_single_bit(waves))
    return unsupported("no plan for a tile to pass through the registers of " +
                       std::to_string(waves) + " waves, a power of two is needed");
  Result<Deal> dealt = deal(tile, waves);
  if (!dealt)
    return dealt.error();
  Result<LdsStagingPlan> best = planOf(tile, *dealt);
  if (!best)
    return best.error();
  LdsInstruction store = storeOf(best->storeBytes);
  // Lanes whose upper bits are the same are served together: which bits those are decides about
  // conflicts. The order as dealt comes first.
  unsigned upper = log2(kWaveLanes * best->storeBytes / 128);
  bool found = false;
  for (uint32_t mask = 1u << kWaveLaneBits; mask-- != 0;) {
    if (static_cast<unsigned>(std::popcount(mask)) != upper)
      continue;
    Deal other = *dealt;
    other.lanes = moveUp(dealt->lanes, mask);
    Result<LdsStagingPlan> plan = planOf(tile, other);
    if (!plan)
      return plan.error();
    Result<LdsCost> cost =
        ldsUseCost(tile, {store, plan->target, {}}, model, found ? best->cost.conflicts() : ~0u);
    if (!cost)
      return cost.error();
    if (found && cost->cycles >= best->cost.cycles)
      continue;
    best = *std::move(plan);
    best->cost = *cost;
    found = true;
    if (cost->conflicts() == 0)
      break;
  }
  Result<LdsStorePlan> addresses = addressesOf(tile, best->target);
  if (!addresses)
    return addresses.error();
  best->addresses = *std::move(addresses);
  return best;
}
