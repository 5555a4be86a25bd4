// The search over LDS layouts. A candidate is a list of position bits (which bit of row or byte
// each carries) plus XOR pairs plus padding; candidates come from LdsCandidates.h in order of
// preference.
#include "Layout/LdsSearch.h"
#include "Layout/Wave.h"

#include "LdsCandidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <sstream>
#include <tuple>

using namespace hocket;

unsigned LdsTileChoice::conflicts() const {
  unsigned sum = 0;
  for (const LdsCost &cost : costs)
    sum += cost.conflicts();
  return sum;
}

std::string LdsTileChoice::describe(std::span<const LdsUse> uses) const {
  std::ostringstream os;
  os << layout.rows << " x " << layout.rowBytes << " bytes";
  if (layout.panels() > 1)
    os << " in " << layout.panels() << " panels";
  os << ", chunks of " << layout.chunkBytes << " bytes, padding " << layout.padding << ", "
     << swizzledBits << " swizzled bit" << (swizzledBits == 1 ? "" : "s");
  for (unsigned i = 0; i < costs.size() && i < uses.size(); ++i)
    os << (i ? ", " : "; ") << name(uses[i].instruction) << ' ' << costs[i].cycles << " cycles, "
       << costs[i].conflicts() << " lost to conflicts";
  return os.str();
}

/// The addresses of all lanes for one instruction whose offset without the lane is `fixed`.
static std::array<uint32_t, kWaveLanes>
addresses(const LdsTileLayout &layout, const std::array<uint32_t, kWaveLaneBits> &laneImages, uint32_t fixed) {
  std::array<uint32_t, kWaveLanes> result;
  result[0] = fixed;
  for (unsigned lane = 1; lane < kWaveLanes; ++lane)
    result[lane] = result[lane & (lane - 1)] ^ laneImages[std::countr_zero(lane)];
  for (uint32_t &address : result)
    address = layout.padded(address);
  return result;
}

Result<LdsCost> hocket::ldsUseCost(const LdsTileLayout &layout, const LdsUse &use,
                                   const LdsBankModel &model, unsigned maxConflicts) {
  auto rule = model.find(use.instruction);
  if (rule == model.end())
    return unsupported("no bank model for '" + std::string(name(use.instruction)) +
                       "' on this target");
  Result<LinearLayout> offsets = use.access.then(layout.linear);
  if (!offsets)
    return offsets.error();
  std::array<uint32_t, kWaveLaneBits> laneImages;
  for (unsigned bit = 0; bit < kWaveLaneBits; ++bit)
    laneImages[bit] = static_cast<uint32_t>(offsets->basis(dims::Lane, bit, dims::Offset));
  unsigned bytes = bytesPerLane(use.instruction);
  LinearLayout ofRegister = offsets->sublayout({dims::Register}, {dims::Offset});
  LinearLayout ofWave = offsets->sublayout({dims::Wave}, {dims::Offset});
  uint64_t registers = uint64_t(1) << offsets->inputBits(dims::Register);
  uint64_t waves = uint64_t(1) << offsets->inputBits(dims::Wave);
  // Without padding all instructions cost the same: XOR with a constant only renames the banks.
  if (layout.padding == 0) {
    LdsCost one = ldsCost(rule->second, bytes, addresses(layout, laneImages, 0));
    unsigned count = static_cast<unsigned>(registers);
    return LdsCost{one.cycles * count, one.ideal * count};
  }
  LdsCost worst;
  for (uint64_t wave = 0; wave < waves; ++wave) {
    LdsCost sum;
    for (uint64_t reg = 0; reg < registers && sum.conflicts() <= maxConflicts; ++reg) {
      auto fixed = static_cast<uint32_t>(ofRegister.applyFlat(reg) ^ ofWave.applyFlat(wave));
      sum += ldsCost(rule->second, bytes, addresses(layout, laneImages, fixed));
    }
    if (sum.cycles > worst.cycles)
      worst = sum;
    if (worst.conflicts() > maxConflicts)
      break;
  }
  return worst;
}

/// Bytes of a line of memory that lie in order, from offset 0 on.
static unsigned fetchRun(const LdsTileLayout &layout) {
  std::vector<TileBit> bits =
      memoryBits(layout.vectors, layout.rows, layout.panelBytes, layout.rows * layout.panelBytes);
  unsigned bit = 0;
  while (bit < bits.size() && layout.linear.basis(bits[bit].dim, bits[bit].bit, dims::Offset) == uint64_t(1) << bit)
    ++bit;
  return 1u << bit;
}

namespace {

/// One search: the request, the best layout so far, and how good it is.
class Search {
public:
  Search(const LdsTileRequest &request, const LdsBankModel &model)
      : request(request), model(model) {}

  /// Tries one layout; true if the search may stop.
  Result<bool> consider(const LdsTileLayout &layout, unsigned swizzles) {
    ++tried;
    LdsTileChoice choice;
    choice.layout = layout;
    choice.swizzledBits = swizzles;
    unsigned allowed = best ? best->conflicts() : ~0u;
    for (const LdsUse &use : request.uses) {
      Result<LdsCost> cost = ldsUseCost(layout, use, model, allowed);
      if (!cost)
        return cost.error();
      if (cost->conflicts() > allowed)
        return false;
      allowed -= cost->conflicts();
      choice.costs.push_back(*cost);
    }
    choice.runBytes = fetchRun(layout);
    unsigned brokenLine = request.lineBytes - std::min(choice.runBytes, request.lineBytes);
    auto rank = std::tuple(choice.conflicts(), brokenLine, layout.bytes(), swizzles);
    if (best && rank >= bestRank)
      return false;
    if (Status status = plan(choice); !status) {
      lastRefusal = status.error();
      return false;
    }
    best = std::move(choice);
    bestRank = rank;
    return best->conflicts() == 0;
  }

  Result<LdsTileChoice> finish() {
    if (best) {
      best->candidates = tried;
      return *std::move(best);
    }
    if (lastRefusal)
      return *lastRefusal;
    return unsupported("no LDS layout fits a tile of " + std::to_string(request.rows) + " x " +
                       std::to_string(request.rowBytes) + " bytes");
  }

private:
  Status plan(LdsTileChoice &choice) {
    for (const LdsUse &use : request.uses) {
      Result<LdsReadPlan> read = planLdsReads(choice.layout, use.access);
      if (!read)
        return read.error();
      choice.reads.push_back(*std::move(read));
    }
    if (request.dmaWaves) {
      Result<LdsDmaPlan> dma = planLdsDma(choice.layout, request.dmaWaves, request.dmaBytesPerLane);
      if (!dma)
        return dma.error();
      choice.dma = *std::move(dma);
    }
    return Status::success();
  }

  const LdsTileRequest &request;
  const LdsBankModel &model;
  std::optional<LdsTileChoice> best;
  std::tuple<unsigned, unsigned, unsigned, unsigned> bestRank;
  std::optional<Error> lastRefusal;
  unsigned tried = 0;
};

} // namespace

static Status checkRequest(const LdsTileRequest &request) {
  std::string tile =
      std::to_string(request.rows) + " x " + std::to_string(request.rowBytes) + " bytes";
  if (!std::has_single_bit(request.rows) || request.rowBytes == 0 || request.rowBytes % 16 != 0)
    return unsupported("no LDS layout for a tile of " + tile +
                       ": rows must be a power of two and a row a multiple of 16 bytes");
  if (request.uses.empty())
    return invalidInput("LDS tile of " + tile + " has no accesses to choose a layout for");
  unsigned chunk = kWaveLanes * request.dmaBytesPerLane;
  unsigned panel = request.rows * panelBytesFor(request.rowBytes);
  if (request.dmaWaves && panel < chunk)
    return unsupported("no LDS layout for a tile of " + tile + ": a panel of " +
                       std::to_string(panel) + " bytes is less than the " + std::to_string(chunk) +
                       " that one LDS DMA instruction writes; use more rows");
  return Status::success();
}

Result<LdsTileChoice> hocket::findLdsLayout(const LdsTileRequest &request,
                                            const LdsBankModel &model) {
  if (Status status = checkRequest(request); !status)
    return status.error();
  Search search(request, model);
  std::optional<Error> failure;
  forEachLdsCandidate(request, [&](const LdsTileLayout &layout, unsigned swizzles) {
    Result<bool> done = search.consider(layout, swizzles);
    if (!done)
      failure = done.error();
    return !done || *done;
  });
  if (failure)
    return *failure;
  return search.finish();
}
