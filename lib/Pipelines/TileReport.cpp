// What a kernel is cut into, in words.
#include "TileReport.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hocket;

static std::string describeBlock(tile::KernelOp kernel) {
  std::string waves =
      std::to_string(kernel.getWaves()) + (kernel.getWaves() == 1 ? " wave" : " waves");
  for (Operation &op : kernel.getBody().front()) {
    if (auto block = dyn_cast<tile::BlockIdOp>(op))
      return std::to_string(block.getRows()) + " rows, " + waves;
    if (auto block = dyn_cast<tile::BlockTileOp>(op))
      return (Twine(block.getRows()) + " x " + Twine(block.getColumns()) + ", " + waves).str();
  }
  return waves;
}

std::string hocket::describeTiles(tile::KernelOp kernel) {
  std::string rings, schedules;
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<tile::RingOp>(op)) {
      tile::RingType type = ring.getRing().getType();
      rings += (Twine(rings.empty() ? "" : ", ") + ring.getBindingName() + " " +
                Twine(type.getShape()[0]) + " x " + Twine(type.getShape()[1]))
                   .str();
    }
    if (auto loop = dyn_cast<tile::ForTilesOp>(op))
      schedules += ((schedules.empty() ? "" : ", ") + loop.getSchedule()).str();
  });
  std::string text = llvm::formatv("tile of '{0}'\n  block         {1}\n", kernel.getSymName(),
                                   describeBlock(kernel));
  if (!rings.empty())
    text += "  tiles         " + rings + "\n";
  if (!schedules.empty())
    text += "  schedule      " + schedules + "\n";
  if (auto note = kernel->getAttrOfType<StringAttr>("tile.shape_note"))
    text += "  note          " + note.str() + "\n";
  return text;
}
