// tile.convert_layout: numbers that change registers, or lanes by way of LDS.
//
// A wave's accesses to LDS happen in the order in which it issues them, so what its lanes store for
// one another needs no barrier and no wait; fences keep LLVM, which sees one lane at a time, from
// changing that order.
#include "Access.h"

#include "Tile/IR/LayoutConversion.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kWidestConversionBytes = 16;

static Value numberOf(Emitter &emit, Value piece, int64_t index) {
  return isa<VectorType>(piece.getType()) ? emit.element(piece, index) : piece;
}

/// A converted value of `type` from its numbers.
static Value pieceFrom(Emitter &emit, Type type, ArrayRef<Value> numbers) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector::FromElementsOp::create(emit, vector, numbers).getResult()
                : numbers.front();
}

/// Every number is taken from another register of the same lane.
static SmallVector<Value> renumber(Emitter &emit, const tile::LayoutConversion &conversion,
                                   ValueRange pieces, ArrayRef<Type> types) {
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> numbers;
  for (int64_t value = 0; value != conversion.from.count; ++value)
    for (int64_t i = 0; i != conversion.from.registers; ++i) {
      tile::RowAndColumn at = conversion.from.place(value, i);
      numbers[{at.row, at.column}] = numberOf(emit, pieces[value], i);
    }
  SmallVector<Value> results;
  for (int64_t value = 0; value != conversion.to.count; ++value) {
    SmallVector<Value> taken;
    for (int64_t i = 0; i != conversion.to.registers; ++i) {
      tile::RowAndColumn at = conversion.to.place(value, i);
      taken.push_back(numbers.find({at.row, at.column})->second);
    }
    results.push_back(pieceFrom(emit, types[value], taken));
  }
  return results;
}

namespace {
/// A wave's part of LDS, seen from one lane.
class Passage {
public:
  Passage(Emitter &emit, const LoweringState &state, const KernelValues &kernel,
          const tile::LayoutConversion &conversion, Value part)
      : emit(emit), state(state), conversion(conversion),
        stored(ofLane(kernel, conversion.from, part)), loaded(ofLane(kernel, conversion.to, part)) {}

  /// Lets a block pass: stores those of `pieces` that are in it, and loads `results` from there.
  void pass(tile::RowAndColumn origin, ValueRange pieces, ArrayRef<Type> types,
            SmallVectorImpl<Value> &results) {
    keepOrder();
    forEachRun(conversion.from, origin, [&](int64_t value, int64_t first, int64_t byte) {
      store(pieces[value], first, runOf(conversion.from), byte);
    });
    keepOrder();
    llvm::MapVector<int64_t, SmallVector<Value>> numbers;
    forEachRun(conversion.to, origin, [&](int64_t value, int64_t, int64_t byte) {
      load(elementTypeOf(types[value]), runOf(conversion.to), byte, numbers[value]);
    });
    for (auto &[value, taken] : numbers)
      results[value] = pieceFrom(emit, types[value], taken);
  }

private:
  static Type elementTypeOf(Type type) { return getElementTypeOrSelf(type); }

  int64_t runOf(const tile::HeldNumbers &numbers) const {
    return std::min(numbers.run, kWidestConversionBytes / conversion.elementBytes);
  }

  Value ofLane(const KernelValues &kernel, const tile::HeldNumbers &numbers, Value part) {
    Value offset;
    for (auto [dim, many, pitch] :
         {std::tuple(dims::Row, numbers.rows > 1, conversion.rowPitch()),
          std::tuple(dims::Col, numbers.columns > 1, conversion.elementBytes)}) {
      if (!many)
        continue;
      Value place = emit.linear(numbers.piece.map, dims::Lane, dim, kernel.lane);
      Value bytes = emit.mul(place, emit.i32(pitch));
      offset = offset ? emit.add(offset, bytes) : bytes;
    }
    return offset ? emit.offset(part, offset) : part;
  }

  /// Calls `access(value, first register, byte)` for what `numbers` has in the block.
  void forEachRun(const tile::HeldNumbers &numbers, tile::RowAndColumn origin,
                  function_ref<void(int64_t, int64_t, int64_t)> access) const {
    const tile::RowAndColumn &block = conversion.block;
    for (int64_t value = 0; value != numbers.count; ++value) {
      const tile::RowAndColumn &begin = numbers.origins[value];
      if (begin.row / block.row != origin.row / block.row ||
          begin.column / block.column != origin.column / block.column)
        continue;
      for (int64_t first = 0; first != numbers.registers; first += runOf(numbers)) {
        tile::RowAndColumn at = numbers.place(value, first);
        access(value, first, conversion.byteOf({at.row - origin.row, at.column - origin.column}));
      }
    }
  }

  void store(Value piece, int64_t first, int64_t count, int64_t byte) {
    Value value = numberOf(emit, piece, first);
    if (count > 1)
      value = vector::ExtractStridedSliceOp::create(emit, piece, first, count, 1);
    auto store = LLVM::StoreOp::create(emit, value, emit.offset(stored, emit.i32(byte)),
                                       count * conversion.elementBytes);
    store.setAliasScopesAttr(state.readScope);
    store.setNoaliasScopesAttr(state.dmaScope);
  }

  void load(Type element, int64_t count, int64_t byte, SmallVector<Value> &numbers) {
    Type type = count == 1 ? element : VectorType::get({count}, element);
    auto load = LLVM::LoadOp::create(emit, type, emit.offset(loaded, emit.i32(byte)),
                                     count * conversion.elementBytes);
    load.setAliasScopesAttr(state.readScope);
    load.setNoaliasScopesAttr(state.dmaScope);
    for (int64_t i = 0; i != count; ++i)
      numbers.push_back(numberOf(emit, load, i));
  }

  void keepOrder() { LLVM::FenceOp::create(emit, LLVM::AtomicOrdering::acq_rel, "wavefront"); }

  Emitter &emit;
  const LoweringState &state;
  const tile::LayoutConversion &conversion;
  Value stored, loaded; ///< where the lane's places begin
};

struct ConvertLayoutPattern : TilePattern<tile::ConvertLayoutOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ConvertLayoutOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    tile::LayoutConversion conversion(op);
    if (conversion.staysInLane()) {
      SmallVector<Value> results = renumber(emit, conversion, adaptor.getSource(), types);
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
      return success();
    }
    const KernelValues &kernel = state.of(op);
    Value first = emit.offset(kernel.lds, emit.i32(*op.getLdsOffset()));
    Value number = kernel.wave;
    if (op.getShared())
      number = arith::AndIOp::create(emit, number, emit.i32(op.partsFor(kernel.waves) - 1));
    Value part = emit.offset(first, emit.mul(number, emit.i32(*op.getWaveBytes())));
    Passage passage(emit, state, kernel, conversion, part);
    SmallVector<Value> results(types.size());
    for (int64_t row = 0; row != conversion.from.rows; row += conversion.block.row)
      for (int64_t column = 0; column != conversion.from.columns; column += conversion.block.column)
        passage.pass({row, column}, adaptor.getSource(), types, results);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};
} // namespace

void hocket::lowering::populateConvertLayoutPatterns(const TypeConverter &converter,
                                                     RewritePatternSet &patterns,
                                                     LoweringState &state) {
  patterns.add<ConvertLayoutPattern>(converter, patterns.getContext(), state);
}
