// Accumulators that become blocks of a matrix.
//
// Rows beyond a matrix are out of its descriptor's bounds, as everywhere. Columns beyond it are
// not, since the next row begins there: the blocks that they cut are stored element by element.
#include "Access.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// What both ways of storing a block share.
struct BlockStore {
  Value resource, lane, rowStride, columnsLeft;
  ValueRange blocks; ///< rounded, as they lie: rows (of the fragment) run fastest
  int64_t columnBlocks = 0;
  LinearLayout layout; ///< (register, lane) -> (row, col) of one accumulator block
  int64_t elementBytes = 0;

  /// The byte at which element (`column`, lane's row) of block `index` lies; `column` may depend on
  /// the lane.
  Value laneOffset(Emitter &emit, size_t index, Value column) const {
    Value row = emit.linear(layout, dims::Lane, dims::Col, lane);
    row = emit.add(row, emit.i32(static_cast<int64_t>(index) / columnBlocks * kBlock));
    return emit.add(emit.mul(row, rowStride), emit.mul(column, emit.i32(elementBytes)));
  }
  int64_t firstColumn(size_t index) const {
    return static_cast<int64_t>(index) % columnBlocks * kBlock;
  }
};

struct StoreBlockPattern : TilePattern<tile::StoreBlockOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tile::StoreBlockOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getValue().getType();
    Result<LinearLayout> layout = mfmaAccumulator(frag.getOperandShape());
    if (!layout)
      return layoutError(op, layout.error());
    ViewValues view(op.getView().getType(), adaptor.getView());
    Value row = adaptor.getRow().front(), column = adaptor.getColumn().front();

    SmallVector<Value> blocks;
    for (Value block : adaptor.getValue())
      blocks.push_back(narrowElements(emit, block, frag.getElementType(), op.getView().getType().getElementType()));
    Value stride = emit.mul(view.stride(0), emit.i64(view.elementBytes()));
    Value left = arith::SubIOp::create(emit, view.extent(emit, 1), column);
    BlockStore store{resourceOf(emit, view, row, column, stride, left, frag.getColumns()),
                     state.of(op).lane,
                     emit.toI32(stride),
                     left,
                     blocks,
                     frag.getRows() / kBlock,
                     *layout,
                     view.elementBytes()};
    Value whole =
        arith::CmpIOp::create(emit, arith::CmpIPredicate::sge, left, emit.i32(frag.getRows()));
    auto branch = scf::IfOp::create(emit, whole, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(branch.thenBlock());
      storeLines(emit, state.of(op), frag, store);
      emit.setInsertionPointToStart(branch.elseBlock());
      storeElements(emit, store);
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// From the block's first element to the last column of the last of its rows that exist.
  static Value resourceOf(Emitter &emit, const ViewValues &view, Value row, Value column,
                          Value stride, Value left, int64_t count) {
    Value first = emit.add(emit.mul(emit.toI64(row), stride),
                           emit.mul(emit.toI64(column), emit.i64(view.elementBytes())));
    Value rows = arith::MinSIOp::create(
        emit, arith::SubIOp::create(emit, view.extent(emit, 0), row), emit.i32(count));
    Value before = emit.mul(emit.toI64(arith::SubIOp::create(emit, rows, emit.i32(1))), stride);
    Value bytes = emit.add(before, emit.mul(emit.toI64(left), emit.i64(view.elementBytes())));
    auto positive = [&](Value value) {
      return arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, value, emit.i32(0)).getResult();
    };
    Value any = arith::AndIOp::create(emit, positive(rows), positive(left));
    return emit.bufferResource(emit.offset(view.pointer(), first),
                               arith::SelectOp::create(emit, any, bytes, emit.i64(0)));
  }

  /// `step` is the same in all lanes.
  static void storeWord(Emitter &emit, Value value, Value resource, Value offset, Value step) {
    lowering::storeElements(emit, value, resource, offset, step);
  }

  /// 16 bytes of a lane at once, and lanes side by side up to a line.
  static void storeLines(Emitter &emit, const KernelValues &kernel, tile::FragType frag,
                         const BlockStore &store) {
    LineStores lines(tile::shapeOf(frag), store.elementBytes);
    Value offset = lines.lanePlace(emit, kernel, store.rowStride).offset;
    lines.forEachStore(emit, kernel, store.blocks, [&](const LineStores::Store &piece) {
      storeWord(emit, piece.words, store.resource,
                emit.add(offset, emit.i32(piece.column * store.elementBytes)),
                emit.mul(store.rowStride, emit.i32(piece.row)));
    });
  }

  /// Column by column, all rows: a comparison is used at once and not kept in scalar registers.
  static void storeElements(Emitter &emit, const BlockStore &store) {
    Value laneColumn = emit.linear(store.layout, dims::Lane, dims::Row, store.lane);
    auto bits = VectorType::get({kAccRegisters}, emit.getIntegerType(static_cast<unsigned>(8 * store.elementBytes)));
    SmallVector<Value> elements;
    for (Value block : store.blocks)
      elements.push_back(LLVM::BitcastOp::create(emit, bits, block));
    for (int64_t columnBlock = 0; columnBlock != store.columnBlocks; ++columnBlock)
      for (int64_t i = 0; i != kAccRegisters; ++i) {
        int64_t step = store.layout.apply({{std::string(dims::Register), i}}, dims::Row);
        Value column = emit.add(laneColumn, emit.i32(store.firstColumn(columnBlock) + step));
        Value exists =
            arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, column, store.columnsLeft);
        for (size_t index = columnBlock; index < elements.size(); index += store.columnBlocks) {
          Value offset =
              arith::SelectOp::create(emit, exists, store.laneOffset(emit, index, column),
                                      emit.i32(static_cast<int32_t>(kOutOfBounds)));
          storeWord(emit, emit.element(elements[index], i), store.resource, offset, emit.i32(0));
        }
      }
  }
};
} // namespace

void hocket::lowering::populateMatrixPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<StoreBlockPattern>(converter, patterns.getContext(), state);
}
