// How many workgroups share the queries of a block of keys (docs/notes/2026-11-28-backward-in-parts.md).
#include "Attention/GroupParts.h"

#include "Grid/WaveShape.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingMultiply;

/// Of heads of up to so many elements, in whole blocks, two workgroups fit on a compute unit.
static constexpr int64_t kHeadOfTwo = 128;

bool attention::mayShareUnits(const ForwardProblem &problem) {
  auto isOfTwo = [](int64_t dim) { return dim <= kHeadOfTwo && dim > kHeadOfTwo - kHeadBlock; };
  return isOfTwo(problem.headDim) && isOfTwo(problem.valueHeadDim());
}

int64_t attention::blocksOfKeys(const ForwardProblem &problem) {
  const int64_t blocks = problem.seqKv / kKeysOfTwo + (problem.seqKv % kKeysOfTwo != 0);
  return saturatingMultiply(saturatingMultiply(problem.batch, problem.kvHeads), blocks);
}

static int64_t largerHead(const ForwardProblem &problem) { return std::max(problem.headDim, problem.valueHeadDim()); }

/// Blocks for which there are workgroups at the same time: two of them on a compute unit, or one of twice the keys; of large
/// heads, and of two loops whose scores are modified, one.
static int64_t blocksAtOnce(const BackwardProblem &problem) {
  const ForwardProblem &forward = problem.forward;
  bool isModified = !forward.modifications.empty() || forward.blocks.any() || forward.dropout;
  bool isAlone = mayShareUnits(forward) && isModified && problem.accumulate == Accumulation::None;
  return isAlone || largerHead(forward) > kHeadOfTwo ? kUnits : kWorkgroupsOfTwo * kUnits;
}

/// Slices of each head's queries where all heads of a group have workgroups of their own, for so many blocks of heads: two
/// where units are idle and heads are long, and the launch that adds up is there anyway or blocks have 256 keys.
static int64_t slicesOfHead(const BackwardProblem &problem, int64_t blocks, int64_t group) {
  constexpr int64_t longHead = 1024;
  const ForwardProblem &forward = problem.forward;
  bool pays = mayShareUnits(forward) && forward.seqQ >= longHead && blocks < blocksAtOnce(problem) &&
              !forward.blocks.any() && (group > 1 || problem.accumulate != Accumulation::None);
  return pays ? 2 : 1;
}

/// One loop for all gradients of large heads spills without a mask, in parts more than without.
static bool isSpilling(const BackwardProblem &problem) {
  constexpr int64_t leastSpilling = 224;
  return problem.accumulate != Accumulation::None && problem.forward.visibility == Visibility() &&
         largerHead(problem.forward) >= leastSpilling;
}

/// Whether what one part more goes through takes no longer than the launch that adds up.
static bool isShort(const ForwardProblem &problem, int64_t group) {
  constexpr int64_t leastQueries = 512;
  return group > 1 && saturatingMultiply(group - 1, problem.seqQ) < leastQueries;
}

int64_t attention::partsOfGroup(const BackwardProblem &problem) {
  // Of a group with few divisors many more than are wanted would be mostly memory.
  constexpr int64_t timesTooMany = 32;
  const ForwardProblem &forward = problem.forward;
  if (problem.groupParts > 0 || forward.kvHeads < 1 || forward.heads % forward.kvHeads != 0)
    return std::max<int64_t>(problem.groupParts, 1);
  const int64_t group = forward.heads / forward.kvHeads, blocks = std::max<int64_t>(blocksOfKeys(forward), 1);
  if (isSpilling(problem) || isShort(forward, group))
    return 1;
  // Beneath a causal mask the first keys have most to do: twice as many workgroups even that out.
  const int64_t wanted = blocksAtOnce(problem) * (forward.visibility == Visibility::causal() ? 2 : 1);
  const int64_t most = timesTooMany * wanted / blocks;
  for (int64_t parts = 1; parts < group && parts <= std::max<int64_t>(most, 1); ++parts)
    if (group % parts == 0 && saturatingMultiply(blocks, parts) >= wanted)
      return parts;
  if (group > most)
    return 1;
  return group * slicesOfHead(problem, saturatingMultiply(blocks, group), group);
}
