// Places in views and elements of buffers: what loads, stores and additions share.
#pragma once

#include "LineStores.h"
#include "Lowering.h"

#include "Tile/IR/MemoryAccess.h"

#include <map>

namespace hocket::lowering {

/// Whether each of `indices` (i32, one for every dimension) lies in the view.
mlir::Value placeExists(Emitter &emit, const ViewValues &view,
                        mlir::ArrayRef<mlir::Value> indices);
/// Where the element at `indices` (i32, one for every dimension) lies.
mlir::Value placeAddress(Emitter &emit, const ViewValues &view,
                         mlir::ArrayRef<mlir::Value> indices);

/// `count` consecutive elements of a lane, up to 16 bytes, from byte `offset` + `step` of
/// `resource`: one element, or a vector.
mlir::Value loadElements(Emitter &emit, mlir::Type element, int64_t count, mlir::Value resource,
                         mlir::Value offset, mlir::Value step);
/// Stores one element or a vector of them, up to 16 bytes.
void storeElements(Emitter &emit, mlir::Value value, mlir::Value resource, mlir::Value offset,
                   mlir::Value step);
/// Adds an f32, or a pair of 16-bit numbers that lies at a multiple of 4 bytes.
void addElements(Emitter &emit, mlir::Value value, mlir::Value resource, mlir::Value offset,
                 mlir::Value step);
/// A pair of 16-bit numbers that adds `value` where the element at byte `offset` lies in its four
/// bytes, and nothing beside it.
mlir::Value pairWith(Emitter &emit, mlir::Value value, mlir::Value offset);
/// An error if the kernel's chip cannot add numbers of type `element` in memory.
mlir::LogicalResult verifyAdds(tile::AtomicAddOp op, const ArchInfo &arch);

/// One or several elements `from` as elements `to`, which are wider (narrower) or the same.
mlir::Value widenElements(Emitter &emit, mlir::Value value, mlir::Type from, mlir::Type to);
mlir::Value narrowElements(Emitter &emit, mlir::Value value, mlir::Type from, mlir::Type to);

/// Consecutive elements of each lane that are accessed at once.
struct Run {
  size_t piece;
  int64_t first, count; ///< registers
  mlir::Value offset, step;   ///< in bytes: of the lane, and of the wave
};

/// Whether a descriptor begins at the place, or at the four bytes that it lies in and ends with
/// whole ones, as additions of pairs need it. `Aligned`: it does both, and nobody asks. `WholeRows`: loads and stores of
/// rows of which nobody asks, either (tile::kWholeRows).
enum class Words { AsTheyLie, Whole, Aligned, WholeRows };

/// Whether wide accesses take what lanes hold as it lies, or rearranged into lines; or all do.
enum class Gather { No, Lines, LinesOnly };

/// Which of the two ways of accessing everything is being emitted.
enum class Width { Wide, ByElement };

/// Where rows that count the pairs of two dimensions lie (`over` of a `tile.load`), in bytes from the first pair's slow place.
class RowPairs {
public:
  /// From pair number `first` on, of views whose dimensions `slow` and `fast` have these extents and strides (i32 and i64,
  /// bytes).
  RowPairs(Emitter &emit, mlir::Value first, std::pair<mlir::Value, mlir::Value> extents,
           std::pair<mlir::Value, mlir::Value> strides);

  mlir::Value firstSlow() const { return slowPlace; }
  /// Bytes from the first place to the beginning of the last of `rows` pairs, at most (i64).
  mlir::Value span(Emitter &emit, int64_t rows) const;
  /// Bits that some row's offset has.
  mlir::Value strideBits(Emitter &emit) const;
  /// The offsets of rows `laneRow` + each of `steps`, or offsets that are out of bounds where there are none. A lane divides
  /// once, and goes on from there.
  llvm::SmallVector<mlir::Value> offsets(Emitter &emit, mlir::Value laneRow, mlir::ArrayRef<int64_t> steps) const;
  /// From here on lanes for which `condition` (i1) does not hold have no rows.
  void only(mlir::Value condition) { counts = condition; }

private:
  /// Of the pair of a number: which of the fast places it is, and where it lies from the first pair's slow place on.
  struct Place {
    mlir::Value fast, offset;
  };
  Place placeOf(Emitter &emit, mlir::Value number) const;
  /// Of the pair `rows` numbers behind that of `place`.
  Place placeBehind(Emitter &emit, const Place &place, int64_t rows) const;
  mlir::Value bytesTo(Emitter &emit, mlir::Value slow, mlir::Value fast) const;

  mlir::Value perSlow, slowPlace, fastPlace, left; ///< i32
  std::pair<mlir::Value, mlir::Value> strides;     ///< i64
  mlir::Value counts;
};

/// What one access is made of, as code.
class AccessEmitter {
public:
  AccessEmitter(Emitter &emit, const KernelValues &kernel, const tile::MemoryAccess &access,
                mlir::ValueRange viewValues, mlir::ArrayRef<mlir::ValueRange> indexValues,
                Words words = Words::AsTheyLie, Gather gather = Gather::No);

  /// Lanes that hold copies of what others hold access nothing.
  void excludeCopies();
  /// Keeps what is added to a lane's offset in the turn of a loop that `place` (i32) is of, where it is part of the
  /// accesses: LLVM would take the sums out of the loop, and keep a register for each.
  void holdOffsets(mlir::Value place);
  /// What `emitRuns` makes of all runs, in wide accesses, element by element, or both, of which the
  /// wave takes one. The results of both have the types `results`.
  mlir::SmallVector<mlir::Value>
  emitRuns(mlir::TypeRange results,
           llvm::function_ref<mlir::SmallVector<mlir::Value>(mlir::ArrayRef<Run>, Width)> emitRuns);
  /// Vectors of `element` for the pieces that runs of `width` name.
  mlir::SmallVector<mlir::Type> piecesOf(Width width, mlir::Type element) const;
  /// The same where they are not the lanes' own, and else nothing; and what such pieces are in the lanes' own order.
  mlir::SmallVector<mlir::Type> linePieces(Width width, mlir::Type element) const;
  mlir::SmallVector<mlir::Value> fromLines(mlir::ValueRange pieces) const;
  /// `pieces` as runs of `width` name them.
  mlir::SmallVector<mlir::Value> piecesFor(Width width, mlir::ValueRange pieces) const;

  const tile::AccessShape shape;
  mlir::Value resource;
  /// At most so many elements at once; a power of two.
  int64_t widest;

private:
  /// Where a lane begins, in bytes and in columns (i32).
  struct LanePlace {
    mlir::Value offset, column;
  };
  const tile::AccessShape &shapeFor(Width width) const {
    return lines && (linesOnly || width == Width::Wide) ? lines->shape() : shape;
  }
  LanePlace lanePlace(const tile::AccessShape &shape) const;
  void describe(const ViewValues &view, mlir::ArrayRef<mlir::Value> indices, int64_t along);
  void describePairs(const ViewValues &view, mlir::ArrayRef<mlir::Value> indices, std::pair<int64_t, int64_t> over);
  std::tuple<mlir::Value, mlir::Value, mlir::Value> inWholeWords(mlir::Value address,
                                                                 mlir::Value bytes);
  mlir::Value wideCondition(mlir::Value address) const;
  mlir::SmallVector<Run> runs(Width width);
  /// The offset of each row of `shape`, where rows count pairs.
  std::map<int64_t, mlir::Value> pairOffsets(const tile::AccessShape &shape) const;
  mlir::Value within(const LanePlace &lane, mlir::Value offset, int64_t column, int64_t count,
                     Width width);

  Emitter &emit;
  const KernelValues &kernel;
  tile::ViewType viewType;
  int64_t elementBytes;
  Words words;
  std::optional<LineStores> lines;
  bool linesOnly = false;
  /// Columns from the place on that the view is known to have, at most the shape's; or unknown.
  std::optional<int64_t> knownColumns;
  mlir::Value rowStride;   ///< i32, bytes; of pairs, bits of their offsets
  std::optional<RowPairs> pairs; ///< where rows count those
  LanePlace own;           ///< of what lanes hold as it lies
  mlir::Value columnsLeft; ///< i32, from the place on
  mlir::Value isWide;      ///< i1: wide accesses will do; null if they always do
};

/// Loads of numbers of 4 bytes from views that nothing in `kernel` writes.
llvm::DenseSet<mlir::Operation *> findConstantLoads(tile::KernelOp kernel);

} // namespace hocket::lowering
