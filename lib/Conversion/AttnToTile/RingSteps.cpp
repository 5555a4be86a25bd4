// Steps that every loop over tiles of heads has.
#include "RingSteps.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;

SmallVector<Value> hocket::fetchSteps(ExpansionBuilder &builder, const ArchInfo &arch, int64_t waves,
                                      ArrayRef<NamedRings> tiles, Value t, const FetchAhead &ahead) {
  bool hasDma = arch.hasLdsDma(tile::kDmaBytes);
  SmallVector<ValueRange> parts;
  SmallVector<Value> next;
  size_t countBefore = 0;
  for (const NamedRings &entry : tiles) {
    bool isFirst = &entry == tiles.begin();
    ValueRange results = builder.step(("fetch_" + entry.name).str(), [&] {
      Value from = ahead.number ? ahead.number() : Value();
      SmallVector<Value> made = isFirst && ahead.before ? ahead.before() : SmallVector<Value>();
      countBefore = made.size();
      for (Value ring : entry.rings) {
        if (hasDma) {
          tile::FetchOp::create(builder, ring, t, from, ahead.pages, Value());
          continue;
        }
        auto type = cast<tile::RingType>(ring.getType());
        Type part = tile::PartType::get(builder.getContext(), type.getShape(),
                                        type.getElementType(), waves);
        made.push_back(tile::LoadPartOp::create(builder, part, ring, t, from, ahead.pages));
      }
      if (isFirst && ahead.next)
        llvm::append_range(made, ahead.next());
      return made;
    });
    size_t count = hasDma ? 0 : entry.rings.size();
    parts.push_back(results.slice(countBefore, count));
    llvm::append_range(next, results.take_front(countBefore));
    llvm::append_range(next, results.drop_front(countBefore + count));
  }
  if (hasDma)
    return next;
  for (auto [loaded, entry] : llvm::zip_equal(parts, tiles))
    builder.step(("put_" + entry.name).str(), [&, loaded = loaded, &rings = entry.rings] {
      for (auto [part, ring] : llvm::zip_equal(loaded, rings))
        tile::PutOp::create(builder, ring, t, Value(), part);
      return SmallVector<Value>();
    });
  return next;
}

Value hocket::withoutPadding(ExpansionBuilder &builder, Value operand, int64_t headDim) {
  auto type = cast<tile::FragType>(operand.getType());
  int64_t needed = llvm::alignTo(headDim, type.getDepthStep());
  if (needed == type.getDepth())
    return operand;
  int64_t left[] = {type.getRows(), needed}, right[] = {needed, type.getColumns()};
  Type narrow = tile::FragType::get(builder.getContext(), type.isLeft() ? left : right, type.getElementType(),
                                    type.getRegisterLayout());
  return tile::SliceDepthOp::create(builder, narrow, operand, /*first=*/0);
}
