// The text of a code object as an array of instructions, one slot for each dword.
//
// A slot is decoded when a wave first reaches it, so data between functions is never looked at and
// the start of an instruction is wherever control flow says it is. What cannot be decoded or is not
// implemented becomes an instruction that fails with the reason when it executes.
#pragma once

#include "HostIsa.h"
#include "Instruction.h"

#include "hocket/Support/Result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hocket::sim {

class OpTable;

/// What a slot was bound to.
enum class Binding : uint8_t { Illegal, Unimplemented, Implemented };

/// LLVM's view of one instruction.
struct Disassembly {
  bool valid = false;
  unsigned bytes = 0;
  std::string mnemonic; ///< without encoding suffix
  std::string text;     ///< as the assembler takes it
};

class Text {
public:
  /// `bytes` are copied; `address` is the virtual address of the first, a multiple of 4.
  static Result<std::unique_ptr<Text>> create(std::string_view bytes, uint64_t address,
                                              std::string_view architecture);
  ~Text();

  bool contains(uint64_t virtualAddress) const {
    return virtualAddress >= address && virtualAddress - address < uint64_t(dwordCount) * 4;
  }
  uint64_t begin() const { return address; }
  uint32_t dwords() const { return dwordCount; }
  uint64_t addressOf(uint32_t index) const { return address + uint64_t(index) * 4; }

  /// The slots; `execute` of one that was not reached yet is null. Read it with
  /// `executeOf` and call `decode` then.
  const Instruction *instructions() const { return slots; }
  /// Decodes slot `index`; harmless if it is decoded already. Any thread.
  void decode(uint32_t index);
  /// What `decode` found in slot `index`, which it was called for.
  Binding bindingOf(uint32_t index) const;
  /// Disassembles slot `index`, for messages. Any thread.
  Disassembly disassemble(uint32_t index);

  /// What one kind of run works out of the instructions, once for all its runs.
  class Table {
  public:
    virtual ~Table() = default;
  };
  enum class TableKind : uint8_t { Check, Timing };
  /// The table that was kept last, or null. Any thread.
  std::shared_ptr<Table> table(TableKind kind) const;
  void keep(TableKind kind, std::shared_ptr<Table> table);

private:
  struct Tools;
  Text(std::string_view bytes, uint64_t address, std::unique_ptr<Tools> tools);
  Disassembly disassembleLocked(uint32_t index);

  std::string bytes; ///< padded by 16 zero bytes
  uint64_t address;
  uint32_t dwordCount;
  void *block; ///< what `slots` lie in; null: the host has no memory
  Instruction *slots;
  std::unique_ptr<Tools> tools;
};

/// The execute function of a slot, or null; pairs with the release in `Text::decode`.
HOCKET_SIM_INLINE ExecuteFunction executeOf(const Instruction &instruction) {
  return __atomic_load_n(&instruction.execute, __ATOMIC_ACQUIRE);
}

/// Encodings that the chips do not have, but LLVM's disassembler takes for instructions, and its
/// printer then may run off a table for: SDWA with a select (7) or a treatment of unused bits (3)
/// that does not exist, the code of a literal (255) where none can follow, a 13-bit offset.
bool isReserved(const uint32_t (&words)[2]);

/// Reads the fields of the encoding in `words` into `instruction`, whose `size` and `words` are
/// set. False: not an encoding of this family of chips.
bool decodeFields(Instruction &instruction, std::string_view mnemonic);

} // namespace hocket::sim
