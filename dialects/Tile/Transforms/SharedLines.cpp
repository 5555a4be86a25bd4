#include "SharedLines.h"

#include "Tile/IR/LayoutConversion.h"
#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/WorkItems.h"
#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/Occupancy.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

FragType hocket::tile::linesOf(FragType frag) {
  constexpr int64_t mostBytes = 16, lineBytes = 128;
  Type element = frag.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, columns = frag.getMemoryColumns();
  int64_t run = mostBytes / bytes, lanes = lineBytes / mostBytes;
  while (columns % (run * lanes) != 0)
    lanes /= 2;
  int64_t shape[] = {frag.getMemoryRows(), columns};
  return FragType::get(frag.getContext(), shape, element, RegisterLayout{FragLayout::Lines, run, lanes});
}

bool hocket::tile::isLoadedOperand(Value value) {
  auto load = value.getDefiningOp<LoadOp>();
  return load && isOfWholeHeadRows(*memoryAccessOf(load)) && cast<FragType>(value.getType()).isOfMatrixUnit();
}

std::optional<SharedPart> hocket::tile::findSharedPart(KernelOp kernel, ValueRange loaded, int64_t offset) {
  SharedPart part{offset, 0};
  for (Value value : loaded)
    if (isLoadedOperand(value)) {
      auto frag = cast<FragType>(value.getType());
      part.bytes = std::max(part.bytes, LayoutConversion(linesOf(frag), frag).waveBytes());
    }
  int64_t end = offset + part.bytes * kernel.getWaves() / 2;
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  auto persistent = kernel->getAttrOfType<IntegerAttr>(kPersistentAttr);
  bool fits = part.bytes != 0 && arch && persistent &&
              end <= std::min<int64_t>((*arch)->lds.bytesPerWorkgroup, maxLdsFor(**arch, persistent.getInt()));
  return fits ? std::optional(part) : std::nullopt;
}

Value hocket::tile::convertThrough(ImplicitLocOpBuilder &builder, const SharedPart &part, Value value, FragType type) {
  auto converted = ConvertLayoutOp::create(builder, type, value);
  converted.setLdsOffset(part.offset);
  converted.setWaveBytes(part.bytes);
  converted.setShared(true);
  return converted;
}
