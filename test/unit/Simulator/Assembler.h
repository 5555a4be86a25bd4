// LLVM's assembler in process: text to the bytes of instructions.
#pragma once

#include <string>
#include <vector>

namespace hocket::sim::test {

/// Assembles `source`, one instruction a line, without labels. On failure `bytes` is empty and
/// `error` holds the assembler's messages.
struct Assembled {
  std::string bytes;
  std::string error;
};
Assembled assemble(const std::string &source, const std::string &architecture = "gfx950");

/// Assembles each line by itself; the bytes of a line that the assembler refuses are empty.
std::vector<std::string> assembleLines(const std::vector<std::string> &lines,
                                       const std::string &architecture = "gfx950");

} // namespace hocket::sim::test
