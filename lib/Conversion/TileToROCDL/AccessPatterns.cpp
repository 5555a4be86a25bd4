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

/// Vectors of 32-bit registers with those of `vectors`, as many in each as `types` say, one behind the other.
static SmallVector<Value> regroup(Emitter &emit, ValueRange vectors, TypeRange types) {
  constexpr int64_t registerBits = 32;
  auto countOf = [](Type type) {
    auto vector = cast<VectorType>(type);
    return vector.getNumElements() * vector.getElementTypeBitWidth() / registerBits;
  };
  SmallVector<Value> registers, result;
  for (Value vector : vectors) {
    auto type = VectorType::get({countOf(vector.getType())}, emit.getI32Type());
    Value words = vector.getType() == type ? vector : LLVM::BitcastOp::create(emit, type, vector).getResult();
    for (int64_t i = 0; i != type.getNumElements(); ++i)
      registers.push_back(emit.element(words, i));
  }
  ArrayRef<Value> left = registers;
  for (Type type : types) {
    auto words = VectorType::get({countOf(type)}, emit.getI32Type());
    Value vector = vector::FromElementsOp::create(emit, words, left.take_front(words.getNumElements()));
    left = left.drop_front(words.getNumElements());
    result.push_back(words == type ? vector : LLVM::BitcastOp::create(emit, type, vector).getResult());
  }
  return result;
}

/// An empty statement that may write to any memory: LLVM asks for nothing behind it that stands in front.
static void stay(Emitter &emit) {
  LLVM::InlineAsmOp::create(emit, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

/// How a load's or a store's rows begin.
static Words wordsOf(Operation *op) { return op->hasAttr(tile::kWholeRows) ? Words::WholeRows : Words::AsTheyLie; }

namespace {
struct LoadPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tile::MemoryAccess access = *tile::memoryAccessOf(op);
    if (access.isNumber() || tile::isOfWholeHeadRows(access))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    // Where lanes exchange in one instruction.
    bool inLines = op->hasAttr(tile::kWholeLines) && state.of(op).arch->features.permlaneSwap;
    AccessEmitter emitter(emit, state.of(op), access, adaptor.getView(), adaptor.getIndices(), wordsOf(op),
                          inLines ? Gather::Lines : Gather::No);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getResult().getType(), types)))
      return failure();
    Type stored = op.getView().getType().getElementType(), element = access.elementType();
    SmallVector<Value> results = emitter.emitRuns(types, [&](ArrayRef<Run> runs, Width width) {
      SmallVector<Type> ofLines = emitter.linePieces(width, stored);
      SmallVector<Value> pieces;
      for (Type type : ofLines.empty() ? types : ofLines)
        pieces.push_back(LLVM::PoisonOp::create(emit, type));
      SmallVector<Value> loaded;
      for (const Run &run : runs)
        loaded.push_back(
            loadElements(emit, stored, run.count, emitter.resource, run.offset, run.step));
      for (auto [run, value] : llvm::zip_equal(runs, loaded))
        putRun(emit, pieces, run, ofLines.empty() ? widenElements(emit, value, stored, element) : value);
      if (ofLines.empty())
        return pieces;
      pieces = emitter.fromLines(pieces);
      for (Value &piece : pieces)
        piece = widenElements(emit, piece, stored, element);
      return pieces;
    });
    // Behind loads of columns of integers LLVM 22 compares all of a tile before it selects anything, and a mask of
    // documents wants two scalar registers for each of them (61 became 102, and spills).
    if (isa<tile::ColumnsType>(op.getResult().getType()) && stored.isInteger(32))
      ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

/// `value`, of which LLVM does not see how it is made. It would keep parts of vectors that meet others behind a branch
/// in registers of their own, and so wait for loads in front of a branch's end.
static Value opaque(Emitter &emit, Value value) {
  return LLVM::InlineAsmOp::create(emit, TypeRange(value.getType()), ValueRange(value), /*asm_string=*/"", "=v,0",
                                   /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr())
      .getResult(0);
}

/// What `runs` of pieces of these types have `loaded`, as the registers of what is pending: loads of 16 bytes are.
static SmallVector<Value> asPending(Emitter &emit, ArrayRef<Type> pieceTypes, ArrayRef<Run> runs,
                                    ArrayRef<Value> loaded, ArrayRef<Type> types, Width width) {
  auto bits = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() * vector.getElementTypeBitWidth() : type.getIntOrFloatBitWidth();
  };
  SmallVector<Value> result;
  bool areLoads = loaded.size() == types.size() && llvm::all_of(llvm::zip_equal(loaded, types), [&](auto pair) {
                    return bits(std::get<0>(pair).getType()) == bits(std::get<1>(pair));
                  });
  if (areLoads) {
    for (auto [value, type] : llvm::zip_equal(loaded, types))
      result.push_back(value.getType() == type ? value : LLVM::BitcastOp::create(emit, type, value).getResult());
    return result;
  }
  SmallVector<Value> pieces;
  for (Type type : pieceTypes)
    pieces.push_back(LLVM::PoisonOp::create(emit, type));
  for (auto [run, value] : llvm::zip_equal(runs, loaded))
    putRun(emit, pieces, run, value);
  for (Value vector : regroup(emit, pieces, types))
    result.push_back(width == Width::Wide ? vector : opaque(emit, vector));
  return result;
}

/// Registers as memory brings them: in lines where lanes exchange in one instruction, whatever each load is wide.
struct BeginLoadPattern : TilePattern<tile::BeginLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BeginLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    AccessEmitter emitter(emit, kernel, *tile::memoryAccessOf(op), adaptor.getView(), adaptor.getIndices(),
                          Words::AsTheyLie, kernel.arch->features.permlaneSwap ? Gather::LinesOnly : Gather::No);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getPending().getType(), types)))
      return failure();
    Type stored = op.getView().getType().getElementType();
    SmallVector<Value> results = emitter.emitRuns(types, [&](ArrayRef<Run> runs, Width width) {
      SmallVector<Value> loaded;
      for (const Run &run : runs)
        loaded.push_back(loadElements(emit, stored, run.count, emitter.resource, run.offset, run.step));
      return asPending(emit, emitter.piecesOf(width, stored), runs, loaded, types, width);
    });
    // Waits count these loads here.
    stay(emit);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct EndLoadPattern : TilePattern<tile::EndLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::EndLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    tile::FragType frag = op.getPending().getType().getFrag();
    tile::AccessShape shape = tile::shapeOf(frag);
    Type stored = frag.getElementType(), element = op.getResult().getType().getElementType();
    auto vectorsOf = [&](const tile::AccessShape &of) {
      return SmallVector<Type>(of.origins.size(), VectorType::get({of.registers}, storedType(stored)));
    };
    SmallVector<Value> pieces;
    if (kernel.arch->features.permlaneSwap) {
      LineStores lines(shape, stored.getIntOrFloatBitWidth() / 8);
      pieces = lines.scatter(emit, kernel, regroup(emit, adaptor.getPending(), vectorsOf(lines.shape())));
    } else {
      pieces = regroup(emit, adaptor.getPending(), vectorsOf(shape));
    }
    for (Value &piece : pieces)
      piece = widenElements(emit, piece, stored, element);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pieces});
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
                          wordsOf(op), Gather::Lines);
    emitter.excludeCopies();
    SmallVector<Value> pieces;
    for (Value piece : adaptor.getValue())
      pieces.push_back(narrowElements(emit, piece, access.elementType(), op.getView().getType().getElementType()));
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
      pieces.push_back(narrowElements(emit, piece, access.elementType(), element));
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
