// Decodes and prints instructions through LLVM's MC layer.
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace hocket::amdgpu {

Disassembler::Disassembler(std::shared_ptr<const McTarget> target) : mcTarget(std::move(target)) {
  const McTarget &mc = *mcTarget;
  context = std::make_unique<llvm::MCContext>(mc.triple(), &mc.asmInfo(), &mc.registers(),
                                              &mc.subtarget());
  disassembler.reset(mc.target().createMCDisassembler(mc.subtarget(), *context));
  printer.reset(mc.target().createMCInstPrinter(mc.triple(), /*SyntaxVariant=*/0, mc.asmInfo(),
                                                mc.instructions(), mc.registers()));
}

Disassembler::~Disassembler() = default;

Result<Instruction> Disassembler::decode(llvm::ArrayRef<uint8_t> code, uint64_t address) const {
  Instruction result;
  result.address = address;
  uint64_t size = 0;
  const llvm::MCDisassembler::DecodeStatus status =
      disassembler->getInstruction(result.inst, size, code, address, llvm::nulls());
  if (status == llvm::MCDisassembler::Success && size > 0 && size <= code.size()) {
    result.bytes = code.take_front(size);
    return result;
  }
  std::string message;
  llvm::raw_string_ostream stream(message);
  stream << "bytes " << llvm::toHex(code.take_front(8), /*LowerCase=*/true) << " at address "
         << llvm::format_hex(address, 1) << " are no instruction of '" << mcTarget->cpu() << "'";
  return invalidInput(message);
}

Result<std::vector<Instruction>> Disassembler::decodeAll(llvm::ArrayRef<uint8_t> code,
                                                         uint64_t address) const {
  std::vector<Instruction> all;
  all.reserve(code.size() / 6);
  while (!code.empty()) {
    Result<Instruction> next = decode(code, address);
    if (!next)
      return next.error();
    address += next->bytes.size();
    code = code.drop_front(next->bytes.size());
    all.push_back(*std::move(next));
  }
  return all;
}

std::string Disassembler::text(const Instruction &instruction) const {
  std::string buffer;
  llvm::raw_string_ostream stream(buffer);
  printer->printInst(&instruction.inst, instruction.address, "", mcTarget->subtarget(), stream);
  return llvm::StringRef(buffer).trim().str();
}

const llvm::MCInstrDesc &Disassembler::description(const Instruction &instruction) const {
  return mcTarget->instructions().get(instruction.opcode());
}

} // namespace hocket::amdgpu
