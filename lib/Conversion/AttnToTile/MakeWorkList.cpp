// A workgroup for each block of queries that a sequence may have: it finds its entries' place in the list, and writes
// them. It is a wave, or where work may be cut several, which share the sequences when cuts are tried.
//
// Nothing is sorted. How many entries take more tiles than one's own is a sum over all sequences, each of whose terms
// follows from its lengths alone: lanes have a sequence each. Which work is cut is tried with a cut in each lane, over one
// sequence after the other. What is computed is said in lib/Attention/WorkFormulas.h, for the host's list too.
#include "MakeWorkList.h"

#include "ExpansionBuilder.h"
#include "KernelFrame.h"
#include "WorkPartition.h"

#include "Attention/WorkFormulas.h"
#include "Target/Arch/ArchInfo.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::attention;
using arith::CmpIPredicate;

/// Sequences that are looked at together.
static constexpr int64_t kWorkLanes = 64;
/// Waves of a workgroup that looks for a cut; each has every so many'th sequence.
static constexpr int64_t kCutWaves = 4;
static_assert(kWorkCuts == kWorkLanes);
/// By how many places sequences are shifted from one block of queries to the next: one more than there are XCDs.
static constexpr int64_t kBlockShift = 9;
/// Of products, whose parts are summed.
static constexpr int64_t kPartBits = 12;
namespace {
/// Numbers by name: of one sequence, or one for each lane in the region of a map.
using LaneNumbers = llvm::MapVector<StringRef, Value>;

/// Arithmetic on numbers wherever the builder stands: writes what WorkFormulas.h says.
class WorkArithmetic {
public:
  using Number = Value;
  using Condition = Value;
  using Scale = Value;

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
  /// a / 2^bits; a is not negative.
  Value floorShift(Value a, unsigned bits) { return arith::ShRUIOp::create(builder, a, constant(bits)); }
  Value ceilShift(Value a, unsigned bits) { return floorShift(add(a, constant((int64_t(1) << bits) - 1)), bits); }
  Value scale(float factor) { return builder.constant(factor); }
  Value scaled(Value a, Value scale) { return integer(arith::MulFOp::create(builder, real(a), scale)); }
  /// a * b, or `most` if that is less; neither is negative or more than 2^24, and `most` is less.
  Value productUpTo(Value a, Value b, int64_t most) {
    Value product = arith::MulFOp::create(builder, real(a), real(b)), bound = builder.constant(static_cast<float>(most));
    Value isLess = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, product, bound);
    return pick(isLess, mul(a, b), constant(most));
  }
  /// Rounded up; neither is negative, and both are at most 2^24.
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
  Value real(Value a) { return arith::SIToFPOp::create(builder, builder.getF32Type(), a); }
  Value integer(Value a) { return arith::FPToSIOp::create(builder, builder.getI32Type(), a); }
  /// By way of f32, whose quotient of integers up to 2^24 is rounded correctly.
  Value ceilQuotient(Value a, Value b) {
    Value quotient = arith::DivFOp::create(builder, real(a), real(b));
    return integer(math::CeilOp::create(builder, quotient));
  }
};

using LaneWork = SequenceWork<WorkArithmetic>;
using LaneCut = WorkCut<WorkArithmetic>;
using LaneSums = WorkSums<WorkArithmetic>;

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
  /// What `body` makes in each of `kWorkLanes` lanes of its number, from `first` on, and of `inputs`.
  SmallVector<Value> inLanes(size_t results, ValueRange inputs, Value first,
                             function_ref<SmallVector<Value>(ValueRange inputs, Value number)> body);
  Type lanesType() {
    return tile::RowsType::get(op.getContext(), kWorkLanes, builder.getI32Type(), {tile::FragLayout::Lines, 4, 1});
  }

  Value wave() { return tile::WaveGridOp::create(builder, kCutWaves, 1).getRow(); }
  LaneCut findCut(Value isNeeded);
  ValueRange ifElse(Value condition, ValueRange otherwise, function_ref<SmallVector<Value>()> body);
  std::pair<Value, Value> shareAndMost();
  SmallVector<Value> sumsOfWave(ArrayRef<Value> cuts, ArrayRef<Value> first, Value scale);
  Value bestNumber(ArrayRef<Value> sums, Value scale);

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
  Place placeOf(const Part &part, const LaneCut &cut);
  void only(Value condition, function_ref<void()> body);
  void store(Value number, Value row, int64_t field);
  void writeEntry(const Part &part, const Place &place, Value copy);
  void writePart(const Part &part, const LaneCut &cut);
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
  frame.require("ceildiv(seq_q, " + std::to_string(kWorkRows) + ") * batch < 16777216",
                "a list of work is made for fewer than 16777216 blocks of queries, as many for each sequence as the longest "
                "has; use a smaller bound (seq-q), or fewer sequences");
  // Tiles are 24-bit numbers.
  frame.require("seq_kv <= " + std::to_string(kNoWorkLimit * kWorkKeys),
                "a list of work is of sequences of at most 2^30 keys");
  if (auto pageRows = op.getPageSize())
    frame.require((op.getPageLists() ? "total_pages * " : "max_pages * ") + std::to_string(*pageRows) + " <= " +
                      std::to_string(kNoWorkLimit * kWorkKeys),
                  "the pages of a table may have 2^30 rows in all; use shorter tables");
  frame.create(builder, op.getSymName(), target, op.getSplit() ? kCutWaves : 1);
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
  if (op.getPackedQueries())
    q = a.min(q, a.sub(at("end_q"), a.max(at("first_q"), zero)));
  if (op.getQueryLengths())
    q = a.min(q, at("used_q"));
  if (op.getPackedQueries())
    q = a.pick(a.less(at("min_seqlen_q"), q), q, zero);
  Value newKeys = op.getPackedQueries() ? q : at("new_rows");
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

SmallVector<Value> WorkListExpansion::inLanes(size_t results, ValueRange inputs, Value first,
                                             function_ref<SmallVector<Value>(ValueRange, Value)> body) {
  SmallVector<Type> types(results, lanesType());
  auto map = tile::MapOp::create(builder, types, inputs, first, Value(), Value(), /*coordinates=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &block = map.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(tile::elementTypeOf(input.getType()), builder.getLoc());
  Value number = block.addArgument(builder.getI32Type(), builder.getLoc());
  block.addArgument(builder.getI32Type(), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  a.inRegion = true;
  tile::YieldOp::create(builder, ValueRange(body(block.getArguments().take_front(inputs.size()), number)));
  a.inRegion = false;
  return map.getResults();
}

SmallVector<Value> WorkListExpansion::overSequences(
    ArrayRef<tile::Reduction> kinds, TypeRange types, ValueRange more,
    function_ref<SmallVector<Value>(const LaneWork &, Value number, ValueRange more)> body) {
  Type i32 = builder.getI32Type(), lanes = lanesType();
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
  SmallVector<Value> found = inLanes(types.size(), inputs, first, [&](ValueRange own, Value number) {
    LaneNumbers numbers;
    for (auto [index, name] : llvm::enumerate(names))
      numbers[name] = own[index];
    LaneWork work = workOf(numbers, a.less(number, numbers.lookup("batch")));
    return body(work, number, own.slice(names.size(), more.size()));
  });
  SmallVector<Value> next;
  for (auto [kind, type, own, sofar] : llvm::zip_equal(kinds, types, found, loop.getRegionIterArgs())) {
    Value ofAll = tile::ReduceOp::create(builder, i32, kind, own, tile::Dimension::Rows);
    ofAll = type == i32 ? ofAll : a.wide(ofAll);
    next.push_back(kind == tile::Reduction::Max ? a.max(sofar, ofAll) : a.add(sofar, ofAll));
  }
  scf::YieldOp::create(builder, next);
  return loop.getResults();
}

/// What each slot gets if nothing is cut, and the tiles of the longest item.
std::pair<Value, Value> WorkListExpansion::shareAndMost() {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Value> all = overSequences(
      {sum, sum, sum, tile::Reduction::Max}, {i64, i64, i64, i32}, {}, [&](const LaneWork &work, Value, ValueRange) {
        Value most = work.mostTiles(a), entries = a.constant(2 * kWorkEntryTiles);
        Value ends = a.add(a.add(work.tiles(a, a.constant(0)), most), entries);
        auto twice = a.product(a.mul(work.copies, work.items), ends);
        return SmallVector<Value>{twice[0], twice[1], twice[2], most};
      });
  Value slots = a.wide(frame.argument("work_slots")), twice = a.joined(ArrayRef(all).take_front(3));
  twice = a.mul(twice, a.wide(frame.argument("kv_heads")));
  Value each = arith::DivUIOp::create(builder, twice, a.mul(slots, a.wideConstant(2)));
  each = arith::MinUIOp::create(builder, each, a.wideConstant(kWorkMostShare));
  return {arith::TruncIOp::create(builder, i32, each), all[3]};
}

/// `body`'s values where the `condition` holds, else these.
ValueRange WorkListExpansion::ifElse(Value condition, ValueRange otherwise, function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(builder, otherwise.getTypes(), condition, /*withElseRegion=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(builder, body());
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(builder, otherwise);
  return branch.getResults();
}

/// Which work is cut, where it `isNeeded`: with the cut of all with which all is expected to end first, the first of
/// those that are alike. Lanes have a cut each, waves some of the sequences.
LaneCut WorkListExpansion::findCut(Value isNeeded) {
  Value zero = a.constant(0), batch = frame.argument("batch");
  if (!op.getSplit())
    return {zero, a.constant(kNoWorkLimit), a.constant(kNoWorkLimit)};
  auto cutsOf = [&](Value share) {
    return inLanes(3, {batch, share}, zero, [&](ValueRange own, Value number) {
      LaneCut cut = workCut(a, number, own[0], own[1]);
      return SmallVector<Value>{cut.boundary, cut.coarse, cut.fine};
    });
  };
  // A share, where cuts are to be tried, and the wave's sums.
  SmallVector<Value> nothing = {a.constant(-1)};
  llvm::append_range(nothing, inLanes(LaneSums::kNumbers, {}, zero, [&](ValueRange, Value) {
    return SmallVector<Value>(LaneSums::kNumbers, a.constant(0));
  }));
  ArrayRef<Value> noSums = ArrayRef(nothing).drop_front();
  ValueRange found = ifElse(isNeeded, nothing, [&] {
    auto [share, most] = shareAndMost();
    Value isUneven = a.less(share, a.mul(most, a.constant(kWorkFine)));
    return SmallVector<Value>(ifElse(isUneven, nothing, [&, share = share] {
      SmallVector<Value> values = {share};
      llvm::append_range(values, sumsOfWave(cutsOf(share), noSums, workScale(a, share)));
      return values;
    }));
  });
  // All waves meet here, whatever they had to do.
  SmallVector<Value> sums(found.drop_front());
  for (auto [index, sum] : llvm::enumerate(sums)) {
    auto kind = index < LaneSums::kAdded ? tile::Reduction::Sum : tile::Reduction::Max;
    sum = tile::ReduceWavesOp::create(builder, kind, sum, Value(), IntegerAttr());
  }
  Value share = a.max(found[0], zero);
  Value number = ifElse(a.less(a.constant(-1), found[0]), zero, [&] {
    return SmallVector<Value>{bestNumber(sums, workScale(a, share))};
  })[0];
  return workCut(a, number, batch, share);
}

/// `WorkSums` of each cut over the sequences that are the wave's.
SmallVector<Value> WorkListExpansion::sumsOfWave(ArrayRef<Value> cuts, ArrayRef<Value> first, Value scale) {
  Value zero = a.constant(0), batch = frame.argument("batch");
  LaneNumbers shared = common();
  auto loop = scf::ForOp::create(builder, wave(), batch, a.constant(kCutWaves), first);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value sequence = loop.getInductionVar();
  for (const Source &source : sources())
    shared[source.key] = load(builder.getI32Type(), source, sequence);
  LaneWork work = workOf(shared, a.less(sequence, batch));
  Value grouped = arith::ExtUIOp::create(builder, builder.getI32Type(), work.grouped);
  SmallVector<Value> inputs = {work.items, work.copies, work.queries, work.keys, work.reach, grouped, sequence, scale};
  llvm::append_range(inputs, cuts);
  llvm::append_range(inputs, loop.getRegionIterArgs());
  SmallVector<Value> next = inLanes(LaneSums::kNumbers, inputs, zero, [&](ValueRange own, Value) {
    LaneWork work{own[0], own[1], own[2], own[3], own[4], a.less(a.constant(0), own[5]), causal};
    LaneCut cut{own[8], own[9], own[10]};
    LaneSums sofar = LaneSums::of({own[11], own[12], own[13], own[14], own[15], own[16]});
    return llvm::to_vector(sofar.with(a, work, own[6], cut, own[7]).numbers());
  });
  scf::YieldOp::create(builder, next);
  return loop.getResults();
}

/// The number of the cut with which all is expected to end first.
Value WorkListExpansion::bestNumber(ArrayRef<Value> sums, Value scale) {
  SmallVector<Value> inputs = {frame.argument("kv_heads"), frame.argument("work_slots"), frame.argument("work_parts"),
                               scale};
  llvm::append_range(inputs, sums);
  Value zero = a.constant(0);
  Value end = inLanes(1, inputs, zero, [&](ValueRange own, Value) {
    LaneSums all = LaneSums::of({own[4], own[5], own[6], own[7], own[8], own[9]});
    return SmallVector<Value>{expectedEnd(a, all, own[0], own[1], own[2], own[3])};
  })[0];
  auto least = [&](Value lanes) -> Value {
    return tile::ReduceOp::create(builder, builder.getI32Type(), tile::Reduction::Min, lanes, tile::Dimension::Rows);
  };
  return least(inLanes(1, {end, least(end)}, zero, [&](ValueRange own, Value number) {
    return SmallVector<Value>{a.pick(a.less(own[1], own[0]), a.constant(kWorkCuts), number)};
  })[0]);
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

/// How many items take as many tiles or more.
static Value itemsFrom(WorkArithmetic &a, const LaneWork &work, Value tiles) {
  Value one = a.constant(1), isNone = a.less(tiles, one);
  return a.pick(isNone, work.items, work.itemsAbove(a, a.max(a.sub(tiles, one), a.constant(0))));
}

/// In front of the part's entries stand those that take longer, of earlier sequences as long, and its own sequence's.
WorkListExpansion::Place WorkListExpansion::placeOf(const Part &part, const LaneCut &cut) {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type();
  const LaneWork &own = part.work;
  Value zero = a.constant(0), one = a.constant(1);
  Value limit = cut.limitOf(a, part.sequence), cutItems = own.itemsAbove(a, limit), firstCut = a.sub(own.items, cutItems);
  Value isCut = a.less(a.sub(firstCut, one), part.item);
  Value pieces = op.getSplit() ? a.pick(isCut, own.slices(a, limit), one) : one;
  Value length = a.ceilDivide(own.mostTiles(a), a.max(pieces, one));
  Value tiles = a.pick(isCut, length, own.tiles(a, part.item));
  Value cutNumber = arith::ExtUIOp::create(builder, i32, isCut);
  SmallVector<Value> sums = overSequences(
      {sum, sum, sum, sum, sum}, {i32, i32, i32, i32, i32},
      {cut.boundary, tiles, part.sequence, part.item, cutNumber, cut.coarse, cut.fine},
      [&](const LaneWork &work, Value number, ValueRange more) {
        Value zero = a.constant(0), one = a.constant(1);
        Value limit = LaneCut{more[0], more[5], more[6]}.limitOf(a, number), cutItems = work.itemsAbove(a, limit);
        Value above = work.itemsAbove(a, more[1]), isOwnCut = a.less(zero, more[4]);
        Value isEarlier = a.less(number, more[2]), isLater = a.less(more[2], number);
        Value within = a.sub(a.sub(work.items, one), more[3]);
        Value from = itemsFrom(a, work, more[1]);
        Value before = a.pick(isEarlier, from, a.pick(a.either(isLater, isOwnCut), above, within));
        Value whole = a.mul(work.copies, a.max(a.sub(before, cutItems), zero));
        Value rest = a.mul(work.copies, a.sub(work.items, cutItems));
        if (!op.getSplit())
          return SmallVector<Value>{zero, rest, whole, zero, zero};
        Value each = work.slices(a, limit), slices = a.mul(a.mul(work.copies, cutItems), each);
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

void WorkListExpansion::writePart(const Part &part, const LaneCut &cut) {
  Value zero = a.constant(0);
  Place place = placeOf(part, cut);
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
  Value isNeeded = a.either(isThere, isFirst);
  LaneCut cut = findCut(isNeeded);
  // One wave is enough for the rest.
  if (op.getSplit())
    isNeeded = a.both(isNeeded, a.less(wave(), a.constant(1)));
  only(isNeeded, [&] { writePart({own, sequence, item, isThere, isFirst}, cut); });
}

LogicalResult WorkListExpansion::run() {
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  createKernel();
  std::string number = "ceildiv(seq_q, " + std::to_string(kWorkRows) + ") * batch";
  auto id = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({number}));
  // Few workgroups have something to do: the first ones of all sequences, and all of some. Sequences are shifted from block
  // to block, so that neither are those that come to the same XCD and compute unit.
  Value batch = frame.argument("batch");
  auto place = tile::DivModOp::create(builder, id.getX(), batch);
  Value block = place.getQuotient();
  Value shifted = a.add(place.getRemainder(), a.mul(block, a.constant(kBlockShift)));
  writeEntries(block, tile::DivModOp::create(builder, shifted, batch).getRemainder());
  tile::ReturnOp::create(builder);
  op.erase();
  return success();
}

LogicalResult hocket::expandWorkList(attn::WorkListOp op, StringRef target) { return WorkListExpansion(op, target).run(); }
