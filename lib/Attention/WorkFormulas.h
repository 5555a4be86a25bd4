// What a list of work is computed by, once for the host (WorkList.cpp) and once for the kernel that makes lists
// (lib/Conversion/AttnToTile/MakeWorkList.cpp): arithmetic is a parameter. The host's computes, the kernel's writes the
// instructions that will. Both make the same list, so numbers stay within 32 bits wherever they decide something.
//
// `Arithmetic` has the types `Number`, `Condition` and `Scale`, and add, sub, mul, min, max, less, both, pick, constant,
// floorShift and ceilShift (by powers of two), ceilDivide (of what is at most 2^24), scale and scaled (by a power of two,
// rounded down), and productUpTo: a product of what is at most 2^24, or a bound where it is not below that.
#pragma once

#include "hocket/Attention/WorkItem.h"

#include <array>
#include <iterator>

namespace hocket::attention {

inline constexpr unsigned kWorkKeysBits = 6, kWorkRowsBits = 7;
static_assert(kWorkKeys == 1 << kWorkKeysBits && kWorkRows == 1 << kWorkRowsBits);

/// More tiles than any sequence has: a limit that cuts nothing.
inline constexpr int64_t kNoWorkLimit = int64_t(1) << 24;
/// What a slot gets is told in 513 to so many units; what takes three times as long as those is as bad as any.
inline constexpr unsigned kWorkUnitBits = 10;
inline constexpr int64_t kWorkLongest = int64_t(3) << kWorkUnitBits;
/// More slices than there is ever room for; kMostWorkSlots * 5 in WorkList.cpp are fewer.
inline constexpr int64_t kWorkTooManySlices = int64_t(1) << 20;
/// Fine cuts are tried at so many parts of a slot's share of 1024, behind coarse ones at the share or half of it; each with
/// as many boundaries between what is cut coarsely and what is cut finely.
struct WorkFineness {
  int64_t halves, part;
};
inline constexpr WorkFineness kWorkFinenesses[] = {{1, 181}, {1, 91},  {2, 369}, {2, 256},
                                                   {2, 181}, {2, 128}, {2, 91},  {2, 64}};
inline constexpr unsigned kWorkBoundaryBits = 3, kWorkFinenessBits = 3;
inline constexpr int64_t kWorkCuts = int64_t(1) << (kWorkBoundaryBits + kWorkFinenessBits);
static_assert(std::size(kWorkFinenesses) == 1 << kWorkFinenessBits);
/// Where one sequence is far longer than others: cut at the share, while all below this part of it is short.
inline constexpr int64_t kWorkShortPart = 480;
/// Rounds of the slots that are told apart.
inline constexpr int64_t kWorkMostRounds = 4;

/// The entries of one sequence: `items`, each of `copies` entries (heads of a KV head's group that have rows of their own).
template <typename Arithmetic> struct SequenceWork {
  using Number = typename Arithmetic::Number;
  using Condition = typename Arithmetic::Condition;

  Number items, copies, queries, keys;
  Number reach;      ///< tiles that rows of an item see at most, as far as masks of fixed width say
  Condition grouped; ///< rows are heads of a group
  bool causal;

  /// Tiles that hold a key which some row of an item sees.
  Number tiles(Arithmetic &a, Number item) const {
    if (!causal)
      return tilesTo(a, keys);
    Number behind = a.mul(a.add(item, a.constant(1)), a.constant(kWorkRows));
    Number end = a.sub(a.add(a.min(queries, behind), keys), queries);
    end = a.min(a.max(end, a.constant(0)), keys);
    return tilesTo(a, a.pick(grouped, keys, end));
  }
  Number mostTiles(Arithmetic &a) const {
    Number last = a.sub(items, a.constant(1));
    return a.pick(a.less(last, a.constant(0)), a.constant(0), tiles(a, last));
  }
  /// How many items take more than so many tiles: the last ones.
  Number itemsAbove(Arithmetic &a, Number tiles) const {
    Number zero = a.constant(0), limit = a.mul(tiles, a.constant(kWorkKeys)), above = items;
    if (causal) {
      Number hidden = a.max(a.sub(a.add(limit, queries), keys), zero);
      Number blocks = a.floorShift(hidden, kWorkRowsBits);
      above = a.pick(grouped, items, a.sub(items, a.min(blocks, items)));
    }
    return a.pick(a.both(a.less(limit, keys), a.less(tiles, reach)), above, zero);
  }
  Number slices(Arithmetic &a, Number limit) const { return a.ceilDivide(mostTiles(a), limit); }

private:
  Number tilesTo(Arithmetic &a, Number end) const { return a.min(a.ceilShift(end, kWorkKeysBits), reach); }
};

/// Which work is cut: of sequences in front of `boundary` items of more than `coarse` tiles, of others those of more than
/// `fine`. What is longer than `fine` takes whole rounds of the slots; what is not fills what they leave.
template <typename Arithmetic> struct WorkCut {
  using Number = typename Arithmetic::Number;

  Number boundary, coarse, fine;

  Number limitOf(Arithmetic &a, Number sequence) const { return a.pick(a.less(sequence, boundary), coarse, fine); }
};

/// By what tiles become units, where each slot would get `share` of them.
template <typename Arithmetic>
typename Arithmetic::Scale workScale(Arithmetic &a, typename Arithmetic::Number share) {
  typename Arithmetic::Scale scale = a.scale(1);
  for (int64_t unit = 2, most = int64_t(1) << kWorkUnitBits; most < kWorkMostShare; unit *= 2, most *= 2)
    scale = a.pick(a.less(a.constant(most), share), a.scale(1.0f / static_cast<float>(unit)), scale);
  return scale;
}

/// The cut with this number, 0 to `kWorkCuts` - 1; each slot would get `share` tiles. The first one cuts nothing and takes
/// all for short, the second cuts at the share.
template <typename Arithmetic>
WorkCut<Arithmetic> workCut(Arithmetic &a, typename Arithmetic::Number number, typename Arithmetic::Number batch,
                            typename Arithmetic::Number share) {
  using Number = typename Arithmetic::Number;
  Number zero = a.constant(0), none = a.constant(kNoWorkLimit);
  Number place = a.floorShift(number, kWorkFinenessBits);
  Number fineness = a.sub(number, a.mul(place, a.constant(1 << kWorkFinenessBits)));
  Number part = a.constant(kWorkFinenesses[0].part), halves = a.constant(kWorkFinenesses[0].halves);
  for (int64_t i = 1; i != std::size(kWorkFinenesses); ++i) {
    auto isBefore = a.less(fineness, a.constant(i));
    part = a.pick(isBefore, part, a.constant(kWorkFinenesses[i].part));
    halves = a.pick(isBefore, halves, a.constant(kWorkFinenesses[i].halves));
  }
  auto isFirst = a.less(number, a.constant(1)), isSecond = a.less(number, a.constant(2));
  part = a.pick(isSecond, a.constant(kWorkShortPart), part), halves = a.pick(isSecond, a.constant(2), halves);
  auto limit = [&](Number tiles) { return a.min(a.max(tiles, a.constant(kWorkLeastSlice)), none); };
  // share * part / 1024, in two parts, of which neither leaves 32 bits.
  Number high = a.floorShift(share, 10), low = a.sub(share, a.mul(high, a.constant(1024)));
  Number fine = a.add(a.mul(high, part), a.floorShift(a.mul(low, part), 10));
  fine = limit(a.sub(fine, a.constant(kWorkEntryTiles)));
  Number coarse = a.max(limit(a.floorShift(a.mul(share, halves), 1)), fine);
  Number boundary = a.floorShift(a.mul(batch, a.add(place, a.constant(1))), kWorkBoundaryBits);
  return {a.pick(isFirst, zero, a.pick(isSecond, batch, boundary)), a.pick(isFirst, none, coarse),
          a.pick(isFirst, none, fine)};
}

/// What sequences are with a cut, summed over some of them or the longest of them.
template <typename Arithmetic> struct WorkSums {
  using Number = typename Arithmetic::Number;

  Number slices, longEntries, shortEntries; ///< entries that are slices, those that are longer than `fine`, and others
  Number twiceWork;                         ///< of all, twice, in units
  Number longest, longestFine;

  static constexpr size_t kNumbers = 6, kAdded = 4; ///< the first ones are sums, the others maxima
  std::array<Number, kNumbers> numbers() const { return {slices, longEntries, shortEntries, twiceWork, longest, longestFine}; }
  static WorkSums of(const std::array<Number, kNumbers> &n) { return {n[0], n[1], n[2], n[3], n[4], n[5]}; }

  /// With the sequence of this number.
  WorkSums with(Arithmetic &a, const SequenceWork<Arithmetic> &work, Number sequence, const WorkCut<Arithmetic> &cut,
                typename Arithmetic::Scale scale) const {
    Number zero = a.constant(0), one = a.constant(1), entry = a.constant(kWorkEntryTiles);
    Number limit = cut.limitOf(a, sequence), cutItems = work.itemsAbove(a, limit), most = work.mostTiles(a);
    Number whole = a.sub(work.items, cutItems), shortItems = a.sub(work.items, work.itemsAbove(a, cut.fine));
    Number pieces = a.max(a.ceilDivide(most, limit), one), piece = a.ceilDivide(most, pieces);
    Number own = a.productUpTo(a.mul(work.copies, cutItems), pieces, kWorkTooManySlices);
    auto isCut = a.less(zero, cutItems), isLong = a.less(cut.fine, piece), hasLong = a.less(shortItems, whole);
    Number lastWhole = work.tiles(a, a.sub(whole, one)), lastShort = work.tiles(a, a.sub(shortItems, one));
    Number ofPiece = a.pick(isCut, a.add(piece, entry), zero);
    Number ofLong = a.max(a.pick(hasLong, a.add(lastWhole, entry), zero), a.pick(isLong, ofPiece, zero));
    Number ofShort = a.max(a.pick(a.less(zero, shortItems), a.add(lastShort, entry), zero), a.pick(isLong, zero, ofPiece));
    Number ends = a.add(a.scaled(a.add(work.tiles(a, zero), entry), scale), a.scaled(a.add(lastWhole, entry), scale));
    Number twice = a.mul(a.mul(work.copies, whole), ends);
    Number twiceCut = a.mul(a.mul(own, a.constant(2)), a.scaled(a.add(piece, entry), scale));
    Number longWhole = a.mul(work.copies, a.max(a.sub(whole, shortItems), zero));
    Number shortWhole = a.mul(work.copies, a.min(whole, shortItems));
    return {a.min(a.add(slices, own), a.constant(kWorkTooManySlices)),
            a.add(longEntries, a.add(longWhole, a.pick(isLong, own, zero))),
            a.add(shortEntries, a.add(shortWhole, a.pick(isLong, zero, own))), a.add(twiceWork, a.add(twice, twiceCut)),
            a.max(longest, ofLong), a.max(longestFine, ofShort)};
  }
};

/// When the last slot is expected to end, in units times twice the slots: as late as can be where slices have no room, or
/// long entries take too many rounds.
///
/// Long entries end with their rounds. Short ones fill what is left, so that slots differ by one of them at most; three
/// quarters of it were found to choose well (docs/notes/2026-11-24-serving.md). If they make rounds of the slots without a
/// long one, they end with those at the latest.
template <typename Arithmetic>
typename Arithmetic::Number expectedEnd(Arithmetic &a, const WorkSums<Arithmetic> &sums, typename Arithmetic::Number kvHeads,
                                        typename Arithmetic::Number slots, typename Arithmetic::Number parts,
                                        typename Arithmetic::Scale scale) {
  using Number = typename Arithmetic::Number;
  Number most = a.constant(kWorkLongest), one = a.constant(1), two = a.constant(2), zero = a.constant(0);
  Number longWork = a.mul(sums.longEntries, kvHeads), shortWork = a.mul(sums.shortEntries, kvHeads);
  Number left = a.max(a.sub(slots, longWork), zero), rounds = one, ofRounds = slots, shortRounds = one, ofShort = left;
  for (int64_t more = 1; more != kWorkMostRounds; ++more) {
    rounds = a.add(rounds, a.pick(a.less(ofRounds, longWork), one, zero));
    shortRounds = a.add(shortRounds, a.pick(a.less(ofShort, shortWork), one, zero));
    ofRounds = a.add(ofRounds, slots), ofShort = a.add(ofShort, left);
  }
  auto ends = [&](Number number, Number tiles) {
    return a.mul(number, a.mul(slots, a.min(a.scaled(tiles, scale), most)));
  };
  Number last = a.floorShift(ends(a.constant(3), sums.longestFine), 1);
  Number filled = a.add(a.mul(sums.twiceWork, kvHeads), last);
  Number apart = a.pick(a.less(ofShort, shortWork), a.constant(INT32_MAX), ends(a.mul(shortRounds, two), sums.longestFine));
  filled = a.min(filled, apart);
  Number ofLong = ends(a.mul(rounds, two), sums.longest);
  auto isPossible = a.both(a.less(sums.slices, a.add(parts, one)), a.less(longWork, a.add(ofRounds, one)));
  return a.pick(isPossible, a.max(ofLong, filled), a.constant(INT32_MAX));
}

} // namespace hocket::attention
