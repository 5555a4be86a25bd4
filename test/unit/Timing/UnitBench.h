// Runs straight-line programs on the cycle model alone, without executing them: what each rule
// costs can be read off the cycles in which instructions issue.
#pragma once

#include "Timing/AccessCost.h"
#include "Timing/ComputeUnit.h"

#include <string>
#include <vector>

namespace hocket::sim::test {

class UnitBench {
public:
  /// Instruction fetch and wave launch take no time, so that the first instruction issues at the
  /// first turn of its SIMD.
  UnitBench();

  /// A wave with `program` on SIMD `simd`; all waves are of one workgroup. Memory operations move
  /// `cost`.
  void addWave(const std::string &program, unsigned simd = 0, ExecutedCost cost = {});
  /// Runs all waves to their ends.
  void run();
  /// Cycles in which the instructions of wave `wave` issued, in order.
  const std::vector<uint64_t> &issued(unsigned wave = 0) const { return cycles[wave]; }
  /// From the issue of the first to that of the last instruction of a single wave with `program`.
  static uint64_t span(const std::string &program, ExecutedCost cost = {},
                       const TimeParameters &parameters = free());
  /// Default parameters, but with free launch and fetch.
  static TimeParameters free();
  static std::vector<TimedInstruction> assemble(const std::string &program,
                                                const TimeParameters &parameters = free());

  TimeParameters parameters;
  std::vector<IssueEvent> events;

private:
  struct Stream {
    std::vector<TimedInstruction> instructions;
    unsigned simd = 0;
    ExecutedCost cost;
  };
  std::vector<Stream> streams;
  std::vector<std::vector<uint64_t>> cycles;
};

/// `count` times `line`, one a line.
std::string repeat(unsigned count, const std::string &line);

} // namespace hocket::sim::test
