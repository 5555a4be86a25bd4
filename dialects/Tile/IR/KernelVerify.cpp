// What a kernel's body as a whole must keep to: which upstream ops stand in it, and that what its
// waves write is what the workgroup was given, no less and no more.
//
// A workgroup's rows (`tile.block_id`, `tile.block_tile`), the waves, a wave's rows
// (`tile.wave_row`) and the shapes of fragments are four numbers that a hand writes in four places.
// Where they do not fit together, rows stay unwritten and nothing else would say so.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/KernelVerify.h"
#include "Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::tile;

//===-- Upstream ops
//-----------------------------------------------------------------------------===//

static bool isControlFlow(Operation *op) {
  return isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
}

static bool isNumber(Type type) { return type.isIntOrIndexOrFloat(); }

static LogicalResult verifyArithmetic(Operation *op) {
  for (Type type : llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                            llvm::to_vector(op->getResultTypes())))
    if (!isNumber(type))
      return op->emitOpError() << "computes on " << type
                               << "; in a kernel 'arith' takes single numbers, which are the same "
                                  "in all lanes of a wave";
  return success();
}

LogicalResult hocket::tile::verifyUpstreamOps(KernelOp kernel) {
  WalkResult walk = kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa_and_nonnull<TileDialect>(op->getDialect())) {
      // Other regions of the dialect say themselves what may stand in them.
      return op->getNumRegions() == 0 || isa<ForTilesOp, StepOp, WhereOp>(op) ? WalkResult::advance()
                                                                    : WalkResult::skip();
    }
    if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
      return failed(verifyArithmetic(op)) ? WalkResult::interrupt() : WalkResult::advance();
    if (isControlFlow(op))
      return WalkResult::advance();
    op->emitOpError() << "cannot stand in kernel '" << kernel.getSymName()
                      << "': a kernel is made of ops of 'tile', of 'arith' on single numbers, "
                         "and of 'scf.if', 'scf.for' and 'scf.while'";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

//===-- What is written of a block
//---------------------------------------------------------------===//

namespace {
/// A place along one dimension, counted from what a block op gives the workgroup:
/// constant + waveStep * (number of the wave along that side, of `waves`).
struct BlockPlace {
  OpResult base; ///< of a `tile.block_id` or `tile.block_tile`; null: the place is something else
  int64_t constant = 0, waveStep = 0, waves = 1;
  WaveRowOp waveRow;
};

/// `size` rows or columns that `op` writes from `place` on.
struct Write {
  Operation *op;
  BlockPlace place;
  int64_t size;
};

} // namespace

/// Rows or columns that a block op gives a workgroup along the dimension that `base` is of.
static int64_t extentOf(OpResult base) {
  if (auto block = dyn_cast<BlockIdOp>(base.getOwner()))
    return block.getRows();
  auto block = cast<BlockTileOp>(base.getOwner());
  return base == block.getRow() ? block.getRows() : block.getColumns();
}

static StringRef sideOf(OpResult base) {
  auto block = dyn_cast<BlockTileOp>(base.getOwner());
  return block && base == block.getColumn() ? "columns" : "rows";
}

static BlockPlace placeOf(Value value, int64_t kernelWaves) {
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    for (auto [term, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                               std::pair(sum.getRhs(), sum.getLhs())}) {
      APInt constant;
      if (!matchPattern(other, m_ConstantInt(&constant)))
        continue;
      BlockPlace place = placeOf(term, kernelWaves);
      place.constant += constant.getSExtValue();
      return place;
    }
    return {};
  }
  if (auto row = value.getDefiningOp<WaveRowOp>()) {
    BlockPlace place = placeOf(row.getBlockRow(), kernelWaves);
    if (!place.base || place.waveRow)
      return {};
    place.waveRow = row;
    place.waveStep = row.getRows();
    place.waves = row.getPart() ? wavePartOf(row.getPart()).count : kernelWaves;
    return place;
  }
  auto result = dyn_cast<OpResult>(value);
  BlockPlace place;
  if (!result)
    return place;
  if (auto block = dyn_cast<BlockIdOp>(result.getOwner()); block && result == block.getRow())
    place.base = result;
  if (isa<BlockTileOp>(result.getOwner()))
    place.base = result;
  return place;
}

/// Within one store: waves must not write what their neighbours write, nor what is another
/// workgroup's.
static LogicalResult verifyWrite(const Write &write) {
  const BlockPlace &place = write.place;
  StringRef side = sideOf(place.base);
  if (place.waves > 1 && place.waveStep < write.size) {
    auto diagnostic = write.op->emitOpError()
                      << "writes " << write.size << " " << side << " in each wave, which begin "
                      << place.waveStep << " apart: neighbours write the same";
    diagnostic.attachNote(WaveRowOp(place.waveRow).getLoc())
        << "rows(" << place.waveStep << ") here; use rows(" << write.size
        << "), or fragments of fewer " << side;
    return diagnostic;
  }
  int64_t last = place.constant + (place.waves - 1) * place.waveStep + write.size;
  int64_t extent = extentOf(place.base);
  if (last <= extent && place.constant >= 0)
    return success();
  auto diagnostic = write.op->emitOpError()
                    << "writes " << side << " " << place.constant << " to " << last - 1
                    << " of the " << extent
                    << " that a workgroup has: the others are another workgroup's";
  diagnostic.attachNote(place.base.getLoc())
      << side << "(" << extent << ") here; use " << side << "(" << last << "), or fewer waves";
  return diagnostic;
}

/// All stores together: nothing that the workgroup was given stays unwritten.
static LogicalResult verifyComplete(ArrayRef<Write> writes) {
  OpResult base = writes.front().place.base;
  int64_t extent = extentOf(base);
  std::vector<bool> written(extent);
  int64_t end = 0;
  for (const Write &write : writes)
    for (int64_t wave = 0; wave != write.place.waves; ++wave)
      for (int64_t i = 0; i != write.size; ++i) {
        int64_t at = write.place.constant + wave * write.place.waveStep + i;
        written[at] = true;
        end = std::max(end, at + 1);
      }
  int64_t missing = llvm::count(written, false);
  if (missing == 0)
    return success();
  int64_t first = std::find(written.begin(), written.end(), false) - written.begin();
  StringRef side = sideOf(base);
  const Write &write = writes.front();
  auto diagnostic = write.op->emitOpError()
                    << "leaves " << missing << " of the " << extent << " " << side
                    << " of a workgroup unwritten, from " << first << " on: ";
  if (write.place.waveRow)
    diagnostic << write.place.waves << " waves, " << write.place.waveStep
               << " apart, write " << write.size << " each";
  else
    diagnostic << "every wave writes the same " << write.size;
  diagnostic.attachNote(base.getLoc())
      << side << "(" << extent << ") here; use " << side << "(" << end
      << "), or more waves or larger fragments";
  return diagnostic;
}

LogicalResult hocket::tile::verifyWrittenBlocks(KernelOp kernel) {
  using Dimension = std::pair<Value, int64_t>; // of a view
  llvm::MapVector<std::pair<Dimension, OpResult>, SmallVector<Write>> blocks;
  llvm::DenseSet<Dimension> elsewhere; // written at places that are not followed
  kernel.getBody().walk([&](Operation *op) {
    for (const WrittenPlace &written : writtenPlaces(op)) {
      BlockPlace place = placeOf(written.place, kernel.getWaves());
      Dimension dimension = {written.view, written.dimension};
      if (place.base)
        blocks[{dimension, place.base}].push_back({op, place, written.size});
      else
        elsewhere.insert(dimension);
    }
  });
  for (auto &[key, writes] : blocks) {
    for (const Write &write : writes)
      if (failed(verifyWrite(write)))
        return failure();
    if (!elsewhere.contains(key.first) && failed(verifyComplete(writes)))
      return failure();
  }
  return success();
}
