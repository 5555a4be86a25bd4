// The mnemonic table; see OpTable.h.
#include "OpTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace hocket::sim;

void OpTable::add(const char *mnemonic, ExecuteFunction execute, bool handlesClamp) {
  OpEntry entry;
  entry.execute = execute;
  entry.handlesClamp = handlesClamp;
  bool added = entries.try_emplace(mnemonic, entry).second;
  (void)added;
  assert(added && "an instruction is registered twice");
}

void OpTable::addSaturating(const char *mnemonic, ExecuteFunction execute,
                            ExecuteFunction clamped) {
  OpEntry entry;
  entry.execute = execute;
  entry.clamped = clamped;
  bool added = entries.try_emplace(mnemonic, entry).second;
  (void)added;
  assert(added && "an instruction is registered twice");
}

void OpTable::addFnuz(const char *mnemonic, ExecuteFunction execute) {
  auto it = entries.find(mnemonic);
  assert(it != entries.end() && "the form for another format comes after the instruction itself");
  it->second.fnuz = execute;
}

const OpEntry *OpTable::find(std::string_view mnemonic) const {
  auto it = entries.find(llvm::StringRef(mnemonic.data(), mnemonic.size()));
  return it == entries.end() ? nullptr : &it->second;
}

std::vector<std::string_view> OpTable::mnemonics() const {
  std::vector<std::string_view> names;
  for (const auto &entry : entries)
    names.push_back({entry.getKey().data(), entry.getKey().size()});
  llvm::sort(names);
  return names;
}
