// A model of LDS, wave groups and wait counters, fed with a trace of the clusters stage.
#include "Tile/Transforms/ClusterReplay.h"

#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/WorkItems.h"

#include "Layout/LdsDma.h"

#include <array>

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

namespace {
/// Barriers that wave group 0 and 1 have passed.
using Epochs = std::array<int64_t, 2>;

/// What brought a slot its content: a fetch, or a put.
struct Fetch {
  const ClusterEvent *event;
  Epochs issued;
  bool complete = false;
  Epochs completed = {};
  Operation *wait = nullptr;     ///< that completed it, or the last that did not
  int64_t newerInstructions = 0; ///< of this wave, when `wait` stood

  bool isPut() const { return event->isPut(); }
};

struct Read {
  const ClusterEvent *event;
  Epochs issued;
  bool complete = false;
  Epochs completed = {};
};

/// A range of LDS and what it holds.
struct Slot {
  const RingInfo *ring;
  int64_t begin, end;
  std::optional<Fetch> content;
  const ClusterEvent *clobber = nullptr; ///< the fetch of another ring that destroyed the content
  SmallVector<Read> reads;               ///< of the content
};

/// A fetch into a slot of a ring; or, of no ring, loads into registers, so many at least.
struct Issued {
  std::pair<Operation *, int64_t> slot;
  int64_t loads = 0;
  Epochs epochs = {};
};

/// A use of LDS that two waves share, one of each group.
struct SharedUse {
  const ClusterEvent *event;
  Epochs issued;
  bool complete = false;
  Epochs completed = {};
};

class Replay {
public:
  Replay(const RingInfos &rings, int64_t groups, std::string tiles)
      : rings(rings), groups(groups), tiles(std::move(tiles)) {}

  LogicalResult run(const ClusterTrace &trace);

private:
  LogicalResult fetch(const ClusterEvent &event);
  LogicalResult overwrite(Slot &slot, const ClusterEvent &event);
  LogicalResult overwritesRead(const Slot &slot, const ClusterEvent &event, const Read &read,
                               int64_t reader, int64_t writer);
  LogicalResult read(const ClusterEvent &event);
  LogicalResult verifyComplete(const Slot &slot, const ClusterEvent &event);
  void completeLdsAccesses(WaitOp op);
  bool isLater(const Epochs &when, const Epochs &than) const;
  void wait(WaitOp op);
  void barrier(BarrierOp op);
  LogicalResult end();
  LogicalResult verifyShared();
  FailureOr<Slot *> slotOf(const ClusterEvent &event);

  InFlightDiagnostic error(const ClusterEvent &event);
  std::string overwriting(const Slot &slot, const ClusterEvent &event, int64_t tile) const;
  std::string when(const Epochs &epochs, int64_t group) const;
  std::string when(const Epochs &epochs) const;

  const RingInfos &rings;
  int64_t groups;
  std::string tiles;
  llvm::MapVector<std::pair<Operation *, int64_t>, Slot> slots;
  /// Slots whose content was fetched and not waited for, and loads into registers among them, oldest first.
  SmallVector<Issued> inFlight;
  Epochs epochs = {0, 0};
  SmallVector<BarrierOp> groupBarriers;
  std::vector<SharedUse> sharedUses;
};
} // namespace

// Messages

/// "step 'read_v'", or the op's name where it stands in no step.
static std::string stepOf(Operation *op) {
  if (auto step = op->getParentOfType<StepOp>())
    return "step '" + step.getSymName().str() + "'";
  return "'" + op->getName().getStringRef().str() + "'";
}

/// "wave group 1, epoch 14"; without a group where there is one.
std::string Replay::when(const Epochs &when, int64_t group) const {
  std::string epoch = "epoch " + std::to_string(when[group]);
  return groups == 1 ? epoch : "wave group " + std::to_string(group) + ", " + epoch;
}

/// "epochs 13 and 14" of the two wave groups.
std::string Replay::when(const Epochs &when) const {
  if (groups == 1)
    return "epoch " + std::to_string(when[0]);
  return "epochs " + std::to_string(when[0]) + " and " + std::to_string(when[1]);
}

InFlightDiagnostic Replay::error(const ClusterEvent &event) {
  return event.op->emitOpError() << "in " << stepOf(event.op) << " (" << when(epochs) << "), with "
                                 << tiles << ": ";
}

// Slots

/// Slots of the second half of a ring that alternates follow those of the first.
static std::pair<Operation *, int64_t> slotKey(const ClusterEvent &event, const RingInfo &ring) {
  return {RingOp(event.ring), event.slot + event.half * ring.depth};
}

FailureOr<Slot *> Replay::slotOf(const ClusterEvent &event) {
  Operation *ringOp = RingOp(event.ring);
  const RingInfo &ring = rings.find(ringOp)->second;
  if (event.slot < 0 || event.slot >= ring.depth)
    return error(event) << "uses slot " << event.slot << " of ring '" << ring.name
                        << "', which has " << ring.depth << "; take the tile modulo the depth";
  auto [place, isNew] = slots.insert({slotKey(event, ring), Slot()});
  if (isNew) {
    int64_t begin = ring.begin + event.half * ring.apart + event.slot * ring.slotBytes;
    place->second = {&ring, begin, begin + ring.slotBytes, std::nullopt, nullptr, {}};
  }
  return &place->second;
}

/// "fetches tile 4 of ring 'v' over tile 2"; "puts" where it does that.
std::string Replay::overwriting(const Slot &slot, const ClusterEvent &event, int64_t tile) const {
  const std::string &name = rings.find(RingOp(event.ring))->second.name;
  std::string text = event.isPut() ? "puts" : "fetches";
  text += " tile " + std::to_string(event.tile) + " of ring '" + name + "' over tile " +
          std::to_string(tile);
  return slot.ring->name == name ? text : text + " of ring '" + slot.ring->name + "'";
}

/// Whether everything that is in `slot` is done with, for all waves, so that `event` may write it.
LogicalResult Replay::overwrite(Slot &slot, const ClusterEvent &event) {
  if (slot.content && !slot.content->complete) {
    const Fetch &fetch = *slot.content;
    InFlightDiagnostic diagnostic = error(event) << overwriting(slot, event, fetch.event->tile)
                                                 << ", which is still being "
                                                 << (fetch.isPut() ? "put" : "fetched");
    diagnostic.attachNote(fetch.event->op->getLoc())
        << "by " << stepOf(fetch.event->op) << " (" << when(fetch.issued)
        << "); wait for it and read it first, or use another slot";
    return diagnostic;
  }
  for (const Read &read : slot.reads)
    for (int64_t reader = 0; reader != groups; ++reader)
      for (int64_t writer = 0; writer != groups; ++writer)
        if (!read.complete || read.completed[reader] >= epochs[writer])
          return overwritesRead(slot, event, read, reader, writer);
  slot.reads.clear();
  return success();
}

LogicalResult Replay::overwritesRead(const Slot &slot, const ClusterEvent &event, const Read &read,
                                     int64_t reader, int64_t writer) {
  InFlightDiagnostic diagnostic =
      error(event) << overwriting(slot, event, read.event->tile) << " (" << when(epochs, writer)
                   << "), which " << stepOf(read.event->op) << " may still be reading ("
                   << when(read.complete ? read.completed : read.issued, reader) << ")";
  Diagnostic &note = diagnostic.attachNote(read.event->op->getLoc());
  if (!read.complete)
    note << "the read is here and no wait completes it; put 'tile.wait lgkm(0)' in front of the "
            "barrier that ends its cluster";
  else if (event.ring != read.event->ring)
    note << "the read is here; give the rings LDS of their own";
  else
    note << "the read is here; " << (event.isPut() ? "put" : "fetch")
         << " one cluster later, read one cluster earlier, or give ring '" << slot.ring->name
         << "' one more slot";
  return diagnostic;
}

LogicalResult Replay::fetch(const ClusterEvent &event) {
  FailureOr<Slot *> target = slotOf(event);
  if (failed(target))
    return failure();
  for (auto &[key, slot] : slots) {
    if (slot.begin >= (*target)->end || slot.end <= (*target)->begin)
      continue;
    if (failed(overwrite(slot, event)))
      return failure();
    slot.content.reset();
    slot.clobber = &event;
  }
  (*target)->content = Fetch{&event, epochs};
  (*target)->clobber = nullptr;
  if (!event.isPut())
    inFlight.push_back({slotKey(event, *(*target)->ring), 0, epochs});
  return success();
}

LogicalResult Replay::read(const ClusterEvent &event) {
  FailureOr<Slot *> found = slotOf(event);
  if (failed(found))
    return failure();
  Slot &slot = **found;
  if (!slot.content) {
    InFlightDiagnostic diagnostic = error(event)
                                    << "reads tile " << event.tile << " of ring '"
                                    << slot.ring->name << "' from slot " << event.slot << ", "
                                    << (slot.clobber ? "which another ring has overwritten"
                                                     : "into which nothing was fetched");
    if (slot.clobber)
      diagnostic.attachNote(slot.clobber->op->getLoc())
          << "by " << stepOf(slot.clobber->op) << "; give the rings LDS of their own";
    else
      diagnostic.attachNote(RingOp(event.ring).getLoc())
          << "the ring is here; fetch the tile into this slot first";
    return diagnostic;
  }
  if (slot.content->event->tile != event.tile) {
    InFlightDiagnostic diagnostic = error(event)
                                    << "reads tile " << event.tile << " of ring '"
                                    << slot.ring->name << "' from slot " << event.slot
                                    << ", which holds tile " << slot.content->event->tile;
    diagnostic.attachNote(slot.content->event->op->getLoc())
        << stepOf(slot.content->event->op) << (slot.content->isPut() ? " put" : " fetched")
        << " that here (" << when(slot.content->issued)
        << "); the slot of a tile is the tile modulo the ring's depth, " << slot.ring->depth;
    return diagnostic;
  }
  if (failed(verifyComplete(slot, event)))
    return failure();
  slot.reads.push_back({&event, epochs});
  return success();
}

/// Whether all waves have waited for their share of what `slot` holds, and met at a barrier since.
LogicalResult Replay::verifyComplete(const Slot &slot, const ClusterEvent &event) {
  const Fetch &fetch = *slot.content;
  std::string what = "reads tile " + std::to_string(event.tile) + " of ring '" + slot.ring->name +
                     "', which " + stepOf(fetch.event->op) + " (" + when(fetch.issued) + ")";
  if (!fetch.complete) {
    InFlightDiagnostic diagnostic = error(event) << what << " may still be "
                                                 << (fetch.isPut() ? "putting" : "fetching");
    if (fetch.isPut())
      diagnostic.attachNote(fetch.event->op->getLoc())
          << "it was put here and no wait follows; put 'tile.wait lgkm(0)' in front of the barrier";
    else if (fetch.wait)
      diagnostic.attachNote(fetch.wait->getLoc())
          << "this wait leaves " << *cast<WaitOp>(fetch.wait).getVm()
          << " loads in flight; at most vm(" << fetch.newerInstructions << ") completes the fetch";
    else
      diagnostic.attachNote(fetch.event->op->getLoc())
          << "the fetch is here and no wait follows it; put 'tile.wait vm' in front of the barrier";
    return diagnostic;
  }
  for (int64_t writer = 0; writer != groups; ++writer) {
    for (int64_t reader = 0; reader != groups; ++reader) {
      if (fetch.completed[writer] < epochs[reader])
        continue;
      InFlightDiagnostic diagnostic =
          error(event) << what << (fetch.isPut() ? " put" : " fetched")
                       << ", with no barrier between the wait (" << when(fetch.completed, writer)
                       << ") and the read (" << when(epochs, reader) << ")";
      diagnostic.attachNote(fetch.wait->getLoc())
          << "the wait is here; wait one cluster earlier or read one cluster later";
      return diagnostic;
    }
  }
  return success();
}

// Waits and barriers

void Replay::completeLdsAccesses(WaitOp op) {
  for (SharedUse &use : llvm::reverse(sharedUses)) {
    if (use.complete)
      break;
    use.complete = true, use.completed = epochs;
  }
  for (auto &[key, slot] : slots) {
    for (Read &read : slot.reads)
      if (!read.complete)
        read.complete = true, read.completed = epochs;
    if (slot.content && slot.content->isPut() && !slot.content->complete) {
      slot.content->complete = true, slot.content->completed = epochs;
      slot.content->wait = op;
    }
  }
}

/// Whether every wave group has passed a barrier since `than`.
bool Replay::isLater(const Epochs &when, const Epochs &than) const {
  for (int64_t group = 0; group != groups; ++group)
    if (when[group] <= than[group])
      return false;
  return true;
}

void Replay::wait(WaitOp op) {
  if (op.getLgkm() == 0)
    completeLdsAccesses(op);
  if (!op.getVm())
    return;
  // Loads complete in order: all but the newest `vm` instructions. Those into registers are newer than a fetch for sure
  // only where a barrier lies between: without, the compiler may have swapped them.
  int64_t fetched = 0;
  SmallVector<Issued> rest, loads;
  for (const Issued &issued : llvm::reverse(inFlight)) {
    if (issued.loads != 0) {
      loads.push_back(issued);
      rest.push_back(issued);
      continue;
    }
    int64_t newer = fetched;
    for (const Issued &load : loads)
      newer += isLater(load.epochs, issued.epochs) ? load.loads : 0;
    Slot &slot = slots.find(issued.slot)->second;
    slot.content->wait = op;
    slot.content->newerInstructions = newer;
    if (newer < static_cast<int64_t>(*op.getVm()))
      rest.push_back(issued);
    else
      slot.content->complete = true, slot.content->completed = epochs;
    fetched += slot.ring->fetchInstructions;
  }
  // Loads in front of all fetches that are left count for none.
  while (!rest.empty() && rest.back().loads != 0)
    rest.pop_back();
  inFlight.assign(rest.rbegin(), rest.rend());
}

void Replay::barrier(BarrierOp op) {
  if (op.getGroup())
    groupBarriers.push_back(op);
  for (int64_t group = 0; group != groups; ++group)
    if (!op.getGroup() || static_cast<int64_t>(*op.getGroup()) == group)
      ++epochs[group];
}

LogicalResult Replay::end() {
  if (groups == 2 && epochs[0] != epochs[1]) {
    InFlightDiagnostic diagnostic =
        groupBarriers.front().emitOpError()
        << "of wave group " << *groupBarriers.front().getGroup() << " has no counterpart: with "
        << tiles << " wave group 0 meets " << epochs[0] << " barriers and wave group 1 meets "
        << epochs[1] << ", so one waits for ever";
    diagnostic.attachNote(groupBarriers.back().getLoc())
        << "the last barrier of one group alone is here; give the other group one as well";
    return diagnostic;
  }
  auto first = llvm::find_if(inFlight, [](const Issued &issued) { return issued.loads == 0; });
  if (first == inFlight.end())
    return success();
  const Slot &slot = slots.find(first->slot)->second;
  const Fetch &fetch = *slot.content;
  InFlightDiagnostic diagnostic = fetch.event->op->emitOpError()
                                  << "in " << stepOf(fetch.event->op) << " (" << when(fetch.issued)
                                  << ") is still in flight at the end of the kernel, with "
                                  << tiles;
  diagnostic.attachNote(RingOp(fetch.event->ring).getLoc())
      << "LDS of ring '" << slot.ring->name
      << "' is given to another workgroup then; put 'tile.wait vm(0)' behind the last fetch";
  return diagnostic;
}

/// The bytes of LDS that `op` uses, of all waves.
static std::pair<int64_t, int64_t> bytesOf(Operation *op) {
  auto scratch = cast<LdsScratchOpInterface>(op);
  int64_t begin = static_cast<int64_t>(scratch.getLdsOffset().value_or(0));
  return {begin, begin + scratch.getScratchBytes()};
}

/// Whether no wave of one group uses what it shares while one of the other does.
LogicalResult Replay::verifyShared() {
  for (const SharedUse &first : sharedUses) {
    if (!first.complete)
      return first.event->op->emitOpError() << "shares LDS between wave groups, with " << tiles
                                            << ": no wait completes it; put 'tile.wait lgkm(0)' in front of the next "
                                               "barrier, or leave 'shared' out";
    for (const SharedUse &second : sharedUses) {
      auto [begin, end] = bytesOf(first.event->op);
      auto [otherBegin, otherEnd] = bytesOf(second.event->op);
      bool overlap = begin < otherEnd && otherBegin < end;
      bool meet = groups == 1 || (first.issued[0] <= second.completed[1] && second.issued[1] <= first.completed[0]);
      if (!overlap || !meet)
        continue;
      InFlightDiagnostic diagnostic = first.event->op->emitOpError()
                                      << "shares LDS with a wave that may use it at the same time, with " << tiles << ": "
                                      << when(first.issued, 0);
      diagnostic.attachNote(second.event->op->getLoc())
          << "the other is here" << (groups == 1 ? "" : " (" + when(second.issued, 1) + ")")
          << "; put a barrier between, or leave 'shared' out";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult Replay::run(const ClusterTrace &trace) {
  for (const ClusterEvent &event : trace.events) {
    LogicalResult result = success();
    RingAccessOpInterface access = event.access();
    if (access && access.writesSlot())
      result = fetch(event);
    else if (access && access.readsSlot())
      result = read(event);
    else if (isa<ConvertLayoutOp>(event.op))
      sharedUses.push_back({&event, epochs});
    else if (auto begin = dyn_cast<BeginLoadOp>(event.op))
      inFlight.push_back({{}, begin.getPending().getType().getLeastLoads(), epochs});
    else if (auto stores = event.op->getAttrOfType<IntegerAttr>(kCountedAttr))
      inFlight.push_back({{}, stores.getInt(), epochs});
    else if (auto op = dyn_cast<WaitOp>(event.op))
      wait(op);
    else if (auto op = dyn_cast<BarrierOp>(event.op))
      barrier(op);
    if (failed(result))
      return failure();
  }
  if (failed(verifyShared()))
    return failure();
  return end();
}

FailureOr<RingInfos> hocket::tile::readRings(KernelOp kernel) {
  RingInfos rings;
  WalkResult walk = kernel.walk([&](RingOp ring) {
    if (ring.getContinued())
      return WalkResult::advance();
    if (!ring.getDepth() || !ring.getLdsOffset() || !ring.getLayout()) {
      ring.emitOpError("has no depth, place or layout; run 'tile-pipeline' and "
                       "'tile-allocate-lds' before 'tile-verify-clusters'");
      return WalkResult::interrupt();
    }
    Result<LdsTileLayout> layout = toLdsTileLayout(ring);
    bool staged = passesRegisters(ring);
    Result<LdsDmaPlan> plan = staged   ? LdsDmaPlan()
                              : layout ? planLdsDma(*layout, kernel.getWaves())
                                       : Result<LdsDmaPlan>(layout.error());
    if (!layout || !plan) {
      ring.emitOpError() << "cannot be fetched: "
                         << (layout ? plan.error().message : layout.error().message);
      return WalkResult::interrupt();
    }
    RingInfo &info = rings[ring];
    info.name = ring.getBindingName();
    info.begin = *ring.getLdsOffset();
    info.slotBytes = layout->bytes();
    info.depth = *ring.getDepth();
    info.apart = static_cast<int64_t>(ring.getApart().value_or(0));
    FailureOr<int64_t> lookUps = lookUpsOfFetch(ring);
    if (failed(lookUps))
      return WalkResult::interrupt();
    info.fetchInstructions =
        staged ? 0 : static_cast<int64_t>(plan->instructions) * layout->panels() + *lookUps;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return rings;
}

LogicalResult hocket::tile::replayClusters(const ClusterTrace &trace, const RingInfos &rings,
                                           int64_t groups, StringRef tiles) {
  return Replay(rings, groups, tiles.str()).run(trace);
}
