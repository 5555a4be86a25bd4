// Finds the layout of a tile that passes through registers.
//
// Without the LDS DMA nothing ties a layout to chunks: positions above the piece that one read
// takes carry the other address bits in a few natural orders, with up to three XORs into the
// positions that select banks and padding after blocks of any size. Reads are priced first, since
// they are many; who stores what is settled for each layout that survives.
#include "Layout/LdsStaging.h"

#include "Layout/Log2.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>

using namespace hocket;

/// Log2 of the bytes that all banks hold side by side, and of the widest read.
static constexpr unsigned kPieceLog = 4;
static constexpr unsigned kStagedElementLog = 1;
static constexpr unsigned kMostSwizzles = 3;

namespace {
/// By position, from the lowest.
using StagedArrangement = std::vector<TileBit>;

struct StagedSwizzle {
  unsigned position, source; ///< positions
};

class StagedSearch {
public:
  StagedSearch(const LdsTileRequest &request, const LdsBankModel &model)
      : request(request), model(model), panelBytes(panelBytesFor(request.rowBytes)) {}

  Result<LdsTileChoice> run();

private:
  std::vector<StagedArrangement> arrangements() const;
  void tryArrangement(const StagedArrangement &arrangement, unsigned swizzles);
  void forEachSwizzles(const StagedArrangement &arrangement, unsigned count, std::vector<StagedSwizzle> &chosen,
                       const std::function<void()> &visit);
  LinearLayout linear(const StagedArrangement &arrangement, const std::vector<StagedSwizzle> &swizzles) const;
  void consider(const LdsTileLayout &layout, unsigned swizzles);
  bool done() const { return best && best->conflicts() == 0; }

  const LdsTileRequest &request;
  const LdsBankModel &model;
  const unsigned panelBytes;
  unsigned bankBits = 0; ///< positions below this select a bank
  std::optional<LdsTileChoice> best;
  std::tuple<unsigned, unsigned, unsigned> bestRank;
  std::optional<Error> refusal, storeRefusal; ///< the last of the reads and of the stores
  unsigned tried = 0;
};
} // namespace

/// The piece's bits, then the others: rows of the piece's kind in the natural order, or the other
/// dimension first.
std::vector<StagedArrangement> StagedSearch::arrangements() const {
  const std::vector<unsigned> &gathered = request.uses.front().gatheredRows;
  StagedArrangement piece, bytes, rows;
  if (request.vectors == TileVectors::Rows) {
    piece = memoryBits(request.vectors, request.rows, panelBytes, 1u << kPieceLog);
  } else {
    for (unsigned bit = 0; bit < std::min(log2(panelBytes), gathered.empty() ? kPieceLog : kStagedElementLog); ++bit)
      piece.push_back({dims::Byte, bit});
    for (unsigned row : gathered)
      piece.push_back({dims::Row, row});
  }
  for (unsigned bit = 0; bit < log2(panelBytes); ++bit)
    if (TileBit next{dims::Byte, bit}; !std::ranges::count(piece, next))
      bytes.push_back(next);
  for (unsigned bit = 0; bit < log2(request.rows); ++bit)
    if (TileBit next{dims::Row, bit}; !std::ranges::count(piece, next))
      rows.push_back(next);
  auto join = [](StagedArrangement a, const StagedArrangement &b, const StagedArrangement &c) {
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    return a;
  };
  return {join(piece, bytes, rows), join(piece, rows, bytes)};
}

LinearLayout StagedSearch::linear(const StagedArrangement &arrangement,
                                  const std::vector<StagedSwizzle> &swizzles) const {
  InputBases row{std::string(dims::Row), std::vector<Coordinates>(log2(request.rows))};
  InputBases byte{std::string(dims::Byte), std::vector<Coordinates>(log2(panelBytes))};
  for (unsigned position = 0; position < arrangement.size(); ++position) {
    uint64_t image = uint64_t(1) << position;
    for (const StagedSwizzle &swizzle : swizzles)
      if (swizzle.source == position)
        image ^= uint64_t(1) << swizzle.position;
    const TileBit &bit = arrangement[position];
    (bit.dim == dims::Row ? row : byte).bases[bit.bit] = {{std::string(dims::Offset), image}};
  }
  Result<LinearLayout> layout = LinearLayout::fromBases(
      {byte, row}, {{std::string(dims::Offset), static_cast<unsigned>(arrangement.size())}});
  return layout ? *std::move(layout) : LinearLayout();
}

void StagedSearch::consider(const LdsTileLayout &layout, unsigned swizzles) {
  ++tried;
  LdsTileChoice choice;
  choice.layout = layout;
  choice.swizzledBits = swizzles;
  choice.runBytes = panelBytes;
  unsigned allowed = best ? best->conflicts() : ~0u;
  for (const LdsUse &use : request.uses) {
    Result<LdsReadPlan> read = planLdsReads(layout, use.access);
    Result<LdsCost> cost =
        read ? ldsUseCost(layout, use, model, allowed) : Result<LdsCost>(read.error());
    if (!cost) {
      refusal = cost.error();
      return;
    }
    if (cost->conflicts() > allowed)
      return;
    allowed -= cost->conflicts();
    choice.costs.push_back(*cost);
    choice.reads.push_back(*std::move(read));
  }
  Result<LdsStagingPlan> plan = planLdsStaging(layout, request.dmaWaves, model);
  if (!plan) {
    storeRefusal = plan.error();
    return;
  }
  choice.costs.push_back(plan->cost);
  std::tuple rank(choice.conflicts(), layout.bytes(), swizzles);
  if (best && rank >= bestRank)
    return;
  best = std::move(choice);
  bestRank = rank;
}

/// Sets of `count` XORs into different bank positions, from positions above the banks.
void StagedSearch::forEachSwizzles(const StagedArrangement &arrangement, unsigned count,
                                   std::vector<StagedSwizzle> &chosen,
                                   const std::function<void()> &visit) {
  if (count == 0)
    return visit();
  unsigned first = chosen.empty() ? kPieceLog : chosen.back().position + 1;
  for (unsigned position = first; position < std::min<size_t>(bankBits, arrangement.size());
       ++position)
    for (unsigned source = bankBits; source < arrangement.size() && !done(); ++source) {
      chosen.push_back({position, source});
      forEachSwizzles(arrangement, count - 1, chosen, visit);
      chosen.pop_back();
    }
}

void StagedSearch::tryArrangement(const StagedArrangement &arrangement, unsigned swizzles) {
  unsigned total = arrangement.size();
  std::vector<StagedSwizzle> chosen;
  forEachSwizzles(arrangement, swizzles, chosen, [&] {
    LdsTileLayout layout{
        request.rows, request.rowBytes, panelBytes, linear(arrangement, chosen), 1u << total, 0, request.vectors};
    consider(layout, swizzles);
    for (unsigned chunkLog = kPieceLog + 1; chunkLog < total; ++chunkLog)
      for (unsigned padding = 1u << kPieceLog; padding <= request.maxPadding && !done();
           padding *= 2) {
        layout.chunkBytes = 1u << chunkLog;
        layout.padding = padding;
        consider(layout, swizzles);
      }
  });
}

Result<LdsTileChoice> StagedSearch::run() {
  for (const LdsUse &use : request.uses) {
    auto rule = model.find(use.instruction);
    if (rule != model.end())
      bankBits = std::max(bankBits, log2(rule->second.banks * 4));
  }
  for (unsigned swizzles = 0; swizzles <= kMostSwizzles && !done(); ++swizzles)
    for (const StagedArrangement &arrangement : arrangements())
      if (!done())
        tryArrangement(arrangement, swizzles);
  if (best) {
    best->candidates = tried;
    return *std::move(best);
  }
  if (storeRefusal)
    return *storeRefusal;
  if (refusal)
    return *refusal;
  return unsupported("no LDS layout fits a tile of " + std::to_string(request.rows) + " x " +
                     std::to_string(request.rowBytes) + " bytes that passes through registers");
}

Result<LdsTileChoice> hocket::findStagedLdsLayout(const LdsTileRequest &request,
                                                  const LdsBankModel &model) {
  std::string tile =
      std::to_string(request.rows) + " x " + std::to_string(request.rowBytes) + " bytes";
  if (!std::has_single_bit(request.rows) || request.rowBytes == 0 || request.rowBytes % 16 != 0)
    return unsupported("no LDS layout for a tile of " + tile +
                       ": rows must be a power of two and a row a multiple of 16 bytes");
  if (request.uses.empty())
    return invalidInput("LDS tile of " + tile + " has no accesses to choose a layout for");
  for (const LdsUse &use : request.uses)
    if (use.gatheredRows != request.uses.front().gatheredRows)
      return unsupported("LDS tile of " + tile +
                         " is read along its rows and across them, which no layout of a tile that "
                         "passes through registers serves; use a ring for each");
  return StagedSearch(request, model).run();
}
