// Persistent kernels: a loop around all that a workgroup does, of which each turn computes an item.
//
// What an item is, the kernel's own op says that places a workgroup (GridOpInterface, `tile.workgroup_id`): items are
// the workgroups of the plain kernel, in its order. Of n workgroups, which all run at the same time, workgroup w takes
// item w, then one of the next n, and so on, every second time from the other end, but on the same XCD. So where the
// heaviest come first, who had the heaviest of one round has the lightest of the next.
//
// Nothing of one item is left when the next begins: no fetch is in flight (tile-verify-clusters proves that for the end
// of a kernel), and all waves meet in between. Only stores may be under way. What follows from arguments or from the
// lane is computed in each turn: LLVM would else keep it in registers through the loop over tiles.
#include "Lowering.h"

#include "Tile/IR/WorkItems.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

std::array<Value, 3> LoweringState::placeOf(Operation *op, Emitter &emit) const {
  const KernelValues &kernel = of(op);
  if (kernel.item)
    return kernel.place;
  Type i32 = emit.getI32Type();
  return {ROCDL::BlockIdXOp::create(emit, i32, LLVM::ConstantRangeAttr()),
          ROCDL::BlockIdYOp::create(emit, i32, LLVM::ConstantRangeAttr()),
          ROCDL::BlockIdZOp::create(emit, i32, LLVM::ConstantRangeAttr())};
}

void hocket::lowering::beginWorkItems(Emitter &emit, ValueRange itemArguments, KernelValues &values) {
  auto item = ROCDL::BlockIdXOp::create(emit, emit.getI32Type(), LLVM::ConstantRangeAttr());
  auto divide = [&](Value value, Value by) -> std::pair<Value, Value> {
    Value quotient = emit.uniform(arith::DivUIOp::create(emit, value, by));
    return {quotient, arith::SubIOp::create(emit, value, emit.mul(quotient, by))};
  };
  auto [row, x] = divide(item, itemArguments[0]);
  auto [z, y] = divide(row, itemArguments[1]);
  values.item = item;
  values.place = {x, y, z};
}

namespace {
/// Which items a workgroup takes.
struct ItemOrder {
  ItemOrder(Emitter &emit, Value workgroup, int64_t workgroups, int64_t xcds)
      : emit(emit), workgroup(workgroup), count(emit.i32(workgroups)) {
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
} // namespace

/// All waves have read what they read of LDS, before others write there.
static void meet(Emitter &emit, const KernelValues &values) {
  if (!values.lds)
    return;
  const WaitCounterLimits &limits = values.arch->waits;
  int64_t reads = encodeWait(limits, limits.vmcnt, limits.expcnt, /*lgkm=*/0);
  ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
  ROCDL::SWaitcntOp::create(emit, emit.getI32IntegerAttr(reads));
  ROCDL::SBarrierOp::create(emit);
  ROCDL::SchedBarrier::create(emit, emit.getI32IntegerAttr(0));
  LLVM::InlineAsmOp::create(emit, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

void hocket::lowering::loopOverWorkItems(LLVM::LLVMFuncOp func, int64_t workgroupsPerUnit,
                                         const KernelValues &values) {
  Block &entry = func.getBody().front();
  Operation *end = entry.getTerminator();
  OpBuilder builder(values.item);
  Emitter emit(func.getLoc(), builder);
  int64_t workgroups = workgroupsPerUnit * values.arch->chip.computeUnits;
  Value id = ROCDL::BlockIdXOp::create(emit, emit.getI32Type(), LLVM::ConstantRangeAttr());
  ItemOrder order(emit, id, workgroups, values.arch->chip.xcds);
  Value turns = order.turns(entry.getArguments().back());
  auto loop = scf::ForOp::create(emit, emit.i32(0), turns, emit.i32(1));
  Block *body = loop.getBody();
  body->getOperations().splice(std::prev(body->end()), entry.getOperations(), values.item->getIterator(),
                               end->getIterator());
  emit.setInsertionPoint(values.item);
  values.item->getResult(0).replaceAllUsesWith(order.item(loop.getInductionVar()));
  values.item->erase();
  emit.setInsertionPoint(body->getTerminator());
  meet(emit, values);
  readArgumentsInTurns(func, loop);
}
