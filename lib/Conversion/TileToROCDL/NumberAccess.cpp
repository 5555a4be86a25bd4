// Loads, stores and additions of single numbers, which are the same in all lanes of a wave.
//
// The scalar unit loads where nothing can have changed the memory, since its cache does not see
// what vector stores write; elsewhere, and what is shorter than its words, the vector unit does.
#include "Access.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static bool isAnyWord(Type type) { return type.isF32() || type.isInteger(32); }

llvm::DenseSet<Operation *> hocket::lowering::findConstantLoads(tile::KernelOp kernel) {
  llvm::DenseSet<Value> written;
  llvm::DenseSet<Operation *> loads;
  kernel.walk([&](Operation *op) {
    // An op that writes may write any of its views.
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects || !effects.hasEffect<MemoryEffects::Write>())
      return;
    for (Value operand : op->getOperands())
      if (isa<tile::ViewType>(operand.getType()))
        written.insert(tile::wholeView(operand));
  });
  kernel.walk([&](tile::LoadOp load) {
    if (isAnyWord(load.getResult().getType()) &&
        load.getView().getType().getElementType() == load.getResult().getType() &&
        !written.contains(tile::wholeView(load.getView())))
      loads.insert(load);
  });
  return loads;
}

namespace {
/// The bytes of one number.
struct NumberPlace {
  Value address, exists;
  int64_t bytes;

  NumberPlace(Emitter &emit, tile::ViewType type, ValueRange viewValues,
              ArrayRef<ValueRange> indexValues) {
    ViewValues view(type, viewValues);
    SmallVector<Value> indices;
    for (ValueRange index : indexValues)
      indices.push_back(index.front());
    address = placeAddress(emit, view, indices);
    exists = placeExists(emit, view, indices);
    bytes = view.elementBytes();
  }
  Value resource(Emitter &emit) const {
    return emit.bufferResource(
        address, arith::SelectOp::create(emit, exists, emit.i64(bytes), emit.i64(0)));
  }
};

LLVM::LLVMPointerType constantPointer(Emitter &emit) {
  return LLVM::LLVMPointerType::get(emit.getContext(), kConstant);
}

/// Of the kernel's own arguments, which always exist (i64).
Value argumentAddress(Emitter &emit) {
  Value arguments = LLVM::CallIntrinsicOp::create(emit, constantPointer(emit),
                                                  emit.getStringAttr("llvm.amdgcn.kernarg.segment.ptr"), ValueRange())
                        .getResult(0);
  return LLVM::PtrToIntOp::create(emit, emit.getI64Type(), arguments);
}

/// `bits` (i64), known to be the same in all lanes, in scalar registers.
Value uniformBits(Emitter &emit, Value bits) {
  Value low = arith::ExtUIOp::create(emit, emit.getI64Type(), emit.uniform(emit.toI32(bits)));
  Value shifted = emit.toI32(arith::ShRUIOp::create(emit, bits, emit.i64(32)));
  Value high = arith::ExtUIOp::create(emit, emit.getI64Type(), emit.uniform(shifted));
  return arith::OrIOp::create(emit, low, arith::ShLIOp::create(emit, high, emit.i64(32)));
}

/// By the scalar unit, from the constant address space: LLVM takes a load by descriptor for one that may see what
/// fetches write to LDS, and waits for all of them in front of it. What does not exist is not read; in its place the
/// kernel's own arguments are, which always exist.
Value loadWord(Emitter &emit, const NumberPlace &place, Type type) {
  Value own = argumentAddress(emit);
  Value wanted = LLVM::PtrToIntOp::create(emit, emit.getI64Type(), place.address);
  Value bits = arith::SelectOp::create(emit, place.exists, wanted, own);
  Value pointer = LLVM::IntToPtrOp::create(emit, constantPointer(emit), uniformBits(emit, bits));
  auto loaded = LLVM::LoadOp::create(emit, type, pointer, place.bytes);
  loaded.setInvariantAttr(emit.getUnitAttr());
  Value zero = LLVM::ZeroOp::create(emit, type);
  return arith::SelectOp::create(emit, place.exists, loaded, zero);
}

/// `value`, of 4 bytes or less, in a scalar register.
Value uniformNumber(Emitter &emit, Value value) {
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  Type type = value.getType(), integer = emit.getIntegerType(bits);
  Value word = LLVM::BitcastOp::create(emit, integer, value);
  if (bits < 32)
    word = LLVM::ZExtOp::create(emit, emit.getI32Type(), word);
  word = emit.uniform(word);
  if (bits < 32)
    word = LLVM::TruncOp::create(emit, integer, word);
  return LLVM::BitcastOp::create(emit, type, word);
}

struct LoadNumberPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    if (!type.isIntOrFloat())
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    tile::ViewType view = op.getView().getType();
    NumberPlace place(emit, view, adaptor.getView(), adaptor.getIndices());
    if (state.constantLoads.contains(op)) {
      rewriter.replaceOp(op, loadWord(emit, place, type));
      return success();
    }
    Value loaded = loadElements(emit, view.getElementType(), 1, place.resource(emit), emit.i32(0),
                                emit.i32(0));
    rewriter.replaceOp(op, uniformNumber(emit, widenElements(emit, loaded, view.getElementType(), type)));
    return success();
  }
};

/// Each list's address, less what lies in the lists in front of it, so that one offset serves all of them. All but the
/// offset and the choice is computed in front of the loop in which the op stands.
struct EntryPattern : TilePattern<tile::EntryOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::EntryOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Lists lists = listsOf(emit, op, adaptor.getLists());
    Value index = arith::MinUIOp::create(emit, adaptor.getIndex().front(), lists.last);
    Value address = lists.addresses.front();
    for (auto [begin, other] : llvm::drop_begin(llvm::zip_equal(lists.begins, lists.addresses))) {
      Value isBehind = arith::CmpIOp::create(emit, arith::CmpIPredicate::uge, index, begin);
      address = arith::SelectOp::create(emit, isBehind, other, address);
    }
    rewriter.replaceOp(op, load(emit, address, index));
    return success();
  }

private:
  struct Lists {
    SmallVector<Value> addresses, begins; ///< the number of each list's first entry
    Value last;                           ///< of all entries
  };

  /// Computed where all lists are known first.
  static Lists listsOf(Emitter &emit, tile::EntryOp op, ArrayRef<ValueRange> listValues) {
    OpBuilder::InsertionGuard guard(emit);
    Operation *place = op;
    for (Value list : op.getLists())
      if (Operation *here = list.getParentBlock()->findAncestorOpInBlock(*op); place == op || place->isProperAncestor(here))
        place = here;
    emit.setInsertionPoint(place);
    Lists lists;
    Value total = emit.i32(0);
    for (auto [list, values] : llvm::zip_equal(op.getLists(), listValues)) {
      ViewValues view(cast<tile::ViewType>(list.getType()), values);
      Value address = LLVM::PtrToIntOp::create(emit, emit.getI64Type(), view.pointer());
      Value before = emit.mul(emit.toI64(total), emit.i64(kEntryBytes));
      lists.addresses.push_back(arith::SubIOp::create(emit, address, before));
      lists.begins.push_back(total);
      total = emit.add(total, view.extent(emit, 0));
    }
    Value any = arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, total, emit.i32(0)), own = argumentAddress(emit);
    for (Value &address : lists.addresses)
      address = uniformBits(emit, arith::SelectOp::create(emit, any, address, own));
    lists.last = arith::SubIOp::create(emit, arith::MaxUIOp::create(emit, total, emit.i32(1)), emit.i32(1));
    return lists;
  }

  static constexpr int64_t kEntryBytes = 4;

  /// The scalar unit adds a base in 64 bits and an offset in 32.
  static Value load(Emitter &emit, Value address, Value index) {
    Value pointer = LLVM::IntToPtrOp::create(emit, constantPointer(emit), address);
    Value offset = arith::ExtUIOp::create(emit, emit.getI64Type(), emit.mul(index, emit.i32(kEntryBytes)));
    Value place = LLVM::GEPOp::create(emit, pointer.getType(), emit.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{offset});
    auto loaded = LLVM::LoadOp::create(emit, emit.getI32Type(), place, kEntryBytes);
    loaded.setInvariantAttr(emit.getUnitAttr());
    return loaded;
  }
};

/// The offset of the number, for the first lane; of others beyond it.
Value offsetOfFirstLane(Emitter &emit, Value lane) {
  Value isFirst = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, lane, emit.i32(0));
  return arith::SelectOp::create(emit, isFirst, emit.i32(0),
                                 emit.i32(static_cast<int32_t>(kOutOfBounds)));
}

struct StoreNumberPattern : TilePattern<tile::StoreOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getValue().getType().isIntOrFloat())
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    tile::ViewType view = op.getView().getType();
    NumberPlace place(emit, view, adaptor.getView(), adaptor.getIndices());
    Value value = narrowElements(emit, adaptor.getValue().front(), op.getValue().getType(), view.getElementType());
    storeElements(emit, value, place.resource(emit), offsetOfFirstLane(emit, state.of(op).lane),
                  emit.i32(0));
    rewriter.eraseOp(op);
    return success();
  }
};

struct AddNumberPattern : TilePattern<tile::AtomicAddOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::AtomicAddOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getValue().getType().isIntOrFloat())
      return failure();
    if (failed(verifyAdds(op, *state.of(op).arch)))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    tile::ViewType view = op.getView().getType();
    NumberPlace place(emit, view, adaptor.getView(), adaptor.getIndices());
    Value value = narrowElements(emit, adaptor.getValue().front(), op.getValue().getType(), view.getElementType());
    Value offset = offsetOfFirstLane(emit, state.of(op).lane);
    if (place.bytes == 2) {
      // The four bytes that it lies in.
      Value low =
          emit.toI32(LLVM::PtrToIntOp::create(emit, emit.getI64Type(), place.address));
      Value half = arith::AndIOp::create(emit, low, emit.i32(2));
      Value back = emit.toI64(arith::SubIOp::create(emit, emit.i32(0), half));
      place.address = emit.offset(place.address, back);
      place.bytes = 4;
      value = pairWith(emit, value, half);
    }
    addElements(emit, value, place.resource(emit), offset, emit.i32(0));
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void hocket::lowering::populateNumberPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<LoadNumberPattern, EntryPattern, StoreNumberPattern, AddNumberPattern>(
      converter, patterns.getContext(), state);
}
