// Whether a weaker wait can be seen at all.
//
// A wait is dominated where fewer operations can be in flight than it allows, or where, of each operation that it no
// longer covers, on every way a wait follows that covers it, before anything touches what it reads or writes: an equal
// or stronger wait, or one that allows no more than come behind the operation; a counter that is full has waited by
// itself. Who loads the same bytes to the same place in LDS once more need not wait.
#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::amdgpu;

/// Whether at most `allowed` operations are in flight whenever `wait` is reached.
bool CodeFlow::alwaysFewer(size_t wait, Counter counter, unsigned allowed) const {
  constexpr unsigned most = 64;
  std::vector<unsigned> before(nodes.size(), 0);
  std::vector<bool> reached(nodes.size(), false);
  std::vector<size_t> work = {0};
  reached[0] = true;
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    unsigned after = before[at];
    // The wait itself is left out: it is the one that may be missing.
    if (at != wait)
      after = std::min(after, nodes[at].limit[counter]);
    after = std::min(most, after + nodes[at].counts[counter]);
    for (size_t next : nodes[at].next) {
      if (reached[next] && before[next] >= after)
        continue;
      reached[next] = true;
      before[next] = std::max(before[next], after);
      work.push_back(next);
    }
  }
  return before[wait] <= allowed;
}

/// The operations that may be in flight behind the wait once it is weaker: those with exactly
/// `allowed` later ones behind them, or all with at least as many where it is dropped or where
/// scalar loads, which return in any order, are among the later ones.
std::map<size_t, CodeFlow::Open> CodeFlow::uncovered(size_t wait, Counter counter, unsigned allowed,
                                             bool dropped) const {
  struct State {
    size_t at;
    unsigned later; ///< operations of the counter between here and the wait
    unsigned
        bound;    ///< so many later ones behind an operation, and a wait in between has covered it
    bool ordered; ///< no scalar load among the later ones: they complete in order
    auto operator<=>(const State &) const = default;
  };
  constexpr unsigned most = 64;
  // The counter has no place for more: the next operation waits for the oldest.
  const unsigned capacity = counter == Vector ? 63 : 15;
  std::map<size_t, Open> found;
  std::set<State> seen;
  std::vector<State> work;
  for (size_t previous : nodes[wait].previous)
    work.push_back({previous, 0, most, true});
  while (!work.empty()) {
    State state = work.back();
    work.pop_back();
    if (state.later >= state.bound || !seen.insert(state).second)
      continue;
    const Node &node = nodes[state.at];
    if (state.ordered && state.later >= capacity && node.kind != InstructionClass::Smem)
      continue;
    if (state.at != wait)
      state.bound = std::min(state.bound, state.later + node.limit[counter]);
    if (node.counts[counter]) {
      // Scalar loads return in any order: none is certain while others are in flight.
      if (state.later >= allowed || node.kind == InstructionClass::Smem) {
        Open &open = found[state.at];
        open.later = std::min(open.later, state.later);
        open.ordered &= state.ordered && node.kind != InstructionClass::Smem;
      }
      state.ordered &= node.kind != InstructionClass::Smem;
      ++state.later;
      if (!dropped && state.ordered && state.later > allowed)
        continue;
    }
    for (size_t previous : node.previous)
      work.push_back({previous, state.later, state.bound, state.ordered});
  }
  return found;
}

static bool overlaps(const RegisterAccess &a, const RegisterAccess &b) {
  return a.file == b.file && a.first < b.end() && b.first < a.end();
}

/// Whether the instruction relies on the operation's being complete.
bool CodeFlow::depends(const Node &node, size_t operation) const {
  const Node &open = nodes[operation];
  // Others rely on what was complete at a barrier.
  if (node.kind == InstructionClass::Barrier && open.kind != InstructionClass::Smem)
    return true;
  if (open.lds && node.lds)
    return true;
  return llvm::any_of(open.effects.writes, [&](const RegisterAccess &result) {
    auto hits = [&](const RegisterAccess &access) { return overlaps(result, access); };
    return llvm::any_of(node.effects.reads, hits) || llvm::any_of(node.effects.writes, hits);
  });
}

/// Whether on every way behind `wait` another covers the operation before anything depends on it.
bool CodeFlow::coveredBehind(size_t wait, Counter counter, unsigned allowed, size_t operation, Open open) const {
  // The fewest operations behind it, in order, with which a way comes to each instruction.
  llvm::DenseMap<size_t, unsigned> fewest;
  std::vector<std::pair<size_t, unsigned>> work;
  for (size_t next : nodes[wait].next)
    work.emplace_back(next, open.later);
  while (!work.empty()) {
    auto [at, later] = work.back();
    work.pop_back();
    auto [known, isNew] = fewest.try_emplace(at, later);
    if (!isNew && known->second <= later)
      continue;
    known->second = later;
    const Node &node = nodes[at];
    // An equal wait covers as much: operations that are issued behind this one only add to it.
    if (at == wait || node.limit[counter] <= allowed || (open.ordered && node.limit[counter] <= later))
      continue;
    if (depends(node, operation) && !isApart(at, operation) && !isSameLoad(at, operation))
      return false;
    // Scalar loads come in any order: of those that are in flight none need be behind it.
    const bool follows = node.counts[counter] && node.kind != InstructionClass::Smem;
    for (size_t next : node.next)
      work.emplace_back(next, std::min(later + follows, 64U));
  }
  return true;
}

bool CodeFlow::dominatedWait(size_t wait, Counter counter, unsigned allowed, bool dropped) const {
  return alwaysFewer(wait, counter, allowed) ||
         llvm::all_of(uncovered(wait, counter, allowed, dropped), [&](const std::pair<const size_t, Open> &each) {
           return coveredBehind(wait, counter, allowed, each.first, each.second);
         });
}
