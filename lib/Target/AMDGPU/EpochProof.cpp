// Whether a barrier orders anything between the epoch that it closes and the one that it opens.
//
// It does not where the first has nothing in it but loads of registers, or the second nothing with LDS, so that to join
// the two joins nothing; or where each wave makes all accesses of both, at addresses that follow from its work-items
// alone, so that a run without conflicts speaks for all: one of whole tiles, since what a descriptor cuts off is not
// written. Loads to LDS that are in flight all the while it does not order either. That the epochs of other waves do not shift against it, and that global memory is not shared, is for the
// checked runs to say.
#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace hocket;
using namespace hocket::amdgpu;

/// Whether no way to the next barrier accesses LDS; or no way to the previous one accesses LDS,
/// stores, or waits: what was waited for before a barrier, others may rely on behind it.
bool CodeFlow::idle(size_t barrier, bool forward) const {
  std::vector<bool> seen(nodes.size(), false);
  auto ways = [&](size_t i) -> const llvm::SmallVector<size_t, 2> & {
    return forward ? nodes[i].next : nodes[i].previous;
  };
  std::vector<size_t> work(ways(barrier).begin(), ways(barrier).end());
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    const Node &node = nodes[at];
    if (seen[at] || node.kind == InstructionClass::Barrier)
      continue;
    seen[at] = true;
    const bool stores =
        node.kind == InstructionClass::VmemStore || node.kind == InstructionClass::VmemOther;
    if (node.lds || (!forward && (stores || node.kind == InstructionClass::Wait)))
      return false;
    work.insert(work.end(), ways(at).begin(), ways(at).end());
  }
  return true;
}

static constexpr size_t entry = ~size_t(0);

/// What alone writes the register on all ways to the instruction: an instruction, or `entry`.
std::optional<size_t> CodeFlow::definition(size_t at, RegisterFile file, unsigned number) const {
  std::set<size_t> found;
  std::vector<bool> seen(nodes.size(), false);
  std::vector<size_t> work;
  auto goOn = [&](size_t from) {
    if (from == 0)
      found.insert(entry);
    work.insert(work.end(), nodes[from].previous.begin(), nodes[from].previous.end());
  };
  goOn(at);
  while (!work.empty() && found.size() <= 1) {
    const size_t here = work.back();
    work.pop_back();
    if (seen[here])
      continue;
    seen[here] = true;
    if (writes(here, file, number))
      found.insert(here);
    else
      goOn(here);
  }
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

/// Whether what the instruction `at` reads is computed from the numbers of work-items and constants, on one way.
bool CodeFlow::followsFromWorkItems(size_t at, const RegisterAccess &read, llvm::DenseMap<size_t, bool> &known) const {
  for (unsigned number = read.first; number != read.end(); ++number) {
    const std::optional<size_t> source = definition(at, read.file, number);
    if (!source)
      return false;
    if (*source == entry) {
      const bool isExec = read.file == RegisterFile::Scalar && (number == kExec || number == kExec + 1);
      if (!isExec && read.file != RegisterFile::Mode && (read.file != RegisterFile::Vector || number != 0))
        return false;
      continue;
    }
    auto [fixed, isNew] = known.try_emplace(*source, false); // of what depends on itself, too
    if (isNew) {
      const Node &node = nodes[*source];
      auto isWhole = [](const RegisterAccess &write) { return write.bytes == 0xf; };
      auto followsToo = [&](const RegisterAccess &operand) { return followsFromWorkItems(*source, operand, known); };
      const bool follows = node.computes && llvm::all_of(node.effects.writes, isWhole) &&
                           llvm::all_of(node.effects.reads, followsToo);
      known[*source] = follows;
      if (!follows)
        return false;
    } else if (!fixed->second) {
      return false;
    }
  }
  return true;
}

bool CodeFlow::hasFixedAddress(size_t at) const {
  const Node &node = nodes[at];
  llvm::DenseMap<size_t, bool> known;
  if (node.kind == InstructionClass::LdsDma)
    return followsFromWorkItems(at, {RegisterFile::Scalar, kM0}, known);
  if (node.kind != InstructionClass::LdsRead && node.kind != InstructionClass::LdsWrite)
    return false;
  auto address = llvm::find_if(node.effects.reads, [](const RegisterAccess &read) {
    return read.file == RegisterFile::Vector && !read.implicit;
  });
  return address != node.effects.reads.end() && followsFromWorkItems(at, *address, known);
}

bool CodeFlow::fixedEpochs(size_t barrier) const {
  if (!hasLanes)
    return false;
  auto isBarrier = [&](size_t i) { return nodes[i].kind == InstructionClass::Barrier; };
  // What lies between `work` and the next barriers or the end, going back if not `forward`.
  auto between = [&](std::vector<size_t> work, bool forward, size_t leftOut, std::set<size_t> &ends) {
    std::set<size_t> inside;
    while (!work.empty()) {
      const size_t at = work.back();
      work.pop_back();
      if (at == leftOut)
        continue;
      const auto &ways = forward ? nodes[at].next : nodes[at].previous;
      if (isBarrier(at) || (!forward && at == 0) || ways.empty())
        ends.insert(at);
      if (isBarrier(at) || !inside.insert(at).second)
        continue;
      work.insert(work.end(), ways.begin(), ways.end());
    }
    return inside;
  };
  auto waysOf = [](const llvm::SmallVector<size_t, 2> &ways) { return std::vector<size_t>(ways.begin(), ways.end()); };
  const std::vector<size_t> behind = waysOf(nodes[barrier].next);
  std::set<size_t> begins, ends;
  const std::set<size_t> first = between(waysOf(nodes[barrier].previous), /*forward=*/false, entry, begins);
  const std::set<size_t> second = between(behind, /*forward=*/true, entry, ends);
  std::vector<size_t> starts;
  bool isQuiet = true;
  for (size_t begin : begins) {
    if (!isBarrier(begin)) {
      starts.push_back(begin);
      continue;
    }
    isQuiet &= alwaysFewer(begin, Vector, 0);
    if (!alwaysFewer(begin, LdsAndScalar, 0))
      return false;
    llvm::append_range(starts, nodes[begin].next);
  }
  // What is in flight where the first begins is so where it ends, unless it is waited for: the barrier orders nothing of
  // it.
  auto waits = [&](size_t at) { return nodes[at].limit[Vector] < 64; };
  if (!isQuiet && llvm::any_of(first, waits))
    return false;
  auto isMadeAndFixed = [&](size_t at, bool isFirst) {
    std::set<size_t> around;
    between(isFirst ? starts : behind, /*forward=*/true, at, around);
    return (isFirst ? !around.contains(barrier) : around.empty()) && hasFixedAddress(at);
  };
  // Of global memory nothing is known of addresses: it is read alone.
  auto isFixed = [&](const std::set<size_t> &epoch, bool isFirst) {
    return llvm::all_of(epoch, [&](size_t at) {
      const InstructionClass kind = nodes[at].kind;
      const bool writes = kind == InstructionClass::VmemStore || kind == InstructionClass::VmemOther;
      return !writes && (!nodes[at].lds || isMadeAndFixed(at, isFirst));
    });
  };
  return isFixed(first, true) && isFixed(second, false);
}
