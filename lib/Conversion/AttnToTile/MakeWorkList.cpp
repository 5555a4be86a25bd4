// A workgroup for each block of queries that a sequence may have: it finds its entries' place in the list, and writes
// them. It is a wave, or where work may be cut several, which share the limits that are to be tried.
//
// Nothing is sorted. How many entries take more tiles than one's own is a sum over all sequences, each of whose terms
// follows from its lengths alone: lanes have a sequence each. What is computed is said in lib/Attention/WorkList.cpp,
// which makes the same list on the host.
#include "MakeWorkList.h"

#include "ExpansionBuilder.h"
#include "KernelFrame.h"
#include "WorkPartition.h"

#include "Target/Arch/ArchInfo.h"
#include "Tile/IR/RegionOps.h"
#include "hocket/Attention/WorkItem.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::attention;
using arith::CmpIPredicate;

/// Sequences that are looked at together.
static constexpr int64_t kWorkLanes = 64;
/// Waves of a workgroup that looks for a limit: each tries as many of them, the one that cuts nothing among them.
static constexpr int64_t kLimitWaves = 4, kLimitsOfWave = (kWorkLimits + 1) / kLimitWaves;
static_assert(kLimitsOfWave * kLimitWaves == kWorkLimits + 1);
/// Of products, whose parts are summed.
static constexpr int64_t kPartBits = 12;
/// More tiles than any sequence has.
static constexpr int64_t kNoWorkLimit = int64_t(1) << 24;

namespace {
/// Numbers by name: of one sequence, or one for each lane in the region of a map.
using LaneNumbers = llvm::MapVector<StringRef, Value>;

/// Arithmetic on numbers wherever the builder stands.
class WorkArithmetic {
public:
  explicit WorkArithmetic(ExpansionBuilder &builder) : builder(builder) {}
  Value constant(int64_t value) { return builder.constant(value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, a, b); }
  Value min(Value a, Value b) { return arith::MinSIOp::create(builder, a, b); }
  Value max(Value a, Value b) { return arith::MaxSIOp::create(builder, a, b); }
  Value compare(CmpIPredicate predicate, Value a, Value b) { return arith::CmpIOp::create(builder, predicate, a, b); }
  Value less(Value a, Value b) { return compare(CmpIPredicate::slt, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, a, b); }
  Value pick(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  /// a / 2^bits, rounded up; a is not negative.
  Value ceilShift(Value a, unsigned bits) {
    Value more = add(a, constant((int64_t(1) << bits) - 1));
    return arith::ShRUIOp::create(builder, more, constant(bits));
  }
  /// Rounded up; neither is negative, and both are below 2^24.
  Value ceilDivide(Value a, Value b) {
    if (inRegion)
      return ceilQuotient(a, b);
    Value more = add(a, sub(b, constant(1)));
    return tile::DivModOp::create(builder, more, b).getQuotient();
  }

  Value wide(Value a) { return arith::ExtUIOp::create(builder, builder.getI64Type(), a); }
  Value wideConstant(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  }
  /// a * b, in parts that are summed apart: there is no i64 in regions, and no sum of 64 of them leaves 32 bits. a is
  /// below 2^24, b below 2^26.
  std::array<Value, 3> product(Value a, Value b) {
    Value low = constant((int64_t(1) << kPartBits) - 1), bits = constant(kPartBits);
    auto split = [&](Value x) -> std::pair<Value, Value> {
      return {arith::AndIOp::create(builder, x, low), arith::ShRUIOp::create(builder, x, bits)};
    };
    auto [lowA, highA] = split(a);
    auto [lowB, highB] = split(b);
    return {mul(lowA, lowB), add(mul(highA, lowB), mul(lowA, highB)), mul(highA, highB)};
  }
  /// Of the sums of such parts, i64.
  Value joined(ValueRange parts) {
    Value sum = parts[0];
    for (int64_t part : {1, 2})
      sum = add(sum, mul(parts[part], wideConstant(int64_t(1) << (part * kPartBits))));
    return sum;
  }

  ExpansionBuilder &builder;
  bool inRegion = false; ///< of a map, where there is no division of integers

private:
  /// By way of f32, whose quotient of integers below 2^24 is rounded correctly.
  Value ceilQuotient(Value a, Value b) {
    auto real = [&](Value x) -> Value { return arith::SIToFPOp::create(builder, builder.getF32Type(), x); };
    Value quotient = arith::DivFOp::create(builder, real(a), real(b));
    return arith::FPToSIOp::create(builder, builder.getI32Type(), math::CeilOp::create(builder, quotient));
  }
};

/// The entries of a sequence, as code: `SequenceWork` of lib/Attention/WorkList.cpp.
struct LaneWork {
  Value items, copies, queries, keys, reach, grouped;
  bool causal;

  Value tilesTo(WorkArithmetic &a, Value end) const { return a.min(a.ceilShift(end, 6), reach); }
  Value tiles(WorkArithmetic &a, Value item) const {
    if (!causal)
      return tilesTo(a, keys);
    Value zero = a.constant(0), behind = a.mul(a.add(item, a.constant(1)), a.constant(kWorkRows));
    Value end = a.sub(a.add(a.min(queries, behind), keys), queries);
    end = a.min(a.max(end, zero), keys);
    return tilesTo(a, a.pick(grouped, keys, end));
  }
  Value mostTiles(WorkArithmetic &a) const {
    Value last = a.sub(items, a.constant(1));
    return a.pick(a.less(last, a.constant(0)), a.constant(0), tiles(a, last));
  }
  Value itemsAbove(WorkArithmetic &a, Value tiles) const {
    Value zero = a.constant(0), limit = a.mul(tiles, a.constant(kWorkKeys)), above = items;
    if (causal) {
      Value hidden = a.max(a.sub(a.add(limit, queries), keys), zero);
      Value blocks = arith::ShRUIOp::create(a.builder, hidden, a.constant(7));
      above = a.pick(grouped, items, a.sub(items, a.min(blocks, items)));
    }
    return a.pick(a.both(a.less(limit, keys), a.less(tiles, reach)), above, zero);
  }
  Value itemsFrom(WorkArithmetic &a, Value tiles) const {
    Value one = a.constant(1), isNone = a.less(tiles, one);
    return a.pick(isNone, items, itemsAbove(a, a.max(a.sub(tiles, one), a.constant(0))));
  }
  /// Twice what the first `count` items take, in parts.
  std::array<Value, 3> twiceWork(WorkArithmetic &a, Value count) const {
    Value last = tiles(a, a.sub(count, a.constant(1)));
    Value ends = a.add(a.add(tiles(a, a.constant(0)), last), a.constant(2 * kWorkEntryTiles));
    return a.product(a.mul(copies, count), ends);
  }
  Value slices(WorkArithmetic &a, Value limit) const {
    return a.ceilDivide(mostTiles(a), limit);
  }
};

class WorkListExpansion {
public:
  WorkListExpansion(attn::WorkListOp op, StringRef target)
      : op(op), target(target), builder(op.getLoc(), op), a(builder), causal(!op.getKeyVisibility().isAll()) {}
  LogicalResult run();

private:
  void createKernel();
  /// A list of the problem: its name, its extent, and by how many places from the sequence's number to look.
  struct Source {
    StringRef name, extent;
    int64_t behind;
    StringRef key; ///< in `LaneNumbers`
  };
  SmallVector<Source> sources();
  Value load(Type type, const Source &source, Value first);
  LaneWork workOf(LaneNumbers &numbers, Value exists);
  LaneNumbers common();
  /// What `body` makes of each sequence, summed (`kinds`) over all of them.
  SmallVector<Value> overSequences(ArrayRef<tile::Reduction> kinds, TypeRange types, ValueRange more,
                                   function_ref<SmallVector<Value>(const LaneWork &, Value number, ValueRange more)> body);
  Value share(Value entriesWork);
  Value expectedEnd(Value limit, Value share);
  Value wave() { return tile::WaveGridOp::create(builder, kLimitWaves, 1).getRow(); }
  Value findLimit(Value isNeeded);
  ValueRange limitOfWave(Value most, Value share);
  Value nextLimit(Value limit);

  /// The workgroup's part of the list: items of `sequence` from `item` on, if it `isThere`.
  struct Part {
    LaneWork work;
    Value sequence, item, isThere, isFirst;
  };
  /// Where its entries stand: `slices` and `whole` in the list at all; the place of the first and its number in order;
  /// items from `firstCut` on are cut in `pieces`, which the first one `isCut` says of it.
  struct Place {
    Value slices, whole, first, order, firstCut, isCut, pieces;
  };
  Place placeOf(const Part &part, Value limit);
  void only(Value condition, function_ref<void()> body);
  void store(Value number, Value row, int64_t field);
  void writeEntry(const Part &part, const Place &place, Value copy);
  void writePart(const Part &part, Value limit);
  void writeEntries(Value block, Value sequence);

  attn::WorkListOp op;
  StringRef target;
  ExpansionBuilder builder;
  WorkArithmetic a;
  bool causal;
  KernelFrame frame{op.getContext()};
};
} // namespace

SmallVector<WorkListExpansion::Source> WorkListExpansion::sources() {
  SmallVector<Source> list;
  auto add = [&](bool isThere, StringRef name, StringRef extent, bool isPair, StringRef key, StringRef behind = {}) {
    if (!isThere)
      return;
    list.push_back({name, extent, 0, key});
    if (isPair)
      list.push_back({name, extent, 1, behind});
  };
  add(op.getPackedQueries(), "cu_seqlens_q", "batch + 1", true, "first_q", "end_q");
  add(op.getQueryLengths(), "seqused_q", "batch", false, "used_q");
  add(op.getPackedKeys(), "cu_seqlens_k", "batch + 1", true, "first_k", "end_k");
  add(op.getKeyLengths(), "seqused_k", "batch", false, "used_k");
  add(op.getPageLists(), "kv_indptr", "batch + 1", true, "first_page", "end_page");
  add(op.getPageLists(), "kv_last_page_len", "batch", false, "last_rows");
  return list;
}

void WorkListExpansion::createKernel() {
  Type i32 = builder.getI32Type();
  auto list = [&](int64_t rank) -> Type {
    return tile::ViewType::get(op.getContext(), SmallVector<int64_t>(rank, ShapedType::kDynamic), i32);
  };
  frame.addTensor(list(2), WorkPartition::listTensor());
  for (const Source &source : sources())
    if (source.behind == 0)
      frame.addTensor(list(1), {source.name, {}, {source.extent}});
  for (StringRef number : {"batch", "seq_q", "seq_kv", "heads", "kv_heads", "work_slots", "work_parts", "row_keys"})
    frame.addScalar(i32, number);
  if (op.getPackedQueries())
    frame.addScalar(i32, "min_seqlen_q");
  if (op.getAppendedKeys() && !op.getPackedQueries())
    frame.addScalar(i32, "new_rows");
  if (op.getPageSize() && !op.getPageLists())
    frame.addScalar(i32, "max_pages");
  frame.require("batch <= 65535", "a list of work is made for at most 65535 sequences");
  frame.create(builder, op.getSymName(), target, op.getSplit() ? kLimitWaves : 1);
}

Value WorkListExpansion::load(Type type, const Source &source, Value first) {
  Value place = source.behind == 0 ? first : a.add(first, a.constant(source.behind));
  return tile::LoadOp::create(builder, type, frame.argument(source.name), ValueRange(place), IntegerAttr());
}

/// What is the same for all sequences.
LaneNumbers WorkListExpansion::common() {
  LaneNumbers numbers;
  for (StringRef name : {"batch", "seq_q", "seq_kv", "row_keys", "min_seqlen_q", "new_rows", "max_pages"})
    if (Value argument = frame.argument(name))
      numbers[name] = argument;
  Value kvHeads = frame.argument("kv_heads");
  Value group = tile::DivModOp::create(builder, frame.argument("heads"), kvHeads).getQuotient();
  numbers["group"] = group;
  numbers["parts"] = a.ceilShift(group, 5);
  return numbers;
}

/// The entries of a sequence with these `numbers`; none where it does not exist.
LaneWork WorkListExpansion::workOf(LaneNumbers &numbers, Value exists) {
  Value zero = a.constant(0);
  auto at = [&](StringRef name) { return numbers.lookup(name); };
  Value q = at("seq_q"), k = at("seq_kv");
  Value newKeys = at("new_rows");
  if (op.getPackedQueries())
    newKeys = q = a.min(q, a.sub(at("end_q"), a.max(at("first_q"), zero)));
  if (op.getQueryLengths())
    q = a.min(q, at("used_q"));
  if (op.getPackedQueries())
    q = a.pick(a.less(at("min_seqlen_q"), q), q, zero);
  if (op.getPackedKeys())
    k = a.sub(at("end_k"), a.max(at("first_k"), zero));
  if (auto pageRows = op.getPageSize()) {
    Value perPage = a.constant(static_cast<int64_t>(*pageRows));
    if (op.getPageLists()) {
      Value pages = a.sub(at("end_page"), a.max(at("first_page"), zero));
      Value before = a.mul(a.sub(pages, a.constant(1)), perPage);
      k = a.pick(a.less(zero, pages), a.add(before, a.min(at("last_rows"), perPage)), zero);
    } else {
      k = a.mul(at("max_pages"), perPage);
    }
  }
  if (op.getKeyLengths()) {
    Value used = at("used_k");
    if (op.getAppendedKeys())
      used = a.add(used, newKeys);
    k = a.min(k, used);
  }
  q = a.pick(exists, a.max(q, zero), zero), k = a.max(k, zero);
  LaneWork work{a.ceilShift(q, 7), at("group"), q, k, Value(), Value(), causal};
  Value together = a.ceilShift(a.mul(q, at("parts")), 2);
  work.grouped = a.less(together, a.mul(work.items, work.copies));
  if (op.getSingleHeads())
    work.grouped = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  work.items = a.pick(work.grouped, together, work.items);
  work.copies = a.pick(work.grouped, a.constant(1), work.copies);
  Value rows = a.pick(work.grouped, a.constant(kWorkQueries - 1), a.constant(kWorkRows - 1));
  work.reach = a.add(a.ceilShift(a.add(at("row_keys"), rows), 6), a.constant(1));
  return work;
}

SmallVector<Value> WorkListExpansion::overSequences(
    ArrayRef<tile::Reduction> kinds, TypeRange types, ValueRange more,
    function_ref<SmallVector<Value>(const LaneWork &, Value number, ValueRange more)> body) {
  Type i32 = builder.getI32Type(), lanes = tile::RowsType::get(op.getContext(), kWorkLanes, i32);
  LaneNumbers shared = common();
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(type == i32 ? a.constant(0) : a.wideConstant(0));
  auto loop = scf::ForOp::create(builder, a.constant(0), frame.argument("batch"), a.constant(kWorkLanes), zeros);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  SmallVector<Value> inputs;
  SmallVector<StringRef> names;
  for (const Source &source : sources())
    inputs.push_back(load(lanes, source, first)), names.push_back(source.key);
  for (auto &[name, value] : shared)
    inputs.push_back(value), names.push_back(name);
  llvm::append_range(inputs, more);
  SmallVector<Type> results(types.size(), lanes);
  auto map = tile::MapOp::create(builder, results, inputs, first, Value(), Value(), /*coordinates=*/true);
  {
    ExpansionBuilder::InsertionGuard inMap(builder);
    Block &block = map.getBody().emplaceBlock();
    for (Value input : inputs)
      block.addArgument(tile::elementTypeOf(input.getType()), builder.getLoc());
    Value number = block.addArgument(builder.getI32Type(), builder.getLoc());
    block.addArgument(builder.getI32Type(), builder.getLoc());
    builder.setInsertionPointToStart(&block);
    a.inRegion = true;
    LaneNumbers own;
    for (auto [index, name] : llvm::enumerate(names))
      own[name] = block.getArgument(index);
    LaneWork work = workOf(own, a.less(number, own.lookup("batch")));
    ValueRange moreOwn = block.getArguments().slice(names.size(), more.size());
    tile::YieldOp::create(builder, ValueRange(body(work, number, moreOwn)));
    a.inRegion = false;
  }
  SmallVector<Value> next;
  for (auto [kind, type, found, sofar] : llvm::zip_equal(kinds, types, map.getResults(), loop.getRegionIterArgs())) {
    Value ofAll = tile::ReduceOp::create(builder, i32, kind, found, tile::Dimension::Rows);
    ofAll = type == i32 ? ofAll : a.wide(ofAll);
    next.push_back(kind == tile::Reduction::Max ? a.max(sofar, ofAll) : a.add(sofar, ofAll));
  }
  scf::YieldOp::create(builder, next);
  return loop.getResults();
}

/// Of twice what all entries of a KV head take, what each slot gets.
Value WorkListExpansion::share(Value twice) {
  Value slots = a.wide(frame.argument("work_slots")), of = a.mul(twice, a.wide(frame.argument("kv_heads")));
  Value each = arith::DivUIOp::create(builder, of, a.mul(slots, a.wideConstant(2)));
  each = arith::MinUIOp::create(builder, each, a.wideConstant(kWorkMostShare));
  return arith::TruncIOp::create(builder, builder.getI32Type(), each);
}

/// `expectedEnd` of lib/Attention/WorkList.cpp, i32, which it fits into; as late as can be where there is no room for
/// so many slices.
Value WorkListExpansion::expectedEnd(Value limit, Value share) {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value zero = a.constant(0), one = a.constant(1), two = a.constant(2);
  SmallVector<Value> found = overSequences(
      {tile::Reduction::Max, sum, sum, sum, sum, sum, sum}, {i32, i32, i32, i32, i64, i64, i64}, {limit},
      [&](const LaneWork &work, Value, ValueRange more) {
        Value zero = a.constant(0), one = a.constant(1), limit = more[0], cutItems = work.itemsAbove(a, limit);
        Value pieces = work.slices(a, limit), whole = a.sub(work.items, cutItems), cut = a.mul(work.copies, cutItems);
        Value length = a.ceilDivide(work.mostTiles(a), a.max(pieces, one));
        Value ofCut = a.pick(a.less(zero, cutItems), length, zero);
        Value ofWhole = a.pick(a.less(zero, whole), work.tiles(a, a.sub(whole, one)), zero);
        Value less = a.max(a.sub(limit, a.constant(kWorkEntryTiles)), zero);
        Value large = a.sub(work.itemsAbove(a, arith::ShRUIOp::create(builder, less, one)), cutItems);
        auto parts = work.twiceWork(a, whole);
        return SmallVector<Value>{a.max(ofCut, ofWhole), a.mul(cut, pieces), cut, a.mul(work.copies, large),
                                  parts[0], parts[1], parts[2]};
      });
  Value longest = a.add(found[0], a.constant(kWorkEntryTiles)), slices = found[1], cut = found[2], large = found[3];
  Value kvHeads = frame.argument("kv_heads"), slots = frame.argument("work_slots");
  auto wideProduct = [&](Value x, Value y) { return a.mul(a.wide(x), a.wide(y)); };
  Value round = a.mul(a.wideConstant(2), wideProduct(slots, longest));
  Value inSlices = a.mul(a.wideConstant(2), wideProduct(slices, longest));
  Value filled = a.mul(a.add(inSlices, a.joined(ArrayRef(found).drop_front(4))), a.wide(kvHeads));
  Value unused = arith::ShRUIOp::create(builder, wideProduct(large, longest), a.wideConstant(1));
  Value several = a.add(filled, a.mul(unused, a.wide(kvHeads))), rounds = two, of = a.add(round, round);
  for (int64_t more = 2; more != kWorkMostRounds; ++more, of = a.add(of, round))
    rounds = a.add(rounds, arith::ExtUIOp::create(builder, i32, a.less(of, several)));
  Value isCrowded = a.less(slots, a.mul(a.add(slices, large), kvHeads));
  rounds = a.pick(a.either(a.less(round, filled), isCrowded), rounds, one);
  Value added = a.mul(a.mul(a.sub(slices, cut), kvHeads), a.constant(kWorkEntryTiles));
  Value mean = a.add(share, tile::DivModOp::create(builder, a.max(added, zero), slots).getQuotient());
  Value end = a.add(a.mul(a.wideConstant(3), wideProduct(rounds, longest)), a.wide(a.max(mean, longest)));
  Value hasRoom = a.less(slices, a.add(frame.argument("work_parts"), one));
  end = a.pick(hasRoom, end, a.wideConstant(INT32_MAX));
  return arith::TruncIOp::create(builder, i32, arith::MinUIOp::create(builder, end, a.wideConstant(INT32_MAX)));
}

/// From how many tiles on items are cut, where it `isNeeded`.
Value WorkListExpansion::findLimit(Value isNeeded) {
  Value none = a.constant(kNoWorkLimit), late = a.constant(INT32_MAX);
  if (!op.getSplit())
    return none;
  Type i32 = builder.getI32Type();
  auto otherwise = [&](Value condition, function_ref<ValueRange()> body) {
    auto branch = scf::IfOp::create(builder, TypeRange{i32, i32}, condition, /*withElseRegion=*/true);
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(builder, body());
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, ValueRange{late, none});
    return branch.getResults();
  };
  ValueRange found = otherwise(isNeeded, [&]() -> ValueRange {
    constexpr auto sum = tile::Reduction::Sum;
    Type i64 = builder.getI64Type();
    SmallVector<Value> all = overSequences(
        {sum, sum, sum, tile::Reduction::Max}, {i64, i64, i64, i32}, {}, [&](const LaneWork &work, Value, ValueRange) {
          auto twice = work.twiceWork(a, work.items);
          return SmallVector<Value>{twice[0], twice[1], twice[2], work.mostTiles(a)};
        });
    Value ofSlot = share(a.joined(ArrayRef(all).take_front(3))), most = all[3];
    Value isUneven = a.less(ofSlot, a.mul(most, a.constant(kWorkFine)));
    return otherwise(isUneven, [&]() -> ValueRange { return limitOfWave(most, ofSlot); });
  });
  // All waves meet here, whatever they had to do.
  auto ofAll = [&](tile::Reduction kind, Value number) -> Value {
    return tile::ReduceWavesOp::create(builder, kind, number, Value(), IntegerAttr());
  };
  Value best = ofAll(tile::Reduction::Min, found[0]), isBest = a.compare(CmpIPredicate::eq, found[0], best);
  return ofAll(tile::Reduction::Max, a.pick(isBest, found[1], a.constant(0)));
}

/// The limit that is tried behind this one.
Value WorkListExpansion::nextLimit(Value limit) {
  return arith::ShRUIOp::create(builder, a.mul(limit, a.constant(7)), a.constant(3));
}

/// Of the limits that the wave tries the one with which all is expected to end first, the largest of those that are
/// alike; and when that is, in front of it. The first of them is `most`, which cuts nothing. Wave i tries each
/// `kLimitWaves`th from number i on.
ValueRange WorkListExpansion::limitOfWave(Value most, Value share) {
  Value zero = a.constant(0), one = a.constant(1), none = a.constant(kNoWorkLimit), number = wave();
  // In front of the first limit stands the one that cuts nothing.
  Value largest = a.add(share, arith::ShRUIOp::create(builder, share, a.constant(2)));
  auto skipped = scf::ForOp::create(builder, one, number, one, largest);
  {
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(skipped.getBody());
    scf::YieldOp::create(builder, nextLimit(skipped.getRegionIterArg(0)));
  }
  Value first[] = {a.constant(INT32_MAX), none, skipped.getResult(0)};
  auto loop = scf::ForOp::create(builder, zero, a.constant(kLimitsOfWave), one, first);
  {
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value best = loop.getRegionIterArg(0), next = loop.getRegionIterArg(2);
    Value cutsNothing = a.less(a.add(loop.getInductionVar(), number), one);
    Value candidate = a.pick(cutsNothing, most, a.min(a.max(next, a.constant(kWorkLeastSlice)), most));
    Value end = expectedEnd(candidate, share), isBetter = a.less(end, best);
    Value limit = a.pick(isBetter, a.pick(cutsNothing, none, candidate), loop.getRegionIterArg(1));
    Value behind = next;
    for (int64_t step = 1; step != kLimitWaves; ++step)
      behind = nextLimit(behind);
    // Wave 0 has tried one limit less.
    behind = a.pick(cutsNothing, behind, nextLimit(behind));
    scf::YieldOp::create(builder, ValueRange{a.pick(isBetter, end, best), limit, behind});
  }
  return loop.getResults().take_front(2);
}

void WorkListExpansion::store(Value number, Value row, int64_t field) {
  tile::StoreOp::create(builder, number, frame.argument("work_list"), ValueRange{row, a.constant(field)}, IntegerAttr());
}

void WorkListExpansion::only(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

/// In front of the part's entries stand those that take longer, of earlier sequences as long, and its own sequence's.
WorkListExpansion::Place WorkListExpansion::placeOf(const Part &part, Value limit) {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type();
  const LaneWork &own = part.work;
  Value zero = a.constant(0), one = a.constant(1);
  Value cutItems = own.itemsAbove(a, limit), firstCut = a.sub(own.items, cutItems);
  Value isCut = a.less(a.sub(firstCut, one), part.item);
  Value pieces = op.getSplit() ? a.pick(isCut, own.slices(a, limit), one) : one;
  Value length = a.ceilDivide(own.mostTiles(a), a.max(pieces, one));
  Value tiles = a.pick(isCut, length, own.tiles(a, part.item));
  Value cutNumber = arith::ExtUIOp::create(builder, i32, isCut);
  SmallVector<Value> sums = overSequences(
      {sum, sum, sum, sum, sum}, {i32, i32, i32, i32, i32}, {limit, tiles, part.sequence, part.item, cutNumber},
      [&](const LaneWork &work, Value number, ValueRange more) {
        Value zero = a.constant(0), one = a.constant(1), cutItems = work.itemsAbove(a, more[0]);
        Value above = work.itemsAbove(a, more[1]), isOwnCut = a.less(zero, more[4]);
        Value isEarlier = a.less(number, more[2]), isLater = a.less(more[2], number);
        Value within = a.sub(a.sub(work.items, one), more[3]);
        Value from = work.itemsFrom(a, more[1]);
        Value before = a.pick(isEarlier, from, a.pick(a.either(isLater, isOwnCut), above, within));
        Value whole = a.mul(work.copies, a.max(a.sub(before, cutItems), zero));
        Value rest = a.mul(work.copies, a.sub(work.items, cutItems));
        if (!op.getSplit())
          return SmallVector<Value>{zero, rest, whole, zero, zero};
        Value each = work.slices(a, more[0]), slices = a.mul(a.mul(work.copies, cutItems), each);
        // Slices of other sequences, and a sequence's own in front of what is whole.
        Value length = a.ceilDivide(work.mostTiles(a), a.max(each, one));
        Value isOther = a.either(isLater, isOwnCut), longer = a.add(more[1], one);
        Value least = a.pick(isEarlier, more[1], a.pick(isOther, longer, more[1]));
        Value ahead = a.pick(a.less(length, least), zero, slices);
        return SmallVector<Value>{slices, rest, whole, a.pick(isEarlier, slices, zero), ahead};
      });
  // Of a cut item behind those of earlier sequences and its own sequence's; else behind all slices.
  Value cutBefore = a.mul(a.mul(a.sub(part.item, firstCut), own.copies), pieces);
  Value first = a.pick(isCut, a.add(sums[3], cutBefore), a.add(sums[0], sums[2]));
  Value order = a.add(a.add(sums[2], sums[4]), a.pick(isCut, cutBefore, zero));
  return {sums[0], sums[1], first, order, firstCut, isCut, pieces};
}

/// Entries of the part's item, or where rows are heads of the one `copy` behind it, of each head; its pieces follow one
/// another.
void WorkListExpansion::writeEntry(const Part &part, const Place &place, Value copy) {
  const LaneWork &own = part.work;
  Value zero = a.constant(0), one = a.constant(1);
  // What is whole and takes as much as the next item of its sequence stands behind that.
  Value isBehind = a.both(own.grouped, a.less(part.item, place.firstCut));
  Value before = a.mul(copy, a.pick(isBehind, a.constant(-1), place.pieces));
  Value unit = a.pick(own.grouped, a.constant(kWorkQueries), a.constant(kWorkRows));
  Value head = a.pick(own.grouped, a.constant(-1), copy);
  Value row = a.mul(a.add(part.item, a.pick(own.grouped, copy, zero)), unit);
  Value first = a.add(place.first, before), firstLine = a.add(a.add(place.order, before), one);
  auto loop = scf::ForOp::create(builder, zero, place.pieces, one);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value piece = loop.getInductionVar(), entry = a.add(first, piece), line = a.add(entry, one);
  store(part.sequence, line, kWorkSequence);
  store(row, line, kWorkRow);
  store(head, line, kWorkHead);
  store(piece, line, kWorkSlice);
  store(place.pieces, line, kWorkSlices);
  store(entry, a.add(firstLine, piece), kWorkEntry);
}

void WorkListExpansion::writePart(const Part &part, Value limit) {
  Value zero = a.constant(0);
  Place place = placeOf(part, limit);
  only(part.isFirst, [&] {
    store(a.add(place.slices, place.whole), zero, kWorkCount);
    store(place.slices, zero, kWorkSliceCount);
  });
  Value group = tile::DivModOp::create(builder, frame.argument("heads"), frame.argument("kv_heads")).getQuotient();
  Value count = a.pick(part.work.grouped, a.min(group, a.sub(part.work.items, part.item)), group);
  only(part.isThere, [&] {
    auto copies = scf::ForOp::create(builder, zero, count, a.constant(1));
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(copies.getBody());
    writeEntry(part, place, copies.getInductionVar());
  });
}

/// Those of a block of the sequence's queries for each head of a group, or as many of the sequence's items where rows
/// are heads, each in as many pieces as it is cut: they follow one another.
void WorkListExpansion::writeEntries(Value block, Value sequence) {
  LaneNumbers numbers = common();
  for (const Source &source : sources())
    numbers[source.key] = load(builder.getI32Type(), source, sequence);
  LaneWork own = workOf(numbers, a.less(sequence, frame.argument("batch")));
  Value item = a.pick(own.grouped, a.mul(block, numbers.lookup("group")), block);
  // Sequences have few entries of what the longest one may have. The first workgroup says how many there are.
  Value isFirst = a.less(a.add(block, sequence), a.constant(1)), isThere = a.less(item, own.items);
  Value isNeeded = a.either(isThere, isFirst), limit = findLimit(isNeeded);
  // One wave is enough for the rest.
  if (op.getSplit())
    isNeeded = a.both(isNeeded, a.less(wave(), a.constant(1)));
  only(isNeeded, [&] { writePart({own, sequence, item, isThere, isFirst}, limit); });
}

LogicalResult WorkListExpansion::run() {
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  createKernel();
  std::string items = "ceildiv(seq_q, " + std::to_string(kWorkRows) + ")";
  auto id = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({items, "batch"}));
  writeEntries(id.getX(), id.getY());
  tile::ReturnOp::create(builder);
  op.erase();
  return success();
}

LogicalResult hocket::expandWorkList(attn::WorkListOp op, StringRef target) { return WorkListExpansion(op, target).run(); }
