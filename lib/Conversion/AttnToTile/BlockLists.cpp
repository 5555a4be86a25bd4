// Block lists.
#include "BlockLists.h"

using namespace mlir;
using namespace hocket;

void BlockListTensors::addArguments(KernelFrame &frame, StringRef batch, StringRef heads) const {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = frame.context();
  Type i32 = IntegerType::get(context, 32);
  std::string rows = "ceildiv(seq_q, " + std::to_string(queries) + ")";
  std::string columns = "ceildiv(seq_kv, " + std::to_string(keys) + ")";
  auto text = [&](const Twine &twine) { return StringAttr::get(context, twine).getValue(); };
  for (StringRef prefix : {"", "full_"}) {
    // Without full blocks these lists have no extent, and what is read of them is 0.
    StringRef batches = prefix.empty() ? batch : text(batch + " * full_blocks");
    StringRef counts = text(prefix + "kv_num_blocks"), indices = text(prefix + "kv_indices");
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

void BlockLists::addArguments(KernelFrame &frame) const {
  BlockListTensors(queries, keys).addArguments(frame, "batch", "heads");
}

void BlockLists::bindArguments(const KernelFrame &frame) {
  partial = {frame.argument("kv_num_blocks"), frame.argument("kv_indices"), Value()};
  full = {frame.argument("full_kv_num_blocks"), frame.argument("full_kv_indices"), Value()};
}

Value BlockLists::prepare(ExpansionBuilder &builder, Value ofBatch, Value ofHead, Value row) {
  batch = ofBatch, head = ofHead;
  block = arith::DivUIOp::create(builder, row, builder.constant(queries));
  Value most = tile::DimOp::create(builder, partial.indices, 3);
  for (List *list : {&partial, &full}) {
    Value indices[] = {batch, head, block};
    Value count =
        tile::LoadOp::create(builder, builder.getI32Type(), list->counts, indices, IntegerAttr());
    // Whatever is in memory: no more than there is room for, and as unsigned not less than none.
    list->count = arith::MinUIOp::create(builder, count, most);
  }
  Value blocks = arith::AddIOp::create(builder, partial.count, full.count);
  return arith::MulIOp::create(builder, blocks, builder.constant(tilesOfBlock));
}

Value BlockLists::blockOf(ExpansionBuilder &builder, Value t) const {
  return arith::DivUIOp::create(builder, t, builder.constant(tilesOfBlock));
}

Value BlockLists::isPartial(ExpansionBuilder &builder, Value t) const {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, blockOf(builder, t), partial.count);
}

Value BlockLists::number(ExpansionBuilder &builder, Value t) const {
  Value entry = blockOf(builder, t), nowhere = builder.constant(int64_t(-1));
  // Of a list that does not have the entry, 0: an index of -1 reads nothing.
  auto load = [&](const List &list, Value index) -> Value {
    Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, index, list.count);
    Value place = arith::SelectOp::create(builder, exists, index, nowhere);
    Value indices[] = {batch, head, block, place};
    return tile::LoadOp::create(builder, builder.getI32Type(), list.indices, indices, IntegerAttr());
  };
  Value ofPartial = load(partial, entry);
  Value ofFull = load(full, arith::SubIOp::create(builder, entry, partial.count));
  Value index = arith::OrIOp::create(builder, ofPartial, ofFull);
  Value first = arith::MulIOp::create(builder, index, builder.constant(tilesOfBlock));
  Value within = arith::RemUIOp::create(builder, t, builder.constant(tilesOfBlock));
  return arith::AddIOp::create(builder, first, within);
}
