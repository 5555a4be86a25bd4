// Who works on what.
#include "WorkPartition.h"

#include "Grid/KeySlices.h"
#include "Tile/IR/MemoryAccess.h"
#include "hocket/Grid/WorkItem.h"

#include <limits>

using namespace mlir;
using namespace hocket;

/// A row that no sequence has; numbers of rows and their sums stay within 32 bits.
static constexpr int64_t kNoRow = int64_t(1) << 30;
/// With those of a workgroup numbers that `over` of a `tile.load` takes.
static constexpr int64_t kMostPairs = int64_t(1) << 23;

tile::BlockIdOp hocket::createBlockId(ExpansionBuilder &builder, const BlockOrdering &ordering, Value view, int64_t rows,
                                      Value rowCount, bool laterRowsSeeMore) {
  bool isLinear = ordering.order == attn::BlockOrder::Linear;
  auto xcds = !isLinear && ordering.xcds > 1 ? builder.getI64IntegerAttr(ordering.xcds) : IntegerAttr();
  return tile::BlockIdOp::create(builder, view, rows, /*last_rows_first=*/!isLinear && laterRowsSeeMore, xcds, rowCount,
                                 /*paired=*/ordering.order == attn::BlockOrder::Paired);
}

void WorkPartition::place(ExpansionBuilder &builder, Value view, Value rowCount,
                          bool laterRowsSeeMore) {
  tile::BlockIdOp block = createBlockId(builder, options.ordering, view, blockRows(), rowCount, laterRowsSeeMore);
  batch = outputBatch = block.getBatch(), head = block.getHead(), blockRow = block.getRow();
  takeSliceNumber(builder);
  moveToRow(builder, blockRow);
}

void WorkPartition::moveToRow(ExpansionBuilder &builder, Value first) {
  blockRow = first;
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
}

void WorkPartition::takeSliceNumber(ExpansionBuilder &builder) {
  if (!isSplit())
    return;
  auto place = tile::DivModOp::create(builder, outputBatch, splits);
  batch = place.getQuotient(), slice = place.getRemainder();
}

void WorkPartition::addArguments(KernelFrame &frame, attn::ForwardOp op) {
  constexpr int64_t dynamic = ShapedType::kDynamic, mostBytes = int64_t(1) << 31;
  if (op.getGroupRows()) {
    auto head = static_cast<int64_t>(op.getHeadDim());
    frame.addTensor(tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic, head}, op.getElementType()),
                    groupGrid(op.getSplit()));
    frame.require("seq_q * (heads / kv_heads) <= " + Twine(kMostPairs),
                  "seq_q times the heads of a group may be at most " + Twine(kMostPairs));
  }
  if (!op.getWorkList())
    return;
  frame.addTensor(tile::ViewType::get(op.getContext(), {dynamic, dynamic}, IntegerType::get(op.getContext(), 32)),
                  listTensor());
  if (!isMixed(op))
    return;
  for (StringRef name : {"q", "o"})
    frame.require("(min(heads / kv_heads, 32) - 1) * " + name + "_stride_h < " +
                      Twine(8 * mostBytes / static_cast<int64_t>(op.getTensorType(name).getIntOrFloatBitWidth())),
                  "the heads of a group must lie within 2 GiB in '" + name + "'");
}

/// Nothing is read or written through it: its extents are the grid.
Tensor WorkPartition::groupGrid(bool isSplit) {
  return {"group_grid",
          {"0", "0", "0"},
          {isSplit ? "batch * num_splits" : "batch", "seq_q * (heads / kv_heads)", "kv_heads"},
          "q"};
}

void WorkPartition::leaveToFirst(ExpansionBuilder &builder, Value wave) {
  Value zero = builder.constant(int64_t(0));
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, wave, zero);
  storedQueries = arith::SelectOp::create(builder, isFirst, builder.constant(kNoRow), zero);
}

/// The wave's of the items from `first` on.
static auto itemOfWave(ExpansionBuilder &builder, Value first) {
  return [&builder, first]() -> Value { return tile::WaveRowOp::create(builder, first, /*rows=*/1); };
}

void WorkPartition::placeGroups(ExpansionBuilder &builder, Value grid, Value q, Value k,
                                bool laterRowsSeeMore) {
  tile::BlockIdOp block = createBlockId(builder, options.ordering, grid, blockRows(), Value(), laterRowsSeeMore);
  batch = outputBatch = block.getBatch(), head = block.getHead();
  takeSliceNumber(builder);
  groupHeads = tile::DivModOp::create(builder, tile::DimOp::create(builder, q, 2), tile::DimOp::create(builder, k, 2))
                   .getQuotient();
  firstHead = arith::MulIOp::create(builder, head, groupHeads);
  blockPair = pair = block.getRow();
  blockRow = row = tile::DivModOp::create(builder, blockPair, groupHeads).getQuotient();
  if (options.waves == 1)
    return;
  pair = tile::WaveRowOp::create(builder, blockPair, kWaveRows);
  row = tile::DivModOp::create(builder, pair, groupHeads).getQuotient();
}

WorkPartition::GroupPlace WorkPartition::placeInGroup(ExpansionBuilder &builder, Value firstItem,
                                                      function_ref<Value()> itemOf, Value group, Value kvHead) {
  GroupPlace result;
  Value most = builder.constant(kWaveRows);
  Value rounded = arith::AddIOp::create(builder, group, builder.constant(kWaveRows - 1));
  Value parts = arith::DivUIOp::create(builder, rounded, most);
  result.blockQuery = tile::DivModOp::create(builder, firstItem, parts).getQuotient();
  Value item = itemOf();
  auto place = tile::DivModOp::create(builder, item, parts);
  result.query = place.getQuotient();
  Value before = arith::MulIOp::create(builder, place.getRemainder(), most);
  Value ofGroup = arith::MulIOp::create(builder, kvHead, group);
  result.firstHead = arith::AddIOp::create(builder, ofGroup, before);
  result.headCount = arith::MinSIOp::create(builder, arith::SubIOp::create(builder, group, before), most);
  return result;
}

Tensor WorkPartition::listTensor() { return {"work_list", {"6"}, {"work_entries + 1", "6"}}; }

Tensor WorkPartition::listedPartial() {
  return {"partial",
          {"kv_heads * 128 * head_dim_v", "head_dim_v", "128 * head_dim_v"},
          {"work_parts", "128", "kv_heads"},
          "workspace"};
}

Tensor WorkPartition::listedPartialLse() {
  return {"partial_lse",
          {"kv_heads * 128", "128"},
          {"work_parts", "kv_heads", "128"},
          "workspace + 4 * work_parts * kv_heads * 128 * head_dim_v"};
}

StringRef WorkPartition::listedPartialBytes() { return "4 * work_parts * kv_heads * 128 * (head_dim_v + 1)"; }

WorkPartition::ListedCut WorkPartition::readCut(ExpansionBuilder &builder, Value cut) {
  using namespace attention;
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value number = arith::ShRUIOp::create(builder, cut, builder.constant(int64_t(kWorkPartBits)));
  Value parts = arith::MaxSIOp::create(builder, number, one);
  Value more = arith::AndIOp::create(builder, cut, builder.constant(kWorkParts - 1));
  Value first = arith::AddIOp::create(builder, more, one);
  Value behind = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, parts, first), zero);
  Value rounded = arith::AddIOp::create(builder, behind, builder.constant(kWorkParts - 1));
  Value further = arith::ShRUIOp::create(builder, rounded, builder.constant(int64_t(kWorkPartBits)));
  return {parts, first, arith::AddIOp::create(builder, further, one)};
}

void WorkPartition::placeEntry(ExpansionBuilder &builder, Value list, Value q, Value k, bool slices) {
  using namespace attention;
  auto id = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({"work_entries * kv_heads"}));
  Value kvHeads = tile::DimOp::create(builder, k, 2);
  auto at = tile::DivModOp::create(builder, id.getX(), kvHeads);
  Value turn = at.getQuotient();
  listedKvHead = at.getRemainder();
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1)), noRow = builder.constant(kNoRow);
  auto isBelow = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, a, b);
  };
  auto pick = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, condition, a, b);
  };
  auto load = [&](Value row, int64_t field) -> Value {
    return tile::LoadOp::create(builder, builder.getI32Type(), list, ValueRange{row, builder.constant(field)},
                                IntegerAttr());
  };
  // Entries that there are not have been written by nobody, and are not read: a row of -1 reads zeros.
  Value count = load(zero, kWorkCount), nowhere = builder.constant(int64_t(-1));
  Value line = pick(isBelow(turn, count), arith::AddIOp::create(builder, turn, one), nowhere);
  entry = pick(isBelow(turn, count), load(line, kWorkEntry), nowhere);
  Value exists = isBelow(entry, count);
  Value number = pick(exists, arith::AddIOp::create(builder, entry, one), nowhere);
  Value sequence = load(number, kWorkSequence), first = load(number, kWorkRow), named = load(number, kWorkHead);
  if (slices) {
    ListedCut cut = readCut(builder, load(number, kWorkCut));
    Value last = arith::SubIOp::create(builder, cut.slices, one);
    slice = arith::MaxSIOp::create(builder, load(number, kWorkSlice), zero);
    slice = arith::MinSIOp::create(builder, slice, last);
    isSlice = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, cut.slices, one);
    // Parts of the keys from `slice` on up to `sliceEnd`.
    Value whole = builder.constant(kWorkParts);
    Value end = arith::AddIOp::create(builder, cut.first, arith::MulIOp::create(builder, slice, whole));
    splits = cut.parts;
    slice = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, end, whole), zero);
    sliceEnd = arith::MinSIOp::create(builder, end, splits);
  }
  // Whatever the list says: instead of a sequence that is not there, a row that none has.
  exists = arith::AndIOp::create(builder, exists, isBelow(sequence, tile::DimOp::create(builder, q, 0)));
  exists = arith::AndIOp::create(builder, exists, isBelow(first, noRow));
  batch = outputBatch = pick(exists, sequence, zero);
  blockRow = pick(exists, first, noRow);
  Value group = tile::DivModOp::create(builder, tile::DimOp::create(builder, q, 2), kvHeads).getQuotient();
  Value atLeastZero = arith::MaxSIOp::create(builder, named, zero);
  Value within = arith::MinSIOp::create(builder, atLeastZero, arith::SubIOp::create(builder, group, one));
  Value ofGroup = arith::MulIOp::create(builder, listedKvHead, group);
  head = firstHead = arith::AddIOp::create(builder, ofGroup, within);
  row = tile::WaveRowOp::create(builder, blockRow, kWaveRows);
  rowCount = pick(exists, builder.constant(kWaveRows), zero);
  never = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  if (!options.mixed)
    return;
  isGroup = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, named, zero);
  GroupPlace ofHeads = placeInGroup(builder, blockRow, itemOfWave(builder, blockRow), group, listedKvHead);
  blockRow = pick(isGroup, ofHeads.blockQuery, blockRow);
  row = pick(isGroup, ofHeads.query, row);
  firstHead = pick(isGroup, ofHeads.firstHead, firstHead);
  rowCount = pick(isGroup, pick(exists, ofHeads.headCount, zero), rowCount);
}

Value WorkPartition::rowsAlong(ExpansionBuilder &builder, Value view) const {
  return tile::RowsAlongOp::create(builder, view, batch, row, firstHead, isGroup ? isGroup : never, rowCount);
}

Value WorkPartition::queries(ExpansionBuilder &builder, int64_t waves) const {
  Value count = builder.constant(queriesOfBlock(waves, /*areHeads=*/false));
  if (!isGroup)
    return count;
  Value ofGroup = builder.constant(queriesOfBlock(waves, /*areHeads=*/true));
  return arith::SelectOp::create(builder, isGroup, ofGroup, count);
}

/// How many queries `count` pairs from number `first` on are of.
Value WorkPartition::queriesOfPairs(ExpansionBuilder &builder, Value first, int64_t count) const {
  auto queryOf = [&](Value number) -> Value { return tile::DivModOp::create(builder, number, groupHeads).getQuotient(); };
  Value last = queryOf(arith::AddIOp::create(builder, first, builder.constant(count - 1)));
  Value between = arith::SubIOp::create(builder, last, queryOf(first));
  return arith::AddIOp::create(builder, between, builder.constant(int64_t(1)));
}

Value WorkPartition::waveQueries(ExpansionBuilder &builder) const {
  return options.groupRows ? queriesOfPairs(builder, pair, kWaveRows) : queries(builder, 1);
}

Value WorkPartition::blockQueries(ExpansionBuilder &builder) const {
  return options.groupRows ? queriesOfPairs(builder, blockPair, blockRows()) : queries(builder, options.waves);
}

/// The numbers from `first` on, one for each row of a wave, or `first` for all where they do not count (i1).
static Value numbersFrom(ExpansionBuilder &builder, Value first, Value count) {
  Type type = tile::RowsType::get(builder.getContext(), kWaveRows, builder.getI32Type());
  Value step = arith::ExtUIOp::create(builder, builder.getI32Type(), count);
  Value inputs[] = {first, step};
  return builder.mapPlaced(type, inputs, [&](ValueRange e, Value row, Value) -> Value {
    Value before = arith::MulIOp::create(builder, row, e[1]);
    return arith::AddIOp::create(builder, e[0], before);
  });
}

/// `number`, less than 2 kWaveRows times `divisor`, divided bit by bit: regions divide by constants alone. Multiples of the
/// divisor are the same for all rows, so that none of them multiplies.
static std::pair<Value, Value> divideRow(ExpansionBuilder &builder, Value number, Value divisor) {
  Value quotient = builder.constant(int64_t(0)), rest = number;
  for (int64_t bit = kWaveRows; bit != 0; bit /= 2) {
    Value multiple = arith::MulIOp::create(builder, divisor, builder.constant(bit));
    Value fits = arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, multiple, rest);
    Value digit = arith::ExtUIOp::create(builder, builder.getI32Type(), fits);
    quotient = arith::AddIOp::create(builder, arith::AddIOp::create(builder, quotient, quotient), digit);
    // What does not fit leaves a number larger than all that there are.
    rest = arith::MinUIOp::create(builder, rest, arith::SubIOp::create(builder, rest, multiple));
  }
  return {quotient, rest};
}

Value WorkPartition::numbersOfPairs(ExpansionBuilder &builder, bool areHeads) const {
  Type type = tile::RowsType::get(builder.getContext(), kWaveRows, builder.getI32Type());
  Value before = arith::SubIOp::create(builder, pair, arith::MulIOp::create(builder, row, groupHeads));
  Value inputs[] = {before, groupHeads, areHeads ? firstHead : row};
  return builder.mapPlaced(type, inputs, [&](ValueRange e, Value number, Value) -> Value {
    auto [queries, heads] = divideRow(builder, arith::AddIOp::create(builder, e[0], number), e[1]);
    return arith::AddIOp::create(builder, e[2], areHeads ? heads : queries);
  });
}

RowPlaces WorkPartition::rowPlaces(ExpansionBuilder &builder) const {
  RowPlaces rows{row, firstHead};
  if (options.groupRows) {
    rows.pair = pair, rows.groupHeads = groupHeads;
    rows.queries = numbersOfPairs(builder, /*areHeads=*/false), rows.heads = numbersOfPairs(builder, /*areHeads=*/true);
    return rows;
  }
  Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  Value areQueries = arith::XOrIOp::create(builder, isGroup, yes);
  rows.areHeads = isGroup, rows.count = rowCount;
  rows.queries = numbersFrom(builder, row, areQueries), rows.heads = numbersFrom(builder, firstHead, isGroup);
  return rows;
}

void WorkPartition::storeSlice(ExpansionBuilder &builder, Value output, Value lse, Value o, Value partial,
                               Value partialLse) const {
  // As many rows as O has: of others nothing is asked.
  Value count = tile::DimOp::create(builder, rowsAlong(builder, o), 1);
  Value first = tile::WaveRowOp::create(builder, builder.constant(int64_t(0)), kWaveRows);
  auto place = [&](Value view) -> Value {
    return tile::RowsAlongOp::create(builder, view, entry, first, listedKvHead, never, count);
  };
  storeAt(builder, output, place(partial));
  storeLseAt(builder, lse, place(partialLse));
}

void WorkPartition::storeAt(ExpansionBuilder &builder, Value output, Value rows) {
  Value zero = builder.constant(int64_t(0));
  tile::StoreOp::create(builder, output, rows, ValueRange{zero, zero, zero}, IntegerAttr());
}

void WorkPartition::storeLseAt(ExpansionBuilder &builder, Value values, Value rows) {
  Value zero = builder.constant(int64_t(0));
  tile::StoreOp::create(builder, values, rows, ValueRange{zero, zero, zero}, builder.getI64IntegerAttr(1));
}

Value WorkPartition::kvHead(ExpansionBuilder &builder, Value q, Value k) const {
  if (options.listed)
    return listedKvHead;
  return options.groupRows ? head : tile::GroupHeadOp::create(builder, head, q, k).getResult();
}

Value WorkPartition::headsOf(ExpansionBuilder &builder, Value view, Value batch, int64_t ofHeads) const {
  auto type = cast<tile::ViewType>(view.getType());
  Type one = tile::ViewType::get(builder.getContext(), type.getShape().drop_front(), type.getElementType());
  Value ofBatch = tile::SelectOp::create(builder, one, view, ValueRange(batch));
  return tile::SliceRowsOp::create(builder, one, ofBatch, firstHead, groupHeads, builder.getI64IntegerAttr(ofHeads));
}

Value WorkPartition::writtenHeadsOf(ExpansionBuilder &builder, Value view, int64_t ofQueries, int64_t ofHeads) const {
  Value heads = headsOf(builder, view, outputBatch, ofHeads);
  if (!storedQueries)
    return heads;
  Value zero = builder.constant(int64_t(0));
  return tile::SliceRowsOp::create(builder, heads.getType(), heads, zero, storedQueries, builder.getI64IntegerAttr(ofQueries));
}

Value WorkPartition::load(ExpansionBuilder &builder, Type type, Value q) const {
  if (isGroup) {
    Value first = builder.constant(int64_t(0));
    return tile::LoadOp::create(builder, type, rowsAlong(builder, q), first, first, first);
  }
  if (!options.groupRows)
    return tile::LoadOp::create(builder, type, q, batch, row, head);
  Value place[] = {pair, builder.constant(int64_t(0))};
  auto load = tile::LoadOp::create(builder, type, headsOf(builder, q, batch, /*ofHeads=*/1), place, IntegerAttr(),
                                   builder.getDenseI64ArrayAttr({0, 1}));
  load->setAttr(tile::kWholeRows, builder.getUnitAttr());
  return load;
}

Value WorkPartition::loadOfHeads(ExpansionBuilder &builder, Value view) const {
  if (options.groupRows)
    return tile::GatherOp::create(builder, builder.rows(), view, numbersOfPairs(builder, /*areHeads=*/true));
  if (isGroup)
    return tile::GatherOp::create(builder, builder.rows(), view, numbersFrom(builder, firstHead, isGroup));
  return tile::LoadOp::create(builder, builder.getF32Type(), view, ValueRange(head), IntegerAttr());
}

Value WorkPartition::ofFirstSlice(ExpansionBuilder &builder, Value logits) const {
  if (!isSplit())
    return logits;
  Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, slice, builder.constant(int64_t(0)));
  auto pick = [&](Value condition, Value logit) -> Value {
    return arith::SelectOp::create(builder, condition, logit, builder.constant(-std::numeric_limits<float>::infinity()));
  };
  auto rows = dyn_cast<tile::RowsType>(logits.getType());
  if (!rows)
    return pick(isFirst, logits);
  Value flag = arith::ExtUIOp::create(builder, builder.getI32Type(), isFirst);
  Value inputs[] = {logits, flag};
  return builder.mapPlaced(rows, inputs, [&](ValueRange e, Value, Value) -> Value {
    Value zero = builder.constant(int64_t(0));
    return pick(arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, e[1], zero), e[0]);
  });
}

void WorkPartition::store(ExpansionBuilder &builder, Value output, Value o) const {
  if (isGroup)
    return storeAt(builder, output, rowsAlong(builder, o));
  if (!options.groupRows) {
    tile::StoreOp::create(builder, output, o, outputBatch, row, head);
    return;
  }
  Value place[] = {pair, builder.constant(int64_t(0))};
  auto store = tile::StoreOp::create(builder, output, writtenHeadsOf(builder, o, /*ofQueries=*/0, /*ofHeads=*/1), place,
                                     IntegerAttr(), builder.getDenseI64ArrayAttr({0, 1}));
  store->setAttr(tile::kWholeRows, builder.getUnitAttr());
}

void WorkPartition::storeLse(ExpansionBuilder &builder, Value values, Value lse) const {
  if (isGroup)
    return storeLseAt(builder, values, rowsAlong(builder, lse));
  if (!options.groupRows) {
    tile::StoreRowsOp::create(builder, values, lse, outputBatch, head, row);
    return;
  }
  Value place[] = {builder.constant(int64_t(0)), pair};
  tile::StoreOp::create(builder, values, writtenHeadsOf(builder, lse, /*ofQueries=*/1, /*ofHeads=*/0), place, IntegerAttr(),
                        builder.getDenseI64ArrayAttr({1, 0}));
}

Value WorkPartition::tilesUpTo(ExpansionBuilder &builder, Value end) const {
  Value roundedUp = arith::AddIOp::create(builder, end, builder.constant(options.kvTile - 1));
  return arith::DivUIOp::create(builder, roundedUp, builder.constant(options.kvTile));
}

Value WorkPartition::unlessBehind(ExpansionBuilder &builder, Value rows, Value end) const {
  Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, blockRow, rows);
  return arith::SelectOp::create(builder, exists, end, builder.constant(int64_t(0)));
}

/// How many of `tiles` lie in front of some of the `splits` parts, none of which has more than a tile more than another.
Value WorkPartition::tilesBefore(ExpansionBuilder &builder, Value part, Value tiles) const {
  Type f32 = builder.getF32Type();
  auto real = [&](Value number) -> Value { return arith::SIToFPOp::create(builder, f32, number); };
  Value ofPart = arith::DivFOp::create(builder, real(tiles), real(splits));
  Value before = arith::FPToSIOp::create(builder, builder.getI32Type(),
                                         arith::MulFOp::create(builder, real(part), ofPart).getResult());
  // Whatever f32 makes of so many: all of them in front of the last part's end, and never more.
  Value isWithin = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, part, splits);
  return arith::SelectOp::create(builder, isWithin, arith::MinSIOp::create(builder, before, tiles), tiles);
}

namespace {
/// Writes what KeySlices.h says.
class SliceArithmetic {
public:
  using Number = Value;
  explicit SliceArithmetic(ExpansionBuilder &builder) : builder(builder) {}
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, a, b); }
  Value min(Value a, Value b) { return arith::MinSIOp::create(builder, a, b); }
  std::pair<Value, Value> divMod(Value a, Value b) {
    auto both = tile::DivModOp::create(builder, a, b);
    return {both.getQuotient(), both.getRemainder()};
  }
  Value isLess(Value a, Value b) {
    Value less = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
    return arith::ExtUIOp::create(builder, builder.getI32Type(), less);
  }

private:
  ExpansionBuilder &builder;
};
} // namespace

WorkPartition::Slice WorkPartition::sliceOf(ExpansionBuilder &builder, Value first, Value tiles) const {
  Value firstTile, own;
  if (sliceEnd) {
    firstTile = tilesBefore(builder, slice, tiles);
    own = arith::SubIOp::create(builder, tilesBefore(builder, sliceEnd, tiles), firstTile);
  } else {
    SliceArithmetic arithmetic(builder);
    attention::SliceTiles<Value> share = attention::tilesOfSlice(arithmetic, tiles, splits, slice);
    firstTile = share.first, own = share.count;
  }
  if (first)
    firstTile = arith::AddIOp::create(builder, first, firstTile);
  Value tileKeys = builder.constant(options.kvTile);
  Value firstKey = arith::MulIOp::create(builder, firstTile, tileKeys);
  Value size = arith::MulIOp::create(builder, own, builder.constant(options.kvTile));
  return {firstTile, firstKey, size, own};
}
