// Who works on what: the rows, head and batch of a workgroup and a wave, and with split KV the
// slice of the keys.
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
  };

  WorkPartition(const Options &options, mlir::Value splits) : options(options), splits(splits) {}

  bool isSplit() const { return splits != nullptr; }
  int64_t blockRows() const { return options.waves * kWaveRows; }

  /// The workgroup's place in the grid, which `view` (batch, row, head) spans, and the wave's in
  /// it.
  /// `rowCount`: rows of each batch in the grid; null: those of `view`. `laterRowsSeeMore`: so that
  /// their workgroups start first.
  void place(ExpansionBuilder &builder, mlir::Value view, mlir::Value rowCount,
             bool laterRowsSeeMore);
  /// Leaves of K and V what this workgroup works on: of the `tiles` that hold a key which some row
  /// sees, from number `first` on (null: from 0), a slice's share; none has more than one tile more than
  /// another. Returns its first key.
  mlir::Value takeSlice(ExpansionBuilder &builder, Visibility &visibility, mlir::Value first,
                        mlir::Value tiles, mlir::Value &k, mlir::Value &v);
  /// How many tiles hold the keys up to `end`.
  mlir::Value tilesUpTo(ExpansionBuilder &builder, mlir::Value end) const;
  /// `end`, or 0 where the workgroup's rows lie behind the last of the `rows` that there are.
  mlir::Value unlessBehind(ExpansionBuilder &builder, mlir::Value rows, mlir::Value end) const;

  mlir::Value batch, head;
  /// The batch of what is written: with split KV there is one for each slice of each batch.
  mlir::Value outputBatch;
  mlir::Value blockRow, row; ///< the first of the workgroup's rows and of the wave's

private:
  Options options;
  mlir::Value splits, slice;
};

} // namespace hocket
