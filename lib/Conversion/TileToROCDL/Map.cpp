// tile.map: a region applied to every element, piece by piece.
//
// A piece is one converted value, so its elements are computed as one vector, in which LLVM finds
// packed instructions. What is the same in all registers of a piece (numbers, rows of most layouts,
// what is computed of them alone) stays a scalar; what several pieces share, LLVM computes once.
#include "RegionEmitter.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// The places of a map's results: pieces, and which part of a row or column value each needs.
struct Places {
  explicit Places(Type type) {
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
  int64_t partOf(Type type, int64_t index) const {
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

/// One coordinate of each element: what the lane and the origin say is added once.
class Coordinate {
public:
  Coordinate(Emitter &emit, const Places &places, std::string_view dim, Value lane, Value origin)
      : emit(emit), places(places), dim(dim) {
    if (!places.only.empty() && places.only != dim)
      return;
    base = emit.linear(places.piece.map, dims::Lane, dim, lane);
    if (origin)
      base = emit.add(base, origin);
  }

  Value ofPiece(int64_t index) const {
    if (!base)
      return emit.i32(0);
    int64_t first = places.originOf(index, dim);
    if (places.piece.isSameInLane(dim))
      return emit.add(base, emit.i32(first));
    SmallVector<int32_t> steps;
    for (int64_t reg = 0; reg != places.piece.registers; ++reg)
      steps.push_back(static_cast<int32_t>(first + places.piece.ofRegister(reg, dim)));
    auto type = VectorType::get({places.piece.registers}, emit.getI32Type());
    Value offsets =
        arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
    return emit.add(emit.splat(base, type), offsets);
  }

private:
  Emitter &emit;
  const Places &places;
  std::string_view dim;
  Value base; ///< none: the dimension means nothing
};

struct MapPattern : TilePattern<tile::MapOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Places places(op.getResultTypes().front());
    auto first = [](ValueRange range) { return range.empty() ? Value() : range.front(); };
    std::optional<Coordinate> row, column;
    if (op.getCoordinates()) {
      Value lane = state.of(op).lane;
      row.emplace(emit, places, dims::Row, lane, first(adaptor.getRowOrigin()));
      column.emplace(emit, places, dims::Col, lane, first(adaptor.getColumnOrigin()));
    }
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    for (int64_t index = 0; index != places.count; ++index) {
      RegionEmitter region(emit, places.piece.registers);
      for (auto [element, input, values] :
           llvm::zip_equal(op.getElements(), op.getInputs(), adaptor.getInputs()))
        region.bind(element, values[places.partOf(input.getType(), index)]);
      if (row) {
        region.bind(op.getRowArgument(), row->ofPiece(index));
        region.bind(op.getColumnArgument(), column->ofPiece(index));
      }
      region.emitOps(op.getBody().front());
      for (auto [result, yielded] : llvm::zip_equal(results, op.getYielded())) {
        Value value = region.valueOf(yielded);
        result.push_back(places.isVector ? region.spread(value) : value);
      }
    }
    SmallVector<ValueRange> ranges(results.begin(), results.end());
    rewriter.replaceOpWithMultiple(op, ranges);
    return success();
  }
};
} // namespace

void hocket::lowering::populateMapPatterns(const TypeConverter &converter,
                                           RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<MapPattern>(converter, patterns.getContext(), state);
}
