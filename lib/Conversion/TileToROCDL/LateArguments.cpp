// Arguments that a kernel uses only behind its last loop, read there.
//
// LLVM reads all of a kernel's arguments where it begins and keeps them in scalar registers, of which a loop has 102.
// What is written at the end is described by a dozen of them for each tensor. Here the arguments are read from the
// argument block again where they are first used; nothing writes to it. And, on demand, what a loop around others uses
// beside those, at any depth: it is read in each of its turns. Or all that such a loop and those in it use.
#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kWordBytes = 4;
/// Lanes of a wave.
static constexpr int64_t kArgumentLanes = kWaveLanes;

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

/// `loop` and those in it that have others in them: what is used in such a loop alone need not stay in registers within
/// the inner one.
static SmallVector<scf::ForOp> loopsAround(Operation *loop) {
  SmallVector<scf::ForOp> around;
  loop->walk([&](scf::ForOp each) {
    bool holdsLoop = false;
    each.getBody()->walk([&](LoopLikeOpInterface) { holdsLoop = true; });
    if (holdsLoop || each == loop)
      around.push_back(each);
  });
  return around;
}

static int64_t argumentBytes(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 8 : type.getIntOrFloatBitWidth() / 8;
}

namespace {
/// Reads arguments from the argument block again.
class ArgumentReader {
public:
  explicit ArgumentReader(LLVM::LLVMFuncOp func) : func(func), builder(func.getContext()) {}

  /// All that `isWanted`, at `builder`'s place, for all its users; `isOpaque`: LLVM may not take that out of a loop.
  /// Returns what is read.
  SmallVector<Value> read(function_ref<bool(BlockArgument)> isWanted, bool isOpaque) {
    return read(isWanted, isOpaque, [](Operation *) { return true; });
  }
  /// For those of its users that `isUser`.
  SmallVector<Value> read(function_ref<bool(BlockArgument)> isWanted, bool isOpaque,
                          function_ref<bool(Operation *)> isUser);
  /// All that has such users, for them.
  SmallVector<Value> readFor(function_ref<bool(Operation *)> isUser) {
    return read([&](BlockArgument argument) { return llvm::any_of(argument.getUsers(), isUser); }, /*isOpaque=*/true,
                isUser);
  }

  LLVM::LLVMFuncOp func;
  OpBuilder builder;
  Value ofLanes; ///< words of the argument block, each in its lane: read from there

private:
  Value readLanes(Type type, int64_t offset);
};
} // namespace

/// The address of the argument block.
static Value argumentBlock(Emitter &emit) {
  Type pointer = LLVM::LLVMPointerType::get(emit.getContext(), kConstant);
  StringAttr name = emit.getStringAttr("llvm.amdgcn.kernarg.segment.ptr");
  return LLVM::CallIntrinsicOp::create(emit, pointer, name, ValueRange()).getResult(0);
}

/// An argument of `type` at `offset` bytes, from the lanes that have its words.
Value ArgumentReader::readLanes(Type type, int64_t offset) {
  Emitter emit(func.getLoc(), builder);
  auto word = [&](int64_t number) -> Value {
    return ROCDL::ReadlaneOp::create(emit, emit.getI32Type(), ofLanes, emit.i32(offset / kWordBytes + number));
  };
  if (argumentBytes(type) == kWordBytes)
    return LLVM::BitcastOp::create(emit, type, word(0));
  Value whole = emit.joinWords(word(0), word(1));
  return isa<LLVM::LLVMPointerType>(type) ? LLVM::IntToPtrOp::create(emit, type, whole).getResult()
                                          : LLVM::BitcastOp::create(emit, type, whole).getResult();
}

SmallVector<Value> ArgumentReader::read(function_ref<bool(BlockArgument)> isWanted, bool isOpaque,
                                        function_ref<bool(Operation *)> isUser) {
  Value block;
  SmallVector<Value> loads;
  int64_t offset = 0;
  for (BlockArgument argument : func.getBody().front().getArguments()) {
    Type type = argument.getType();
    offset = llvm::alignTo(offset, argumentBytes(type));
    int64_t here = offset;
    offset += argumentBytes(type);
    if (!isWanted(argument))
      continue;
    if (ofLanes) {
      loads.push_back(readLanes(type, here));
      argument.replaceUsesWithIf(loads.back(), [&](OpOperand &use) { return isUser(use.getOwner()); });
      continue;
    }
    if (!block) {
      Emitter emit(func.getLoc(), builder);
      block = isOpaque ? emit.hidden(argumentBlock(emit), "s") : argumentBlock(emit);
    }
    Value address = LLVM::GEPOp::create(builder, func.getLoc(), block.getType(), builder.getI8Type(), block,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(here)});
    loads.push_back(LLVM::LoadOp::create(builder, func.getLoc(), type, address, argumentBytes(type),
                                         /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true));
    argument.replaceUsesWithIf(loads.back(), [&](OpOperand &use) { return isUser(use.getOwner()); });
  }
  return loads;
}

void hocket::lowering::readArgumentsLate(LLVM::LLVMFuncOp func, TurnArguments inTurns) {
  Block &entry = func.getBody().front();
  Operation *loop = lastLoop(entry);
  if (!loop)
    return;
  ArgumentReader reader(func);
  reader.builder.setInsertionPointAfter(loop);
  reader.read(
      [&](BlockArgument argument) {
        return !argument.use_empty() && llvm::all_of(argument.getUsers(), [&](Operation *user) {
          return loop->isBeforeInBlock(entry.findAncestorOpInBlock(*user));
        });
      },
      /*isOpaque=*/false);
  if (inTurns == TurnArguments::None)
    return;
  for (scf::ForOp turns : loopsAround(loop)) { // inner ones first
    auto isAloneInTurn = [&](BlockArgument argument) {
      return !argument.use_empty() && llvm::all_of(argument.getUsers(), [&](Operation *user) {
        return user->getParentOfType<LoopLikeOpInterface>().getOperation() == turns;
      });
    };
    reader.builder.setInsertionPointToStart(turns.getBody());
    if (inTurns == TurnArguments::All)
      reader.readFor([&](Operation *user) { return turns->isProperAncestor(user); });
    else
      reader.read(isAloneInTurn, /*isOpaque=*/true);
  }
}

/// The argument block, a word in each lane; null if it has more. At the entry of the kernel.
static Value argumentsOfLanes(LLVM::LLVMFuncOp func, Value lane) {
  int64_t bytes = 0;
  for (Type type : func.getArgumentTypes())
    bytes = llvm::alignTo(bytes, argumentBytes(type)) + argumentBytes(type);
  if (bytes > kArgumentLanes * kWordBytes)
    return Value();
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfterValue(lane);
  Emitter emit(func.getLoc(), builder);
  Value word = arith::MinUIOp::create(emit, lane, emit.i32(llvm::divideCeil(bytes, kWordBytes) - 1));
  Value address = emit.offset(argumentBlock(emit), emit.mul(word, emit.i32(kWordBytes)));
  return LLVM::LoadOp::create(emit, emit.getI32Type(), address, kWordBytes, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

void hocket::lowering::readArgumentsInTurns(LLVM::LLVMFuncOp func, scf::ForOp loop, Value lane) {
  Block &body = *loop.getBody(), &entry = func.getBody().front();
  ArgumentReader reader(func);
  if (Value words = lane ? argumentsOfLanes(func, lane) : Value()) {
    // Arrived in front of the loop: LLVM would else wait for all loads in each turn.
    words = Emitter(func.getLoc(), OpBuilder(loop)).hidden(words, "v");
    reader.ofLanes = Emitter(func.getLoc(), OpBuilder::atBlockBegin(&body)).hidden(words, "v");
  }
  auto isInTurn = [&](Operation *user) { return loop->isProperAncestor(user); };
  if (Operation *inner = lastLoop(body)) {
    reader.builder.setInsertionPointAfter(inner);
    auto isBehind = [&](Operation *user) { return inner->isBeforeInBlock(body.findAncestorOpInBlock(*user)); };
    reader.read(
        [&](BlockArgument argument) {
          auto users = llvm::make_filter_range(argument.getUsers(), isInTurn);
          return !users.empty() && llvm::all_of(users, isBehind);
        },
        /*isOpaque=*/true, isInTurn);
  }
  if (reader.ofLanes)
    reader.builder.setInsertionPointAfterValue(reader.ofLanes);
  else
    reader.builder.setInsertionPointToStart(&body);
  SmallVector<Value> loads = reader.readFor(isInTurn);
  if (!reader.ofLanes) {
    Emitter emit(func.getLoc(), reader.builder);
    loadAtOnce(emit, loads);
  }
  reader.ofLanes = Value();
  reader.builder.setInsertionPointAfter(loop);
  reader.readFor([&](Operation *user) { return loop->isBeforeInBlock(entry.findAncestorOpInBlock(*user)); });
}

void hocket::lowering::readArgumentsIn(LLVM::LLVMFuncOp func, scf::IfOp inside) {
  ArgumentReader reader(func);
  reader.builder.setInsertionPointToStart(inside.thenBlock());
  reader.readFor([&](Operation *user) { return inside->isProperAncestor(user); });
}
