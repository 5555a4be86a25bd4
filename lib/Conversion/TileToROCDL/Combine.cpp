// tile.combine: partial results of the slices of split KV, folded into rows of O and LSE.
//
// Memory-bound: lanes lie along a row, 16 bytes each, so that a load takes whole rows, and the
// loads of several slices are under way at once. Slices are folded in their order, so that the
// result does not depend on when they arrive; the weight of a slice is exp(lse - greatest so far),
// and what was summed before shrinks when the greatest grows. A slice without a visible key has LSE
// -inf and so weight 0.
#include "CombineEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
struct CombinePattern : TilePattern<tile::CombineOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::CombineOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    if (op.getSplitWaves())
      writeShared(emit, op, adaptor);
    else
      writeRows(emit, op, adaptor);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void writeRows(Emitter &emit, tile::CombineOp op, OneToNOpAdaptor adaptor) const {
    RowsCombineEmitter combine(emit, op, adaptor, state.of(op));
    OpBuilder::InsertionGuard guard(emit);
    enter(emit, combine.hasRows());
    store(combine, combine.foldAll(), op, adaptor);
  }

  void writeShared(Emitter &emit, tile::CombineOp op, OneToNOpAdaptor adaptor) const {
    SharedCombineEmitter combine(emit, op, adaptor, state.of(op));
    OpBuilder::InsertionGuard guard(emit);
    combine.handOver(combine.foldOwn());
    enter(emit, combine.stores());
    store(combine, combine.foldWaves(), op, adaptor);
  }

  static void enter(Emitter &emit, Value condition) {
    auto branch = scf::IfOp::create(emit, condition, /*withElseRegion=*/false);
    emit.setInsertionPointToStart(&branch.getThenRegion().front());
  }

  static void store(CombineEmitter &combine, const RowState &row, tile::CombineOp op, OneToNOpAdaptor adaptor) {
    combine.storeOutput(row);
    if (op.getLse())
      combine.storeLse(row, ViewValues(op.getLse().getType(), adaptor.getLse()));
  }
};
} // namespace

CombineEmitter::CombineEmitter(Emitter &emit, tile::CombineOp op, Adaptor adaptor, const KernelValues &kernel)
    : emit(emit), op(op), kernel(kernel), partial(op.getPartial().getType(), adaptor.getPartial()),
      partialLse(op.getPartialLse().getType(), adaptor.getPartialLse()), o(op.getO().getType(), adaptor.getO()),
      splits(adaptor.getSplits().front()), batch(adaptor.getBatch().front()), head(adaptor.getHead().front()),
      row(adaptor.getRow().front()), lowest(emit.f32(-std::numeric_limits<float>::infinity())),
      quad(VectorType::get({kPerLane}, emit.getF32Type())) {
  Value lanes = emit.i32(op.getLanesOfRow());
  laneRow = arith::DivUIOp::create(emit, kernel.lane, lanes);
  piece = arith::RemUIOp::create(emit, kernel.lane, lanes);
  if (op.getLanesOfRow() * kPerLane != op.getColumns())
    exists = compare(emit, arith::CmpIPredicate::ult, piece, emit.i32(op.getColumns() / kPerLane));
}

Value CombineEmitter::hasRows() {
  return compare(emit, arith::CmpIPredicate::slt, row, emit.toI32(o.extent(emit, 1)));
}

RowState CombineEmitter::nothing() {
  Value zero = emit.f32(0.0f);
  return {lowest, zero, spread(zero)};
}

Value CombineEmitter::pieceOffset(Value rowStride, int64_t pieceBytes) {
  Value offset =
      emit.add(emit.mul(laneRow, emit.toI32(rowStride)), emit.mul(piece, emit.i32(pieceBytes)));
  if (!exists)
    return offset;
  return arith::SelectOp::create(emit, exists, offset,
                                 emit.i32(static_cast<int32_t>(kOutOfBounds)));
}

RowsCombineEmitter::Slices RowsCombineEmitter::outputSlices() {
  Value stride = emit.mul(partial.stride(1), emit.i64(kWideBytes));
  Value bytes = bytesOfRows(emit, partial.extent(emit, 1), row, op.getRows(), stride, op.getColumns() * kWideBytes);
  Value start = elementAddress(emit, partial, {emit.mul(batch, splits), row, head});
  return {start, bytes, emit.mul(partial.stride(0), emit.i64(kWideBytes))};
}

RowsCombineEmitter::Slices RowsCombineEmitter::logSlices() {
  Value bytes = bytesOfRows(emit, partialLse.extent(emit, 2), row, op.getRows(), emit.i64(kWideBytes), kWideBytes);
  Value start = elementAddress(emit, partialLse, {emit.mul(batch, splits), head});
  start = emit.offset(start, emit.mul(emit.toI64(row), emit.i64(kWideBytes)));
  return {start, bytes, emit.mul(partialLse.stride(0), emit.i64(kWideBytes))};
}

/// Slice number `slice` (uniform), which `outputs` and `logs` begin with; beyond the last, one without keys.
Share RowsCombineEmitter::load(const Slices &outputs, const Slices &logs, Value slice) {
  Value valid = arith::CmpIOp::create(emit, arith::CmpIPredicate::slt, slice, splits);
  auto resource = [&](const Slices &of) {
    return emit.bufferResource(of.start, arith::SelectOp::create(emit, valid, of.bytes, emit.i64(0)));
  };
  Value lse = read(emit.getF32Type(), resource(logs), emit.mul(laneRow, emit.i32(kWideBytes)));
  Value stride = emit.mul(partial.stride(1), emit.i64(kWideBytes));
  Value output = read(quad, resource(outputs), pieceOffset(stride, kPerLane * kWideBytes));
  return {arith::SelectOp::create(emit, valid, lse, lowest), output};
}

Value CombineEmitter::read(Type type, Value resource, Value offset) {
  return ROCDL::RawPtrBufferLoadOp::create(emit, type, resource, offset, emit.i32(0), emit.i32(0), ArrayAttr(),
                                           ArrayAttr(), ArrayAttr());
}

Value CombineEmitter::reference(Value greatest) {
  Value none = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, greatest, lowest);
  return arith::SelectOp::create(emit, none, emit.f32(0.0f), greatest);
}

Value CombineEmitter::weight(Value lse, Value reference) {
  Value distance = arith::SubFOp::create(emit, lse, reference);
  Value inLog2 = arith::MulFOp::create(emit, distance, emit.f32(std::numbers::log2e_v<float>));
  return ROCDL::ROCDLExp2::create(emit, emit.getF32Type(), inLog2);
}

RowState CombineEmitter::fold(const RowState &before, ArrayRef<Share> shares) {
  RowState state = before;
  for (const Share &share : shares)
    state.greatest = arith::MaxNumFOp::create(emit, state.greatest, share.lse);
  Value from = reference(state.greatest);
  Value shrink = weight(before.greatest, from);
  state.sum = arith::MulFOp::create(emit, before.sum, shrink);
  state.output = arith::MulFOp::create(emit, before.output, spread(shrink));
  for (const Share &share : shares) {
    Value by = weight(share.lse, from);
    state.sum = arith::AddFOp::create(emit, state.sum, by);
    state.output = LLVM::FMAOp::create(emit, share.output, spread(by), state.output);
  }
  return state;
}

RowState RowsCombineEmitter::foldAll() {
  const auto atOnce = static_cast<int64_t>(op.getAtOnce());
  Slices outputs = outputSlices(), logs = logSlices();
  const RowState none = nothing();
  auto loop = scf::ForOp::create(emit, emit.i32(0), splits, emit.i32(atOnce),
                                 ValueRange{none.greatest, none.sum, none.output});
  {
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    SmallVector<Share> shares;
    // From slice to slice by one addition: scalar instructions are what a turn has most of.
    for (Slices *of : {&outputs, &logs})
      of->start = emit.offset(of->start, emit.mul(emit.toI64(loop.getInductionVar()), of->step));
    for (int64_t i = 0; i != atOnce; ++i) {
      shares.push_back(load(outputs, logs, emit.add(loop.getInductionVar(), emit.i32(static_cast<int32_t>(i)))));
      for (Slices *of : {&outputs, &logs})
        of->start = emit.offset(of->start, of->step);
    }
    ValueRange carried = loop.getRegionIterArgs();
    RowState next = fold({carried[0], carried[1], carried[2]}, shares);
    scf::YieldOp::create(emit, ValueRange{next.greatest, next.sum, next.output});
  }
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

void CombineEmitter::storeOutput(const RowState &state) {
  Value zero = emit.f32(0.0f);
  Value empty = arith::CmpFOp::create(emit, arith::CmpFPredicate::OEQ, state.sum, zero);
  Value reciprocal = ROCDL::ROCDLRcp::create(emit, emit.getF32Type(), state.sum);
  Value factor = arith::SelectOp::create(emit, empty, zero, reciprocal);
  Value normalized = arith::MulFOp::create(emit, state.output, spread(factor));
  Type element = op.getO().getType().getElementType();
  Value rounded = narrowElements(emit, normalized, emit.getF32Type(), element);
  Value stride = emit.mul(o.stride(1), emit.i64(o.elementBytes()));
  Value bytes = bytesOfRows(emit, o.extent(emit, 1), row, op.getRows(), stride,
                            op.getColumns() * o.elementBytes());
  Value resource = emit.bufferResource(elementAddress(emit, o, {batch, row, head}), bytes);
  const int64_t count = kPerLane * o.elementBytes() / kWideBytes;
  Type words = count == 1 ? Type(emit.getI32Type()) : VectorType::get({count}, emit.getI32Type());
  ROCDL::RawPtrBufferStoreOp::create(emit, LLVM::BitcastOp::create(emit, words, rounded), resource,
                                     pieceOffset(stride, kPerLane * o.elementBytes()), emit.i32(0), emit.i32(0),
                                     ArrayAttr(), ArrayAttr(), ArrayAttr());
}

/// The first lane of each row writes.
void CombineEmitter::storeLse(const RowState &state, const ViewValues &lse) {
  // log2(0) is -inf, and so is the result; the reference of such a row is 0.
  Value log = LLVM::Log2Op::create(emit, state.sum);
  Value natural = arith::MulFOp::create(emit, log, emit.f32(std::numbers::ln2_v<float>));
  Value total = arith::AddFOp::create(emit, natural, reference(state.greatest));
  // Of a view (row, 1) rows have any stride.
  bool isColumn = op.getLse().getType().getRank() == 2;
  Value stride = isColumn ? emit.mul(lse.stride(0), emit.i64(kWideBytes)) : emit.i64(kWideBytes);
  Value start = isColumn ? lse.pointer() : elementAddress(emit, lse, {batch, head});
  start = emit.offset(start, emit.mul(emit.toI64(row), stride));
  Value bytes = bytesOfRows(emit, lse.extent(emit, isColumn ? 0 : 2), row, op.getRows(), stride, kWideBytes);
  Value isFirst = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, piece, emit.i32(0));
  Value offset = arith::SelectOp::create(emit, isFirst, emit.mul(laneRow, emit.toI32(stride)),
                                         emit.i32(static_cast<int32_t>(kOutOfBounds)));
  ROCDL::RawPtrBufferStoreOp::create(emit, total, emit.bufferResource(start, bytes), offset,
                                     emit.i32(0), emit.i32(0), ArrayAttr(), ArrayAttr(),
                                     ArrayAttr());
}

void hocket::lowering::populateCombinePatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<CombinePattern>(converter, patterns.getContext(), state);
}
