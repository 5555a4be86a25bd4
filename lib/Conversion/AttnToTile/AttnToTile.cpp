// convert-attn-to-tile: from a problem to a kernel on tiles.
//
// This file decides the shape of the kernel's tiles and which schedule it follows; the kernel
// itself is written by concern: frame (KernelFrame.h), who works on what (WorkPartition.h), which
// keys a row sees (Visibility.h), the softmax (Softmax.h), and the formulas that they make
// (Forward.cpp, Backward.cpp).
#include "Conversion/Passes.h"
#include "Conversion/TileShape.h"

#include "Backward.h"
#include "Combine.h"
#include "ExpansionBuilder.h"
#include "Forward.h"
#include "LoopContext.h"
#include "MakeBlockLists.h"
#include "MakeWorkList.h"
#include "QuerySums.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/WorkItems.h"

#include "hocket/Grid/WorkItem.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTATTNTOTILEPASS
#include "Conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

/// A workgroup has at most 1024 work-items.
/// Tiles are whole accumulator blocks.
static constexpr int64_t kMinKeys = 32, kMaxKeys = 256;

template <typename ProblemOp> static LogicalResult verifyHeads(ProblemOp op) {
  for (auto [name, dim] : op.getHeadDims())
    if (dim % kHeadUnit != 0 || dim > kMaxHead)
      return op.emitOpError() << name << "(" << dim << ") of '" << op.getSymName()
                              << "' is not supported, use a multiple of " << kHeadUnit << " up to "
                              << kMaxHead;
  return success();
}

/// Keys that a product of operands of 4 bits takes at once.
static constexpr int64_t kTinyDepth = 64;

static InFlightDiagnostic refuseTypes(attn::ForwardOp op, StringRef tensor, StringRef other) {
  return op.emitOpError() << "'" << op.getSymName() << "' has '" << tensor << "' of " << op.getTensorType(tensor) << " and '"
                          << other << "' of " << op.getTensorType(other);
}

/// Integers of 8 bits are both Q and K, beside any V that there are weights for.
static LogicalResult verifyIntegers(attn::ForwardOp op) {
  if (op.getTensorType("q") != op.getTensorType("k"))
    return refuseTypes(op, "q", "k") << ", which no kernel mixes; give both i8";
  if (!op.getTensorType("v").isF32())
    return success();
  return refuseTypes(op, "q", "v") << ", which no kernel mixes; give 'v' 8 or 16 bits";
}

/// Of 16 bits the same, of 8 bits any, and any of 8 bits as what Q is. What has 4 bits is multiplied by what has 8 or 4.
static LogicalResult verifyFloats(attn::ForwardOp op) {
  Type q = op.getTensorType("q");
  for (StringRef name : {"k", "v"})
    if (Type type = op.getTensorType(name); type != q && (!isSmall(type) || q.isF32()))
      return refuseTypes(op, "q", name) << ", which no kernel mixes; give both one type";
  if (isSmall(op.getTensorType("k")) != isSmall(op.getTensorType("v")))
    return refuseTypes(op, "k", "v") << ", which no kernel mixes; give both 8 bits or both 16";
  if (Type k = op.getTensorType("k"); bitsOf(k) < 8 && !isSmall(q))
    return refuseTypes(op, "q", "k") << ", which no kernel mixes; give 'q' 8 or 4 bits";
  if (Type v = op.getTensorType("v"); bitsOf(v) < 8 && !isSmall(q))
    return refuseTypes(op, "q", "v") << ", which no kernel mixes; give 'q' 8 or 4 bits";
  return success();
}

/// Which types meet in a product.
static LogicalResult verifyTypes(attn::ForwardOp op, const ArchInfo &arch) {
  Type q = op.getTensorType("q"), k = op.getTensorType("k");
  if (failed(q.isInteger() || k.isInteger() ? verifyIntegers(op) : verifyFloats(op)))
    return failure();
  if (Type o = op.getTensorType("o"); !isSmall(q) && o != q && !isSmall(o))
    return refuseTypes(op, "q", "o") << ", which no kernel writes; give both one type";
  if (isSmall(k) && !arch.hasTransposedRead(bitsOf(op.getTensorType("v"))))
    return op.emitOpError() << "'" << op.getSymName() << "' has keys of 8 bits, whose values are read transposed, which "
                            << arch.name << " cannot; use bf16 or f16";
  if (std::optional<int64_t> keys = op.getKvTile(); keys && *keys < kTinyDepth && bitsOf(op.getTensorType("v")) < 8)
    return op.emitOpError() << "'" << op.getSymName() << "' has kv_tile(" << *keys << ") and 'v' of " << op.getTensorType("v")
                            << ", of which a product takes " << kTinyDepth << " keys; use a multiple of that";
  return success();
}

/// What the expansion cannot do, by name.
static LogicalResult verifyExpandable(attn::ForwardOp op, const ArchInfo &arch) {
  if (failed(verifyTypes(op, arch)))
    return failure();
  if (op.getGroupRows() && op.getDropout())
    return op.emitOpError() << "'" << op.getSymName()
                            << "' has 'dropout', whose numbers are made for rows of one head, and 'group_rows', in "
                               "which rows are heads; remove one of them";
  if (op.getWorkList() && op.getWaves() && *op.getWaves() != attention::kWorkWaves)
    return op.emitOpError() << "'" << op.getSymName() << "' has waves(" << static_cast<int64_t>(*op.getWaves())
                            << ") and work_list, whose entries are for " << attention::kWorkWaves << "; leave waves out";
  if (std::optional<int64_t> workgroups = op.getWorkgroups();
      workgroups && (*workgroups < 1 || *workgroups > tile::kMaxWorkgroups))
    return op.emitOpError() << "'" << op.getSymName() << "' has workgroups(" << *workgroups << "), expected 1 to "
                            << tile::kMaxWorkgroups;
  bool ownLengths = op.getPackedQueries() || op.getPackedKeys() || op.getQueryLengths() || op.getKeyLengths();
  if (op.getKeyBlock() && (op.getGroupRows() || ownLengths))
    return op.emitOpError() << "'" << op.getSymName()
                            << "' has block lists, which are of queries of one head and of one length for all, and "
                            << (op.getGroupRows() ? "'group_rows'" : "sequences of lengths of their own")
                            << "; remove one of them";
  return verifyHeads(op);
}

static LogicalResult verifyExpandable(attn::BackwardOp op) { return verifyHeads(op); }

/// A fused loop reads K and dS transposed, and its sums are added in memory.
static LogicalResult verifyTarget(attn::BackwardOp op, const ArchInfo &arch) {
  if (op.getPart() != attn::BackwardPart::Fused)
    return success();
  if (!arch.hasTransposedRead(bitsOf(op.getElementType())) || !arch.hasLdsDma(tile::kDmaBytes))
    return op.emitOpError() << "'" << op.getSymName() << "' reads tiles transposed from LDS and loads 16 bytes to it, which "
                            << arch.name << " cannot; use parts dkdv and dq";
  if (op.getLoopTile())
    return op.emitOpError() << "'" << op.getSymName()
                            << "' has loop_tile, but how many queries an iteration has follows from the waves; leave it out";
  return success();
}

/// The waves of a fused loop share dQ's columns, of which there are a power of two, in whole blocks.
static LogicalResult verifyFused(attn::BackwardOp op, const BackwardShape &shape) {
  if (op.getPart() != attn::BackwardPart::Fused)
    return success();
  int64_t columns = QuerySums::columnsOf(op), parts = shape.waves / shape.tilesAtOnce;
  if (parts > 0 && llvm::isPowerOf2_64(shape.waves) && columns % (parts * kHeadBlock) == 0)
    return success();
  return op.emitOpError() << "'" << op.getSymName() << "' has waves(" << shape.waves << "), which would share "
                          << columns << " columns of dQ in " << parts << " parts of less than a block of " << kHeadBlock
                          << "; use " << shape.tilesAtOnce << " to " << columns / kHeadBlock * shape.tilesAtOnce
                          << ", a power of two, or leave it out";
}

/// Blocks of lists are whole tiles, and have all rows of a workgroup.
static LogicalResult verifyBlocks(attn::ForwardOp op, TileShape shape) {
  if (!op.getKeyBlock())
    return success();
  int64_t rows = shape.waves * kWaveRows, queries = *op.getQueryBlock(), keys = *op.getKeyBlock();
  if (queries < 1 || queries % rows != 0)
    return op.emitOpError() << "'" << op.getSymName() << "' has blocks of " << queries
                            << " queries, expected a multiple of the " << rows << " of a workgroup of "
                            << shape.waves << " waves; use fewer waves, or larger blocks";
  if (keys < 1 || keys % shape.kvTile != 0)
    return op.emitOpError() << "'" << op.getSymName() << "' has blocks of " << keys
                            << " keys, expected a multiple of the " << shape.kvTile
                            << " of a tile; use smaller tiles, or larger blocks";
  return success();
}

/// The same where keys may be held instead, and queries pass.
static LogicalResult verifyBlocks(attn::BackwardOp op, TileShape shape) {
  if (!op.getKeyBlock() || !op.isLoop())
    return success();
  bool holdsKeys = op.getPart() != attn::BackwardPart::Dq;
  int64_t rows = shape.waves * kWaveRows, queries = *op.getQueryBlock(), keys = *op.getKeyBlock();
  int64_t held = holdsKeys ? keys : queries, passing = holdsKeys ? queries : keys;
  StringRef ofHeld = holdsKeys ? "keys" : "queries", ofPassing = holdsKeys ? "queries" : "keys";
  if (held < 1 || held % rows != 0)
    return op.emitOpError() << "'" << op.getSymName() << "' has blocks of " << held << " " << ofHeld
                            << ", expected a multiple of the " << rows << " of a workgroup of " << shape.waves
                            << " waves; use fewer waves, or larger blocks";
  if (passing < 1 || passing % shape.kvTile != 0)
    return op.emitOpError() << "'" << op.getSymName() << "' has blocks of " << passing << " " << ofPassing
                            << ", expected a multiple of the " << shape.kvTile
                            << " of a tile; use smaller tiles, or larger blocks";
  return success();
}

/// Each wave's part of a tile is whole blocks of keys; of V it is read from tiles with a power of two of columns.
static LogicalResult verifyWaves(attn::ForwardOp op, TileShape shape) {
  if (!op.getSplitWaves())
    return success();
  const int64_t columns = llvm::alignTo(op.getValueHeadDim(), kHeadBlock);
  if (!llvm::isPowerOf2_64(columns))
    return op.emitOpError() << "'" << op.getSymName() << "' has split_waves, and tiles of V of " << columns
                            << " columns, expected a power of two; leave split_waves out";
  if (llvm::isPowerOf2_64(shape.waves) && shape.kvTile % (shape.waves * kMinKeys) == 0)
    return success();
  return op.emitOpError() << "'" << op.getSymName() << "' has split_waves, and " << shape.waves << " waves for tiles of "
                          << shape.kvTile << " keys, expected " << kMinKeys << " keys or more for each wave of a power of two";
}

template <typename ProblemOp> static LogicalResult verifyShape(ProblemOp op, TileShape shape) {
  if (shape.waves < 1 || shape.waves > kMaxWaves)
    return op.emitOpError() << "'" << op.getSymName() << "' has " << shape.waves
                            << " waves, expected 1 to " << kMaxWaves;
  int64_t keys = shape.kvTile;
  if (keys >= kMinKeys && keys <= kMaxKeys && llvm::isPowerOf2_64(keys))
    return verifyBlocks(op, shape);
  return op.emitOpError() << "'" << op.getSymName() << "' has tiles of " << keys
                          << (isa<attn::ForwardOp>(op) ? " keys" : " rows") << ", expected " << kMinKeys << ", 64, 128 or " << kMaxKeys;
}

namespace {
struct ConvertAttnToTilePass : hocket::impl::ConvertAttnToTilePassBase<ConvertAttnToTilePass> {
  using Base::Base;

  LogicalResult expand(attn::ForwardOp op) {
    FlatSymbolRefAttr symbol = op.getScheduleAttr();
    if (!symbol && !schedule.empty())
      symbol = FlatSymbolRefAttr::get(op.getContext(), schedule);
    if (!symbol)
      return op.emitOpError() << "'" << op.getSymName()
                              << "' names no schedule; add schedule(@name) or give the pass one";
    Result<const ArchInfo *> arch = findArch(target);
    if (!arch)
      return op.emitOpError() << arch.error().message;
    if (failed(verifyExpandable(op, **arch)))
      return failure();
    auto found = SymbolTable::lookupNearestSymbolFrom<tile::ScheduleOp>(op, symbol);
    TileShapeConstraints constraints = constraintsOf(op, found);
    TileShape shape = shapeFor(op, **arch, constraints);
    if (failed(verifyShape(op, shape)) || failed(verifyWaves(op, shape)))
      return failure();
    FailureOr<tile::KernelOp> built = buildForward(op, symbol, **arch, shape);
    if (failed(built))
      return failure();
    tile::KernelOp kernel = *built;
    // What the schedule keeps in registers is seen on the loop: if it is more than was assumed, the
    // kernel is written again in the shape for that.
    auto loops = kernel.getBody().getOps<tile::ForTilesOp>();
    constraints.bothOperands = found && holdsBothOperands(*loops.begin(), found);
    TileShape settled = shapeFor(op, **arch, constraints);
    if (settled != shape) {
      kernel.erase();
      if (failed(verifyShape(op, settled)))
        return failure();
      kernel = *buildForward(op, symbol, **arch, settled);
    }
    noteShape(kernel, symbol, settled, shapeFor(op, **arch, constraintsOf(op, {})));
    if (IntegerAttr workgroups = op.getWorkgroupsAttr() ? op.getWorkgroupsAttr()
                                 : found                ? found.getWorkgroupsAttr()
                                                        : IntegerAttr())
      kernel->setAttr(tile::kWorkgroupsAttr, workgroups);
    for (StringRef name : {StringRef(tile::kPersistentAttr), StringRef(tile::kJoinItemsAttr)})
      if (Attribute attribute = op->getDiscardableAttr(name))
        kernel->setAttr(name, attribute);
    // Scores of keys that are not there are hidden, whatever the modifications say.
    if (kernel->hasAttr(tile::kJoinItemsAttr))
      kernel.walk([&](tile::ForTilesOp loop) { loop->setAttr(tile::kIdleTilesAttr, UnitAttr::get(loop.getContext())); });
    op.erase();
    return success();
  }

  /// A part of a backward. Only loops follow a schedule.
  LogicalResult expand(attn::BackwardOp op) {
    FlatSymbolRefAttr symbol = op.getScheduleAttr();
    if (!symbol && op.isLoop())
      return op.emitOpError() << "'" << op.getSymName()
                              << "' names no schedule; add schedule(@name) or give the pass one";
    if (failed(verifyExpandable(op)))
      return failure();
    for (StringRef name : {StringRef(tile::kPersistentAttr), StringRef(tile::kJoinItemsAttr)})
      if (op->hasAttr(name))
        return op.emitOpError() << "'" << op.getSymName() << "' has " << name
                                << ", which a backward does not take; leave it out";
    Result<const ArchInfo *> arch = findArch(target);
    if (!arch)
      return op.emitOpError() << arch.error().message;
    auto found = symbol ? SymbolTable::lookupNearestSymbolFrom<tile::ScheduleOp>(op, symbol) : tile::ScheduleOp();
    if (failed(verifyTarget(op, **arch)))
      return failure();
    BackwardShape shape = backwardShape(op, **arch, found);
    if (failed(verifyShape(op, shape)) || failed(verifyFused(op, shape)) || failed(buildBackward(op, symbol, **arch, shape)))
      return failure();
    op.erase();
    return success();
  }

  /// Says, for reports, what the schedule made of waves and tile.
  static void noteShape(tile::KernelOp kernel, FlatSymbolRefAttr schedule, TileShape shape,
                        TileShape usual) {
    if (shape == usual)
      return;
    std::string note = ("schedule '" + schedule.getValue() + "' makes it " + Twine(shape.waves) +
                        " waves and tiles of " + Twine(shape.kvTile) + " keys; without it " +
                        Twine(usual.waves) + " and " + Twine(usual.kvTile))
                           .str();
    kernel->setAttr("tile.shape_note", StringAttr::get(kernel.getContext(), note));
  }

  static TileShape shapeFor(attn::ForwardOp op, const ArchInfo &arch,
                            const TileShapeConstraints &constraints) {
    Type q = op.getElementType(), k = op.getTensorType("k"), v = op.getTensorType("v");
    HeadWidths head{countInMemory(k, llvm::alignTo(op.getHeadDim(), kHeadBlock)),
                    countInMemory(v, llvm::alignTo(op.getValueHeadDim(), kHeadBlock)), bytesOf(inMemory(k)),
                    std::max(bytesOf(inMemory(q)), bytesOf(inMemory(v))),
                    int64_t(llvm::alignTo(op.getValueHeadDim(), kHeadBlock))};
    TileShape shape = chooseTileShape(arch, head, constraints);
    // An operand of 4 bits is deeper.
    if (!constraints.kvTile && bitsOf(v) < 8)
      shape.kvTile = std::max(shape.kvTile, kTinyDepth);
    return shape;
  }

  /// What the op asks for, else the schedule, else the pass's options.
  TileShapeConstraints constraintsOf(attn::ForwardOp op, tile::ScheduleOp found) {
    TileShapeConstraints result{op.getWaves(), op.getKvTile()};
    // What a list's entries are made for.
    if (op.getWorkList())
      result.waves = attention::kWorkWaves;
    if (!result.waves && found)
      result.waves = found.getWaves();
    if (!result.waves && waves != 0)
      result.waves = waves;
    if (!result.kvTile && kvTile != 0)
      result.kvTile = kvTile;
    return result;
  }

  void runOnOperation() override {
    SmallVector<attn::ForwardOp> problems(getOperation().getOps<attn::ForwardOp>());
    for (attn::ForwardOp problem : problems)
      if (failed(expand(problem)))
        return signalPassFailure();
    SmallVector<attn::BackwardOp> backwards(getOperation().getOps<attn::BackwardOp>());
    for (attn::BackwardOp backward : backwards)
      if (failed(expand(backward)))
        return signalPassFailure();
    SmallVector<attn::BlockListsOp> lists(getOperation().getOps<attn::BlockListsOp>());
    for (attn::BlockListsOp list : lists)
      if (failed(expandBlockLists(list, target)))
        return signalPassFailure();
    SmallVector<attn::TransposedListsOp> transposed(getOperation().getOps<attn::TransposedListsOp>());
    for (attn::TransposedListsOp list : transposed)
      if (failed(expandTransposedLists(list, target)))
        return signalPassFailure();
    SmallVector<attn::WorkListOp> work(getOperation().getOps<attn::WorkListOp>());
    for (attn::WorkListOp list : work)
      if (failed(expandWorkList(list, target)))
        return signalPassFailure();
    // Nothing names them any more.
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<attn::ScoreModOp, attn::MaskModOp>(op))
        op.erase();
    SmallVector<attn::CombineOp> combines(getOperation().getOps<attn::CombineOp>());
    for (attn::CombineOp combine : combines)
      if (failed(expandCombine(combine, target)))
        return signalPassFailure();
  }
};
} // namespace
