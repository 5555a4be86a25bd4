// convert-tile-to-rocdl: from "which step when" to "which lane does what".
//
// Steps have done their work by now and are inlined; then one dialect conversion turns every tile
// op into upstream ops. The patterns are in the files beside this one, by what they compute.
#include "Access.h"
#include "JoinBranches.h"
#include "SmallFloats.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/IR/WorkItems.h"
#include "Conversion/Passes.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTTILETOROCDLPASS
#include "Conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static void inlineStep(tile::StepOp step) {
  Block &body = step.getBody().front();
  auto yield = cast<tile::YieldOp>(body.getTerminator());
  step.replaceAllUsesWith(yield.getValues());
  yield.erase();
  step->getBlock()->getOperations().splice(step->getIterator(), body.getOperations());
  step.erase();
}

static void makeBranch(tile::WhereOp where) {
  OpBuilder builder(where);
  Location loc = where.getLoc();
  Block &body = where.getBody().front();
  auto yield = cast<tile::YieldOp>(body.getTerminator());
  auto branch = scf::IfOp::create(builder, loc, where.getResultTypes(), where.getCondition(), /*withElse=*/true);
  for (auto [block, values] : {std::pair(branch.thenBlock(), ValueRange(yield.getValues())),
                               std::pair(branch.elseBlock(), ValueRange(where.getOtherwise()))}) {
    if (!block->empty())
      block->back().erase();
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, values);
  }
  where.replaceAllUsesWith(branch.getResults());
  yield.erase();
  branch.thenBlock()->getOperations().splice(branch.thenBlock()->begin(), body.getOperations());
  where.erase();
}

/// An access to a ring: of this kernel, with a slot, which must be one of the ring's if it is a
/// constant.
static LogicalResult verifyAccess(tile::RingAccessOpInterface access) {
  auto ring = access.getRing().getDefiningOp<tile::RingOp>();
  if (!ring)
    return access->emitOpError("needs a ring that a 'tile.ring' of this kernel makes");
  if (!access.touchesSlot())
    return success();
  if (!access.getSlot())
    return access->emitOpError("has no slot; run 'tile-pipeline' first or write slot(%n)");
  auto depth = ring.getDepth();
  APInt slot;
  if (!depth || !matchPattern(access.getSlot(), m_ConstantInt(&slot)))
    return success();
  if (slot.getSExtValue() >= 0 && slot.getSExtValue() < static_cast<int64_t>(*depth))
    return success();
  return access->emitOpError() << "uses slot " << slot.getSExtValue() << " of a ring with depth("
                               << *depth << "), expected 0 to " << *depth - 1;
}

/// All rings of the kernel must lie in the target's LDS.
static LogicalResult verifyLdsSize(tile::KernelOp kernel, const ArchInfo &arch) {
  WalkResult walk = kernel.walk([&](tile::RingOp ring) {
    int64_t end = ring.getLdsEnd();
    if (end <= static_cast<int64_t>(arch.lds.bytesPerWorkgroup))
      return WalkResult::advance();
    ring.emitOpError() << "ends at byte " << end << " of LDS, " << kernel.getTarget() << " has "
                       << arch.lds.bytesPerWorkgroup
                       << "; use a smaller tile, less depth or another 'at'";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  int64_t end = tile::ldsEnd(kernel);
  if (end <= static_cast<int64_t>(arch.lds.bytesPerWorkgroup))
    return success();
  return kernel.emitOpError() << "needs " << end << " bytes of LDS with what its waves exchange, "
                              << kernel.getTarget() << " has " << arch.lds.bytesPerWorkgroup;
}

/// What stands in the attribute of persistent kernels.
static LogicalResult verifyPersistent(tile::KernelOp kernel) {
  Attribute attribute = kernel->getAttr(tile::kPersistentAttr);
  if (!attribute && kernel->hasAttr(tile::kJoinItemsAttr))
    return kernel.emitOpError() << "has '" << tile::kJoinItemsAttr << "' and is not persistent; give it '"
                                << tile::kPersistentAttr << " = 1', too";
  if (!attribute)
    return success();
  auto workgroups = dyn_cast<IntegerAttr>(attribute);
  if (workgroups && workgroups.getType().isInteger(64) && workgroups.getInt() >= 1 &&
      workgroups.getInt() <= tile::kMaxPersistentWorkgroups) {
    bool hasTurns = kernel.walk([](tile::ItemTurnsOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (hasTurns)
      return success();
    return kernel.emitOpError() << "is persistent and has no loop over items; run 'tile-work-items' first, or leave '"
                                << tile::kPersistentAttr << "' out";
  }
  return kernel.emitOpError() << "has '" << tile::kPersistentAttr << "' = " << attribute
                              << ", expected how many workgroups to start for each compute unit, 1 to "
                              << tile::kMaxPersistentWorkgroups << ", as in '" << tile::kPersistentAttr << " = 1'";
}

/// What the patterns rely on and a hand-written module may lack.
static LogicalResult verifyClusters(tile::KernelOp kernel) {
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  if (!arch)
    return kernel.emitOpError() << arch.error().message;
  if (failed(verifyPersistent(kernel)))
    return failure();
  WalkResult walk = kernel.walk([&](Operation *op) {
    if (isa<tile::ForTilesOp>(op)) {
      op->emitOpError("is still there; run 'tile-pipeline' first");
      return WalkResult::interrupt();
    }
    auto ring = dyn_cast<tile::RingOp>(op);
    if (ring && (!ring.getDepth() || !ring.getLdsOffset() || !ring.getLayout())) {
      ring.emitOpError(
          "has no depth, offset or layout; run 'tile-pipeline' and 'tile-allocate-lds' "
          "first");
      return WalkResult::interrupt();
    }
    auto scratch = dyn_cast<tile::LdsScratchOpInterface>(op);
    if (scratch && scratch.getScratchBytes() != 0 && !scratch.getLdsOffset()) {
      scratch.emitOpError("has no place in LDS; run 'tile-allocate-lds' first");
      return WalkResult::interrupt();
    }
    auto access = dyn_cast<tile::RingAccessOpInterface>(op);
    if (access && failed(verifyAccess(access)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (failed(verifySmallFloats(kernel, **arch)))
    return failure();
  return verifyLdsSize(kernel, **arch);
}

/// The names of kernels that have an attribute.
static llvm::StringSet<> kernelsWith(ModuleOp module, StringRef attribute) {
  llvm::StringSet<> kernels;
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    if (kernel->hasAttr(attribute))
      kernels.insert(kernel.getSymName());
  return kernels;
}

/// The names of kernels that multiply elements of less than 16 bits, of which branches are joined: a window's kernel of 16
/// bits loses by it (docs/notes/2026-11-28-moved-maxima.md).
static llvm::StringSet<> narrowKernels(ModuleOp module) {
  llvm::StringSet<> kernels;
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    kernel.walk([&](tile::MmaOp product) {
      if (bitsOf(cast<tile::FragType>(product.getLhs().getType()).getElementType()) < 16)
        kernels.insert(kernel.getSymName());
    });
  return kernels;
}

static LoweringState createState(MLIRContext *context) {
  auto domain = LLVM::AliasScopeDomainAttr::get(context, StringAttr::get(context, "lds"));
  auto scope = [&](StringRef name) -> Attribute {
    return LLVM::AliasScopeAttr::get(domain, StringAttr::get(context, name));
  };
  LoweringState state;
  state.dmaScope = ArrayAttr::get(context, scope("dma"));
  state.readScope = ArrayAttr::get(context, scope("read"));
  return state;
}

namespace {
struct ConvertTileToROCDLPass : hocket::impl::ConvertTileToROCDLPassBase<ConvertTileToROCDLPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult kernels = module.walk([&](tile::KernelOp kernel) {
      return failed(verifyClusters(kernel)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (kernels.wasInterrupted())
      return signalPassFailure();
    SmallVector<tile::StepOp> steps;
    module.walk([&](tile::StepOp step) { steps.push_back(step); });
    llvm::for_each(steps, inlineStep);
    SmallVector<tile::WhereOp> wheres;
    module.walk([&](tile::WhereOp where) { wheres.push_back(where); });
    llvm::for_each(wheres, makeBranch);
    module.walk([&](tile::ScheduleOp schedule) { schedule.erase(); });

    TypeConverter converter;
    populateTypeConversions(converter);
    LoweringState state = createState(&getContext());
    for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
      state.constantLoads.insert_range(findConstantLoads(kernel));
    RewritePatternSet patterns(&getContext());
    populateKernelPatterns(converter, patterns, state);
    populateMemoryPatterns(converter, patterns, state);
    populateAccessPatterns(converter, patterns, state);
    populateNumberPatterns(converter, patterns, state);
    populatePutFragmentPatterns(converter, patterns, state);
    populateFetchPatterns(converter, patterns, state);
    populateStagingPatterns(converter, patterns, state);
    populateFragmentPatterns(converter, patterns, state);
    populateProductPatterns(converter, patterns, state);
    populateMaskPatterns(converter, patterns, state);
    populateSoftmaxPatterns(converter, patterns, state);
    populateCombinePatterns(converter, patterns, state);
    populateGridPatterns(converter, patterns, state);
    populateMatrixPatterns(converter, patterns, state);
    populateGatherPatterns(converter, patterns, state);
    populatePagePatterns(converter, patterns, state);
    populateMapPatterns(converter, patterns, state);
    populateReducePatterns(converter, patterns, state);
    populateReduceWavesPatterns(converter, patterns, state);
    populateConvertLayoutPatterns(converter, patterns, state);
    populateRandomBytesPatterns(converter, patterns, state);
    populateStashPatterns(converter, patterns, state);
    populateWorkItemPatterns(converter, patterns, state);
    ConversionTarget target(getContext());
    target.addIllegalDialect<tile::TileDialect>();
    target.addLegalDialect<LLVM::LLVMDialect, ROCDL::ROCDLDialect, arith::ArithDialect,
                           vector::VectorDialect>();
    target.addLegalOp<ModuleOp>();
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    llvm::StringSet<> late = kernelsWith(module, kLateArguments), inTurns = kernelsWith(module, kTurnArguments);
    llvm::StringSet<> narrow = narrowKernels(module);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    for (auto func : module.getOps<LLVM::LLVMFuncOp>())
      if (narrow.contains(func.getSymName()))
        joinBranches(func);
    for (auto func : module.getOps<LLVM::LLVMFuncOp>())
      if (const KernelValues &values = state.kernels.find(func)->second; values.persistent != 0)
        finishWorkItems(func, values);
      else if (late.contains(func.getSymName()))
        readArgumentsLate(func, values.turnScalars                     ? TurnArguments::All
                                : inTurns.contains(func.getSymName()) ? TurnArguments::Own
                                                                      : TurnArguments::None);
  }
};
} // namespace
