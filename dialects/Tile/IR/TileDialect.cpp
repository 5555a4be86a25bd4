// Registration of the tile dialect and its attributes.
#include "Tile/IR/Tile.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::tile;

#include "Tile/IR/TileDialect.cpp.inc"
#include "Tile/IR/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Tile/IR/TileAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "Tile/IR/TileOps.cpp.inc"
      >();
}

static constexpr int64_t kPieceBytes = 16;
static constexpr int64_t kChunkBytes = 1024;

LogicalResult LdsLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t chunkRows,
                                    int64_t chunkBytes, int64_t padBytes,
                                    ArrayRef<StringAttr> laneBits) {
  if (chunkRows < 1 || chunkBytes < kPieceBytes || chunkRows * chunkBytes != kChunkBytes)
    return emitError() << "chunk of " << chunkRows << " rows x " << chunkBytes
                       << " bytes, a wave's LDS DMA writes " << kChunkBytes << " bytes";
  if (padBytes < 0 || padBytes % kPieceBytes != 0)
    return emitError() << "padding of " << padBytes << " bytes between chunks, a multiple of "
                       << kPieceBytes << " is needed";
  unsigned rowBits = llvm::Log2_64(chunkRows), pieceBits = llvm::Log2_64(chunkBytes / kPieceBytes);
  llvm::SmallBitVector seen(rowBits + pieceBits);
  for (StringAttr bit : laneBits) {
    StringRef name = bit.getValue();
    unsigned index = 0;
    bool isRow = name.consume_front("r");
    bool known = (isRow || name.consume_front("p")) && !name.getAsInteger(10, index) &&
                 index < (isRow ? rowBits : pieceBits);
    if (!known)
      return emitError() << "unknown lane bit '" << bit.getValue() << "', expected r0 to r"
                         << rowBits - 1 << " or p0 to p" << pieceBits - 1;
    seen.set(isRow ? index : rowBits + index);
  }
  if (laneBits.size() != seen.size() || !seen.all())
    return emitError() << "lane bits must name each of the " << seen.size()
                       << " row and piece bits of a chunk once";
  return success();
}
