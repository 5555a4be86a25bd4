// Where a row's maximum moves, the reference changes and what was summed shrinks: two branches, with the exponents of a
// tile in between. LLVM joins neighbours alone, and the second of two takes five more instructions and a jump each time.
#include "JoinBranches.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;

/// Whether `value` is there in front of `op`.
static bool isKnownAt(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
}

/// Whether `later` may stand where `first` stands, if it has the results of `first`.
static bool mayStandAt(scf::IfOp later, scf::IfOp first) {
  auto isWanting = [&](OpOperand &use) {
    Value value = use.get();
    Operation *definition = value.getDefiningOp();
    return definition != first && !(definition && later->isProperAncestor(definition)) && !isKnownAt(value, first);
  };
  return !later
              .walk([&](Operation *op) {
                return llvm::any_of(op->getOpOperands(), isWanting) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// What both do in the block for one outcome, in `joined`.
static void joinBlocks(OpBuilder &builder, scf::IfOp first, Block *ofFirst, Block *ofLater, Block *joined) {
  auto known = cast<scf::YieldOp>(ofFirst->getTerminator()), others = cast<scf::YieldOp>(ofLater->getTerminator());
  for (auto [result, value] : llvm::zip_equal(first.getResults(), known.getResults()))
    result.replaceUsesWithIf(value, [&](OpOperand &use) { return ofLater->findAncestorOpInBlock(*use.getOwner()); });
  SmallVector<Value> values(known.getResults());
  llvm::append_range(values, others.getResults());
  known.erase();
  others.erase();
  joined->getOperations().splice(joined->end(), ofFirst->getOperations());
  joined->getOperations().splice(joined->end(), ofLater->getOperations());
  builder.setInsertionPointToEnd(joined);
  scf::YieldOp::create(builder, first.getLoc(), values);
}

/// Whether powers are taken of what `op` makes, a block of exponents.
static bool makesExponents(Operation &op) {
  return llvm::any_of(op.getUsers(), [](Operation *user) {
    return isa<vector::ExtractOp>(user) && llvm::any_of(user->getUsers(), llvm::IsaPred<ROCDL::ROCDLExp2>);
  });
}

/// The last block of exponents that is made between the two, or null.
static Operation *exponentsBetween(scf::IfOp first, scf::IfOp later) {
  auto between = llvm::make_range(std::next(first->getIterator()), later->getIterator());
  auto last = llvm::find_if(llvm::reverse(between), makesExponents);
  return last == llvm::reverse(between).end() ? nullptr : &*last;
}

/// Keeps `exponents`, and so those before them, in front of what follows, as the second branch did: LLVM else sinks them
/// among powers, beneath which reads of LDS cost nothing. All blocks in registers side by side are too many where sums of
/// powers are wanted, too.
static void hold(Operation *exponents, scf::IfOp later) {
  OpBuilder builder(later);
  auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
  LLVM::InlineAsmOp::create(builder, exponents->getLoc(), TypeRange(), exponents->getResults(), /*asm_string=*/"", "v",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect,
                            ArrayAttr());
}

static scf::IfOp join(scf::IfOp first, scf::IfOp later) {
  OpBuilder builder(first);
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, later.getResultTypes());
  auto joined = scf::IfOp::create(builder, first.getLoc(), types, first.getCondition(), /*withElse=*/true);
  joinBlocks(builder, first, first.thenBlock(), later.thenBlock(), joined.thenBlock());
  joinBlocks(builder, first, first.elseBlock(), later.elseBlock(), joined.elseBlock());
  const unsigned firsts = first.getNumResults();
  first->replaceAllUsesWith(joined.getResults().take_front(firsts));
  later->replaceAllUsesWith(joined.getResults().drop_front(firsts));
  first.erase();
  later.erase();
  return joined;
}

static void joinInBlock(Block &block) {
  SmallVector<scf::IfOp> open;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<ROCDL::SchedBarrier>(op))
      open.clear();
    auto branch = dyn_cast<scf::IfOp>(op);
    // With results both outcomes have a block.
    if (!branch || branch.getNumResults() == 0)
      continue;
    auto same = llvm::find_if(llvm::reverse(open), [&](scf::IfOp first) {
      return first.getCondition() == branch.getCondition() && isMemoryEffectFree(branch) && mayStandAt(branch, first);
    });
    Operation *exponents = same == open.rend() ? nullptr : exponentsBetween(*same, branch);
    if (!exponents) {
      open.push_back(branch);
      continue;
    }
    hold(exponents, branch);
    *same = join(*same, branch);
  }
}

void hocket::lowering::joinBranches(Operation *root) {
  root->walk([](Block *block) { joinInBlock(*block); });
}
