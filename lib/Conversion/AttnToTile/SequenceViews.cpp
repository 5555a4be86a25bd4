// Where the rows of a workgroup's sequence lie.
#include "SequenceViews.h"

using namespace mlir;
using namespace hocket;

Tensor SequenceViews::tensor(const KernelFrame &frame, StringRef name) const {
  bool ofKeys = isOfKeys(name), isPacked = ofKeys ? packedKeys : packedQueries;
  Tensor tensor{name, {}, {"batch"}};
  for (StringRef dimension : {"b", "s", "h"})
    tensor.strides.push_back(
        StringAttr::get(frame.context(), name + "_stride_" + dimension).getValue());
  if (isPacked)
    tensor.strides.front() = "0";
  if (ofKeys)
    tensor.sizes.append({isPacked ? "total_kv" : "seq_kv", "kv_heads"});
  else
    tensor.sizes.append({isPacked ? "total_q" : "seq_q", "heads"});
  return tensor;
}

Tensor SequenceViews::lse(StringRef name) const {
  if (packedQueries)
    return {name, {"0", "total_q"}, {"batch", "heads", "total_q"}};
  return {name, {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}};
}

Tensor SequenceViews::rowPairs(StringRef name) const {
  if (packedQueries)
    return {name, {"0", "2 * total_q", "total_q"}, {"batch", "heads", "total_q"}, "workspace"};
  return {name,
          {"heads * 2 * seq_q", "2 * seq_q", "seq_q"},
          {"batch", "heads", "seq_q"},
          "workspace"};
}

StringRef SequenceViews::bytesOfRowPairs() const {
  return packedQueries ? "8 * heads * total_q" : "8 * batch * heads * seq_q";
}

void SequenceViews::addArguments(KernelFrame &frame, bool ofKeys) const {
  Type i32 = IntegerType::get(frame.context(), 32);
  Type list = tile::ViewType::get(frame.context(), {ShapedType::kDynamic}, i32);
  for (auto [isThere, name, size] : {std::tuple(packedQueries, "cu_seqlens_q", "batch + 1"),
                                     std::tuple(packedKeys, "cu_seqlens_k", "batch + 1"),
                                     std::tuple(queryLengths, "seqused_q", "batch"),
                                     std::tuple(keyLengths, "seqused_k", "batch")})
    if (isThere)
      frame.addTensor(list, {name, {}, {size}});
  if (packedQueries)
    frame.addScalar(i32, "seq_q");
  if (packedKeys && ofKeys)
    frame.addScalar(i32, "seq_kv");
  if (appendedKeys && !packedQueries)
    frame.addScalar(i32, "new_rows");
}

void SequenceViews::requireWideStrides(KernelFrame &frame, StringRef name, Type element) const {
  frame.requireWideStrides(name, element, /*hasBatch=*/!(isOfKeys(name) ? packedKeys : packedQueries));
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
    Value end = load(starts, next);
    // Of two minima in a row LLVM 22 makes one vector instruction, whose result descriptors cannot have.
    if (most && lengths) {
      end = arith::MinSIOp::create(builder, end, arith::AddIOp::create(builder, rows.first, most));
      most = Value();
    }
    rows.size = arith::SubIOp::create(builder, end, rows.first);
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

/// How many were appended to the sequence; null: none. Where queries are packed, one for each of them.
Value SequenceViews::newKeys(const KernelFrame &frame) const {
  return appendedKeys && packedQueries ? queries.size : frame.argument("new_rows");
}

void SequenceViews::enter(ExpansionBuilder &builder, const KernelFrame &frame, Value batch) {
  queries = read(builder, frame.argument("cu_seqlens_q"), frame.argument("seqused_q"), batch,
                 rowCount(frame), Value());
  if (Value skipped = frame.argument("min_seqlen_q")) {
    Value isLonger = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, queries.size, skipped);
    queries.size = arith::SelectOp::create(builder, isLonger, queries.size, builder.constant(int64_t(0)));
  }
  keys = read(builder, frame.argument("cu_seqlens_k"), frame.argument("seqused_k"), batch, Value(),
              newKeys(frame));
}
