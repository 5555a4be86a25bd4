// How a value in registers and a view in memory meet: what loads, stores and atomic additions
// share, for their verifiers and their lowering.
#pragma once

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// The attribute of a `tile.load` in a loop over tiles, of which each element is wanted once: its lanes load whole lines
/// and exchange, since the lines of all waves do not stay in the cache for as many loads as it would take otherwise.
inline constexpr llvm::StringLiteral kWholeLines = "tile.whole_lines";

/// The attribute of a `tile.atomic_add` in a loop over tiles whose view's rows and place are known to begin at whole words
/// and whose place is another in each turn: nobody asks for the former in the kernel, and offsets are made in the turn.
inline constexpr llvm::StringLiteral kWholeWords = "tile.whole_words";

/// The attribute of a `tile.load` or `tile.store` whose rows are known to begin at whole words, as the manifest of its
/// kernel requires, and to have as many columns from the place on as the value has, or the view: nobody asks in the kernel.
inline constexpr llvm::StringLiteral kWholeRows = "tile.whole_rows";

/// The attribute of a `tile.mask` in a loop over tiles in another loop: LLVM would find out in front of both which of the
/// first and last tiles, whose numbers are known, are cut, and keep that in registers.
inline constexpr llvm::StringLiteral kFoundInPlace = "tile.found_in_place";

/// The attribute of a mask whose tile has another number than the loop's, one that rises with it: the numbers of tiles
/// that are left out lie between. Tiles of the loop are as many or more apart by that number, so that what the loop says
/// of those in front of the last is true of them.
inline constexpr llvm::StringLiteral kRisesWithLoop = "tile.rises_with_loop";

/// The attribute of a mask in a loop of which it cuts only some of the first or of the last tiles: code for those lies
/// apart.
inline constexpr llvm::StringLiteral kRarelyCuts = "tile.rarely_cuts";

/// A load, a store or an addition, whichever it is.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Type type; ///< of the value: a fragment, row or column values, or a number
  mlir::TypedValue<ViewType> view;
  mlir::OperandRange indices;
  std::optional<int64_t> along; ///< as written
  /// Where rows count the pairs of two dimensions: the one that a pair's quotient is of, and its remainder's.
  std::optional<std::pair<int64_t, int64_t>> over = {};

  bool isNumber() const { return type.isIntOrFloat(); }
  bool isFragment() const { return mlir::isa<FragType>(type); }
  mlir::Type elementType() const;
  /// The dimension along which memory rows, or the numbers, follow one another.
  int64_t dimension() const;
  /// Whether each of its rows is taken from column 0 on, to the end of what the view has.
  bool takesWholeRows() const {
    int64_t given = indices.size();
    return given == mlir::cast<ViewType>(view.getType()).getRank() - 1;
  }
};

/// The access that `op` is, if it is one.
std::optional<MemoryAccess> memoryAccessOf(mlir::Operation *op);

/// Whether `access` is of the first kind that this dialect had: whole rows of a (batch, row, head,
/// column) view, in the view's element type or rounded to it, as operands or from accumulators.
bool isOfWholeHeadRows(const MemoryAccess &access);

/// The numbers of a value that lanes share, as rows and columns of memory. Each converted value has
/// the numbers of one piece in a lane.
struct AccessShape {
  LinearLayout map;                  ///< (register, lane) -> (row, col)
  int64_t registers = 1;             ///< of a lane in a piece
  bool isScalar = false;             ///< a piece is one number and no vector
  llvm::SmallVector<RowAndColumn> origins; ///< of each piece
  int64_t rows = 1, columns = 1;     ///< of all pieces

  uint64_t ofRegister(int64_t index, std::string_view dim) const;
  /// Consecutive registers that hold consecutive columns, a power of two.
  int64_t run() const;
  /// Lanes that hold copies of what others hold have one of these bits set.
  uint64_t copyBits() const;
};

/// All of a fragment, as rows and columns of memory.
AccessShape shapeOf(FragType fragment);

/// The shape of `access`, of a fragment or of row or column values. Numbers along another dimension
/// than the view's last are rows.
AccessShape shapeOf(const MemoryAccess &access);

} // namespace hocket::tile
