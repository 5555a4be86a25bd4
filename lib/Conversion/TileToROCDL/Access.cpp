// Loads, stores and additions of what lanes share: fragments, row and column values, in any layout,
// at any place.
//
// A descriptor begins at the place and ends with the last row that exists, so that rows need no
// compare. Columns do, since the next row begins where a row ends. Both the wide accesses and those
// element by element are written out where it is not known which will do: a branch of the wave
// takes the wide ones if the view has all of the columns and everything lies at multiples of a
// dword (the hardware ignores the lowest two bits of wide accesses).
//
// Where each element lies is the fragment's map (Tile/IR/FragmentMap.h): an offset that depends on
// the lane, once, plus a step for each access.
#include "Access.h"
#include "SmallFloats.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kWordBytes = 4, kWidestBytes = 16;

static Value both(Emitter &emit, Value a, Value b) {
  return a ? arith::AndIOp::create(emit, a, b).getResult() : b;
}

Value hocket::lowering::placeExists(Emitter &emit, const ViewValues &view,
                                    ArrayRef<Value> indices) {
  // As unsigned numbers: what is negative is beyond every extent.
  Value exists;
  for (auto [dimension, index] : llvm::enumerate(indices))
    exists = both(emit, exists,
                  compare(emit, arith::CmpIPredicate::ult, index, view.extent(emit, dimension)));
  return exists;
}

Value hocket::lowering::placeAddress(Emitter &emit, const ViewValues &view,
                                     ArrayRef<Value> indices) {
  Value address = view.pointer();
  size_t leading = indices.size() - 1;
  if (leading != 0)
    address = elementAddress(emit, view, indices.drop_back());
  return emit.offset(address, emit.mul(emit.toI64(indices.back()), emit.i64(view.elementBytes())));
}

/// How often `divisor` is in `number`, neither of more bits than f32 has: LLVM divides those in few instructions.
static Value quotientOfPairs(Emitter &emit, Value number, Value divisor) {
  constexpr int64_t bits = (int64_t(1) << 24) - 1;
  auto narrow = [&](Value value) -> Value { return arith::AndIOp::create(emit, value, emit.i32(bits)); };
  return arith::DivUIOp::create(emit, narrow(number), narrow(divisor));
}

RowPairs::RowPairs(Emitter &emit, Value first, std::pair<Value, Value> extents, std::pair<Value, Value> strides)
    : strides(strides) {
  auto [slow, fast] = extents;
  // Of a dimension without places there are no pairs, and nothing is divided by 0.
  perSlow = arith::MaxSIOp::create(emit, fast, emit.i32(1));
  slowPlace = emit.uniform(quotientOfPairs(emit, first, perSlow));
  fastPlace = arith::SubIOp::create(emit, first, emit.mul(slowPlace, perSlow));
  Value behind = arith::SubIOp::create(emit, slow, slowPlace);
  Value any = compare(emit, arith::CmpIPredicate::sgt, fast, emit.i32(0));
  left = arith::SelectOp::create(emit, any, arith::MaxSIOp::create(emit, behind, emit.i32(0)), emit.i32(0));
}

Value RowPairs::span(Emitter &emit, int64_t rows) const {
  Value one = emit.i32(1);
  Value slow = arith::SubIOp::create(emit, arith::MinSIOp::create(emit, left, emit.i32(rows)), one);
  Value fast = arith::SubIOp::create(emit, perSlow, one);
  return emit.add(emit.mul(emit.toI64(slow), strides.first), emit.mul(emit.toI64(fast), strides.second));
}

Value RowPairs::strideBits(Emitter &emit) const {
  return emit.toI32(arith::OrIOp::create(emit, strides.first, strides.second));
}

RowPairs::Place RowPairs::placeOf(Emitter &emit, Value number) const {
  Value slow = quotientOfPairs(emit, number, perSlow);
  Value fast = arith::SubIOp::create(emit, number, emit.mul(slow, perSlow));
  return {fast, bytesTo(emit, slow, fast)};
}

Value RowPairs::bytesTo(Emitter &emit, Value slow, Value fast) const {
  return emit.add(emit.mul(slow, emit.toI32(strides.first)), emit.mul(fast, emit.toI32(strides.second)));
}

RowPairs::Place RowPairs::placeBehind(Emitter &emit, const Place &place, int64_t rows) const {
  Value number = emit.i32(rows);
  Value slow = emit.uniform(quotientOfPairs(emit, number, perSlow));
  Value more = arith::SubIOp::create(emit, number, emit.mul(slow, perSlow));
  Value fast = emit.add(place.fast, more);
  Value isNext = compare(emit, arith::CmpIPredicate::uge, fast, perSlow);
  auto ifNext = [&](Value value) -> Value { return arith::SelectOp::create(emit, isNext, value, emit.i32(0)); };
  Value toNext = bytesTo(emit, emit.i32(1), arith::SubIOp::create(emit, emit.i32(0), perSlow));
  return {arith::SubIOp::create(emit, fast, ifNext(perSlow)),
          emit.add(emit.add(place.offset, bytesTo(emit, slow, more)), ifNext(toNext))};
}

SmallVector<Value> RowPairs::offsets(Emitter &emit, Value laneRow, ArrayRef<int64_t> steps) const {
  // Numbers of pairs that there are lie below this. A lane and a step reach over no more slow places than there are rows,
  // and of pairs there are at most 2^23 and some rows.
  constexpr int64_t kMostSlow = 255, kBeyond = int64_t(1) << 30;
  Value slow = arith::MinSIOp::create(emit, left, emit.i32(kMostSlow));
  Value end = arith::MinUIOp::create(emit, emit.mul(slow, perSlow), emit.i32(kBeyond));
  Value first = emit.add(fastPlace, laneRow);
  Place place = placeOf(emit, emit.add(first, emit.i32(steps.front())));
  SmallVector<Value> result;
  for (auto [index, step] : llvm::enumerate(steps)) {
    if (index != 0)
      place = placeBehind(emit, place, step - steps[index - 1]);
    Value exists = compare(emit, arith::CmpIPredicate::slt, first, arith::SubIOp::create(emit, end, emit.i32(step)));
    if (counts)
      exists = arith::AndIOp::create(emit, exists, counts);
    result.push_back(arith::SelectOp::create(emit, exists, place.offset, emit.i32(static_cast<int32_t>(kOutOfBounds))));
  }
  return result;
}

AccessEmitter::AccessEmitter(Emitter &emit, const KernelValues &kernel,
                             const tile::MemoryAccess &access, ValueRange viewValues,
                             ArrayRef<ValueRange> indexValues, Words words, Gather gather)
    : shape(tile::shapeOf(access)), emit(emit), kernel(kernel), viewType(access.view.getType()),
      elementBytes(bytesOf(viewType.getElementType())), words(words) {
  if (gather != Gather::No)
    lines.emplace(shape, elementBytes);
  linesOnly = gather == Gather::LinesOnly;
  bool isOfPairs = words == Words::Whole || words == Words::Aligned;
  int64_t widestBytes = isOfPairs ? kWordBytes : kWidestBytes;
  widest = std::min(shapeFor(Width::Wide).run(), widestBytes / elementBytes);
  SmallVector<Value> indices;
  for (ValueRange index : indexValues)
    indices.push_back(index.front());
  int64_t extent = viewType.getShape().back();
  if (static_cast<int64_t>(indices.size()) < viewType.getRank()) {
    indices.push_back(emit.i32(0));
    if (!ShapedType::isDynamic(extent))
      knownColumns = std::min(shape.columns, extent);
  }
  if (words == Words::WholeRows && !ShapedType::isDynamic(extent))
    knownColumns = std::min(shape.columns, extent);
  if (shape.columns == 1)
    knownColumns = 1; // the place itself
  const ViewValues view(viewType, viewValues);
  if (access.over)
    describePairs(view, indices, *access.over);
  else
    describe(view, indices, access.dimension());
}

/// As `describe` has it, but the descriptor ends with the furthest pair, and offsets say which there are.
void AccessEmitter::describePairs(const ViewValues &view, ArrayRef<Value> indices, std::pair<int64_t, int64_t> over) {
  auto [slow, fast] = over;
  int64_t last = viewType.getRank() - 1;
  auto strideOf = [&](int64_t dimension) -> Value {
    Value bytes = emit.i64(elementBytes);
    return dimension == last ? bytes : emit.mul(view.stride(dimension), bytes);
  };
  pairs.emplace(emit, indices[slow], std::pair(view.extent(emit, slow), view.extent(emit, fast)),
                std::pair(strideOf(slow), strideOf(fast)));
  SmallVector<Value> first(indices);
  first[slow] = pairs->firstSlow(), first[fast] = emit.i32(0);
  rowStride = pairs->strideBits(emit);
  bool hasColumns = slow != last && fast != last;
  columnsLeft = hasColumns ? arith::SubIOp::create(emit, view.extent(emit, last), first[last]).getResult() : emit.i32(1);
  Value columns = arith::MinSIOp::create(emit, columnsLeft, emit.i32(shape.columns));
  Value ofLastRow = emit.toI64(emit.mul(columns, emit.i32(elementBytes)));
  Value bytes = arith::SelectOp::create(emit, placeExists(emit, view, first),
                                        emit.add(pairs->span(emit, shape.rows), ofLastRow), emit.i64(0));
  Value start = placeAddress(emit, view, first);
  resource = emit.bufferResource(start, bytes);
  own = lanePlace(shape);
  if (widest > 1)
    isWide = wideCondition(start);
}

/// The descriptor ends with the last element of the last row that exists, and is empty if the place
/// is not one of the view's.
void AccessEmitter::describe(const ViewValues &view, ArrayRef<Value> indices, int64_t along) {
  int64_t last = viewType.getRank() - 1;
  bool hasRows = along != last;
  Value stride = hasRows ? emit.mul(view.stride(along), emit.i64(elementBytes)) : emit.i64(0);
  rowStride = emit.toI32(stride);
  Value rows = emit.i32(1);
  if (hasRows) {
    Value left = arith::SubIOp::create(emit, view.extent(emit, along), indices[along]);
    rows = arith::MinSIOp::create(emit, left, emit.i32(shape.rows));
  }
  columnsLeft = arith::SubIOp::create(emit, view.extent(emit, last), indices[last]);
  Value columns = arith::MinSIOp::create(emit, columnsLeft, emit.i32(shape.columns));
  Value before = emit.mul(emit.toI64(arith::SubIOp::create(emit, rows, emit.i32(1))), stride);
  Value ofLastRow = emit.toI64(emit.mul(columns, emit.i32(elementBytes)));
  Value bytes = arith::SelectOp::create(emit, placeExists(emit, view, indices),
                                        emit.add(before, ofLastRow), emit.i64(0));
  Value start = placeAddress(emit, view, indices), address = start;
  Value skipped = emit.i32(0);
  if (words == Words::Whole)
    std::tie(address, bytes, skipped) = inWholeWords(address, bytes);
  resource = emit.bufferResource(address, bytes);

  own = lanePlace(shape);
  own.offset = emit.add(own.offset, skipped);
  // The hardware checks each dword: of a single row, the descriptor's end is that of the columns.
  if (!hasRows && elementBytes == kWordBytes)
    knownColumns = shape.columns;
  if (widest > 1)
    isWide = wideCondition(start);
}

AccessEmitter::LanePlace AccessEmitter::lanePlace(const tile::AccessShape &shape) const {
  Value column = emit.linear(shape.map, dims::Lane, dims::Col, kernel.lane);
  if (pairs)
    return {emit.mul(column, emit.i32(elementBytes)), column};
  Value row = emit.linear(shape.map, dims::Lane, dims::Row, kernel.lane);
  return {emit.add(emit.mul(row, rowStride), emit.mul(column, emit.i32(elementBytes))), column};
}

/// Where the word of `address` begins, the bytes of whole words from there on, and by how much it
/// lies in front.
std::tuple<Value, Value, Value> AccessEmitter::inWholeWords(Value address, Value bytes) {
  Value low = emit.toI32(LLVM::PtrToIntOp::create(emit, emit.getI64Type(), address));
  Value skipped = arith::AndIOp::create(emit, low, emit.i32(kWordBytes - 1));
  Value start = emit.offset(address, emit.toI64(arith::SubIOp::create(emit, emit.i32(0), skipped)));
  Value end = emit.add(emit.add(bytes, emit.toI64(skipped)), emit.i64(kWordBytes - 1));
  Value whole = arith::AndIOp::create(emit, end, emit.i64(-kWordBytes));
  Value any = compare(emit, arith::CmpIPredicate::ne, bytes, emit.i64(0));
  return {start, arith::SelectOp::create(emit, any, whole, emit.i64(0)), skipped};
}

Value AccessEmitter::wideCondition(Value address) const {
  Value condition;
  if (!knownColumns || *knownColumns % widest != 0)
    condition = compare(emit, arith::CmpIPredicate::sge, columnsLeft, emit.i32(shape.columns));
  if (words == Words::Aligned || words == Words::WholeRows || elementBytes >= kWordBytes || widest * elementBytes < kWordBytes)
    return condition;
  Value low = emit.toI32(LLVM::PtrToIntOp::create(emit, emit.getI64Type(), address));
  Value bits = arith::AndIOp::create(emit, arith::OrIOp::create(emit, low, rowStride),
                                     emit.i32(kWordBytes - 1));
  return both(emit, condition, compare(emit, arith::CmpIPredicate::eq, bits, emit.i32(0)));
}

void AccessEmitter::excludeCopies() {
  uint64_t copies = shape.copyBits();
  if (copies == 0)
    return;
  Value bits = arith::AndIOp::create(emit, kernel.lane, emit.i32(static_cast<int64_t>(copies)));
  Value isFirst = compare(emit, arith::CmpIPredicate::eq, bits, emit.i32(0));
  if (pairs)
    return pairs->only(isFirst);
  own.offset = arith::SelectOp::create(emit, isFirst, own.offset,
                                       emit.i32(static_cast<int32_t>(kOutOfBounds)));
}

void AccessEmitter::holdOffsets(Value place) {
  own.offset = LLVM::InlineAsmOp::create(emit, TypeRange(emit.getI32Type()), ValueRange{own.offset, place},
                                         /*asm_string=*/"", /*constraints=*/"=v,0,s", /*has_side_effects=*/false,
                                         /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                         LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT),
                                         ArrayAttr())
                   .getResult(0);
}

/// `offset`, or one that is out of bounds where the `count` columns from `column` on, counted from
/// the lane's first, do not exist.
Value AccessEmitter::within(const LanePlace &lane, Value offset, int64_t column, int64_t count,
                            Width width) {
  uint64_t reach = shapeFor(width).map.reach(dims::Lane, dims::Col);
  int64_t furthest = column + static_cast<int64_t>(reach) + count;
  if (knownColumns ? furthest <= *knownColumns : width == Width::Wide)
    return offset;
  Value end = knownColumns ? emit.i32(*knownColumns) : columnsLeft;
  Value exists = compare(emit, arith::CmpIPredicate::slt, emit.add(lane.column, emit.i32(column)),
                         end);
  return arith::SelectOp::create(emit, exists, offset,
                                 emit.i32(static_cast<int32_t>(kOutOfBounds)));
}

std::map<int64_t, Value> AccessEmitter::pairOffsets(const tile::AccessShape &shape) const {
  std::map<int64_t, Value> offsets;
  if (!pairs)
    return offsets;
  for (const tile::RowAndColumn &origin : shape.origins)
    for (int64_t i = 0; i != shape.registers; ++i)
      offsets[origin.row + shape.ofRegister(i, dims::Row)] = Value();
  SmallVector<int64_t> steps = llvm::map_to_vector(offsets, [](const auto &entry) { return entry.first; });
  Value laneRow = emit.linear(shape.map, dims::Lane, dims::Row, kernel.lane);
  for (auto [entry, offset] : llvm::zip_equal(offsets, pairs->offsets(emit, laneRow, steps)))
    entry.second = offset;
  return offsets;
}

SmallVector<Run> AccessEmitter::runs(Width width) {
  const tile::AccessShape &shape = shapeFor(width);
  int64_t count = width == Width::Wide ? widest : 1;
  // What is rearranged has no copies to exclude, and its descriptor begins with the place.
  LanePlace lane = &shape == &this->shape ? own : lanePlace(shape);
  SmallVector<Run> result;
  std::map<int64_t, Value> ofRows = pairOffsets(shape);
  for (auto [piece, origin] : llvm::enumerate(shape.origins))
    for (int64_t first = 0; first != shape.registers; first += count) {
      int64_t row = origin.row + shape.ofRegister(first, dims::Row);
      int64_t column = origin.column + shape.ofRegister(first, dims::Col);
      Value begin = pairs ? emit.add(ofRows[row], lane.offset) : lane.offset;
      Value offset = emit.add(begin, emit.i32(column * elementBytes));
      result.push_back({piece, first, count, within(lane, offset, column, count, width),
                        pairs ? emit.i32(0) : emit.mul(rowStride, emit.i32(row))});
    }
  return result;
}

SmallVector<Type> AccessEmitter::piecesOf(Width width, Type element) const {
  const tile::AccessShape &shape = shapeFor(width);
  return SmallVector<Type>(shape.origins.size(), VectorType::get({shape.registers}, storedType(element)));
}

SmallVector<Type> AccessEmitter::linePieces(Width width, Type element) const {
  return &shapeFor(width) == &shape ? SmallVector<Type>() : piecesOf(width, element);
}

SmallVector<Value> AccessEmitter::fromLines(ValueRange pieces) const {
  return lines->scatter(emit, kernel, pieces);
}

SmallVector<Value> AccessEmitter::piecesFor(Width width, ValueRange pieces) const {
  if (lines && width == Width::Wide)
    return lines->gather(emit, kernel, pieces);
  return pieces;
}

SmallVector<Value>
AccessEmitter::emitRuns(TypeRange results,
                        function_ref<SmallVector<Value>(ArrayRef<Run>, Width)> emitRuns) {
  if (widest == 1)
    return emitRuns(runs(Width::ByElement), Width::ByElement);
  if (!isWide)
    return emitRuns(runs(Width::Wide), Width::Wide);
  auto branch = scf::IfOp::create(emit, results, isWide, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(emit);
  for (Width width : {Width::Wide, Width::ByElement}) {
    // A branch without results comes with its yields.
    emit.setInsertionPointToStart(width == Width::ByElement ? branch.elseBlock()
                                                            : branch.thenBlock());
    SmallVector<Value> values = emitRuns(runs(width), width);
    if (!results.empty())
      scf::YieldOp::create(emit, values);
  }
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// What `bytes` bytes of a lane are loaded and stored as.
static Type wordsType(Emitter &emit, int64_t bytes) {
  if (bytes <= kWordBytes)
    return emit.getIntegerType(bytes * 8);
  return VectorType::get({bytes / kWordBytes}, emit.getI32Type());
}

/// `element`, or a vector of `count`.
static Type several(Type element, int64_t count) {
  return count == 1 ? element : Type(VectorType::get({count}, element));
}

/// `value`, one or several elements, as `element`, by the one of two ops that floats or integers
/// take.
template <class FloatOp, class IntegerOp>
static Value convertElements(Emitter &emit, Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  Type type = vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  if (isa<FloatType>(element))
    return FloatOp::create(emit, type, value);
  return IntegerOp::create(emit, type, value);
}

Value hocket::lowering::widenElements(Emitter &emit, Value value, Type from, Type to) {
  if (from == to)
    return value;
  return isSmallFloat(from) ? widenSmall(emit, value, from)
                            : convertElements<LLVM::FPExtOp, LLVM::SExtOp>(emit, value, to);
}

Value hocket::lowering::narrowElements(Emitter &emit, Value value, Type from, Type to) {
  if (from == to)
    return value;
  return isSmallFloat(to) ? narrowSmall(emit, value, to)
                          : convertElements<LLVM::FPTruncOp, LLVM::TruncOp>(emit, value, to);
}

Value hocket::lowering::loadElements(Emitter &emit, Type element, int64_t count, Value resource,
                                     Value offset, Value step) {
  Type words = wordsType(emit, count * bytesOf(element)), type = several(storedType(element), count);
  Value loaded = ROCDL::RawPtrBufferLoadOp::create(emit, words, resource, offset, step, emit.i32(0),
                                                   ArrayAttr(), ArrayAttr(), ArrayAttr());
  return words == type ? loaded : LLVM::BitcastOp::create(emit, type, loaded).getResult();
}

void hocket::lowering::storeElements(Emitter &emit, Value value, Value resource, Value offset,
                                     Value step) {
  auto vector = dyn_cast<VectorType>(value.getType());
  int64_t count = vector ? vector.getNumElements() : 1;
  Type words = wordsType(emit, count * bytesOf(getElementTypeOrSelf(value.getType())));
  if (words != value.getType())
    value = LLVM::BitcastOp::create(emit, words, value);
  // LLVM 22 keeps the next instruction from overwriting the data of a wide store only where the
  // scalar offset is constant (docs/Hardware.md, section 3).
  constexpr int64_t widestWithStep = 8;
  if (count * bytesOf(getElementTypeOrSelf(value.getType())) > widestWithStep) {
    offset = emit.add(offset, step);
    step = emit.i32(0);
  }
  ROCDL::RawPtrBufferStoreOp::create(emit, value, resource, offset, step, emit.i32(0), ArrayAttr(),
                                     ArrayAttr(), ArrayAttr());
}

void hocket::lowering::addElements(Emitter &emit, Value value, Value resource, Value offset,
                                   Value step) {
  ROCDL::RawPtrBufferAtomicFaddOp::create(emit, value, resource, offset, step, emit.i32(0),
                                          ArrayAttr(), ArrayAttr(), ArrayAttr());
}

Value hocket::lowering::pairWith(Emitter &emit, Value value, Value offset) {
  // Adding -0 changes no number, 0 of either sign among them.
  constexpr int64_t minusZero = 0x8000;
  Type element = value.getType();
  Value bits = LLVM::BitcastOp::create(emit, emit.getI16Type(), value);
  Value wide = arith::ExtUIOp::create(emit, emit.getI32Type(), bits);
  Value low = arith::OrIOp::create(emit, wide, emit.i32(int32_t(minusZero << 16)));
  Value high = arith::OrIOp::create(emit, arith::ShLIOp::create(emit, wide, emit.i32(16)),
                                    emit.i32(minusZero));
  Value half = arith::AndIOp::create(emit, offset, emit.i32(2));
  Value isLow = compare(emit, arith::CmpIPredicate::eq, half, emit.i32(0));
  Value pair = arith::SelectOp::create(emit, isLow, low, high);
  return LLVM::BitcastOp::create(emit, VectorType::get({2}, element), pair);
}

LogicalResult hocket::lowering::verifyAdds(tile::AtomicAddOp op, const ArchInfo &arch) {
  if (!op.getView().getType().getElementType().isBF16() || arch.features.bf16BufferAdd)
    return success();
  return op.emitOpError() << "adds to a view of bf16, which " << arch.name
                          << " cannot do in memory; use a view of f32 or f16";
}
