// Registration and verifiers of the attn dialect.
#include "Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::attn;

#include "Attn/IR/AttnDialect.cpp.inc"
#include "Attn/IR/AttnEnums.cpp.inc"

#define GET_OP_CLASSES
#include "Attn/IR/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Attn/IR/AttnOps.cpp.inc"
      >();
}

/// A modification takes its leading types, then batch, head, query and key, and yields `result`.
static LogicalResult verifyModification(ForwardOp op, Region &region, StringRef name,
                                        ArrayRef<Type> leading, Type result) {
  if (region.empty())
    return success();
  SmallVector<Type> wanted(leading);
  wanted.append(4, IntegerType::get(op.getContext(), 32));
  if (!region.hasOneBlock() || region.getArgumentTypes() != TypeRange(wanted))
    return op.emitOpError() << "'" << name << "' takes (" << wanted
                            << "): " << (leading.empty() ? "" : "the score, ")
                            << "the batch, the head, the query and the key";
  auto yield = dyn_cast_or_null<YieldOp>(region.front().empty() ? nullptr : &region.front().back());
  if (!yield || yield.getValue().getType() != result)
    return op.emitOpError() << "'" << name << "' must end in 'attn.yield' of " << result;
  return success();
}

static LogicalResult verifyElement(Operation *op, Type element) {
  if (element.isBF16() || element.isF16())
    return success();
  return op->emitOpError() << "element type " << element << " is not supported, use bf16 or f16";
}

LogicalResult CombineOp::verify() {
  if (failed(verifyElement(*this, getElementType())))
    return failure();
  if (static_cast<int64_t>(getHeadDim()) < 1)
    return emitOpError() << "head_dim(" << static_cast<int64_t>(getHeadDim())
                         << "), a positive number is needed";
  return success();
}

LogicalResult ForwardOp::verifyRegions() {
  if (failed(verifyElement(*this, getElementType())))
    return failure();
  for (auto [name, dim] : getHeadDims())
    if (dim < 1)
      return emitOpError() << name << "(" << dim << "), a positive number is needed";
  Builder builder(getContext());
  if (failed(verifyModification(*this, getScoreMod(), "score_mod", builder.getF32Type(),
                                builder.getF32Type())))
    return failure();
  return verifyModification(*this, getMaskMod(), "mask_mod", {}, builder.getI1Type());
}
