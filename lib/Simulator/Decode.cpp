// Decoding through LLVM's disassembler, and binding to execute functions.
//
// LLVM's disassembler and printer are not thread-safe; one mutex per text guards them. It is taken
// once for each instruction that is reached, never while kernels run in their loops.
#include "Decode.h"

#include "OpTable.h"
#include "Wave.h"

#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;

static const char *const amdgpuTriple = "amdgcn-amd-amdhsa";

struct Text::Tools {
  std::mutex mutex;
  const OpTable *table = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  /// Whether 8-bit floats have their OCP meaning, or are the fnuz formats of older chips.
  bool hasOcpFp8 = false;
  std::shared_ptr<Table> tables[2]; ///< by TableKind

  static Result<std::unique_ptr<Tools>> create(std::string_view architecture);
};

static const llvm::Target *amdgpuTarget(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(amdgpuTriple), error);
}

Result<std::unique_ptr<Text::Tools>> Text::Tools::create(std::string_view architecture) {
  std::string error;
  const llvm::Target *target = amdgpuTarget(error);
  if (!target)
    return hostError("LLVM has no AMDGPU target: " + error);
  llvm::Triple triple(amdgpuTriple);
  StringRef cpu(architecture.data(), architecture.size());
  auto tools = std::make_unique<Tools>();
  if (!hostHasIsa(hostIsa()))
    return hostError("this simulator was built for another CPU (HOCKET_SIMULATOR_ISAS=native); build it here, or with 'all'");
  tools->table = &opTable(hostIsa());
  Result<const ArchInfo *> arch = findArch(architecture);
  tools->hasOcpFp8 = arch && (*arch)->features.ocpFp8;
  tools->registers.reset(target->createMCRegInfo(triple));
  llvm::MCTargetOptions options;
  tools->assembly.reset(target->createMCAsmInfo(*tools->registers, triple, options));
  tools->subtarget.reset(target->createMCSubtargetInfo(triple, cpu, ""));
  tools->instructions.reset(target->createMCInstrInfo());
  tools->context = std::make_unique<llvm::MCContext>(
      triple, tools->assembly.get(), tools->registers.get(), tools->subtarget.get());
  tools->disassembler.reset(target->createMCDisassembler(*tools->subtarget, *tools->context));
  tools->printer.reset(target->createMCInstPrinter(triple, /*SyntaxVariant=*/0, *tools->assembly,
                                                   *tools->instructions, *tools->registers));
  if (!tools->disassembler || !tools->printer)
    return hostError("LLVM's AMDGPU target has no disassembler");
  return tools;
}

/// The printed mnemonic without the suffix that names the encoding.
static std::string normaliseMnemonic(const char *printed) {
  // Where the first operand is always "off", it is part of what LLVM calls the mnemonic.
  StringRef name = StringRef(printed ? printed : "").split(' ').first.trim();
  for (StringRef suffix : {"_e32_dpp", "_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp"})
    if (name.consume_back(suffix))
      break;
  return name.str();
}

Text::Text(std::string_view text, uint64_t address, std::unique_ptr<Tools> tools)
    : bytes(text), address(address), dwordCount(text.size() / 4), tools(std::move(tools)) {
  bytes.append(16, '\0');
  // Zeroed pages that cost nothing until an instruction on them is reached; calloc has them, but
  // aligns to 16 bytes only.
  size_t space = std::max<size_t>(dwordCount, 1) * sizeof(Instruction) + alignof(Instruction);
  block = std::calloc(space, 1);
  void *aligned = block;
  slots = static_cast<Instruction *>(
      std::align(alignof(Instruction), space - alignof(Instruction), aligned, space));
}

Text::~Text() { std::free(block); }

Result<std::unique_ptr<Text>> Text::create(std::string_view bytes, uint64_t address,
                                           std::string_view architecture) {
  auto tools = Tools::create(architecture);
  if (!tools)
    return tools.error();
  std::unique_ptr<Text> text(new Text(bytes, address, std::move(*tools)));
  if (!text->slots)
    return hostError("the host has no memory for " + std::to_string(text->dwordCount) +
                     " instructions");
  return text;
}

bool hocket::sim::isReserved(const uint32_t (&w)[2]) {
  constexpr uint32_t sdwaSource = 249, literalSource = 255;
  if (!(w[0] >> 31)) {
    auto select = [&](unsigned shift) { return w[1] >> shift & 7; };
    bool compare = w[0] >> 25 == 0x3e;
    bool destination = !compare && (select(8) == 7 || (w[1] >> 11 & 3) == 3);
    return (w[0] & 0x1ff) == sdwaSource && (destination || select(16) == 7 || select(24) == 7);
  }
  switch (w[0] >> 26) {
  case 0x34:                                                         // VOP3, VOP3P
    return (w[0] >> 24 == 0xd0 && (w[0] & 0xff) == literalSource) || // a compare's destination
           (w[1] & 0x1ff) == literalSource || (w[1] >> 9 & 0x1ff) == literalSource ||
           (w[1] >> 18 & 0x1ff) == literalSource;
  case 0x37: // FLAT without a segment has 12 bits of offset
    return (w[0] >> 14 & 3) == 0 && (w[0] >> 12 & 1);
  case 0x38: // MUBUF
  case 0x3a: // MTBUF
    return w[1] >> 24 == literalSource;
  }
  return false;
}

Disassembly Text::disassembleLocked(uint32_t index) {
  Disassembly result;
  llvm::MCInst inst;
  size_t available = std::min<size_t>(16, size_t(dwordCount - index) * 4);
  llvm::ArrayRef<uint8_t> data(reinterpret_cast<const uint8_t *>(bytes.data()) + size_t(index) * 4,
                               available);
  uint32_t words[2] = {0, 0};
  std::memcpy(words, data.data(), std::min(data.size(), sizeof(words)));
  if (isReserved(words))
    return result;
  uint64_t size = 0;
  auto status =
      tools->disassembler->getInstruction(inst, size, data, addressOf(index), llvm::nulls());
  result.bytes = static_cast<unsigned>(size);
  result.valid = status == llvm::MCDisassembler::Success && size >= 4 && size <= 16;
  if (!result.valid)
    return result;
  result.mnemonic = normaliseMnemonic(tools->printer->getMnemonic(inst).first);
  llvm::raw_string_ostream stream(result.text);
  tools->printer->printInst(&inst, addressOf(index), "", *tools->subtarget, stream);
  result.text = StringRef(result.text).trim().str();
  // The disassembler lets operands pass that the instruction cannot have; the printer says so.
  StringRef text = result.text;
  result.valid = !text.contains("/*Invalid") && !text.contains("/* Invalid");
  return result;
}

Disassembly Text::disassemble(uint32_t index) {
  std::lock_guard lock(tools->mutex);
  return disassembleLocked(index);
}

std::shared_ptr<Text::Table> Text::table(TableKind kind) const {
  std::lock_guard lock(tools->mutex);
  return tools->tables[static_cast<unsigned>(kind)];
}

void Text::keep(TableKind kind, std::shared_ptr<Table> table) {
  std::lock_guard lock(tools->mutex);
  tools->tables[static_cast<unsigned>(kind)] = std::move(table);
}

static void executeIllegal(Wave &wave, const Instruction &instruction) {
  failWave(wave, instruction, "is not a legal instruction of this chip");
}
static void executeUnknown(Wave &wave, const Instruction &instruction) {
  failWave(wave, instruction, "is not implemented by the simulator");
}
static void executeUnknownClamp(Wave &wave, const Instruction &instruction) {
  failWave(wave, instruction, "is not implemented by the simulator with the clamp bit");
}

static void executeOtherFp8(Wave &wave, const Instruction &instruction) {
  failWave(wave, instruction,
           "is not implemented by the simulator with this chip's 8-bit float formats");
}

static bool usesFp8(StringRef mnemonic) {
  return mnemonic.contains("fp8") || mnemonic.contains("bf8");
}

static ExecuteFunction bindExecute(const OpTable &table, const Instruction &instruction,
                                   const std::string &mnemonic, bool fnuz) {
  const OpEntry *entry = table.find(mnemonic);
  if (!entry)
    return executeUnknown;
  if (fnuz && usesFp8(mnemonic))
    return entry->fnuz ? entry->fnuz : executeOtherFp8;
  if (!instruction.clamp || entry->handlesClamp)
    return entry->execute;
  return entry->clamped ? entry->clamped : executeUnknownClamp;
}

void Text::decode(uint32_t index) {
  std::lock_guard lock(tools->mutex);
  Instruction &slot = slots[index];
  if (slot.execute)
    return;
  Instruction fresh;
  Disassembly disassembly = disassembleLocked(index);
  fresh.size = disassembly.valid ? disassembly.bytes / 4 : 1;
  std::memcpy(fresh.words, bytes.data() + size_t(index) * 4, fresh.size * 4);
  ExecuteFunction execute = executeIllegal;
  if (disassembly.valid)
    execute = decodeFields(fresh, disassembly.mnemonic)
                  ? bindExecute(*tools->table, fresh, disassembly.mnemonic, !tools->hasOcpFp8)
                  : executeUnknown;
  slot = fresh;
  __atomic_store_n(&slot.execute, execute, __ATOMIC_RELEASE);
}

Binding Text::bindingOf(uint32_t index) const {
  ExecuteFunction execute = executeOf(slots[index]);
  if (execute == executeIllegal)
    return Binding::Illegal;
  bool refused =
      execute == executeUnknown || execute == executeUnknownClamp || execute == executeOtherFp8;
  return refused ? Binding::Unimplemented : Binding::Implemented;
}
