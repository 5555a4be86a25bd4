// Where every lane that a wave began with takes part.
//
// A kernel of one way through all its code never writes EXEC. Loops over lanes with other descriptors do, and restore it
// from a pair of scalar registers behind them; a branch on EXEC elsewhere still leads one way only.
#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/Support/Endian.h"

#include <bitset>

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;

namespace {
/// Bit n: the pair of scalar registers from n on has a bit for every lane that the wave began with.
using FullMasks = std::bitset<128>;
} // namespace

static constexpr unsigned kMinusOne = 193; ///< as an operand of scalar instructions

static bool isFull(const FullMasks &masks, unsigned source) {
  return source == kMinusOne || (source < masks.size() && masks.test(source));
}

/// The masks behind an instruction that has `masks` in front of it.
static FullMasks behind(StringRef name, const Instruction &instruction, const RegisterEffects &effects, FullMasks masks) {
  const uint32_t word = llvm::support::endian::read32le(instruction.bytes.data());
  const unsigned first = word & 255, second = word >> 8 & 255, destination = word >> 16 & 127;
  const bool wasFull = masks.test(kExec);
  const bool isFullNow = name == "S_MOV_B64"  ? isFull(masks, first)
                         : name == "S_OR_B64" ? isFull(masks, first) || isFull(masks, second)
                                              : name.ends_with("_SAVEEXEC_B64") && wasFull;
  for (const RegisterAccess &write : effects.writes)
    if (write.file == RegisterFile::Scalar)
      for (unsigned number = write.first; number < write.end() && number < masks.size(); ++number) {
        masks.reset(number);
        if (number != 0)
          masks.reset(number - 1);
      }
  if (isFullNow)
    masks.set(destination);
  return masks;
}

void CodeFlow::findLanes() {
  std::vector<std::optional<FullMasks>> masks(nodes.size());
  std::vector<size_t> work = {0};
  masks[0] = FullMasks().set(kExec);
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    const FullMasks after = behind(nodes[at].name, code[at], nodes[at].effects, *masks[at]);
    for (size_t next : nodes[at].next) {
      const FullMasks met = masks[next] ? *masks[next] & after : after;
      if (masks[next] == met)
        continue;
      masks[next] = met;
      work.push_back(next);
    }
  }
  for (size_t at = 0; at != nodes.size(); ++at)
    nodes[at].hasAllLanes = masks[at] && masks[at]->test(kExec);
}

void CodeFlow::decideLaneBranches() {
  for (size_t at = 0; at != nodes.size(); ++at) {
    Node &node = nodes[at];
    if (!node.hasAllLanes || node.next.size() != 2)
      continue;
    if (node.name.starts_with("S_CBRANCH_EXECNZ"))
      node.next = {node.next[1]};
    else if (node.name.starts_with("S_CBRANCH_EXECZ"))
      node.next = {node.next[0]};
  }
}

/// LLVM's loop for operands that must be the same in all lanes: the first lane's value, the lanes that have it, the access,
/// and back for those that are left.
bool CodeFlow::repeatsForLanes(size_t from, size_t to) const {
  if (to >= from || !nodes[from].name.starts_with("S_CBRANCH_EXECNZ") || nodes[from - 1].name != "S_XOR_B64")
    return false;
  const uint32_t left = llvm::support::endian::read32le(code[from - 1].bytes.data());
  const unsigned saved = left >> 8 & 255;
  if ((left & 255) != kExec || (left >> 16 & 127) != kExec)
    return false;
  bool readsFirst = false, saves = false;
  for (size_t at = to; at + 1 != from; ++at) {
    if (nodes[at].next.size() != 1 || nodes[at].next.front() != at + 1)
      return false;
    readsFirst |= nodes[at].name == "V_READFIRSTLANE_B32";
    const uint32_t word = llvm::support::endian::read32le(code[at].bytes.data());
    saves |= nodes[at].name == "S_AND_SAVEEXEC_B64" && (word >> 16 & 127) == saved;
  }
  return readsFirst && saves;
}
