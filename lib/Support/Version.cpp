// Which Hocket this is; the number is CMake's.
#include "hocket/Support/Version.h"

std::string_view hocket::version() { return HOCKET_VERSION; }

std::string hocket::versionLine(std::string_view program, std::string_view llvmVersion) {
  return std::string(program) + " " + HOCKET_VERSION + ", LLVM " + std::string(llvmVersion) + "\n";
}
