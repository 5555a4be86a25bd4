// Which queries a backward that holds keys goes through: those from the first to the last that see a key of the workgroup.
#pragma once

#include "Masks.h"

namespace hocket {

class ShownQueries {
public:
  /// Of `mask`; of lists queries are not narrowed, and `inPlace` masks are looked for where they cut.
  ShownQueries(attn::VisibilityAttr mask, bool listed, bool inPlace) : window(mask), listed(listed), inPlace(inPlace) {}

  /// Whether tiles are left out by their numbers.
  bool areNarrowed(const Masks &masks) const { return !listed && (slices || !window.isAll() || masks.any()); }
  /// Of the queries that are shown a workgroup goes through number `slice` of `slices` even slices; not with lists.
  void take(mlir::Value slice, mlir::Value slices) { this->slice = slice, this->slices = slices; }
  /// What a workgroup of the keys from `block` on, and its wave of those from `wave` on, needs; `q` and `k` are views of
  /// the sequence.
  struct Keys {
    mlir::Value block, wave, q, k;
  };
  void measure(const LoopContext &loop, Masks &masks, const Keys &keys);
  /// The first one that is visited, and how many there are from it on.
  mlir::Value first() const { return firstQuery; }
  mlir::Value count() const { return queryCount; }
  void setCount(mlir::Value count) { queryCount = count; }

  /// Whether a side of the window cuts tiles.
  bool areCut() const { return above || diagonal; }
  /// The exponents of tile `t` of queries, -inf where a query does not see a key or is not there.
  mlir::Value mask(ExpansionBuilder &builder, mlir::Value scaled, mlir::Value t) const;
  /// What the loop knows of such tiles, of workgroups of `rows` keys; `hasEnd`: and that queries end.
  llvm::SmallVector<tile::TileCut> cuts(int64_t rows, bool hasEnd) const;

private:
  QueryRange narrowed(const LoopContext &loop, Masks &masks, QueryRange range, const Keys &keys, mlir::Value queries,
                      mlir::Value keyCount) const;
  void narrowToSlice(const LoopContext &loop, QueryRange &range);

  attn::VisibilityAttr window;
  bool listed, inPlace;
  mlir::Value slice, slices; ///< null: all
  mlir::Value firstQuery, queryCount; ///< at the beginning of a tile; how many from there on
  /// Counted from the first: from where on, and up to where, a wave's first key is seen; null: from, or to, any.
  mlir::Value above, diagonal;
};

} // namespace hocket
