// Where the elements of a map's results lie, and which parts of its inputs belong to them.
#pragma once

#include "Lowering.h"

#include "Tile/IR/FragmentMap.h"

namespace hocket::lowering {

/// The places of a map's results: pieces, and which part of a row or column value each needs.
struct MapPlaces {
  explicit MapPlaces(mlir::Type type) {
    if (auto frag = dyn_cast<tile::FragType>(type)) {
      fragment.emplace(frag);
      piece = fragment->piece;
      count = fragment->count();
      isVector = true;
      return;
    }
    std::optional<tile::VectorMap> vector;
    if (auto rows = dyn_cast<tile::RowsType>(type))
      vector.emplace(rows);
    if (auto columns = dyn_cast<tile::ColumnsType>(type))
      vector.emplace(columns);
    if (!vector)
      return;
    piece = vector->piece;
    count = vector->count;
    isVector = !vector->isScalar;
    only = vector->dim;
  }

  /// Which of the values of `type` belongs to piece `index`.
  int64_t partOf(mlir::Type type, int64_t index) const {
    if (!fragment || isa<tile::FragType>(type))
      return isa<tile::FragType, tile::RowsType, tile::ColumnsType>(type) ? index : 0;
    tile::RowAndColumn place = fragment->place(index);
    if (isa<tile::RowsType>(type))
      return place.row;
    return isa<tile::ColumnsType>(type) ? place.column : 0;
  }

  /// Where piece `index` begins in `dim`.
  int64_t originOf(int64_t index, std::string_view dim) const {
    if (fragment) {
      tile::RowAndColumn origin = fragment->origin(index);
      return dim == dims::Row ? origin.row : origin.column;
    }
    return index * (dim == dims::Row ? piece.rows : piece.columns);
  }

  std::optional<tile::FragmentMap> fragment;
  tile::PieceMap piece;
  int64_t count = 1;
  bool isVector = false; ///< whether a piece is a vector of `piece.registers`
  std::string_view only; ///< of row or column values: their dimension
};

} // namespace hocket::lowering
