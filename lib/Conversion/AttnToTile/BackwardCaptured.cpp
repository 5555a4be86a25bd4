// The gradient of a tensor that a modification of scores reads: of a bias, of slopes.
//
// An element is read by one score, or, where the tensor lacks an index or an extent is 1, by all scores along it. A
// workgroup has the elements of 32 keys, and 32 queries for each wave, or fewer of either, and goes through batches,
// heads, queries and keys that share them, in their order: no sum depends on timing. It recomputes S and dP, two
// products of the five, from registers.
//
// Of a table whose last index is computed a workgroup has 32 entries and goes through everything: of each tile it sums,
// entry by entry, what reads it.
//
// With block lists it goes, for each block of queries, through the blocks of keys that the forward's lists name.
#include "Backward.h"

#include "BackwardScores.h"
#include "Forward.h"
#include "RingSteps.h"

#include "Attn/Transforms/DeriveScoreMods.h"
#include "Tile/IR/FragmentMap.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

static constexpr int64_t kMostWaves = 4, kCapturedKeys = 32;

/// Waves of a workgroup, whose rows lie in one block of queries where there are lists.
static int64_t wavesOf(attn::BackwardOp op) {
  int64_t waves = kMostWaves;
  while (op.getQueryBlock() && *op.getQueryBlock() % (waves * kWaveRows) != 0 && waves > 1)
    waves /= 2;
  return waves;
}

namespace {
/// What an index of the tensor is: the first arguments of a modification behind the score, or another number.
enum Index : unsigned { Batch, Head, Query, Key, kIndices, Computed = kIndices };
/// Numbers up to this are whole in f32.
constexpr int64_t kMostTableEntries = int64_t(1) << 24;

class CapturedGradient : BackwardScores {
public:
  CapturedGradient(attn::BackwardOp op, const ArchInfo &arch)
      : BackwardScores(op, arch, {wavesOf(op), kCapturedKeys}), name(*op.getGradientOf()),
        rows(shape.waves * kWaveRows) {}
  FailureOr<tile::KernelOp> build();

private:
  LogicalResult findTensor();
  FailureOr<SmallVector<Index, 4>> indicesOf(attn::ReadOp read, StringRef mod);
  std::optional<size_t> dimensionOf(Index index) const;
  bool isTable() const { return dimensionOf(Computed).has_value(); }
  std::string stride(size_t dimension) const { return ("d_" + name + "_stride_" + Twine(dimension)).str(); }
  std::string ownText(Index index) const;
  std::string countText(Index index, const std::string &count) const;
  FailureOr<tile::KernelOp> createFrame();
  Value own(Index index);
  Value endOf(Index index, Value count);
  Value over(Index index, Value count, Value sum, function_ref<Value(Value, Value)> body);
  void findPlace();
  Value sumOfAll();
  Value addBlock(Value block, Value sum);
  Value addListed(Value count, Value tiles, Value sum);
  Value addTile(Value t, Listed listed, Value sum);
  Value addEntries(Value ds, Value raw, Value t, Value sum);
  Value addToColumn(Value values, Value number, Value column);
  Value load(StringRef tensor, int64_t dim, Value first, Value ofHead, FragLayout layout);
  Value onlyOfRows(Value ds);
  void store(Value sum);
  void storeOfRows(Value sum);
  void storeOfAllRows(Value sum);
  void storeAt(Value values, Value query, std::optional<int64_t> along);

  StringRef name; ///< of the tensor
  int64_t rows;   ///< of a workgroup
  RankedTensorType tensor;
  ArrayAttr sizes;
  SmallVector<Index, 4> indices;       ///< of its dimensions
  std::array<Value, kIndices> firsts;  ///< the workgroup's, 0 of what it sums over: of queries and keys the block
  Value queryOperand, gradientOperand; ///< Q and dO of the wave
  Value minusLogSum, minusDelta;
  // Of a table.
  std::unique_ptr<ModificationProgram> entryOfScore; ///< which one a score reads
  Value firstEntry;                                  ///< the workgroup's
};
} // namespace

/// What the indices of a read are. Of a computed one the program is made.
FailureOr<SmallVector<Index, 4>> CapturedGradient::indicesOf(attn::ReadOp read, StringRef mod) {
  auto refuse = [&](const Twine &what) {
    return op.emitOpError() << "'" << op.getSymName() << "': the gradient of '" << name << "' is asked for, which '"
                            << mod << "' reads " << what;
  };
  SmallVector<Index, 4> own;
  for (Value value : read.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(value);
    unsigned number = argument ? argument.getArgNumber() : 0;
    bool isComputed = number < 1 || number > kIndices;
    Index kind = isComputed ? Computed : Index(number - 1);
    if (llvm::is_contained(own, kind))
      return refuse(isComputed ? "at several computed places; compute one index, the last"
                               : "by one index twice; read each number by indices of its own");
    own.push_back(kind);
    if (!isComputed)
      continue;
    if (entryOfScore)
      return refuse("at several places; read it at one");
    if (own.size() != read.getIndices().size() || llvm::is_contained(own, Query) || llvm::is_contained(own, Key))
      return refuse("at a computed place beside other indices than batch and head in front of it; use those");
    auto program = attn::yieldIndex(read->getParentOfType<attn::ScoreModOp>(), value);
    entryOfScore = std::make_unique<ModificationProgram>(program.get(), scoresType, Orientation::QueriesInRows,
                                                         hasOwnLengths());
  }
  return own;
}

/// The one modification that reads the tensor, and at which indices.
LogicalResult CapturedGradient::findTensor() {
  auto refuse = [&](const Twine &what) {
    return op.emitOpError() << "'" << op.getSymName() << "': the gradient of '" << name << "' " << what;
  };
  if (auto symbols = op.getScoreMods())
    for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>()) {
      auto mod = SymbolTable::lookupNearestSymbolFrom<attn::ScoreModOp>(op, symbol);
      for (attn::ReadOp read : attn::readsOf(mod, name)) {
        FailureOr<SmallVector<Index, 4>> own = indicesOf(read, mod.getSymName());
        if (failed(own))
          return failure();
        if (!indices.empty() && (indices != *own || tensor != read.getTensor().getType()))
          return refuse("is asked for, which is read at several places; read it at one");
        indices = *own;
        tensor = cast<RankedTensorType>(read.getTensor().getType());
        sizes = mod.getArgAttrOfType<ArrayAttr>(cast<BlockArgument>(read.getTensor()).getArgNumber(), "attn.sizes");
      }
    }
  if (!tensor)
    return refuse("is asked for, which no score_mod reads");
  if (!isa<FloatType>(tensor.getElementType()))
    return refuse("is asked for, which has elements of no floating-point type");
  if (std::optional<size_t> key = dimensionOf(Key); key && *key + 1 != indices.size())
    return refuse("is asked for, whose keys are not the last dimension; exchange its dimensions");
  return success();
}

std::optional<size_t> CapturedGradient::dimensionOf(Index index) const {
  const auto *found = llvm::find(indices, index);
  if (found == indices.end())
    return std::nullopt;
  return found - indices.begin();
}

/// 1 where each value of the index has elements of its own, 0 where they are summed over: the last extent is whole, of
/// others one of 1 has no stride.
std::string CapturedGradient::ownText(Index index) const {
  std::optional<size_t> dimension = dimensionOf(index);
  if (!dimension)
    return "0";
  return *dimension + 1 == indices.size() ? "1" : "min(1, " + stride(*dimension) + ")";
}

/// How many there are of the index in the grid, of `count` in the problem.
std::string CapturedGradient::countText(Index index, const std::string &count) const {
  return "(1 + (" + count + " - 1) * " + ownText(index) + ")";
}

FailureOr<tile::KernelOp> CapturedGradient::createFrame() {
  problem.addTensors({"q", "k", "v", "do"});
  problem.addRowStatistics();
  KernelFrame &frame = problem.kernelFrame();
  MLIRContext *context = frame.context();
  auto kept = [&](const Twine &text) { return StringAttr::get(context, text).getValue(); };
  Tensor gradient{kept("d_" + name), {}, {}};
  for (auto [dimension, size] : llvm::enumerate(sizes.getAsRange<StringAttr>())) {
    gradient.sizes.push_back(size.getValue());
    if (dimension + 1 != sizes.size())
      gradient.strides.push_back(kept(stride(dimension)));
  }
  frame.addTensor(tile::ViewType::get(context, tensor.getShape(), tensor.getElementType()), gradient);
  frame.addScalar(builder.getF32Type(), "scale");
  for (unsigned index = 0; index != kIndices; ++index)
    if (std::string text = ownText(Index(index)); text.size() > 1)
      frame.addScalar(builder.getI32Type(), kept(text));
  if (op.getDropout()) {
    addDropoutArguments(frame);
    frame.addScalar(builder.getF32Type(), kOneOfKept);
  }
  problem.addSequences(/*ofKeys=*/false);
  if (failed(addArguments()))
    return failure();
  if (entryOfScore && failed(entryOfScore->addArguments(frame)))
    return failure();
  if (entryOfScore)
    frame.require(gradient.sizes.back() + (" <= " + Twine(kMostTableEntries)).str(),
                  "a table whose gradient is asked for may have at most " + Twine(kMostTableEntries) + " entries");
  problem.addRequirements();
  Visibility(op.getKeyVisibility(), 0).addRequirements(frame);
  frame.require("max(ceildiv(seq_q, " + Twine(rows) + "), batch * heads) <= 65535",
                "blocks of queries, and heads of all batches, may be at most 65535");
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, shape.waves);
  kernel->setAttr("tile.late_arguments", builder.getUnitAttr()); // where the sums go
  kernel->setAttr("tile.turn_scalars", builder.getUnitAttr());   // and what each batch, head and block begins with
  bindArguments();
  if (entryOfScore)
    entryOfScore->bindArguments(frame);
  return kernel;
}

Value CapturedGradient::own(Index index) {
  std::string text = ownText(index);
  return text.size() > 1 ? problem.kernelFrame().argument(text) : builder.constant(int64_t(text == "1"));
}

/// Where the workgroup stands in the grid of elements.
void CapturedGradient::findPlace() {
  std::string keys = "ceildiv(seq_kv, " + std::to_string(kCapturedKeys) + ")";
  std::string queries = "ceildiv(seq_q, " + std::to_string(rows) + ")";
  std::string entries = isTable() ? cast<StringAttr>(sizes.getValue().back()).getValue().str() : std::string();
  std::string columns =
      isTable() ? "ceildiv(" + entries + ", " + std::to_string(kCapturedKeys) + ")" : countText(Key, keys);
  std::string grid[] = {columns, countText(Query, queries),
                        countText(Batch, "batch") + " * " + countText(Head, "heads")};
  auto place = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({grid[0], grid[1], grid[2]}));
  Value one = builder.constant(int64_t(1));
  Value more = arith::SubIOp::create(builder, tile::DimOp::create(builder, problem.kernelFrame().argument("q"), 2), one);
  Value heads = arith::AddIOp::create(builder, arith::MulIOp::create(builder, more, own(Head)), one);
  auto group = tile::DivModOp::create(builder, place.getZ(), heads);
  firsts = {group.getQuotient(), group.getRemainder(), place.getY(), place.getX()};
  if (!isTable())
    return;
  firstEntry = arith::MulIOp::create(builder, place.getX(), builder.constant(kCapturedKeys));
  firsts[Key] = builder.constant(int64_t(0));
}

/// Behind the last value of the index that adds to the workgroup's elements, of `count` there are.
Value CapturedGradient::endOf(Index index, Value count) {
  Value next = arith::AddIOp::create(builder, firsts[index], builder.constant(int64_t(1)));
  Value isOwn = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, own(index), builder.constant(int64_t(0)));
  return arith::SelectOp::create(builder, isOwn, next, count);
}

/// `body` for each value of the index that adds to the workgroup's elements, of `count` there are.
Value CapturedGradient::over(Index index, Value count, Value sum, function_ref<Value(Value, Value)> body) {
  return builder.accumulate(firsts[index], endOf(index, count), 1, sum, body);
}

static Value blocksOf(ExpansionBuilder &builder, Value rows, int64_t size) {
  Value rounded = arith::AddIOp::create(builder, rows, builder.constant(size - 1));
  return arith::DivUIOp::create(builder, rounded, builder.constant(size));
}

Value CapturedGradient::sumOfAll() {
  KernelFrame &frame = problem.kernelFrame();
  Value whole = frame.argument("q");
  Value batches = tile::DimOp::create(builder, whole, 0), heads = tile::DimOp::create(builder, whole, 2);
  Type sums = isTable() ? Type(tile::columnsOf(scoresType, builder.getF32Type())) : Type(scoresType);
  return over(Batch, batches, builder.fill(sums, 0.0f), [&](Value inBatch, Value ofBatch) {
    batch = inBatch;
    problem.enterSequence(builder, batch);
    q = problem.view(builder, "q"), k = problem.view(builder, "k");
    statistics = problem.rowStatistics(builder);
    Value blocks = blocksOf(builder, tile::DimOp::create(builder, q, 1), rows);
    return over(Head, heads, ofBatch, [&](Value inHead, Value ofHead) {
      head = inHead;
      kvHead = tile::GroupHeadOp::create(builder, head, q, k);
      return over(Query, blocks, ofHead, [&](Value block, Value sum) { return addBlock(block, sum); });
    });
  });
}

/// Rows from `first` on of one head of `tensor`, as an operand.
Value CapturedGradient::load(StringRef tensorName, int64_t dim, Value first, Value ofHead, FragLayout layout) {
  int64_t depth = llvm::alignTo(dim, kHeadBlock);
  Type type = layout == FragLayout::Lhs ? builder.frag(kCapturedKeys, depth, elementType(), layout)
                                        : builder.frag(depth, kWaveRows, elementType(), layout);
  Value loaded = tile::LoadOp::create(builder, type, problem.view(builder, tensorName), batch, first, ofHead);
  return withoutPadding(builder, loaded, dim);
}

/// What the wave's queries of a block add.
Value CapturedGradient::addBlock(Value block, Value sum) {
  blockRow = arith::MulIOp::create(builder, block, builder.constant(rows));
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
  Value keys = tile::DimOp::create(builder, k, 1);
  masks.range.measure(builder, q, keys);
  preparePositions(row, builder.constant(int64_t(0)));
  if (entryOfScore)
    entryOfScore->prepare(builder, fixed.first);
  masks.range.prepareMasks(builder, row);
  auto ofRows = [&](int64_t number) -> Value {
    return tile::LoadOp::create(builder, builder.rows(), statistic(number), ValueRange(row), IntegerAttr());
  };
  minusLogSum = ofRows(BackwardFrame::kMinusLogSum), minusDelta = ofRows(BackwardFrame::kMinusDelta);
  queryOperand = load("q", op.getHeadDim(), row, head, FragLayout::Rhs);
  gradientOperand = load("do", op.getValueHeadDim(), row, head, FragLayout::Rhs);
  fixed.noScores = builder.fill(scoresType, 0.0f);
  Value tiles = blocksOf(builder, keys, kCapturedKeys);
  if (lists)
    return addListed(lists->prepare(builder, batch, head, blockRow, keys), tiles, sum);
  return over(Key, tiles, sum, [&](Value t, Value before) { return addTile(t, {}, before); });
}

/// What the block's lists name, `count` tiles, as far as they lie among the `tiles` of the keys and add to the
/// workgroup's elements: block by block, whatever numbers stand in the lists.
Value CapturedGradient::addListed(Value count, Value tiles, Value sum) {
  Value end = endOf(Key, tiles);
  int64_t size = *op.getKeyBlock() / kCapturedKeys;
  return builder.accumulate(builder.constant(int64_t(0)), count, size, sum, [&](Value visited, Value before) {
    Listed listed{lists->lookUp(builder, visited), lists->isPartial(builder, visited)};
    Value first = lists->number(builder, listed.block, visited);
    Value behind = arith::AddIOp::create(builder, first, builder.constant(size));
    Value from = arith::MaxSIOp::create(builder, first, firsts[Key]);
    Value to = arith::MinSIOp::create(builder, behind, end);
    return builder.accumulate(from, to, 1, before, [&](Value t, Value sofar) { return addTile(t, listed, sofar); });
  });
}

Value CapturedGradient::addTile(Value t, Listed listed, Value sum) {
  Value first = arith::MulIOp::create(builder, t, builder.constant(kCapturedKeys));
  Value keyOperand = load("k", op.getHeadDim(), first, kvHead, FragLayout::Lhs);
  Value valueOperand = load("v", op.getValueHeadDim(), first, kvHead, FragLayout::Lhs);
  Value raw = tile::MmaOp::create(builder, keyOperand, queryOperand, fixed.noScores);
  Value weightGradients = tile::MmaOp::create(builder, valueOperand, gradientOperand, fixed.noScores);
  SmallVector<Value> masked = exponents(raw, minusLogSum, t, listed);
  Value slope = masked.size() > 1 ? masked.back() : Value();
  SmallVector<Value> weighed = weights(masked, slope, t);
  Value ds = onlyOfRows(gradients(weightGradients, minusDelta, weighed.front(), dropout ? slope : Value()));
  if (isTable())
    return addEntries(ds, raw, t, sum);
  return mapScores({sum, ds}, [&](ValueRange e) -> Value { return arith::AddFOp::create(builder, e[0], e[1]); });
}

/// Adds to the workgroup's entries, column values, what of the tile's `ds` reads each of them.
Value CapturedGradient::addEntries(Value ds, Value raw, Value t, Value sum) {
  Type f32 = builder.getF32Type();
  Value read = entryOfScore->modify(builder, raw, problem.kernelFrame().argument("scale"), placeOf(t));
  Value zero = builder.constant(int64_t(0)), count = builder.constant(kCapturedKeys);
  return builder.accumulate(zero, count, 1, sum, [&](Value entry, Value sofar) -> Value {
    Value number = arith::SIToFPOp::create(builder, f32, arith::AddIOp::create(builder, firstEntry, entry));
    Value own = mapScores({ds, read, number}, [&](ValueRange e) -> Value {
      Value isRead = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, e[1], e[2]);
      return arith::SelectOp::create(builder, isRead, e[0], builder.constant(0.0f));
    });
    Value ofRows = tile::ReduceOp::create(builder, tile::rowsOf(scoresType, f32), tile::Reduction::Sum, own,
                                          tile::Dimension::Columns);
    Value total = tile::ReduceOp::create(builder, f32, tile::Reduction::Sum, ofRows, tile::Dimension::Rows);
    return addToColumn(sofar, total, entry);
  });
}

/// `values` of columns, to number `column` of which `number` is added.
Value CapturedGradient::addToColumn(Value values, Value number, Value column) {
  Value inputs[] = {values, number, column};
  return builder.mapPlaced(values.getType(), inputs, [&](ValueRange e, Value, Value ownColumn) -> Value {
    Value isOwn = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, ownColumn, e[2]);
    Value more = arith::SelectOp::create(builder, isOwn, e[1], builder.constant(0.0f));
    return arith::AddFOp::create(builder, e[0], more);
  });
}

/// `ds` without what rows have that do not exist, whatever it is.
Value CapturedGradient::onlyOfRows(Value ds) {
  auto existing = [&](ValueRange e, Value query, Value) -> Value {
    Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::sle, query, e[1]);
    return arith::SelectOp::create(builder, exists, e[0], builder.constant(0.0f));
  };
  return builder.mapPlaced(scoresType, {ds, fixed.lastQuery}, existing, /*firstRow=*/row);
}

/// Into the gradient at the workgroup's place and query `query`.
void CapturedGradient::storeAt(Value values, Value query, std::optional<int64_t> along) {
  SmallVector<Value> place;
  for (Index index : indices) {
    if (index == Computed)
      place.push_back(firstEntry);
    else if (index == Key)
      place.push_back(arith::MulIOp::create(builder, firsts[Key], builder.constant(kCapturedKeys)));
    else
      place.push_back(index == Query ? query : firsts[index]);
  }
  Value view = problem.kernelFrame().argument(("d_" + name).str());
  tile::StoreOp::create(builder, values, view, place, along ? builder.getI64IntegerAttr(*along) : IntegerAttr());
}

/// Where each query has elements of its own.
void CapturedGradient::storeOfRows(Value sum) {
  Value block = arith::MulIOp::create(builder, firsts[Query], builder.constant(rows));
  Value first = tile::WaveRowOp::create(builder, block, kWaveRows);
  if (!dimensionOf(Key))
    sum = tile::ReduceOp::create(builder, tile::rowsOf(scoresType, builder.getF32Type()), tile::Reduction::Sum, sum,
                                 tile::Dimension::Columns);
  storeAt(sum, first, static_cast<int64_t>(*dimensionOf(Query)));
}

/// Where all queries share them: those of all waves.
void CapturedGradient::storeOfAllRows(Value sum) {
  Type f32 = builder.getF32Type();
  Value total = sum;
  bool isOfColumns = dimensionOf(Key) || isTable();
  if (!isTable())
    total = tile::ReduceOp::create(builder, tile::columnsOf(scoresType, f32), tile::Reduction::Sum, sum,
                                   tile::Dimension::Rows);
  if (!isOfColumns)
    total = tile::ReduceOp::create(builder, f32, tile::Reduction::Sum, total, tile::Dimension::Columns);
  total = tile::ReduceWavesOp::create(builder, tile::Reduction::Sum, total, Value(), IntegerAttr());
  Value zero = builder.constant(int64_t(0));
  Value wave = tile::WaveRowOp::create(builder, zero, /*rows=*/1);
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, wave, zero);
  auto branch = scf::IfOp::create(builder, isFirst, /*withElseRegion=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  storeAt(total, zero, isOfColumns ? std::optional<int64_t>(indices.size() - 1) : std::nullopt);
}

void CapturedGradient::store(Value sum) {
  if (op.getDropout())
    sum = builder.map(sum.getType(), {sum, problem.kernelFrame().argument(kOneOfKept)}, [&](ValueRange e) -> Value {
      return arith::MulFOp::create(builder, e[0], e[1]);
    });
  std::string ofQueries = ownText(Query);
  if (ofQueries == "0")
    return storeOfAllRows(sum);
  if (ofQueries == "1")
    return storeOfRows(sum);
  Value isOwn = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, own(Query), builder.constant(int64_t(0)));
  auto branch = scf::IfOp::create(builder, isOwn, /*withElseRegion=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  storeOfRows(sum);
  builder.setInsertionPointToStart(branch.elseBlock());
  storeOfAllRows(sum);
}

FailureOr<tile::KernelOp> CapturedGradient::build() {
  if (failed(findTensor()) || failed(findScores()))
    return failure();
  FailureOr<tile::KernelOp> kernel = createFrame();
  if (failed(kernel))
    return failure();
  findPlace();
  store(sumOfAll());
  tile::ReturnOp::create(builder);
  return kernel;
}

FailureOr<tile::KernelOp> hocket::buildCapturedGradient(attn::BackwardOp op, const ArchInfo &arch) {
  return CapturedGradient(op, arch).build();
}
