// tile.combine with split_waves: rows of a workgroup, each of which some of its waves share.
//
// Of few rows there are few workgroups, and what they do before their first load and after their last counts most. So a
// row that does not fill a wave leaves lanes to further slices, all loads of a turn go through one descriptor, one load
// brings the LSE of all its slices, a lane each, and what waves have folded is put together from one reference, not one
// after another.
#include "CombineEmitter.h"
#include "CrossLane.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kSumBytes = 8; ///< a reference and a sum
static constexpr uint64_t kAllLanes = kWaveLanes - 1;

SharedCombineEmitter::SharedCombineEmitter(Emitter &emit, tile::CombineOp op, Adaptor adaptor,
                                           const KernelValues &kernel)
    : CombineEmitter(emit, op, adaptor, kernel), sharing(kernel.waves / static_cast<int64_t>(op.getRows())),
      ofLoad(kWaveLanes / op.getLanesOfRow()), loads(llvm::divideCeil(static_cast<int64_t>(op.getAtOnce()), ofLoad)) {
  Value waves = emit.i32(sharing);
  rowWave = arith::RemUIOp::create(emit, kernel.wave, waves);
  row = emit.add(row, arith::DivUIOp::create(emit, kernel.wave, waves));
  Value scratch = emit.offset(kernel.lds, emit.i32(static_cast<int64_t>(*op.getLdsOffset())));
  quads = emit.offset(scratch, emit.mul(kernel.lane, emit.i32(kQuadBytes)));
  sums = emit.offset(scratch, emit.i32(kernel.waves * kWaveLanes * kQuadBytes));
  sums = emit.offset(sums, emit.mul(kernel.lane, emit.i32(kSumBytes)));
}

Value SharedCombineEmitter::stores() {
  Value isFirst = compare(emit, arith::CmpIPredicate::eq, rowWave, emit.i32(0));
  return arith::AndIOp::create(emit, isFirst, hasRows());
}

/// Number within a turn of what lane group `group` gets of load number `load` of this wave.
Value SharedCombineEmitter::sliceOf(Value load, Value group) {
  return emit.add(emit.mul(load, emit.i32(sharing * ofLoad)), emit.add(emit.mul(rowWave, emit.i32(ofLoad)), group));
}

/// A descriptor of the turn's slices, of which there are `count` (uniform).
Value SharedCombineEmitter::resourceOf(const Slices &slices, Value count) {
  Value last = arith::SubIOp::create(emit, count, emit.i32(1));
  Value bytes = emit.add(emit.mul(last, emit.toI32(slices.step)), emit.i32(slices.bytes));
  return emit.bufferResource(slices.start, zeroExtended(emit, bytes));
}

/// Of this lane's slice: its LSE, -inf where it has none.
Value SharedCombineEmitter::loadLse(const Slices &logs, Value count) {
  Value groups = emit.i32(ofLoad);
  Value load = arith::DivUIOp::create(emit, kernel.lane, groups), group = arith::RemUIOp::create(emit, kernel.lane, groups);
  Value number = sliceOf(load, group);
  Value valid = compare(emit, arith::CmpIPredicate::slt, number, count);
  Value isOne = compare(emit, arith::CmpIPredicate::ult, kernel.lane, emit.i32(ofLoad * loads));
  Value lse = read(emit.getF32Type(), resourceOf(logs, count), emit.mul(number, emit.toI32(logs.step)));
  return arith::SelectOp::create(emit, arith::AndIOp::create(emit, valid, isOne), lse, lowest);
}

/// This lane's pieces of the turn's slices: zeros of those that there are not.
SmallVector<Value> SharedCombineEmitter::loadPieces(const Slices &outputs, Value count) {
  Value step = emit.toI32(outputs.step), further = emit.mul(step, emit.i32(sharing * ofLoad));
  Value offset = emit.add(emit.mul(sliceOf(emit.i32(0), laneRow), step), emit.mul(piece, emit.i32(kQuadBytes)));
  if (exists)
    offset = arith::SelectOp::create(emit, exists, offset, emit.i32(static_cast<int32_t>(kOutOfBounds)));
  Value resource = resourceOf(outputs, count);
  SmallVector<Value> pieces;
  for (int64_t i = 0; i != loads; ++i) {
    pieces.push_back(read(quad, resource, offset));
    offset = emit.add(offset, further);
  }
  return pieces;
}

/// `value` of lane `lane` of this wave.
static Value ofLane(Emitter &emit, Value value, Value lane) {
  Value bits = LLVM::BitcastOp::create(emit, emit.getI32Type(), value);
  Value found = ROCDL::DsBpermuteOp::create(emit, emit.getI32Type(), emit.mul(lane, emit.i32(4)), bits);
  return LLVM::BitcastOp::create(emit, value.getType(), found);
}

/// The sum is of this lane's slices, each of which one lane has; the rest is the row's.
RowState SharedCombineEmitter::foldTurn(const RowState &before, const Slices &outputs, const Slices &logs, Value left) {
  Value count = arith::MinSIOp::create(emit, left, emit.i32(sharing * ofLoad * loads));
  Value lse = loadLse(logs, count);
  SmallVector<Value> pieces = loadPieces(outputs, count);
  ROCDL::SchedBarrier::create(emit, /*mask=*/0); // LLVM would save registers, and have the last load wait for the LSE
  auto greater = [&](Value a, Value b) -> Value { return arith::MaxNumFOp::create(emit, a, b); };
  RowState state;
  state.greatest = greater(before.greatest, combineLanes(emit, kernel, lse, kAllLanes, greater));
  Value from = reference(state.greatest), shrink = weight(before.greatest, from), own = weight(lse, from);
  state.sum = LLVM::FMAOp::create(emit, before.sum, shrink, own);
  state.output = arith::MulFOp::create(emit, before.output, spread(shrink));
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    Value by = ofLane(emit, own, emit.add(laneRow, emit.i32(static_cast<int64_t>(i) * ofLoad)));
    state.output = LLVM::FMAOp::create(emit, piece, spread(by), state.output);
  }
  return state;
}

RowState SharedCombineEmitter::foldOwn() {
  Value ofBatch = emit.mul(batch, splits), wide = emit.i64(kWideBytes);
  Value logStart = emit.offset(elementAddress(emit, partialLse, {ofBatch, head}), emit.mul(emit.toI64(row), wide));
  Slices logs = {logStart, emit.mul(partialLse.stride(0), wide), kWideBytes};
  Slices outputs = {elementAddress(emit, partial, {ofBatch, row, head}), emit.mul(partial.stride(0), wide),
                    op.getColumns() * kWideBytes};
  Value slices = arith::SelectOp::create(emit, hasRows(), splits, emit.i32(0));
  const RowState none = nothing();
  const int64_t ofTurn = sharing * ofLoad * loads;
  auto loop = scf::ForOp::create(emit, emit.i32(0), slices, emit.i32(ofTurn),
                                 ValueRange{none.greatest, none.sum, none.output, outputs.start, logs.start});
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  outputs.start = carried[3], logs.start = carried[4];
  Value left = arith::SubIOp::create(emit, slices, loop.getInductionVar());
  RowState next = foldTurn({carried[0], carried[1], carried[2]}, outputs, logs, left);
  auto further = [&](const Slices &of) { return emit.offset(of.start, emit.mul(of.step, emit.i64(ofTurn))); };
  scf::YieldOp::create(emit, ValueRange{next.greatest, next.sum, next.output, further(outputs), further(logs)});
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

void SharedCombineEmitter::handOver(const RowState &own) {
  Value pair = vector::FromElementsOp::create(emit, VectorType::get({2}, emit.getF32Type()),
                                              ValueRange{own.greatest, own.sum});
  Value lanes = emit.mul(kernel.wave, emit.i32(kWaveLanes));
  LLVM::StoreOp::create(emit, pair, emit.offset(sums, emit.mul(lanes, emit.i32(kSumBytes))), kSumBytes);
  LLVM::StoreOp::create(emit, own.output, emit.offset(quads, emit.mul(lanes, emit.i32(kQuadBytes))), kQuadBytes);
  meetThroughLds(emit);
}

/// Of the waves that share this one's row, which is the first of them, by the lanes of the same number.
SmallVector<RowState> SharedCombineEmitter::readParts() {
  Value lanes = emit.mul(kernel.wave, emit.i32(kWaveLanes));
  auto readOf = [&](Value from, Type type, int64_t wave, int64_t bytes) -> Value {
    Value first = emit.offset(from, emit.mul(lanes, emit.i32(bytes)));
    return LLVM::LoadOp::create(emit, type, emit.offset(first, emit.i32(wave * kWaveLanes * bytes)), bytes);
  };
  SmallVector<RowState> parts;
  for (int64_t wave = 0; wave != sharing; ++wave) {
    Value pair = readOf(sums, VectorType::get({2}, emit.getF32Type()), wave, kSumBytes);
    parts.push_back({emit.element(pair, 0), emit.element(pair, 1), {}});
  }
  for (auto [wave, part] : llvm::enumerate(parts))
    part.output = readOf(quads, quad, static_cast<int64_t>(wave), kQuadBytes);
  return parts;
}

RowState SharedCombineEmitter::foldWaves() {
  const SmallVector<RowState> parts = readParts();
  RowState all = nothing();
  for (const RowState &part : parts)
    all.greatest = arith::MaxNumFOp::create(emit, all.greatest, part.greatest);
  Value from = reference(all.greatest);
  for (const RowState &part : parts) {
    Value by = weight(part.greatest, from);
    all.sum = LLVM::FMAOp::create(emit, part.sum, by, all.sum);
    all.output = LLVM::FMAOp::create(emit, part.output, spread(by), all.output);
  }
  auto sum = [&](Value a, Value b) -> Value { return arith::AddFOp::create(emit, a, b); };
  all.sum = combineLanes(emit, kernel, all.sum, kAllLanes, sum);
  const uint64_t groups = kWaveLanes - op.getLanesOfRow(); // the bits of a lane's number that say which slices it has
  SmallVector<Value> elements;
  for (int64_t i = 0; i != kPerLane; ++i)
    elements.push_back(combineLanes(emit, kernel, emit.element(all.output, i), groups, sum));
  all.output = vector::FromElementsOp::create(emit, quad, elements);
  // One of the lanes that have the same piece stores it.
  laneRow = emit.i32(0), piece = kernel.lane;
  if (op.getColumns() / kPerLane < kWaveLanes)
    exists = compare(emit, arith::CmpIPredicate::ult, piece, emit.i32(op.getColumns() / kPerLane));
  return all;
}
