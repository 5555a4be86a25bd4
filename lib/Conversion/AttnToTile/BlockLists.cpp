// Block lists.
#include "BlockLists.h"

using namespace mlir;
using namespace hocket;

std::string BlockListTensors::counts(ListsOf of, bool full) {
  return std::string(full ? "full_" : "") + (of == ListsOf::Keys ? "kv" : "q") + "_num_blocks";
}

std::string BlockListTensors::indices(ListsOf of, bool full) {
  return std::string(full ? "full_" : "") + (of == ListsOf::Keys ? "kv" : "q") + "_indices";
}

void BlockListTensors::addArguments(KernelFrame &frame, StringRef batch, StringRef heads) const {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  Type i32 = IntegerType::get(context, 32);
  std::string rows = "ceildiv(seq_q, " + std::to_string(queries) + ")";
  std::string columns = "ceildiv(seq_kv, " + std::to_string(keys) + ")";
  auto text = [&](const Twine &twine) { return StringAttr::get(context, twine).getValue(); };
  if (of == ListsOf::Queries)
    std::swap(rows, columns);
  for (bool isFull : {false, true}) {
    // Without full blocks these lists have no extent, and what is read of them is 0.
    StringRef batches = isFull ? text(batch + " * full_blocks") : batch;
    StringRef counts = text(BlockListTensors::counts(of, isFull));
    StringRef indices = text(BlockListTensors::indices(of, isFull));
    frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic}, i32),
                    {counts,
                     {text(counts + "_stride_0"), text(counts + "_stride_1")},
                     {batches, heads, text(rows)}});
    frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic, dynamic}, i32),
                    {indices,
                     {text(indices + "_stride_0"), text(indices + "_stride_1"), text(indices + "_stride_2")},
                     {batches, heads, text(rows), text(columns)}});
  }
}

void BlockLists::addArguments(KernelFrame &frame) const { tensors.addArguments(frame, "batch", "heads"); }

void BlockLists::bindArguments(const KernelFrame &frame) {
  auto list = [&](bool isFull) -> List {
    return {frame.argument(BlockListTensors::counts(of, isFull)), frame.argument(BlockListTensors::indices(of, isFull)),
            Value(), Value()};
  };
  partial = list(false), full = list(true);
}

BlockCounts BlockLists::blockCounts(ExpansionBuilder &builder) const {
  return {partial.counts, full.counts, tile::DimOp::create(builder, partial.indices, 3)};
}

Value BlockLists::prepare(ExpansionBuilder &builder, Value batch, Value head, Value row, Value keyCount) {
  wholeBlocks = arith::DivUIOp::create(builder, keyCount, builder.constant(keys));
  Value block = arith::DivUIOp::create(builder, row, builder.constant(queries));
  Value most = tile::DimOp::create(builder, partial.indices, 3);
  Type entries = tile::ViewType::get(builder.getContext(), {ShapedType::kDynamic}, builder.getI32Type());
  Value indices[] = {batch, head, block};
  for (List *list : {&partial, &full}) {
    Value count =
        tile::LoadOp::create(builder, builder.getI32Type(), list->counts, indices, IntegerAttr());
    // Whatever is in memory: no more than there is room for, and as unsigned not less than none.
    list->count = arith::MinUIOp::create(builder, count, most);
    Value row = tile::SelectOp::create(builder, entries, list->indices, indices);
    list->entries = tile::SliceRowsOp::create(builder, entries, row, builder.constant(int64_t(0)), list->count,
                                              builder.getI64IntegerAttr(0));
  }
  Value blocks = arith::AddIOp::create(builder, partial.count, full.count);
  return arith::MulIOp::create(builder, blocks, builder.constant(tilesOfBlock));
}

Value BlockLists::inLists(ExpansionBuilder &builder, Value t) const {
  return skipped ? arith::AddIOp::create(builder, skipped, t).getResult() : t;
}

Value BlockLists::placeOf(ExpansionBuilder &builder, Value t) const {
  return arith::DivUIOp::create(builder, inLists(builder, t), builder.constant(tilesOfBlock));
}

Value BlockLists::isPartial(ExpansionBuilder &builder, Value t) const {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, placeOf(builder, t), partial.count);
}

Value BlockLists::isBehindWhole(ExpansionBuilder &builder, Value block) const {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::uge, block, wholeBlocks);
}

Value BlockLists::lookUp(ExpansionBuilder &builder, Value t) const {
  return tile::EntryOp::create(builder, builder.getI32Type(), placeOf(builder, t),
                               ValueRange{partial.entries, full.entries});
}

Value BlockLists::number(ExpansionBuilder &builder, Value block, Value t) const {
  Value first = arith::MulIOp::create(builder, block, builder.constant(tilesOfBlock));
  Value within = arith::RemUIOp::create(builder, inLists(builder, t), builder.constant(tilesOfBlock));
  return arith::AddIOp::create(builder, first, within);
}
