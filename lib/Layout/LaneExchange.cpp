// Exchanges of lane bits with register bits.
//
// The layouts that need it only reorder bits, so a plan is a matter of who holds which bit of the
// column: the lowest belong to registers, those above to lanes. Each exchange puts one bit into its
// place and takes none out of it.
#include "Layout/LaneExchange.h"

#include <algorithm>
#include <bit>

using namespace hocket;

namespace {
/// What one bit of a register's or lane's number counts.
struct Meaning {
  bool isColumn = false;
  unsigned bit = 0;
  bool operator==(const Meaning &) const = default;
};

class Planner {
public:
  Planner(const LinearLayout &layout, unsigned runBits, unsigned lineBits,
          std::span<const unsigned> laneBits)
      : runBits(runBits), lineBits(lineBits), laneBits(laneBits) {
    for (auto [name, meanings] : {std::pair(dims::Register, &registers), {dims::Lane, &lanes}})
      for (unsigned bit = 0; bit != layout.inputBits(name); ++bit) {
        uint64_t column = layout.basis(name, bit, dims::Col);
        uint64_t image = column ? column : layout.basis(name, bit, dims::Row);
        meanings->push_back({column != 0, static_cast<unsigned>(std::countr_zero(image))});
      }
  }

  bool run() {
    for (unsigned bit = 0; bit < runBits; ++bit)
      if (!bringToRegisters(bit))
        return false;
    for (unsigned bit = runBits; bit < lineBits && bringToLanes(bit); ++bit)
      ;
    return !exchanges.empty();
  }

  /// Columns first, from the lowest bit, then rows.
  std::vector<unsigned> order() const {
    std::vector<unsigned> order(registers.size());
    for (unsigned bit = 0; bit != order.size(); ++bit)
      order[bit] = bit;
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      const Meaning &left = registers[a], &right = registers[b];
      return left.isColumn != right.isColumn ? left.isColumn : left.bit < right.bit;
    });
    return order;
  }

  std::vector<Meaning> registers, lanes;
  std::vector<LaneExchange> exchanges;

private:
  static constexpr unsigned kNone = ~0u;

  static unsigned find(const std::vector<Meaning> &meanings, Meaning wanted) {
    auto found = std::find(meanings.begin(), meanings.end(), wanted);
    return found == meanings.end() ? kNone : static_cast<unsigned>(found - meanings.begin());
  }

  void exchange(unsigned lane, unsigned reg) {
    std::swap(lanes[lane], registers[reg]);
    exchanges.push_back({lane, reg});
  }

  /// Bit `bit` of the column, which a lane should hold consecutively.
  bool bringToRegisters(unsigned bit) {
    if (find(registers, {true, bit}) != kNone)
      return true;
    unsigned lane = find(lanes, {true, bit}), best = kNone;
    if (lane == kNone || std::find(laneBits.begin(), laneBits.end(), lane) == laneBits.end())
      return false;
    for (unsigned reg = 0; reg != registers.size(); ++reg) {
      const Meaning &held = registers[reg];
      if (held.isColumn && held.bit >= runBits && (best == kNone || held.bit < registers[best].bit))
        best = reg;
    }
    if (best == kNone)
      return false;
    exchange(lane, best);
    return true;
  }

  /// Bit `bit` of the column, which lanes should hold; false if there is none, or no lane for it.
  bool bringToLanes(unsigned bit) {
    if (find(lanes, {true, bit}) != kNone)
      return true;
    unsigned reg = find(registers, {true, bit});
    if (reg == kNone)
      return false;
    for (unsigned lane : laneBits)
      if (lane < lanes.size() && !lanes[lane].isColumn) {
        exchange(lane, reg);
        return true;
      }
    return false;
  }

  unsigned runBits, lineBits;
  std::span<const unsigned> laneBits;
};
} // namespace

static InputBases basesOf(std::string_view name, const std::vector<Meaning> &meanings,
                          const std::vector<unsigned> &order) {
  InputBases bases{std::string(name), {}};
  for (unsigned at : order) {
    const Meaning &meaning = meanings[at];
    bases.bases.push_back({{std::string(meaning.isColumn ? dims::Col : dims::Row),
                            uint64_t(1) << meaning.bit}});
  }
  return bases;
}

unsigned LinePlan::oldRegister(unsigned number) const {
  unsigned old = 0;
  for (size_t bit = 0; bit != order.size(); ++bit)
    old |= (number >> bit & 1) << order[bit];
  return old;
}

std::optional<LinePlan> hocket::planLines(const LinearLayout &layout, unsigned elementBytes,
                                          std::span<const unsigned> laneBits) {
  constexpr unsigned dwordBytes = 4;
  if (!layout.isBitPermutation() || elementBytes == 0 || elementBytes > dwordBytes)
    return std::nullopt;
  for (unsigned bit = 0; elementBytes << bit < dwordBytes; ++bit)
    if (layout.basis(dims::Register, bit, dims::Col) != uint64_t(1) << bit)
      return std::nullopt;
  auto bitsOf = [&](unsigned bytes) {
    return static_cast<unsigned>(std::countr_zero(bytes / elementBytes));
  };
  Planner planner(layout, bitsOf(kWidestAccessBytes), bitsOf(kLineBytes), laneBits);
  if (!planner.run())
    return std::nullopt;
  LinePlan plan;
  plan.exchanges = planner.exchanges;
  plan.order = planner.order();
  std::vector<unsigned> laneOrder(planner.lanes.size());
  for (unsigned bit = 0; bit != laneOrder.size(); ++bit)
    laneOrder[bit] = bit;
  Result<LinearLayout> result = LinearLayout::fromBases(
      {basesOf(dims::Register, planner.registers, plan.order),
       basesOf(dims::Lane, planner.lanes, laneOrder)},
      {{std::string(dims::Row), layout.outputBits(dims::Row)},
       {std::string(dims::Col), layout.outputBits(dims::Col)}});
  if (!result)
    return std::nullopt;
  plan.layout = *std::move(result);
  return plan;
}
