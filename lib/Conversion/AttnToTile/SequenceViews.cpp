// Where the rows of a workgroup's sequence lie.
#include "SequenceViews.h"

using namespace mlir;
using namespace hocket;

Tensor SequenceViews::tensor(StringRef name) const {
  if (name == "q" || name == "o") {
    bool isQ = name == "q";
    StringRef batch = isQ ? "q_stride_b" : "o_stride_b", row = isQ ? "q_stride_s" : "o_stride_s",
              head = isQ ? "q_stride_h" : "o_stride_h";
    if (packedQueries)
      return {name, {"0", row, head}, {"batch", "total_q", "heads"}};
    return {name, {batch, row, head}, {"batch", "seq_q", "heads"}};
  }
  if (pages())
    return PagedKeys::tensor(name);
  bool isK = name == "k";
  StringRef batch = isK ? "k_stride_b" : "v_stride_b", row = isK ? "k_stride_s" : "v_stride_s",
            head = isK ? "k_stride_h" : "v_stride_h";
  if (packedKeys)
    return {name, {"0", row, head}, {"batch", "total_kv", "kv_heads"}};
  return {name, {batch, row, head}, {"batch", "seq_kv", "kv_heads"}};
}

Tensor SequenceViews::lse() const {
  if (packedQueries)
    return {"lse", {"0", "total_q"}, {"batch", "heads", "total_q"}};
  return {"lse", {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}};
}

void SequenceViews::addArguments(KernelFrame &frame) const {
  Type i32 = IntegerType::get(frame.context(), 32);
  Type list = tile::ViewType::get(frame.context(), {ShapedType::kDynamic}, i32);
  for (auto [isThere, name, size] : {std::tuple(packedQueries, "cu_seqlens_q", "batch + 1"),
                                     std::tuple(packedKeys, "cu_seqlens_k", "batch + 1"),
                                     std::tuple(queryLengths, "seqused_q", "batch"),
                                     std::tuple(keyLengths, "seqused_k", "batch")})
    if (isThere)
      frame.addTensor(list, {name, {}, {size}});
  paged.addArguments(frame);
  if (packedQueries)
    frame.addScalar(i32, "seq_q");
  if (appendedKeys)
    frame.addScalar(i32, "new_rows");
}

void SequenceViews::requireWideStrides(KernelFrame &frame) const {
  for (StringRef tensor : {"q", "k", "v", "o"}) {
    bool isPacked = tensor == "q" || tensor == "o" ? packedQueries : packedKeys;
    frame.requireWideStrides(tensor, /*hasBatch=*/!isPacked);
  }
}

Value SequenceViews::Rows::of(ExpansionBuilder &builder, Value view,
                              std::optional<int64_t> along) const {
  if (!size)
    return view;
  return tile::SliceRowsOp::create(builder, view.getType(), view, first, size,
                                   along ? builder.getI64IntegerAttr(*along) : IntegerAttr());
}

/// `most` rows at most (null: any number), and none before row 0: whatever the lists say, nothing outside of
/// the tensors is accessed, and nothing written that another workgroup writes for the same sequence.
SequenceViews::Rows SequenceViews::read(ExpansionBuilder &builder, Value starts, Value lengths,
                                        Value batch, Value most, Value more) {
  if (!starts && !lengths)
    return {};
  auto load = [&](Value list, Value index) -> Value {
    return tile::LoadOp::create(builder, builder.getI32Type(), list, ValueRange(index),
                                IntegerAttr());
  };
  Rows rows{builder.constant(int64_t(0)), {}};
  if (starts) {
    Value zero = builder.constant(int64_t(0));
    rows.first = arith::MaxSIOp::create(builder, load(starts, batch), zero);
    Value next = arith::AddIOp::create(builder, batch, builder.constant(int64_t(1)));
    rows.size = arith::SubIOp::create(builder, load(starts, next), rows.first);
  }
  if (lengths) {
    Value used = load(lengths, batch);
    if (more)
      used = arith::AddIOp::create(builder, used, more);
    rows.size = rows.size ? Value(arith::MinSIOp::create(builder, rows.size, used)) : used;
  }
  if (most)
    rows.size = arith::MinSIOp::create(builder, rows.size, most);
  return rows;
}

void SequenceViews::enter(ExpansionBuilder &builder, const KernelFrame &frame, Value batch) {
  queries = read(builder, frame.argument("cu_seqlens_q"), frame.argument("seqused_q"), batch,
                 rowCount(frame), Value());
  keys = read(builder, frame.argument("cu_seqlens_k"), frame.argument("seqused_k"), batch, Value(),
              frame.argument("new_rows"));
  if (pages())
    paged.enter(builder, frame, batch, keys.size);
}
