// Loads, stores and additions of what lanes share (Access.cpp says how).
#include "Access.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// `run` of `pieces`, converted values.
static Value takeRun(Emitter &emit, ValueRange pieces, const Run &run) {
  Value piece = pieces[run.piece];
  auto vector = dyn_cast<VectorType>(piece.getType());
  if (!vector || vector.getNumElements() == run.count)
    return vector && run.count == 1 ? emit.element(piece, 0) : piece;
  if (run.count == 1)
    return emit.element(piece, run.first);
  return vector::ExtractStridedSliceOp::create(emit, piece, run.first, run.count, 1);
}

static void putRun(Emitter &emit, SmallVectorImpl<Value> &pieces, const Run &run, Value value) {
  Value &piece = pieces[run.piece];
  auto vector = dyn_cast<VectorType>(piece.getType());
  if (!vector || (vector.getNumElements() == run.count && run.count > 1))
    piece = value;
  else if (run.count == 1)
    piece = vector::InsertOp::create(emit, value, piece, run.first);
  else
    piece = vector::InsertStridedSliceOp::create(emit, value, piece, run.first, /*strides=*/1);
}

/// Vectors for the pieces that runs of `width` name: of the lanes' own order, or of lines.
static SmallVector<Type> storedPieces(const AccessEmitter &emitter, Width width, Type stored) {
  SmallVector<Type> types = emitter.linePieces(width, stored);
  if (!types.empty())
    return types;
  Type piece = stored;
  if (!emitter.shape.isScalar)
    piece = VectorType::get({emitter.shape.registers}, stored);
  return SmallVector<Type>(emitter.shape.origins.size(), piece);
}

/// What `runs` load, in pieces of `types` of the view's elements `stored`.
static SmallVector<Value> loadRuns(Emitter &emit, const AccessEmitter &emitter, ArrayRef<Run> runs, TypeRange types,
                                   Type stored) {
  SmallVector<Value> pieces, loaded;
  for (Type type : types)
    pieces.push_back(LLVM::PoisonOp::create(emit, type));
  for (const Run &run : runs)
    loaded.push_back(loadElements(emit, stored, run.count, emitter.resource, run.offset, run.step));
  for (auto [run, value] : llvm::zip_equal(runs, loaded))
    putRun(emit, pieces, run, value);
  return pieces;
}

/// `pieces`, as runs of `width` name them, in the lanes' own order and as `element`.
static SmallVector<Value> settlePieces(Emitter &emit, const AccessEmitter &emitter, SmallVector<Value> pieces, Width width,
                                       Type stored, Type element) {
  if (!emitter.linePieces(width, stored).empty())
    pieces = emitter.fromLines(pieces);
  for (Value &piece : pieces)
    piece = widenElements(emit, piece, element);
  return pieces;
}

/// The registers of vectors, one by one.
static SmallVector<Value> registersOf(Emitter &emit, ValueRange vectors) {
  SmallVector<Value> registers;
  for (Value vector : vectors) {
    auto type = cast<VectorType>(vector.getType());
    int64_t count = type.getNumElements() * type.getElementTypeBitWidth() / 32;
    Value words = vector;
    if (!type.getElementType().isInteger(32))
      words = LLVM::BitcastOp::create(emit, VectorType::get({count}, emit.getI32Type()), vector);
    for (int64_t i = 0; i != count; ++i)
      registers.push_back(emit.element(words, i));
  }
  return registers;
}

/// The same registers as other vectors.
static SmallVector<Value> asVectors(Emitter &emit, ValueRange vectors, TypeRange types) {
  if (vectors.getTypes() == types)
    return llvm::to_vector(vectors);
  SmallVector<Value> registers = registersOf(emit, vectors), result;
  ArrayRef<Value> left = registers;
  for (Type type : types) {
    auto wanted = cast<VectorType>(type);
    int64_t count = wanted.getNumElements() * wanted.getElementTypeBitWidth() / 32;
    Value words = vector::FromElementsOp::create(emit, VectorType::get({count}, emit.getI32Type()), left.take_front(count));
    left = left.drop_front(count);
    result.push_back(words.getType() == type ? words : LLVM::BitcastOp::create(emit, type, words).getResult());
  }
  return result;
}

namespace {
/// Whole lines where the op asks for them and lanes exchange in one instruction.
template <class Op> Gather gatherOf(Op op, const KernelValues &kernel) {
  return op->hasAttr(tile::kWholeLines) && kernel.arch->features.permlaneSwap ? Gather::Lines : Gather::No;
}

struct LoadPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    if (access.isNumber() || tile::isOfWholeHeadRows(access))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    AccessEmitter emitter(emit, kernel, access, adaptor.getView(), adaptor.getIndices(), Words::AsTheyLie,
                          gatherOf(op, kernel));
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    Type stored = op.getView().getType().getElementType(), element = access.elementType();
    SmallVector<Value> results = emitter.emitRuns(types, [&](ArrayRef<Run> runs, Width width) {
      SmallVector<Type> ofLines = emitter.linePieces(width, stored);
      if (!ofLines.empty())
        return settlePieces(emit, emitter, loadRuns(emit, emitter, runs, ofLines, stored), width, stored, element);
      SmallVector<Value> pieces, loaded;
      for (Type type : types)
        pieces.push_back(LLVM::PoisonOp::create(emit, type));
      for (const Run &run : runs)
        loaded.push_back(
            loadElements(emit, stored, run.count, emitter.resource, run.offset, run.step));
      for (auto [run, value] : llvm::zip_equal(runs, loaded))
        putRun(emit, pieces, run, widenElements(emit, value, element));
      return pieces;
    });
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

/// Registers as instructions bring them. Which way they came, `EndLoadPattern` finds out as this does.
struct BeginLoadPattern : TilePattern<tile::BeginLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BeginLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    AccessEmitter emitter(emit, kernel, access, adaptor.getView(), adaptor.getIndices(), Words::AsTheyLie,
                          gatherOf(op, kernel));
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getPending().getType(), types)))
      return failure();
    Type stored = op.getView().getType().getElementType();
    SmallVector<Value> results = emitter.emitRuns(types, [&](ArrayRef<Run> runs, Width width) {
      SmallVector<Type> pieces = storedPieces(emitter, width, stored);
      return asVectors(emit, loadRuns(emit, emitter, runs, pieces, stored), types);
    });
    stay(emit);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }

  /// Waits count these loads here: an empty statement that may write to any memory keeps LLVM from asking later.
  static void stay(Emitter &emit) {
    LLVM::InlineAsmOp::create(emit, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
                              /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                              LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  }
};

struct EndLoadPattern : TilePattern<tile::EndLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::EndLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    access.type = op.getPending().getType().getFrag();
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    AccessEmitter emitter(emit, kernel, access, adaptor.getView(), adaptor.getIndices(), Words::AsTheyLie,
                          gatherOf(op, kernel));
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    Type stored = op.getView().getType().getElementType(), element = op.getResult().getType().getElementType();
    SmallVector<Value> results = emitter.emitRuns(types, [&](ArrayRef<Run>, Width width) {
      SmallVector<Value> pieces = asVectors(emit, adaptor.getPending(), storedPieces(emitter, width, stored));
      return settlePieces(emit, emitter, pieces, width, stored, element);
    });
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct StorePattern : TilePattern<tile::StoreOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    if (access.isNumber() || tile::isOfWholeHeadRows(access))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    AccessEmitter emitter(emit, state.of(op), access, adaptor.getView(), adaptor.getIndices(),
                          Words::AsTheyLie, Gather::Lines);
    emitter.excludeCopies();
    SmallVector<Value> pieces;
    for (Value piece : adaptor.getValue())
      pieces.push_back(narrowElements(emit, piece, op.getView().getType().getElementType()));
    emitter.emitRuns(TypeRange(), [&](ArrayRef<Run> runs, Width width) {
      SmallVector<Value> held = emitter.piecesFor(width, pieces);
      for (const Run &run : runs)
        storeElements(emit, takeRun(emit, held, run), emitter.resource, run.offset, run.step);
      return SmallVector<Value>();
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Of f32 element by element; of 16 bits in pairs, those that the last column cuts alone with a
/// number beside them that changes nothing.
struct AtomicAddPattern : TilePattern<tile::AtomicAddOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::AtomicAddOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    if (access.isNumber())
      return failure();
    if (failed(verifyAdds(op, *state.of(op).arch)))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    Type element = op.getView().getType().getElementType();
    Words words = element.isF32() ? Words::AsTheyLie : op->hasAttr(tile::kWholeWords) ? Words::Aligned : Words::Whole;
    SmallVector<ValueRange> indices(adaptor.getIndices());
    // Where the first and the last turn of a loop add is known in front of it, and would be kept in registers.
    SmallVector<Value> place = {indices.front().front()};
    if (op->hasAttr(tile::kWholeWords)) {
      place.front() = unknown(emit, place.front());
      indices.front() = place;
    }
    AccessEmitter emitter(emit, state.of(op), access, adaptor.getView(), indices, words);
    emitter.excludeCopies();
    if (op->hasAttr(tile::kWholeWords))
      emitter.holdOffsets(place.front());
    SmallVector<Value> pieces;
    for (Value piece : adaptor.getValue())
      pieces.push_back(narrowElements(emit, piece, element));
    emitter.emitRuns(TypeRange(), [&](ArrayRef<Run> runs, Width) {
      for (const Run &run : runs)
        for (int64_t i = 0; i < run.count; i += element.isF32() ? 1 : run.count)
          addRun(emit, emitter.resource, pieces, run, i, element.isF32());
      return SmallVector<Value>();
    });
    rewriter.eraseOp(op);
    return success();
  }

  /// `number` (i32, the same in all lanes), of which LLVM knows nothing.
  static Value unknown(Emitter &emit, Value number) {
    return LLVM::InlineAsmOp::create(emit, TypeRange(number.getType()), ValueRange(number), /*asm_string=*/"", "=s,0",
                                     /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                     LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT),
                                     ArrayAttr())
        .getResult(0);
  }

  static void addRun(Emitter &emit, Value resource, ValueRange pieces, const Run &run, int64_t skip,
                     bool single) {
    if (single) {
      Run one = {run.piece, run.first + skip, 1, run.offset, run.step};
      Value offset = emit.add(run.offset, emit.i32(skip * kWordBytes));
      return addElements(emit, takeRun(emit, pieces, one), resource, offset, run.step);
    }
    Value value = takeRun(emit, pieces, run);
    if (run.count == 2)
      return addElements(emit, value, resource, run.offset, run.step);
    Value offset = emit.add(run.offset, run.step);
    Value word = arith::AndIOp::create(emit, offset, emit.i32(-kWordBytes));
    addElements(emit, pairWith(emit, value, offset), resource, word, emit.i32(0));
  }

  static constexpr int64_t kWordBytes = 4;
};
} // namespace

void hocket::lowering::populateAccessPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<LoadPattern, BeginLoadPattern, EndLoadPattern, StorePattern, AtomicAddPattern>(
      converter, patterns.getContext(), state);
}
