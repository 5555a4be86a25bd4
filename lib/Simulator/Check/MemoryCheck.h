// LDS and global memory: races, LDS that nothing has written, alignment, and a wave that touches
// what its own loads to LDS are still going to write.
#pragma once

#include "AccessShadow.h"
#include "GlobalShadow.h"
#include "LdsShadow.h"
#include "NumberCheck.h"
#include "ScratchShadow.h"
#include "WaveState.h"

#include <unordered_map>

namespace hocket::sim {
struct Workgroup;
}

namespace hocket::sim::check {

/// The memory of one workgroup in execution.
class MemoryCheck {
public:
  MemoryCheck(GlobalShadow &shared, const NumberCheck &numbers, InstructionTable &table, OriginTable &origins,
              FindingLog &log)
      : shared(shared), numbers(numbers), table(table), origins(origins), log(log) {}

  void begin(Workgroup &group, std::vector<WaveState> &states);
  /// A memory operation was issued. `states` are those of all waves.
  void issued(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  /// The epoch `epoch` begins: operations in flight continue in it.
  void barrier(uint32_t epoch);

private:
  void issuedLds(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void issuedGlobal(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void storeUndefined(WaveState &state, const PendingOp &op);
  void storeUndefined(WaveState &state, unsigned reg, uint64_t lanes, const PendingOp &op,
                      uint32_t offset, unsigned bytes);
  void loadUndefined(WaveState &state, const InstructionInfo &info, uint64_t lanes,
                     const Contents &contents);
  void checkOwn(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void checkAlignment(const InstructionInfo &info, const PendingOp &op, uint32_t addressBits,
                      const Place &place);
  uint64_t touchLanes(const InstructionInfo &info, const PendingOp &op, const Access &access,
                      const Place &place, Contents &first);
  void touchFlatLds(WaveState &state, const PendingOp &op, const Access &access, unsigned lane,
                    uint32_t address, unsigned bytes, const Place &place);
  void issuedScratch(Wave &wave, WaveState &state, const PendingOp &op);
  void touchScratch(Wave &wave, WaveState &state, const PendingOp &op, unsigned lane);
  OriginId originOf(const WaveState &state, unsigned reg);
  void race(runtime::FindingKind kind, const Place &place, int lane, const Conflict &conflict,
            bool write, uint64_t address);
  Place otherPlace(const Conflict &conflict, const Place &place) const;
  int ldsLaneOf(const Conflict &conflict, uint32_t address) const;
  AccessShadow &pageOf(uint64_t page);
  void extendLds(Wave &wave, WaveState &state, uint32_t epoch);
  void extendGlobal(Wave &wave, WaveState &state, uint32_t epoch);
  void touchPages(const Access &access, std::byte *host, uint32_t bytes, const Place &place);
  void trackPages(uint32_t epoch);

  GlobalShadow &shared;
  const NumberCheck &numbers;
  InstructionTable &table;
  OriginTable &origins;
  GlobalShadow::PageCache sharedPages;
  FindingLog &log;
  LdsShadow lds;
  std::vector<ScratchShadow> scratch;                                ///< of each wave
  std::unordered_map<uint64_t, std::unique_ptr<AccessShadow>> pages; ///< by host address / 4096
  uint64_t lastPage = 0;
  AccessShadow *lastShadow = nullptr;
  bool usesAtomics = false; ///< the workgroup has executed a global atomic
  /// Most workgroups write global memory at their end only. Until one does, and while it is short,
  /// a list of the epoch's reads is enough.
  struct Read {
    Access access;
    Place place;
    std::byte *host;
    uint32_t bytes;
  };
  std::vector<Read> reads;
  bool tracking = false; ///< pages are in use instead of `reads`
  bool flatLds = false;  ///< a FLAT operation has meant LDS
  Workgroup *group = nullptr;
  std::vector<WaveState> *states = nullptr;
};

} // namespace hocket::sim::check
