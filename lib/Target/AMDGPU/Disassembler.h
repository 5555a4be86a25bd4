// Machine code back to instructions: address, bytes, MCInst and text of each.
//
// A thin layer over LLVM's disassembler, so that the report, the hazard check and the simulator
// agree on what the bytes say. A disassembler has state and belongs to one thread; the `McTarget`
// it is made from is shared.
#pragma once

#include "Target/AMDGPU/McContext.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCInst.h"

#include <vector>

namespace llvm {
class MCContext;
class MCDisassembler;
class MCInstPrinter;
class MCInstrDesc;
} // namespace llvm

namespace hocket::amdgpu {

/// One decoded instruction. `bytes` points into the caller's section contents.
struct Instruction {
  uint64_t address = 0;
  llvm::ArrayRef<uint8_t> bytes;
  llvm::MCInst inst;

  unsigned opcode() const { return inst.getOpcode(); }
  uint64_t end() const { return address + bytes.size(); }
};

class Disassembler {
public:
  explicit Disassembler(std::shared_ptr<const McTarget> target);
  ~Disassembler();

  const McTarget &target() const { return *mcTarget; }

  /// Decodes the instruction at the start of `code`, which lies at `address` (bytes, any base).
  /// Bytes that are no instruction of the processor are an `InvalidInput` error naming both.
  Result<Instruction> decode(llvm::ArrayRef<uint8_t> code, uint64_t address) const;

  /// Decodes all of `code`.
  Result<std::vector<Instruction>> decodeAll(llvm::ArrayRef<uint8_t> code, uint64_t address) const;

  /// The instruction as LLVM's assembler reads it, without leading blanks.
  std::string text(const Instruction &instruction) const;

  /// LLVM's description of the instruction's opcode.
  const llvm::MCInstrDesc &description(const Instruction &instruction) const;

private:
  std::shared_ptr<const McTarget> mcTarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

} // namespace hocket::amdgpu
