// tile.map: a region applied to every element, piece by piece.
//
// Elements are computed two at a time, in which LLVM finds packed instructions, from the first op to
// the last: op by op for a whole piece would keep the intermediates of all its elements in registers.
// What is the same in all registers of a piece (numbers, rows of most layouts, what is computed of them
// alone) stays a scalar; what several pieces share, LLVM computes once.
#include "MapPlaces.h"
#include "RegionEmitter.h"

#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

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

/// (base + rows and columns of the element) x factor + addend: f32, of a lane; no factor is 1, no addend 0.
struct PlaceProduct {
  Value base, factor, addend;
  int64_t rows, columns;
};

/// Numbers in f32 that are linear in the coordinates: conversions of sums of them, those times numbers, plus numbers. A
/// lane computes each once for a piece; what its elements add are constants (exactly, up to 2^24), or the factor times
/// constants, the same ones in all pieces: they take scalar registers. And comparisons with 0 of differences that do not
/// wrap (`nsw`): of the piece's largest with constants, an instruction for each element.
class LinearNumbers {
public:
  /// `numbers`: what the region's arguments are that all elements of a lane share, i32 or f32.
  LinearNumbers(Emitter &emit, tile::MapOp op, const Coordinate &row, const Coordinate &column,
                const llvm::DenseMap<Value, Value> &numbers, int64_t registers)
      : emit(emit), row(row), column(column), registers(registers) {
    sums[op.getRowArgument()] = {row.ofLane(), 1, 0};
    sums[op.getColumnArgument()] = {column.ofLane(), 0, 1};
    for (auto [argument, value] : numbers)
      if (value.getType().isInteger(32))
        sums[argument] = {value, 0, 0};
      else
        ofLanes[argument] = value;
    for (Operation &inner : op.getBody().front().without_terminator())
      note(inner);
  }

  /// Computes what the elements of piece `index` share.
  void enterPiece(int64_t index) {
    ofPiece.clear();
    for (const auto &[result, product] : products) {
      float origin = static_cast<float>(product.rows * row.step(index, 0) + product.columns * column.step(index, 0));
      Value value = ofLane(product);
      if (origin != 0)
        value = plusSteps(value, product, emit.f32(origin), product.factor);
      ofPiece.push_back(value);
    }
    largestOfPiece.clear();
    for (const auto &[result, comparison] : comparisons)
      largestOfPiece.push_back(
          emit.add(comparison.sum.ofLane, emit.i32(static_cast<int32_t>(largestStep(comparison.sum, index)))));
  }

  /// Binds them for the `size` elements from `start` on of piece `index`, which was entered.
  void bind(RegionEmitter &region, int64_t index, int64_t start, int64_t size) const {
    auto type = VectorType::get({size}, emit.getF32Type());
    for (const auto &[entry, shared] : llvm::zip_equal(products, ofPiece)) {
      const PlaceProduct &product = entry.second;
      SmallVector<float> steps;
      for (int64_t reg = start; reg != start + size; ++reg)
        steps.push_back(static_cast<float>(product.rows * (row.step(index, reg) - row.step(index, 0)) +
                                           product.columns * (column.step(index, reg) - column.step(index, 0))));
      Value constants =
          arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<float>(steps)));
      Value factor = product.factor ? emit.splat(product.factor, type) : Value();
      region.bind(entry.first, plusSteps(emit.splat(shared, type), product, constants, factor));
    }
    for (const auto &[entry, largest] : llvm::zip_equal(comparisons, largestOfPiece))
      region.bind(entry.first, compare(entry.second, largest, index, start, size));
  }

private:
  /// sum >= 0, or sum < 0.
  struct Comparison {
    PlaceSum sum;
    bool isAtLeast;
  };

  int64_t stepOf(const PlaceSum &sum, int64_t index, int64_t reg) const {
    return sum.rows * row.step(index, reg) + sum.columns * column.step(index, reg);
  }

  int64_t largestStep(const PlaceSum &sum, int64_t index) const {
    int64_t largest = stepOf(sum, index, 0);
    for (int64_t reg = 1; reg < registers; ++reg)
      largest = std::max(largest, stepOf(sum, index, reg));
    return largest;
  }

  /// The element of the piece that is `largest` is some constant more than each: none of the sums wraps, so none of
  /// these comparisons is of anything that does.
  Value compare(const Comparison &comparison, Value largest, int64_t index, int64_t start, int64_t size) const {
    auto type = VectorType::get({size}, emit.getI32Type());
    int64_t most = largestStep(comparison.sum, index);
    SmallVector<int32_t> less;
    for (int64_t reg = start; reg != start + size; ++reg)
      less.push_back(static_cast<int32_t>(most - stepOf(comparison.sum, index, reg)));
    Value constants = arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<int32_t>(less)));
    auto predicate = comparison.isAtLeast ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
    return arith::CmpIOp::create(emit, predicate, emit.splat(largest, type), constants);
  }

  /// Of a difference that does not wrap with 0.
  void noteComparison(arith::CmpIOp op) {
    auto difference = op.getLhs().getDefiningOp<arith::SubIOp>();
    auto found = sums.find(op.getLhs());
    bool isAtLeast = op.getPredicate() == arith::CmpIPredicate::sge;
    if (!difference || found == sums.end() || !matchPattern(op.getRhs(), m_Zero()) ||
        !bitEnumContainsAll(difference.getOverflowFlags(), arith::IntegerOverflowFlags::nsw))
      return;
    const PlaceSum &sum = found->second;
    if (sum.ofLane && (sum.rows != 0 || sum.columns != 0) && (isAtLeast || op.getPredicate() == arith::CmpIPredicate::slt))
      comparisons[op.getResult()] = {sum, isAtLeast};
  }

  /// `value` + `steps` x `factor`.
  Value plusSteps(Value value, const PlaceProduct &product, Value steps, Value factor) const {
    if (!product.factor)
      return arith::AddFOp::create(emit, value, steps);
    return LLVM::FMAOp::create(emit, factor, steps, value);
  }

  Value ofLane(const PlaceProduct &product) const {
    Value value = product.factor ? arith::MulFOp::create(emit, product.base, product.factor).getResult() : product.base;
    return product.addend ? arith::AddFOp::create(emit, value, product.addend).getResult() : value;
  }

  void note(Operation &op) {
    Value result = op.getResult(0);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      Value value = arith::ConstantOp::create(emit, constant.getValue());
      if (result.getType().isInteger(32))
        sums[result] = {value, 0, 0};
      else if (result.getType().isF32())
        ofLanes[result] = value;
      return;
    }
    if (isa<arith::AddIOp, arith::SubIOp>(op) && result.getType().isInteger(32))
      return add(op, isa<arith::AddIOp>(op) ? 1 : -1);
    if (auto comparison = dyn_cast<arith::CmpIOp>(op))
      return noteComparison(comparison);
    if (!result.getType().isF32())
      return;
    if (isa<arith::SIToFPOp>(op))
      return convert(op);
    if (isa<arith::NegFOp>(op))
      return negate(op);
    if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op))
      combine(op);
  }

  void convert(Operation &op) {
    auto found = sums.find(op.getOperand(0));
    if (found == sums.end())
      return;
    const PlaceSum &sum = found->second;
    if (!sum.ofLane || (sum.rows == 0 && sum.columns == 0))
      return;
    Value converted = arith::SIToFPOp::create(emit, emit.getF32Type(), sum.ofLane);
    products[op.getResult(0)] = {converted, Value(), Value(), sum.rows, sum.columns};
  }

  void negate(Operation &op) {
    if (Value number = ofLanes.lookup(op.getOperand(0)))
      ofLanes[op.getResult(0)] = negated(number);
    auto found = products.find(op.getOperand(0));
    if (found == products.end())
      return;
    products[op.getResult(0)] = negated(found->second);
  }

  Value negated(Value number) { return number ? arith::NegFOp::create(emit, number).getResult() : Value(); }
  PlaceProduct negated(const PlaceProduct &product) {
    if (product.factor)
      return {product.base, negated(product.factor), negated(product.addend), product.rows, product.columns};
    return {negated(product.base), Value(), negated(product.addend), -product.rows, -product.columns};
  }

  /// Of numbers of the lane, or one of them and a linear number.
  void combine(Operation &op) {
    Value a = op.getOperand(0), b = op.getOperand(1);
    bool isLeft = products.contains(a);
    auto found = products.find(isLeft ? a : b);
    Value number = ofLanes.lookup(isLeft ? b : a);
    if (found == products.end()) {
      if (Value other = ofLanes.lookup(b); number && other)
        ofLanes[op.getResult(0)] = repeat(op, number, other);
      return;
    }
    if (!number)
      return;
    PlaceProduct product = found->second;
    auto times = [&](Value value) { return arith::MulFOp::create(emit, value, number).getResult(); };
    if (isa<arith::MulFOp>(op)) {
      product.factor = product.factor ? times(product.factor) : number;
      product.addend = product.addend ? times(product.addend) : Value();
    } else {
      if (isa<arith::SubFOp>(op) && isLeft)
        number = negated(number);
      else if (isa<arith::SubFOp>(op))
        product = negated(product);
      product.addend = product.addend ? arith::AddFOp::create(emit, product.addend, number).getResult() : number;
    }
    products[op.getResult(0)] = product;
  }

  Value repeat(Operation &op, Value a, Value b) {
    if (isa<arith::MulFOp>(op))
      return arith::MulFOp::create(emit, a, b);
    if (isa<arith::AddFOp>(op))
      return arith::AddFOp::create(emit, a, b);
    return arith::SubFOp::create(emit, a, b);
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
  llvm::DenseMap<Value, Value> ofLanes; ///< f32, the same for all elements of a lane
  llvm::MapVector<Value, PlaceProduct> products;
  SmallVector<Value> ofPiece; ///< of each of them
  int64_t registers;          ///< of a piece
  llvm::MapVector<Value, Comparison> comparisons;
  SmallVector<Value> largestOfPiece; ///< of the sum of each of them
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

/// Whether all elements of a lane have the same number (i32 or f32): one, or that of their row or column.
static bool isOfLane(Type type, ValueRange values) {
  Type element = tile::elementTypeOf(type);
  return values.size() == 1 && !isa<VectorType>(values.front().getType()) && !isa<tile::FragType>(type) &&
         (element.isInteger(32) || element.isF32());
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
    std::optional<LinearNumbers> linear;
    if (row && places.isVector) {
      llvm::DenseMap<Value, Value> numbers;
      for (auto [element, input, values] :
           llvm::zip_equal(op.getElements(), op.getInputs(), adaptor.getInputs()))
        if (isOfLane(input.getType(), values))
          numbers[element] = values.front();
      linear.emplace(emit, op, *row, *column, numbers, places.piece.registers);
    }
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    int64_t size = std::gcd(places.piece.registers, kGroup);
    int64_t groups = places.isVector ? places.piece.registers / size : 1;
    for (int64_t index = 0; index != places.count; ++index) {
      SmallVector<SmallVector<Value>> parts(op.getNumResults());
      if (linear)
        linear->enterPiece(index);
      for (int64_t group = 0; group != groups; ++group) {
        RegionEmitter region(emit, *state.of(op).arch, size);
        for (auto [element, input, values] :
             llvm::zip_equal(op.getElements(), op.getInputs(), adaptor.getInputs()))
          region.bind(element, slice(emit, values[places.partOf(input.getType(), index)],
                                     group * size, size));
        if (row) {
          region.bind(op.getRowArgument(), row->ofGroup(index, group * size, size));
          region.bind(op.getColumnArgument(), column->ofGroup(index, group * size, size));
        }
        if (linear)
          linear->bind(region, index, group * size, size);
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
    Value condition = op.getCondition() ? adaptor.getCondition().front() : Value();
    if (op.getRarely())
      condition = emit.rare(condition);
    SmallVector<SmallVector<Value>> results =
        condition ? computeWhere(emit, condition, op, adaptor)
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
