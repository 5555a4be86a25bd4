// Fragments rearranged in registers so that their stores, or loads, touch whole lines of memory.
#pragma once

#include "Lowering.h"

#include "Tile/IR/MemoryAccess.h"
#include "Layout/LaneExchange.h"

namespace hocket::lowering {

/// How the pieces of a fragment become others, of the same elements, whose stores are up to 16 bytes
/// a lane, with lanes side by side along a row up to a line; or stay as they are where that gains
/// nothing.
class LineStores {
public:
  LineStores(const tile::AccessShape &shape, int64_t elementBytes);

  /// The new pieces.
  const tile::AccessShape &shape() const { return lines; }
  /// Elements of one store.
  int64_t run() const { return perStore; }
  /// Whether lanes exchange anything.
  bool rearranges() const { return exchanges.has_value(); }
  /// The values of the new pieces, of those of the old ones: vectors of the view's elements.
  llvm::SmallVector<mlir::Value> gather(Emitter &emit, const KernelValues &kernel,
                                        mlir::ValueRange pieces) const;

  /// The other way: the values of the old pieces, of those of the new ones.
  llvm::SmallVector<mlir::Value> scatter(Emitter &emit, const KernelValues &kernel,
                                         mlir::ValueRange pieces) const;

  /// One instruction: dwords (one or a vector), and the row and column of the wave's first lane.
  struct Store {
    mlir::Value words;
    int64_t row = 0, column = 0;
  };
  /// Each piece's stores stand behind its exchanges, so that it need not wait for the others'.
  void forEachStore(Emitter &emit, const KernelValues &kernel, mlir::ValueRange pieces,
                    llvm::function_ref<void(const Store &)> store) const;
  /// The values of the new pieces, loaded: `load` gives the elements of one instruction, at the row and column of the
  /// wave's first lane.
  llvm::SmallVector<mlir::Value> loadPieces(Emitter &emit, mlir::Type element,
                                            llvm::function_ref<mlir::Value(tile::RowAndColumn)> load) const;
  /// What a lane adds to the offset of a store, and to where it is in its row, in bytes (i32).
  struct LanePlace {
    mlir::Value offset, byte;
  };
  LanePlace lanePlace(Emitter &emit, const KernelValues &kernel, mlir::Value rowStride) const;
  /// The same of `lane`, the lane's number.
  LanePlace placeOf(Emitter &emit, mlir::Value lane, mlir::Value rowStride) const;

private:
  void plan(const tile::AccessShape &shape);
  mlir::Value gatherOne(Emitter &emit, const KernelValues &kernel, mlir::ValueRange pieces,
                        size_t index) const;
  llvm::SmallVector<mlir::Value> wordsOf(Emitter &emit, mlir::Value piece) const;

  tile::AccessShape lines;
  int64_t elementBytes, perStore = 1;
  std::optional<LinePlan> exchanges;
  llvm::SmallVector<llvm::SmallVector<int64_t>> sources; ///< the old pieces of each new one
};

} // namespace hocket::lowering
