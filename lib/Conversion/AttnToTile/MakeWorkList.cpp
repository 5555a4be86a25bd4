// A workgroup of one wave for each block of queries that a sequence may have: it finds its entries' place in the list, and
// writes them.
//
// Nothing is sorted. How many entries stand in front of one is a sum over all sequences, each of whose terms follows from
// its lengths and from where it begins on the line along which work is cut: lanes have a sequence each. What is computed is
// said in lib/Grid/WorkFormulas.h, for the host's list too.
#include "MakeWorkList.h"

#include "ExpansionBuilder.h"
#include "KernelFrame.h"
#include "WorkPartition.h"

#include "Grid/WorkFormulas.h"
#include "Target/Arch/ArchInfo.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::attention;
using arith::CmpIPredicate;

/// Sequences that are looked at together.
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
  Value floorDivide(Value a, Value b) { return tile::DivModOp::create(builder, a, b).getQuotient(); }
  Value quotient(Value a, Value b) { return integer(arith::DivFOp::create(builder, real(a), real(b))); }
  Value lowBits(Value a, unsigned bits) {
    return arith::AndIOp::create(builder, a, constant((int64_t(1) << bits) - 1));
  }
  Value scale(float factor) { return builder.constant(factor); }
  Value fraction(Value whole, Value rest, Value of) {
    Value part = arith::DivFOp::create(builder, real(rest), real(of));
    return arith::AddFOp::create(builder, real(whole), part);
  }
  Value inverse(float a, Value b) { return arith::DivFOp::create(builder, builder.constant(a), b); }
  Value scaled(Value a, Value scale) { return integer(arith::MulFOp::create(builder, real(a), scale)); }
  /// Of a condition, 1 or 0.
  Value count(Value condition) { return arith::ExtUIOp::create(builder, builder.getI32Type(), condition); }

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

private:
  Value real(Value a) { return arith::SIToFPOp::create(builder, builder.getF32Type(), a); }
  Value integer(Value a) { return arith::FPToSIOp::create(builder, builder.getI32Type(), a); }
};

using LaneWork = SequenceWork<WorkArithmetic>;
using LaneLine = WorkLine<WorkArithmetic>;
using LaneCut = WorkCut<WorkArithmetic>;

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
  /// What `body` makes of each sequence, from its place on the `line` and of `more`, summed (`kinds`) over all of them.
  /// Without a line it is null, and so is the place.
  using OfSequence =
      function_ref<SmallVector<Value>(const LaneWork &, Value number, const LaneLine &line, Value place, ValueRange more)>;
  SmallVector<Value> overSequences(ArrayRef<tile::Reduction> kinds, TypeRange types, const LaneLine *line, ValueRange more,
                                   OfSequence body);
  /// What `body` makes in each of `kWaveLanes` lanes of its number, from `first` on, and of `inputs`.
  SmallVector<Value> inLanes(size_t results, ValueRange inputs, Value first,
                             function_ref<SmallVector<Value>(ValueRange inputs, Value number)> body);
  Type lanesType() {
    return tile::RowsType::get(op.getContext(), kWaveLanes, builder.getI32Type(), {tile::FragLayout::Lines, 4, 1});
  }

  LaneLine findLine();
  Value placeOnLine(Value sequence, const LaneLine &line);

  /// The workgroup's part of the list: items of `sequence` from `item` on, if it `isThere`.
  struct Part {
    LaneWork work;
    Value sequence, item, isThere, isFirst;
  };
  /// Where its entries stand: `slices` and `whole` in the list at all; the place of the first. Items from `firstCut` on are
  /// cut, which the first one `isCut` says of it, in `pieces` as an entry's `cut` says. In order the first and the second
  /// entry of the first item have the numbers `order` and `further`.
  struct Place {
    Value slices, whole, first, firstCut, isCut, pieces, cut, order, further;
  };
  Place placeOf(const Part &part, const LaneLine &line);
  void only(Value condition, function_ref<void()> body);
  void store(Value number, Value row, int64_t field);
  void writeEntry(const Part &part, const Place &place, Value copy);
  void writePart(const Part &part);
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
  for (StringRef number : {"batch", "seq_q", "seq_kv", "heads", "kv_heads", "work_slots", "row_keys"})
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
  frame.create(builder, op.getSymName(), target, /*waves=*/1);
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
  Value parts = a.ceilShift(group, 5), queries = a.mul(group, a.constant(kWorkQueries));
  numbers["parts"] = parts;
  numbers["alike"] = a.floorDivide(a.add(queries, a.sub(parts, a.constant(1))), parts);
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
  LaneWork work{a.ceilShift(q, kWorkRowsBits), at("group"), q, k, at("group"), at("alike"), Value(), Value(), causal};
  Value together = a.ceilShift(a.mul(q, at("parts")), 2);
  work.grouped = a.less(together, a.mul(work.items, work.copies));
  if (op.getSingleHeads())
    work.grouped = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  work.items = a.pick(work.grouped, together, work.items);
  work.copies = a.pick(work.grouped, a.constant(1), work.copies);
  Value rows = a.pick(work.grouped, a.constant(kWorkQueries - 1), a.constant(kWorkRows - 1));
  work.reach = a.add(a.ceilShift(a.add(at("row_keys"), rows), kWorkKeysBits), a.constant(1));
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
  tile::YieldOp::create(builder, ValueRange(body(block.getArguments().take_front(inputs.size()), number)));
  return map.getResults();
}

SmallVector<Value> WorkListExpansion::overSequences(ArrayRef<tile::Reduction> kinds, TypeRange types, const LaneLine *line,
                                                    ValueRange more, OfSequence body) {
  Type i32 = builder.getI32Type(), lanes = lanesType();
  LaneNumbers shared = common();
  SmallVector<Value> start;
  for (Type type : types)
    start.push_back(type == i32 ? a.constant(0) : a.wideConstant(0));
  start.push_back(a.constant(0));
  auto loop = scf::ForOp::create(builder, a.constant(0), frame.argument("batch"), a.constant(kWaveLanes), start);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar(), passed = loop.getRegionIterArgs().back();
  SmallVector<Value> inputs;
  SmallVector<StringRef> names;
  for (const Source &source : sources())
    inputs.push_back(load(lanes, source, first)), names.push_back(source.key);
  for (auto &[name, value] : shared)
    inputs.push_back(value), names.push_back(name);
  auto workIn = [&](ValueRange own, Value number) {
    LaneNumbers numbers;
    for (auto [index, name] : llvm::enumerate(names))
      numbers[name] = own[index];
    return workOf(numbers, a.less(number, numbers.lookup("batch")));
  };
  if (line)
    llvm::append_range(inputs, ValueRange{line->segment, line->places});
  auto lineIn = [&](ValueRange own) {
    return line ? LaneLine{own[names.size()], own[names.size() + 1]} : LaneLine();
  };
  if (line) {
    // Where sequences begin follows from all in front of them.
    Value lengths = inLanes(1, inputs, first, [&](ValueRange own, Value number) {
      return SmallVector<Value>{workIn(own, number).onLine(a, lineIn(own))};
    })[0];
    inputs.push_back(tile::RunningSumOp::create(builder, lanes, lengths));
    inputs.push_back(lengths), inputs.push_back(passed);
    Value all = tile::ReduceOp::create(builder, i32, tile::Reduction::Sum, lengths, tile::Dimension::Rows);
    passed = a.lowBits(a.add(passed, all), kWorkPlaceBits);
  }
  size_t known = inputs.size();
  llvm::append_range(inputs, more);
  SmallVector<Value> found = inLanes(types.size(), inputs, first, [&](ValueRange own, Value number) {
    Value place;
    if (line)
      place = a.lowBits(a.add(a.sub(own[known - 3], own[known - 2]), own[known - 1]), kWorkPlaceBits);
    return body(workIn(own, number), number, lineIn(own), place, own.slice(known, more.size()));
  });
  SmallVector<Value> next;
  for (auto [kind, type, own, sofar] :
       llvm::zip_equal(kinds, types, found, ValueRange(loop.getRegionIterArgs()).drop_back())) {
    Value ofAll = tile::ReduceOp::create(builder, i32, kind, own, tile::Dimension::Rows);
    ofAll = type == i32 ? ofAll : a.wide(ofAll);
    next.push_back(kind == tile::Reduction::Max ? a.max(sofar, ofAll) : a.add(sofar, ofAll));
  }
  next.push_back(passed);
  scf::YieldOp::create(builder, next);
  return SmallVector<Value>(loop.getResults().drop_back());
}

/// How work is cut: not at all where whatever comes last makes no difference.
LaneLine WorkListExpansion::findLine() {
  LaneLine none = LaneLine::none(a);
  if (!op.getSplit())
    return none;
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Value> all = overSequences(
      {sum, sum, sum, tile::Reduction::Max}, {i64, i64, i64, i32}, /*line=*/nullptr, {},
      [&](const LaneWork &work, Value, const LaneLine &, Value, ValueRange) {
        auto twice = a.product(a.mul(work.copies, work.items), work.twiceMean(a));
        return SmallVector<Value>{twice[0], twice[1], twice[2], work.mostTiles(a)};
      });
  // What each slot gets if nothing is cut.
  Value slots = a.mul(frame.argument("work_slots"), a.constant(2)), wideSlots = a.wide(slots);
  Value twice = a.mul(a.joined(ArrayRef(all).take_front(3)), a.wide(frame.argument("kv_heads")));
  Value each = arith::DivUIOp::create(builder, twice, wideSlots);
  Value rest = arith::TruncIOp::create(builder, i32, a.sub(twice, a.mul(each, wideSlots)));
  each = arith::MinUIOp::create(builder, each, a.wideConstant(kWorkMostShare));
  Value share = arith::TruncIOp::create(builder, i32, each);
  Value isUneven = a.less(share, a.mul(all[3], a.constant(kWorkFine)));
  LaneLine line = LaneLine::of(a, share, rest, slots);
  return {a.pick(isUneven, line.segment, none.segment), a.pick(isUneven, line.places, none.places)};
}

/// Where the sequence begins.
Value WorkListExpansion::placeOnLine(Value sequence, const LaneLine &line) {
  SmallVector<Value> more = {sequence, line.segment, line.places};
  Value before = overSequences({tile::Reduction::Sum}, {builder.getI32Type()}, /*line=*/nullptr, more,
                               [&](const LaneWork &work, Value number, const LaneLine &, Value, ValueRange own) {
                                 Value onLine = work.onLine(a, LaneLine{own[1], own[2]});
                                 return SmallVector<Value>{a.pick(a.less(number, own[0]), onLine, a.constant(0))};
                               })[0];
  return a.lowBits(before, kWorkPlaceBits);
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

namespace {
/// A sequence among those that stand in front of entries of `sequence`, from `item` on, in order. In front stand those that
/// are farther from their segment's end, and as far ones of earlier sequences.
struct Compared {
  const LaneWork &work;
  const LaneCut &cut;
  const LaneLine &line;
  Value number, sequence, item;

  /// How many are farther than `distance`, or as far if the sequence is an earlier one. Of the sequence itself, where the
  /// entries are of several whole items, what lies behind `item`.
  Value before(WorkArithmetic &a, Value distance, Value ownAreWhole) const {
    Value zero = a.constant(0), one = a.constant(1);
    Value isEarlier = a.less(number, sequence), isLater = a.less(sequence, number);
    Value least = a.pick(isEarlier, distance, a.add(distance, one));
    Value above = work.itemsAbove(a, a.max(a.sub(least, one), zero));
    above = a.pick(a.less(least, one), work.items, above);
    Value isOwn = a.both(ownAreWhole, a.less(a.add(a.count(isEarlier), a.count(isLater)), one));
    above = a.pick(isOwn, a.sub(a.sub(work.items, one), item), above);
    Value whole = a.mul(work.copies, a.max(a.sub(above, cut.items), zero));
    if (!cut.pieces)
      return whole;
    auto counted = [&](Value parts, Value many) { return a.pick(a.less(line.tilesOf(a, parts), least), zero, many); };
    Value cutItems = a.mul(work.copies, cut.items), further = a.mul(cutItems, a.sub(cut.pieces, one));
    Value first = counted(cut.first, a.pick(cut.isAlone, work.items, cutItems));
    return a.add(a.pick(cut.isAlone, zero, whole), a.add(first, counted(a.constant(kWorkParts), further)));
  }
};
} // namespace

WorkListExpansion::Place WorkListExpansion::placeOf(const Part &part, const LaneLine &line) {
  constexpr auto sum = tile::Reduction::Sum;
  Type i32 = builder.getI32Type();
  const LaneWork &own = part.work;
  Value zero = a.constant(0), one = a.constant(1);
  bool split = op.getSplit();
  auto cutAt = [&](const LaneWork &work, const LaneLine &line, Value place) {
    return split ? work.cut(a, line, place) : LaneCut{a.constant(0), {}, {}, {}, {}};
  };
  LaneCut cut = cutAt(own, line, split ? placeOnLine(part.sequence, line) : Value());
  Value firstCut = a.sub(own.items, cut.items), isCut = a.less(a.sub(firstCut, one), part.item);
  Value isAmongFirst = split ? a.either(isCut, cut.isAlone) : Value();
  Value distance = own.tiles(a, part.item), farthest;
  if (split) {
    distance = a.pick(isAmongFirst, line.tilesOf(a, cut.first), distance);
    farthest = line.tilesOf(a, a.constant(kWorkParts));
  }
  SmallVector<Value> more = {part.sequence, part.item, distance};
  if (split)
    more.append({farthest, a.count(isAmongFirst)});
  size_t numbers = split ? 6 : 3;
  SmallVector<Value> sums = overSequences(
      SmallVector<tile::Reduction>(numbers, sum), SmallVector<Type>(numbers, i32), split ? &line : nullptr, more,
      [&](const LaneWork &work, Value number, const LaneLine &line, Value place, ValueRange more) {
        Value zero = a.constant(0), isEarlier = a.less(number, more[0]);
        LaneCut cut = cutAt(work, line, place);
        Value whole = a.mul(work.copies, a.sub(work.items, cut.items));
        Compared compared{work, cut, line, number, more[0], more[1]};
        Value areWhole = split ? a.less(more[4], a.constant(1)) : a.less(zero, a.constant(1));
        SmallVector<Value> found = {whole, a.pick(isEarlier, whole, zero), compared.before(a, more[2], areWhole)};
        if (!split)
          return found;
        Value slices = a.mul(a.mul(work.copies, cut.items), cut.pieces), isNever = a.less(a.constant(1), zero);
        found.append({slices, a.pick(isEarlier, slices, zero), compared.before(a, more[3], isNever)});
        return found;
      });
  // What is whole of the sequence stands in order from its end on.
  Value behind = a.mul(own.copies, a.sub(a.sub(firstCut, one), part.item));
  Value order = sums[2], whole = a.add(sums[1], behind);
  if (!split)
    return {zero, sums[0], whole, firstCut, isCut, one, zero, order, order};
  Value slices = sums[3], inFront = a.mul(a.sub(part.item, firstCut), own.copies), cutItems = a.mul(own.copies, cut.items);
  Value furtherPieces = a.sub(cut.pieces, one), firstDistance = line.tilesOf(a, cut.first);
  auto asFar = [&](Value one, Value other, Value many) -> Value {
    return a.pick(arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, one, other), many, zero);
  };
  // Of its own sequence, what is as far: first pieces stand in front of further ones, and both of what is whole.
  Value ownPieces = a.add(asFar(firstDistance, distance, cutItems),
                          asFar(farthest, distance, a.mul(cutItems, furtherPieces)));
  order = a.add(order, a.pick(isCut, inFront, a.pick(cut.isAlone, zero, ownPieces)));
  Value further = a.add(a.add(sums[5], asFar(firstDistance, farthest, cutItems)), a.mul(inFront, furtherPieces));
  Value first = a.pick(isCut, a.add(sums[4], a.mul(inFront, cut.pieces)), a.add(slices, whole));
  return {slices, sums[0], first, firstCut, isCut, a.pick(isCut, cut.pieces, one), a.pick(isCut, cut.number(a), zero),
          order, further};
}

/// Entries of the part's item, or where rows are heads of the one `copy` behind it, of each head; its pieces follow one
/// another in the list.
void WorkListExpansion::writeEntry(const Part &part, const Place &place, Value copy) {
  const LaneWork &own = part.work;
  Value zero = a.constant(0), one = a.constant(1);
  // What is whole and takes as much as the next item of its sequence stands behind that.
  Value isBehind = a.both(own.grouped, a.less(part.item, place.firstCut));
  Value before = a.mul(copy, a.pick(isBehind, a.constant(-1), one));
  Value unit = a.pick(own.grouped, a.constant(kWorkQueries), a.constant(kWorkRows));
  Value head = a.pick(own.grouped, a.constant(-1), copy);
  Value row = a.mul(a.add(part.item, a.pick(own.grouped, copy, zero)), unit);
  Value first = a.add(place.first, a.mul(before, place.pieces));
  auto write = [&](Value piece, Value slice, Value order) {
    Value entry = a.add(first, piece), line = a.add(entry, one);
    store(part.sequence, line, kWorkSequence);
    store(row, line, kWorkRow);
    store(head, line, kWorkHead);
    store(slice, line, kWorkSlice);
    store(place.cut, line, kWorkCut);
    store(entry, a.add(order, one), kWorkEntry);
  };
  if (!op.getSplit())
    return write(zero, zero, a.add(place.order, before));
  auto loop = scf::ForOp::create(builder, zero, place.pieces, one);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value piece = loop.getInductionVar();
  Value ofFurther = a.add(a.mul(before, a.sub(place.pieces, one)), a.sub(piece, one)), isFirst = a.less(piece, one);
  write(piece, a.pick(isFirst, a.sub(one, place.pieces), piece),
        a.pick(isFirst, a.add(place.order, before), a.add(place.further, ofFurther)));
}

void WorkListExpansion::writePart(const Part &part) {
  Value zero = a.constant(0);
  Place place = placeOf(part, findLine());
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
/// are heads, each in as many pieces as it is cut.
void WorkListExpansion::writeEntries(Value block, Value sequence) {
  LaneNumbers numbers = common();
  for (const Source &source : sources())
    numbers[source.key] = load(builder.getI32Type(), source, sequence);
  LaneWork own = workOf(numbers, a.less(sequence, frame.argument("batch")));
  Value item = a.pick(own.grouped, a.mul(block, numbers.lookup("group")), block);
  // Sequences have few entries of what the longest one may have. The first workgroup says how many there are.
  Value isFirst = a.less(a.add(block, sequence), a.constant(1)), isThere = a.less(item, own.items);
  only(a.either(isThere, isFirst), [&] { writePart({own, sequence, item, isThere, isFirst}); });
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
