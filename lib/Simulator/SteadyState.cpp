// Finds the hot loop of an executed trace and counts its shortest turn.
#include "Simulator/SteadyState.h"

#include "Target/AMDGPU/Disassembler.h"
#include "Target/AMDGPU/Opcode.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::sim;
using amdgpu::InstructionClass;
using llvm::StringRef;

void InstructionCounts::add(const InstructionCounts &other) {
  mfma += other.mfma, trans += other.trans, valu += other.valu, ldsRead += other.ldsRead;
  ldsWrite += other.ldsWrite, ldsDma += other.ldsDma, barrier += other.barrier;
  waits += other.waits, nop += other.nop, salu += other.salu, branch += other.branch;
  this->other += other.other, instructions += other.instructions;
  nopWaitStates += other.nopWaitStates, emptyShadows += other.emptyShadows;
  matrixMultiplies += other.matrixMultiplies;
}

namespace {
/// What is counted of one instruction.
struct Counted {
  InstructionClass kind = InstructionClass::Other;
  bool packedFloat = false;
  uint64_t multiplies = 0;
  unsigned waitStates = 0;
  std::string operands; ///< of waits
};

/// Decodes the instructions of a kernel that a trace reaches, each once.
class Decoder {
public:
  Decoder(const amdgpu::KernelCode &kernel, std::shared_ptr<const amdgpu::McTarget> target)
      : kernel(kernel), disassembler(target), opcodes(target->instructions()) {}

  Result<const Counted *> at(uint64_t address) {
    auto found = known.find(address);
    if (found != known.end())
      return &found->second;
    if (address < kernel.address || address - kernel.address >= kernel.code.size())
      return invalidInput("the trace leaves the code of kernel '" + kernel.name +
                          "' at address 0x" + llvm::utohexstr(address, true) +
                          "; kernels that call functions cannot be counted");
    Result<amdgpu::Instruction> decoded =
        disassembler.decode(kernel.code.drop_front(address - kernel.address), address);
    if (!decoded.ok())
      return decoded.error();
    return &(known[address] = count(*decoded));
  }

private:
  Counted count(const amdgpu::Instruction &instruction) {
    Counted counted;
    counted.kind = opcodes.kind(instruction.opcode());
    StringRef name = opcodes.name(instruction.opcode()).base;
    counted.packedFloat = name.starts_with("V_PK_") && name.ends_with("_F32");
    if (counted.kind == InstructionClass::Mfma)
      counted.multiplies = multipliesOf(name);
    std::string text = disassembler.text(instruction);
    StringRef operands = StringRef(text).split(' ').second.trim();
    if (counted.kind == InstructionClass::Wait)
      counted.operands = operands.str();
    if (counted.kind == InstructionClass::Nop && !operands.getAsInteger(0, counted.waitStates))
      ++counted.waitStates;
    return counted;
  }

  /// Rows times columns times depth, times blocks, from "V_MFMA_F32_32X32X16_BF16" and the like.
  static uint64_t multipliesOf(StringRef name) {
    llvm::SmallVector<StringRef> parts;
    name.split(parts, '_');
    uint64_t product = 0;
    for (StringRef part : parts) {
      llvm::SmallVector<StringRef, 3> sizes;
      part.split(sizes, 'X');
      unsigned m, n, k;
      if (sizes.size() == 3 && !sizes[0].getAsInteger(10, m) && !sizes[1].getAsInteger(10, n) &&
          !sizes[2].getAsInteger(10, k))
        product = uint64_t(m) * n * k;
      else if (unsigned blocks;
               product != 0 && part.ends_with("B") && !part.drop_back().getAsInteger(10, blocks))
        product *= blocks;
    }
    return product;
  }

  const amdgpu::KernelCode &kernel;
  amdgpu::Disassembler disassembler;
  amdgpu::OpcodeTable opcodes;
  std::map<uint64_t, Counted> known;
};

/// A loop of the trace: the places at which its header was visited.
struct Loop {
  uint64_t header = 0;
  std::vector<size_t> visits;
  uint64_t mfmas = 0; ///< between the first visit and the last
};
} // namespace

static void countInto(InstructionCounts &counts, const Counted &instruction) {
  ++counts.instructions;
  switch (instruction.kind) {
  case InstructionClass::Mfma:
    ++counts.mfma;
    counts.matrixMultiplies += instruction.multiplies;
    break;
  case InstructionClass::Transcendental:
    ++counts.trans;
    break;
  case InstructionClass::Packed:
  case InstructionClass::Valu:
    counts.valu += instruction.packedFloat ? 2 : 1;
    break;
  case InstructionClass::Salu:
    ++counts.salu;
    break;
  case InstructionClass::LdsRead:
    ++counts.ldsRead;
    break;
  case InstructionClass::LdsWrite:
    ++counts.ldsWrite;
    break;
  case InstructionClass::LdsDma:
    ++counts.ldsDma;
    break;
  case InstructionClass::Barrier:
    ++counts.barrier;
    break;
  case InstructionClass::Wait:
    ++counts.waits;
    break;
  case InstructionClass::Nop:
    ++counts.nop;
    counts.nopWaitStates += instruction.waitStates;
    break;
  case InstructionClass::Branch:
    ++counts.branch;
    break;
  default:
    ++counts.other;
  }
}

/// All loops: targets of backward jumps with all their visits.
static std::vector<Loop> findLoops(const std::vector<const Counted *> &instructions,
                                   const std::vector<uint64_t> &addresses) {
  std::map<uint64_t, Loop> loops;
  for (size_t i = 1; i < addresses.size(); ++i)
    if (addresses[i] <= addresses[i - 1])
      loops[addresses[i]].header = addresses[i];
  for (size_t i = 0; i < addresses.size(); ++i)
    if (auto found = loops.find(addresses[i]); found != loops.end())
      found->second.visits.push_back(i);
  std::vector<uint64_t> mfmasBefore(instructions.size() + 1, 0);
  for (size_t i = 0; i < instructions.size(); ++i)
    mfmasBefore[i + 1] = mfmasBefore[i] + (instructions[i]->kind == InstructionClass::Mfma);
  std::vector<Loop> result;
  for (auto &[header, loop] : loops) {
    if (loop.visits.size() < 2)
      continue;
    loop.mfmas = mfmasBefore[loop.visits.back()] - mfmasBefore[loop.visits.front()];
    if (loop.mfmas != 0)
      result.push_back(std::move(loop));
  }
  return result;
}

/// The innermost loop that has at least half as many MFMAs as the loop with the most.
static const Loop &hottest(const std::vector<Loop> &loops) {
  uint64_t most = 0;
  for (const Loop &loop : loops)
    most = std::max(most, loop.mfmas);
  const Loop *best = nullptr;
  for (const Loop &loop : loops)
    if (2 * loop.mfmas >= most && (!best || loop.visits.size() > best->visits.size()))
      best = &loop;
  return *best;
}

namespace {
/// A turn between two barriers.
struct Piece {
  InstructionCounts counts;
  std::vector<std::string> waits;
};
} // namespace

/// Splits [begin, end) at its barriers; what follows the last joins what precedes the first.
static std::vector<Piece> splitAtBarriers(const std::vector<const Counted *> &instructions,
                                          size_t begin, size_t end) {
  std::vector<Piece> pieces(1);
  const Counted *lastMath = nullptr;
  for (size_t i = begin; i < end; ++i) {
    const Counted &instruction = *instructions[i];
    Piece &piece = pieces.back();
    countInto(piece.counts, instruction);
    bool isMfma = instruction.kind == InstructionClass::Mfma;
    if (isMfma && lastMath && lastMath->kind == InstructionClass::Mfma)
      ++piece.counts.emptyShadows;
    bool fills = instruction.kind != InstructionClass::Nop &&
                 instruction.kind != InstructionClass::Salu &&
                 instruction.kind != InstructionClass::Other;
    if (fills)
      lastMath = &instruction;
    if (instruction.kind == InstructionClass::Wait)
      piece.waits.push_back(instruction.operands);
    if (instruction.kind == InstructionClass::Barrier)
      pieces.emplace_back();
  }
  if (pieces.size() > 1) {
    pieces.front().counts.add(pieces.back().counts);
    pieces.front().waits.insert(pieces.front().waits.begin(), pieces.back().waits.begin(),
                                pieces.back().waits.end());
    pieces.pop_back();
  }
  return pieces;
}

Result<SteadyState> sim::countSteadyState(const WaveTrace &trace, const amdgpu::KernelCode &kernel,
                                          StringRef cpu, const ClusterNumbers &numbers,
                                          unsigned waves) {
  Result<std::shared_ptr<const amdgpu::McTarget>> target = amdgpu::McTarget::create(cpu);
  if (!target.ok())
    return target.error();
  Decoder decoder(kernel, *target);
  std::vector<const Counted *> instructions;
  instructions.reserve(trace.addresses.size());
  for (uint64_t address : trace.addresses) {
    Result<const Counted *> instruction = decoder.at(address);
    if (!instruction.ok())
      return instruction.error();
    instructions.push_back(*instruction);
  }
  std::vector<Loop> loops = findLoops(instructions, trace.addresses);
  if (loops.empty())
    return invalidInput("wave " + std::to_string(trace.wave) + " of kernel '" + kernel.name +
                        "' ran no loop with matrix instructions twice; use longer sequences");
  const Loop &loop = hottest(loops);
  SteadyState state;
  state.wave = trace.wave;
  state.header = loop.header;
  state.turns = static_cast<unsigned>(loop.visits.size() - 1);
  size_t length = SIZE_MAX, begin = 0;
  for (size_t i = 0; i + 1 < loop.visits.size(); ++i) {
    size_t turn = loop.visits[i + 1] - loop.visits[i];
    // The way from the last turn of one run of the loop to the next run is no turn.
    if (turn < length)
      length = turn, begin = loop.visits[i], state.shortest = 0;
    state.shortest += turn == length;
  }
  std::vector<Piece> pieces = splitAtBarriers(instructions, begin, begin + length);
  auto isBarrier = [](const Counted *instruction) {
    return instruction->kind == InstructionClass::Barrier;
  };
  const auto passed = std::count_if(instructions.begin(), instructions.begin() + begin, isBarrier);
  if (auto first = numbers.firstPiece(trace.wave, waves, passed, pieces.size())) {
    std::rotate(pieces.begin(), pieces.begin() + *first, pieces.end());
    state.scheduled = numbers.count;
  }
  for (const Piece &piece : pieces) {
    state.clusters.push_back(piece.counts);
    state.total.add(piece.counts);
    state.waits.insert(state.waits.end(), piece.waits.begin(), piece.waits.end());
  }
  return state;
}
