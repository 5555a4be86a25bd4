// What a list of work is computed by, once for the host (WorkList.cpp) and once for the kernel that makes lists
// (lib/Conversion/AttnToTile/MakeWorkList.cpp): arithmetic is a parameter. The host's computes, the kernel's writes the
// instructions that will. Both make the same list, so numbers stay within 32 bits wherever they decide something.
//
// `Arithmetic` has the types `Number`, `Condition` and `Scale`, and add, sub, mul, min, max, less, both, pick, constant,
// floorShift and ceilShift (by powers of two), lowBits, floorDivide (not in lanes), quotient (rounded down, of what is
// at most 2^20); and of f32 scale (a constant), fraction (a number and one divided by
// another), inverse (a constant by one) and scaled (a product, rounded down). Sums and products may lose what does not fit in
// 32 bits where only lower bits are asked for.
#pragma once

#include "hocket/Grid/WorkItem.h"

namespace hocket::attention {

inline constexpr unsigned kWorkKeysBits = 6, kWorkRowsBits = 7;
static_assert(kWorkKeys == 1 << kWorkKeysBits && kWorkRows == 1 << kWorkRowsBits);

/// More tiles than any sequence has: a limit that cuts nothing.
inline constexpr int64_t kNoWorkLimit = int64_t(1) << 24;
/// Where work lies on the line is told in so many units for each segment, of which all bits but those are dropped.
inline constexpr unsigned kWorkPlaceBits = 14;
static_assert(kWorkPlaceBits > kWorkPartBits);

/// All items lie on a line, one sequence's behind another's, each with its tiles and what an entry takes. The line has a
/// segment for each slot, as long as what each gets; where one ends and another begins a sequence's only item is cut, to a
/// part of a segment. Items of other sequences are cut into whole segments where they are longer than one.
///
/// So an end is in two slices at most, and in none but for an only item's. Of other items there are, of M tiles at most and
/// segments of R, M / R + 1.5 slices each, and M / 2 tiles on the line: five for each segment.
///
/// Entries are ordered by their distance from their segment's end, the farthest first: a slot that has worked up to a place
/// of its segment takes what begins there, and all end together. Items that are not cut at ends count as if they ended with
/// one, so that they are in order by their tiles; where there is no line, everything is.
template <typename Arithmetic> struct WorkLine {
  using Number = typename Arithmetic::Number;
  using Scale = typename Arithmetic::Scale;

  Number segment; ///< tiles, rounded up; none where nothing is cut
  Scale places;   ///< by what tiles become units of the line

  /// Each slot gets `share` tiles, and `rest` / `of` of one.
  static WorkLine of(Arithmetic &a, Number share, Number rest, Number of) {
    Number one = a.constant(1), zero = a.constant(0), least = a.constant(kWorkLeastSegment);
    Number rounded = a.add(share, a.pick(a.less(zero, rest), one, zero));
    Scale exact = a.pick(a.less(share, least), a.scale(kWorkLeastSegment), a.fraction(share, rest, of));
    return {a.max(rounded, least), a.inverse(1 << kWorkPlaceBits, exact)};
  }
  static WorkLine none(Arithmetic &a) { return {a.constant(0), a.scale(0)}; }

  /// Units of the line.
  Number placesOf(Arithmetic &a, Number tiles) const { return a.scaled(tiles, places); }
  /// Parts of a segment, to the nearest one.
  static Number partsOf(Arithmetic &a, Number places) {
    constexpr unsigned bits = kWorkPlaceBits - kWorkPartBits;
    return a.floorShift(a.add(places, a.constant(1 << (bits - 1))), bits);
  }
  /// The tiles of so many parts, at most those of a segment; no more than any sequence has.
  Number tilesOf(Arithmetic &a, Number parts) const {
    Number high = a.floorShift(segment, kWorkPartBits), low = a.sub(segment, a.mul(high, a.constant(kWorkParts)));
    Number tiles = a.add(a.mul(parts, high), a.floorShift(a.mul(parts, low), kWorkPartBits));
    return a.min(tiles, a.constant(kNoWorkLimit));
  }
};

/// How items of a sequence are cut: the last `items` of it, each into `pieces` of together `parts`: `first`, then as many as
/// a segment has, and what is left. An only item `isAlone`, cut or not, and goes up to a segment's end in `first` parts.
template <typename Arithmetic> struct WorkCut {
  using Number = typename Arithmetic::Number;

  Number items, pieces, parts, first;
  typename Arithmetic::Condition isAlone;

  /// As an entry says it.
  Number number(Arithmetic &a) const {
    Number shape = a.add(a.mul(parts, a.constant(kWorkParts)), a.sub(first, a.constant(1)));
    return a.pick(a.less(a.constant(1), pieces), shape, a.constant(0));
  }
};

/// The entries of one sequence: `items`, each of `copies` entries (heads of a KV head's group that have rows of their own).
template <typename Arithmetic> struct SequenceWork {
  using Number = typename Arithmetic::Number;
  using Condition = typename Arithmetic::Condition;

  Number items, copies, queries, keys;
  /// Where rows are heads, so many items follow one another that are taken for alike, and have so many queries at most.
  Number alikeItems, alikeQueries;
  Number reach;      ///< tiles that rows of an item see at most, as far as masks of fixed width say
  Condition grouped; ///< rows are heads of a group
  bool causal;

  /// Tiles that hold a key which some row of an item sees, or of those that are taken for alike; of the first item; of the
  /// last one, if there is one.
  Number tiles(Arithmetic &a, Number item) const {
    Number one = a.constant(1), alike = a.mul(a.add(a.floorDivide(item, alikeItems), one), alikeQueries);
    return tilesUpTo(a, alike, a.mul(a.add(item, one), a.constant(kWorkRows)));
  }
  Number firstTiles(Arithmetic &a) const { return tilesUpTo(a, alikeQueries, a.constant(kWorkRows)); }
  Number mostTiles(Arithmetic &a) const {
    return a.pick(a.less(a.constant(0), items), tilesTo(a, keys), a.constant(0));
  }
  /// How many items take more than so many tiles: the last ones.
  Number itemsAbove(Arithmetic &a, Number tiles) const {
    Number zero = a.constant(0), limit = a.mul(tiles, a.constant(kWorkKeys)), above = items;
    if (causal) {
      Number hidden = a.min(a.max(a.sub(a.add(limit, queries), keys), zero), queries);
      Number alike = a.mul(a.quotient(a.pick(areAllAlike(a), zero, hidden), alikeQueries), alikeItems);
      above = a.sub(items, a.min(a.pick(grouped, alike, a.floorShift(hidden, kWorkRowsBits)), items));
    }
    return a.pick(a.both(a.less(limit, keys), a.less(tiles, reach)), above, zero);
  }
  /// By how much the line is longer for it, in units of which all but the lower bits may be lost.
  Number onLine(Arithmetic &a, const WorkLine<Arithmetic> &line) const {
    auto entry = [&](Number tiles) { return line.placesOf(a, a.add(tiles, a.constant(kWorkEntryTiles))); };
    Number ends = a.add(entry(firstTiles(a)), entry(mostTiles(a)));
    return a.mul(a.mul(copies, items), a.floorShift(ends, 1));
  }
  /// How it is cut where it begins at this `place` of the line.
  WorkCut<Arithmetic> cut(Arithmetic &a, const WorkLine<Arithmetic> &line, Number place) const {
    Number zero = a.constant(0), one = a.constant(1), whole = a.constant(kWorkParts);
    auto isAlone = a.both(a.less(zero, line.segment), a.less(a.mul(items, copies), a.constant(2)));
    Number start = a.lowBits(a.add(place, line.placesOf(a, a.constant(kWorkEntryTiles))), kWorkPlaceBits);
    start = a.pick(isAlone, start, zero);
    Number end = line.partsOf(a, a.add(start, line.placesOf(a, mostTiles(a)))), begin = line.partsOf(a, start);
    Number parts = a.max(a.sub(end, begin), one);
    // Where it begins in the half part in front of a segment it begins with that.
    Number first = a.sub(whole, a.lowBits(begin, kWorkPartBits));
    Number pieces = a.add(a.ceilShift(a.max(a.sub(parts, first), zero), kWorkPartBits), one);
    Number longItems = itemsAbove(a, a.min(line.segment, a.constant(kNoWorkLimit)));
    Number cutItems = a.pick(a.less(one, pieces), a.pick(isAlone, items, longItems), zero);
    return {cutItems, pieces, parts, first, isAlone};
  }
  /// Twice what an entry takes on average.
  Number twiceMean(Arithmetic &a) const {
    return a.add(a.add(firstTiles(a), mostTiles(a)), a.constant(2 * kWorkEntryTiles));
  }

private:
  /// Of items up to this query: `alike` where rows are heads, else `rows`.
  Number tilesUpTo(Arithmetic &a, Number alike, Number rows) const {
    if (!causal)
      return tilesTo(a, keys);
    Number behind = a.pick(grouped, a.pick(areAllAlike(a), queries, alike), rows);
    Number end = a.sub(a.add(a.min(queries, behind), keys), queries);
    return tilesTo(a, a.min(a.max(end, a.constant(0)), keys));
  }
  /// Quotients of more are not exact in f32.
  Condition areAllAlike(Arithmetic &a) const { return a.less(a.constant(int64_t(1) << 20), queries); }
  Number tilesTo(Arithmetic &a, Number end) const { return a.min(a.ceilShift(end, kWorkKeysBits), reach); }
};

} // namespace hocket::attention
