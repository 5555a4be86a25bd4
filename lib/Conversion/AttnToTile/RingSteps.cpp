// Steps that every loop over tiles of heads has.
#include "RingSteps.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;

/// Columns of an operand that one step of its product takes.
static constexpr int64_t kDepthStep = 16;

void hocket::fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                        ArrayRef<NamedRing> rings, Value t) {
  if (arch.hasLdsDma(tile::kDmaBytes)) {
    for (const NamedRing &entry : rings)
      builder.step(("fetch_" + entry.name).str(), [&] {
        tile::FetchOp::create(builder, entry.ring, t, Value());
        return SmallVector<Value>();
      });
    return;
  }
  SmallVector<Value> parts;
  for (const NamedRing &entry : rings)
    parts.push_back(builder.step(("fetch_" + entry.name).str(), [&]() -> SmallVector<Value> {
      auto type = cast<tile::RingType>(entry.ring.getType());
      Type part = tile::PartType::get(builder.getContext(), type.getShape(),
                                      type.getElementType(), waves);
      return {tile::LoadPartOp::create(builder, part, entry.ring, t)};
    })[0]);
  for (auto [part, entry] : llvm::zip_equal(parts, rings))
    builder.step(("put_" + entry.name).str(), [&, part = part, ring = entry.ring] {
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
