#pragma once

#include "llvm/ADT/StringExtras.h"

#include <cstdint>
#include <string>

namespace hocket::sim {

/// As messages and disassembly write addresses: "0x1f".
inline std::string hex(uint64_t value) { return "0x" + llvm::utohexstr(value, /*LowerCase=*/true); }

} // namespace hocket::sim
