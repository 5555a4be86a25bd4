// tile.gather: one load for each element, at indices of its own.
//
// Dimensions whose index is one number are part of the descriptor's beginning (64 bits); the others
// are an offset of 32 bits, which is beyond the descriptor where an index is beyond its extent.
#include "Access.h"
#include "MapPlaces.h"

#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// The indices of a gather, divided into those that are one number and those that vary.
class GatherPlace {
public:
  GatherPlace(Emitter &emit, tile::GatherOp op, const ViewValues &view,
              ArrayRef<ValueRange> indexValues)
      : emit(emit), indexValues(indexValues), elementBytes(view.elementBytes()) {
    Value exists, start = emit.i64(0);
    int64_t last = op.getView().getType().getRank() - 1;
    span = emit.i64(elementBytes);
    for (auto [dimension, index] : llvm::enumerate(op.getIndices())) {
      bool isLast = static_cast<int64_t>(dimension) == last;
      Value stride = isLast ? emit.i64(elementBytes)
                            : emit.mul(view.stride(dimension), emit.i64(elementBytes));
      Value extent = view.extent(emit, dimension);
      if (!index.getType().isInteger(32)) {
        Value before = arith::SubIOp::create(emit, extent, emit.i32(1));
        span = emit.add(span, emit.mul(emit.toI64(before), stride));
        varying.push_back({dimension, index.getType(), emit.toI32(stride), extent});
        continue;
      }
      Value number = indexValues[dimension].front();
      start = emit.add(start, emit.mul(emit.toI64(number), stride));
      Value within = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, number, extent);
      exists = exists ? arith::AndIOp::create(emit, exists, within).getResult() : within;
    }
    if (exists)
      span = arith::SelectOp::create(emit, exists, span, emit.i64(0));
    resource = emit.bufferResource(emit.offset(view.pointer(), start), span);
  }

  /// The byte offset of element `reg` of piece `piece`.
  Value offset(const MapPlaces &places, int64_t piece, int64_t reg) const {
    Value sum, exists;
    for (const Varying &index : varying) {
      Value part = indexValues[index.dimension][places.partOf(index.type, piece)];
      Value number = isa<VectorType>(part.getType()) ? emit.element(part, reg) : part;
      Value step = emit.mul(number, index.stride);
      sum = sum ? emit.add(sum, step) : step;
      Value within =
          arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, number, index.extent);
      exists = exists ? arith::AndIOp::create(emit, exists, within).getResult() : within;
    }
    return arith::SelectOp::create(emit, exists, sum,
                                   emit.i32(static_cast<int32_t>(kOutOfBounds)));
  }

  Value resource;

private:
  struct Varying {
    size_t dimension;
    Type type;
    Value stride, extent; ///< i32; the stride in bytes
  };

  Emitter &emit;
  ArrayRef<ValueRange> indexValues;
  int64_t elementBytes;
  Value span; ///< bytes from the first to the end of the last element that can be looked up
  SmallVector<Varying> varying;
};

struct GatherPattern : TilePattern<tile::GatherOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::GatherOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues view(op.getView().getType(), adaptor.getView());
    GatherPlace place(emit, op, view, adaptor.getIndices());
    MapPlaces places(op.getResult().getType());
    Type stored = op.getView().getType().getElementType();
    Type element = tile::elementTypeOf(op.getResult().getType());
    SmallVector<Value> results;
    for (int64_t piece = 0; piece != places.count; ++piece) {
      SmallVector<Value> numbers;
      for (int64_t reg = 0; reg != (places.isVector ? places.piece.registers : 1); ++reg) {
        Value loaded = loadElements(emit, stored, 1, place.resource,
                                    place.offset(places, piece, reg), emit.i32(0));
        numbers.push_back(widenElements(emit, loaded, stored, element));
      }
      if (!places.isVector) {
        results.push_back(numbers.front());
        continue;
      }
      auto type = VectorType::get({places.piece.registers}, storedType(element));
      results.push_back(vector::FromElementsOp::create(emit, type, numbers));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};
} // namespace

void hocket::lowering::populateGatherPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<GatherPattern>(converter, patterns.getContext(), state);
}
