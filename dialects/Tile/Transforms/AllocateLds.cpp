// tile-allocate-lds: where each ring lies in LDS, and in which layout.
//
// The layout is found, not typed in: the layout library searches what the LDS DMA can write (or, of
// a ring whose tiles pass through registers, what stores can) for the one that the kernel's own
// accesses hit with the fewest bank conflicts.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"

#include "hocket/Layout/LdsSearch.h"
#include "hocket/Layout/LdsStaging.h"
#include "hocket/Target/Arch/ArchInfo.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::tile {
#define GEN_PASS_DEF_ALLOCATELDSPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

#define DEBUG_TYPE "tile-allocate-lds"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Rings start at multiples of what one wave's LDS DMA writes.
static constexpr int64_t kRingAlignment = 1024;

/// Every way in which the ring is accessed that its layout must suit, once.
static Result<std::vector<LdsUse>> collectUses(RingOp ring, const ArchInfo &arch) {
  std::vector<LdsUse> uses;
  for (Operation *user : ring.getRing().getUsers()) {
    auto access = dyn_cast<RingAccessOpInterface>(user);
    if (!access)
      continue;
    Result<std::optional<LdsUse>> found = access.getLdsUse(arch);
    if (!found)
      return found.error();
    const std::optional<LdsUse> &use = *found;
    bool known = !use || llvm::any_of(uses, [&](const LdsUse &other) {
      return other.instruction == use->instruction && other.access.equivalent(use->access);
    });
    if (!known)
      uses.push_back(*use);
  }
  return uses;
}

/// Whether all that is written to the ring can be written by the target, in one way.
static LogicalResult verifyWriters(RingOp ring, const ArchInfo &arch) {
  RingAccessOpInterface fetch, put;
  for (Operation *user : ring.getRing().getUsers())
    if (auto access = dyn_cast<RingAccessOpInterface>(user); access && access.writesSlot())
      (access.isAsynchronous() ? fetch : put) = access;
  if (fetch && put) {
    auto diagnostic = put->emitOpError() << "puts into ring '" << ring.getBindingName()
                                        << "', which is fetched into too; use one of both";
    diagnostic.attachNote(fetch->getLoc()) << "the fetch is here";
    return diagnostic;
  }
  if (fetch && !arch.hasLdsDma(kDmaBytes))
    return fetch->emitOpError() << "needs loads of " << kDmaBytes << " bytes to LDS, which "
                                << arch.name
                                << " does not have; use 'tile.load_part' and 'tile.put'";
  return success();
}

static Result<LdsTileChoice> chooseLayout(RingOp ring, int64_t waves, const ArchInfo &arch) {
  Result<std::vector<LdsUse>> uses = collectUses(ring, arch);
  if (!uses)
    return uses.error();
  if (uses->empty())
    return invalidInput(
        "nothing reads it, so there is nothing to choose by; remove it or write its layout");
  LdsTileRequest request;
  request.rows = ring.getRing().getType().getShape()[0];
  request.rowBytes = ring.getRing().getType().getShape()[1] * 2;
  request.uses = *uses;
  request.dmaWaves = waves;
  if (ring.getUnpadded())
    request.maxPadding = 0;
  return passesRegisters(ring) ? findStagedLdsLayout(request, arch.lds.access)
                               : findLdsLayout(request, arch.lds.access);
}

namespace {
/// A ring's place in LDS, in bytes.
struct Extent {
  RingOp ring;
  int64_t begin, end;
};
} // namespace

static LogicalResult verifyDisjoint(SmallVector<Extent> extents) {
  llvm::sort(extents, [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i - 1].end <= extents[i].begin)
      continue;
    auto diagnostic = extents[i].ring.emitOpError()
                      << "at(" << extents[i].begin << ") lies in another ring, which ends at "
                      << extents[i - 1].end << "; move it, or leave 'at' out";
    diagnostic.attachNote(extents[i - 1].ring.getLoc()) << "the other ring is here";
    return failure();
  }
  return success();
}

static LogicalResult allocate(KernelOp kernel, bool remarks) {
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  if (!arch)
    return kernel.emitOpError() << arch.error().message;
  Builder builder(kernel.getContext());
  int64_t end = 0;
  SmallVector<RingOp> rings;
  kernel.walk<WalkOrder::PreOrder>([&](RingOp ring) { rings.push_back(ring); });
  // Rings that a hand has placed come first: the others go behind them.
  for (RingOp ring : rings)
    if (ring.getLdsOffset() && ring.getDepth() && ring.getLayout())
      end = std::max<int64_t>(end, *ring.getLdsOffset() + *ring.getDepth() * ring.getSlotBytes());
  SmallVector<Extent> extents;
  for (RingOp ring : rings) {
    if (!ring.getDepth())
      return ring.emitOpError("has no depth; run 'tile-pipeline' first");
    if (failed(verifyWriters(ring, **arch)))
      return failure();
    if (!ring.getLayout() && !llvm::isPowerOf2_64(kernel.getWaves()))
      return ring.emitOpError() << "cannot be fetched by " << kernel.getWaves()
                                << " waves, which do not share a tile's "
                                << ring.getRing().getType().getShape()[0]
                                << " rows evenly; use 1, 2, 4, 8 or 16 waves";
    if (!ring.getLayout()) {
      Result<LdsTileChoice> choice = chooseLayout(ring, kernel.getWaves(), **arch);
      if (!choice)
        return ring.emitOpError() << "has no layout in LDS: " << choice.error().message;
      ring.setLayoutAttr(toAttr(kernel.getContext(), choice->layout));
      if (remarks)
        ring.emitRemark() << choice->layout.bytes() << " bytes a tile, " << choice->conflicts()
                          << " cycles of bank conflicts in one wave's "
                          << (passesRegisters(ring) ? "accesses to it" : "reads of it");
    }
    if (!ring.getLdsOffset())
      ring.setLdsOffsetAttr(builder.getI64IntegerAttr(llvm::alignTo(end, kRingAlignment)));
    int64_t begin = *ring.getLdsOffset(), ringEnd = begin + *ring.getDepth() * ring.getSlotBytes();
    extents.push_back({ring, begin, ringEnd});
    end = std::max<int64_t>(end, ringEnd);
  }
  if (failed(verifyDisjoint(extents)))
    return failure();
  if (end <= static_cast<int64_t>((*arch)->lds.bytesPerWorkgroup))
    return success();
  auto diagnostic = kernel.emitOpError()
                    << "needs " << end << " bytes of LDS, " << kernel.getTarget() << " has "
                    << (*arch)->lds.bytesPerWorkgroup;
  for (RingOp ring : rings)
    diagnostic.attachNote(ring.getLoc())
        << "this ring takes " << *ring.getDepth() << " x " << ring.getSlotBytes()
        << " bytes; use a smaller tile or a schedule of less depth";
  return diagnostic;
}

namespace {
struct AllocateLdsPass : hocket::tile::impl::AllocateLdsPassBase<AllocateLdsPass> {
  using Base::Base;
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](KernelOp kernel) {
      return failed(allocate(kernel, remarks)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
