// Follows a kernel's control flow and measures the distance of every dependent pair.
//
// The state before an instruction is the set of recent producers, each with the fewest wait states
// that can lie between it and here. Where ways meet, the smaller distance of each producer counts;
// distances only ever shrink and a producer leaves the set after the longest one any rule asks
// for, so loops reach a fixpoint.
#include "Target/AMDGPU/HazardCheck.h"

#include "Target/AMDGPU/HazardRules.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>
#include <map>
#include <set>

namespace hocket::amdgpu {

namespace {

/// Index of a producer -> fewest wait states since it issued.
using Distances = std::map<size_t, unsigned>;

/// A straight run of instructions.
struct Block {
  size_t begin = 0, end = 0;
  llvm::SmallVector<size_t, 2> successors; ///< indices of blocks
  Distances entry;
};

class Checker {
public:
  Checker(const KernelCode &kernel, const Disassembler &disassembler, const HazardTable &table)
      : kernel(kernel), disassembler(disassembler), table(table), longest(longestHazard(table)),
        opcodes(disassembler.target().instructions()) {}

  Result<std::vector<Hazard>> run();

private:
  Status decode();
  Status buildBlocks();
  Result<llvm::SmallVector<size_t, 2>> successorsOf(size_t index) const;
  void propagate();
  void step(size_t index, Distances &distances) const;
  void inspect(size_t index, const Distances &distances, std::vector<Hazard> &hazards) const;

  const KernelCode &kernel;
  const Disassembler &disassembler;
  const HazardTable &table;
  unsigned longest;
  OpcodeTable opcodes;
  std::vector<Instruction> code;
  std::vector<HazardInstruction> reduced;
  llvm::DenseMap<uint64_t, size_t> indexOfAddress;
  std::vector<Block> blocks;
};

} // namespace

Status Checker::decode() {
  Result<std::vector<Instruction>> decoded = disassembler.decodeAll(kernel.code, kernel.address);
  if (!decoded)
    return decoded.error();
  code = *std::move(decoded);
  reduced.reserve(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    indexOfAddress[code[i].address] = i;
    reduced.push_back(reduceForHazards(code[i], disassembler, opcodes));
  }
  return Status::success();
}

/// Instructions that may run after `index`; a branch whose target is not in the kernel is an error.
Result<llvm::SmallVector<size_t, 2>> Checker::successorsOf(size_t index) const {
  llvm::SmallVector<size_t, 2> successors;
  const llvm::StringRef name = reduced[index].name;
  if (name.starts_with("S_ENDPGM"))
    return successors;
  if (reduced[index].kind != InstructionClass::Branch || name.starts_with("S_CBRANCH")) {
    if (index + 1 < code.size())
      successors.push_back(index + 1);
    if (reduced[index].kind != InstructionClass::Branch)
      return successors;
  }
  const std::unique_ptr<llvm::MCInstrAnalysis> analysis(
      disassembler.target().target().createMCInstrAnalysis(&disassembler.target().instructions()));
  uint64_t target = 0;
  const bool known = analysis && analysis->evaluateBranch(code[index].inst, code[index].address,
                                                          code[index].bytes.size(), target);
  auto found = known ? indexOfAddress.find(target) : indexOfAddress.end();
  if (found == indexOfAddress.end())
    return unsupported(llvm::formatv("kernel '{0}': cannot follow '{1}' at {2:x}; hazards are "
                                     "checked in kernels without calls and indirect jumps",
                                     kernel.name, disassembler.text(code[index]),
                                     code[index].address)
                           .str());
  successors.push_back(found->second);
  return successors;
}

Status Checker::buildBlocks() {
  std::set<size_t> leaders = {0};
  llvm::DenseMap<size_t, llvm::SmallVector<size_t, 2>> jumps;
  for (size_t i = 0; i < code.size(); ++i) {
    if (reduced[i].kind != InstructionClass::Branch)
      continue;
    Result<llvm::SmallVector<size_t, 2>> successors = successorsOf(i);
    if (!successors)
      return successors.error();
    leaders.insert(successors->begin(), successors->end());
    if (i + 1 < code.size())
      leaders.insert(i + 1);
    jumps[i] = *std::move(successors);
  }
  llvm::DenseMap<size_t, size_t> blockOfLeader;
  for (auto leader = leaders.begin(); leader != leaders.end(); ++leader) {
    auto next = std::next(leader);
    blockOfLeader[*leader] = blocks.size();
    blocks.push_back({*leader, next == leaders.end() ? code.size() : *next, {}, {}});
  }
  for (Block &block : blocks) {
    auto jump = jumps.find(block.end - 1);
    if (jump != jumps.end())
      for (size_t target : jump->second)
        block.successors.push_back(blockOfLeader[target]);
    else if (block.end < code.size())
      block.successors.push_back(blockOfLeader[block.end]);
  }
  return Status::success();
}

void Checker::step(size_t index, Distances &distances) const {
  for (auto producer = distances.begin(); producer != distances.end();) {
    producer->second += reduced[index].waitStates;
    producer = producer->second >= longest ? distances.erase(producer) : std::next(producer);
  }
  if (canBeHazardProducer(reduced[index]))
    distances[index] = 0;
}

void Checker::propagate() {
  std::deque<size_t> work;
  std::vector<bool> queued(blocks.size(), true);
  for (size_t i = 0; i < blocks.size(); ++i)
    work.push_back(i);
  while (!work.empty()) {
    const size_t current = work.front();
    work.pop_front();
    queued[current] = false;
    Distances distances = blocks[current].entry;
    for (size_t i = blocks[current].begin; i < blocks[current].end; ++i)
      step(i, distances);
    for (size_t successor : blocks[current].successors) {
      bool changed = false;
      for (auto [producer, distance] : distances) {
        auto [known, added] = blocks[successor].entry.try_emplace(producer, distance);
        if (!added && known->second <= distance)
          continue;
        known->second = distance;
        changed = true;
      }
      if (changed && !queued[successor]) {
        queued[successor] = true;
        work.push_back(successor);
      }
    }
  }
}

void Checker::inspect(size_t index, const Distances &distances,
                      std::vector<Hazard> &hazards) const {
  for (auto [producer, distance] : distances) {
    const HazardRequirement broken = brokenRule(reduced[producer], reduced[index], distance, table,
                                                disassembler.target().registers());
    if (broken.waitStates == 0)
      continue;
    hazards.push_back({broken.severity, code[producer].address, code[index].address,
                       disassembler.text(code[producer]), disassembler.text(code[index]),
                       broken.rule, distance, broken.waitStates});
  }
}

Result<std::vector<Hazard>> Checker::run() {
  if (Status decoded = decode(); !decoded)
    return decoded.error();
  std::vector<Hazard> hazards;
  if (code.empty())
    return hazards;
  if (Status built = buildBlocks(); !built)
    return built.error();
  propagate();
  for (const Block &block : blocks) {
    Distances distances = block.entry;
    for (size_t i = block.begin; i < block.end; ++i) {
      inspect(i, distances, hazards);
      step(i, distances);
    }
  }
  return hazards;
}

Result<std::vector<Hazard>> findHazards(const KernelCode &kernel,
                                        const Disassembler &disassembler) {
  Result<const ArchInfo *> arch = findArch(disassembler.target().cpu());
  if (!arch)
    return arch.error();
  return Checker(kernel, disassembler, (*arch)->hazards).run();
}

std::string describe(const Hazard &hazard, llvm::StringRef kernel) {
  return llvm::formatv("kernel '{0}': '{1}' at {2:x} follows '{3}' at {4:x} after {5} wait "
                       "states, {6} are needed ({7}); put 's_nop {8}' or other work between them",
                       kernel, hazard.consumerText, hazard.consumer, hazard.producerText,
                       hazard.producer, hazard.found, hazard.needed, hazard.rule,
                       hazard.needed - hazard.found - 1)
      .str();
}

Status checkHazards(llvm::StringRef codeObject, llvm::StringRef name,
                    std::vector<std::string> *advice) {
  Result<std::vector<KernelCode>> kernels = readKernels(codeObject, name);
  if (!kernels)
    return kernels.error();
  Result<std::shared_ptr<const McTarget>> target = McTarget::create(processorOf(codeObject));
  if (!target)
    return target.error();
  const Disassembler disassembler(*target);
  std::string errors;
  for (const KernelCode &kernel : *kernels) {
    Result<std::vector<Hazard>> hazards = findHazards(kernel, disassembler);
    if (!hazards)
      return hazards.error();
    for (const Hazard &hazard : *hazards) {
      if (hazard.severity != HazardSeverity::Advice)
        errors += (errors.empty() ? "" : "\n") + describe(hazard, kernel.name);
      else if (advice)
        advice->push_back(describe(hazard, kernel.name));
    }
  }
  return errors.empty() ? Status::success() : Status(invalidInput(errors));
}

} // namespace hocket::amdgpu
