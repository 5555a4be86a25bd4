// Block lists: which blocks of keys a block of queries sees, as data. The layout is PyTorch's BlockMask: partial blocks,
// in which masks count, and full ones, in which they do not.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"
#include "ListedOrder.h"
#include "TileVisit.h"

namespace hocket {

/// What lists are of: for each block of queries blocks of keys, or the other way round.
enum class ListsOf { Keys, Queries };

/// The four tensors of lists of blocks of `queries` queries and `keys` keys, of which those of full blocks may be empty
/// (`full_blocks` is 0).
class BlockListTensors {
public:
  BlockListTensors(int64_t queries, int64_t keys, ListsOf of = ListsOf::Keys) : queries(queries), keys(keys), of(of) {}
  /// `batch`, `heads`: the extents, as expressions.
  void addArguments(KernelFrame &frame, llvm::StringRef batch, llvm::StringRef heads) const;
  /// "kv_num_blocks", "full_q_num_blocks"; "kv_indices".
  static std::string counts(ListsOf of, bool full);
  static std::string indices(ListsOf of, bool full);

private:
  int64_t queries, keys;
  ListsOf of;
};

class BlockLists {
public:
  /// Queries and keys of a block, and keys of a tile, which divide those of a block; of lists of queries everything
  /// that is said of keys is said of queries, and the other way round.
  BlockLists(int64_t queries, int64_t keys, int64_t kvTile, ListsOf of = ListsOf::Keys)
      : tensors(queries, keys, of), of(of), queries(of == ListsOf::Keys ? queries : keys),
        keys(of == ListsOf::Keys ? keys : queries), tilesOfBlock(this->keys / kvTile) {}

  /// What the kernel takes: "kv_num_blocks", "kv_indices", and "full_kv_num_blocks", "full_kv_indices", which may be
  /// empty (`full_blocks` is 0); "q_num_blocks" and so on.
  void addArguments(KernelFrame &frame) const;
  void bindArguments(const KernelFrame &frame);
  /// How many blocks the lists have, once arguments are bound.
  BlockCounts blockCounts(ExpansionBuilder &builder) const;
  /// In front of the loop: how many tiles there are in the lists of the workgroup whose first query is `row`, of
  /// `keyCount` keys.
  mlir::Value prepare(ExpansionBuilder &builder, mlir::Value batch, mlir::Value head, mlir::Value row,
                      mlir::Value keyCount);
  /// From here on the tile that is visited as number 0 is the one that was number `tiles`.
  void skip(mlir::Value tiles) { skipped = tiles; }
  /// The number of the block in which the tile lies that is visited as number `t`; where there is none, any.
  mlir::Value lookUp(ExpansionBuilder &builder, mlir::Value t) const;
  /// The number of that tile, whose block is `block`.
  mlir::Value number(ExpansionBuilder &builder, mlir::Value block, mlir::Value t) const;
  /// Whether masks count (i1) in the tile that is visited as number `t`.
  mlir::Value isPartial(ExpansionBuilder &builder, mlir::Value t) const;
  /// Whether (i1) a block is not one of those whose keys all exist.
  mlir::Value isBehindWhole(ExpansionBuilder &builder, mlir::Value block) const;

private:
  struct List {
    mlir::Value counts, indices, count;
    mlir::Value entries; ///< those of the workgroup
  };
  /// The number in all of the lists of the tile that is visited as number `t`.
  mlir::Value inLists(ExpansionBuilder &builder, mlir::Value t) const;
  /// Of the entry that names the block of the tile that is visited as number `t`.
  mlir::Value placeOf(ExpansionBuilder &builder, mlir::Value t) const;

  BlockListTensors tensors;
  ListsOf of;
  int64_t queries, keys, tilesOfBlock;
  List partial, full;
  mlir::Value wholeBlocks;
  mlir::Value skipped; ///< tiles in front of those of the slice; null: none
};

/// The tiles that lists name, whose block is looked up with the fetch of the tile before. `prepare` was called.
class ListedTiles : public TileVisit {
public:
  explicit ListedTiles(const BlockLists &lists) : lists(lists) {}
  mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const override { return lists.number(builder, block, t); }
  bool isInOrder() const override { return false; }
  llvm::SmallVector<mlir::Value> first(ExpansionBuilder &builder) const override {
    return {lists.lookUp(builder, builder.constant(int64_t(0)))};
  }
  llvm::SmallVector<mlir::Value> next(ExpansionBuilder &builder, mlir::Value t) const override {
    return {lists.lookUp(builder, mlir::arith::AddIOp::create(builder, t, builder.constant(int64_t(1))))};
  }
  void enter(mlir::ValueRange carried) override { block = carried.front(); }
  /// The block that was entered.
  mlir::Value ofTile() const { return block; }
  bool isListed() const override { return true; }
  mlir::Value countsMasks(ExpansionBuilder &builder, mlir::Value t) const override { return lists.isPartial(builder, t); }
  mlir::Value mayEnd(ExpansionBuilder &builder) const override { return lists.isBehindWhole(builder, block); }

private:
  const BlockLists &lists;
  mlir::Value block;
};

} // namespace hocket
