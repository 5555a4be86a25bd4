// What a kernel is cut into, in words and as JSON.
#include "TileReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hocket;
namespace json = llvm::json;

KernelTiles hocket::readTiles(tile::KernelOp kernel) {
  KernelTiles tiles;
  tiles.kernel = kernel.getSymName().str();
  tiles.waves = kernel.getWaves();
  if (auto workgroups = kernel->getAttrOfType<IntegerAttr>(tile::kWorkgroupsAttr))
    tiles.workgroups = workgroups.getInt();
  for (Operation &op : kernel.getBody().front()) {
    auto rows = dyn_cast<tile::BlockIdOp>(op);
    auto block = dyn_cast<tile::BlockTileOp>(op);
    if (!rows && !block)
      continue;
    tiles.blockRows = rows ? rows.getRows() : block.getRows();
    tiles.blockColumns = block ? block.getColumns() : 0;
    break;
  }
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<tile::RingOp>(op)) {
      ArrayRef<int64_t> shape = ring.getRing().getType().getShape();
      tiles.rings.push_back({Twine(ring.getBindingName()).str(), shape[0], shape[1]});
    }
    if (auto loop = dyn_cast<tile::ForTilesOp>(op))
      tiles.schedules.push_back(loop.getSchedule().str());
  });
  if (auto note = kernel->getAttrOfType<StringAttr>("tile.shape_note"))
    tiles.note = note.str();
  return tiles;
}

static std::string describeBlock(const KernelTiles &tiles) {
  std::string waves = std::to_string(tiles.waves) + (tiles.waves == 1 ? " wave" : " waves");
  if (tiles.blockRows == 0)
    return waves;
  std::string rows = std::to_string(tiles.blockRows);
  return (tiles.blockColumns == 0 ? rows + " rows"
                                  : rows + " x " + std::to_string(tiles.blockColumns)) +
         ", " + waves;
}

std::string hocket::toText(const KernelTiles &tiles) {
  std::string rings;
  for (const KernelTiles::Ring &ring : tiles.rings)
    rings += (rings.empty() ? "" : ", ") + ring.name + " " + std::to_string(ring.rows) + " x " +
             std::to_string(ring.columns);
  std::string text = llvm::formatv("tile of '{0}'\n  block         {1}\n", tiles.kernel,
                                   describeBlock(tiles));
  if (!rings.empty())
    text += "  tiles         " + rings + "\n";
  if (!tiles.schedules.empty())
    text += "  schedule      " + llvm::join(tiles.schedules, ", ") + "\n";
  if (!tiles.note.empty())
    text += "  note          " + tiles.note + "\n";
  return text;
}

void hocket::addTo(json::Object &kernel, const KernelTiles &tiles) {
  kernel["waves"] = tiles.waves;
  json::Object block;
  if (tiles.blockRows != 0)
    block["rows"] = tiles.blockRows;
  if (tiles.blockColumns != 0)
    block["columns"] = tiles.blockColumns;
  kernel["block"] = std::move(block);
  json::Array rings;
  for (const KernelTiles::Ring &ring : tiles.rings)
    rings.push_back(
        json::Object{{"name", ring.name}, {"rows", ring.rows}, {"columns", ring.columns}});
  kernel["tiles"] = std::move(rings);
  kernel["schedules"] = json::Array(tiles.schedules);
  if (!tiles.note.empty())
    kernel["note"] = tiles.note;
}
