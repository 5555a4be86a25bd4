// tile.reduce: one number for each row or column.
//
// First what a lane holds: pieces element by element, where LLVM finds packed instructions, then
// the registers of a piece; then across the lanes that hold the same row or column (CrossLane.h).
// The order depends on the type alone.
#include "CrossLane.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// How two numbers become one, in f32 or i32.
class Combiner {
public:
  Combiner(Emitter &emit, tile::Reduction kind, Type element)
      : emit(emit), kind(kind), isFloat(isa<FloatType>(element)) {}

  Type type() const { return isFloat ? Type(emit.getF32Type()) : emit.getI32Type(); }

  Value operator()(Value a, Value b) const {
    switch (kind) {
    case tile::Reduction::Sum:
      return isFloat ? arith::AddFOp::create(emit, a, b).getResult() : emit.add(a, b);
    case tile::Reduction::Max:
      return isFloat ? arith::MaximumFOp::create(emit, a, b).getResult()
                     : arith::MaxSIOp::create(emit, a, b).getResult();
    case tile::Reduction::Min:
      return isFloat ? arith::MinimumFOp::create(emit, a, b).getResult()
                     : arith::MinSIOp::create(emit, a, b).getResult();
    case tile::Reduction::Any: // not 0: one has a bit
      return arith::OrIOp::create(emit, a, b);
    case tile::Reduction::All: // not 0: the smallest is not
      return arith::MinUIOp::create(emit, a, b);
    }
    llvm_unreachable("unknown reduction");
  }

  /// A number or vector of the source's elements in the type that is combined.
  Value widen(Value value) const {
    auto vector = dyn_cast<VectorType>(value.getType());
    Type wide = vector ? Type(VectorType::get(vector.getShape(), type())) : type();
    if (wide == value.getType())
      return value;
    return isFloat ? arith::ExtFOp::create(emit, wide, value).getResult()
                   : arith::ExtSIOp::create(emit, wide, value).getResult();
  }

  /// The combined number as one of `element`.
  Value finish(Value value, Type element) const {
    if (kind == tile::Reduction::Any || kind == tile::Reduction::All) {
      Value isTrue = arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, value, emit.i32(0));
      value = arith::ExtUIOp::create(emit, emit.getI32Type(), isTrue);
    }
    if (element == type())
      return value;
    return isFloat ? arith::TruncFOp::create(emit, element, value).getResult()
                   : arith::TruncIOp::create(emit, element, value).getResult();
  }

  /// The registers of a piece: halves are added, so that packed instructions do it; others are
  /// combined one after the other, which three-operand instructions do.
  Value fold(Value value) const {
    auto vector = dyn_cast<VectorType>(value.getType());
    if (!vector)
      return value;
    int64_t count = vector.getNumElements();
    if (kind == tile::Reduction::Sum)
      for (; count > 1; count /= 2) {
        auto half = [&](int64_t first) -> Value {
          return vector::ExtractStridedSliceOp::create(emit, value, first, count / 2, 1);
        };
        value = (*this)(half(0), half(count / 2));
      }
    Value result = emit.element(value, 0);
    for (int64_t i = 1; i < count; ++i)
      result = (*this)(result, emit.element(value, i));
    return result;
  }

private:
  Emitter &emit;
  tile::Reduction kind;
  bool isFloat;
};

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
} // namespace

void hocket::lowering::populateReducePatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<ReducePattern>(converter, patterns.getContext(), state);
}
