// attn.combine -> tile: a kernel that folds the partial results of split KV.
#include "Combine.h"

#include "hocket/Target/Arch/ArchInfo.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hocket;

/// As the producers': heads are whole loads of 16 bytes of 16-bit elements.
static constexpr int64_t kHeadUnit = 8, kLargestHead = 256;

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

void hocket::bindTensor(tile::KernelOp kernel, unsigned index, const Tensor &tensor) {
  Builder builder(kernel.getContext());
  kernel.setArgAttr(index, "tile.bind", builder.getStringAttr(tensor.name));
  kernel.setArgAttr(index, "tile.strides", builder.getStrArrayAttr(tensor.strides));
  kernel.setArgAttr(index, "tile.sizes", builder.getStrArrayAttr(tensor.sizes));
  if (!tensor.address.empty())
    kernel.setArgAttr(index, "tile.address", builder.getStringAttr(tensor.address));
}

static ArrayAttr requirements(Builder &builder, attn::CombineOp op) {
  std::string dim = std::to_string(op.getHeadDim());
  bool isBf16 = op.getElementType().isBF16();
  SmallVector<Attribute> list = {
      builder.getStrArrayAttr({"head_dim_v == " + dim, "head_dim_v must be " + dim}),
      builder.getStrArrayAttr(
          {isBf16 ? "is_bf16" : "is_fp16",
           isBf16 ? "the kernel's output is bf16" : "the kernel's output is fp16"})};
  for (StringRef stride : {"o_stride_b", "o_stride_s", "o_stride_h"})
    list.push_back(builder.getStrArrayAttr(
        {(stride + " % 8 == 0").str(), (stride + " must be a multiple of 8 elements").str()}));
  return builder.getArrayAttr(list);
}

LogicalResult hocket::expandCombine(attn::CombineOp op, StringRef target) {
  int64_t dim = op.getHeadDim(), waves = op.getWaves();
  if (dim % kHeadUnit != 0 || dim > kLargestHead)
    return op.emitOpError() << "head_dim(" << dim << ") of '" << op.getSymName()
                            << "' is not supported, use a multiple of " << kHeadUnit << " up to "
                            << kLargestHead;
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  MLIRContext *context = op.getContext();
  constexpr int64_t dynamic = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  Type wide = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, f32);
  Type out = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, op.getElementType());
  Type rows = tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32);
  SmallVector<std::pair<Type, Tensor>> tensors = {
      {wide, partialTensor()},
      {rows, partialLseTensor()},
      {out, {"o", {"o_stride_b", "o_stride_s", "o_stride_h"}, {"batch", "seq_q", "heads"}}}};
  if (op.getLse())
    tensors.push_back({rows, {"lse", {"heads * seq_q", "seq_q"}, {"batch", "heads", "seq_q"}}});
  SmallVector<Type> types;
  for (auto &[type, tensor] : tensors)
    types.push_back(type);
  types.push_back(builder.getI32Type());
  auto kernel = tile::KernelOp::create(builder, op.getSymName(), builder.getFunctionType(types, {}),
                                       target, waves, ArrayAttr(), ArrayAttr());
  kernel->setAttr("tile.requires", requirements(builder, op));
  kernel->setAttr("tile.workspace", builder.getStringAttr(kPartialBytes));
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : types)
    body.addArgument(type, op.getLoc());
  for (auto [index, entry] : llvm::enumerate(tensors))
    bindTensor(kernel, index, entry.second);
  kernel.setArgAttr(tensors.size(), "tile.bind", builder.getStringAttr("num_splits"));

  builder.setInsertionPointToStart(&body);
  Value o = body.getArgument(2), lse = op.getLse() ? body.getArgument(3) : Value();
  int64_t waveRows = tile::CombineOp::rowsOfWave(dim);
  auto block = tile::BlockIdOp::create(builder, o, waves * waveRows, /*last_rows_first=*/false,
                                       IntegerAttr());
  Value row = tile::WaveRowOp::create(builder, block.getRow(), waveRows);
  tile::CombineOp::create(builder, body.getArgument(0), body.getArgument(1),
                          body.getArguments().back(), o, lse, block.getBatch(), block.getHead(),
                          row, waveRows);
  tile::ReturnOp::create(builder);
  op.erase();
  return success();
}
