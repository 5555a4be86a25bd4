// Undefined values on their way through LDS and scratch memory.
#include "../Workgroup.h"
#include "MemoryCheck.h"

#include <algorithm>
#include <bit>

using namespace hocket::sim;
using namespace hocket::sim::check;
using hocket::runtime::FindingKind;

/// The results of a load from LDS are undefined in `lanes`.
void MemoryCheck::loadUndefined(WaveState &state, const InstructionInfo &info, uint64_t lanes,
                                const Contents &contents) {
  const uint32_t load = state.current;
  OriginId origin = contents.origin ? origins.throughLds(contents.origin, contents.store,
                                                         contents.storeWave, load)
                                    : origins.idOf({.load = load});
  for (const amdgpu::RegisterAccess &write : info.vectorWrites)
    for (unsigned reg = write.first; reg < write.end(); ++reg) {
      state.defined[reg] &= ~lanes;
      state.setOrigin(static_cast<RegisterNumber>(reg), origin);
      state.watchVector(reg);
    }
}

/// Of a register that is undefined somewhere.
OriginId MemoryCheck::originOf(const WaveState &state, unsigned reg) {
  const OriginId known = state.origin[reg];
  return known ? known : origins.ofRegister(static_cast<RegisterNumber>(reg));
}

/// What is stored to LDS may be undefined itself.
void MemoryCheck::storeUndefined(WaveState &state, const PendingOp &op) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  const MemoryFields &memory = op.instruction->memory;
  unsigned dwords = (info.ldsBytes + 3u) / 4;
  for (unsigned second = 0; second <= unsigned(info.ldsTwo); ++second)
    for (unsigned i = 0; i < dwords; ++i)
      storeUndefined(state, (second ? memory.data1 : memory.data) + i, op.mask, op,
                     (second ? op.scalar : 0) + 4 * i, std::min(4u, unsigned(info.ldsBytes)));
}

/// Register `reg` is stored to LDS by `lanes`, `offset` bytes behind their addresses.
void MemoryCheck::storeUndefined(WaveState &state, unsigned reg, uint64_t lanes,
                                 const PendingOp &op, uint32_t offset, unsigned bytes) {
  uint64_t left = lanes & ~state.defined[reg];
  if (left == 0)
    return;
  const OriginId root = origins.rootOf(originOf(state, reg));
  for (; left; left &= left - 1)
    lds.setUndefined(op.ldsAddress[std::countr_zero(left)] + offset, bytes, root);
}

/// One lane of a FLAT operation that means LDS.
void MemoryCheck::touchFlatLds(WaveState &state, const PendingOp &op, const Access &access,
                               unsigned lane, uint32_t address, unsigned bytes,
                               const Place &place) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  flatLds = true;
  Conflict conflict;
  Contents contents;
  lds.touch(access, address, bytes, conflict, contents);
  if (conflict.found)
    race(FindingKind::LdsRace, place, static_cast<int>(lane), conflict, access.write,
         address + conflict.offset);
  if (!access.write && !contents.defined())
    loadUndefined(state, info, uint64_t(1) << lane, contents);
  if (info.global != MemoryKind::Store)
    return;
  const unsigned data = op.instruction->memory.data;
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i)
    if (~state.defined[data + i] >> lane & 1)
      lds.setUndefined(address + 4 * i, std::min(4u, bytes),
                       origins.rootOf(originOf(state, data + i)));
}

/// One lane of an operation on scratch memory.
void MemoryCheck::touchScratch(Wave &wave, WaveState &state, const PendingOp &op, unsigned lane) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  ScratchShadow &shadow = scratch[wave.index];
  const std::byte *begin = wave.scratch + size_t(lane) * group->context.privateBytes;
  const auto first = static_cast<uint32_t>(op.host[lane] - begin) / 4;
  const bool load = !info.vectorWrites.empty();
  const unsigned data = load ? info.vectorWrites[0].first : op.instruction->memory.data;
  for (unsigned i = 0; i < (info.globalBytes + 3u) / 4; ++i) {
    const unsigned reg = data + i;
    if (!load) {
      const bool undefined = ~state.defined[reg] >> lane & 1;
      shadow.store(lane, first + i, undefined ? originOf(state, reg) : OriginId(0));
    } else if (OriginId origin = shadow.load(lane, first + i)) {
      state.defined[reg] &= ~(uint64_t(1) << lane);
      state.setOrigin(static_cast<RegisterNumber>(reg), origin);
      state.watchVector(reg);
    }
  }
}

void MemoryCheck::issuedScratch(Wave &wave, WaveState &state, const PendingOp &op) {
  const InstructionInfo &info = *state.inFlight[op.slot].info;
  bool nothing = scratch[wave.index].empty();
  if (info.vectorWrites.empty())
    for (unsigned i = 0; i < (info.globalBytes + 3u) / 4; ++i)
      nothing &= state.defined[op.instruction->memory.data + i] == allLanes;
  if (nothing)
    return;
  for (uint64_t left = op.mask; left; left &= left - 1)
    touchScratch(wave, state, op, static_cast<unsigned>(std::countr_zero(left)));
}
