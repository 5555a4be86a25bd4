// tile.reduce_waves: verifier, and its place in LDS.
//
// All waves meet at barriers in it, so it must stand where none goes another way. That is not
// decidable; what is accepted is control flow on numbers that cannot differ between waves.
#include "Tile/IR/WaveExchange.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

static constexpr int64_t kNumberBytes = 4;

static int64_t numbersOfLane(Type type) {
  auto of = [](const VectorMap &map) { return map.count * (map.isScalar ? 1 : map.piece.registers); };
  if (auto frag = dyn_cast<FragType>(type)) {
    FragmentMap map(frag);
    return map.count() * map.piece.registers;
  }
  if (auto rows = dyn_cast<RowsType>(type))
    return of(VectorMap(rows));
  if (auto columns = dyn_cast<ColumnsType>(type))
    return of(VectorMap(columns));
  return 1;
}

/// LDS is for tiles: of fragments a few registers pass at a time.
int64_t ReduceWavesOp::getNumbersAtOnce() {
  constexpr int64_t mostOfFragment = 8;
  Type type = getSource().getType();
  return isa<FragType>(type) ? std::min(numbersOfLane(type), mostOfFragment) : numbersOfLane(type);
}

/// So many numbers of every lane of all waves.
int64_t ReduceWavesOp::getScratchBytes() {
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return waves * getNumbersAtOnce() * kWaveLanes * kNumberBytes;
}

int64_t hocket::tile::exchangesOf(ReduceWavesOp reduction) {
  return llvm::divideCeil(numbersOfLane(reduction.getSource().getType()), reduction.getNumbersAtOnce());
}

int64_t hocket::tile::ldsEnd(KernelOp kernel) {
  int64_t end = 0;
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op); ring && ring.getLdsOffset() && ring.getDepth() && ring.getLayout())
      end = std::max(end, ring.getLdsEnd());
    if (auto scratch = dyn_cast<LdsScratchOpInterface>(op); scratch && scratch.getLdsOffset())
      end = std::max<int64_t>(end, *scratch.getLdsOffset() + scratch.getScratchBytes());
  });
  return end;
}

/// Whether `value`, a number, is the same in all waves of the workgroup, for all that can be seen.
static bool isSameInAllWaves(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return argument == loop.getInductionVar();
    return isa<KernelOp>(parent);
  }
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast<ReduceWavesOp>(op))
    return !reduce.getAlong();
  bool follows = isa<arith::ArithDialect>(op->getDialect()) ||
                 isa<DimOp, DivModOp, BlockIdOp, BlockTileOp, WorkgroupIdOp, GroupHeadOp>(op);
  return follows && llvm::all_of(op->getOperands(), [](Value operand) {
           return isa<ViewType>(operand.getType()) || isSameInAllWaves(operand);
         });
}

LogicalResult hocket::tile::verifyMeetsAllWaves(Operation *op) {
  auto refuse = [&](Operation *parent) -> LogicalResult {
    auto diagnostic = op->emitOpError()
                      << "stands in '" << parent->getName()
                      << "', where waves may go different ways, but all must meet; move it out";
    diagnostic.attachNote(parent->getLoc()) << "this one";
    return diagnostic;
  };
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp()) {
    if (isa<ForTilesOp>(parent))
      return op->emitOpError("stands in a loop over tiles, whose barriers are the schedule's; move it "
                             "behind the loop");
    if (isa<StepOp>(parent))
      continue;
    bool agrees = false;
    if (auto branch = dyn_cast<scf::IfOp>(parent))
      agrees = isSameInAllWaves(branch.getCondition());
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      agrees = isSameInAllWaves(loop.getLowerBound()) && isSameInAllWaves(loop.getUpperBound()) &&
               isSameInAllWaves(loop.getStep());
    if (!agrees)
      return refuse(parent);
  }
  return success();
}

LogicalResult ReduceWavesOp::verify() {
  Type element = elementTypeOf(getSource().getType());
  if (!element.isF32() && !element.isSignlessInteger(32))
    return emitOpError() << "combines numbers of " << element
                         << ", expected f32 or i32; convert them with 'tile.map'";
  bool logical = getKind() == Reduction::Any || getKind() == Reduction::All;
  if (logical && element.isF32())
    return emitOpError("asks whether numbers of 'f32' are true, expected integers; compare in a "
                       "'tile.map' and yield i32");
  if (failed(requireWavePart(*this, getAlong())))
    return failure();
  if (getLdsOffset() && (*getLdsOffset() < 0 || *getLdsOffset() % kScratchAlignment != 0))
    return emitOpError() << "at(" << *getLdsOffset() << "), expected a multiple of "
                         << kScratchAlignment << " from 0";
  return verifyMeetsAllWaves(*this);
}
