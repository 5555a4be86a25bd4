// Who works on what: the rows, head and batch of a workgroup and a wave, and with split KV the
// slice of the keys.
//
// A wave has 32 rows: of the queries of one head, or, with `group_rows`, of the heads that share K and V, of one
// query. Then the items that the grid counts are queries, or parts of them where a group has more heads than a wave
// has rows; nothing outside of this file knows which.
#pragma once

#include "Visibility.h"

#include "Attn/IR/Attn.h"

namespace hocket {

class WorkPartition {
public:
  struct Options {
    int64_t waves = 0, kvTile = 0;
    attn::BlockOrder order = attn::BlockOrder::HeavyFirst;
    int64_t xcds = 1;
    bool groupRows = false;
  };

  WorkPartition(const Options &options, mlir::Value splits) : options(options), splits(splits) {}

  bool isSplit() const { return splits != nullptr; }
  int64_t blockRows() const { return queriesOfBlock(options.waves, options.groupRows); }
  /// How many queries a workgroup works on at most.
  static int64_t queriesOfBlock(int64_t waves, bool groupRows) {
    return groupRows ? waves : waves * kWaveRows;
  }
  /// What the grid of a kernel with `group_rows` counts: batch (and slice), items, KV heads.
  static Tensor groupGrid(bool isSplit);

  /// The workgroup's place in the grid, which `view` (batch, row, head) spans, and the wave's in
  /// it.
  /// `rowCount`: rows of each batch in the grid; null: those of `view`. `laterRowsSeeMore`: so that
  /// their workgroups start first.
  void place(ExpansionBuilder &builder, mlir::Value view, mlir::Value rowCount,
             bool laterRowsSeeMore);
  /// The same with `group_rows`: `grid` is the argument for `groupGrid`.
  void placeGroups(ExpansionBuilder &builder, mlir::Value grid, mlir::Value q, mlir::Value k,
                   bool laterRowsSeeMore);
  /// The KV head that serves the wave.
  mlir::Value kvHead(ExpansionBuilder &builder, mlir::Value q, mlir::Value k) const;
  /// The wave's rows of `q` as `type`; its rows of O and of LSE into their views.
  mlir::Value load(ExpansionBuilder &builder, mlir::Type type, mlir::Value q) const;
  void store(ExpansionBuilder &builder, mlir::Value output, mlir::Value o) const;
  void storeLse(ExpansionBuilder &builder, mlir::Value values, mlir::Value lse) const;
  /// Some of the keys: the first tile and key of them, and how many keys there may be.
  struct Slice {
    mlir::Value firstTile, firstKey, size;
  };
  /// What this workgroup works on: of the `tiles` that hold a key which some row sees, from number `first` on (null:
  /// from 0), a slice's share; none has more than one tile more than another.
  Slice sliceOf(ExpansionBuilder &builder, mlir::Value first, mlir::Value tiles) const;
  /// How many tiles hold the keys up to `end`.
  mlir::Value tilesUpTo(ExpansionBuilder &builder, mlir::Value end) const;
  /// `end`, or 0 where the workgroup's rows lie behind the last of the `rows` that there are.
  mlir::Value unlessBehind(ExpansionBuilder &builder, mlir::Value rows, mlir::Value end) const;

  mlir::Value batch, head;
  /// The batch of what is written: with split KV there is one for each slice of each batch.
  mlir::Value outputBatch;
  mlir::Value blockRow, row; ///< the first of the workgroup's queries and of the wave's
  /// What the wave's rows count from: its first query, or head; and what they share: its head, or query.
  mlir::Value firstOfRows() const { return options.groupRows ? firstHead : row; }
  mlir::Value common() const { return options.groupRows ? row : head; }
  int64_t waveQueries() const { return options.groupRows ? 1 : kWaveRows; }
  /// One number for each of the wave's rows, from `view` (heads): of all if they are of one head.
  mlir::Value loadOfHeads(ExpansionBuilder &builder, mlir::Value view) const;

private:
  void takeSliceNumber(ExpansionBuilder &builder);
  /// The heads of the wave of one query: a view (head, element) of `view` (batch, query, head, element).
  mlir::Value headsOf(ExpansionBuilder &builder, mlir::Value view, mlir::Value batch) const;

  Options options;
  mlir::Value splits, slice;
  mlir::Value firstHead, headCount; ///< of the wave, with `group_rows`
};

} // namespace hocket
