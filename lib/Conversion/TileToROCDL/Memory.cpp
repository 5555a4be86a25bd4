// Views, rings and LDS: buffer descriptors, LDS DMA, operand reads.
//
// A descriptor is re-based in scalar registers for every tile (TileSource.h), and its size ends
// with the last row that exists: rows beyond it read as zero and are not written, with no compare
// in the code. Within a tile offsets fit into 32 bits (the launcher refuses strides for which they
// do not); from the tensor's start they are 64 bits wide.
//
// A tile is accessed panel by panel (Tile/IR/FragmentAccess.h). Columns that the view does not
// have, because its width was rounded up to whole blocks, are out of the descriptor's bounds like
// rows beyond the last.
//
// Who fetches or reads which bytes is computed by the layout library: every address is a part that
// depends on the lane, once, plus a constant for each instruction.
#include "Access.h"
#include "LineStores.h"
#include "TileSource.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/MemoryAccess.h"
#include "Layout/FragmentReads.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Bytes that one lane moves in an operand read.
static constexpr unsigned kReadBytes = 16;
static constexpr int64_t kWordBytes = 4;
using tile::kDmaBytes;

/// `vectors` of each panel, in the order of the whole fragment: its `blocks` blocks along the other
/// dimension are outermost, then come the panels.
static SmallVector<Value> joinPanels(ArrayRef<SmallVector<Value>> panels, int64_t blocks) {
  SmallVector<Value> joined;
  for (int64_t block = 0; block != blocks; ++block)
    for (const SmallVector<Value> &panel : panels) {
      size_t perBlock = panel.size() / blocks;
      llvm::append_range(joined, ArrayRef(panel).slice(block * perBlock, perBlock));
    }
  return joined;
}

/// Vectors of words side by side.
static Value joined(Emitter &emit, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Value> words;
  for (Value part : parts)
    llvm::append_range(words, elements(emit, part));
  return vector::FromElementsOp::create(emit, VectorType::get({static_cast<int64_t>(words.size())}, emit.getI32Type()), words);
}

static Value byteStride(Emitter &emit, const ViewValues &view, int64_t dimension) {
  return emit.mul(view.stride(dimension), emit.i64(view.elementBytes()));
}

/// Where the ring's first slot is, of the half of LDS whose turn it is.
static Value ringPlace(Emitter &emit, tile::RingOp op, Value lds, ValueRange alternate) {
  Value place = emit.i32(*op.getLdsOffset());
  if (!alternate.empty()) {
    Value isOdd = arith::AndIOp::create(emit, alternate.front(), emit.i32(1));
    place = emit.add(place, emit.mul(isOdd, emit.i32(*op.getApart())));
  }
  return emit.offset(lds, place);
}

namespace {
struct RingPattern : TilePattern<tile::RingOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RingOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    Value lds = ringPlace(emit, op, state.of(op).lds, adaptor.getAlternate());
    if (!op.getView()) {
      // Nothing but LDS: no tile is taken from memory.
      Value nowhere = LLVM::ZeroOp::create(
          emit, LLVM::LLVMPointerType::get(getContext(), kGlobal));
      Value zero = emit.i32(0);
      SmallVector<Value> values = {nowhere, emit.i64(0), zero, lds, zero, zero, zero};
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
      return success();
    }
    ViewValues view(op.getView().getType(), adaptor.getView());
    SmallVector<Value> indices;
    for (ValueRange index : adaptor.getIndices())
      indices.push_back(index.front());
    SmallVector<Value> values = ringValues(emit, op, view, indices, lds);
    shareSource(op, values);
    if (op.getPageRows()) {
      values.append({emit.toI32(byteStride(emit, view, 0)), view.extent(emit, 0)});
      values[RingValues::kRows] = adaptor.getRowCount().front();
    } else {
      values.append(2, emit.i32(0));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }

  /// Rings of tiles of one source, side by side: scalar registers hold what they have in common once. What LLVM may not
  /// take out of a loop (TileSource.cpp) it does not know to be the same.
  void shareSource(tile::RingOp op, SmallVectorImpl<Value> &values) const {
    bool isFetched = llvm::any_of(op.getRing().getUsers(), llvm::IsaPred<tile::FetchOp>);
    if (!isFetched || op.getPageRows())
      return;
    SmallVector<Value> made(op->getOperands());
    for (const LoweringState::KnownSource &known : state.sources)
      if (known.block == op->getBlock() && known.made == made) {
        Value lds = values[RingValues::kLds];
        values = known.values;
        values[RingValues::kLds] = lds;
        return;
      }
    state.sources.push_back({op->getBlock(), made, llvm::to_vector(values)});
  }
};

/// The pieces that 64 lanes move in one instruction of a global access of rows, of one panel.
struct RowAccess {
  LinearLayout access; ///< (register, lane) -> (row, byte)
  RowBounds bounds;

  uint64_t step(unsigned instruction, std::string_view dim) const {
    return access.apply({{std::string(dims::Register), instruction}}, dim);
  }
  unsigned instructions() const { return 1u << access.inputBits(dims::Register); }
  /// The byte offsets of all instructions in `panels` panels of `panelBytes` bytes, panel by panel.
  SmallVector<SmallVector<Value>> offsets(Emitter &emit, Value lane, Value rowStride,
                                          int64_t panels, int64_t panelBytes) const {
    Value row = emit.linear(access, dims::Lane, dims::Row, lane);
    Value byte = emit.linear(access, dims::Lane, dims::Byte, lane);
    Value stride = emit.toI32(rowStride);
    Value laneOffset = emit.add(emit.mul(row, stride), byte);
    SmallVector<SmallVector<Value>> result(panels);
    for (int64_t panel = 0; panel != panels; ++panel)
      for (unsigned i = 0; i != instructions(); ++i) {
        int64_t stepByte = step(i, dims::Byte) + panel * panelBytes;
        Value offset = emit.add(laneOffset, emit.i32(stepByte));
        Value rowStep = emit.mul(stride, emit.i32(step(i, dims::Row)));
        result[panel].push_back(bounds.within(emit, emit.add(offset, rowStep), byte,
                                              access.reach(dims::Lane, dims::Byte), stepByte));
      }
    return result;
  }
};

struct LoadHeadRowsPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;

  /// Wider rows take all registers that there are where schedules hold both operands: no swaps fit beside them.
  static constexpr int64_t kMostInLines = 128;

  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::isOfWholeHeadRows(*tile::memoryAccessOf(op)))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    auto frag = cast<tile::FragType>(op.getResult().getType());
    const int64_t elementBytes = frag.getElementBytes();
    if (frag.getLayout() == tile::FragLayout::Lines) {
      LineStores lines(tile::shapeOf(frag), elementBytes);
      Value resource = resourceOf(emit, op, adaptor);
      rewriter.replaceOpWithMultiple(
          op, ArrayRef<ValueRange>{loadLines(emit, op, lines, resource, byteStride(emit, viewOf(op, adaptor), 1))});
      return success();
    }
    bool isLhs = frag.getLayout() == tile::FragLayout::Lhs;
    int64_t rows = isLhs ? frag.getRows() : frag.getColumns();
    int64_t depth = isLhs ? frag.getColumns() : frag.getRows();
    const MfmaShape shape = frag.getOperandShape();
    const unsigned bits = bitsOf(frag.getElementType()); // more than the layout's where it lies beside narrower ones
    int64_t panel = tile::panelColumns(depth, bits);
    Result<LinearLayout> layout =
        isLhs ? mfmaOperandATile(shape, rows, panel) : mfmaOperandBTile(shape, panel, rows);
    if (!layout)
      return layoutError(op, layout.error());
    Result<LinearLayout> reads = directReads(*layout, {isLhs ? dims::Row : dims::Col, dims::K}, bits, kReadBytes);
    if (!reads)
      return layoutError(op, reads.error());
    RowAccess access{*reads, RowBounds(op.getView().getType())};
    Value stride = byteStride(emit, viewOf(op, adaptor), 1);
    Value resource = resourceOf(emit, op, adaptor);

    VectorType type = operandType(frag);
    LineStores lines(tile::shapeOf(frag), elementBytes);
    if (lines.rearranges() && depth <= kMostInLines && state.of(op).arch->features.permlaneSwap) {
      SmallVector<Value> loaded = loadLines(emit, op, lines, resource, stride);
      // Who waits for what was loaded does so as late as can be: fetches may stand between.
      setInsertionPointToFirstUse(emit, op);
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{lines.scatter(emit, state.of(op), loaded)});
      return success();
    }
    auto words = VectorType::get({4}, emit.getI32Type());
    SmallVector<SmallVector<Value>> panels =
        access.offsets(emit, state.of(op).lane, stride, depth / panel, panel * elementBytes);
    const size_t perOperand = static_cast<size_t>(type.getNumElements() * elementBytes) / kReadBytes;
    for (SmallVector<Value> &values : panels) {
      for (Value &value : values)
        value = ROCDL::RawPtrBufferLoadOp::create(emit, words, resource, value, emit.i32(0), emit.i32(0), ArrayAttr(),
                                                  ArrayAttr(), ArrayAttr());
      SmallVector<Value> operands;
      for (size_t first = 0; first != values.size(); first += perOperand)
        operands.push_back(LLVM::BitcastOp::create(emit, type, joined(emit, ArrayRef(values).slice(first, perOperand))));
      values = std::move(operands);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{joinPanels(panels, rows / kBlock)});
    return success();
  }

private:
  static ViewValues viewOf(tile::LoadOp op, OneToNOpAdaptor adaptor) {
    return {op.getView().getType(), adaptor.getView()};
  }

  /// The descriptor of the rows.
  static Value resourceOf(Emitter &emit, tile::LoadOp op, OneToNOpAdaptor adaptor) {
    ViewValues view = viewOf(op, adaptor);
    Value batch = adaptor.getIndices()[0].front(), row = adaptor.getIndices()[1].front(),
          head = adaptor.getIndices()[2].front();
    int64_t rows = cast<tile::FragType>(op.getResult().getType()).getMemoryRows();
    Value bytes = bytesOfRows(emit, view.extent(emit, 1), row, rows, byteStride(emit, view, 1),
                              RowBounds(op.getView().getType()).rowBytes);
    return emit.bufferResource(elementAddress(emit, view, {batch, row, head}), bytes);
  }

  /// The rows in whole lines, not yet where the matrix unit wants them.
  SmallVector<Value> loadLines(Emitter &emit, tile::LoadOp op, const LineStores &lines, Value resource,
                               Value stride) const {
    RowBounds bounds(op.getView().getType());
    Type element = storedType(op.getView().getType().getElementType());
    Value rowStride = emit.toI32(stride);
    LineStores::LanePlace lane = lines.placeOf(emit, state.of(op).lane, rowStride);
    const int64_t elementBytes = bytesOf(element);
    uint64_t reach = lines.shape().map.reach(dims::Lane, dims::Col) * elementBytes;
    return lines.loadPieces(emit, element, [&](tile::RowAndColumn at) {
      int64_t byte = at.column * elementBytes;
      Value offset = bounds.within(emit, emit.add(lane.offset, emit.i32(byte)), lane.byte, reach, byte);
      return loadElements(emit, element, lines.run(), resource, offset, emit.mul(rowStride, emit.i32(at.row)));
    });
  }

  /// In front of what uses `op` first, where that stands in its block.
  static void setInsertionPointToFirstUse(Emitter &emit, tile::LoadOp op) {
    Operation *first = nullptr;
    for (Operation *user : op.getResult().getUsers()) {
      Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
      if (!inBlock)
        return;
      first = first && first->isBeforeInBlock(inBlock) ? first : inBlock;
    }
    if (first)
      emit.setInsertionPoint(first);
  }
};

struct StoreHeadRowsPattern : TilePattern<tile::StoreOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::isOfWholeHeadRows(*tile::memoryAccessOf(op)))
      return failure();
    Emitter emit(op.getLoc(), rewriter);
    auto frag = cast<tile::FragType>(op.getValue().getType());
    ViewValues view(op.getView().getType(), adaptor.getView());
    Type element = op.getView().getType().getElementType();
    int64_t elementBytes = view.elementBytes();
    RowBounds bounds(op.getView().getType());
    Value batch = adaptor.getIndices()[0].front(), row = adaptor.getIndices()[1].front(),
          head = adaptor.getIndices()[2].front();
    Value stride = byteStride(emit, view, 1);
    Value bytes =
        bytesOfRows(emit, view.extent(emit, 1), row, frag.getMemoryRows(), stride, bounds.rowBytes);
    Value resource = emit.bufferResource(elementAddress(emit, view, {batch, row, head}), bytes);

    SmallVector<Value> rounded;
    for (Value block : adaptor.getValue())
      rounded.push_back(narrowElements(emit, block, frag.getElementType(), element));
    const KernelValues &kernel = state.of(op);
    LineStores lines(tile::shapeOf(frag), elementBytes);
    Value rowStride = emit.toI32(stride);
    LineStores::LanePlace lane = lines.lanePlace(emit, kernel, rowStride);
    uint64_t reach = lines.shape().map.reach(dims::Lane, dims::Col) * elementBytes;
    lines.forEachStore(emit, kernel, rounded, [&](const LineStores::Store &store) {
      int64_t byte = store.column * elementBytes;
      Value offset = emit.add(lane.offset, emit.i32(byte));
      offset = bounds.within(emit, offset, lane.byte, reach, byte);
      storeElements(emit, store.words, resource, offset,
                    emit.mul(rowStride, emit.i32(store.row)));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct StoreRowsPattern : TilePattern<tile::StoreRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StoreRowsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    ViewValues view(op.getView().getType(), adaptor.getView());
    Value batch = adaptor.getBatch().front(), head = adaptor.getHead().front(),
          row = adaptor.getRow().front();
    int64_t size = view.elementBytes(), rows = op.getValue().getType().getSize();
    Value address = elementAddress(emit, view, {batch, head});
    address = emit.offset(address, emit.mul(emit.toI64(row), emit.i64(size)));
    Value bytes = bytesOfRows(emit, view.extent(emit, 2), row, rows, emit.i64(size), size);
    Value resource = emit.bufferResource(address, bytes);
    // Lanes beyond the rows hold copies: they write out of bounds, which is nowhere. What follows from the lane would be
    // in a register in all turns of a loop over items.
    const KernelValues &kernel = state.of(op);
    Value lane = kernel.itemsJoin ? emit.hidden(kernel.lane, "v") : kernel.lane;
    Value holds = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, lane, emit.i32(rows));
    Value offset =
        arith::SelectOp::create(emit, holds, emit.mul(lane, emit.i32(size)), emit.i32(rows * size));
    ROCDL::RawPtrBufferStoreOp::create(emit, adaptor.getValue().front(), resource, offset,
                                       emit.i32(0), emit.i32(0), ArrayAttr(), ArrayAttr(),
                                       ArrayAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Addresses of the reads of a ring's tile: a lane's base pointer and, panel by panel, a constant
/// for each read.
struct TileReads {
  Value base;
  SmallVector<SmallVector<uint32_t>> immediates;
};

FailureOr<TileReads> planReads(Emitter &emit, Operation *op, tile::RingOp ringOp, Value lds,
                               Value slot, const KernelValues &kernel,
                               const LinearLayout &access) {
  Result<LdsTileLayout> layout =
      tile::toLdsTileLayout(ringOp);
  if (!layout)
    return layoutError(op, layout.error());
  Result<LdsReadPlan> plan = planLdsReads(*layout, access);
  if (!plan)
    return layoutError(op, plan.error());
  Value offset = emit.linear(plan->lanePart, dims::Lane, dims::Offset, kernel.lane);
  if (plan->lanePart.reach(dims::Wave, dims::Offset) != 0)
    offset = arith::XOrIOp::create(
        emit, offset, emit.linear(plan->lanePart, dims::Wave, dims::Offset, kernel.wave));
  if (layout->padding != 0) {
    Value chunk = arith::DivUIOp::create(emit, offset, emit.i32(layout->chunkBytes));
    offset = emit.add(offset, emit.mul(chunk, emit.i32(layout->padding)));
  }
  Value slotOffset = emit.mul(slot, emit.i32(layout->bytes()));
  TileReads reads{emit.offset(emit.offset(lds, slotOffset), offset), {}};
  for (unsigned panel = 0; panel != layout->panels(); ++panel) {
    SmallVector<uint32_t> &immediates = reads.immediates.emplace_back();
    for (uint32_t immediate : plan->immediates)
      immediates.push_back(immediate + panel * layout->panelStride());
  }
  return reads;
}

/// An operand, or a part of one.
Value readPart(Emitter &emit, const LoweringState &state, VectorType type, const TileReads &reads, uint32_t immediate) {
  const int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  // LLVM takes vectors of bytes apart.
  bool isOfBytes = type.getElementTypeBitWidth() < 16;
  auto words = VectorType::get({bytes / kWordBytes}, emit.getI32Type());
  auto load = LLVM::LoadOp::create(emit, isOfBytes ? words : type, emit.offset(reads.base, emit.i32(immediate)),
                                   static_cast<unsigned>(bytes));
  load.setAliasScopesAttr(state.readScope);
  load.setNoaliasScopesAttr(state.dmaScope);
  return isOfBytes ? LLVM::BitcastOp::create(emit, type, load).getResult() : load.getResult();
}

/// One operand of 16 bytes a lane.
Value readOperand(Emitter &emit, const LoweringState &state, tile::FragType frag,
                  const TileReads &reads, uint32_t immediate) {
  return readPart(emit, state, operandType(frag), reads, immediate);
}

struct ReadPattern : TilePattern<tile::ReadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getResult().getType();
    Result<LdsUse> use = tile::operandReads(frag, tile::wavePartOf(op.getPart()));
    if (!use)
      return layoutError(op, use.error());
    RingValues ring(adaptor.getRing());
    FailureOr<TileReads> reads =
        planReads(emit, op, op.getRing().getDefiningOp<tile::RingOp>(), ring.lds,
                  adaptor.getSlot().front(), state.of(op), use->access);
    if (failed(reads))
      return failure();
    SmallVector<SmallVector<Value>> panels;
    for (const SmallVector<uint32_t> &immediates : reads->immediates)
      for (SmallVector<Value> &loads = panels.emplace_back(); uint32_t immediate : immediates)
        loads.push_back(readOperand(emit, state, frag, *reads, immediate));
    SmallVector<Value> results = joinPanels(panels, frag.getWidth() / kBlock);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

/// Half an operand. Volatile, so that LLVM makes no pair of two of them: `ds_read2st64_b64` takes four times as long as
/// two reads (docs/Hardware.md 4.5).
Value readHalf(Emitter &emit, const LoweringState &state, VectorType type, const TileReads &reads, uint32_t immediate) {
  Value half = readPart(emit, state, type, reads, immediate), loaded = half;
  if (auto cast = half.getDefiningOp<LLVM::BitcastOp>())
    loaded = cast.getArg();
  loaded.getDefiningOp<LLVM::LoadOp>().setVolatile_(true);
  return half;
}

/// Half an operand of elements of `bits` bits, transposed on its way: of 8 and 4 bits as words.
Value readHalfTransposed(Emitter &emit, const LoweringState &state, VectorType type, unsigned bits, Value address) {
  if (bits == 16)
    return ROCDL::ds_read_tr16_b64::create(emit, type, address, state.readScope, state.dmaScope, ArrayAttr());
  auto words = VectorType::get({2}, emit.getI32Type());
  Value read;
  if (bits == 8)
    read = ROCDL::ds_read_tr8_b64::create(emit, words, address, state.readScope, state.dmaScope, ArrayAttr());
  else
    read = ROCDL::ds_read_tr4_b64::create(emit, words, address, state.readScope, state.dmaScope, ArrayAttr());
  return LLVM::BitcastOp::create(emit, type, read);
}

/// Operands of 32 bits: an element a read.
SmallVector<Value> readElements(Emitter &emit, const LoweringState &state, tile::FragType frag, const TileReads &reads) {
  VectorType operand = operandType(frag), one = VectorType::get({1}, operand.getElementType());
  SmallVector<Value> elements, results;
  for (const SmallVector<uint32_t> &immediates : reads.immediates)
    for (uint32_t immediate : immediates) {
      elements.push_back(emit.element(readPart(emit, state, one, reads, immediate), 0));
      if (static_cast<int64_t>(elements.size()) != operand.getNumElements())
        continue;
      results.push_back(vector::FromElementsOp::create(emit, operand, elements));
      elements.clear();
    }
  return results;
}

struct ReadTransposedPattern : TilePattern<tile::ReadTransposedOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReadTransposedOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType frag = op.getResult().getType();
    Result<LdsUse> use = tile::transposedOperandReads(op, *state.of(op).arch);
    if (!use)
      return layoutError(op, use.error());
    RingValues ring(adaptor.getRing());
    FailureOr<TileReads> reads =
        planReads(emit, op, op.getRing().getDefiningOp<tile::RingOp>(), ring.lds,
                  adaptor.getSlot().front(), state.of(op), use->access);
    if (failed(reads))
      return failure();
    if (use->instruction == LdsInstruction::ReadB32) {
      SmallVector<Value> operands = readElements(emit, state, frag, *reads);
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{operands});
      return success();
    }
    SmallVector<Value> halves, results;
    // Panels lie along the fragment's width, which is its outermost dimension.
    if (use->instruction == LdsInstruction::ReadB128) {
      for (const SmallVector<uint32_t> &immediates : reads->immediates)
        for (uint32_t immediate : immediates)
          results.push_back(readOperand(emit, state, frag, *reads, immediate));
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
      return success();
    }
    VectorType type = storedVector(frag.getOperandElements() / 2, frag.getElementType());
    for (const SmallVector<uint32_t> &immediates : reads->immediates)
      for (uint32_t immediate : immediates) {
        if (use->instruction == LdsInstruction::ReadB64) {
          halves.push_back(readHalf(emit, state, type, *reads, immediate));
          continue;
        }
        halves.push_back(readHalfTransposed(emit, state, type, bitsOf(frag.getElementType()), emit.offset(reads->base, emit.i32(immediate))));
      }
    SmallVector<int64_t> inOrder = llvm::to_vector(llvm::seq<int64_t>(2 * type.getNumElements()));
    for (size_t i = 0; i + 1 < halves.size(); i += 2)
      results.push_back(vector::ShuffleOp::create(emit, halves[i], halves[i + 1], inOrder));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct WaitPattern : TilePattern<tile::WaitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WaitOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const WaitCounterLimits &limits = state.of(op).arch->waits;
    int64_t counts = encodeWait(limits, op.getVm().value_or(limits.vmcnt), limits.expcnt,
                                op.getLgkm().value_or(limits.lgkmcnt));
    rewriter.replaceOpWithNewOp<ROCDL::SWaitcntOp>(op, rewriter.getI32IntegerAttr(counts));
    return success();
  }
};

/// Leaves a mark for schedule-clusters.
struct EnterPattern : TilePattern<tile::EnterOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::EnterOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    if (std::optional<int64_t> priority = op.getPriority())
      ROCDL::SetPrioOp::create(emit, emit.getI16IntegerAttr(*priority));
    auto mark = ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
    mark->setAttr(kClusterMark, emit.getStringAttr(tile::stringifyClusterKind(op.getKind())));
    if (op.getInterleaveAttr())
      mark->setAttr(kInterleaveMark, op.getInterleaveAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

struct FencePattern : TilePattern<tile::FenceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::FenceOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<ROCDL::SchedBarrier>(op, rewriter.getI32IntegerAttr(0));
    return success();
  }
};

struct BarrierPattern : TilePattern<tile::BarrierOp> {
  using TilePattern::TilePattern;

  /// To LLVM the barrier touches no memory, so it might take what another wave has put into LDS for
  /// what it was: an empty instruction that may write anything.
  static void clobberMemory(Emitter &emit) {
    LLVM::InlineAsmOp::create(
        emit, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  }

  LogicalResult matchAndRewrite(tile::BarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    if (op.getGroup()) {
      const KernelValues &kernel = state.of(op);
      Value second = arith::CmpIOp::create(emit, arith::CmpIPredicate::uge, kernel.wave,
                                           emit.i32(kernel.waves / 2));
      Value inGroup = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq,
                                            arith::ExtUIOp::create(emit, emit.getI32Type(), second),
                                            emit.i32(*op.getGroup()));
      auto branch = scf::IfOp::create(emit, inGroup, /*withElseRegion=*/false);
      emit.setInsertionPointToStart(branch.thenBlock());
    }
    // Both fences are needed: LLVM moves MFMAs over a bare barrier, from either side.
    ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
    ROCDL::SBarrierOp::create(emit);
    ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
    if (state.of(op).exchanges)
      clobberMemory(emit);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void hocket::lowering::populateMemoryPatterns(const TypeConverter &converter,
                                              RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<RingPattern, LoadHeadRowsPattern, StoreHeadRowsPattern, StoreRowsPattern,
               ReadPattern,
               ReadTransposedPattern, WaitPattern, EnterPattern, FencePattern, BarrierPattern>(
      converter, patterns.getContext(), state);
}
