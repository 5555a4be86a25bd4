// The table from mnemonics to execute functions, filled by the files in Ops/.
//
// A family file implements instructions and exports one `registerXxx(OpTable &)`; Ops/Families.h
// lists them. Mnemonics are LLVM's printed ones without encoding suffixes (_e32, _e64, _sdwa,
// _dpp). Families with lane loops are compiled once per host instruction set, each copy in its own
// namespace (HostIsa.h); there is one table for each.
#pragma once

#include "Instruction.h"

#include "llvm/ADT/StringMap.h"

#include <string_view>
#include <vector>

namespace hocket::sim {

/// How one mnemonic executes.
struct OpEntry {
  ExecuteFunction execute = nullptr;
  /// Used instead when the encoding has the clamp bit and it means more than limiting a float
  /// result to [0, 1], which `execute` does itself: saturating integer forms. Null: clamp is
  /// refused.
  ExecuteFunction clamped = nullptr;
  /// Used instead on chips whose 8-bit floats are the fnuz formats. Null: `execute` has no 8-bit
  /// floats, or refuses there.
  ExecuteFunction fnuz = nullptr;
  /// `execute` looks at the clamp bit itself.
  bool handlesClamp = false;
};

class OpTable {
public:
  /// Adds one instruction; a mnemonic is added once.
  void add(const char *mnemonic, ExecuteFunction execute, bool handlesClamp = true);
  /// Adds an integer instruction with its saturating form.
  void addSaturating(const char *mnemonic, ExecuteFunction execute, ExecuteFunction clamped);

  /// Gives an instruction that has been added its form for fnuz formats.
  void addFnuz(const char *mnemonic, ExecuteFunction execute);

  const OpEntry *find(std::string_view mnemonic) const;
  /// All mnemonics, sorted.
  std::vector<std::string_view> mnemonics() const;

private:
  llvm::StringMap<OpEntry> entries;
};

} // namespace hocket::sim
