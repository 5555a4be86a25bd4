// Arguments that a kernel uses only behind its last loop, read there.
//
// LLVM reads all of a kernel's arguments where it begins and keeps them in scalar registers, of which a loop has 102.
// What is written at the end is described by a dozen of them for each tensor. Here the arguments are read from the
// argument block again where they are first used; nothing writes to it.
#include "Lowering.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace hocket;

static constexpr unsigned kConstantMemory = 4;

/// The last op of `block` that is, or holds, a loop; null if there is none.
static Operation *lastLoop(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    bool holdsLoop = false;
    op.walk([&](LoopLikeOpInterface) { holdsLoop = true; });
    if (holdsLoop)
      return &op;
  }
  return nullptr;
}

static int64_t argumentBytes(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 8 : type.getIntOrFloatBitWidth() / 8;
}

void hocket::lowering::readArgumentsLate(LLVM::LLVMFuncOp func) {
  Block &entry = func.getBody().front();
  Operation *loop = lastLoop(entry);
  if (!loop)
    return;
  auto isLate = [&](BlockArgument argument) {
    return !argument.use_empty() && llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return loop->isBeforeInBlock(entry.findAncestorOpInBlock(*user));
    });
  };
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfter(loop);
  Location loc = func.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(func.getContext(), kConstantMemory);
  Value block;
  int64_t offset = 0;
  for (BlockArgument argument : entry.getArguments()) {
    Type type = argument.getType();
    offset = llvm::alignTo(offset, argumentBytes(type));
    int64_t here = offset;
    offset += argumentBytes(type);
    if (!isLate(argument))
      continue;
    if (!block)
      block = LLVM::CallIntrinsicOp::create(
                  builder, loc, pointer,
                  builder.getStringAttr("llvm.amdgcn.kernarg.segment.ptr"), ValueRange())
                  .getResult(0);
    Value address = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), block,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(here)});
    argument.replaceAllUsesWith(LLVM::LoadOp::create(
        builder, loc, type, address, argumentBytes(type), /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariant=*/true));
  }
}
