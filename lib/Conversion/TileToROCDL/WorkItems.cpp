// Persistent kernels: which items a workgroup computes, in which of its turns.
//
// Items are the workgroups that the plain kernel would have, in its order. Of n workgroups, which all run at the same
// time, workgroup w takes item w, then one of the next n, and so on, every second time from the other end, but on the
// same XCD. So where the heaviest come first, who had the heaviest of one turn has the lightest of the next.
//
// What follows from arguments or from the lane is computed in each turn: LLVM would else keep it in registers through
// the loop over tiles. Not what follows from the lane where pipelines join: it would be needed everywhere.
#include "Lowering.h"

#include "Tile/IR/WorkItems.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

namespace {
/// Which items a workgroup takes.
struct ItemOrder {
  ItemOrder(Emitter &emit, const KernelValues &kernel)
      : emit(emit), workgroup(ROCDL::BlockIdXOp::create(emit, emit.getI32Type(), LLVM::ConstantRangeAttr())) {
    int64_t xcds = kernel.arch->chip.xcds, workgroups = kernel.persistent * kernel.arch->chip.computeUnits;
    count = emit.i32(workgroups);
    Value onXcd = arith::RemUIOp::create(emit, workgroup, emit.i32(xcds));
    Value round = arith::SubIOp::create(emit, workgroup, onXcd);
    opposite = emit.add(arith::SubIOp::create(emit, emit.i32(workgroups - xcds), round), onXcd);
  }

  /// Its place among the items of a turn.
  Value placeIn(Value turn) {
    Value isOdd = arith::TruncIOp::create(emit, emit.getI1Type(), turn);
    return arith::SelectOp::create(emit, isOdd, opposite, workgroup);
  }
  /// How many turns it has.
  Value turns(Value items) {
    Value full = emit.uniform(arith::DivUIOp::create(emit, items, count));
    Value rest = arith::SubIOp::create(emit, items, emit.mul(full, count));
    Value hasRest = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, placeIn(full), rest);
    return emit.add(full, arith::ExtUIOp::create(emit, emit.getI32Type(), hasRest));
  }
  Value item(Value turn) { return emit.add(emit.mul(turn, count), placeIn(turn)); }

  Emitter &emit;
  Value workgroup, count, opposite;
};

struct ItemTurnsPattern : TilePattern<tile::ItemTurnsOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ItemTurnsOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    rewriter.replaceOp(op, ItemOrder(emit, kernel).turns(kernel.items[2]));
    return success();
  }
};
} // namespace

std::array<Value, 3> LoweringState::placeOf(Operation *op, ValueRange turn, Emitter &emit) const {
  Type i32 = emit.getI32Type();
  if (turn.empty())
    return {ROCDL::BlockIdXOp::create(emit, i32, LLVM::ConstantRangeAttr()),
            ROCDL::BlockIdYOp::create(emit, i32, LLVM::ConstantRangeAttr()),
            ROCDL::BlockIdZOp::create(emit, i32, LLVM::ConstantRangeAttr())};
  const KernelValues &kernel = of(op);
  auto divide = [&](Value value, Value by) -> std::pair<Value, Value> {
    Value quotient = emit.uniform(arith::DivUIOp::create(emit, value, by));
    return {quotient, arith::SubIOp::create(emit, value, emit.mul(quotient, by))};
  };
  auto [row, x] = divide(ItemOrder(emit, kernel).item(turn.front()), kernel.items[0]);
  auto [z, y] = divide(row, kernel.items[1]);
  return {x, y, z};
}

void hocket::lowering::finishWorkItems(LLVM::LLVMFuncOp func, const KernelValues &values) {
  auto loops = func.getBody().front().getOps<scf::ForOp>();
  if (loops.empty())
    return;
  scf::ForOp loop = *std::prev(loops.end());
  auto isInTurn = [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); };
  if (values.itemsJoin)
    return readArgumentsInTurns(func, tabulateItems(func, values, loop), values.lane);
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  Emitter emit(func.getLoc(), builder);
  Value lane = emit.hidden(values.lane, "v"), wave = emit.hidden(values.wave, "s");
  for (auto [known, hidden] : {std::pair(values.lane, lane), std::pair(values.wave, wave)})
    known.replaceUsesWithIf(hidden, [&](OpOperand &use) {
      return isInTurn(use) && use.getOwner() != hidden.getDefiningOp();
    });
  readArgumentsInTurns(func, loop);
}

void hocket::lowering::populateWorkItemPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                                LoweringState &state) {
  patterns.add<ItemTurnsPattern>(converter, patterns.getContext(), state);
}
