// attn.combine -> tile: a kernel that folds the partial results of split KV.
#include "Combine.h"

#include "Forward.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hocket;

Tensor hocket::partialTensor() {
  return {"partial",
          {"heads * seq_q * head_dim_v", "head_dim_v", "seq_q * head_dim_v"},
          {"batch * num_splits", "seq_q", "heads"},
          "workspace"};
}

Tensor hocket::partialLseTensor() {
  return {"partial_lse",
          {"heads * seq_q", "seq_q"},
          {"batch * num_splits", "heads", "seq_q"},
          "workspace + 4 * batch * num_splits * heads * seq_q * head_dim_v"};
}

Tensor hocket::outputTensor() {
  return {"o", {"o_stride_b", "o_stride_s", "o_stride_h"}, {"batch", "seq_q", "heads"}};
}

Tensor hocket::lseTensor() {
  return {"lse", {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}};
}

static KernelFrame frameOf(attn::CombineOp op) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = op.getContext();
  int64_t dim = op.getHeadDim();
  Type f32 = Float32Type::get(context);
  Type wide = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, f32);
  Type out = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, op.getElementType());
  Type rows = tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32);
  KernelFrame frame(context);
  frame.addTensor(wide, partialTensor());
  frame.addTensor(rows, partialLseTensor());
  frame.addTensor(out, outputTensor());
  if (op.getLse())
    frame.addTensor(rows, lseTensor());
  frame.addScalar(IntegerType::get(context, 32), "num_splits");
  bool isBf16 = op.getElementType().isBF16();
  frame.require("head_dim_v == " + Twine(dim), "head_dim_v must be " + Twine(dim));
  frame.require(isBf16 ? "is_bf16" : "is_fp16",
                isBf16 ? "the kernel's output is bf16" : "the kernel's output is fp16");
  frame.requireWideStrides("o");
  frame.setWorkspace(kPartialBytes);
  return frame;
}

LogicalResult hocket::expandCombine(attn::CombineOp op, StringRef target) {
  int64_t dim = op.getHeadDim(), waves = op.getWaves();
  if (dim % kHeadUnit != 0 || dim > kMaxHead)
    return op.emitOpError() << "head_dim(" << dim << ") of '" << op.getSymName()
                            << "' is not supported, use a multiple of " << kHeadUnit << " up to "
                            << kMaxHead;
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  KernelFrame frame = frameOf(op);
  frame.create(builder, op.getSymName(), target, waves);
  Value o = frame.argument("o");
  int64_t waveRows = tile::CombineOp::rowsOfWave(dim);
  auto block = tile::BlockIdOp::create(builder, o, waves * waveRows, /*last_rows_first=*/false,
                                       IntegerAttr());
  Value row = tile::WaveRowOp::create(builder, block.getRow(), waveRows);
  tile::CombineOp::create(builder, frame.argument("partial"), frame.argument("partial_lse"),
                          frame.argument("num_splits"), o, frame.argument("lse"), block.getBatch(),
                          block.getHead(), row, waveRows);
  tile::ReturnOp::create(builder);
  op.erase();
  return success();
}
