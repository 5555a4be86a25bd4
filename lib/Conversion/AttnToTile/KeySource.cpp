// Keys and values whose rows follow one another.
#include "KeySource.h"

#include "Forward.h"
#include "RingSteps.h"

#include "Tile/IR/FragmentAccess.h"

#include "IR/ElementTypes.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

std::unique_ptr<KeySource> KeySource::create(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences) {
  if (op.getPageSize())
    return createPagedKeys(op, loop, sequences);
  return std::make_unique<KeySource>(op, loop, sequences);
}

KeySource::KeySource(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences)
    : headDim(op.getHeadDim()), headDimV(op.getValueHeadDim()), depth(llvm::alignTo(headDim, kHeadBlock)),
      depthV(llvm::alignTo(headDimV, kHeadBlock)), loop(loop), sequences(sequences) {}

void KeySource::addTensors(KernelFrame &frame) const {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  for (auto [name, dim, element] :
       {std::tuple("k", headDim, loop.element.k), std::tuple("v", headDimV, loop.element.v)})
    frame.addTensor(tile::ViewType::get(frame.context(), {dynamic, dynamic, dynamic, countInMemory(element, dim)}, inMemory(element)),
                    tensor(frame, name));
}

void KeySource::enter() {
  k = sequences.ofKeys(loop.builder, k), v = sequences.ofKeys(loop.builder, v);
}

Value KeySource::count() const { return tile::DimOp::create(loop.builder, k, 1); }

Value KeySource::moveTo(const WorkPartition::Slice &slice) {
  k = tile::SliceRowsOp::create(loop.builder, k, slice.firstKey, slice.size);
  v = tile::SliceRowsOp::create(loop.builder, v, slice.firstKey, slice.size);
  return tile::DimOp::create(loop.builder, k, 1);
}

Value KeySource::ring(Type type, Value view, ValueRange indices) const {
  return tile::RingOp::create(loop.builder, type, view, indices, IntegerAttr(), IntegerAttr(), nullptr);
}

void KeySource::makeRings(Value batch, Value kvHead) {
  auto typeOf = [&](int64_t columns, Type element) {
    int64_t shape[] = {loop.shape.kvTile, countInMemory(element, columns)};
    return tile::RingType::get(loop.builder.getContext(), shape, inMemory(element));
  };
  keys = ring(typeOf(depth, loop.element.k), k, {batch, kvHead});
  values = ring(typeOf(depthV, loop.element.v), v, {batch, kvHead});
}

SmallVector<Value> KeySource::fetchSteps(const TileVisit &visit, Value t, ValueRange) {
  auto number = [&] { return visit.isInOrder() ? Value() : visit.number(loop.builder, t); };
  auto next = [&] { return visit.next(loop.builder, t); };
  FetchAhead ahead;
  ahead.number = number, ahead.next = next;
  return hocket::fetchSteps(loop.builder, loop.arch, loop.shape.waves, {{"k", {keys}}, {"v", {values}}}, t, ahead);
}

/// An operand as it is in memory, in the type that it is multiplied in.
Value KeySource::widened(Value read) const {
  auto type = cast<tile::FragType>(read.getType());
  Type stored = type.getElementType(), element = loop.element.operand(stored);
  if (element == stored)
    return read;
  Type wide = tile::FragType::get(type.getContext(), type.getShape(), element, type.getRegisterLayout());
  return loop.builder.map(wide, read, [&](ValueRange numbers) -> Value {
    return arith::ExtFOp::create(loop.builder, element, numbers.front());
  });
}

Value KeySource::readKeys(Value t) {
  Type type = loop.beside(loop.waveKeys(), depth, loop.element.k, loop.element.k, FragLayout::Lhs);
  Value read = tile::ReadOp::create(loop.builder, type, keys, t, Value(), loop.keyPart);
  return widened(withoutPadding(loop.builder, read, headDim));
}

Value KeySource::readValues(const TileVisit &, Value t, Value) {
  Type type = loop.beside(depthV, loop.waveKeys(), loop.element.v, loop.element.v, FragLayout::LhsAcc, outputRun());
  return widened(tile::ReadTransposedOp::create(loop.builder, type, values, t, Value(), loop.keyPart));
}

/// Transposed reads of 16 bits have any order of columns by fours.
int64_t KeySource::outputRun() const {
  constexpr unsigned bits = 16;
  return bitsOf(loop.element.v) == bits && loop.arch.hasTransposedRead(bits) ? tile::kAccumulatorRun : 0;
}
