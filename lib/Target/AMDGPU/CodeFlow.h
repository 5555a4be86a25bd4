// A kernel's machine code as a graph, and what can be proven on it of waits and barriers that are missing.
#pragma once

#include "Target/AMDGPU/Disassembler.h"
#include "Target/AMDGPU/HazardCheck.h"
#include "Target/AMDGPU/Opcode.h"
#include "Target/AMDGPU/RegisterEffects.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <vector>

namespace hocket::amdgpu {

/// A kernel's instructions with control flow and what each does to the counters. Where EXEC is as at the entry, some lane
/// is there, and a branch on EXEC leads one way only; and a branch that is decided where a way comes from is gone on
/// that way: its block stands there once more, without it.
class CodeFlow {
public:
  /// That waits look at: vmcnt and lgkmcnt.
  enum Counter { Vector, LdsAndScalar };

  CodeFlow(const KernelCode &kernel, const Disassembler &disassembler)
      : kernel(kernel), disassembler(disassembler), opcodes(disassembler.target().instructions()) {}

  /// Unsupported: calls, indirect jumps.
  Status build();
  /// Whether the barrier closes an epoch in which its wave at most loads registers, or opens one in
  /// which it does nothing with LDS.
  bool idleBarrier(size_t barrier) const { return idle(barrier, true) || idle(barrier, false); }
  /// Whether each wave makes all accesses of LDS of the epoch that the barrier closes and of the one that it opens,
  /// at addresses that follow from its work-items alone; and none is in flight where the first begins.
  bool fixedEpochs(size_t barrier) const;
  /// Whether nothing can be seen of it if the wait allows one operation more than `allowed`, or is dropped: fewer can
  /// be in flight, or each that it no longer covers is covered behind it on every way, before anything touches what it
  /// reads or writes.
  bool dominatedWait(size_t wait, Counter counter, unsigned allowed, bool dropped) const;
  /// Whether a way leads from the kernel's entry to the instruction.
  bool reachable(size_t instruction) const;
  /// Whether the load to LDS has a descriptor of no bytes, whenever it is executed.
  bool fetchesNothing(size_t fetch) const;
  /// Whether nothing can be seen of it if the comparison, which the next instruction branches on, is `changed`:
  /// wherever it decides something else, one of the two ways leads to the other and changes nothing that is read there.
  bool decidesTheSame(size_t comparison, const Instruction &changed) const;

  // The graph: instructions by number, the first where the kernel begins. A way that leads through a branch decided
  // before has numbers of its own behind the last instruction's.
  InstructionClass kindOf(size_t at) const { return nodes[at].kind; }
  bool counts(size_t at, Counter counter) const { return nodes[at].counts[counter]; }
  /// How many operations the instruction leaves in flight: a wait, or `kNoLimit`.
  unsigned allows(size_t at, Counter counter) const { return nodes[at].limit[counter]; }
  uint64_t addressOf(size_t at) const { return code[at].address; }
  llvm::ArrayRef<size_t> nextOf(size_t at) const { return nodes[at].next; }
  llvm::ArrayRef<size_t> previousOf(size_t at) const { return nodes[at].previous; }
  /// Whether the step leads back because some lanes are left: LLVM repeats an access for each descriptor that lanes hold,
  /// which is one where they hold the same.
  bool repeatsForLanes(size_t from, size_t to) const;
  static constexpr unsigned kNoLimit = 64;

  static constexpr size_t kNowhere = ~size_t(0);
  /// Natural loops: the instructions of each, and of each instruction the smallest that it is in, or `kNowhere`.
  struct Loops {
    std::vector<llvm::BitVector> bodies;
    std::vector<size_t> innermost;
  };
  Loops findLoops() const;

private:
  friend class MachineTerms;
  struct Node {
    InstructionClass kind = InstructionClass::Other;
    llvm::StringRef name; ///< of the opcode, without encoding
    RegisterEffects effects;
    unsigned limit[2] = {kNoLimit, kNoLimit}; ///< what a wait allows
    bool counts[2] = {false, false};
    bool lds = false; ///< touches what is in LDS
    bool computes = false; ///< what it writes follows from the registers that it reads
    bool hasAllLanes = false; ///< in front of it EXEC is as at the entry
    size_t origin = 0;     ///< the instruction that it is, or is once more
    llvm::SmallVector<size_t, 2> next, previous;
  };
  /// An operation that may be in flight.
  struct Open {
    unsigned later = ~0U; ///< the fewest operations of the counter between it and the wait
    bool ordered = true;  ///< it and they complete in order
  };
  Status connect();
  void findPrevious();
  void findLanes();
  void decideLaneBranches();
  struct Decision;
  std::optional<Decision> decisionOf(size_t branch) const;
  void decideMaskBranches();
  void threadBranches();
  std::optional<bool> isSetBehind(size_t at, unsigned mask) const;
  bool writes(size_t at, RegisterFile file, unsigned number) const;
  std::vector<size_t> dominators() const;
  llvm::BitVector reachedFromEntry(size_t withoutFrom, size_t withoutTo) const;
  bool isLive(size_t at, RegisterFile file, unsigned number) const;
  bool depends(const Node &node, size_t operation) const;
  /// Whether both are loads to LDS and go to different bytes.
  bool isApart(size_t a, size_t b) const;
  /// Whether the load to LDS `later` brings the same bytes to the same place as `earlier` did.
  bool isSameLoad(size_t later, size_t earlier) const;
  llvm::BitVector reachedFrom(size_t at, bool forward) const;
  bool coveredBehind(size_t wait, Counter counter, unsigned allowed, size_t operation, Open open) const;
  bool alwaysFewer(size_t wait, Counter counter, unsigned allowed) const;
  bool idle(size_t barrier, bool forward) const;
  std::optional<size_t> definition(size_t at, RegisterFile file, unsigned number) const;
  bool followsFromWorkItems(size_t at, const RegisterAccess &read, llvm::DenseMap<size_t, bool> &known) const;
  bool hasFixedAddress(size_t at) const;
  std::map<size_t, Open> uncovered(size_t wait, Counter counter, unsigned allowed, bool dropped) const;

  const KernelCode &kernel;
  const Disassembler &disassembler;
  OpcodeTable opcodes;
  std::vector<Instruction> code;
  std::vector<Node> nodes;
  bool hasLanes = false; ///< EXEC is as it is at the entry, everywhere
};

} // namespace hocket::amdgpu
