// Who works on what: the rows, head and batch of a workgroup and a wave, and with split KV the
// slice of the keys.
//
// A wave has 32 rows: queries of one head, or, with `group_rows`, pairs of a query and one of the heads that share K and
// V, the heads of a query one after the other. The grid then counts pairs. Entries of a list of work may have the heads
// of one query for a wave's rows instead.
#pragma once

#include "ModificationProgram.h"
#include "Visibility.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// In which order workgroups get blocks of rows.
struct BlockOrdering {
  attn::BlockOrder order = attn::BlockOrder::HeavyFirst;
  int64_t xcds = 1; ///< of the chip
};

/// The workgroup's block of `rows` of `view`; `rowCount`: rows of each batch in the grid; null: those of `view`. Later
/// rows start first where they see more.
tile::BlockIdOp createBlockId(ExpansionBuilder &builder, const BlockOrdering &ordering, mlir::Value view, int64_t rows,
                              mlir::Value rowCount, bool laterRowsSeeMore);

class WorkPartition {
public:
  struct Options {
    int64_t waves = 0, kvTile = 0;
    BlockOrdering ordering;
    bool groupRows = false;
    /// What workgroups work on is in a list; `mixed`: rows may be the heads of a group, as an entry says.
    bool listed = false, mixed = false;
  };

  WorkPartition(const Options &options, mlir::Value splits) : options(options), splits(splits) {}

  bool isSplit() const { return splits != nullptr; }
  int64_t blockRows() const { return queriesOfBlock(options.waves, /*areHeads=*/false); }
  /// How many queries a workgroup works on at most; `areHeads`: a wave has those of one, as entries of lists may say.
  static int64_t queriesOfBlock(int64_t waves, bool areHeads) {
    return areHeads ? waves : waves * kWaveRows;
  }
  /// Whether an entry of a list may be of one head's rows or of a group's.
  static bool isMixed(attn::ForwardOp op) { return op.getWorkList() && !op.getDropout(); }
  /// Whether query and head are numbers of each row.
  static bool hasRowPlaces(attn::ForwardOp op) { return isMixed(op) || op.getGroupRows(); }
  /// What a kernel takes to find its place.
  static void addArguments(KernelFrame &frame, attn::ForwardOp op);
  /// What the grid of a kernel with `group_rows` counts: batch (and slice), pairs of a group, KV heads.
  static Tensor groupGrid(bool isSplit);

  /// The workgroup's place in the grid, which `view` (batch, row, head) spans, and the wave's in
  /// it.
  /// `rowCount`: rows of each batch in the grid; null: those of `view`. `laterRowsSeeMore`: so that
  /// their workgroups start first.
  void place(ExpansionBuilder &builder, mlir::Value view, mlir::Value rowCount,
             bool laterRowsSeeMore);
  /// Takes the block of rows from `blockRow` on instead.
  void moveToRow(ExpansionBuilder &builder, mlir::Value blockRow);
  /// The same with `group_rows`: `grid` is the argument for `groupGrid`.
  void placeGroups(ExpansionBuilder &builder, mlir::Value grid, mlir::Value q, mlir::Value k,
                   bool laterRowsSeeMore);
  /// The same from a list: `list` is the argument for `listTensor`, `slices` whether entries may be slices of keys.
  void placeEntry(ExpansionBuilder &builder, mlir::Value list, mlir::Value q, mlir::Value k, bool slices);
  static Tensor listTensor();
  /// What an entry says about how keys are cut: parts of them, of the first slice, and slices; all of them 1 at least,
  /// whatever it says.
  struct ListedCut {
    mlir::Value parts, first, slices;
  };
  static ListedCut readCut(ExpansionBuilder &builder, mlir::Value cut);
  /// Of a workgroup whose rows are heads, from its first item (a query, or a part of its group's heads) on: its first
  /// query, and of item `item` the query and the heads.
  struct GroupPlace {
    mlir::Value blockQuery, query, firstHead, headCount;
  };
  static GroupPlace placeInGroup(ExpansionBuilder &builder, mlir::Value firstItem,
                                 llvm::function_ref<mlir::Value()> item, mlir::Value group, mlir::Value kvHead);
  /// Where results of slices of listed work go: O of each row of an entry's place, and its LSE.
  static Tensor listedPartial(), listedPartialLse();
  /// Bytes of both, a manifest expression.
  static llvm::StringRef listedPartialBytes();
  /// The KV head that serves the wave.
  mlir::Value kvHead(ExpansionBuilder &builder, mlir::Value q, mlir::Value k) const;
  /// The wave's rows of `q` as `type`; its rows of O and of LSE into their views.
  mlir::Value load(ExpansionBuilder &builder, mlir::Type type, mlir::Value q) const;
  void store(ExpansionBuilder &builder, mlir::Value output, mlir::Value o) const;
  void storeLse(ExpansionBuilder &builder, mlir::Value values, mlir::Value lse) const;
  /// The same of a slice of listed work, of which `o` has the rows.
  void storeSlice(ExpansionBuilder &builder, mlir::Value output, mlir::Value lse, mlir::Value o, mlir::Value partial,
                  mlir::Value partialLse) const;
  /// Some of the keys: the first tile and key of them, and how many keys and tiles there may be.
  struct Slice {
    mlir::Value firstTile, firstKey, size, tiles = {};
  };
  /// What this workgroup works on: of the `tiles` that hold a key which some row sees, from number `first` on (null:
  /// from 0), a slice's share; none has more than one tile more than another.
  Slice sliceOf(ExpansionBuilder &builder, mlir::Value first, mlir::Value tiles) const;
  /// How many tiles hold the keys up to `end`.
  mlir::Value tilesUpTo(ExpansionBuilder &builder, mlir::Value end) const;
  /// `end`, or 0 where the workgroup's rows lie behind the last of the `rows` that there are.
  mlir::Value unlessBehind(ExpansionBuilder &builder, mlir::Value rows, mlir::Value end) const;

  mlir::Value batch, head;
  /// Whether the wave's rows are heads (i1); null: as `Options::groupRows` says. Whether the entry is one of several
  /// slices (i1), and its number; null without slices of listed work.
  mlir::Value isGroup, isSlice, entry;
  /// The batch of what is written: with split KV there is one for each slice of each batch.
  mlir::Value outputBatch;
  mlir::Value blockRow, row; ///< the first of the workgroup's queries and of the wave's
  /// How many queries the wave, and the workgroup, has.
  mlir::Value waveQueries(ExpansionBuilder &builder) const;
  mlir::Value blockQueries(ExpansionBuilder &builder) const;
  /// Whether `rowPlaces` says where the wave's rows are.
  bool hasRowPlaces() const { return isGroup || options.groupRows; }
  RowPlaces rowPlaces(ExpansionBuilder &builder) const;
  /// From here on nothing is stored but by the first of the waves, which `wave` counts.
  void leaveToFirst(ExpansionBuilder &builder, mlir::Value wave);
  /// One number for each of the wave's rows, from `view` (heads): of all if they are of one head.
  mlir::Value loadOfHeads(ExpansionBuilder &builder, mlir::Value view) const;
  /// `logits`, f32, of what all slices of the keys have in common: of the others than the first -inf, so that it counts
  /// once.
  mlir::Value ofFirstSlice(ExpansionBuilder &builder, mlir::Value logits) const;

private:
  void takeSliceNumber(ExpansionBuilder &builder);
  mlir::Value tilesBefore(ExpansionBuilder &builder, mlir::Value part, mlir::Value tiles) const;
  mlir::Value queries(ExpansionBuilder &builder, int64_t waves) const;
  /// The query, or head, of each of the wave's pairs.
  mlir::Value numbersOfPairs(ExpansionBuilder &builder, bool areHeads) const;
  mlir::Value queriesOfPairs(ExpansionBuilder &builder, mlir::Value first, int64_t count) const;
  static void storeAt(ExpansionBuilder &builder, mlir::Value output, mlir::Value rows);
  static void storeLseAt(ExpansionBuilder &builder, mlir::Value values, mlir::Value rows);
  /// The wave's rows of a view (batch, query, head, element) or (batch, head, query), from row 0 of the result on.
  mlir::Value rowsAlong(ExpansionBuilder &builder, mlir::Value view) const;
  /// The heads of the group: a view of `view` without its batch.
  mlir::Value headsOf(ExpansionBuilder &builder, mlir::Value view, mlir::Value batch, int64_t ofHeads) const;
  /// The same of what is written: no query's where the wave stores nothing.
  mlir::Value writtenHeadsOf(ExpansionBuilder &builder, mlir::Value view, int64_t ofQueries, int64_t ofHeads) const;

  Options options;
  /// Into how many parts keys are cut, the first of them that is the workgroup's, and of a list, whose slices are several
  /// parts each, the one behind its last.
  mlir::Value splits, slice, sliceEnd;
  mlir::Value listedKvHead, rowCount; ///< of an entry; how many rows a wave has at most
  mlir::Value never;                  ///< i1
  mlir::Value firstHead; ///< of the wave, where its rows are heads or pairs
  /// With `group_rows`: the group's heads, the first pair of the workgroup and of the wave, and of how many queries the
  /// wave stores results (null: of all).
  mlir::Value groupHeads, blockPair, pair, storedQueries;
};

} // namespace hocket
