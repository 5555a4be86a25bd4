// tile.random_bytes: verifier, and its place in LDS.
#include "Tile/IR/RandomBytes.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/WaveExchange.h"

using namespace mlir;
using namespace hocket::tile;

int64_t RandomBytesOp::getLeastWaveBytes() { return kRandomWaveBytes; }

int64_t RandomBytesOp::getScratchBytes() {
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return waves * static_cast<int64_t>(getWaveBytes().value_or(kRandomWaveBytes));
}

LogicalResult RandomBytesOp::verify() {
  FragType type = getResult().getType();
  if (!type.getElementType().isSignlessInteger(8))
    return emitOpError() << "gives numbers of " << type.getElementType() << ", expected i8";
  FragmentMap map(type);
  if (kRandomBlock % map.piece.rows != 0 || kRandomBlock % map.piece.columns != 0 ||
      type.getMemoryRows() % kRandomBlock != 0 || type.getMemoryColumns() % kRandomBlock != 0)
    return emitOpError() << "gives " << type << ", which is not made of blocks of " << kRandomBlock << " x "
                         << kRandomBlock << "; use layout 'acc', and 'tile.convert_layout' for others";
  int64_t offset = getLdsOffset().value_or(0), bytes = getWaveBytes().value_or(kRandomWaveBytes);
  if (offset < 0 || offset % kScratchAlignment != 0 || bytes < kRandomWaveBytes ||
      bytes % kScratchAlignment != 0)
    return emitOpError() << "at(" << offset << " by " << bytes << "), expected multiples of "
                         << kScratchAlignment << ", from 0 and by " << kRandomWaveBytes << " or more";
  return success();
}
