// O = softmax(scale Q K^T) V, tile by tile, in named steps.
//
// It says nothing about order beyond data flow: which step runs in which cluster for which tile is
// the schedule's business. Everything that a step needs of another travels as a value, so that
// moving steps apart cannot change the arithmetic.
//
// Scores are computed transposed (keys x queries), so that a query is one lane's column in every
// fragment: row maxima and sums are chains within a lane, and the packed score accumulator is the
// second product's right operand as it lies.
//
// The producer of split KV is the same kernel on a slice of the keys: only the views of K and V and
// where the result goes differ. What folds the slices is in Combine.cpp.
#include "Forward.h"

#include "BlockLists.h"
#include "Combine.h"
#include "Dropout.h"
#include "KernelFrame.h"
#include "MaskBounds.h"
#include "ModificationProgram.h"
#include "RingSteps.h"
#include "SequenceViews.h"
#include "Sink.h"
#include "Softmax.h"
#include "TileSides.h"
#include "Visibility.h"
#include "VisitedTiles.h"
#include "WorkPartition.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/MemoryAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;


namespace {
class ForwardExpansion {
public:
  ForwardExpansion(attn::ForwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch,
                   TileShape shape)
      : op(op), schedule(schedule), arch(arch), shape(shape), builder(op.getLoc(), op),
        element(op.getElementType()), headDim(op.getHeadDim()), headDimV(op.getValueHeadDim()),
        depth(llvm::alignTo(headDim, kHeadBlock)), depthV(llvm::alignTo(headDimV, kHeadBlock)),
        visibility(withoutWindow(op),
                   WorkPartition::queriesOfBlock(shape.waves, op.getGroupRows()), op.getGroupRows()),
        sequences(op), frame(op.getContext()),
        softmax({shape.kvTile, element, op.getLse(), op.getScoreMods().has_value() && !beginWithMods(op)}) {}

  FailureOr<tile::KernelOp> expand();

private:
  /// Whether workgroups work on slices of the keys, and whether all results are those of slices.
  bool isSplit() { return op.getSplit(); }
  bool leavesParts() { return op.getSplit() && !op.getWorkList(); }
  /// Whether an entry of a list may be of one head's rows or of a group's.
  bool isMixed() { return op.getWorkList() && !op.getDropout(); }
  static attn::VisibilityAttr withoutWindow(attn::ForwardOp op);
  static bool beginWithMods(attn::ForwardOp op);
  void findModifications();
  void addWorkList();
  FailureOr<tile::KernelOp> createFrame();
  bool ordersByLists();
  void takeListed(WorkPartition &work);
  void enterSequence(WorkPartition &work);
  Value prepare(WorkPartition &work);
  Value endOfKeys(const WorkPartition &work);
  void moveTo(const WorkPartition::Slice &slice);
  SmallVector<KeyBounds> visibleKeys(const WorkPartition &work, QueryRange rows);
  Value visitModified(WorkPartition &work);
  QueryRange rowsFrom(Value first, Value count);
  void prepareCuts(QueryRange rows);
  Value firstKeyOf(Value number);
  TileExtent extentOf(const ScorePlace &here);
  void loadStep(Value t, function_ref<Value()> number);
  Value startStep(Value number);
  Value maskStep(Value raw, Value t, Value number, Value block);
  Value ring(Value view, int64_t columns, ValueRange indices);
  SmallVector<Value> firstAhead();
  SmallVector<Value> nextAhead(Value t, ValueRange ahead);
  SmallVector<Value> fetchSteps(Value t, ValueRange ahead);
  bool locatesAhead() {
    return sequences.pages() && !sequences.pages()->isFar() && op.getGroupRows() && arch.hasLdsDma(tile::kDmaBytes);
  }
  /// Columns of O side by side in a lane: as many as it stores at a time, where reads of V can have them in that order.
  int64_t outputRun() {
    bool isInVectors = sequences.pages() && sequences.pages()->isInVectors();
    return arch.hasTransposedRead(bitsOf(op.getElementType())) && !isInVectors ? tile::kAccumulatorRun : 0;
  }
  Value numberBehind(Value t, int64_t distance);
  SmallVector<Value> fetchLocatedSteps(Value t, ValueRange ahead);
  void leaveOutIdleWaves(const WorkPartition &work, Value count);
  tile::ForTilesOp createLoop(Value count);
  SmallVector<Value> iterate(Value t, Value output, ValueRange state, ValueRange ahead);
  void storeListed(Value output, Value logSum, const WorkPartition &work);
  void finish(tile::ForTilesOp loop, const WorkPartition &work);

  attn::ForwardOp op;
  FlatSymbolRefAttr schedule;
  const ArchInfo &arch;
  TileShape shape;
  ExpansionBuilder builder;
  Type element;
  /// Elements of a head of Q and K, and of V and O; and the same in whole blocks, where the
  /// elements that do not exist are zero.
  int64_t headDim, headDimV, depth, depthV;
  Visibility visibility;
  SequenceViews sequences;
  KernelFrame frame;
  Softmax softmax;
  SmallVector<std::unique_ptr<ModificationProgram>> scoreMods, maskMods;
  SmallVector<MaskBounds> maskBounds; ///< of `maskMods`
  /// The mask `causal` beside them, where it has a say in which tiles are visited.
  std::optional<ModificationProgram> causal;
  /// With lists: `mask`, or where keys end, which hides in full blocks, too.
  std::optional<ModificationProgram> ownMask;
  std::optional<MaskBounds> ownBounds; ///< of the mask

  // Kernel arguments, and what the loop uses of the values in front of it.
  Value q, k, v, o, lse, scale, splits, sink;
  std::optional<Dropout> dropout;
  std::optional<BlockLists> lists;
  Value query, keys, values, noScores;
  /// 1 / scale where products begin with what modifications add; null: they begin with nothing.
  Value perScale;
  // With modifications: where scores stand, the last query and key there are, and which tiles are visited.
  ScorePlace place;
  Value lastQuery, lastKey;
  QueryRange waveRows; ///< of the wave
  VisitedTiles visited;
  SmallVector<Value> seen; ///< of them, the first that the wave sees, and behind the last; none: not known
  /// How many of the loop's values say where the next tiles are.
  size_t aheadCount = 0;
};
} // namespace

/// A window is a modification as any other; of the mask `causal` and `none` are left.
attn::VisibilityAttr ForwardExpansion::withoutWindow(attn::ForwardOp op) {
  attn::VisibilityAttr attr = op.getKeyVisibility();
  if (attr.isCausal())
    return attr;
  return attn::VisibilityAttr::get(op.getContext(), std::nullopt, std::nullopt);
}

/// Whether all that is done to scores is adding to them: their products begin with that.
bool ForwardExpansion::beginWithMods(attn::ForwardOp op) {
  std::optional<ArrayAttr> symbols = op.getScoreMods();
  return symbols && llvm::all_of(symbols->getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr symbol) {
           return ModificationProgram::onlyAdds(SymbolTable::lookupNearestSymbolFrom(op, symbol));
         });
}

void ForwardExpansion::findModifications() {
  tile::FragType scores =
      builder.frag(shape.kvTile, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Orientation orientation =
      isMixed() ? Orientation::Mixed : op.getGroupRows() ? Orientation::HeadsInRows : Orientation::QueriesInRows;
  auto find = [&](std::optional<ArrayAttr> symbols, auto &programs) {
    if (symbols)
      for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>())
        programs.push_back(std::make_unique<ModificationProgram>(
            SymbolTable::lookupNearestSymbolFrom(op, symbol), scores, orientation,
            sequences.hasOwnLengths()));
  };
  find(op.getScoreMods(), scoreMods);
  find(op.getMaskMods(), maskMods);
  // The last makes log2 units of scores, or leaves that to the one before.
  bool isAsked = !beginWithMods(op);
  for (auto &program : llvm::reverse(scoreMods))
    isAsked = isAsked && program->scaleYield(Softmax::kScaledUnit, /*asksOfScores=*/program != scoreMods.front());
  attn::VisibilityAttr window = op.getKeyVisibility();
  if (window != withoutWindow(op)) {
    OpBuilder atModule(op);
    attn::MaskModOp mask =
        createWindow(atModule, op.getLoc(), window.getLeft(), window.getRight());
    maskMods.push_back(
        std::make_unique<ModificationProgram>(mask, scores, orientation, sequences.hasOwnLengths()));
    mask.erase();
  }
  for (const auto &program : maskMods)
    maskBounds.emplace_back(*program);
  if (!op.getKeyBlock()) {
    if (maskMods.empty() || !withoutWindow(op).isCausal())
      return;
    OpBuilder atModule(op);
    attn::MaskModOp mask = createWindow(atModule, op.getLoc(), std::nullopt, 0);
    causal.emplace(mask, scores, orientation, sequences.hasOwnLengths());
    mask.erase();
    return;
  }
  // Which tiles of a list the mask cuts is not known from their numbers.
  OpBuilder atModule(op);
  bool isCausal = withoutWindow(op).isCausal();
  attn::MaskModOp own = isCausal ? createWindow(atModule, op.getLoc(), std::nullopt, 0)
                                 : createEnd(atModule, op.getLoc());
  ownMask.emplace(own, scores);
  if (isCausal)
    ownBounds.emplace(*ownMask);
  own.erase();
}

/// The list, and what rows of heads ask of the tensors.
void ForwardExpansion::addWorkList() {
  constexpr int64_t dynamic = ShapedType::kDynamic, mostBytes = int64_t(1) << 31;
  frame.addTensor(tile::ViewType::get(op.getContext(), {dynamic, dynamic}, builder.getI32Type()),
                  WorkPartition::listTensor());
  if (!isMixed())
    return;
  for (StringRef name : {"q", "o"})
    frame.require("(min(heads / kv_heads, 32) - 1) * " + name + "_stride_h * element_bytes < " + Twine(mostBytes),
                  "the heads of a group must lie within 2 GiB in '" + name + "'");
}

FailureOr<tile::KernelOp> ForwardExpansion::createFrame() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto viewOf = [&](int64_t dim, Type type) -> Type {
    return tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic, dim}, type);
  };
  Type f32 = builder.getF32Type();
  Type rows = tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic}, f32);
  frame.addTensor(viewOf(headDim, element), sequences.tensor(frame, "q"));
  frame.addTensor(viewOf(headDim, element), sequences.tensor(frame, "k"));
  frame.addTensor(viewOf(headDimV, element), sequences.tensor(frame, "v"));
  if (leavesParts()) {
    frame.addTensor(viewOf(headDimV, f32), partialTensor());
    frame.addTensor(rows, partialLseTensor());
    frame.setWorkspace(kPartialBytes);
  } else {
    frame.addTensor(viewOf(headDimV, element), sequences.tensor(frame, "o"));
    if (op.getLse())
      frame.addTensor(rows, sequences.lse());
  }
  if (op.getWorkList() && isSplit()) {
    frame.addTensor(viewOf(headDimV, f32), WorkPartition::listedPartial());
    frame.addTensor(rows, WorkPartition::listedPartialLse());
    frame.setWorkspace(WorkPartition::listedPartialBytes());
  }
  frame.addScalar(f32, "scale");
  if (leavesParts())
    frame.addScalar(builder.getI32Type(), "num_splits");
  if (op.getDropout())
    addDropoutArguments(frame);
  if (op.getKeyBlock())
    lists.emplace(*op.getQueryBlock(), *op.getKeyBlock(), shape.kvTile).addArguments(frame);
  if (op.getSink())
    frame.addTensor(tile::ViewType::get(op.getContext(), {dynamic}, f32), {"sink", {}, {"heads"}});
  if (op.getPackedQueries())
    frame.addScalar(builder.getI32Type(), "min_seqlen_q");
  sequences.addArguments(frame);
  if (op.getGroupRows())
    frame.addTensor(viewOf(headDim, element), WorkPartition::groupGrid(isSplit()));
  if (op.getWorkList())
    addWorkList();
  for (auto *program : {&ownMask, &causal})
    if (*program && failed((*program)->addArguments(frame)))
      return failure();
  for (const auto *programs : {&scoreMods, &maskMods})
    for (const auto &program : *programs)
      if (failed(program->addArguments(frame)))
        return failure();

  frame.require("head_dim == " + Twine(headDim), "head_dim must be " + Twine(headDim));
  frame.require("head_dim_v == " + Twine(headDimV), "head_dim_v must be " + Twine(headDimV));
  Visibility(op.getKeyVisibility(), 0).addRequirements(frame);
  frame.require("heads % kv_heads == 0", "heads must be a multiple of kv_heads");
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxSequence),
                "seq_q and seq_kv may be at most " + Twine(kMaxSequence));
  for (StringRef name : {"q", "k", "v", "o"})
    sequences.requireWideStrides(frame, name);

  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, shape.waves);
  q = frame.argument("q"), k = frame.argument("k"), v = frame.argument("v");
  o = frame.argument(leavesParts() ? "partial" : "o");
  lse = frame.argument(leavesParts() ? "partial_lse" : "lse");
  scale = frame.argument("scale"), splits = frame.argument("num_splits");
  sink = frame.argument("sink");
  if (op.getDropout())
    dropout.emplace(frame);
  if (lists)
    lists->bindArguments(frame);
  for (auto *program : {&ownMask, &causal})
    if (*program)
      (*program)->bindArguments(frame);
  for (const auto *programs : {&scoreMods, &maskMods})
    for (const auto &program : *programs)
      program->bindArguments(frame);
  return kernel;
}

Value ForwardExpansion::ring(Value view, int64_t columns, ValueRange indices) {
  Type type = tile::RingType::get(op.getContext(), {shape.kvTile, columns}, element);
  if (PagedKeys *pages = sequences.pages())
    return pages->ring(builder, type, view, indices.back(), /*ofKeys=*/view == k);
  return tile::RingOp::create(builder, type, view, indices, IntegerAttr(), IntegerAttr(), nullptr);
}

/// The `count` queries from `first` on that exist.
QueryRange ForwardExpansion::rowsFrom(Value first, Value count) {
  Value behindFirst = builder.createOrFold<arith::SubIOp>(count, builder.constant(int64_t(1)));
  Value last = arith::AddIOp::create(builder, first, behindFirst);
  return {first, arith::MinSIOp::create(builder, last, lastQuery)};
}

/// Which tiles masks cut for the wave's `rows`.
void ForwardExpansion::prepareCuts(QueryRange rows) {
  for (MaskBounds &bounds : maskBounds)
    bounds.prepareCuts(builder, rows);
  if (ownBounds)
    ownBounds->prepareCuts(builder, rows);
}

/// Behind the last key that some row of the workgroup sees; 0 where its sequence has no such rows.
Value ForwardExpansion::endOfKeys(const WorkPartition &work) {
  Value end = visibility.end(builder, work.blockRow);
  if (!sequences.hasOwnLengths() && !op.getWorkList())
    return end;
  return work.unlessBehind(builder, tile::DimOp::create(builder, q, 1), end);
}

/// Leaves of the keys those of `slice`.
void ForwardExpansion::moveTo(const WorkPartition::Slice &slice) {
  if (PagedKeys *pages = sequences.pages()) {
    pages->moveTo(builder, slice.firstTile, shape.kvTile, slice.size);
    return visibility.moveTo(builder, slice.firstKey, pages->left(builder, shape.kvTile));
  }
  k = tile::SliceRowsOp::create(builder, k, slice.firstKey, slice.size);
  v = tile::SliceRowsOp::create(builder, v, slice.firstKey, slice.size);
  visibility.moveTo(builder, slice.firstKey, tile::DimOp::create(builder, k, 1));
}

/// The keys that a row of the workgroup may see, as ranges.
SmallVector<KeyBounds> ForwardExpansion::visibleKeys(const WorkPartition &work, QueryRange rows) {
  SmallVector<MaskBounds *> masks = llvm::map_to_vector(maskBounds, [](MaskBounds &bounds) { return &bounds; });
  std::optional<MaskBounds> ofCausal;
  if (causal) {
    causal->prepare(builder, place);
    ofCausal.emplace(*causal);
    ofCausal->prepare(place);
    masks.push_back(&*ofCausal);
  }
  SmallVector<KeyBounds> ranges = MaskBounds::visible(builder, masks, rows);
  Value end = endOfKeys(work);
  for (KeyBounds &range : ranges)
    range.hi = range.hi ? arith::MinSIOp::create(builder, range.hi, end).getResult() : end;
  return ranges;
}

/// Which tiles are visited where modifications say what is seen; K and V begin with the first of them.
Value ForwardExpansion::visitModified(WorkPartition &work) {
  visibility.measure(builder, q, sequences.keyCount(builder, k));
  if (dropout)
    dropout->prepare(builder, q, work.batch, work.head);
  place = {work.batch, work.common(), work.firstOfRows(), builder.constant(int64_t(0)), {}};
  if (work.isGroup)
    place.mixed = work.mixedRows(builder);
  if (sequences.hasOwnLengths())
    place.seqQ = tile::DimOp::create(builder, q, 1), place.seqKv = visibility.keyCount();
  Value one = builder.constant(int64_t(1)), keyCount = visibility.keyCount();
  lastQuery = arith::SubIOp::create(builder, tile::DimOp::create(builder, q, 1), one);
  lastKey = arith::SubIOp::create(builder, keyCount, one);
  for (const auto *programs : {&scoreMods, &maskMods})
    for (const auto &program : *programs)
      program->prepare(builder, place);
  for (MaskBounds &bounds : maskBounds)
    bounds.prepare(place);
  if (ownMask) {
    ownMask->prepare(builder, place);
    if (ownBounds)
      ownBounds->prepare(place);
  }
  waveRows = rowsFrom(work.row, work.waveQueries(builder));
  prepareCuts(waveRows);
  if (lists)
    return lists->prepare(builder, work.batch, work.head, work.blockRow, keyCount);
  SmallVector<KeyBounds> ranges = visibleKeys(work, rowsFrom(work.blockRow, work.blockQueries(builder)));
  visited = visitTiles(builder, ranges, keyCount, shape.kvTile);
  if (isSplit() && !visited.jumps.empty()) {
    // A slice has some of the tiles that are visited, wherever they lie.
    WorkPartition::Slice slice = work.sliceOf(builder, Value(), visited.count);
    visited.skip(builder, slice.firstTile);
    visited.count = slice.tiles;
  } else if (isSplit()) {
    WorkPartition::Slice slice = work.sliceOf(builder, visited.first, visited.count);
    place.key = slice.firstKey;
    moveTo(slice);
    return work.tilesUpTo(builder, visibility.keyCount());
  }
  // Where the block's range is one, so is the wave's.
  if (visited.jumps.empty() && !maskMods.empty()) {
    VisitedTiles ofWave = visitTiles(builder, visibleKeys(work, waveRows), keyCount, shape.kvTile);
    Value first = arith::SubIOp::create(builder, ofWave.first, visited.first);
    seen = {first, arith::AddIOp::create(builder, first, ofWave.count)};
  }
  place.key =
      arith::MulIOp::create(builder, visited.first, builder.constant(shape.kvTile));
  moveTo({visited.first, place.key, keyCount});
  return visited.count;
}

/// Whether the lists say which block of rows starts first: where each has a workgroup.
bool ForwardExpansion::ordersByLists() {
  return lists && op.getBlockOrder() != attn::BlockOrder::Linear &&
         static_cast<int64_t>(*op.getQueryBlock()) == WorkPartition::queriesOfBlock(shape.waves, /*groupRows=*/false);
}

/// Of the blocks of rows the one that comes next by what lists say.
void ForwardExpansion::takeListed(WorkPartition &work) {
  auto found = SymbolTable::lookupNearestSymbolFrom<tile::ScheduleOp>(op, schedule);
  int64_t ofUnit = op.getWorkgroups().value_or(found ? found.getWorkgroups().value_or(1) : 1);
  int64_t resident = static_cast<int64_t>(arch.chip.computeUnits) * ofUnit;
  ListedOrder order(lists->blockCounts(builder), WorkPartition::queriesOfBlock(shape.waves, /*groupRows=*/false), resident);
  work.moveToRow(builder, order.rowInstead(builder, work.batch, work.head, work.blockRow));
}

/// From here on tensors are those of the workgroup's sequence.
void ForwardExpansion::enterSequence(WorkPartition &work) {
  if (!sequences.hasOwnLengths())
    return;
  sequences.enter(builder, frame, work.batch);
  q = sequences.ofQueries(builder, q);
  k = sequences.ofKeys(builder, k), v = sequences.ofKeys(builder, v);
  if (leavesParts())
    return;
  o = sequences.ofQueries(builder, o);
  if (lse)
    lse = sequences.ofQueries(builder, lse, /*along=*/2);
}

/// Everything in front of the loop; returns how many tiles it visits.
Value ForwardExpansion::prepare(WorkPartition &work) {
  // Masks that give earlier rows more keys than later ones are not known to be in use.
  bool laterRowsSeeMore = visibility.laterRowsSeeMore() || !maskMods.empty();
  if (op.getWorkList()) {
    work.placeEntry(builder, frame.argument("work_list"), q, k, isSplit());
    if (work.isGroup)
      visibility.mix(work.isGroup, WorkPartition::queriesOfBlock(shape.waves, /*groupRows=*/true));
  } else if (op.getGroupRows())
    work.placeGroups(builder, frame.argument("group_grid"), q, k, laterRowsSeeMore);
  else
    work.place(builder, isSplit() ? o : q, isSplit() ? Value() : sequences.rowCount(frame),
               laterRowsSeeMore && !ordersByLists());
  if (ordersByLists())
    takeListed(work);
  enterSequence(work);
  Value kvHead = work.kvHead(builder, q, k);
  bool isModified = dropout || lists || !scoreMods.empty() || !maskMods.empty();
  Value count;
  if (isModified) {
    count = visitModified(work);
  } else if (isSplit()) {
    visibility.measure(builder, q, sequences.keyCount(builder, k));
    moveTo(work.sliceOf(builder, Value(), work.tilesUpTo(builder, endOfKeys(work))));
  }
  SmallVector<Value> indices = {work.batch, kvHead};
  keys = ring(k, depth, indices);
  values = ring(v, depthV, indices);
  query = softmax.prepareQuery(builder, scale, [&] {
    Type operand = builder.frag(depth, kWaveRows, element, FragLayout::Rhs);
    return withoutPadding(builder, work.load(builder, operand, q), headDim);
  });
  if (beginWithMods(op))
    perScale = softmax.perScale(builder);
  if (!isSplit() && !isModified)
    visibility.measure(builder, q, sequences.keyCount(builder, k));
  visibility.prepareMasks(builder, work.row);
  return isModified ? count : work.tilesUpTo(builder, endOfKeys(work));
}

/// What is known of tiles ahead of the one that is fetched, in front of the loop: where they are.
SmallVector<Value> ForwardExpansion::firstAhead() {
  if (lists)
    return {lists->lookUp(builder, builder.constant(int64_t(0)))};
  SmallVector<Value> ahead;
  PagedKeys *pages = sequences.pages();
  if (!pages)
    return ahead;
  auto numberOf = [&](int64_t t) { return visited.numberOf(builder, builder.constant(t)); };
  for (int64_t t = 0; t != PagedKeys::kAhead + (locatesAhead() ? PagedKeys::kLocated : 0); ++t)
    ahead.push_back(pages->lookUp(builder, keys, numberOf(t)));
  if (!locatesAhead())
    return ahead;
  SmallVector<Value> located;
  for (Value ring : {keys, values})
    located.push_back(pages->locate(builder, ring, ahead.front(), numberOf(0), shape.waves));
  llvm::append_range(located, ArrayRef(ahead).drop_front());
  return located;
}

/// The number, in the views, of the tile that is visited `distance` behind tile `t`.
Value ForwardExpansion::numberBehind(Value t, int64_t distance) {
  return visited.numberOf(builder, arith::AddIOp::create(builder, t, builder.constant(distance)));
}

/// The same behind tile `t`, looked up with the fetch of K.
SmallVector<Value> ForwardExpansion::nextAhead(Value t, ValueRange ahead) {
  if (ahead.empty())
    return {};
  auto distance = static_cast<int64_t>(ahead.size());
  SmallVector<Value> next = llvm::to_vector(ahead.drop_front());
  if (lists) {
    Value later = arith::AddIOp::create(builder, t, builder.constant(distance));
    next.push_back(lists->lookUp(builder, later));
  } else {
    next.push_back(sequences.pages()->lookUp(builder, keys, numberBehind(t, distance)));
  }
  return next;
}

/// `fetchSteps` where places are found a tile ahead: `ahead` has those of tile `t`, for K and for V, and the pages of the
/// tiles behind it. Nothing stands in front of what asks for the tile.
SmallVector<Value> ForwardExpansion::fetchLocatedSteps(Value t, ValueRange ahead) {
  PagedKeys &pages = *sequences.pages();
  ValueRange behind = ahead.drop_front(2);
  auto fetch = [&](Value ring, Value places) -> Value {
    tile::FetchOp::create(builder, ring, t, Value(), places, Value());
    return pages.locate(builder, ring, behind.front(), numberBehind(t, PagedKeys::kLocated), shape.waves);
  };
  SmallVector<Value> ofKeys = llvm::to_vector(builder.step("fetch_k", [&] {
    SmallVector<Value> made = {fetch(keys, ahead[0])};
    llvm::append_range(made, behind.drop_front());
    constexpr int64_t distance = PagedKeys::kLocated + PagedKeys::kAhead;
    made.push_back(pages.lookUp(builder, keys, numberBehind(t, distance)));
    return made;
  }));
  Value ofValues = builder.step("fetch_v", [&] { return SmallVector<Value>{fetch(values, ahead[1])}; }).front();
  ofKeys.insert(ofKeys.begin() + 1, ofValues);
  return ofKeys;
}

/// Tiles of K and V to LDS: in one step each where a load can write there, else a step that loads
/// parts into registers and one that puts them. Where tile `t` is `ahead` says first; what it says for the next one is
/// returned.
SmallVector<Value> ForwardExpansion::fetchSteps(Value t, ValueRange ahead) {
  if (locatesAhead())
    return fetchLocatedSteps(t, ahead);
  const std::pair<StringRef, Value> rings[] = {{"k", keys}, {"v", values}};
  bool hasDma = arch.hasLdsDma(tile::kDmaBytes);
  SmallVector<Value> parts, next;
  for (auto [tensor, ring] : rings) {
    ValueRange results = builder.step(("fetch_" + tensor).str(), [&, ring = ring, isFirst = tensor == "k"] {
      PagedKeys *inPages = sequences.pages();
      Value from = lists ? lists->number(builder, ahead.front(), t) : Value(), pages = inPages ? ahead.front() : Value();
      SmallVector<Value> made;
      if (inPages)
        from = inPages->number(builder, visited.numberOf(builder, t));
      else if (!visited.jumps.empty())
        from = visited.numberOf(builder, t);
      // Numbers of pages in front of the tile: who waits for them does not wait for it.
      if (isFirst && inPages)
        made = nextAhead(t, ahead);
      if (hasDma) {
        tile::FetchOp::create(builder, ring, t, from, pages, Value());
      } else {
        auto type = cast<tile::RingType>(ring.getType());
        Type part = tile::PartType::get(op.getContext(), type.getShape(), element, shape.waves);
        made.push_back(tile::LoadPartOp::create(builder, part, ring, t, from, pages));
      }
      if (isFirst && lists)
        llvm::append_range(made, nextAhead(t, ahead));
      return made;
    });
    SmallVector<Value> made = llvm::to_vector(results);
    if (!hasDma)
      parts.push_back(lists ? made.front() : made.back());
    if (tensor == "k")
      next.assign(lists && !hasDma ? made.begin() + 1 : made.begin(),
                  lists || hasDma ? made.end() : made.end() - 1);
  }
  if (hasDma)
    return next;
  for (auto [part, entry] : llvm::zip_equal(parts, rings))
    builder.step(("put_" + entry.first).str(), [&, part = part, ring = entry.second] {
      tile::PutOp::create(builder, ring, t, Value(), part);
      return SmallVector<Value>();
    });
  return next;
}

/// The first key of the tile before which there are `number`.
Value ForwardExpansion::firstKeyOf(Value number) {
  Value before = arith::MulIOp::create(builder, number, builder.constant(shape.kvTile));
  return arith::AddIOp::create(builder, place.key, before);
}

/// Where the wave's scores of the tile at `here` are.
TileExtent ForwardExpansion::extentOf(const ScorePlace &here) {
  Value last = arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
  return {waveRows.first, waveRows.last, here.key, arith::MinSIOp::create(builder, last, lastKey)};
}

/// Begins to load what modifications read for each score of tile `t`, in a step of its own, if there is any; `number`
/// is the view's tile.
void ForwardExpansion::loadStep(Value t, function_ref<Value()> number) {
  SmallVector<ModificationProgram *> programs;
  for (const auto *of : {&scoreMods, &maskMods})
    for (const auto &program : *of)
      if (program->loadsAhead())
        programs.push_back(program.get());
  if (programs.empty())
    return;
  ValueRange begun = builder.step("load", [&] {
    ScorePlace here = place;
    here.key = firstKeyOf(number());
    SmallVector<Value> pending;
    for (ModificationProgram *program : programs)
      llvm::append_range(pending, program->beginLoads(builder, here, t));
    return pending;
  });
  for (ModificationProgram *program : programs)
    begun = program->takeLoads(begun, t);
}

/// What the scores of the view's tile `number` begin with: all that is added to them, in units of the product.
Value ForwardExpansion::startStep(Value number) {
  ScorePlace here = place;
  here.key = firstKeyOf(number);
  TileExtent extent = extentOf(here);
  Value sums = noScores;
  for (const auto &program : scoreMods)
    sums = program->addTo(builder, sums, /*first=*/sums == noScores, perScale, here, extent);
  return sums;
}

/// The scores of tile `t`, which is the view's tile `number`, with lists in their `block`, modified, and masked last.
Value ForwardExpansion::maskStep(Value raw, Value t, Value number, Value block) {
  if (scoreMods.empty() && maskMods.empty() && !lists)
    return visibility.mask(builder, raw, number);
  ScorePlace here = place;
  here.key = firstKeyOf(number);
  Value scores = raw, factor = scale;
  TileExtent extent = extentOf(here);
  if (!perScale)
    for (const auto &program : scoreMods) {
      scores = program->modify(builder, scores, factor, here, &extent);
      factor = Value();
    }
  if (!lists) {
    scores = visibility.mask(builder, scores, number);
    if (!visited.jumps.empty())
      scores.getDefiningOp()->setAttr(tile::kRisesWithLoop, builder.getUnitAttr());
  }
  if (maskMods.empty() && !lists)
    return scores;
  if (ownBounds) {
    Value last = arith::AddIOp::create(builder, here.key, builder.constant(shape.kvTile - 1));
    scores = ownBounds->hide(builder, scores, here, last, Value());
  } else if (lists) {
    // In the block in which keys end all tiles ask.
    Value isCut = lists->isBehindWhole(builder, block);
    scores = ownMask->hide(builder, scores, ownMask->yielded(), isCut, here, /*rarely=*/true);
  }
  Value isPartial = lists ? lists->isPartial(builder, t) : Value();
  for (const MaskBounds &bounds : maskBounds)
    scores = bounds.hide(builder, scores, here, extent.lastKey, isPartial);
  return scores;
}

/// One tile of keys: S = K Q^T, P = exp2(S - reference), O = O shrunk + V^T P. Returns the next
/// output and state, and what is known of tiles `ahead`. With lists that is the views' tile of that number.
SmallVector<Value> ForwardExpansion::iterate(Value t, Value output, ValueRange state, ValueRange ahead) {
  SmallVector<Value> nextAhead = fetchSteps(t, ahead);
  auto number = [&] { return lists ? lists->number(builder, ahead.front(), t) : visited.numberOf(builder, t); };
  Value keyTile = builder.step("read_k", [&]() -> SmallVector<Value> {
    Type type = builder.frag(shape.kvTile, depth, element, FragLayout::Lhs);
    return {withoutPadding(builder, tile::ReadOp::create(builder, type, keys, t, Value()), headDim)};
  })[0];
  loadStep(t, number);
  Value start = noScores;
  if (perScale)
    start = builder.step("start", [&]() -> SmallVector<Value> { return {startStep(number())}; })[0];
  Value raw = builder.step("qk", [&]() -> SmallVector<Value> {
    return {tile::MmaOp::create(builder, keyTile, query, start)};
  })[0];
  Value scores = builder.step("mask", [&]() -> SmallVector<Value> {
    return {maskStep(raw, t, number(), lists ? ahead.front() : Value())};
  })[0];
  Softmax::Settled settled = softmax.settleStep(builder, scores, state);
  auto drop = [&](Value weights, int64_t firstKey) {
    Value key = arith::AddIOp::create(builder, firstKeyOf(number()), builder.constant(firstKey));
    return dropout->keep(builder, weights, place.row, key);
  };
  Softmax::Weights weights =
      softmax.weightSteps(builder, settled, dropout ? Softmax::Drop(drop) : Softmax::Drop());
  Value rescaled = builder.step("rescale", [&]() -> SmallVector<Value> {
    return {tile::RescaleOp::create(builder, TypeRange(output.getType()), ValueRange(output),
                                    settled.factor, settled.moved)
                .getResult(0)};
  })[0];
  Value valueTile = builder.step("read_v", [&]() -> SmallVector<Value> {
    Type type = builder.frag(depthV, shape.kvTile, element, FragLayout::LhsAcc, outputRun());
    Value read = tile::ReadTransposedOp::create(builder, type, values, t, Value());
    // Vectors have keys behind the last one, whose weights are zero and whose values may be anything.
    if (PagedKeys *pages = sequences.pages(); pages && pages->isInVectors())
      read = tile::MaskDepthOp::create(builder, read, number(), visibility.keyCount());
    return {read};
  })[0];
  Value next = builder.step("pv", [&]() -> SmallVector<Value> {
    return {tile::MmaOp::create(builder, valueTile, weights.packed, rescaled)};
  })[0];
  SmallVector<Value> carried = {next, settled.reference, settled.bound};
  llvm::append_range(carried, weights.sums);
  llvm::append_range(carried, nextAhead);
  return carried;
}

/// A group of few queries has rows for some of the waves; the others bring tiles, and compute nothing.
void ForwardExpansion::leaveOutIdleWaves(const WorkPartition &work, Value count) {
  if (!op.getGroupRows() && !op.getWorkList())
    return;
  Value zero = builder.constant(int64_t(0));
  if (seen.empty())
    seen = {zero, count};
  Value rows = tile::DimOp::create(builder, q, 1);
  Value hasRows = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, work.row, rows);
  seen.back() = arith::SelectOp::create(builder, hasRows, seen.back(), zero);
}

tile::ForTilesOp ForwardExpansion::createLoop(Value count) {
  noScores = softmax.noScores(builder);
  Type outputType = builder.frag(depthV, kWaveRows, builder.getF32Type(), FragLayout::Acc, outputRun());
  SmallVector<Value> inits = {builder.fill(outputType, 0.0f)};
  Value zero = builder.fill(builder.rows(), 0.0f);
  llvm::append_range(inits, softmax.initialState(builder, zero));
  SmallVector<Value> ahead = firstAhead();
  aheadCount = ahead.size();
  llvm::append_range(inits, ahead);
  // Lists name blocks in any order.
  SmallVector<tile::TileCut> cuts = lists ? SmallVector<tile::TileCut>() : visibility.cuts();
  auto loop = tile::ForTilesOp::create(builder, count, inits, cuts, schedule, seen);
  Block &body = loop.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  builder.setInsertionPointToStart(&body);
  ValueRange carried = body.getArguments().drop_front();
  ValueRange state = carried.drop_front().drop_back(aheadCount);
  tile::YieldOp::create(builder, iterate(t, carried.front(), state, carried.take_back(aheadCount)));
  builder.setInsertionPointAfter(loop);
  return loop;
}

/// The results of an entry, whole or of a slice.
void ForwardExpansion::storeListed(Value output, Value logSum, const WorkPartition &work) {
  auto branch = scf::IfOp::create(builder, work.isSlice, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  work.storeSlice(builder, output, logSum, o, frame.argument("partial"), frame.argument("partial_lse"));
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  work.store(builder, output, o);
  if (lse)
    work.storeLse(builder, logSum, lse);
}

void ForwardExpansion::finish(tile::ForTilesOp loop, const WorkPartition &work) {
  ValueRange state = loop.getResults().drop_front().drop_back(aheadCount);
  Value sum = softmax.total(builder, state), ofSink;
  // Slices do not know it: what combines them adds it.
  if (sink) {
    ofSink = work.loadOfHeads(builder, sink);
    sum = sumWithSink(builder, sum, softmax.reference(state), ofSink);
  }
  // Of all weights; LSE is theirs, too.
  Value divisor = dropout ? dropout->shareOf(builder, sum) : sum;
  Value output = tile::NormalizeOp::create(builder, loop.getResult(0), divisor);
  if (work.isSlice) {
    storeListed(output, softmax.logSumExp(builder, state, sum, ofSink), work);
  } else {
    work.store(builder, output, o);
    if (lse)
      work.storeLse(builder, softmax.logSumExp(builder, state, sum, ofSink), lse);
  }
  if (sequences.pages())
    for (Value pages : loop.getResults().take_back(aheadCount))
      tile::RetainOp::create(builder, pages);
  tile::ReturnOp::create(builder);
}

FailureOr<tile::KernelOp> ForwardExpansion::expand() {
  findModifications();
  FailureOr<tile::KernelOp> kernel = createFrame();
  if (failed(kernel))
    return failure();
  WorkPartition work(
      {shape.waves, shape.kvTile, {op.getBlockOrder(), static_cast<int64_t>(arch.chip.xcds)},
       op.getGroupRows(), op.getWorkList(), isMixed()},
      splits);
  Value count = prepare(work);
  leaveOutIdleWaves(work, count);
  finish(createLoop(count), work);
  return kernel;
}

FailureOr<tile::KernelOp> hocket::buildForward(attn::ForwardOp op, FlatSymbolRefAttr schedule,
                                    const ArchInfo &arch, TileShape shape) {
  return ForwardExpansion(op, schedule, arch, shape).expand();
}
