// tile.stash and tile.recall: verifiers, and the place in LDS.
#include "Tile/IR/Stash.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/WaveExchange.h"

using namespace mlir;
using namespace hocket::tile;

int64_t StashOp::getScratchBytes() {
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return waves * StashLayout(getSource().getType()).waveBytes();
}

LogicalResult StashOp::verify() {
  FragType type = getSource().getType();
  if (type.getLayout() == FragLayout::Acc)
    return emitOpError() << "lays " << type << " aside, expected an operand of the matrix unit; pack it first";
  if ((*this)->getParentOfType<ForTilesOp>())
    return emitOpError("stands in a loop over tiles; lay aside in front of it what all tiles need");
  int64_t offset = getLdsOffset().value_or(0);
  if (offset < 0 || offset % kScratchAlignment != 0)
    return emitOpError() << "at(" << offset << "), expected a multiple of " << kScratchAlignment << " from 0";
  return success();
}

LogicalResult RecallOp::verify() {
  FragType from = getStash().getType().getFrag(), to = getResult().getType();
  int64_t first = getFirst(), steps = from.getDepthStep();
  if (from.getLayout() != to.getLayout() || from.getElementType() != to.getElementType() ||
      from.getWidth() != to.getWidth())
    return emitOpError() << "recalls " << to << " of " << from
                         << ", expected the same width, element type and layout";
  if (first < 0 || first % steps != 0 || to.getDepth() % steps != 0 || first + to.getDepth() > from.getDepth())
    return emitOpError() << "recalls " << to.getDepth() << " of the depth from " << first << " on, of "
                         << from.getDepth() << ", expected whole steps of " << steps << " within it";
  return success();
}
