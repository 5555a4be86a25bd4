// What the kernels of a backward have in common.
#include "BackwardFrame.h"

using namespace mlir;
using namespace hocket;

/// Row numbers and their sums stay within 32 bits.
static constexpr int64_t kMaxSequence = int64_t(1) << 30;
static constexpr int64_t kDynamic = ShapedType::kDynamic;
static constexpr llvm::StringLiteral kBytes = "8 * batch * heads * seq_q";

/// The name of `tensor`'s stride along a dimension, "dk_stride_s", which lives as long as the context.
static StringRef strideName(MLIRContext *context, StringRef tensor, StringRef dimension) {
  return StringAttr::get(context, tensor + "_stride_" + dimension).getValue();
}

void BackwardFrame::addTensors(ArrayRef<StringRef> names) {
  MLIRContext *context = op.getContext();
  for (StringRef name : names) {
    bool ofKeys = name.ends_with("k") || name.ends_with("v");
    bool isValue = name.ends_with("v") || name.ends_with("o");
    int64_t dim = isValue ? op.getValueHeadDim() : op.getHeadDim();
    Type view = tile::ViewType::get(context, {kDynamic, kDynamic, kDynamic, dim},
                                    op.getElementType());
    Tensor tensor{name, {}, {"batch", ofKeys ? "seq_kv" : "seq_q", ofKeys ? "kv_heads" : "heads"}};
    for (StringRef dimension : {"b", "s", "h"})
      tensor.strides.push_back(strideName(context, name, dimension));
    frame.addTensor(view, tensor);
    frame.requireWideStrides(name);
  }
}

void BackwardFrame::addLse() {
  Type view = tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, kDynamic},
                                  Float32Type::get(op.getContext()));
  frame.addTensor(view, {"lse", {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}});
}

void BackwardFrame::addRowStatistics() {
  Type view = tile::ViewType::get(op.getContext(), {kDynamic, kDynamic, 2, kDynamic},
                                  Float32Type::get(op.getContext()));
  frame.addTensor(view, {kStatistics,
                         {"heads * 2 * seq_q", "2 * seq_q", "seq_q"},
                         {"batch", "heads", "seq_q"},
                         "workspace"});
  frame.setWorkspace(kBytes);
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
