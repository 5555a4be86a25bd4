// tile.reduce: one number for each row or column; tile.running_sum: up to each row.
//
// First what a lane holds: pieces element by element, where LLVM finds packed instructions, then
// the registers of a piece; then across the lanes that hold the same row or column (CrossLane.h).
// The order depends on the type alone.
#include "Combiner.h"
#include "CrossLane.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
struct ReducePattern : TilePattern<tile::ReduceOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tile::ReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Type source = op.getSource().getType(), result = op.getResult().getType();
    Combiner combine(emit, op.getKind(), tile::elementTypeOf(source));
    std::string_view dim = op.getOver() == tile::Dimension::Rows ? dims::Row : dims::Col;
    const tile::PieceMap piece = pieceOf(source);
    uint64_t lanes = 0;
    for (unsigned bit = 0; bit != piece.map.inputBits(dims::Lane); ++bit)
      lanes |= uint64_t(piece.map.basis(dims::Lane, bit, dim) != 0) << bit;

    SmallVector<Value> results;
    for (ArrayRef<int64_t> group : groups(op, adaptor.getSource().size())) {
      Value value;
      for (int64_t index : group) {
        Value part = combine.widen(adaptor.getSource()[index]);
        value = value ? combine(value, part) : part;
      }
      // A row (column) is one number where all registers of a piece are of it.
      if (!piece.isSameInLane(dim) || piece.registers == 1)
        value = combine.fold(value);
      value = acrossLanes(emit, state.of(op), combine, value, lanes, tile::elementTypeOf(result));
      results.push_back(isa<FloatType, IntegerType>(result) ? asNumber(emit, value) : value);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  static tile::PieceMap pieceOf(Type type) {
    if (auto frag = dyn_cast<tile::FragType>(type))
      return tile::pieceOf(frag.getRegisterLayout());
    if (auto rows = dyn_cast<tile::RowsType>(type))
      return tile::pieceOf(rows.getRegisterLayout());
    return tile::pieceOf(cast<tile::ColumnsType>(type).getRegisterLayout());
  }

  /// The pieces that become one value of the result, in order, for each of them.
  static SmallVector<SmallVector<int64_t>> groups(tile::ReduceOp op, int64_t pieces) {
    auto frag = dyn_cast<tile::FragType>(op.getSource().getType());
    if (!frag)
      return {llvm::to_vector(llvm::seq<int64_t>(pieces))};
    tile::FragmentMap map(frag);
    bool keepsRows = op.getOver() == tile::Dimension::Columns;
    SmallVector<SmallVector<int64_t>> groups(keepsRows ? map.pieces.row : map.pieces.column);
    for (int64_t index = 0; index != pieces; ++index) {
      tile::RowAndColumn place = map.place(index);
      groups[keepsRows ? place.row : place.column].push_back(index);
    }
    return groups;
  }

  /// Each register on its own.
  static Value acrossLanes(Emitter &emit, const KernelValues &kernel, const Combiner &combine,
                           Value value, uint64_t lanes, Type element) {
    auto complete = [&](Value number) {
      return combine.finish(combineLanes(emit, kernel, number, lanes, combine), element);
    };
    auto vector = dyn_cast<VectorType>(value.getType());
    if (!vector)
      return complete(value);
    SmallVector<Value> numbers;
    for (int64_t i = 0; i != vector.getNumElements(); ++i)
      numbers.push_back(complete(emit.element(value, i)));
    return vector::FromElementsOp::create(emit, VectorType::get(vector.getShape(), element),
                                          numbers);
  }

  /// All lanes hold it: what is uniform may be in a scalar register.
  static Value asNumber(Emitter &emit, Value value) {
    return value.getType().getIntOrFloatBitWidth() == 32 ? emit.uniform(value) : value;
  }
};

struct RunningSumPattern : TilePattern<tile::RunningSumOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tile::RunningSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value piece = adaptor.getSource().front();
    auto vector = dyn_cast<VectorType>(piece.getType());
    Value sum = sumUpToLane(emit, vector ? emit.element(piece, 0) : piece);
    if (vector)
      sum = vector::FromElementsOp::create(emit, vector, sum);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange(sum)});
    return success();
  }
};
} // namespace

void hocket::lowering::populateReducePatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<ReducePattern, RunningSumPattern>(converter, patterns.getContext(), state);
}
