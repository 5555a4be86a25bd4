// A code object with one small kernel, made in memory, with knobs to make it wrong.
//
// Kernel "k" stores n + hidden_block_count_x at out[(y * gridX + x) * 128 + item], with arguments
// (global int *out, int n).
#pragma once

#include <cstdint>
#include <string>

namespace hocket::sim::test {

struct KernelFile {
  unsigned waveSize = 64;
  unsigned kernargSize = 64;
  std::string symbol = "k.kd";
  int64_t entryOffset = 0;  ///< added to the right one
  uint16_t properties = 8;  ///< kernarg segment pointer
  unsigned vgprs = 0;       ///< what the metadata say, with accumulation registers
  unsigned accumOffset = 4; ///< first of the accumulation registers: a multiple of 4
  unsigned pointerSize = 8; ///< what the metadata say of the pointer
  unsigned numberAt = 8;    ///< and where they say the number is
  std::string hiddenKind = "hidden_block_count_y";
  std::string source; ///< instructions instead of the usual ones, if not empty
};

/// Instructions that one wave of the kernel executes.
inline constexpr uint64_t kernelInstructions = 13;

std::string makeKernelFile(const KernelFile &file);

} // namespace hocket::sim::test
