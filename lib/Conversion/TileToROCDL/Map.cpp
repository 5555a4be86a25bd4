// tile.map: a region applied to every element, piece by piece.
//
// Elements are computed two at a time, in which LLVM finds packed instructions, from the first op to
// the last: op by op for a whole piece would keep the intermediates of all its elements in registers.
// What is the same in all registers of a piece (numbers, rows of most layouts, what is computed of them
// alone) stays a scalar; what several pieces share, LLVM computes once.
#include "MapPlaces.h"
#include "RegionEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// One coordinate of each element: what the lane and the origin say is added once.
class Coordinate {
public:
  Coordinate(Emitter &emit, const MapPlaces &places, std::string_view dim, Value lane, Value origin)
      : emit(emit), places(places), dim(dim) {
    if (!places.only.empty() && places.only != dim)
      return;
    base = emit.linear(places.piece.map, dims::Lane, dim, lane);
    if (origin)
      base = emit.add(base, origin);
  }

  /// Of the `size` elements from `start` on of piece `index`.
  Value ofGroup(int64_t index, int64_t start, int64_t size) const {
    if (!base)
      return emit.i32(0);
    int64_t first = places.originOf(index, dim);
    if (places.piece.isSameInLane(dim))
      return emit.add(base, emit.i32(first));
    SmallVector<int32_t> steps;
    for (int64_t reg = start; reg != start + size; ++reg)
      steps.push_back(static_cast<int32_t>(first + places.piece.ofRegister(reg, dim)));
    auto type = VectorType::get({size}, emit.getI32Type());
    Value offsets =
        arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
    return emit.add(emit.splat(base, type), offsets);
  }

  /// What the lane and the origin say; null: nothing.
  Value ofLane() const { return base; }
  /// What element `reg` of piece `index` adds to it.
  int64_t step(int64_t index, int64_t reg) const {
    return base ? places.originOf(index, dim) + places.piece.ofRegister(reg, dim) : 0;
  }

private:
  Emitter &emit;
  const MapPlaces &places;
  std::string_view dim;
  Value base; ///< none: the dimension means nothing
};

/// A sum of coordinates and numbers: what is the same for all elements of a lane, and how often each coordinate is in it.
struct PlaceSum {
  Value ofLane; ///< i32; null: 0
  int64_t rows = 0, columns = 0;
};

/// Conversions to f32 of sums of coordinates. A lane converts once; what its elements add are constants, which f32 adds
/// exactly up to 2^24.
class PlaceConversions {
public:
  /// `numbers`: what the region's arguments are that are numbers.
  PlaceConversions(Emitter &emit, tile::MapOp op, const Coordinate &row, const Coordinate &column,
                   const llvm::DenseMap<Value, Value> &numbers)
      : emit(emit), row(row), column(column) {
    sums[op.getRowArgument()] = {row.ofLane(), 1, 0};
    sums[op.getColumnArgument()] = {column.ofLane(), 0, 1};
    for (auto [argument, value] : numbers)
      sums[argument] = {value, 0, 0};
    for (Operation &inner : op.getBody().front().without_terminator())
      note(inner);
  }

  /// Binds the conversions for the `size` elements from `start` on of piece `index`.
  void bind(RegionEmitter &region, int64_t index, int64_t start, int64_t size) const {
    for (const Conversion &conversion : conversions) {
      SmallVector<float> steps;
      for (int64_t reg = start; reg != start + size; ++reg)
        steps.push_back(static_cast<float>(conversion.rows * row.step(index, reg) +
                                           conversion.columns * column.step(index, reg)));
      auto type = VectorType::get({size}, emit.getF32Type());
      Value constants =
          arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<float>(steps)));
      region.bind(conversion.result,
                  arith::AddFOp::create(emit, emit.splat(conversion.ofLane, type), constants));
    }
  }

private:
  struct Conversion {
    Value result, ofLane; ///< of the region; f32
    int64_t rows, columns;
  };

  void note(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && op.getResult(0).getType().isInteger(32)) {
      sums[op.getResult(0)] = {arith::ConstantOp::create(emit, constant.getValue()), 0, 0};
      return;
    }
    if (isa<arith::AddIOp, arith::SubIOp>(op) && op.getResult(0).getType().isInteger(32))
      return add(op, isa<arith::AddIOp>(op) ? 1 : -1);
    auto found = isa<arith::SIToFPOp>(op) ? sums.find(op.getOperand(0)) : sums.end();
    if (found == sums.end() || !op.getResult(0).getType().isF32())
      return;
    const PlaceSum &sum = found->second;
    if (!sum.ofLane || (sum.rows == 0 && sum.columns == 0))
      return;
    Value converted = arith::SIToFPOp::create(emit, emit.getF32Type(), sum.ofLane);
    conversions.push_back({op.getResult(0), converted, sum.rows, sum.columns});
  }

  void add(Operation &op, int64_t sign) {
    auto a = sums.find(op.getOperand(0)), b = sums.find(op.getOperand(1));
    if (a == sums.end() || b == sums.end() || !a->second.ofLane || !b->second.ofLane)
      return;
    PlaceSum sum{Value(), a->second.rows + sign * b->second.rows,
                 a->second.columns + sign * b->second.columns};
    if (sign == 1)
      sum.ofLane = emit.add(a->second.ofLane, b->second.ofLane);
    else
      sum.ofLane = arith::SubIOp::create(emit, a->second.ofLane, b->second.ofLane);
    sums[op.getResult(0)] = sum;
  }

  Emitter &emit;
  const Coordinate &row, &column;
  llvm::DenseMap<Value, PlaceSum> sums;
  SmallVector<Conversion> conversions;
};

/// Elements that are computed at once.
static constexpr int64_t kGroup = 2;

/// Elements `first` to `first` + `size` - 1 of a vector; what is the same for all stays.
static Value slice(Emitter &emit, Value value, int64_t first, int64_t size) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getNumElements() == size)
    return value;
  return vector::ExtractStridedSliceOp::create(emit, value, ArrayRef<int64_t>{first},
                                               ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
}

/// The elements of all `parts`, one after the other.
static Value join(Emitter &emit, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Value> all = elements(emit, parts);
  auto type = VectorType::get({static_cast<int64_t>(all.size())},
                              getElementTypeOrSelf(parts.front().getType()));
  return vector::FromElementsOp::create(emit, type, all);
}

struct MapPattern : TilePattern<tile::MapOp> {
  using TilePattern::TilePattern;

  /// The values of all results, one result after the other.
  SmallVector<SmallVector<Value>> compute(Emitter &emit, tile::MapOp op,
                                          OneToNOpAdaptor adaptor) const {
    MapPlaces places(op.getResultTypes().front());
    auto first = [](ValueRange range) { return range.empty() ? Value() : range.front(); };
    std::optional<Coordinate> row, column;
    if (op.getCoordinates()) {
      Value lane = state.of(op).lane;
      row.emplace(emit, places, dims::Row, lane, first(adaptor.getRowOrigin()));
      column.emplace(emit, places, dims::Col, lane, first(adaptor.getColumnOrigin()));
    }
    std::optional<PlaceConversions> conversions;
    if (row && places.isVector) {
      llvm::DenseMap<Value, Value> numbers;
      for (auto [element, input, values] :
           llvm::zip_equal(op.getElements(), op.getInputs(), adaptor.getInputs()))
        if (input.getType().isInteger(32))
          numbers[element] = values.front();
      conversions.emplace(emit, op, *row, *column, numbers);
    }
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    int64_t size = std::gcd(places.piece.registers, kGroup);
    int64_t groups = places.isVector ? places.piece.registers / size : 1;
    for (int64_t index = 0; index != places.count; ++index) {
      SmallVector<SmallVector<Value>> parts(op.getNumResults());
      for (int64_t group = 0; group != groups; ++group) {
        RegionEmitter region(emit, size);
        for (auto [element, input, values] :
             llvm::zip_equal(op.getElements(), op.getInputs(), adaptor.getInputs()))
          region.bind(element, slice(emit, values[places.partOf(input.getType(), index)],
                                     group * size, size));
        if (row) {
          region.bind(op.getRowArgument(), row->ofGroup(index, group * size, size));
          region.bind(op.getColumnArgument(), column->ofGroup(index, group * size, size));
        }
        if (conversions)
          conversions->bind(region, index, group * size, size);
        region.emitOps(op.getBody().front());
        for (auto [part, yielded] : llvm::zip_equal(parts, op.getYielded())) {
          Value value = region.valueOf(yielded);
          part.push_back(places.isVector ? region.spread(value) : value);
        }
      }
      for (auto [result, part] : llvm::zip_equal(results, parts))
        result.push_back(places.isVector ? join(emit, part) : part.front());
    }
    return results;
  }

  /// `compute` in a branch, beside which the inputs are the results.
  SmallVector<SmallVector<Value>> computeWhere(Emitter &emit, Value condition, tile::MapOp op,
                                               OneToNOpAdaptor adaptor) const {
    SmallVector<Value> kept;
    for (unsigned index : llvm::seq(op.getNumResults()))
      llvm::append_range(kept, adaptor.getInputs()[index]);
    auto branch = scf::IfOp::create(emit, ValueRange(kept).getTypes(), condition,
                                    /*withElse=*/true);
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(emit, kept);
    emit.setInsertionPointToStart(branch.thenBlock());
    waitForMatrixResults(emit, *state.of(op).arch);
    SmallVector<Value> computed;
    for (ArrayRef<Value> values : compute(emit, op, adaptor))
      llvm::append_range(computed, values);
    scf::YieldOp::create(emit, computed);
    SmallVector<SmallVector<Value>> results;
    ValueRange rest = branch.getResults();
    for (unsigned index : llvm::seq(op.getNumResults())) {
      size_t count = adaptor.getInputs()[index].size();
      results.push_back(llvm::to_vector(rest.take_front(count)));
      rest = rest.drop_front(count);
    }
    return results;
  }

  LogicalResult matchAndRewrite(tile::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<SmallVector<Value>> results =
        op.getCondition() ? computeWhere(emit, adaptor.getCondition().front(), op, adaptor)
                          : compute(emit, op, adaptor);
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
