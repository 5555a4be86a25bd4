// How a list of work is laid out (docs/WorkLists.md): what those who make one and kernels that read it agree on.
//
// A list is int32 [entries + 1, kWorkFields]. In front stands how many entries there are, and how many of the first ones
// are slices of keys. An entry is for as many workgroups as there are KV heads.
#pragma once

#include <cstdint>

namespace hocket::attention {

/// Columns of an entry.
enum WorkField : int64_t {
  kWorkSequence, ///< number of the sequence
  /// Of one head the first of its `kWorkRows` queries; of a group of heads the first of `kWorkQueries` items: queries, or
  /// parts of them, of 32 heads each, where a group has more.
  kWorkRow,
  kWorkHead,   ///< which head of the KV head's group, or -1: rows are the heads of the group
  kWorkSlice,  ///< which slice of the keys; of the first how many follow it, negative
  /// How keys are cut; 0 of what is whole. Keys are so many parts, times `kWorkParts`, of which the first slice has as many
  /// as the rest says and one, others `kWorkParts`, and the last what is left. Results of entry i go to place i of the
  /// workspace.
  kWorkCut,
  kWorkEntry,  ///< of line i: the entry that workgroups number i take
  kWorkFields
};
/// Columns of what stands in front.
enum WorkHeader : int64_t { kWorkCount, kWorkSliceCount };

/// Waves of the workgroups, and what they work on.
inline constexpr int64_t kWorkWaves = 4, kWorkRows = 128, kWorkQueries = 4, kWorkHeadsOfPart = 32;
/// Keys that work is counted in.
inline constexpr int64_t kWorkKeys = 64;
/// Parts of a slice that is neither an item's first nor its last.
inline constexpr unsigned kWorkPartBits = 6;
inline constexpr int64_t kWorkParts = 1 << kWorkPartBits;
/// What an entry takes beside its tiles, as so many of them; and the fewest tiles that a slot is to have.
inline constexpr int64_t kWorkEntryTiles = 5, kWorkLeastSegment = 8;
/// So many times the longest entry, a slot's share makes cutting needless; and the largest share that is told from
/// others: no entry is as long as an eighth of it.
inline constexpr int64_t kWorkFine = 8, kWorkMostShare = int64_t(1) << 27;

/// How many slices there are of what is cut so.
constexpr int64_t workSlices(int64_t cut) {
  int64_t behindFirst = cut / kWorkParts - cut % kWorkParts - 1;
  return behindFirst > 0 ? 1 + (behindFirst + kWorkParts - 1) / kWorkParts : 1;
}

} // namespace hocket::attention
