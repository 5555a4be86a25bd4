// Tries every encoding and sorts what LLVM accepts by what the decoder binds it to.
#include "Simulator/Coverage.h"

#include "Decode.h"
#include "EncodingSpace.h"

#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;

namespace {
struct Exclusion {
  const char *prefix; ///< of the mnemonics
  const char *reason;
};
} // namespace

/// What will stay missing. LLVM emits none of these for C, attention or GEMM kernels.
static constexpr Exclusion exclusions[] = {
    {"ds_gws_", "synchronises the workgroups of a cooperative launch through a device-wide "
                "semaphore; workgroups run one after the other here"},
    {"s_cbranch_g_fork", "a fork of the two sides of a branch; no compiler emits forks"},
    {"s_cbranch_i_fork", "a fork of the two sides of a branch; no compiler emits forks"},
    {"s_cbranch_join", "a fork of the two sides of a branch; no compiler emits forks"},
    {"s_endpgm_ordered_ps_done", "ends a pixel shader"},
    {"s_rfe_", "returns from a trap handler, of which there is none"},
    {"s_scratch_", "addresses scratch from a base in SGPRs, which these chips do not have: their "
                   "flat scratch is architected"},
    {"v_mfma_ld_scale_b32", "the prefix of v_mfma_scale_*, which means nothing by itself"},
    {"v_screen_partition_4se_b32", "maps screen tiles to shader engines, for graphics; AMD's CDNA "
                                   "documents do not define it"},
};

static const char *exclusionReason(StringRef mnemonic) {
  for (const Exclusion &exclusion : exclusions)
    if (mnemonic.starts_with(exclusion.prefix))
      return exclusion.reason;
  return nullptr;
}

size_t Coverage::count(CoveredInstruction::State state) const {
  return llvm::count_if(instructions, [&](const auto &each) { return each.state == state; });
}

size_t Coverage::opcodes(CoveredInstruction::State state) const {
  size_t sum = 0;
  for (const CoveredInstruction &each : instructions)
    sum += each.state == state ? each.opcodes.size() : 0;
  return sum;
}

static void note(CoveredInstruction &instruction, const EncodingSample &sample, Binding binding) {
  if (binding == Binding::Implemented)
    instruction.state = CoveredInstruction::Implemented;
  std::vector<CoveredOpcode> &known = instruction.opcodes;
  bool same = !known.empty() && known.back().format == sample.format->name &&
              known.back().opcode == sample.opcode;
  if (!same)
    known.push_back({sample.format->name, sample.opcode});
}

Result<Coverage> hocket::sim::coverInstructions(std::string_view architecture) {
  if (Result<const ArchInfo *> arch = findArch(architecture); !arch.ok())
    return arch.error();
  std::vector<EncodingSample> samples = everyEncoding();
  std::string bytes;
  for (const EncodingSample &sample : samples)
    bytes.append(reinterpret_cast<const char *>(sample.words), sizeof(sample.words));
  Result<std::unique_ptr<Text>> text = Text::create(bytes, 0, architecture);
  if (!text)
    return text.error();

  std::map<std::string, CoveredInstruction> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    auto slot = static_cast<uint32_t>(i * 4);
    Disassembly disassembly = (*text)->disassemble(slot);
    // The prefix of VOP3PX alone is found as VOP3P.
    if (!disassembly.valid || (samples[i].format->words == 4 && disassembly.bytes != 16))
      continue;
    (*text)->decode(slot);
    note(found[disassembly.mnemonic], samples[i], (*text)->bindingOf(slot));
  }

  Coverage coverage;
  coverage.architecture = architecture;
  coverage.encodingsTried = samples.size();
  for (auto &[mnemonic, instruction] : found) {
    instruction.mnemonic = mnemonic;
    const char *reason = exclusionReason(mnemonic);
    if (instruction.state == CoveredInstruction::Missing && reason) {
      instruction.state = CoveredInstruction::Excluded;
      instruction.reason = reason;
    }
    coverage.instructions.push_back(std::move(instruction));
  }
  return coverage;
}
