// A workgroup's life: what it spends before, in and behind its hot loop, and what it moves.
//
// Made of the same trace as the steady state (Timing.h), for any code object. A loop that is
// entered again, as by a workgroup with several pieces of work, has a part of its own between its
// passes.
#pragma once

#include "Simulator/Timing.h"

#include <optional>

namespace hocket::sim {

enum class LifePart : uint8_t { Before, Loop, Between, Behind };
inline constexpr unsigned lifeParts = 4;
/// Key in JSON: "before", "loop", "between", "behind".
std::string_view name(LifePart part);

/// Of the first workgroup of a run. Cycles of the parts are those of its mean wave and add up, with
/// `drain`, to `cycles`; in a kernel without a loop all is before it.
struct LifeBudget {
  uint64_t workgroup = 0; ///< number in the grid
  double cycles = 0;
  std::array<WaveTime, lifeParts> parts;
  double drain = 0; ///< until the last wave has ended and its stores are done
  /// Cycles less those that its matrix instructions would take at the pace of the steady state;
  /// nothing where there is no such pace.
  std::optional<double> outside;
  Traffic loads, stores;
};

/// Nothing where not all of the workgroup's instructions were kept.
std::optional<LifeBudget> budgetOf(const TimedRun &run, const TimingSummary &summary);

/// `options` for one workgroup, with code and kernel arguments in their caches from the start.
TimingOptions warmed(const TimingOptions &options);

/// The same workgroup with cold caches and with warm ones, side by side.
struct LifeBudgets {
  LifeBudget cold, warm;
};
std::string toText(const LifeBudgets &budgets);
/// The members "cold" and "warm" of a JSON object.
void writeMembers(llvm::json::OStream &out, const LifeBudgets &budgets);

} // namespace hocket::sim
