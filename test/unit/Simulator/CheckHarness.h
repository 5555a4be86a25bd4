// Runs a few instructions as a checked launch and says what was found.
//
//   CheckRun run = runChecked("ds_write_b32 v0, v0\n...", {.waves = 2});
//   EXPECT_EQ(run.kinds(), (Kinds{FindingKind::LdsRace}));
//
// Waves start with their number in s0, their workgroup's in s1, s[4:5] the address of 64 KiB of
// memory, s[8:11] a buffer of it, and v0 the lane within the workgroup. Labels are allowed;
// s_endpgm is appended.
#pragma once

#include "Check/Checker.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace hocket::sim::test {

using runtime::FindingKind;
using runtime::FindingSeverity;
using Kinds = std::set<FindingKind>;

struct CheckOptions {
  unsigned waves = 1;
  unsigned workgroups = 1;
  uint32_t ldsBytes = 65536;
  uint64_t seed = 0;
  std::vector<int32_t> content = {};             ///< the memory begins with it; the rest is zero
  std::vector<runtime::NumberList> lists = {};   ///< addresses count from the memory's beginning
  Instrument *instrument = nullptr;              ///< watches in the place of the checks; the kernel is called "test"
};

struct CheckRun {
  check::FindingMap findings;
  std::string error; ///< of the run

  /// Kinds of all findings of `severity`.
  Kinds kinds(FindingSeverity severity = FindingSeverity::Error) const {
    Kinds kinds;
    for (const auto &[key, finding] : findings)
      if (finding.severity == severity)
        kinds.insert(std::get<0>(key));
    return kinds;
  }
};

CheckRun runChecked(const std::string &assembly, CheckOptions options = {});

} // namespace hocket::sim::test
