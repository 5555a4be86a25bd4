// tile.combine while it is lowered: what the ways of sharing rows and slices among waves have in common.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// A row while slices are folded into it, as each of its lanes sees it.
struct RowState {
  mlir::Value greatest; ///< LSE so far; -inf: no key
  mlir::Value sum;      ///< of the weights, counted from `greatest`
  mlir::Value output;   ///< weighted sum of this lane's elements
};

/// One slice's share of a row.
struct Share {
  mlir::Value lse, output;
};

/// Emits the code of one op.
class CombineEmitter {
public:
  using Adaptor = tile::CombineOp::GenericAdaptor<llvm::ArrayRef<mlir::ValueRange>>;

  CombineEmitter(Emitter &emit, tile::CombineOp op, Adaptor adaptor, const KernelValues &kernel);

  /// Whether the wave has a row at all.
  mlir::Value hasRows();
  void storeOutput(const RowState &state);
  void storeLse(const RowState &state, const ViewValues &lse);

protected:
  static constexpr int64_t kPerLane = tile::CombineOp::kElementsOfLane;
  static constexpr int64_t kWideBytes = 4; ///< of a partial result's elements

  /// `before` and then `shares`, in their order.
  RowState fold(const RowState &before, llvm::ArrayRef<Share> shares);
  RowState nothing();
  /// What scores are counted from: the greatest, or 0 in a row that has seen no key.
  mlir::Value reference(mlir::Value greatest);
  mlir::Value weight(mlir::Value lse, mlir::Value reference);
  mlir::Value spread(mlir::Value scalar) { return emit.splat(scalar, quad); }
  mlir::Value read(mlir::Type type, mlir::Value resource, mlir::Value offset);
  /// The byte offset of this lane's piece in rows of `rowStride` bytes; out of bounds where the row
  /// ends before it.
  mlir::Value pieceOffset(mlir::Value rowStride, int64_t pieceBytes);

  Emitter &emit;
  tile::CombineOp op;
  const KernelValues &kernel;
  ViewValues partial, partialLse, o;
  mlir::Value splits, batch, head, row, lowest;
  /// This lane's row and piece of a row; null where each lane has one, whether there is such a piece.
  mlir::Value laneRow, piece, exists;
  mlir::VectorType quad;
};

/// The rows of a wave, of which it folds all slices.
class RowsCombineEmitter : public CombineEmitter {
public:
  using CombineEmitter::CombineEmitter;
  RowState foldAll();

private:
  /// Where the rows of slice 0 lie, bytes that they have, and bytes from slice to slice.
  struct Slices {
    mlir::Value start, bytes, step;
  };
  Slices outputSlices();
  Slices logSlices();
  Share load(const Slices &outputs, const Slices &logs, mlir::Value slice);
};

/// Rows of a workgroup, each shared by some waves side by side. The lanes that a row leaves have further slices.
class SharedCombineEmitter : public CombineEmitter {
public:
  SharedCombineEmitter(Emitter &emit, tile::CombineOp op, Adaptor adaptor, const KernelValues &kernel);
  /// What this wave's slices are together; of a row that is not there nothing.
  RowState foldOwn();
  /// Leaves what each wave has to the one that stores; all waves meet.
  void handOver(const RowState &own);
  /// Whether the wave stores a row.
  mlir::Value stores();
  /// There: what all slices are together.
  RowState foldWaves();

private:
  /// The row in a view's slices.
  struct Slices {
    mlir::Value start; ///< in the first of a turn
    mlir::Value step;  ///< bytes from slice to slice (i64)
    int64_t bytes;     ///< that the row has
  };
  static constexpr int64_t kQuadBytes = kPerLane * kWideBytes;

  mlir::Value sliceOf(mlir::Value load, mlir::Value group);
  mlir::Value resourceOf(const Slices &slices, mlir::Value count);
  mlir::Value loadLse(const Slices &logs, mlir::Value count);
  llvm::SmallVector<mlir::Value> loadPieces(const Slices &outputs, mlir::Value count);
  RowState foldTurn(const RowState &before, const Slices &outputs, const Slices &logs, mlir::Value left);
  llvm::SmallVector<RowState> readParts();

  const int64_t sharing, ///< waves that have the same row
      ofLoad,            ///< slices that one load of a wave reads
      loads;             ///< of a wave in a turn
  mlir::Value rowWave;     ///< this wave's number among those of its row
  mlir::Value quads, sums; ///< where this lane of wave 0 finds room in LDS
};

} // namespace hocket::lowering
