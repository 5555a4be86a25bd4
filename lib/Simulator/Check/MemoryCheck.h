// LDS and global memory: races, LDS that nothing has written, alignment, and a wave that touches
// what its own loads to LDS are still going to write.
#pragma once

#include "AccessShadow.h"
#include "GlobalShadow.h"
#include "WaveState.h"

#include <unordered_map>

namespace hocket::sim {
struct Workgroup;
}

namespace hocket::sim::check {

/// The memory of one workgroup in execution.
class MemoryCheck {
public:
  MemoryCheck(GlobalShadow &shared, FindingLog &log) : shared(shared), log(log) {}

  void begin(const Workgroup &group);
  /// A memory operation was issued. `states` are those of all waves.
  void issued(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  /// Operations of `wave` that are in flight continue in the epoch `epoch`.
  void extend(Wave &wave, WaveState &state, uint32_t epoch);

private:
  void issuedLds(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void issuedGlobal(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void storeUndefined(Wave &wave, WaveState &state, const PendingOp &op);
  void checkOwn(Wave &wave, WaveState &state, const PendingOp &op, const Place &place);
  void checkAlignment(Wave &wave, const InstructionInfo &info, const PendingOp &op,
                      const Place &place);
  void race(runtime::FindingKind kind, const Place &place, unsigned lane, const Conflict &conflict,
            bool write, uint64_t address);
  AccessShadow &pageOf(uint64_t page);

  GlobalShadow &shared;
  FindingLog &log;
  AccessShadow lds;
  std::unordered_map<uint64_t, std::unique_ptr<AccessShadow>> pages; ///< by host address / 4096
  uint64_t lastPage = 0;
  AccessShadow *lastShadow = nullptr;
  bool usesAtomics = false; ///< the workgroup has executed a global atomic
  const Workgroup *group = nullptr;
};

} // namespace hocket::sim::check
