// The masks of an expansion.
#include "Masks.h"

using namespace mlir;
using namespace hocket;

/// What of `mask` the diagonal says.
static attn::VisibilityAttr diagonalOf(attn::VisibilityAttr mask, const Masks::Options &options) {
  return mask.isCausal() && !options.ofPairs ? mask : attn::VisibilityAttr::get(mask.getContext(), std::nullopt, std::nullopt);
}

Masks::Masks(Operation *op, attn::VisibilityAttr mask, std::optional<ArrayAttr> symbols, tile::FragType scores,
             const Options &options)
    : range(diagonalOf(mask, options), options.rows), scores(scores), options(options) {
  if (symbols)
    for (auto symbol : symbols->getAsRange<FlatSymbolRefAttr>())
      add(mods, SymbolTable::lookupNearestSymbolFrom(op, symbol), /*isMade=*/false);
  OpBuilder atModule(op);
  auto program = [&] { return createWindow(atModule, op->getLoc(), mask.getLeft(), mask.getRight()); };
  bool isFast = (mask.isCausal() && !options.ofPairs) || options.keysHeld;
  if (options.listed) {
    if (!mask.isAll())
      add(ofMask, program(), /*isMade=*/true);
    // A last key that is no later than the last of all hides what is behind that.
    if (mask.getRight().value_or(1) > 0 && !options.keysHeld) {
      Programs made;
      add(made, createEnd(atModule, op->getLoc()), /*isMade=*/true);
      end = std::move(made.front());
    }
  } else if (!mask.isAll() && !isFast) {
    add(mods, program(), /*isMade=*/true);
  } else if (mask.isCausal() && !mods.empty() && options.narrows) {
    Programs made;
    add(made, program(), /*isMade=*/true);
    beside = std::move(made.front());
  }
  for (auto [programs, bounds] : {std::pair(&mods, &modBounds), std::pair(&ofMask, &maskBounds)})
    for (const auto &of : *programs)
      bounds->emplace_back(*of);
}

void Masks::add(Programs &programs, Operation *mask, bool isMade) {
  programs.push_back(
      std::make_unique<ModificationProgram>(mask, scores, options.orientation, options.ownLengths));
  if (isMade)
    mask->erase();
}

SmallVector<ModificationProgram *> Masks::own() const {
  SmallVector<ModificationProgram *> all;
  for (const auto &program : ofMask)
    all.push_back(program.get());
  for (ModificationProgram *program : {end.get(), beside.get()})
    if (program)
      all.push_back(program);
  return all;
}

SmallVector<ModificationProgram *> Masks::custom() const {
  return llvm::map_to_vector(mods, [](const auto &program) { return program.get(); });
}

void Masks::prepare(ExpansionBuilder &builder, const ScorePlace &place) {
  for (const auto *programs : {&mods, &ofMask})
    for (const auto &program : *programs)
      program->prepare(builder, place);
  if (end)
    end->prepare(builder, place);
  for (auto *bounds : {&modBounds, &maskBounds})
    for (MaskBounds &of : *bounds)
      of.prepare(place);
}

void Masks::prepareCuts(ExpansionBuilder &builder, QueryRange rows) {
  for (auto *bounds : {&modBounds, &maskBounds})
    for (MaskBounds &of : *bounds)
      of.prepareCuts(builder, rows);
  for (size_t index = 1; index < modBounds.size(); ++index)
    for (size_t before = 0; before != index; ++before)
      modBounds[index].leaveTo(builder, modBounds[before]);
}

SmallVector<KeyBounds> Masks::visible(ExpansionBuilder &builder, const ScorePlace &place, QueryRange rows) {
  SmallVector<MaskBounds *> all = llvm::map_to_vector(modBounds, [](MaskBounds &bounds) { return &bounds; });
  std::optional<MaskBounds> ofDiagonal;
  if (beside) {
    beside->prepare(builder, place);
    ofDiagonal.emplace(*beside);
    ofDiagonal->prepare(place);
    all.push_back(&*ofDiagonal);
  }
  return MaskBounds::visible(builder, all, rows);
}

SmallVector<KeyBounds> Masks::visibleQueries(ExpansionBuilder &builder, QueryRange keys, QueryRange queries) {
  SmallVector<MaskBounds *> all = llvm::map_to_vector(modBounds, [](MaskBounds &bounds) { return &bounds; });
  return MaskBounds::visibleQueries(builder, all, keys, queries);
}

Value Masks::hideOwn(ExpansionBuilder &builder, Value hidden, const ScorePlace &here, Value last,
                     function_ref<Value()> mayEnd) const {
  if (options.keysHeld) {
    for (const auto &program : ofMask)
      hidden = program->hide(builder, hidden, program->yielded(), Value(), here);
    return hidden;
  }
  for (const MaskBounds &bounds : maskBounds)
    hidden = bounds.hide(builder, hidden, here, last, Value());
  // In the block in which keys end all tiles ask.
  return end ? end->hide(builder, hidden, end->yielded(), mayEnd(), here, /*rarely=*/true) : hidden;
}

Value Masks::hide(ExpansionBuilder &builder, Value hidden, const ScorePlace &here, Value last, Value counts) const {
  if (options.keysHeld) {
    // Where queries pass, what would tell the tiles that are cut takes scalar registers that the loop does not have.
    for (const auto &program : mods)
      hidden = program->hide(builder, hidden, program->yielded(), counts, here);
    return hidden;
  }
  for (const MaskBounds &bounds : modBounds)
    hidden = bounds.hide(builder, hidden, here, last, counts);
  return hidden;
}
