#pragma once

#include <string>
#include <string_view>

namespace hocket {

/// Hocket's own, as "0.1.0".
std::string_view version();
/// Of a program, for --version: "NAME 0.1.0, LLVM 22.1.8", one line. `llvmVersion` comes from who links LLVM.
std::string versionLine(std::string_view program, std::string_view llvmVersion);

} // namespace hocket
