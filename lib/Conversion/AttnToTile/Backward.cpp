// dK and dV, or dQ, tile by tile, in named steps.
//
// The two loops are one: a wave *holds* 32 rows of two tensors in registers for the whole loop, and tiles of the two
// of the other side pass through LDS. Queries are held for dQ, keys for dK and dV:
//
//     held                    passing         S          dP           what is summed
//     keys:    K, V           Q, dO           Q K^T      dO V^T       dV += dO^T P,  dK += Q^T dS
//     queries: Q, dO          K, V            K Q^T      V dO^T       dQ += K^T dS
//
// Products are transposed as in the forward: what is held is a lane's column, so that P and dS, packed, are the right
// operand of the next product as they lie, and the passing tile, read transposed, the left one. LSE and delta are row
// values where queries are held; where they pass, column values, loaded for each tile.
//
// Rows that do not exist contribute nothing where they pass: queries beyond the end arrive as zeros, with delta and
// LSE of zero, so that P = 1 meets dO = 0, or are masked, where scores are modified; keys beyond the end are masked.
// Held, they are not stored.
//
// Fused, keys are held, and dQ comes out of the same loop. A wave has dS of its own keys only, and dQ is a sum over all
// of the workgroup: waves put dS into LDS and read that of all keys, each for some queries and some columns of dQ, and
// multiply it with K, which stands in LDS for the whole loop. An iteration goes through several tiles of 32 queries,
// so that there are as many blocks of dQ as waves. Keys beyond the end would count there, so their dS is zero.
//
// With dropout P has the sign of what becomes of a weight: one that is dropped has no part in dV, and dP = 0. All
// gradients are those times the share that is kept until they are stored.
#include "Backward.h"

#include "BackwardScores.h"
#include "Forward.h"
#include "QuerySums.h"
#include "RingSteps.h"
#include "WorkPartition.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MemoryAccess.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numbers>

using namespace mlir;
using namespace hocket;
using attn::BackwardPart;
using tile::FragLayout;


namespace {
/// A tensor that passes through LDS, or is held, and the elements of its heads.
struct Operand {
  StringRef name;
  int64_t dim, depth; ///< as they are, and in whole blocks
  Value view;  ///< the kernel's argument
  Value value; ///< the ring, or what is held in registers
  /// The ring that is read transposed: the same, where one layout in LDS serves both reads.
  Value turned;
  /// Where an iteration goes through several tiles: the rings of each.
  SmallVector<Value> rings = {};
};

class BackwardLoop : BackwardScores {
public:
  BackwardLoop(attn::BackwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch,
               BackwardShape shape);
  FailureOr<tile::KernelOp> build();

private:
  FailureOr<tile::KernelOp> createFrame();
  void place();
  void enterSequence();
  Value unlessBehind(Value view, Value count);
  void hold();
  Value tilesUpTo(Value end);
  Value numberOf(Value t);
  ValueRange step(const Twine &name, function_ref<SmallVector<Value>()> body) {
    return builder.step((name + ofTile).str(), body);
  }
  /// Whether tiles of queries are left out by their numbers: of lists, by the lists.
  bool isNarrowed() { return !lists && (!op.getKeyVisibility().isAll() || !masks.empty()); }
  QueryRange shownQueries(QueryRange range, Value queries, Value keys);
  void measureQueries();
  Value visitQueries();
  SmallVector<tile::TileCut> queryCuts();
  void loopOverKeys();
  void loopOverQueries();
  void makeRings();
  SmallVector<Value> loopOverTiles(Value count, ValueRange sums);
  SmallVector<Value> iterate(Value t, ValueRange sums);
  SmallVector<Value> iterateTile(Value t, ValueRange sums);
  std::pair<Value, Value> rowSteps(Value t);
  void holdInLds();
  Value existing(Value ds);
  Value standing(const Operand &rows, Type type, int64_t first);
  void fetchTile(Value t);
  void fetchPassing(ArrayRef<NamedRings> tiles, Value t);
  void addQueryGradient(Value t, ValueRange ofTiles);
  void placeSums();
  void addToSums(Value t, Value sum, int64_t count);
  /// The number of tile `t` of an iteration among those of the view; for use in a step, as what lists say of it.
  Value placeInView(Value t) { return lists ? lists->number(builder, ahead, t) : numberOf(t); }
  Listed listedAt(Value t) { return lists ? Listed{ahead, lists->isPartial(builder, t)} : Listed(); }
  Value partOf(Value operand, Type type, int64_t first);
  Value product(const Operand &tiles, const Operand &rows, Value t, StringRef name,
                llvm::function_ref<Value()> start);
  Value addProduct(const Operand &tiles, Value t, Value factor, Value sum, StringRef name);
  void store(ValueRange sums);

  FlatSymbolRefAttr schedule;
  bool secondInLds;
  /// Of each product, steps of which take half of the operands where registers are few.
  int64_t parts;
  std::optional<int64_t> workgroups;
  // Of a fused loop.
  int64_t tilesAtOnce;         ///< of an iteration
  int64_t tileInTurn = 0;      ///< which of them is being written
  std::string ofTile;          ///< what its steps' names end with
  std::optional<QuerySums> querySums;
  tile::WaveGridOp waves, queryParts; ///< one behind the other, and over dQ's columns and queries
  Value keyExists;             ///< i32 for each key: all bits, or none
  Value dsRing;
  Value sumsOfHead, firstSums; ///< what dQ is added to, and where the wave's begins
  Value packedDs;              ///< of the tile that was written last
  Operand passing[2], held[2]; ///< S is made of the first ones, dP of the second ones
  Value heldMinusDelta, heldMinusLogSum; ///< where queries are held
  Value minusDeltas, minusLogSums;       ///< where they pass: views
  Value firstQuery;            ///< and the first one that is visited
  /// With lists: the block of the tile of the iteration that is being written, and of the next one.
  Value ahead, nextAhead;
};
} // namespace

BackwardLoop::BackwardLoop(attn::BackwardOp op, FlatSymbolRefAttr schedule, const ArchInfo &arch,
                           BackwardShape shape)
    : BackwardScores(op, arch, shape), schedule(schedule), secondInLds(shape.secondInLds), parts(shape.secondInLds ? 2 : 1),
      workgroups(shape.workgroups), tilesAtOnce(shape.tilesAtOnce) {
  if (isFused()) {
    querySums.emplace(op);
    parts = 2;
  }
  int64_t dim = op.getHeadDim(), dimV = op.getValueHeadDim();
  // Both parts of a product of a fused loop have something to multiply, if only zeros.
  int64_t least = isFused() ? kHeadBlock : 0;
  auto operand = [&](StringRef name, int64_t elements) {
    return Operand{name, std::max(elements, least), int64_t(llvm::alignTo(elements, kHeadBlock)), {}, {}, {}};
  };
  Operand queries[] = {operand("q", dim), operand("do", dimV)};
  Operand keys[] = {operand("k", dim), operand("v", dimV)};
  for (int i : {0, 1}) {
    held[i] = holdsKeys() ? keys[i] : queries[i];
    passing[i] = holdsKeys() ? queries[i] : keys[i];
  }
  if (querySums)
    held[0].depth = QuerySums::columnsOf(op);
}

FailureOr<tile::KernelOp> BackwardLoop::createFrame() {
  SmallVector<StringRef> tensors = {"q", "k", "v", "do"};
  if (!wantsFirst())
    tensors = {"q", "k", "do"};
  if (!holdsKeys())
    tensors.push_back("dq");
  else if (wantsFirst())
    tensors.push_back("dk");
  if (wantsSecond())
    tensors.push_back("dv");
  problem.addTensors(tensors);
  problem.addRowStatistics();
  KernelFrame &frame = problem.kernelFrame();
  if (querySums)
    querySums->addTo(frame);
  frame.addScalar(builder.getF32Type(), "scale");
  if (op.getDropout()) {
    addDropoutArguments(frame);
    for (StringRef factor : {kScaleOfKept, kOneOfKept})
      frame.addScalar(builder.getF32Type(), factor);
  }
  problem.addSequences(holdsKeys());
  if (lists)
    lists->addArguments(frame);
  for (ModificationProgram *program : programs())
    if (failed(program->addArguments(frame)))
      return failure();
  problem.addRequirements();
  Visibility(op.getKeyVisibility(), 0).addRequirements(frame);
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, shape.waves);
  // What gradients are written by would else take a quarter of the scalar registers of the loop.
  kernel->setAttr("tile.late_arguments", builder.getUnitAttr());
  if (isFused() || workgroups || (holdsKeys() && (lists || op.getDropout() || !programs().empty())))
    kernel->setAttr("tile.turn_arguments", builder.getUnitAttr());
  if (holdsKeys() && op.getDropout() && !programs().empty())
    kernel->setAttr("tile.turn_scalars", builder.getUnitAttr());
  if (workgroups)
    kernel->setAttr(tile::kWorkgroupsAttr, builder.getI64IntegerAttr(*workgroups));
  for (Operand *operand : {&passing[0], &passing[1], &held[0], &held[1]})
    operand->view = frame.argument(operand->name);
  if (lists)
    lists->bindArguments(frame);
  for (ModificationProgram *program : programs())
    program->bindArguments(frame);
  if (op.getDropout())
    dropout.emplace(frame);
  return kernel;
}

static Value loadFrom(ExpansionBuilder &builder, Value view, Type type, Value query) {
  return tile::LoadOp::create(builder, type, view, ValueRange(query), IntegerAttr());
}

/// The rows of what is held. Those with most to do start first: under a causal mask the last queries, and the first
/// keys.
void BackwardLoop::place() {
  bool isMasked = !op.getKeyVisibility().isAll() || !masks.empty();
  const SequenceViews &sequences = problem.sequences();
  KernelFrame &frame = problem.kernelFrame();
  tile::BlockIdOp block = createBlockId(
      builder, {op.getBlockOrder(), static_cast<int64_t>(arch.chip.xcds)}, held[0].view, shape.waves * kWaveRows,
      holdsKeys() ? sequences.keyRowCount(frame) : sequences.rowCount(frame), /*laterRowsSeeMore=*/!holdsKeys() && isMasked);
  batch = block.getBatch(), blockRow = block.getRow();
  (holdsKeys() ? kvHead : head) = block.getHead();
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
}

/// -1, all bits, for each of the rows whose number is below `count`, else 0.
static Value existence(ExpansionBuilder &builder, Type numbers, Value count) {
  return builder.mapPlaced(numbers, count, [&](ValueRange e, Value row, Value) -> Value {
    Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, row, e[0]);
    return arith::ExtSIOp::create(builder, builder.getI32Type(), isThere);
  });
}

/// From here on tensors are those of the workgroup's sequence.
void BackwardLoop::enterSequence() {
  problem.enterSequence(builder, batch);
  for (Operand *operand : {&passing[0], &passing[1], &held[0], &held[1]})
    operand->view = problem.view(builder, operand->name);
  q = (holdsKeys() ? passing : held)[0].view, k = (holdsKeys() ? held : passing)[0].view;
  statistics = problem.rowStatistics(builder);
}

/// `count`, or 0 where the workgroup lies behind the rows of `view`, those of its sequence.
Value BackwardLoop::unlessBehind(Value view, Value count) {
  if (!hasOwnLengths())
    return count;
  Value rows = tile::DimOp::create(builder, view, 1);
  Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, blockRow, rows);
  return arith::SelectOp::create(builder, exists, count, builder.constant(int64_t(0)));
}

void BackwardLoop::hold() {
  log2Scale = arith::MulFOp::create(builder, problem.kernelFrame().argument("scale"),
                                    builder.constant(std::numbers::log2e_v<float>));
  Value heldHead = holdsKeys() ? kvHead : head;
  for (Operand &operand : held) {
    if (!operand.view)
      continue;
    if (isFused() && &operand == &held[0]) {
      holdInLds();
      continue;
    }
    Type type = builder.frag(operand.depth, kWaveRows, element, FragLayout::Rhs);
    Value loaded = tile::LoadOp::create(builder, type, operand.view, batch, row, heldHead);
    operand.value = withoutPadding(builder, loaded, operand.dim);
  }
  if (secondInLds)
    held[1].value = tile::StashOp::create(builder, held[1].value, IntegerAttr());
}

/// K of all waves to LDS, where it stays; and which keys there are.
void BackwardLoop::holdInLds() {
  waves = tile::WaveGridOp::create(builder, shape.waves, 1);
  queryParts = tile::WaveGridOp::create(builder, shape.waves / tilesAtOnce, tilesAtOnce);
  int64_t rows = shape.waves * kWaveRows;
  auto typeOf = [&](int64_t columns) { return tile::RingType::get(op.getContext(), {rows, columns}, element); };
  auto ds = tile::RingOp::create(builder, typeOf(tilesAtOnce * shape.kvTile), Value(), ValueRange(), IntegerAttr(),
                                 IntegerAttr(), nullptr);
  ds.setNameAttr(builder.getStringAttr("ds"));
  dsRing = ds;
  held[0].value = tile::RingOp::create(builder, typeOf(held[0].depth), held[0].view, ValueRange({batch, kvHead}),
                                       IntegerAttr(), IntegerAttr(), nullptr);
  Value zero = builder.constant(int64_t(0));
  Value block = arith::DivUIOp::create(builder, blockRow, builder.constant(rows));
  tile::FetchOp::create(builder, held[0].value, zero, block, Value(), zero);
  tile::AwaitOp::create(builder, /*fetches=*/true, ValueRange(), /*reads=*/false);
  tile::BarrierOp::create(builder, IntegerAttr());
  Type numbers = tile::rowsOf(scoresType, builder.getI32Type());
  Value count = tile::DimOp::create(builder, held[0].view, 1);
  Value left = arith::SubIOp::create(builder, count, row);
  keyExists = existence(builder, numbers, left);
}

/// `ds` of a tile, zero for keys that do not exist: a select would keep what it goes by in two scalar registers.
Value BackwardLoop::existing(Value ds) {
  return mapScores({ds, keyExists}, [&](ValueRange e) -> Value {
    Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), e[0]);
    return arith::BitcastOp::create(builder, builder.getF32Type(), arith::AndIOp::create(builder, bits, e[1]));
  });
}

Value BackwardLoop::tilesUpTo(Value end) {
  int64_t rows = shape.kvTile * tilesAtOnce;
  Value roundedUp = arith::AddIOp::create(builder, end, builder.constant(rows - 1));
  return arith::DivUIOp::create(builder, roundedUp, builder.constant(rows));
}

/// Where the tile that is being written stands among all, in iteration `t`: for use in a step.
Value BackwardLoop::numberOf(Value t) {
  if (tilesAtOnce == 1)
    return t;
  Value before = arith::MulIOp::create(builder, t, builder.constant(tilesAtOnce));
  return arith::AddIOp::create(builder, before, builder.constant(tileInTurn));
}

/// [first, behind) without those that no mask shows to a key of the workgroup: from the first one to the last.
QueryRange BackwardLoop::shownQueries(QueryRange range, Value queries, Value keys) {
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value lastOfBlock = arith::AddIOp::create(builder, blockRow, builder.constant(shape.waves * kWaveRows - 1));
  Value lastOfKeys = arith::SubIOp::create(builder, keys, one);
  SmallVector<MaskBounds *> all = llvm::map_to_vector(maskBounds, [](MaskBounds &bounds) { return &bounds; });
  SmallVector<KeyBounds> shown = MaskBounds::visibleQueries(
      builder, all, {blockRow, arith::MinSIOp::create(builder, lastOfBlock, lastOfKeys)},
      {zero, arith::SubIOp::create(builder, queries, one)});
  Value first = queries, behind = zero;
  for (const KeyBounds &part : shown) {
    Value lo = part.lo ? arith::MaxSIOp::create(builder, part.lo, range.first).getResult() : range.first;
    Value hi = part.hi ? arith::MinSIOp::create(builder, part.hi, range.last).getResult() : range.last;
    Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, lo, hi);
    first = arith::MinSIOp::create(builder, first, arith::SelectOp::create(builder, any, lo, queries));
    behind = arith::MaxSIOp::create(builder, behind, arith::SelectOp::create(builder, any, hi, zero));
  }
  return {first, behind};
}

/// Which queries see keys of the workgroup, where masks say it: those from the first, at the beginning of a tile, to
/// the last. What a wave's keys are hidden from counts from the first.
void BackwardLoop::measureQueries() {
  attn::VisibilityAttr window = op.getKeyVisibility();
  Value zero = builder.constant(int64_t(0));
  Value queries = tile::DimOp::create(builder, passing[0].view, 1);
  firstQuery = zero, queryCount = queries;
  if (!isNarrowed())
    return;
  // Query i stands beside key i + shift.
  Value keys = tile::DimOp::create(builder, held[0].view, 1);
  Value shift = arith::SubIOp::create(builder, keys, queries);
  auto beside = [&](Value key, int64_t further) -> Value {
    Value query = arith::SubIOp::create(builder, key, shift);
    return arith::AddIOp::create(builder, query, builder.constant(further));
  };
  QueryRange range{zero, queries}; // up to behind its last
  std::optional<int64_t> right = window.getRight(), left = window.getLeft();
  if (right)
    range.first = arith::MaxSIOp::create(builder, beside(blockRow, -*right), zero);
  if (left)
    range.last = arith::MinSIOp::create(builder, beside(blockRow, shape.waves * kWaveRows + *left), queries);
  if (!masks.empty())
    range = shownQueries(range, queries, keys);
  if (right || !masks.empty()) {
    Value size = builder.constant(shape.kvTile);
    firstQuery = arith::MulIOp::create(builder, arith::DivUIOp::create(builder, range.first, size), size);
  }
  if (right)
    above = arith::SubIOp::create(builder, beside(row, -*right), firstQuery);
  if (left)
    diagonal = arith::SubIOp::create(builder, beside(row, *left), firstQuery);
  Value count = arith::SubIOp::create(builder, range.last, firstQuery);
  queryCount = arith::MaxSIOp::create(builder, count, zero);
}

/// How many tiles of queries are visited; from here on passing tensors begin with the first one.
Value BackwardLoop::visitQueries() {
  measureQueries();
  queryCount = unlessBehind(k, queryCount);
  if (isNarrowed())
    for (Operand &operand : passing)
      operand.view = tile::SliceRowsOp::create(builder, operand.view, firstQuery, queryCount);
  if (querySums)
    placeSums();
  return tilesUpTo(queryCount);
}

/// dQ: the tiles of keys that a query of the workgroup sees.
void BackwardLoop::loopOverKeys() {
  kvHead = tile::GroupHeadOp::create(builder, head, held[0].view, passing[0].view);
  visibility.measure(builder, held[0].view, tile::DimOp::create(builder, passing[0].view, 1));
  Value first = builder.constant(int64_t(0));
  preparePositions(row, first);
  heldMinusLogSum = loadFrom(builder, statistic(BackwardFrame::kMinusLogSum), builder.rows(), row);
  heldMinusDelta = loadFrom(builder, statistic(BackwardFrame::kMinusDelta), builder.rows(), row);
  visibility.prepareMasks(builder, row);
  Value count = lists ? lists->prepare(builder, batch, head, blockRow, tile::DimOp::create(builder, passing[0].view, 1))
                      : tilesUpTo(unlessBehind(q, visibility.end(builder, blockRow)));
  Type sum = builder.frag(held[0].depth, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Value zero = builder.fill(sum, 0.0f);
  store(loopOverTiles(count, zero));
}

/// Which block of a head's sums is the wave's first, in iteration 0.
void BackwardLoop::placeSums() {
  int64_t columns = querySums->blocks() / (shape.waves / tilesAtOnce);
  Value before = arith::DivUIOp::create(builder, firstQuery, builder.constant(shape.kvTile));
  Value query = arith::AddIOp::create(builder, before, queryParts.getColumn());
  Value ofQueries = arith::MulIOp::create(builder, query, builder.constant(querySums->blocks()));
  Value ofColumns = arith::MulIOp::create(builder, queryParts.getRow(), builder.constant(columns));
  firstSums = arith::AddIOp::create(builder, ofQueries, ofColumns);
}

/// dK and dV: for each query head that shares the keys, the tiles of queries from the first that sees one on.
void BackwardLoop::loopOverQueries() {
  // What a predicate shows may differ by the head.
  bool isOfHead = !masks.empty() && isNarrowed();
  Value count = isOfHead ? Value() : visitQueries();
  Value heads = tile::DimOp::create(builder, passing[0].view, 2);
  Value kvHeads = tile::DimOp::create(builder, held[0].view, 2);
  auto group = tile::DivModOp::create(builder, heads, kvHeads);
  Value firstHead = arith::MulIOp::create(builder, kvHead, group.getQuotient());
  SmallVector<Value> sums;
  for (int i : {0, 1})
    if (i == 0 ? wantsFirst() : wantsSecond())
      sums.push_back(builder.fill(
          builder.frag(passing[i].depth, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f));
  auto loop = scf::ForOp::create(builder, builder.constant(int64_t(0)), group.getQuotient(),
                                 builder.constant(int64_t(1)), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = loop.getBody();
    if (!body->empty())
      body->back().erase();
    builder.setInsertionPointToEnd(body);
    head = arith::AddIOp::create(builder, firstHead, loop.getInductionVar());
    preparePositions(isOfHead ? builder.constant(int64_t(0)) : firstQuery, row);
    if (isOfHead) {
      count = visitQueries();
      first.row = firstQuery;
    }
    if (querySums)
      sumsOfHead =
          querySums->ofHead(builder, problem.kernelFrame(), batch, head, q, problem.sequences().firstQuery());
    minusLogSums = statistic(BackwardFrame::kMinusLogSum), minusDeltas = statistic(BackwardFrame::kMinusDelta);
    if (lists)
      count = lists->prepare(builder, batch, head, blockRow, queryCount);
    scf::YieldOp::create(builder, loopOverTiles(count, loop.getRegionIterArgs()));
  }
  store(loop.getResults());
}

/// What the tiles that pass go through.
void BackwardLoop::makeRings() {
  Value passingHead = holdsKeys() ? head : kvHead;
  for (Operand &operand : passing) {
    Type type = tile::RingType::get(op.getContext(), {shape.kvTile, operand.depth}, element);
    auto ring = [&] {
      return tile::RingOp::create(builder, type, operand.view, ValueRange({batch, passingHead}),
                                  IntegerAttr(), IntegerAttr(), nullptr);
    };
    // Tiles that pass through registers are stored as they are read, one way or the other.
    bool isFirst = operand.name == passing[0].name;
    bool isRead = isFirst || wantsFirst(), isTurned = isFirst ? wantsFirst() : wantsSecond();
    operand.value = operand.turned = ring();
    operand.rings = {operand.value};
    while (static_cast<int64_t>(operand.rings.size()) != tilesAtOnce)
      operand.rings.push_back(ring());
    if (isRead && isTurned && !arch.hasLdsDma(tile::kDmaBytes))
      operand.turned = ring();
  }
}

/// Returns `sums` with those of `count` tiles.
SmallVector<Value> BackwardLoop::loopOverTiles(Value count, ValueRange sums) {
  makeRings();
  noScores = builder.fill(scoresType, 0.0f);
  SmallVector<tile::TileCut> cuts;
  if (!lists)
    cuts = holdsKeys() ? queryCuts() : visibility.cuts();
  SmallVector<Value> inits(sums);
  if (lists)
    inits.push_back(lists->lookUp(builder, builder.constant(int64_t(0))));
  auto loop = tile::ForTilesOp::create(builder, count, inits, cuts, schedule);
  Block &body = loop.getBody().emplaceBlock();
  Value t = body.addArgument(builder.getI32Type(), op.getLoc());
  for (Value init : inits)
    body.addArgument(init.getType(), op.getLoc());
  builder.setInsertionPointToStart(&body);
  if (lists)
    ahead = body.getArguments().back();
  SmallVector<Value> next = iterate(t, body.getArguments().slice(1, sums.size()));
  if (lists)
    next.push_back(nextAhead);
  tile::YieldOp::create(builder, next);
  builder.setInsertionPointAfter(loop);
  ValueRange results = loop.getResults();
  return llvm::to_vector(results.take_front(sums.size()));
}

/// What is known of the tiles of queries: they are counted to the last, and begin with the tile of the first that sees
/// a key of the workgroup, whose last one is seen as many queries later as it has keys, less one.
SmallVector<tile::TileCut> BackwardLoop::queryCuts() {
  SmallVector<tile::TileCut> cuts;
  if (above || diagonal || !scores.empty())
    cuts.push_back({{queryCount, tile::TileSide::Right}, /*within=*/0});
  if (above)
    cuts.push_back({{above, tile::TileSide::Left}, shape.waves * kWaveRows - 1});
  return cuts;
}

/// LSE and -delta of the queries of tile `t`, where queries pass: each number comes to one lane, and from there to all
/// that hold an element of the query, by way of LDS, which costs a fraction of loading it for each of them.
std::pair<Value, Value> BackwardLoop::rowSteps(Value t) {
  Type f32 = builder.getF32Type();
  tile::RegisterLayout line{FragLayout::Lines, 1, std::min<int64_t>(shape.kvTile, kWaveLanes)};
  Type narrow = tile::ColumnsType::get(op.getContext(), shape.kvTile, f32, line);
  ValueRange loaded = step("load_rows", [&]() -> SmallVector<Value> {
    Value before = arith::MulIOp::create(builder, placeInView(t), builder.constant(shape.kvTile));
    Value query = arith::AddIOp::create(builder, first.row, before);
    SmallVector<Value> numbers = {loadFrom(builder, minusLogSums, narrow, query)};
    if (wantsFirst())
      numbers.push_back(loadFrom(builder, minusDeltas, narrow, query));
    return numbers;
  });
  auto spread = [&](StringRef name, Value numbers) -> Value {
    return step(name, [&]() -> SmallVector<Value> {
      Type wide = tile::columnsOf(scoresType, f32);
      return {tile::ConvertLayoutOp::create(builder, wide, numbers)};
    })[0];
  };
  return {spread("spread_sums", loaded.front()),
          wantsFirst() ? spread("spread_deltas", loaded.back()) : Value()};
}

/// The name of a step of part `part` of a product.
static std::string ofPart(StringRef prefix, StringRef name, int64_t part) {
  return (prefix + name + (part == 0 ? "" : "_rest")).str();
}

/// From `first` on, so much of the depth of an operand as `type` has; all of it is the operand.
Value BackwardLoop::partOf(Value operand, Type type, int64_t first) {
  if (operand.getType() == type)
    return operand;
  return tile::SliceDepthOp::create(builder, type, operand, first);
}

/// From `first` on, so much of the depth as `type` has of the wave's rows of what stands in LDS.
Value BackwardLoop::standing(const Operand &rows, Type type, int64_t first) {
  Type whole = builder.frag(rows.depth, kWaveRows, element, FragLayout::Rhs);
  Value read = tile::ReadOp::create(builder, whole, rows.value, builder.constant(int64_t(0)), Value(), waves.getRow());
  return partOf(read, type, first);
}

/// `start`, and the product of a tile, as it lies in LDS, and what is held, which may lie there, too. What `start`
/// makes is made in the product's step.
Value BackwardLoop::product(const Operand &tiles, const Operand &rows, Value t, StringRef name,
                            llvm::function_ref<Value()> start) {
  // Whole steps of the matrix instruction, the first part not the smaller one.
  int64_t steps = tile::operandShape(bitsOf(element)).k;
  int64_t all = llvm::alignTo(tiles.dim, steps), ofPartOne = llvm::alignTo(llvm::divideCeil(all, parts), steps);
  bool isAside = isa<tile::StashType>(rows.value.getType()), stands = isa<tile::RingType>(rows.value.getType());
  Value sum;
  for (int64_t part = 0; part != parts; ++part) {
    int64_t first = part * ofPartOne, depth = std::min(ofPartOne, all - first);
    Type left = builder.frag(shape.kvTile, depth, element, FragLayout::Lhs);
    Type right = builder.frag(depth, kWaveRows, element, FragLayout::Rhs);
    ValueRange operands = step(ofPart("read_", tiles.name, part), [&]() -> SmallVector<Value> {
      Type type = builder.frag(shape.kvTile, tiles.depth, element, FragLayout::Lhs);
      Value read = tile::ReadOp::create(builder, type, tiles.value, t, Value());
      SmallVector<Value> operands = {partOf(withoutPadding(builder, read, tiles.dim), left, first)};
      if (isAside)
        operands.push_back(tile::RecallOp::create(builder, right, rows.value, first));
      if (stands)
        operands.push_back(standing(rows, right, first));
      return operands;
    });
    sum = step(ofPart("", name, part), [&]() -> SmallVector<Value> {
      Value held = isAside || stands ? operands.back() : partOf(rows.value, right, first);
      return {tile::MmaOp::create(builder, operands.front(), held, sum ? sum : start())};
    })[0];
  }
  return sum;
}

/// `sum` and the product of the tile, transposed, and `factor`, which is packed scores.
Value BackwardLoop::addProduct(const Operand &tiles, Value t, Value factor, Value sum,
                               StringRef name) {
  int64_t depth = shape.kvTile / parts;
  Type left = builder.frag(tiles.depth, depth, element, FragLayout::LhsAcc);
  Type right = builder.frag(depth, kWaveRows, element, FragLayout::RhsAcc);
  for (int64_t part = 0; part != parts; ++part) {
    Value operand = step(ofPart("turn_", tiles.name, part), [&]() -> SmallVector<Value> {
      Type type = builder.frag(tiles.depth, shape.kvTile, element, FragLayout::LhsAcc);
      Value read = tile::ReadTransposedOp::create(builder, type, tiles.turned, t, Value());
      return {partOf(read, left, part * depth)};
    })[0];
    sum = step(ofPart("", name, part), [&]() -> SmallVector<Value> {
      return {tile::MmaOp::create(builder, operand, partOf(factor, right, part * depth), sum)};
    })[0];
  }
  return sum;
}

/// The tiles of Q and dO that stand at `tileInTurn` in iteration `t`.
void BackwardLoop::fetchTile(Value t) {
  for (const Operand &operand : passing)
    step("fetch_" + operand.name, [&]() -> SmallVector<Value> {
      Value from = tilesAtOnce == 1 ? Value() : numberOf(t);
      tile::FetchOp::create(builder, operand.value, t, from, Value(), Value());
      return {};
    });
}

/// All tiles of an iteration. Returns the next sums.
SmallVector<Value> BackwardLoop::iterate(Value t, ValueRange sums) {
  if (!isFused())
    return iterateTile(t, sums);
  SmallVector<Value> next(sums), ofTiles;
  SmallVector<Value> own[] = {passing[0].rings, passing[1].rings};
  for (tileInTurn = 0; tileInTurn != tilesAtOnce; ++tileInTurn) {
    ofTile = tileInTurn == 0 ? "" : "_" + std::to_string(tileInTurn + 1);
    for (int i : {0, 1})
      passing[i].value = passing[i].turned = own[i][tileInTurn];
    next = iterateTile(t, next);
    ofTiles.push_back(packedDs);
  }
  ofTile.clear(), tileInTurn = 0;
  addQueryGradient(t, ofTiles);
  return next;
}

/// What the workgroup's keys add to dQ of the tiles of iteration `t`, of which `ofTiles` are dS of the wave's keys.
void BackwardLoop::addQueryGradient(Value t, ValueRange ofTiles) {
  int64_t keys = shape.waves * kWaveRows, columns = held[0].depth / (shape.waves / tilesAtOnce);
  step("put_ds", [&]() -> SmallVector<Value> {
    Type type = builder.frag(tilesAtOnce * shape.kvTile, kWaveRows, element, FragLayout::RhsAcc);
    Value all = ofTiles.size() == 1 ? ofTiles[0] : Value(tile::ConcatOp::create(builder, type, ofTiles));
    tile::PutOp::create(builder, dsRing, t, Value(), all, waves.getRow(), Value());
    return {};
  });
  ValueRange operands = step("read_ds", [&]() -> SmallVector<Value> {
    Type left = builder.frag(columns, keys, element, FragLayout::LhsAcc);
    Type right = builder.frag(keys, kWaveRows, element, FragLayout::RhsAcc);
    Value zero = builder.constant(int64_t(0));
    return {tile::ReadTransposedOp::create(builder, left, held[0].value, zero, Value(), queryParts.getRow()),
            tile::ReadTransposedOp::create(builder, right, dsRing, t, Value(), queryParts.getColumn())};
  });
  Value sum = step("dq", [&]() -> SmallVector<Value> {
    Value none = builder.fill(builder.frag(columns, kWaveRows, builder.getF32Type(), FragLayout::Acc), 0.0f);
    return {tile::MmaOp::create(builder, operands[0], operands[1], none)};
  })[0];
  step("add_dq", [&]() -> SmallVector<Value> {
    addToSums(t, sum, columns / kHeadBlock);
    return {};
  });
}

/// Adds `sum`, the wave's `count` blocks of dQ of iteration `t`, to what lies in memory.
void BackwardLoop::addToSums(Value t, Value sum, int64_t count) {
  KernelFrame &frame = problem.kernelFrame();
  if (querySums->isPacked()) {
    // Number by number: `tile.scale` would keep the factor in as many scalar registers as a block has numbers.
    Value scale = frame.argument(dropout ? StringRef(kScaleOfKept) : "scale");
    sum = builder.map(sum.getType(), {sum, scale}, [&](ValueRange e) -> Value {
      return arith::MulFOp::create(builder, e[0], e[1]);
    });
    sum = tile::PackOp::create(builder, querySums->held(count), sum);
  }
  Value image = tile::RelabelOp::create(builder, querySums->image(count), sum);
  Value before = arith::MulIOp::create(builder, t, builder.constant(tilesAtOnce * querySums->blocks()));
  Value place = arith::AddIOp::create(builder, before, firstSums);
  auto add = tile::AtomicAddOp::create(builder, image, sumsOfHead, ValueRange(place), IntegerAttr());
  add->setAttr(tile::kWholeWords, builder.getUnitAttr());
}

/// The tiles of iteration `t`; with lists the block of the next one is looked up beside.
void BackwardLoop::fetchPassing(ArrayRef<NamedRings> tiles, Value t) {
  if (!lists) {
    fetchSteps(builder, arch, shape.waves, tiles, t);
    return;
  }
  auto number = [&] { return placeInView(t); };
  auto next = [&]() -> SmallVector<Value> {
    Value later = arith::AddIOp::create(builder, t, builder.constant(int64_t(1)));
    return {lists->lookUp(builder, later)};
  };
  FetchAhead fetch;
  fetch.number = number, fetch.next = next;
  nextAhead = fetchSteps(builder, arch, shape.waves, tiles, t, fetch).front();
}

/// One tile: P = exp2(S scale - LSE), dS = P * (dP - delta), and what is summed. Returns the next sums.
SmallVector<Value> BackwardLoop::iterateTile(Value t, ValueRange sums) {
  SmallVector<NamedRings, 2> tiles;
  for (const Operand &operand : passing) {
    tiles.push_back({operand.name, {operand.value}});
    if (operand.turned != operand.value)
      tiles.back().rings.push_back(operand.turned);
  }
  if (isFused())
    fetchTile(t);
  else
    fetchPassing(tiles, t);
  Value minusLogSum = heldMinusLogSum, minusDelta = heldMinusDelta;
  if (holdsKeys())
    std::tie(minusLogSum, minusDelta) = rowSteps(t);
  Value raw = product(passing[0], held[0], t, "qk", [&] { return noScores; });
  ValueRange masked = step("mask", [&] { return exponents(raw, minusLogSum, placeInView(t), listedAt(t)); });
  Value slope = masked.size() > 1 ? masked.back() : Value();
  ValueRange weighed = step("p", [&] { return weights(masked, slope, placeInView(t)); });
  SmallVector<Value> next(sums);
  if (wantsSecond())
    next.back() = addProduct(passing[1], t, weighed.back(), sums.back(), "dv");
  if (!wantsFirst())
    return next;
  // Where queries pass, -delta lies as the accumulators of dP do, which then begin with it.
  bool isIncluded = holdsKeys() && !dropout;
  Value weightGradients = product(passing[1], held[1], t, "dp", [&]() -> Value {
    if (!isIncluded)
      return noScores;
    return mapScores({minusDelta}, [](ValueRange e) -> Value { return e[0]; });
  });
  Type packedType = builder.frag(shape.kvTile, kWaveRows, element, FragLayout::RhsAcc);
  Value packed = step("ds", [&]() -> SmallVector<Value> {
    Value ds = gradients(weightGradients, isIncluded ? Value() : minusDelta, weighed.front(),
                         dropout ? slope : Value());
    if (isFused())
      ds = existing(ds);
    return {tile::PackOp::create(builder, packedType, ds)};
  })[0];
  packedDs = packed;
  next.front() = addProduct(passing[0], t, packed, sums.front(), holdsKeys() ? "dk" : "dq");
  return next;
}

void BackwardLoop::store(ValueRange sums) {
  KernelFrame &frame = problem.kernelFrame();
  Value heldHead = holdsKeys() ? kvHead : head;
  if (wantsFirst()) {
    Value scale = frame.argument(dropout ? StringRef(kScaleOfKept) : "scale");
    Value scaled = tile::ScaleOp::create(builder, sums.front(), scale);
    tile::StoreOp::create(builder, scaled, problem.view(builder, holdsKeys() ? "dk" : "dq"), batch,
                          row, heldHead);
  }
  if (wantsSecond()) {
    Value sum = sums.back();
    if (dropout)
      sum = tile::ScaleOp::create(builder, sum, frame.argument(kOneOfKept));
    tile::StoreOp::create(builder, sum, problem.view(builder, "dv"), batch, row, heldHead);
  }
  tile::ReturnOp::create(builder);
}

FailureOr<tile::KernelOp> BackwardLoop::build() {
  if (failed(findScores()))
    return failure();
  findMasks();
  FailureOr<tile::KernelOp> kernel = createFrame();
  if (failed(kernel))
    return failure();
  place();
  enterSequence();
  hold();
  holdsKeys() ? loopOverQueries() : loopOverKeys();
  return kernel;
}

FailureOr<tile::KernelOp> hocket::buildBackward(attn::BackwardOp op, FlatSymbolRefAttr schedule,
                                                const ArchInfo &arch, BackwardShape shape) {
  if (op.getPart() == BackwardPart::Delta)
    return buildBackwardRows(op, arch);
  if (op.getPart() == BackwardPart::Sink)
    return buildBackwardSink(op, arch);
  if (op.getPart() == BackwardPart::Captured)
    return buildCapturedGradient(op, arch);
  if (op.getPart() == BackwardPart::Convert)
    return buildQueryConversion(op, arch);
  return BackwardLoop(op, schedule, arch, shape).build();
}
