// Kernels, their argument block, and where a workgroup and a wave stand.
#include "Access.h"
#include "SmallFloats.h"

#include "Tile/IR/FragmentPut.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/IR/WorkItems.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Pointer, strides, extents: the order in which a view stands in the argument block.
static LogicalResult convertView(tile::ViewType type, SmallVectorImpl<Type> &types) {
  MLIRContext *context = type.getContext();
  types.push_back(LLVM::LLVMPointerType::get(context, kGlobal));
  types.append(type.getRank() - 1, IntegerType::get(context, 64));
  for (int64_t extent : type.getShape())
    if (ShapedType::isDynamic(extent))
      types.push_back(IntegerType::get(context, 32));
  return success();
}

static LogicalResult convertRing(tile::RingType type, SmallVectorImpl<Type> &types) {
  MLIRContext *context = type.getContext();
  types.append({LLVM::LLVMPointerType::get(context, kGlobal), IntegerType::get(context, 64),
                IntegerType::get(context, 32), LLVM::LLVMPointerType::get(context, kLds),
                IntegerType::get(context, 32), IntegerType::get(context, 32),
                IntegerType::get(context, 32)});
  return success();
}

/// One vector for each piece (Tile/IR/FragmentMap.h).
static LogicalResult convertFrag(tile::FragType type, SmallVectorImpl<Type> &types) {
  tile::FragmentMap map(type);
  types.append(map.count(), storedVector(map.piece.registers, type.getElementType()));
  return success();
}

static LogicalResult convertVector(const tile::VectorMap &map, Type element,
                                   SmallVectorImpl<Type> &types) {
  element = storedType(element);
  Type piece = map.isScalar ? element : VectorType::get({map.piece.registers}, element);
  types.append(map.count, piece);
  return success();
}

/// What memory instructions bring: 16 bytes a lane, each.
static LogicalResult convertPending(tile::PendingType type, SmallVectorImpl<Type> &types) {
  constexpr int64_t mostRegisters = 4;
  Type word = IntegerType::get(type.getContext(), 32);
  for (int64_t left = type.getRegisters(); left > 0; left -= mostRegisters)
    types.push_back(VectorType::get({std::min(left, mostRegisters)}, word));
  return success();
}

void hocket::lowering::populateTypeConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](tile::ViewType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertView(type, types));
  });
  converter.addConversion([](tile::RingType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertRing(type, types));
  });
  converter.addConversion([](tile::FragType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertFrag(type, types));
  });
  converter.addConversion([](tile::PartType type, SmallVectorImpl<Type> &types) {
    types.append(type.getRegisters(), IntegerType::get(type.getContext(), 32));
    return std::optional(success());
  });
  converter.addConversion([](tile::PagesType type, SmallVectorImpl<Type> &types) {
    types.append(type.getRegisters(), IntegerType::get(type.getContext(), 32));
    return std::optional(success());
  });
  converter.addConversion([](tile::PendingType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertPending(type, types));
  });
  converter.addConversion([](tile::PlacesType type, SmallVectorImpl<Type> &types) {
    types.append(type.getRegisters(), IntegerType::get(type.getContext(), 32));
    return std::optional(success());
  });
  converter.addConversion([](tile::StashType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), kLds);
  });
  converter.addConversion([](tile::RowsType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertVector(tile::VectorMap(type), type.getElementType(), types));
  });
  converter.addConversion([](tile::ColumnsType type, SmallVectorImpl<Type> &types) {
    return std::optional(convertVector(tile::VectorMap(type), type.getElementType(), types));
  });
}

/// All LDS of a kernel is one global; rings and what waves exchange lie in it at their offsets.
static LLVM::GlobalOp createLds(Emitter &emit, tile::KernelOp kernel) {
  int64_t bytes = tile::ldsEnd(kernel);
  if (bytes == 0)
    return {};
  Type type = LLVM::LLVMArrayType::get(emit.getI8Type(), bytes);
  auto global = LLVM::GlobalOp::create(emit, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                       (kernel.getSymName() + ".lds").str(), Attribute(),
                                       /*alignment=*/1024, kLds);
  OpBuilder::InsertionGuard guard(emit);
  Block *body = emit.createBlock(&global.getInitializerRegion());
  emit.setInsertionPointToStart(body);
  LLVM::ReturnOp::create(emit, LLVM::PoisonOp::create(emit, type));
  return global;
}

/// Registers are for so many waves on a SIMD as `workgroups` of `waves` put there.
static void limitRegisters(LLVM::LLVMFuncOp func, const ArchInfo &arch, int64_t waves, int64_t workgroups) {
  int64_t perSimd = llvm::divideCeil(waves * workgroups, arch.waves.simdsPerCu);
  func->setAttr("rocdl.waves_per_eu", Builder(func.getContext()).getI32IntegerAttr(perSimd));
}

static void setAttributes(Emitter &emit, LLVM::LLVMFuncOp func, const ArchInfo &arch, int64_t waves) {
  int64_t workItems = waves * arch.waves.waveSize;
  std::string range = std::to_string(workItems) + "," + std::to_string(workItems);
  func->setAttr("rocdl.kernel", emit.getUnitAttr());
  func->setAttr("rocdl.flat_work_group_size", emit.getStringAttr(range));
  func->setAttr("rocdl.reqd_work_group_size",
                emit.getDenseI32ArrayAttr({static_cast<int32_t>(workItems), 1, 1}));
  // Accumulators in AccVGPRs would cost a move for every element that the VALU touches.
  Attribute noAgprs =
      emit.getArrayAttr({emit.getStringAttr("amdgpu-agpr-alloc"), emit.getStringAttr("0")});
  func.setPassthroughAttr(emit.getArrayAttr({noAgprs}));
}

/// Whether a kernel's argument is only where results go: that is asked for when they are there.
static bool isOnlyStoredTo(BlockArgument argument) {
  return llvm::all_of(argument.getUsers(), [](Operation *user) {
    return mlir::hasEffect<MemoryEffects::Write>(user) &&
           !mlir::hasEffect<MemoryEffects::Read>(user);
  });
}

/// Scalar registers of arguments that may be asked for at once. Q, K and V of a plain attention are 34; what
/// modifications, lists and lengths add would leave the loop too few of its 102.
static constexpr int64_t kMostWordsAtOnce = 48;

static int64_t wordsOf(Value argument) {
  return isa<LLVM::LLVMPointerType>(argument.getType())
             ? 2
             : llvm::divideCeil(argument.getType().getIntOrFloatBitWidth(), 32u);
}

/// An empty statement that reads them all.
void hocket::lowering::loadAtOnce(Emitter &emit, ArrayRef<Value> arguments) {
  int64_t words = 0;
  for (Value argument : arguments)
    words += wordsOf(argument);
  if (words == 0 || words > kMostWordsAtOnce)
    return;
  std::string constraints;
  for (size_t i = 0; i != arguments.size(); ++i)
    constraints += i == 0 ? "s" : ",s";
  LLVM::InlineAsmOp::create(
      emit, TypeRange(), arguments, /*asm_string=*/"", constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
}

namespace {
struct KernelPattern : TilePattern<tile::KernelOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::KernelOp kernel, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(kernel.getLoc(), rewriter);
    TypeConverter::SignatureConversion signature(kernel.getNumArguments());
    if (failed(getTypeConverter()->convertSignatureArgs(kernel.getArgumentTypes(), signature)))
      return failure();
    bool itemsJoin = false, saturates = roundsToSmallFloats(kernel);
    kernel.walk([&](tile::RingOp ring) { itemsJoin |= bool(ring.getAlternate()); });
    auto persistent = kernel->getAttrOfType<IntegerAttr>(tile::kPersistentAttr);
    if (persistent)
      signature.addInputs(SmallVector<Type>(std::tuple_size_v<decltype(KernelValues::items)>, emit.getI32Type()));
    LLVM::GlobalOp lds = createLds(emit, kernel);
    bool exchanges = false;
    kernel.walk([&](tile::RingOp ring) { exchanges |= tile::isComputed(ring); });
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()),
                                            llvm::to_vector(signature.getConvertedTypes()));
    auto func = LLVM::LLVMFuncOp::create(emit, kernel.getSymName(), type);
    const ArchInfo &arch = **findArch(kernel.getTarget().str()); // verified by the pass
    setAttributes(emit, func, arch, kernel.getWaves());
    if (auto workgroups = kernel->getAttrOfType<IntegerAttr>(tile::kWorkgroupsAttr))
      limitRegisters(func, arch, kernel.getWaves(), workgroups.getInt());
    SmallVector<unsigned> wanted;
    for (BlockArgument argument : kernel.getArguments())
      if (!isOnlyStoredTo(argument)) {
        auto converted = *signature.getInputMapping(argument.getArgNumber());
        for (size_t i = 0; i != converted.size; ++i)
          wanted.push_back(converted.inputNo + i);
      }
    rewriter.inlineRegionBefore(kernel.getBody(), func.getBody(), func.end());
    Block *entry =
        rewriter.applySignatureConversion(&func.getBody().front(), signature, getTypeConverter());
    emit.setInsertionPointToStart(entry);
    if (saturates)
      saturateSmallFloats(emit);
    KernelValues values;
    values.waves = kernel.getWaves();
    values.arch = &arch;
    values.exchanges = exchanges;
    values.turnScalars = kernel->hasAttr(kTurnScalars);
    if (persistent) {
      values.persistent = persistent.getInt();
      values.itemsJoin = itemsJoin;
      llvm::copy(entry->getArguments().take_back(values.items.size()), values.items.begin());
    } else {
      SmallVector<Value> arguments;
      for (unsigned index : wanted)
        arguments.push_back(entry->getArgument(index));
      loadAtOnce(emit, arguments);
    }
    addEntryValues(emit, lds, values);
    state.kernels[func] = values;
    rewriter.eraseOp(kernel);
    return success();
  }

  static void addEntryValues(Emitter &emit, LLVM::GlobalOp lds, KernelValues &values) {
    int64_t lanes = values.arch->waves.waveSize;
    int32_t workItems = values.waves * lanes;
    auto range = LLVM::ConstantRangeAttr::get(emit.getContext(), 32, 0, workItems);
    Value id = ROCDL::ThreadIdXOp::create(emit, emit.getI32Type(), range);
    values.lane = arith::AndIOp::create(emit, id, emit.i32(lanes - 1));
    values.wave = emit.uniform(arith::ShRUIOp::create(emit, id, emit.i32(llvm::Log2_64(lanes))));
    if (lds)
      values.lds = LLVM::AddressOfOp::create(
          emit, LLVM::LLVMPointerType::get(emit.getContext(), kLds), lds.getSymName());
  }
};

struct ReturnPattern : TilePattern<tile::ReturnOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReturnOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

struct DimPattern : TilePattern<tile::DimOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::DimOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues view(op.getView().getType(), adaptor.getView());
    rewriter.replaceOp(op, view.extent(emit, op.getDimension()));
    return success();
  }
};

struct DivModPattern : TilePattern<tile::DivModOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::DivModOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value quotient =
        emit.uniform(arith::DivUIOp::create(emit, adaptor.getDividend(), adaptor.getDivisor()));
    Value whole = emit.mul(quotient, adaptor.getDivisor());
    Value remainder = arith::SubIOp::create(emit, adaptor.getDividend(), whole);
    rewriter.replaceOp(op, {quotient, remainder});
    return success();
  }
};

/// The pointer moves to the first row, and the extent shrinks to what is left of the view.
struct SliceRowsPattern : TilePattern<tile::SliceRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SliceRowsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::ViewType type = op.getView().getType();
    ViewValues view(type, adaptor.getView());
    Value first = adaptor.getFirst().front(), size = adaptor.getSize().front();
    int64_t dimension = op.getRowDimension();
    Value stride = emit.i64(view.elementBytes());
    if (dimension + 1 != type.getRank())
      stride = emit.mul(view.stride(dimension), stride);
    Value left = arith::SubIOp::create(emit, view.extent(emit, dimension), first);
    Value rows =
        arith::MaxSIOp::create(emit, arith::MinSIOp::create(emit, left, size), emit.i32(0));
    SmallVector<Value> values(adaptor.getView());
    values[0] = emit.offset(view.pointer(), emit.mul(emit.toI64(first), stride));
    values[ViewValues::extentIndex(type, dimension)] = rows;
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

/// Another pointer, and other extents; the stride from row to row is one of two.
struct RowsAlongPattern : TilePattern<tile::RowsAlongOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RowsAlongOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::ViewType type = op.getView().getType();
    ViewValues view(type, adaptor.getView());
    bool hasColumns = type.getRank() == 4, headsFirst = !hasColumns || op.getHeadsFirst();
    Value batch = adaptor.getBatch().front(), query = adaptor.getQuery().front(), head = adaptor.getHead().front();
    Value ofHeads = adaptor.getHeads().front();
    // The dimensions of queries and of heads, and a place in order.
    const int64_t queries = headsFirst ? 2 : 1, heads = headsFirst ? 1 : 2;
    Value place[] = {batch, headsFirst ? head : query, headsFirst ? query : head};
    auto isBelow = [&](Value index, int64_t dimension) -> Value {
      return arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, index, view.extent(emit, dimension));
    };
    auto pick = [&](Value a, Value b) -> Value { return arith::SelectOp::create(emit, ofHeads, a, b); };
    auto stride = [&](int64_t dimension) -> Value {
      return dimension + 1 == type.getRank() ? emit.i64(1) : view.stride(dimension);
    };
    Value left = pick(arith::SubIOp::create(emit, view.extent(emit, heads), head),
                      arith::SubIOp::create(emit, view.extent(emit, queries), query));
    Value rows = arith::MaxSIOp::create(emit, arith::MinSIOp::create(emit, left, adaptor.getSize().front()), emit.i32(0));
    Value exists = isBelow(batch, 0);
    for (auto [index, dimension] : {std::pair(query, queries), std::pair(head, heads)})
      exists = arith::AndIOp::create(emit, exists, isBelow(index, dimension));
    // A place that does not exist is the first: no address is made of it.
    Value zero = emit.i32(0), one = emit.i32(1);
    for (Value &index : place)
      index = arith::SelectOp::create(emit, exists, index, zero);
    Value address = elementAddress(emit, view, ArrayRef<Value>(place).take_front(type.getRank() - 1));
    if (!hasColumns)
      address = emit.offset(address, emit.mul(emit.toI64(place[2]), emit.i64(view.elementBytes())));
    SmallVector<Value> values(adaptor.getView());
    values[0] = address;
    values[2] = pick(stride(heads), stride(queries)); // behind the pointer and the stride of dimension 0
    values[ViewValues::extentIndex(type, 0)] = one;
    values[ViewValues::extentIndex(type, 1)] = arith::SelectOp::create(emit, exists, rows, zero);
    values[ViewValues::extentIndex(type, 2)] = one;
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

/// The strides and extents of the dimensions that stay.
struct SelectPattern : TilePattern<tile::SelectOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SelectOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues view(op.getView().getType(), adaptor.getView());
    SmallVector<Value> indices;
    for (ValueRange index : adaptor.getIndices())
      indices.push_back(index.front());
    Value exists = placeExists(emit, view, indices);
    tile::ViewType type = op.getResult().getType();
    int64_t selected = indices.size();
    SmallVector<Value> values = {elementAddress(emit, view, indices)};
    for (int64_t dimension = 0; dimension + 1 < type.getRank(); ++dimension)
      values.push_back(view.stride(selected + dimension));
    for (auto [dimension, extent] : llvm::enumerate(type.getShape()))
      if (ShapedType::isDynamic(extent))
        values.push_back(arith::SelectOp::create(
            emit, exists, view.extent(emit, selected + dimension), emit.i32(0)));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

struct WorkgroupIdPattern : TilePattern<tile::WorkgroupIdOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WorkgroupIdOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    std::array<Value, 3> place = state.placeOf(op, adaptor.getTurn() ? ValueRange(adaptor.getTurn()) : ValueRange(), emit);
    rewriter.replaceOp(op, ValueRange(place));
    return success();
  }
};

/// From the place in the grid (GridOpInterface) to batch, head and row. Heads are fastest along x, so
/// that consecutive workgroups, which the hardware deals to consecutive XCDs, share no K and V, and
/// a head always lands on the same XCD when their number is a multiple of the XCDs'.
struct BlockIdPattern : TilePattern<tile::BlockIdOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BlockIdOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    SmallVector<Value> turn;
    if (!adaptor.getTurn().empty())
      turn.push_back(adaptor.getTurn().front());
    rewriter.replaceOp(op, place(op, adaptor, turn, emit));
    return success();
  }

  /// Batch, head and row, of the item of a turn if there is one.
  SmallVector<Value> place(tile::BlockIdOp op, OneToNOpAdaptor adaptor, ValueRange turn, Emitter &emit) const {
    ViewValues view(op.getView().getType(), adaptor.getView());
    auto [x, y, z] = state.placeOf(op, turn, emit);
    Value batch = emit.add(emit.mul(z, emit.i32(tile::kGridRound)), y);

    Value rows = emit.i32(op.getRows());
    Value heads = view.extent(emit, 2), extent = view.extent(emit, 1);
    if (op.getRowCount())
      extent = adaptor.getRowCount().front();
    Value block = emit.uniform(arith::DivUIOp::create(emit, x, heads));
    Value head = arith::SubIOp::create(emit, x, emit.mul(block, heads));
    if (op.getXcds())
      head = headOnXcd(emit, head, heads, *op.getXcds());
    if (op.getLastRowsFirst() || op.getPaired()) {
      Value last = arith::SubIOp::create(emit, extent, emit.i32(1));
      Value lastBlock = emit.uniform(arith::DivUIOp::create(emit, last, rows));
      if (op.getPaired())
        block = secondHalfBackwards(emit, block, lastOfPairs(op, emit, heads, lastBlock));
      if (op.getLastRowsFirst())
        block = arith::SubIOp::create(emit, lastBlock, block);
    }
    // A workgroup past the last batch works on batch 0 beyond its last row: on nothing.
    Value inBatch =
        arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, batch, view.extent(emit, 0));
    batch = arith::SelectOp::create(emit, inBatch, batch, emit.i32(0));
    Value row = arith::SelectOp::create(emit, inBatch, emit.mul(block, rows), extent);
    return {batch, head, row};
  }

  /// The last of a head's blocks, `last` being that of all, that have room at once on the chip's units, two on each. Heads
  /// count as the next power of two: a division would take as long as few tiles.
  Value lastOfPairs(tile::BlockIdOp op, Emitter &emit, Value heads, Value last) const {
    constexpr int64_t kPair = 2, kBits = 32;
    Value room = emit.i32(kPair * state.of(op).arch->chip.computeUnits);
    Value others = arith::SubIOp::create(emit, heads, emit.i32(1));
    Value zeros = LLVM::CountLeadingZerosOp::create(emit, others.getType(), others, /*is_zero_poison=*/false);
    Value ofHead = arith::ShRUIOp::create(emit, room, arith::SubIOp::create(emit, emit.i32(kBits), zeros));
    Value lastAtOnce = arith::SubIOp::create(emit, arith::MaxUIOp::create(emit, ofHead, emit.i32(1)), emit.i32(1));
    return arith::MinUIOp::create(emit, last, lastAtOnce);
  }

  /// Of blocks 0 to `last` the first half in order, and then the others from the last on; then those behind `last`.
  static Value secondHalfBackwards(Emitter &emit, Value block, Value last) {
    Value half = arith::ShRUIOp::create(emit, emit.add(last, emit.i32(2)), emit.i32(1));
    Value isFirst = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, block, half);
    Value isBehind = arith::CmpIOp::create(emit, arith::CmpIPredicate::ugt, block, last);
    Value opposite = arith::SubIOp::create(emit, emit.add(last, half), block);
    return arith::SelectOp::create(emit, arith::OrIOp::create(emit, isFirst, isBehind), block, opposite);
  }

  /// Workgroups `index`, `index` + xcds, ... run on one XCD: they get neighbouring heads. Only a
  /// number of heads that `xcds` divides can be dealt out so; else heads stay in order.
  static Value headOnXcd(Emitter &emit, Value index, Value heads, int64_t xcds) {
    Value count = emit.i32(xcds);
    Value perXcd = emit.uniform(arith::DivUIOp::create(emit, heads, count));
    Value round = emit.uniform(arith::DivUIOp::create(emit, index, count));
    Value xcd = arith::SubIOp::create(emit, index, emit.mul(round, count));
    Value dealt = emit.add(emit.mul(xcd, perXcd), round);
    Value divides =
        arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, emit.mul(perXcd, count), heads);
    return arith::SelectOp::create(emit, divides, dealt, index);
  }
};

struct WaveRowPattern : TilePattern<tile::WaveRowOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WaveRowOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value place = adaptor.getPart() ? adaptor.getPart() : state.of(op).wave;
    Value offset = emit.mul(place, emit.i32(op.getRows()));
    rewriter.replaceOp(op, emit.add(adaptor.getBlockRow(), offset));
    return success();
  }
};

struct GroupHeadPattern : TilePattern<tile::GroupHeadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::GroupHeadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues query(op.getQuery().getType(), adaptor.getQuery());
    ViewValues kv(op.getKv().getType(), adaptor.getKv());
    Value ratio = emit.uniform(arith::DivUIOp::create(emit, query.extent(emit, 2), kv.extent(emit, 2)));
    rewriter.replaceOp(op, emit.uniform(arith::DivUIOp::create(emit, adaptor.getHead().front(), ratio)));
    return success();
  }
};
} // namespace

void hocket::lowering::populateKernelPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<KernelPattern, ReturnPattern, DimPattern, DivModPattern, SliceRowsPattern,
               RowsAlongPattern, SelectPattern, WorkgroupIdPattern,
               BlockIdPattern, WaveRowPattern, GroupHeadPattern>(converter, patterns.getContext(),
                                                                 state);
}
