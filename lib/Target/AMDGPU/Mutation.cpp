// Which instructions are changed, and how: on encodings, which are the hardware's.
#include "Target/AMDGPU/Mutation.h"

#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/Support/Endian.h"

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;

StringRef amdgpu::mutationName(MutationKind kind) {
  switch (kind) {
  case MutationKind::DropWait:
    return "drop-wait";
  case MutationKind::WeakenWait:
    return "weaken-wait";
  case MutationKind::DropBarrier:
    return "drop-barrier";
  case MutationKind::DropNop:
    return "drop-nop";
  case MutationKind::LdsOffset:
    return "lds-offset";
  case MutationKind::BufferSlot:
    return "buffer-slot";
  case MutationKind::Counter:
    return "counter";
  }
  return "counter";
}

static constexpr uint32_t nop = 0xbf800000, nopMask = 0xffff0000;

namespace {
class Enumerator {
public:
  Enumerator(const KernelCode &kernel, const Disassembler &disassembler)
      : kernel(kernel), disassembler(disassembler), opcodes(disassembler.target().instructions()) {}

  Result<std::vector<Mutant>> run() {
    Result<std::vector<Instruction>> decoded = disassembler.decodeAll(kernel.code, kernel.address);
    if (!decoded)
      return decoded.error();
    code = *std::move(decoded);
    CodeFlow flow(kernel, disassembler);
    if (Status built = flow.build(); !built)
      return built.error();
    loops = flow.findLoops();
    for (index = 0; index < code.size(); ++index)
      visit();
    return std::move(mutants);
  }

private:
  uint32_t word(unsigned i) const {
    return llvm::support::endian::read32le(code[index].bytes.data() + 4 * i);
  }
  bool hasLiteral() const { return code[index].bytes.size() == 8; }

  /// Adds the mutant whose word `i` is `value`, if that is an instruction.
  void change(MutationKind kind, unsigned i, uint32_t value) {
    std::vector<uint8_t> bytes(code[index].bytes.begin(), code[index].bytes.end());
    llvm::support::endian::write32le(bytes.data() + 4 * i, value);
    add(kind, std::move(bytes), 1);
  }
  void add(MutationKind kind, std::vector<uint8_t> bytes, unsigned instructions) {
    Mutant mutant;
    mutant.kind = kind;
    mutant.instruction = index;
    mutant.isLoadToLds = opcodes.kind(code[index].opcode()) == InstructionClass::LdsDma;
    mutant.offset = code[index].address - kernel.address;
    for (size_t at = 0; at < bytes.size();) {
      Result<Instruction> decoded =
          disassembler.decode(llvm::ArrayRef(bytes).drop_front(at), code[index].address + at);
      if (!decoded)
        return;
      mutant.after += (at ? "; " : "") + disassembler.text(*decoded);
      at += decoded->bytes.size();
    }
    for (unsigned i = 0; i < instructions; ++i)
      mutant.before += (i ? "; " : "") + disassembler.text(code[index + i]);
    mutant.bytes = std::move(bytes);
    mutants.push_back(std::move(mutant));
  }

  void visit() {
    const unsigned opcode = code[index].opcode();
    const StringRef name = opcodes.name(opcode).base;
    switch (opcodes.kind(opcode)) {
    case InstructionClass::Wait:
      if (name == "S_WAITCNT")
        mutateWait();
      break;
    case InstructionClass::Barrier:
      change(MutationKind::DropBarrier, 0, nop);
      break;
    case InstructionClass::Nop:
      if ((word(0) & nopMask) == nop)
        mutateNop();
      break;
    case InstructionClass::LdsRead:
    case InstructionClass::LdsWrite:
      mutateLds(name);
      break;
    case InstructionClass::LdsDma:
      if (name.starts_with("BUFFER_"))
        change(MutationKind::BufferSlot, 0, (word(0) & ~0xfffu) | ((word(0) + 16) & 0xfff));
      break;
    case InstructionClass::Salu:
      mutateScalar();
      break;
    default:
      break;
    }
  }

  void mutateWait() {
    const uint32_t wait = word(0);
    const unsigned vector = (wait & 15) | (wait >> 14 & 3) << 4, lds = wait >> 8 & 15;
    if (vector == 63 && lds == 15)
      return;
    change(MutationKind::DropWait, 0, nop);
    if (vector < 63)
      change(MutationKind::WeakenWait, 0,
             (wait & ~0xc00fu) | ((vector + 1) & 15) | ((vector + 1) >> 4) << 14);
    if (lds < 15)
      change(MutationKind::WeakenWait, 0, (wait & ~0xf00u) | (lds + 1) << 8);
  }

  void mutateNop() {
    if (word(0) & 15) {
      change(MutationKind::DropNop, 0, word(0) - 1);
      return;
    }
    if (index + 1 >= code.size())
      return;
    const InstructionClass next = opcodes.kind(code[index + 1].opcode());
    if (next == InstructionClass::Branch || next == InstructionClass::Nop)
      return;
    std::vector<uint8_t> bytes(code[index + 1].bytes.begin(), code[index + 1].bytes.end());
    bytes.insert(bytes.end(), code[index].bytes.begin(), code[index].bytes.end());
    add(MutationKind::DropNop, std::move(bytes), 2);
  }

  void mutateLds(StringRef name) {
    // Forms with two offsets have bytes of their own for them.
    const bool two = name.starts_with("DS_READ2") || name.starts_with("DS_WRITE2");
    const uint32_t step = two ? 1 : 16, mask = two ? 0xff : 0xffff;
    change(MutationKind::LdsOffset, 0, (word(0) & ~mask) | ((word(0) + step) & mask));
  }

  /// Whether the instruction is a compare that the next one branches on.
  bool decidesBranch() {
    return index + 1 < code.size() &&
           StringRef(opcodes.name(code[index + 1].opcode()).base).starts_with("S_CBRANCH_SCC");
  }

  bool isInLoop() const { return loops.innermost[index] != CodeFlow::kNowhere; }

  /// Whether nothing else in the loop writes the scalar register: its value comes from the last
  /// round.
  bool isCarried(unsigned reg) {
    for (unsigned i : loops.bodies[loops.innermost[index]].set_bits()) {
      if (i == index)
        continue;
      for (const RegisterAccess &write : registerEffects(code[i], disassembler, opcodes).writes)
        if (write.file == RegisterFile::Scalar && write.first <= reg && reg < write.end())
          return false;
    }
    return true;
  }

  /// Constants that go to m0; in loops, steps of counters and bounds that a branch compares with.
  void mutateScalar() {
    const uint32_t w = word(0);
    const StringRef name = opcodes.name(code[index].opcode()).base;
    const unsigned first = w & 255, second = w >> 8 & 255, destination = w >> 16 & 127;
    const bool compare = name.starts_with("S_CMP");
    const bool slot = destination == kM0 && !compare;
    if (!slot && !isInLoop())
      return;
    if (compare && !decidesBranch())
      return;
    const bool step = name.starts_with("S_ADD") || name.starts_with("S_SUB");
    const MutationKind kind = slot ? MutationKind::BufferSlot : MutationKind::Counter;
    // A slot moves by its lowest bit, a bound by one; a counter stands still.
    auto changed = [&](uint32_t value) {
      return slot ? value + (value & -value) : compare ? value + 1 : 0;
    };
    if (w >> 28 == 0xb && w >> 27 != 0x17) { // SOPK
      if (compare || slot || (step && isCarried(destination)))
        change(kind, 0, (w & 0xffff0000) | (changed(w & 0xffff) & 0xffff));
      return;
    }
    const bool counts = step && first == destination && isCarried(destination);
    if (!compare && !slot && !counts)
      return;
    auto small = [](unsigned field) { return field > 128 && field < 192; };
    auto fits = [&](unsigned field) { return small(field) && changed(field - 128) <= 64; };
    const bool twoSources = w >> 23 != 0x17d;
    if (hasLiteral())
      change(kind, 1, changed(word(1)));
    else if (twoSources && fits(second))
      change(kind, 0, (w & ~0xff00u) | (changed(second - 128) + 128) << 8);
    else if (fits(first))
      change(kind, 0, (w & ~0xffu) | (changed(first - 128) + 128));
  }

  const KernelCode &kernel;
  const Disassembler &disassembler;
  OpcodeTable opcodes;
  std::vector<Instruction> code;
  CodeFlow::Loops loops;
  size_t index = 0;
  std::vector<Mutant> mutants;
};
} // namespace

Result<std::vector<Mutant>> amdgpu::enumerateMutants(const KernelCode &kernel,
                                                     const Disassembler &disassembler) {
  return Enumerator(kernel, disassembler).run();
}
