// A wave for each block of queries that a sequence may have: it finds its entries' place in the list, and writes them.
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
/// More tiles than any sequence has.
static constexpr int64_t kNoWorkLimit = int64_t(1) << 24;
namespace {
/// LaneNumbers by name: of one sequence, or one for each lane in the region of a map.
using LaneNumbers = llvm::MapVector<StringRef, Value>;

/// WorkArithmetic on numbers wherever the builder stands.
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
  Value pick(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  /// a / 2^bits, rounded up; a is not negative.
  Value ceilShift(Value a, unsigned bits) {
    Value more = add(a, constant((int64_t(1) << bits) - 1));
    return arith::ShRUIOp::create(builder, more, constant(bits));
  }
  Value real(Value a) { return arith::SIToFPOp::create(builder, builder.getF32Type(), a); }
  Value whole(Value a) { return arith::FPToSIOp::create(builder, builder.getI32Type(), a); }
  Value addReal(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value times(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value divide(Value a, Value b) { return arith::DivFOp::create(builder, a, b); }
  Value constantReal(float value) { return builder.constant(value); }
  /// Rounded up; neither is negative, and both are below 2^24.
  Value ceilDivide(Value a, Value b) {
    if (inRegion)
      return whole(math::CeilOp::create(builder, divide(real(a), real(b))));
    Value more = add(a, sub(b, constant(1)));
    return tile::DivModOp::create(builder, more, b).getQuotient();
  }

  ExpansionBuilder &builder;
  bool inRegion = false; ///< of a map, where there is no division of integers
};

/// The entries of a sequence, as code: `SequenceWork` of lib/Attention/WorkList.cpp.
struct LaneWork {
  Value items, copies, queries, keys, grouped;
  bool causal;

  Value tilesTo(WorkArithmetic &a, Value end) const { return a.ceilShift(end, 6); }
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
    return a.pick(a.less(limit, keys), above, zero);
  }
  Value itemsFrom(WorkArithmetic &a, Value tiles) const {
    Value one = a.constant(1), isNone = a.less(tiles, one);
    return a.pick(isNone, items, itemsAbove(a, a.max(a.sub(tiles, one), a.constant(0))));
  }
  /// What all entries take (f32).
  Value work(WorkArithmetic &a) const {
    Value ends = a.add(a.add(tiles(a, a.constant(0)), mostTiles(a)), a.constant(2 * kWorkEntryTiles));
    Value of = a.times(a.times(a.real(a.mul(copies, items)), a.real(ends)), a.constantReal(0.5f));
    return arith::SIToFPOp::create(a.builder, a.builder.getF32Type(), a.whole(of));
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
  Value findLimit();
  void store(Value number, Value row, int64_t field);
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
  for (StringRef number : {"batch", "seq_q", "seq_kv", "heads", "kv_heads", "work_slots", "work_parts"})
    frame.addScalar(i32, number);
  if (op.getPackedQueries())
    frame.addScalar(i32, "min_seqlen_q");
  if (op.getAppendedKeys())
    frame.addScalar(i32, "new_rows");
  if (op.getPageSize() && !op.getPageLists())
    frame.addScalar(i32, "max_pages");
  frame.require("batch <= 65535", "a list of work is made for at most 65535 sequences");
  frame.create(builder, op.getSymName(), target, /*waves=*/1);
}

Value WorkListExpansion::load(Type type, const Source &source, Value first) {
  Value place = source.behind == 0 ? first : a.add(first, a.constant(source.behind));
  return tile::LoadOp::create(builder, type, frame.argument(source.name), ValueRange(place), IntegerAttr());
}

/// What is the same for all sequences.
LaneNumbers WorkListExpansion::common() {
  LaneNumbers numbers;
  for (StringRef name : {"batch", "seq_q", "seq_kv", "min_seqlen_q", "new_rows", "max_pages"})
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
  if (op.getPackedQueries())
    q = a.min(q, a.sub(at("end_q"), a.max(at("first_q"), zero)));
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
      used = a.add(used, at("new_rows"));
    k = a.min(k, used);
  }
  q = a.pick(exists, a.max(q, zero), zero), k = a.max(k, zero);
  LaneWork work{a.ceilShift(q, 7), at("group"), q, k, Value(), causal};
  Value together = a.ceilShift(a.mul(q, at("parts")), 2);
  work.grouped = a.less(together, a.mul(work.items, work.copies));
  if (op.getSingleHeads())
    work.grouped = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  work.items = a.pick(work.grouped, together, work.items);
  work.copies = a.pick(work.grouped, a.constant(1), work.copies);
  return work;
}

SmallVector<Value> WorkListExpansion::overSequences(
    ArrayRef<tile::Reduction> kinds, TypeRange types, ValueRange more,
    function_ref<SmallVector<Value>(const LaneWork &, Value number, ValueRange more)> body) {
  auto lanesOf = [&](Type type) -> Type { return tile::RowsType::get(op.getContext(), kWorkLanes, type); };
  LaneNumbers shared = common();
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(type.isF32() ? a.constantReal(0.0f) : a.constant(0));
  auto loop = scf::ForOp::create(builder, a.constant(0), frame.argument("batch"), a.constant(kWorkLanes), zeros);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  SmallVector<Value> inputs;
  SmallVector<StringRef> names;
  for (const Source &source : sources())
    inputs.push_back(load(lanesOf(builder.getI32Type()), source, first)), names.push_back(source.key);
  for (auto &[name, value] : shared)
    inputs.push_back(value), names.push_back(name);
  llvm::append_range(inputs, more);
  SmallVector<Type> results = llvm::map_to_vector(types, lanesOf);
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
    Value ofAll = tile::ReduceOp::create(builder, type, kind, found, tile::Dimension::Rows);
    next.push_back(kind == tile::Reduction::Max ? a.max(sofar, ofAll)
                   : type.isF32()               ? a.addReal(sofar, ofAll)
                                                : a.add(sofar, ofAll));
  }
  scf::YieldOp::create(builder, next);
  return loop.getResults();
}

/// From how many tiles on items are cut.
Value WorkListExpansion::findLimit() {
  Value none = a.constant(kNoWorkLimit);
  if (!op.getSplit())
    return none;
  constexpr auto sum = tile::Reduction::Sum;
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  SmallVector<Value> found = overSequences(
      {sum, sum, tile::Reduction::Max}, {f32, i32, i32}, {}, [&](const LaneWork &work, Value, ValueRange) {
        return SmallVector<Value>{work.work(a), a.mul(work.copies, work.items), work.mostTiles(a)};
      });
  Value total = found[0], entries = a.real(found[1]), most = found[2], mostReal = a.real(most);
  Value kvHeads = a.real(frame.argument("kv_heads")), slots = a.real(frame.argument("work_slots"));
  auto times = [&](float factor, Value value) { return a.times(a.constantReal(factor), value); };
  auto above = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, x, y);
  };
  auto atLeast = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OGE, x, y);
  };
  auto whole = [&](Value value) { return a.real(a.whole(value)); };
  Value workgroups = a.times(entries, kvHeads), share = whole(a.divide(a.times(total, kvHeads), slots));
  Value alike = atLeast(times(3, total), a.times(times(2, a.addReal(mostReal, a.constantReal(kWorkEntryTiles))), entries));
  Value moreRounds = above(workgroups, slots);
  Value rounds =
      a.real(a.ceilDivide(a.mul(found[1], frame.argument("kv_heads")), frame.argument("work_slots")));
  Value wastedRounds = above(times(10, a.times(rounds, slots)), times(11, workgroups));
  Value wasted = a.pick(a.both(alike, moreRounds), wastedRounds, above(times(10, mostReal), times(11, share)));
  Value part = a.pick(alike, a.pick(moreRounds, times(0.25f, share), share),
                      a.divide(times(7, share), a.constantReal(10.0f)));
  Value cut = a.max(a.whole(part), a.constant(kWorkLeastSlice));
  Value slices = overSequences({sum}, {i32}, {cut}, [&](const LaneWork &work, Value, ValueRange more) {
    return SmallVector<Value>{a.mul(a.mul(work.copies, work.itemsAbove(a, more[0])), work.slices(a, more[0]))};
  })[0];
  Value fits = a.compare(CmpIPredicate::sle, slices, frame.argument("work_parts"));
  return a.pick(a.both(a.both(wasted, a.less(cut, most)), fits), cut, none);
}

void WorkListExpansion::store(Value number, Value row, int64_t field) {
  tile::StoreOp::create(builder, number, frame.argument("work_list"), ValueRange{row, a.constant(field)}, IntegerAttr());
}

/// Those of a block of the sequence's queries for each head of a group, or as many of the sequence's items where rows are
/// heads, each in as many pieces as it is cut: they follow one another.
void WorkListExpansion::writeEntries(Value block, Value sequence) {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type();
  LaneNumbers numbers = common();
  for (const Source &source : sources())
    numbers[source.key] = load(i32, source, sequence);
  LaneWork own = workOf(numbers, a.less(sequence, frame.argument("batch")));
  Value group = numbers.lookup("group"), item = a.pick(own.grouped, a.mul(block, group), block);
  // Sequences have few entries of what the longest one may have. The first workgroup says how many there are.
  Value isFirst = a.less(a.add(block, sequence), a.constant(1)), isThere = a.less(item, own.items);
  auto branch = scf::IfOp::create(builder, arith::OrIOp::create(builder, isThere, isFirst), /*withElseRegion=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  Value limit = findLimit(), tiles = own.tiles(a, item);
  SmallVector<Value> sums = overSequences(
      {sum, sum, sum, sum}, {i32, i32, i32, i32}, {limit, tiles, sequence, item},
      [&](const LaneWork &work, Value number, ValueRange more) {
        Value zero = a.constant(0), cutItems = work.itemsAbove(a, more[0]), above = work.itemsAbove(a, more[1]);
        Value slices = op.getSplit() ? a.mul(a.mul(work.copies, cutItems), work.slices(a, more[0])) : zero;
        Value isEarlier = a.less(number, more[2]), isLater = a.less(more[2], number);
        Value within = a.sub(a.sub(work.items, a.constant(1)), more[3]);
        Value before = a.pick(isEarlier, work.itemsFrom(a, more[1]), a.pick(isLater, above, within));
        Value place = a.mul(work.copies, a.sub(a.max(before, above), cutItems));
        Value rest = a.mul(work.copies, a.sub(work.items, cutItems));
        return SmallVector<Value>{slices, rest, place, a.pick(isEarlier, slices, zero)};
      });
  Value slices = sums[0], zero = a.constant(0), one = a.constant(1);
  auto only = [&](Value condition, function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    body();
  };
  only(isFirst, [&] {
    store(a.add(slices, sums[1]), zero, kWorkCount);
    store(slices, zero, kWorkSliceCount);
  });
  Value cutItems = own.itemsAbove(a, limit), firstCut = a.sub(own.items, cutItems);
  Value isCut = a.less(a.sub(firstCut, one), item);
  Value pieces = op.getSplit() ? a.pick(isCut, own.slices(a, limit), one) : one;
  // Of a cut item behind those of earlier sequences and its own sequence's; else behind all slices.
  Value cutBefore = a.mul(a.sub(item, firstCut), own.copies);
  Value ofSlices = a.add(sums[3], a.mul(cutBefore, pieces));
  Value place = a.pick(isCut, ofSlices, a.add(slices, sums[2]));
  // What is whole and takes as much as the next item of its sequence stands behind that.
  Value isBehind = a.both(own.grouped, a.less(item, firstCut));
  Value step = a.pick(isBehind, a.constant(-1), pieces);
  Value unit = a.pick(own.grouped, a.constant(kWorkQueries), a.constant(kWorkRows));
  Value left = a.pick(own.grouped, a.min(group, a.sub(own.items, item)), group);
  only(isThere, [&] {
    auto entries = scf::ForOp::create(builder, zero, left, one);
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entries.getBody());
    Value entry = entries.getInductionVar();
    Value head = a.pick(own.grouped, a.constant(-1), entry);
    Value row = a.mul(a.add(item, a.pick(own.grouped, entry, zero)), unit);
    Value first = a.add(a.add(place, a.mul(entry, step)), one);
    auto loop = scf::ForOp::create(builder, zero, pieces, one);
    builder.setInsertionPointToStart(loop.getBody());
    Value piece = loop.getInductionVar(), line = a.add(first, piece);
    store(sequence, line, kWorkSequence);
    store(row, line, kWorkRow);
    store(head, line, kWorkHead);
    store(piece, line, kWorkSlice);
    store(pieces, line, kWorkSlices);
  });
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
