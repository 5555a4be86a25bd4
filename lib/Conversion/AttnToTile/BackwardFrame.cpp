// What the kernels of a backward have in common.
#include "BackwardFrame.h"

#include "Backward.h"
#include "QuerySums.h"

using namespace mlir;
using namespace hocket;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

void BackwardFrame::addTensors(ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    bool isValue = name.ends_with("v") || name.ends_with("o");
    int64_t dim = isValue ? op.getValueHeadDim() : op.getHeadDim();
    Type view = tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, kDynamic, dim},
                                    op.getElementType());
    frame.addTensor(view, ofSequences.tensor(frame, name));
    ofSequences.requireWideStrides(frame, name, op.getElementType());
  }
}

void BackwardFrame::addParts(ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    int64_t dim = name == "dv" ? op.getValueHeadDim() : op.getHeadDim();
    Type f32 = Float32Type::get(op.getContext());
    Tensor parts = ofSequences.tensor(frame, nameOfParts(name));
    parts.sizes.back() = "kv_heads * group_parts";
    frame.addTensor(tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, kDynamic, dim}, f32), std::move(parts));
  }
  frame.require("heads % (kv_heads * group_parts) == 0 || kv_heads * group_parts % heads == 0",
                "group_parts must divide heads / kv_heads, or be a multiple of it");
}

void BackwardFrame::addLse(StringRef name) {
  Type view = tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, kDynamic},
                                  Float32Type::get(op.getContext()));
  frame.addTensor(view, ofSequences.lse(name));
}

void BackwardFrame::addRowStatistics() {
  Type view = tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, 2, kDynamic},
                                  Float32Type::get(op.getContext()));
  frame.addTensor(view, ofSequences.rowPairs(kStatistics));
  frame.setWorkspace(ofSequences.bytesOfRowPairs());
}

void BackwardFrame::addSequences(bool ofKeys) { ofSequences.addArguments(frame, ofKeys); }

void BackwardFrame::enterSequence(ExpansionBuilder &builder, Value batch) {
  if (ofSequences.hasOwnLengths())
    ofSequences.enter(builder, frame, batch);
}

Value BackwardFrame::view(ExpansionBuilder &builder, StringRef name) const {
  Value whole = frame.argument(name);
  if (!whole)
    return {};
  return SequenceViews::isOfKeys(name) ? ofSequences.ofKeys(builder, whole)
                                       : ofSequences.ofQueries(builder, whole);
}

Value BackwardFrame::lse(ExpansionBuilder &builder, StringRef name) const {
  return ofSequences.ofQueries(builder, frame.argument(name), /*along=*/2);
}

Value BackwardFrame::rowStatistics(ExpansionBuilder &builder) const {
  return ofSequences.ofQueries(builder, frame.argument(kStatistics), /*along=*/3);
}

void BackwardFrame::addRequirements() {
  frame.require("head_dim == " + Twine(op.getHeadDim()),
                "head_dim must be " + Twine(op.getHeadDim()));
  frame.require("head_dim_v == " + Twine(op.getValueHeadDim()),
                "head_dim_v must be " + Twine(op.getValueHeadDim()));
  frame.require("heads % kv_heads == 0", "heads must be a multiple of kv_heads");
  frame.require("max(seq_q, seq_kv) <= " + Twine(kMaxSequence),
                "seq_q and seq_kv may be at most " + Twine(kMaxSequence));
}

FailureOr<tile::KernelOp> hocket::buildBackward(attn::BackwardOp op, FlatSymbolRefAttr schedule,
                                                const ArchInfo &arch, BackwardShape shape) {
  if (op.getPart() == attn::BackwardPart::Delta)
    return buildBackwardRows(op, arch);
  if (op.getPart() == attn::BackwardPart::Sink)
    return buildBackwardSink(op, arch);
  if (op.getPart() == attn::BackwardPart::Captured)
    return buildCapturedGradient(op, arch);
  if (op.getPart() == attn::BackwardPart::Convert)
    return buildQueryConversion(op, arch);
  if (op.getPart() == attn::BackwardPart::Sum)
    return buildPartSums(op, arch);
  return buildBackwardLoop(op, schedule, arch, shape);
}
