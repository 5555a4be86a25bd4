// tile-allocate-lds: where each ring lies in LDS, and in which layout.
//
// The layout is found, not typed in: the layout library searches what the LDS DMA can write (or, of
// a ring whose tiles pass through registers, what stores can) for the one that the kernel's own
// accesses hit with the fewest bank conflicts.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentPut.h"
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/Transforms/Passes.h"

#include "IR/ElementTypes.h"
#include "Layout/LdsSearch.h"
#include "Layout/LdsStaging.h"
#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/Occupancy.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::tile {
#define GEN_PASS_DEF_ALLOCATELDSPASS
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// Rings start at multiples of what one wave's LDS DMA writes.
static constexpr int64_t kRingAlignment = 1024;
/// What waves exchange is accessed number by number.
static constexpr int64_t kExchangeAlignment = 256;

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

static bool isStore(const LdsUse &use) {
  return use.instruction >= LdsInstruction::WriteB32;
}

static Result<LdsTileChoice> chooseLayout(RingOp ring, int64_t waves, const ArchInfo &arch) {
  Result<std::vector<LdsUse>> uses = collectUses(ring, arch);
  if (!uses)
    return uses.error();
  if (llvm::all_of(*uses, isStore))
    return invalidInput(
        "nothing reads it, so there is nothing to choose by; remove it or write its layout");
  LdsTileRequest request;
  request.rows = ring.getRing().getType().getShape()[0];
  request.rowBytes = ring.getRing().getType().getShape()[1] * bytesOf(ring.getRing().getType().getElementType());
  // Reads of gathered rows tear apart what a lane stores: element by element then, at any price.
  bool gathers = llvm::any_of(*uses, [](const LdsUse &use) { return !use.gatheredRows.empty(); });
  if (gathers)
    llvm::erase_if(*uses, isStore);
  bool computed = isComputed(ring) && !gathers;
  request.uses = *uses;
  request.dmaWaves = computed ? 0 : waves;
  request.vectors = ring.getTileVectors();
  if (ring.getUnpadded())
    request.maxPadding = 0;
  if (computed)
    return findLdsLayout(request, arch.lds.access);
  return passesRegisters(ring) ? findStagedLdsLayout(request, arch.lds.access)
                               : findLdsLayout(request, arch.lds.access);
}

namespace {
/// What a ring, or an op that exchanges numbers, has of LDS, in bytes.
struct Extent {
  Operation *owner;
  int64_t begin, end;
};
} // namespace

static LogicalResult verifyDisjoint(SmallVector<Extent> extents) {
  llvm::sort(extents, [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i - 1].end <= extents[i].begin)
      continue;
    StringRef other = isa<RingOp>(extents[i - 1].owner) ? "ring" : "op";
    auto diagnostic = extents[i].owner->emitOpError()
                      << "at(" << extents[i].begin << ") lies in another " << other
                      << ", which ends at " << extents[i - 1].end << "; move it, or leave 'at' out";
    diagnostic.attachNote(extents[i - 1].owner->getLoc()) << "the other " << other << " is here";
    return failure();
  }
  return success();
}

/// Ops whose waves keep to parts of their own get parts of the same size, or none.
static void agreeOnParts(KernelOp kernel) {
  int64_t largest = 0;
  auto unplaced = [](LdsScratchOpInterface op) {
    return op.keepsToWave() && !op.getLdsOffset() && op.getScratchBytes() != 0;
  };
  kernel.walk([&](LdsScratchOpInterface op) {
    if (unplaced(op))
      largest = std::max(largest, op.getLeastWaveBytes());
  });
  kernel.walk([&](LdsScratchOpInterface op) {
    if (unplaced(op))
      op.setWaveBytesAttr(Builder(kernel.getContext()).getI64IntegerAttr(largest));
  });
}

/// Behind the rings: those that keep to their wave share a place, the others have one each.
static void placeScratch(KernelOp kernel, int64_t &end, SmallVectorImpl<Extent> &extents) {
  agreeOnParts(kernel);
  Builder builder(kernel.getContext());
  IntegerAttr shared;
  llvm::DenseSet<std::pair<int64_t, int64_t>> sharedExtents;
  kernel.walk<WalkOrder::PreOrder>([&](LdsScratchOpInterface op) {
    int64_t bytes = op.getScratchBytes();
    if (bytes == 0)
      return;
    if (!op.getLdsOffset()) {
      IntegerAttr place = builder.getI64IntegerAttr(llvm::alignTo(end, kExchangeAlignment));
      if (op.keepsToWave())
        place = shared = shared ? shared : place;
      op.setLdsOffsetAttr(place);
    }
    int64_t begin = *op.getLdsOffset();
    end = std::max<int64_t>(end, begin + bytes);
    if (!op.keepsToWave() || sharedExtents.insert({begin, bytes}).second)
      extents.push_back({op, begin, begin + bytes});
  });
}

static LogicalResult allocate(KernelOp kernel, bool remarks) {
  Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
  if (!arch)
    return kernel.emitOpError() << arch.error().message;
  Builder builder(kernel.getContext());
  SmallVector<RingOp> rings;
  kernel.walk<WalkOrder::PreOrder>([&](RingOp ring) { rings.push_back(ring); });
  // What a hand has placed comes first: the others go behind it.
  int64_t end = ldsEnd(kernel);
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
    int64_t begin = *ring.getLdsOffset(), bytes = *ring.getDepth() * ring.getSlotBytes();
    extents.push_back({ring, begin, begin + bytes});
    if (ring.getApart())
      extents.push_back({ring, ring.getLdsEnd() - bytes, ring.getLdsEnd()});
    end = std::max(end, ring.getLdsEnd());
  }
  placeScratch(kernel, end, extents);
  if (failed(verifyDisjoint(extents)))
    return failure();
  int64_t available = (*arch)->lds.bytesPerWorkgroup;
  auto workgroups = kernel->getAttrOfType<IntegerAttr>(kWorkgroupsAttr);
  if (workgroups)
    available = std::min<int64_t>(available, maxLdsFor(**arch, workgroups.getInt()));
  if (end <= available)
    return success();
  auto diagnostic = kernel.emitOpError() << "needs " << end << " bytes of LDS, " << kernel.getTarget() << " has "
                                         << available;
  if (workgroups)
    diagnostic << " for each of " << workgroups.getInt() << " workgroups on a compute unit";
  for (RingOp ring : rings)
    diagnostic.attachNote(ring.getLoc())
        << "this ring takes " << *ring.getDepth() << " x " << ring.getSlotBytes()
        << " bytes; use a smaller tile or a schedule of less depth";
  for (const Extent &extent : extents)
    if (auto op = dyn_cast<LdsScratchOpInterface>(extent.owner))
      diagnostic.attachNote(op.getLoc())
          << "this exchange takes " << op.getScratchBytes() << " bytes; "
          << (op.keepsToWave() ? "use smaller fragments, or fewer waves"
                               : "combine fewer numbers at once");
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
