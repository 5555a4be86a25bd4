// The frame of a kernel.
#include "KernelFrame.h"

#include "IR/ElementTypes.h"

using namespace mlir;
using namespace hocket;

void KernelFrame::require(const Twine &condition, const Twine &message) {
  std::string texts[] = {condition.str(), message.str()};
  requirements.push_back(builder.getStrArrayAttr({texts[0], texts[1]}));
}

Type KernelFrame::typeOf(StringRef name) const {
  for (const auto &[type, tensor] : tensors)
    if (tensor.name == name)
      return type;
  for (const auto &[type, binding] : scalars)
    if (binding == name)
      return type;
  return {};
}

void KernelFrame::requireWideStrides(StringRef tensor, Type element, bool hasBatch) {
  constexpr int64_t loadBytes = 16;
  const int64_t elements = loadBytes / bytesOf(element);
  for (StringRef dimension : {"b", "s", "h"}) {
    if (dimension == "b" && !hasBatch)
      continue;
    std::string stride = (tensor + "_stride_" + dimension).str();
    require(stride + " % " + Twine(elements) + " == 0", stride + " must be a multiple of " + Twine(elements) + " elements");
  }
}

void KernelFrame::bind(tile::KernelOp kernel, unsigned index, const Tensor &tensor) {
  kernel.setArgAttr(index, "tile.bind", builder.getStringAttr(tensor.name));
  kernel.setArgAttr(index, "tile.strides", builder.getStrArrayAttr(tensor.strides));
  kernel.setArgAttr(index, "tile.sizes", builder.getStrArrayAttr(tensor.sizes));
  if (!tensor.address.empty())
    kernel.setArgAttr(index, "tile.address", builder.getStringAttr(tensor.address));
}

tile::KernelOp KernelFrame::create(ImplicitLocOpBuilder &at, StringRef name, StringRef target,
                                   int64_t waves) {
  SmallVector<Type> types;
  for (const auto &[type, tensor] : tensors)
    types.push_back(type);
  for (const auto &[type, binding] : scalars)
    types.push_back(type);
  auto kernel = tile::KernelOp::create(at, name, builder.getFunctionType(types, {}), target, waves,
                                       ArrayAttr(), ArrayAttr());
  kernel->setAttr("tile.requires", builder.getArrayAttr(requirements));
  if (!workspace.empty())
    kernel->setAttr("tile.workspace", builder.getStringAttr(workspace));
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : types)
    body.addArgument(type, at.getLoc());
  for (auto [index, entry] : llvm::enumerate(tensors)) {
    bind(kernel, index, entry.second);
    arguments[entry.second.name] = body.getArgument(index);
  }
  for (auto [index, entry] : llvm::enumerate(scalars)) {
    unsigned number = tensors.size() + index;
    kernel.setArgAttr(number, "tile.bind", builder.getStringAttr(entry.second));
    arguments[entry.second] = body.getArgument(number);
  }
  at.setInsertionPointToStart(&body);
  return kernel;
}
