// Whether a weaker wait (WaitProof.cpp), a missing barrier (EpochProof.cpp), another slot, another bound (ValueProof.cpp)
// or a shorter nop can be seen at all. A nop is beyond the required distance where the static hazard check finds no more
// without it.
#include "Target/AMDGPU/CodeFlow.h"
#include "Target/AMDGPU/Mutation.h"

#include "llvm/Support/Endian.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::amdgpu;

static size_t hazardCount(const KernelCode &kernel, const Disassembler &disassembler) {
  Result<std::vector<Hazard>> hazards = findHazards(kernel, disassembler);
  return hazards ? hazards->size() : ~size_t(0);
}

static Result<std::string> proveNop(const KernelCode &kernel, const Mutant &mutant,
                                    const Disassembler &disassembler) {
  const size_t before = hazardCount(kernel, disassembler);
  if (before == ~size_t(0))
    return std::string();
  std::vector<uint8_t> bytes(kernel.code.begin(), kernel.code.end());
  std::copy(mutant.bytes.begin(), mutant.bytes.end(), bytes.begin() + mutant.offset);
  KernelCode changed = kernel;
  changed.code = bytes;
  return std::string(hazardCount(changed, disassembler) <= before ? kBeyondTheDistance : "");
}

static Result<std::string> proveWait(const CodeFlow &flow, const KernelCode &kernel,
                                     const Mutant &mutant) {
  using llvm::support::endian::read32le;
  const uint32_t wait = read32le(kernel.code.data() + mutant.offset);
  const uint32_t now = read32le(mutant.bytes.data());
  const bool dropped = mutant.kind == MutationKind::DropWait;
  auto vector = [](uint32_t w) { return (w & 15) | (w >> 14 & 3) << 4; };
  auto lds = [](uint32_t w) { return w >> 8 & 15; };
  bool dominated = true;
  if (vector(wait) < 63 && (dropped || vector(now) != vector(wait)))
    dominated &= flow.dominatedWait(mutant.instruction, CodeFlow::Vector, vector(wait), dropped);
  if (lds(wait) < 15 && (dropped || lds(now) != lds(wait)))
    dominated &= flow.dominatedWait(mutant.instruction, CodeFlow::LdsAndScalar, lds(wait), dropped);
  return std::string(dominated ? kDominatedWait : "");
}

static Result<std::string> proveCounter(const CodeFlow &flow, const KernelCode &kernel, const Mutant &mutant,
                                        const Disassembler &disassembler) {
  Result<Instruction> changed = disassembler.decode(mutant.bytes, kernel.address + mutant.offset);
  if (!changed)
    return changed.error();
  return std::string(flow.decidesTheSame(mutant.instruction, *changed) ? kDecidesTheSame : "");
}

Result<std::string> amdgpu::proveEquivalent(const KernelCode &kernel, const Mutant &mutant,
                                            const Disassembler &disassembler) {
  CodeFlow flow(kernel, disassembler);
  if (Status built = flow.build(); !built)
    return built.error();
  if (!flow.reachable(mutant.instruction))
    return std::string(kUnreachable);
  switch (mutant.kind) {
  case MutationKind::DropNop:
    return proveNop(kernel, mutant, disassembler);
  case MutationKind::DropWait:
  case MutationKind::WeakenWait:
    return proveWait(flow, kernel, mutant);
  case MutationKind::DropBarrier:
    return std::string(flow.idleBarrier(mutant.instruction) || flow.fixedEpochs(mutant.instruction)
                           ? kRedundantByEpochs : "");
  case MutationKind::BufferSlot:
    return std::string(flow.fetchesNothing(mutant.instruction) ? kFetchesNothing : "");
  case MutationKind::Counter:
    return proveCounter(flow, kernel, mutant, disassembler);
  case MutationKind::LdsOffset:
    return std::string();
  }
  return std::string();
}
