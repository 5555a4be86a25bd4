// Tiles whose rows lie in pages: where each lane finds the rows that it brings.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// Where things lie in a head's part of a page: rows of elements one behind the other, or vectors (TileVectors).
class PagePlaces {
public:
  explicit PagePlaces(tile::RingOp ring);

  /// Row `slot` (i32); `stride` (i32, bytes) is from row to row where there are no vectors.
  mlir::Value ofRow(Emitter &emit, mlir::Value slot, mlir::Value stride) const;
  /// Byte `byte` of a row, from the row's place on; of sums without carries the sum.
  int64_t ofByte(int64_t byte) const;
  mlir::Value ofByte(Emitter &emit, mlir::Value byte) const;
  /// Bytes of it in all.
  mlir::Value bytes(Emitter &emit, mlir::Value stride) const;
  /// The first row of a vector with `row` in it.
  mlir::Value vectorOf(Emitter &emit, mlir::Value row) const;

private:
  TileVectors vectors = TileVectors::None;
  int64_t vectorRows() const { return tile::kVectorBytes / elementBytes; }
  int64_t pageRows = 0, rowBytes = 0, elementBytes = 0;
};

/// The pool of pages of a ring: begins with the head's first row of page 0, ends with its last one of the last page.
mlir::Value poolResource(Emitter &emit, tile::RingOp ring, const RingValues &values);

/// One tile of a ring with pages.
class PagedTile {
public:
  /// `tile` is its number in the sequence (i32), `pages` what was looked up for it.
  PagedTile(Emitter &emit, const KernelValues &kernel, tile::RingOp ring, const RingValues &values,
            mlir::Value tile, mlir::ValueRange pages);

  /// The byte offset in the pool of row `row` + `step` of the tile, for each lane; the two have no bits in common. It is
  /// an i32, beyond the pool where there is no such row, or of a far ring an i64, which is one of the pool's rows.
  mlir::Value offset(Emitter &emit, mlir::Value row, int64_t step);

private:
  /// By step, of one `row`.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> known;
  /// Of row i, of each 64, in lane i.
  llvm::SmallVector<mlir::Value> rows;
};

} // namespace hocket::lowering
