// Lists of numbers that say where a kernel finds things: tables of pages, first rows of sequences.
//
// Kernels follow such numbers nowhere outside of their tensors, so a wrong one shows in results at best. Whoever
// launches knows what they may be (runtime::NumberList). A number is judged when it is loaded, which is where its list,
// its place there and the lane are known; what no kernel loads may be anything.
#pragma once

#include "../Memory.h"
#include "FindingLog.h"
#include "InstructionInfo.h"

#include "hocket/Runtime/Device.h"

#include <span>
#include <vector>

namespace hocket::sim::check {

/// The lists of one launch; any thread may ask.
class NumberCheck {
public:
  NumberCheck() = default;
  /// Lists that do not lie in one allocation are not looked at: loads beyond it are findings of their own.
  NumberCheck(std::span<const runtime::NumberList> lists, const Memory &memory);

  /// The instruction at `place` loads [host, host + bytes), which begins with byte `byte` of the wave's access
  /// (`Access::byte`).
  void loaded(const std::byte *host, uint32_t bytes, const InstructionInfo &info, uint64_t byte, const Place &place,
              FindingLog &log) const {
    if (host < end && host + bytes > begin) [[unlikely]]
      check(host, bytes, info, byte, place, log);
  }

private:
  struct List {
    runtime::NumberList facts;
    const std::byte *begin = nullptr, *end = nullptr; ///< on the host
    /// What is wrong with the number at byte `offset`; empty: nothing.
    std::string complaint(uint64_t offset) const;
  };
  void check(const std::byte *host, uint32_t bytes, const InstructionInfo &info, uint64_t byte, const Place &place,
             FindingLog &log) const;

  std::vector<List> lists;
  const std::byte *begin = nullptr, *end = nullptr; ///< all lists lie between
};

} // namespace hocket::sim::check
