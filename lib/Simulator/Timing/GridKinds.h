// Which workgroups of a grid do the same: found by executing samples.
#pragma once

#include "../LaunchSetup.h"
#include "Simulator/GridTime.h"

#include <functional>
#include <map>
#include <string>

namespace hocket::sim {

/// Executes single workgroups of a launch, each at most once.
class WorkgroupSampler {
public:
  explicit WorkgroupSampler(const LaunchContext &context) : context(context), group(context) {}
  /// What workgroup `number` does.
  Result<WorkDone> workOf(uint64_t number);
  /// Wave-instructions that it executes.
  Result<uint64_t> instructions(uint64_t number);
  /// Executes those of `numbers` that have not been, on several threads. One that fails does so
  /// again, with its error, when it is asked for.
  void executeAhead(const std::vector<uint64_t> &numbers, unsigned threads);

private:
  const LaunchContext &context;
  Workgroup group;
  std::map<uint64_t, WorkDone> known;
};

/// How the kind of a workgroup follows from its number.
struct KindRule {
  std::string name; ///< "x % 32"
  uint64_t kinds = 1;
  std::function<uint64_t(uint64_t)> of;
  /// A workgroup of the kind.
  std::function<uint64_t(uint64_t)> example;
};

/// The rule with the fewest kinds that samples do not refute: one kind, one coordinate of the grid,
/// or quotient or remainder of the first coordinate by a divisor of the grid. Where all are
/// refuted, stretches of the grid that are taken as alike.
Result<KindRule> findKindRule(WorkgroupSampler &sampler, const runtime::Dim3 &grid);

/// Stretches of a grid whose first and last workgroups execute about as many instructions: of one whose workgroups are in
/// the order of their work, where kinds follow from nothing else.
Result<KindRule> findStretches(WorkgroupSampler &sampler, uint64_t workgroups);

} // namespace hocket::sim
