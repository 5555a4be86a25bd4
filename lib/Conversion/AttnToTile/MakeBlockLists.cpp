// A wave makes the lists of one block of queries: for each block of keys it goes over tiles of both.
#include "MakeBlockLists.h"

#include "BlockLists.h"
#include "ModificationProgram.h"

#include "Target/Arch/ArchInfo.h"
#include "Tile/IR/FragmentMap.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace hocket;

/// Queries and keys that are looked at together. A lane has 4 elements: comparisons of more would want more scalar
/// registers than there are.
static constexpr int64_t kTileQueries = 4, kTileKeys = 64;

namespace {
/// What is known of a block so far, or of a list: numbers of the kernel.
struct Pair {
  Value first, second;
};

class Expansion {
public:
  Expansion(attn::BlockListsOp op, StringRef target)
      : op(op), target(target), builder(op.getLoc(), op), lists(queries(), keys()),
        scores(builder.frag(kTileQueries, kTileKeys, builder.getF32Type(), tile::FragLayout::Lines)) {}
  LogicalResult run();

private:
  int64_t queries() { return static_cast<int64_t>(op.getQueryBlock()); }
  int64_t keys() { return static_cast<int64_t>(op.getKeyBlock()); }
  void findMasks();
  LogicalResult createKernel();
  Pair inside(Value seen, const ScorePlace &place);
  Value isShown(Value seen, bool all);
  Pair lookAtTile(const ScorePlace &place, Pair sofar);
  Pair lookAtBlock(Value column);
  void store(Value condition, Value number, Value view, Value place);
  Value numbersOf(StringRef tensor, ValueRange indices);
  Pair list(Value column, Pair found, Pair counts);
  Pair loop(Value begin, Value end, int64_t step, Pair init, function_ref<Pair(Value, Pair)> body);
  void writeBody();
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value times(Value a, int64_t b) { return arith::MulIOp::create(builder, a, builder.constant(b)); }
  /// Where a block ends: behind `size` elements from `first` on, and at `end` at the latest.
  Value endOf(Value first, int64_t size, Value end) {
    return arith::MinSIOp::create(builder, add(first, builder.constant(size)), end);
  }

  attn::BlockListsOp op;
  StringRef target;
  ExpansionBuilder builder;
  BlockListTensors lists;
  tile::FragType scores;
  SmallVector<std::unique_ptr<ModificationProgram>> masks;
  KernelFrame frame{op.getContext()};
  Value seqQ, seqKv, block, head, batch, partialIndices, fullIndices;
};
} // namespace

void Expansion::findMasks() {
  if (op.getMaskMods())
    for (auto symbol : op.getMaskMods()->getAsRange<FlatSymbolRefAttr>())
      masks.push_back(std::make_unique<ModificationProgram>(SymbolTable::lookupNearestSymbolFrom(op, symbol), scores));
  attn::VisibilityAttr window = op.getKeyVisibility();
  if (window.isAll())
    return;
  OpBuilder atModule(op);
  attn::MaskModOp mask = createWindow(atModule, op.getLoc(), window.getLeft(), window.getRight());
  masks.push_back(std::make_unique<ModificationProgram>(mask, scores));
  mask.erase();
}

LogicalResult Expansion::createKernel() {
  lists.addArguments(frame, "block_batch", "block_heads");
  for (const auto &mask : masks)
    if (failed(mask->addArguments(frame)))
      return failure();
  for (StringRef number : {"seq_q", "seq_kv", "full_blocks"})
    if (!frame.typeOf(number))
      frame.addScalar(builder.getI32Type(), number);
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxPosition),
                "seq_q and seq_kv may be at most " + Twine(kMaxPosition) + " with block lists");
  frame.require("max(block_heads, block_batch) <= 65535", "lists may be made for at most 65535 heads and batches");
  frame.create(builder, op.getSymName(), target, /*waves=*/1);
  for (const auto &mask : masks)
    mask->bindArguments(frame);
  return success();
}

/// `seen` twice, where elements behind the last query or key are hidden, and where they are seen.
Pair Expansion::inside(Value seen, const ScorePlace &place) {
  Value inputs[] = {seen, seqQ, seqKv};
  auto map = tile::MapOp::create(builder, TypeRange{scores, scores}, inputs, place.row, place.key, Value(), /*usesPlace=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  Type i32 = builder.getI32Type();
  for (Type type : {Type(builder.getF32Type()), i32, i32, i32, i32})
    body.addArgument(type, builder.getLoc());
  builder.setInsertionPointToStart(&body);
  Value isQuery = compare(arith::CmpIPredicate::slt, body.getArgument(3), body.getArgument(1));
  Value isKey = compare(arith::CmpIPredicate::slt, body.getArgument(4), body.getArgument(2));
  Value isThere = arith::AndIOp::create(builder, isQuery, isKey);
  auto orElse = [&](float outside) -> Value {
    return arith::SelectOp::create(builder, isThere, body.getArgument(0), builder.constant(outside));
  };
  Value hidden = orElse(-std::numeric_limits<float>::infinity()), counted = orElse(0.0f);
  tile::YieldOp::create(builder, ValueRange{hidden, counted});
  return {map.getResult(0), map.getResult(1)};
}

/// Whether all, or any, of the elements are 0 (i32, 1 or 0).
Value Expansion::isShown(Value seen, bool all) {
  Type f32 = builder.getF32Type();
  auto kind = all ? tile::Reduction::Min : tile::Reduction::Max;
  Value ofRows = tile::ReduceOp::create(builder, tile::rowsOf(scores, f32), kind, seen, tile::Dimension::Columns);
  Value least = tile::ReduceOp::create(builder, f32, kind, ofRows, tile::Dimension::Rows);
  Value isZero = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, least, builder.constant(0.0f));
  return arith::ExtUIOp::create(builder, builder.getI32Type(), isZero);
}

Pair Expansion::lookAtTile(const ScorePlace &place, Pair sofar) {
  Value seen = builder.fill(scores, 0.0f);
  for (const auto &mask : masks)
    seen = mask->hide(builder, seen, mask->yielded(), Value(), place);
  Pair ends = inside(seen, place);
  Value any = isShown(ends.first, /*all=*/false), all = isShown(ends.second, /*all=*/true);
  return {arith::OrIOp::create(builder, sofar.first, any), arith::AndIOp::create(builder, sofar.second, all)};
}

Pair Expansion::loop(Value begin, Value end, int64_t step, Pair init, function_ref<Pair(Value, Pair)> body) {
  Value inits[] = {init.first, init.second};
  auto loop = scf::ForOp::create(builder, begin, end, builder.constant(step), inits);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Pair next = body(loop.getInductionVar(), {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  scf::YieldOp::create(builder, ValueRange{next.first, next.second});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Whether any of the block's elements is shown, and whether all are.
Pair Expansion::lookAtBlock(Value column) {
  Value firstQuery = times(block, queries()), firstKey = times(column, keys());
  Value endQuery = endOf(firstQuery, queries(), seqQ), endKey = endOf(firstKey, keys(), seqKv);
  Pair none = {builder.constant(int64_t(0)), builder.constant(int64_t(1))};
  return loop(firstQuery, endQuery, kTileQueries, none, [&](Value query, Pair ofRows) {
    ScorePlace place{batch, head, query, Value()};
    for (const auto &mask : masks)
      mask->prepare(builder, place);
    return loop(firstKey, endKey, kTileKeys, ofRows, [&](Value key, Pair sofar) {
      return lookAtTile({batch, head, query, key}, sofar);
    });
  });
}

/// Stores a number where `condition` is 1.
void Expansion::store(Value condition, Value number, Value view, Value place) {
  Value holds = compare(arith::CmpIPredicate::ne, condition, builder.constant(int64_t(0)));
  auto branch = scf::IfOp::create(builder, holds);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  tile::StoreOp::create(builder, number, view, ValueRange(place), IntegerAttr());
}

/// Of a tensor of lists what `indices` leave: consecutive numbers.
Value Expansion::numbersOf(StringRef tensor, ValueRange indices) {
  Type numbers = tile::ViewType::get(builder.getContext(), {ShapedType::kDynamic}, builder.getI32Type());
  return tile::SelectOp::create(builder, numbers, frame.argument(tensor), indices);
}

/// Adds `column` to the list that it belongs to.
Pair Expansion::list(Value column, Pair found, Pair counts) {
  Value isFull = arith::AndIOp::create(builder, found.second, frame.argument("full_blocks"));
  isFull = arith::AndIOp::create(builder, isFull, found.first);
  Value isPartial = arith::SubIOp::create(builder, found.first, isFull);
  store(isPartial, column, partialIndices, counts.first);
  store(isFull, column, fullIndices, counts.second);
  return {add(counts.first, isPartial), add(counts.second, isFull)};
}

void Expansion::writeBody() {
  std::string rows = "ceildiv(seq_q, " + std::to_string(queries()) + ")";
  auto id = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({rows, "block_heads", "block_batch"}));
  block = id.getX(), head = id.getY(), batch = id.getZ();
  seqQ = frame.argument("seq_q"), seqKv = frame.argument("seq_kv");
  Value zero = builder.constant(int64_t(0));
  partialIndices = numbersOf("kv_indices", {batch, head, block});
  fullIndices = numbersOf("full_kv_indices", {batch, head, block});
  Value partialCounts = numbersOf("kv_num_blocks", {batch, head});
  Value fullCounts = numbersOf("full_kv_num_blocks", {batch, head});
  Value columns = tile::DimOp::create(builder, partialIndices, 0);
  Pair counts = loop(zero, columns, 1, {zero, zero},
                     [&](Value column, Pair sofar) { return list(column, lookAtBlock(column), sofar); });
  store(builder.constant(int64_t(1)), counts.first, partialCounts, block);
  store(frame.argument("full_blocks"), counts.second, fullCounts, block);
  tile::ReturnOp::create(builder);
}

LogicalResult Expansion::run() {
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  findMasks();
  if (failed(createKernel()))
    return failure();
  writeBody();
  op.erase();
  return success();
}

LogicalResult hocket::expandBlockLists(attn::BlockListsOp op, StringRef target) {
  return Expansion(op, target).run();
}
