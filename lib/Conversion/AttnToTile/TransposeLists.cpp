// A wave makes the lists of one block of keys: it goes over the lists of all blocks of queries, 64 entries at a time.
#include "MakeBlockLists.h"

#include "BlockLists.h"

#include "Target/Arch/ArchInfo.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;

/// Entries that are looked at together, one a lane.
static constexpr int64_t kEntries = kWaveLanes;

namespace {
class Transposition {
public:
  Transposition(attn::TransposedListsOp op, StringRef target)
      : op(op), target(target), builder(op.getLoc(), op), queries(op.getQueryBlock()), keys(op.getKeyBlock()) {}
  LogicalResult run();

private:
  void createKernel();
  void writeBody();
  Value isListed(Value row, bool full);
  Value appendTo(bool full, Value row, Value count);
  void store(Value number, bool full, bool isCount, Value place);
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value zero() { return builder.constant(int64_t(0)); }
  /// What `indices` leave of a tensor of lists: consecutive numbers.
  Value numbersOf(const std::string &tensor, ValueRange indices) {
    Type numbers = tile::ViewType::get(builder.getContext(), {ShapedType::kDynamic}, builder.getI32Type());
    return tile::SelectOp::create(builder, numbers, frame.argument(tensor), indices);
  }

  attn::TransposedListsOp op;
  StringRef target;
  ExpansionBuilder builder;
  int64_t queries, keys;
  KernelFrame frame{op.getContext()};
  Value column, head, batch; ///< the block of keys
};
} // namespace

void Transposition::createKernel() {
  for (ListsOf of : {ListsOf::Keys, ListsOf::Queries})
    BlockListTensors(queries, keys, of).addArguments(frame, "block_batch", "block_heads");
  for (StringRef number : {"seq_q", "seq_kv", "full_blocks"})
    frame.addScalar(builder.getI32Type(), number);
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxSequence),
                "seq_q and seq_kv may be at most " + Twine(kMaxSequence));
  frame.require("max(block_heads, block_batch) <= 65535", "lists may be made for at most 65535 heads and batches");
  frame.create(builder, op.getSymName(), target, /*waves=*/1);
}

/// Whether (i32, 1 or 0) the block of queries `row` lists the wave's block.
Value Transposition::isListed(Value row, bool full) {
  Value place[] = {batch, head, row};
  Value most = tile::DimOp::create(builder, frame.argument(BlockListTensors::indices(ListsOf::Keys, full)), 3);
  Value counts = frame.argument(BlockListTensors::counts(ListsOf::Keys, full));
  Value given = tile::LoadOp::create(builder, builder.getI32Type(), counts, place, IntegerAttr());
  // Whatever is in memory: no more than there is room for.
  Value count = arith::MinUIOp::create(builder, given, most);
  Value entries = numbersOf(BlockListTensors::indices(ListsOf::Keys, full), place);
  Type i32 = builder.getI32Type();
  Type line = tile::ColumnsType::get(builder.getContext(), kEntries, i32,
                                     tile::RegisterLayout{tile::FragLayout::Lines, 1, kEntries});
  return builder.accumulate(zero(), count, kEntries, zero(), [&](Value first, Value sofar) -> Value {
    Value inputs[] = {tile::LoadOp::create(builder, line, entries, ValueRange(first), IntegerAttr()), column, count};
    auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, predicate, a, b);
    };
    auto isFound = [&](ValueRange e, Value, Value place) -> Value {
      Value isSame = compare(arith::CmpIPredicate::eq, e[0], e[1]);
      Value counts = compare(arith::CmpIPredicate::slt, place, e[2]);
      return arith::ExtUIOp::create(builder, i32, arith::AndIOp::create(builder, isSame, counts));
    };
    Value found = builder.mapPlaced(line, inputs, isFound, /*firstRow=*/{}, /*firstColumn=*/first);
    Value any = tile::ReduceOp::create(builder, i32, tile::Reduction::Any, found, tile::Dimension::Columns);
    return arith::OrIOp::create(builder, sofar, any);
  });
}

/// Stores a number of the wave's list, an entry or how many there are.
void Transposition::store(Value number, bool full, bool isCount, Value place) {
  SmallVector<Value> indices = {batch, head};
  if (!isCount)
    indices.push_back(column);
  Value view = numbersOf(isCount ? BlockListTensors::counts(ListsOf::Queries, full)
                                 : BlockListTensors::indices(ListsOf::Queries, full),
                         indices);
  tile::StoreOp::create(builder, number, view, ValueRange(place), IntegerAttr());
}

/// Appends `row` to the list that has `count` entries, if it belongs there; returns how many it has then.
Value Transposition::appendTo(bool full, Value row, Value count) {
  Value listed = isListed(row, full);
  Value holds = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, listed, zero());
  auto branch = scf::IfOp::create(builder, holds);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  store(row, full, /*isCount=*/false, count);
  builder.setInsertionPointAfter(branch);
  return add(count, listed);
}

void Transposition::writeBody() {
  std::string columns = "ceildiv(seq_kv, " + std::to_string(keys) + ")";
  auto id = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({columns, "block_heads", "block_batch"}));
  column = id.getX(), head = id.getY(), batch = id.getZ();
  Value rows = tile::DimOp::create(builder, frame.argument(BlockListTensors::indices(ListsOf::Keys, false)), 2);
  auto list = [&](bool full) {
    Value count = builder.accumulate(zero(), rows, 1, zero(),
                                     [&](Value row, Value sofar) { return appendTo(full, row, sofar); });
    store(count, full, /*isCount=*/true, column);
  };
  list(/*full=*/false);
  Value hasFull = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, frame.argument("full_blocks"), zero());
  auto branch = scf::IfOp::create(builder, hasFull);
  {
    ExpansionBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    list(/*full=*/true);
  }
  tile::ReturnOp::create(builder);
}

LogicalResult Transposition::run() {
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  createKernel();
  writeBody();
  op.erase();
  return success();
}

LogicalResult hocket::expandTransposedLists(attn::TransposedListsOp op, StringRef target) {
  return Transposition(op, target).run();
}
