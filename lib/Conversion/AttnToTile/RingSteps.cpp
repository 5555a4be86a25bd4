// Steps that every loop over tiles of heads has.
#include "RingSteps.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;

/// Columns of an operand that one step of its product takes.
static constexpr int64_t kDepthStep = 16;

void hocket::fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                        ArrayRef<NamedRings> tiles, Value t) {
  if (arch.hasLdsDma(tile::kDmaBytes)) {
    for (const NamedRings &entry : tiles)
      builder.step(("fetch_" + entry.name).str(), [&] {
        for (Value ring : entry.rings)
          tile::FetchOp::create(builder, ring, t, Value(), Value(), Value());
        return SmallVector<Value>();
      });
    return;
  }
  SmallVector<ValueRange> parts;
  for (const NamedRings &entry : tiles)
    parts.push_back(builder.step(("fetch_" + entry.name).str(), [&] {
      SmallVector<Value> loaded;
      for (Value ring : entry.rings) {
        auto type = cast<tile::RingType>(ring.getType());
        Type part = tile::PartType::get(builder.getContext(), type.getShape(),
                                        type.getElementType(), waves);
        loaded.push_back(tile::LoadPartOp::create(builder, part, ring, t, Value(), Value()));
      }
      return loaded;
    }));
  for (auto [loaded, entry] : llvm::zip_equal(parts, tiles))
    builder.step(("put_" + entry.name).str(), [&, loaded = loaded, &rings = entry.rings] {
      for (auto [part, ring] : llvm::zip_equal(loaded, rings))
        tile::PutOp::create(builder, ring, t, Value(), part);
      return SmallVector<Value>();
    });
}

Value hocket::withoutPadding(ExpansionBuilder &builder, Value operand, int64_t headDim) {
  auto type = cast<tile::FragType>(operand.getType());
  int64_t needed = llvm::alignTo(headDim, kDepthStep);
  if (needed == type.getDepth())
    return operand;
  Type element = type.getElementType();
  Type narrow = type.isLeft() ? builder.frag(type.getRows(), needed, element, type.getLayout())
                              : builder.frag(needed, type.getColumns(), element, type.getLayout());
  return tile::SliceDepthOp::create(builder, narrow, operand, /*first=*/0);
}
