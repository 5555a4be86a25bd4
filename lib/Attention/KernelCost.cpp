// Between the points at which costs are known.
#include "hocket/Attention/KernelCost.h"

#include <algorithm>

using namespace hocket::attention;

const std::vector<double> &CostCurves::of(bool isAlone, bool isFirst) const {
  const std::vector<double> &first = isAlone ? alone : shared, &later = isAlone ? aloneLater : sharedLater;
  return isFirst || later.empty() ? first : later;
}

double KernelCost::atTiles(const std::vector<double> &curve, int64_t count) const {
  auto placeOf = [&](size_t point) { return tiles.empty() ? int64_t(1) << point : tiles[point]; };
  // The segment from point `low` to the next.
  size_t low = 0;
  while (low + 2 < curve.size() && count > placeOf(low + 1))
    ++low;
  const auto from = double(placeOf(low)), to = double(placeOf(low + 1));
  return curve[low] + (curve[low + 1] - curve[low]) * (double(count) - from) / (to - from);
}

/// What is saved where only `share` of the rows are there.
static double savedBy(std::span<const double> curve, int64_t tiles, double share) {
  const size_t part = tiles == 0 ? 2 : tiles == 1 ? 0 : 1;
  if (curve.size() < (part + 1) * kRowShares || share >= 1)
    return 0;
  const std::span<const double> known = curve.subspan(part * kRowShares, kRowShares);
  const double place = share * double(kRowShares);
  const auto low = std::min(static_cast<size_t>(place), kRowShares - 1);
  const double next = low + 1 < kRowShares ? known[low + 1] : 0; // all rows save nothing
  return known[low] + (next - known[low]) * (place - double(low));
}

/// What is added with so many keys of the last tile: `known` at one key, beside half, and at all but one.
static double addedBy(std::span<const double> known, int64_t present, int64_t keys) {
  const int64_t half = keys / 2;
  const bool isUpToHalf = present <= half;
  const int64_t first = isUpToHalf ? 1 : half + 1, last = isUpToHalf ? half - 1 : keys - 1;
  const size_t low = isUpToHalf ? 0 : 2;
  if (last <= first)
    return known[low];
  return known[low] + (known[low + 1] - known[low]) * double(std::min(present, last) - first) / double(last - first);
}

double KernelCost::addedByPart(std::span<const double> curve, const WorkgroupLoad &load) const {
  if (curve.empty() || load.tiles == 0 || load.lastKeys == 0)
    return 0;
  auto added = [&](size_t part) {
    return addedBy(curve.subspan(part * kKeyShares, kKeyShares), load.lastKeys, keys);
  };
  if (load.tiles > 1)
    return added(2);
  constexpr double kFew = 0.25; // of the rows, in the first part
  const double towardsAll = std::clamp((load.rowShare - kFew) / (1 - kFew), 0.0, 1.0);
  return added(0) + (added(1) - added(0)) * towardsAll;
}

double KernelCost::moreThanWhole(bool isAlone, const WorkgroupLoad &load) const {
  return addedByPart(partTile.of(isAlone, load.isFirst), load) -
         savedBy(fewRows.of(isAlone, load.isFirst), load.tiles, load.rowShare);
}

double KernelCost::between(double one, const std::vector<double> &two, const std::vector<double> &all, int64_t count,
                           int64_t together) const {
  const bool knowsTwo = !two.empty() && resident > 2;
  const double from = knowsTwo ? atTiles(two, count) : one;
  const int64_t least = knowsTwo ? 2 : 1;
  return from + (atTiles(all, count) - from) * double(together - least) / double(resident - least);
}

double KernelCost::cyclesOf(const WorkgroupLoad &load, int64_t together) const {
  double sum = atTiles(cycles.of(/*isAlone=*/true, load.isFirst), load.tiles);
  double more = moreThanWhole(/*isAlone=*/true, load);
  if (together > 1 && resident > 1) {
    const std::vector<double> &two = load.isFirst ? pair.cycles : pair.later;
    sum = between(sum, two, cycles.of(/*isAlone=*/false, load.isFirst), load.tiles, together);
    more += (moreThanWhole(/*isAlone=*/false, load) - more) * double(together - 1) / double(resident - 1);
  }
  return std::max(sum + more, 0.0);
}

double KernelCost::shareUnder(std::string_view assignment) const {
  const auto found = std::ranges::find(varied, assignment, &VariedCost::assignment);
  return found == varied.end() ? 1 : found->share;
}

double KernelCost::skewOf(int64_t count, int64_t together) const {
  if (skew.empty() || together <= 1 || resident <= 1)
    return 0;
  // Beyond what is known as at its ends.
  const int64_t least = tiles.empty() ? 1 : tiles.front();
  const int64_t most = tiles.empty() ? int64_t(1) << (skew.size() - 1) : tiles[skew.size() - 1];
  return between(0, pair.skew, skew, std::clamp(count, least, most), together);
}
