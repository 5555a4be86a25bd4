// Where the numbers of a fragment lie, and those of its rows and columns: (register, lane) to
// (memory row, memory column), for every layout. The one definition that loads, stores, maps,
// reductions and conversions ask.
//
// A fragment is held in equal *pieces*, one converted value each: an operand or accumulator of one
// matrix instruction, or what 64 lanes of `lines` cover at once. Pieces repeat the same linear map
// at other origins, so that a fragment's sides need not be powers of two.
#pragma once

#include "Tile/IR/Tile.h"
#include "Layout/LinearLayout.h"

namespace hocket::tile {

/// One piece of a layout.
struct PieceMap {
  LinearLayout map;             ///< (register, lane) -> (row, col), of memory
  int64_t registers = 0;        ///< numbers in one lane
  int64_t rows = 0, columns = 0; ///< that the piece covers

  /// What register number `index` adds to a coordinate, and what the lanes reach of it.
  int64_t ofRegister(int64_t index, std::string_view dim) const;
  /// Consecutive registers that hold consecutive columns of a row.
  int64_t run() const;
  /// Whether `dim` (row or col) is the same in all registers of a lane.
  bool isSameInLane(std::string_view dim) const;
};

/// The piece of a layout. `layout` is one that types accept.
PieceMap pieceOf(const RegisterLayout &layout);

/// A memory coordinate, or numbers of pieces along it.
struct RowAndColumn {
  int64_t row = 0, column = 0;
  bool operator==(const RowAndColumn &) const = default;
};

/// A fragment's pieces.
struct FragmentMap {
  explicit FragmentMap(FragType type);

  PieceMap piece;
  RowAndColumn pieces;      ///< how many, along rows and along columns
  bool rowsFirst = false;   ///< whether the next piece is further down the rows, or the columns

  int64_t count() const { return pieces.row * pieces.column; }
  /// Which along rows and columns piece `index` is.
  RowAndColumn place(int64_t index) const;
  /// The memory row and column at which piece `index` begins.
  RowAndColumn origin(int64_t index) const;
};

/// The numbers of `rows` or `columns`: `count` converted values, one for each piece of a fragment
/// along that dimension; each is `registers` numbers in a lane, or a single one where all registers
/// of a piece need the same.
struct VectorMap {
  explicit VectorMap(RowsType type);
  explicit VectorMap(ColumnsType type);

  PieceMap piece;
  std::string_view dim; ///< row or col
  int64_t count = 0;
  bool isScalar = false;

  int64_t numbersOfPiece() const { return dim == dims::Row ? piece.rows : piece.columns; }
  /// (register, lane) -> index, the same for layouts that hold these numbers alike.
  LinearLayout projection() const;
};

/// The types of one number for each row (column) of `frag`.
RowsType rowsOf(FragType frag, mlir::Type elementType);
ColumnsType columnsOf(FragType frag, mlir::Type elementType);

/// Whether two layouts put the same elements into the same registers and lanes.
bool holdAlike(FragType a, FragType b);
/// Whether `vector` is held as fragments like `frag` need it, and has a number for each row (column).
bool fits(RowsType vector, FragType frag);
bool fits(ColumnsType vector, FragType frag);
bool holdAlike(RowsType a, RowsType b);
bool holdAlike(ColumnsType a, ColumnsType b);

} // namespace hocket::tile
