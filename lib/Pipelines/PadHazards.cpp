// Wait states that LLVM leaves out.
#include "Pipelines/PadHazards.h"

#include "Target/AMDGPU/HazardCheck.h"
#include "Target/AMDGPU/McContext.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;

/// Padding moves code, and a longer way around a loop ends other hazards: a few turns are enough.
static constexpr int kMaxTurns = 8;
/// States of one `s_nop`.
static constexpr unsigned kMaxNop = 16;

/// Missing states in front of instructions, by kernel and the instruction's number in it.
using Padding = std::map<std::string, std::map<size_t, unsigned>>;

static Result<Padding> missingStates(StringRef codeObject) {
  Result<std::vector<KernelCode>> kernels = readKernels(codeObject);
  if (!kernels)
    return kernels.error();
  auto target = McTarget::create(processorOf(codeObject));
  if (!target)
    return target.error();
  const Disassembler disassembler(*target);
  Padding padding;
  for (const KernelCode &kernel : *kernels) {
    Result<std::vector<Hazard>> hazards = findHazards(kernel, disassembler);
    if (!hazards)
      return hazards.error();
    llvm::erase_if(*hazards, [](const Hazard &hazard) {
      return hazard.severity == HazardSeverity::Advice || hazard.needed <= hazard.found;
    });
    if (hazards->empty())
      continue;
    auto code = disassembler.decodeAll(kernel.code, kernel.address);
    if (!code)
      return code.error();
    for (const Hazard &hazard : *hazards) {
      auto consumer = llvm::find_if(*code, [&](const Instruction &instruction) {
        return instruction.address == hazard.consumer;
      });
      unsigned &states = padding[kernel.name][consumer - code->begin()];
      states = std::max(states, hazard.needed - hazard.found);
    }
  }
  return padding;
}

/// Whether a line of assembly is an instruction: no label, directive or comment.
static bool isInstruction(StringRef line) {
  line = line.split(';').first.trim();
  return !line.empty() && line.front() != '.' && line.back() != ':';
}

/// `assembly` with the padding; the instructions of a kernel follow the label that is its name.
static std::string withPadding(StringRef assembly, const Padding &padding) {
  std::string result;
  const std::map<size_t, unsigned> *ofKernel = nullptr;
  size_t number = 0;
  while (!assembly.empty()) {
    auto [line, rest] = assembly.split('\n');
    assembly = rest;
    StringRef text = line.split(';').first.trim();
    if (text.consume_back(":") && !text.starts_with(".")) {
      auto found = padding.find(text.str());
      ofKernel = found == padding.end() ? nullptr : &found->second;
      number = 0;
    } else if (isInstruction(line)) {
      auto here = ofKernel ? ofKernel->find(number) : std::map<size_t, unsigned>::const_iterator();
      unsigned states = ofKernel && here != ofKernel->end() ? here->second : 0;
      for (; states > 0; states -= std::min(states, kMaxNop))
        result += "\ts_nop " + std::to_string(std::min(states, kMaxNop) - 1) + "\n";
      ++number;
    }
    result += line.str() + "\n";
  }
  return result;
}

Result<llvm::SmallVector<char, 0>> hocket::padHazards(hsaco::Emitted &emitted,
                                                      const std::string &cpu) {
  for (int turn = 0;; ++turn) {
    Result<llvm::SmallVector<char, 0>> linked =
        hsaco::link(StringRef(emitted.object.data(), emitted.object.size()));
    if (!linked || turn == kMaxTurns)
      return linked;
    Result<Padding> padding = missingStates(StringRef(linked->data(), linked->size()));
    // What cannot be followed is the check's to say.
    if (!padding || padding->empty())
      return linked;
    std::string padded = withPadding(emitted.assembly, *padding);
    Result<llvm::SmallVector<char, 0>> object = hsaco::assemble(padded, {.cpu = cpu});
    if (!object)
      return internalError("assembly that was padded is no assembly any more: " +
                           object.error().message);
    emitted.assembly = std::move(padded);
    emitted.object = *std::move(object);
  }
}
