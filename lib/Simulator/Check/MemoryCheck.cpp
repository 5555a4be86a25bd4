// From operations in flight to the bytes they touch, and what follows from it.
#include "MemoryCheck.h"

#include "../Hex.h"
#include "../Workgroup.h"
#include "RegisterCheck.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace hocket::sim;
using namespace hocket::sim::check;
using hocket::amdgpu::InstructionClass;
using hocket::runtime::FindingKind;
using hocket::runtime::FindingSeverity;

/// A workgroup that touches more global memory than this forgets its oldest accesses.
static constexpr size_t maxPages = 1 << 14;
/// Reads that are listed before pages are kept.
static constexpr size_t maxReads = 1 << 14;

static bool isTransposed(const InstructionInfo &info) {
  return llvm::StringRef(info.hazard.name).contains("_TR_");
}

/// As forEachLds for global memory, by host address; lanes that follow each other and do so in
/// memory are joined. `visitLds(lane, address, bytes)` gets the lanes of FLAT operations that mean
/// LDS, `visitScratch(lane)` those that mean scratch.
template <class Visit, class VisitLds, class VisitScratch>
static void forEachGlobal(const Wave &wave, const InstructionInfo &info, const PendingOp &op,
                          Visit visit, VisitLds visitLds, VisitScratch visitScratch) {
  if (info.kind == InstructionClass::Smem) {
    uint32_t dwords = info.global == MemoryKind::Atomic  ? op.inRange[0] * info.globalBytes / 4u
                      : info.global == MemoryKind::Store ? op.inRange[0]
                      : llvm::StringRef(info.hazard.name).starts_with("S_BUFFER") ? op.inRange[0]
                                                                                  : op.scalar;
    if (dwords)
      visit(-1, op.host[0], dwords * 4);
    return;
  }
  unsigned bytes = info.globalBytes, unit = std::min(bytes, 4u);
  // Of a formatted load only the beginning is known.
  if (info.formatted && info.global == MemoryKind::Store)
    bytes = op.scalar;
  bool whole = info.formatted || info.global == MemoryKind::Atomic; // or nothing at all
  if (op.linear && !info.formatted)
    return visit(0, op.host[0], 64 * bytes);
  const unsigned stride = info.laneStride();
  const Workgroup &group = *wave.group;
  bool flat = op.instruction->encoding == Encoding::FLAT && op.instruction->memory.segment == 0;
  std::byte *begin = nullptr;
  uint32_t length = 0;
  int first = -1, next = -1;
  auto flush = [&] {
    if (length)
      visit(first, begin, length);
    length = 0;
  };
  for (uint64_t left = op.mask; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    uint32_t here = !op.partial ? bytes
                    : whole     ? (op.inRange[lane] ? bytes : 0)
                                : op.inRange[lane] * unit;
    if (here == 0)
      continue;
    std::byte *host = op.host[lane];
    if (flat) {
      if (host >= group.lds && host < group.lds + group.ldsBytes) {
        visitLds(static_cast<unsigned>(lane), static_cast<uint32_t>(host - group.lds), bytes);
        continue;
      }
      size_t scratch = size_t(group.context.privateBytes) * waveSize;
      if (host >= wave.scratch && host < wave.scratch + scratch) {
        visitScratch(static_cast<unsigned>(lane));
        continue;
      }
    }
    if (length && host == begin + length && lane == next) {
      length += here;
    } else {
      flush();
      begin = host;
      length = here;
      first = lane;
    }
    next = here == stride ? lane + 1 : -1;
  }
  flush();
}

/// Calls `visit(page, offset in page, bytes)` for the parts of [host, host + bytes).
template <class Visit> static void forEachPage(std::byte *host, uint32_t bytes, Visit visit) {
  auto address = reinterpret_cast<uint64_t>(host);
  while (bytes) {
    auto inPage = static_cast<uint32_t>(address % GlobalShadow::pageBytes);
    uint32_t here =
        std::min<uint32_t>(bytes, static_cast<uint32_t>(GlobalShadow::pageBytes) - inPage);
    visit(address / GlobalShadow::pageBytes, inPage, here);
    address += here;
    bytes -= here;
  }
}

void MemoryCheck::begin(Workgroup &running, std::vector<WaveState> &waves) {
  group = &running;
  states = &waves;
  reads.clear();
  tracking = flatLds = false;
  if (lds.bytes() != running.ldsBytes)
    lds.resize(running.ldsBytes);
  else
    lds.clear();
  pages.clear();
  lastShadow = nullptr;
  usesAtomics = false;
  scratch.resize(running.waveCount);
  for (ScratchShadow &shadow : scratch)
    shadow.clear();
}

AccessShadow &MemoryCheck::pageOf(uint64_t page) {
  if (lastShadow && lastPage == page)
    return *lastShadow;
  if (pages.size() >= maxPages)
    pages.clear();
  std::unique_ptr<AccessShadow> &shadow = pages[page];
  if (!shadow) {
    shadow = std::make_unique<AccessShadow>();
    shadow->resize(GlobalShadow::pageBytes);
  }
  lastPage = page;
  lastShadow = shadow.get();
  return *shadow;
}

/// The other side of a conflict, as far as it is known.
Place MemoryCheck::otherPlace(const Conflict &conflict, const Place &place) const {
  const WaveState &state = (*states)[conflict.wave];
  Place other = place;
  other.index = conflict.index;
  other.wave = conflict.wave;
  other.epoch = conflict.late ? noEpoch : conflict.epoch;
  other.barrier = conflict.late ? noInstruction : state.barrier;
  other.lane = -1;
  if (!conflict.late)
    return other;
  for (const InFlight &flight : state.inFlight)
    if (flight.active && flight.index == conflict.index) {
      other.epoch = flight.epoch;
      break;
    }
  return other;
}

/// The lane of the other party that touches `address`, if its operation is still in flight; else
/// -1.
int MemoryCheck::ldsLaneOf(const Conflict &conflict, uint32_t address) const {
  int found = -1;
  for (const InFlight &flight : (*states)[conflict.wave].inFlight) {
    if (!flight.active || flight.index != conflict.index || flight.info->lds == MemoryKind::None)
      continue;
    const unsigned stride =
        flight.info->lds == MemoryKind::LdsDma ? dmaStride(*flight.info) : 1u << 16;
    forEachLds(*flight.info, *flight.op, [&](unsigned lane, uint32_t begin, unsigned bytes) {
      if (found < 0 && address >= begin && address - begin < bytes)
        found = static_cast<int>(lane + (address - begin) / stride);
    });
  }
  return found;
}

void MemoryCheck::race(FindingKind kind, const Place &place, int lane, const Conflict &conflict,
                       bool write, uint64_t address) {
  const bool lds = kind == FindingKind::LdsRace;
  const InstructionInfo &info = table.known(conflict.index);
  Place at = place, other = otherPlace(conflict, place);
  at.lane = static_cast<int8_t>(lane);
  log.add(kind, at, other, [&](LoggedFinding &finding) {
    finding.other.lane = lds ? static_cast<int8_t>(ldsLaneOf(conflict, uint32_t(address)))
                             : laneOf(info, conflict.byte);
    finding.what =
        std::string(write ? "writes " : "reads ") + (lds ? "LDS address " : "device address ") +
        hex(address) + ", which wave " + std::to_string(conflict.wave) +
        (conflict.withWrite ? " writes" : " reads") +
        (conflict.late
             ? std::string("; that was issued before the last barrier, and no wait for ") +
                   (info.global == MemoryKind::None || info.laneStride() == 0 ? "lgkmcnt"
                                                                              : "vmcnt") +
                   " before the barrier covers it"
             : "; no barrier lies between the two");
  });
}

/// What the wave's own operations in flight will do to the LDS bytes of `op`.
void MemoryCheck::checkOwn(Wave &wave, WaveState &state, const PendingOp &op, const Place &place) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  bool dma = info.lds == MemoryKind::LdsDma;
  const InFlight &own = state.inFlight[op.slot];
  (dma ? state.ldsSlots : state.dmaSlots).forEach([&](unsigned slot) {
    const InFlight &flight = state.inFlight[slot];
    if (own.ldsBegin >= flight.ldsEnd || own.ldsEnd <= flight.ldsBegin)
      return;
    const PendingOp &load = dma ? op : *flight.op, &access = dma ? *flight.op : op;
    const InstructionInfo &loadInfo = dma ? info : *flight.info;
    const InstructionInfo &accessInfo = dma ? *flight.info : info;
    unsigned stride = dmaStride(loadInfo);
    uint32_t begin = load.scalar, end = begin + 64 * stride;
    int hit = -1;
    unsigned loading = 0; // the load's lane
    uint32_t where = 0;
    forEachLds(accessInfo, access, [&](unsigned lane, uint32_t address, unsigned bytes) {
      if (hit >= 0 || address >= end || address + bytes <= begin)
        return;
      unsigned first = (std::max(address, begin) - begin) / stride;
      unsigned last = (std::min(address + bytes, end) - 1 - begin) / stride;
      for (unsigned i = first; i <= last && hit < 0; ++i)
        if (load.mask >> i & 1) {
          hit = static_cast<int>(lane);
          loading = i;
          where = std::max(address, begin + i * stride);
        }
    });
    if (hit < 0)
      return;
    Place at = place, other = flight.place(place);
    (dma ? other : at).lane = static_cast<int8_t>(hit);
    (dma ? at : other).lane = static_cast<int8_t>(loading);
    log.add(FindingKind::UseBeforeWait, at, other, [&](LoggedFinding &finding) {
      NeededWait wait;
      wait.cover(wave, slot);
      finding.what = (dma ? "loads to LDS address " + hex(where) +
                                ", which an LDS operation in flight still uses"
                          : "accesses LDS address " + hex(where) +
                                ", which a load to LDS in flight is going to write") +
                     "; it takes " + wait.text() + " before";
      finding.otherRole = dma ? "the LDS operation is" : "the load is";
    });
  });
}

void MemoryCheck::checkAlignment(const InstructionInfo &info, const PendingOp &op,
                                 uint32_t addressBits, const Place &place) {
  bool dma = info.lds == MemoryKind::LdsDma;
  unsigned natural = dma ? 4 : info.ldsBytes == 12 ? 16 : info.ldsBytes;
  if (natural == 0 || !(addressBits & (natural - 1)))
    return;
  bool strict = dma || info.lds == MemoryKind::Atomic;
  log.add(
      FindingKind::MisalignedLds, place, {},
      [&](LoggedFinding &finding) {
        uint32_t odd = 0;
        forEachLds(info, op, [&](unsigned lane, uint32_t address, unsigned) {
          if (odd != 0 || !(address & (natural - 1)))
            return;
          odd = address;
          finding.at.lane = static_cast<int8_t>(dma ? -1 : static_cast<int>(lane));
        });
        finding.what = "accesses LDS address " + hex(odd) + ", which is not a multiple of " +
                       std::to_string(natural) +
                       (strict ? "; the low bits are dropped or the access faults"
                               : "; that works in unaligned mode only, and more slowly");
      },
      strict ? FindingSeverity::Error : FindingSeverity::Advice);
}

/// Enters an LDS operation lane by lane; the result are the lanes that read what is undefined, of
/// which `first` describes the first.
uint64_t MemoryCheck::touchLanes(const InstructionInfo &info, const PendingOp &op,
                                 const Access &access, const Place &place, Contents &first) {
  uint64_t undefined = 0;
  const unsigned stride = info.lds == MemoryKind::LdsDma ? dmaStride(info) : 1u << 16;
  forEachLds(info, op, [&](unsigned lane, uint32_t address, unsigned bytes) {
    Conflict conflict;
    Contents contents;
    lds.touch(access, address, bytes, conflict, contents);
    if (conflict.found)
      race(FindingKind::LdsRace, place, static_cast<int>(lane + conflict.offset / stride), conflict,
           access.write, address + conflict.offset);
    if (contents.defined())
      return;
    if (undefined == 0)
      first = contents;
    undefined |= uint64_t(1) << lane;
  });
  return undefined;
}

void MemoryCheck::issuedLds(Wave &wave, WaveState &state, const PendingOp &op, const Place &place) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  if (op.mask == 0)
    return;
  const LdsFootprint &footprint = lds.footprint(info, op);
  checkAlignment(info, op, footprint.addressBits, place);
  InFlight &flight = state.inFlight[op.slot];
  flight.ldsBegin = footprint.begin;
  flight.ldsEnd = footprint.end;
  // Loads to LDS and other LDS operations do not wait for each other; of one sort they do.
  unsigned others =
      info.lds == MemoryKind::LdsDma ? state.ldsInFlight - state.dmaInFlight : state.dmaInFlight;
  if (others)
    checkOwn(wave, state, op, place);
  Access access{place.index, place.epoch, place.wave, info.lds != MemoryKind::Load,
                info.lds == MemoryKind::Atomic};
  Contents contents;
  bool quiet = lds.enter(access, footprint);
  uint64_t undefined = quiet ? 0 : touchLanes(info, op, access, place, contents);
  if (info.lds == MemoryKind::Store)
    return storeUndefined(state, op);
  if (undefined == 0)
    return;
  if (isTransposed(info))
    for (unsigned group = 0; group < 64; group += 16)
      if (undefined >> group & 0xffff)
        undefined |= uint64_t(0xffff) << group;
  loadUndefined(state, info, undefined, contents);
}

/// C's atomic loads and stores are plain ones with a scope: sc1 for the device and beyond, sc0 or
/// sc1 for the workgroup. Cache policies of buffer instructions have the same bits and mean no such
/// thing.
static bool isScoped(const InstructionInfo &info, const PendingOp &op, bool device) {
  const MemoryFields &memory = op.instruction->memory;
  bool flat = op.instruction->encoding == Encoding::FLAT && info.lds == MemoryKind::None;
  return flat && info.globalBytes <= 8 && (memory.sc1 || (memory.sc0 && !device));
}

/// The access as LDS sees it: there the bits of a scope mean `volatile` more often than an atomic.
static Access withoutScope(Access access, bool update) {
  access.atomic = update;
  return access;
}

static GlobalAccess sharedKind(const InstructionInfo &info, const PendingOp &op) {
  bool scoped = isScoped(info, op, /*device=*/true);
  if (info.global == MemoryKind::Load)
    return scoped ? GlobalAccess::AtomicRead : GlobalAccess::Read;
  return scoped || info.global == MemoryKind::Atomic ? GlobalAccess::Atomic : GlobalAccess::Write;
}

void MemoryCheck::issuedGlobal(Wave &wave, WaveState &state, const PendingOp &op,
                               const Place &place) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  bool update = info.global == MemoryKind::Atomic, write = info.global != MemoryKind::Load;
  bool atomic = update || isScoped(info, op, /*device=*/false);
  GlobalAccess kind = sharedKind(info, op);
  Access access{place.index, place.epoch, place.wave, write, atomic};
  const unsigned stride = info.laneStride();
  bool several = group->waveCount > 1;
  if (several && !tracking && (write || reads.size() > maxReads))
    trackPages(place.epoch);
  auto touch = [&](int lane, std::byte *host, uint32_t bytes) {
    access.byte = static_cast<uint16_t>(lane < 0 ? 0 : static_cast<unsigned>(lane) * stride);
    if (info.global == MemoryKind::Load)
      numbers.loaded(host, bytes, info, access.byte, place, log);
    if (!usesAtomics)
      shared.touch(host, bytes, kind, accessKey(access, place.workgroup), sharedPages);
    if (several && tracking)
      touchPages(access, host, bytes, place);
    else if (several)
      reads.push_back({access, place, host, bytes});
  };
  auto touchLds = [&](unsigned lane, uint32_t address, unsigned bytes) {
    touchFlatLds(state, op, withoutScope(access, update), lane, address, bytes, place);
  };
  forEachGlobal(wave, info, op, touch, touchLds,
                [&](unsigned lane) { touchScratch(wave, state, op, lane); });
  usesAtomics |= update;
}

void MemoryCheck::issued(Wave &wave, WaveState &state, const PendingOp &op, const Place &place) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  if (info.lds != MemoryKind::None)
    issuedLds(wave, state, op, place);
  if (info.global != MemoryKind::None)
    issuedGlobal(wave, state, op, place);
  if (op.instruction->encoding == Encoding::FLAT && op.instruction->memory.segment == 1 &&
      info.lds == MemoryKind::None)
    issuedScratch(wave, state, op);
}

/// Enters an access in the pages of the workgroup.
void MemoryCheck::touchPages(const Access &access, std::byte *host, uint32_t bytes,
                             const Place &place) {
  Access part = access;
  forEachPage(host, bytes, [&](uint64_t page, uint32_t inPage, uint32_t here) {
    Conflict conflict;
    pageOf(page).touch(part, inPage, here, conflict);
    const uint32_t byte = part.byte + conflict.offset;
    part.byte = static_cast<uint16_t>(part.byte + here);
    if (!conflict.found)
      return;
    auto *at =
        reinterpret_cast<std::byte *>(page * GlobalShadow::pageBytes + inPage) + conflict.offset;
    const Allocation *allocation = group->context.memory->findHost(at);
    uint64_t device =
        allocation ? allocation->base + static_cast<uint64_t>(at - allocation->host) : 0;
    race(FindingKind::GlobalRace, place, laneOf(table.known(access.index), byte), conflict,
         access.write, device);
  });
}

/// From now on pages are kept. What happened before can only matter if it is of this epoch or still
/// in flight.
void MemoryCheck::trackPages(uint32_t epoch) {
  tracking = true;
  for (const Read &read : reads)
    touchPages(read.access, read.host, read.bytes, read.place);
  reads.clear();
  for (unsigned i = 0; i < group->waveCount; ++i)
    extendGlobal(group->waves[i], (*states)[i], epoch);
}

void MemoryCheck::barrier(uint32_t epoch) {
  reads.clear();
  for (unsigned i = 0; i < group->waveCount; ++i) {
    WaveState &state = (*states)[i];
    if (state.ldsInFlight)
      extendLds(group->waves[i], state, epoch);
    if (tracking || flatLds)
      extendGlobal(group->waves[i], state, epoch);
  }
}

void MemoryCheck::extendLds(Wave &wave, WaveState &state, uint32_t epoch) {
  auto extend = [&](unsigned slot) {
    const InFlight &flight = state.inFlight[slot];
    Access access{flight.index, epoch, wave.index, flight.info->lds != MemoryKind::Load, false};
    lds.extend(access, lds.footprint(*flight.info, *flight.op));
  };
  state.dmaSlots.forEach(extend);
  state.ldsSlots.forEach(extend);
}

void MemoryCheck::extendGlobal(Wave &wave, WaveState &state, uint32_t epoch) {
  for (const InFlight &flight : state.inFlight) {
    if (!flight.active || flight.info->global == MemoryKind::None)
      continue;
    Access access{flight.index, epoch, wave.index, flight.info->global != MemoryKind::Load,
                  isScoped(*flight.info, *flight.op, /*device=*/false)};
    forEachGlobal(
        wave, *flight.info, *flight.op,
        [&](int lane, std::byte *host, uint32_t bytes) {
          access.byte = static_cast<uint16_t>(
              lane < 0 ? 0 : static_cast<unsigned>(lane) * flight.info->laneStride());
          forEachPage(host, bytes, [&](uint64_t page, uint32_t inPage, uint32_t here) {
            pageOf(page).extend(access, inPage, here);
            access.byte = static_cast<uint16_t>(access.byte + here);
          });
        },
        [&](unsigned, uint32_t address, unsigned bytes) {
          lds.extend(withoutScope(access, false), address, bytes);
        },
        [](unsigned) {});
  }
}
