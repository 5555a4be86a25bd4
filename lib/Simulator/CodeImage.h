// What a code object holds, checked: segments, relocations, kernels with their descriptors, text.
// Internal to the simulator; CodeObject.h is the public face.
#pragma once

#include "Decode.h"

#include "hocket/Runtime/Device.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hocket::sim {

/// One PT_LOAD; `begin` is a virtual address of the image, the bytes past the file's are zero.
struct Segment {
  uint64_t begin = 0;
  uint64_t memorySize = 0;
  std::string bytes;
  bool executable = false;
};

/// One dynamic relocation, resolved against the image: a value that is stored at `where`.
struct Relocation {
  uint64_t where = 0;
  uint64_t value = 0;          ///< relative to the load base when `relative`
  bool relative = true;        ///< add the load base
  bool programCounter = false; ///< subtract the address of `where`
  uint8_t shift = 0;           ///< 32 for the high half of the value
  uint8_t bytes = 8;
};

/// The kernel descriptor's fields that decide the start state (docs/Hardware.md 2.8).
struct KernelDescriptor {
  uint32_t groupSegment = 0, privateSegment = 0, kernargSize = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0;
  uint16_t kernargPreload = 0;
};

struct KernelImage {
  KernelDescriptor descriptor;
  uint64_t entry = 0; ///< virtual address of the first instruction
};

/// A function symbol, for messages.
struct FunctionSymbol {
  uint64_t begin = 0, size = 0;
  std::string name;
};

class CodeImage {
public:
  std::string name;
  std::string architecture;
  std::vector<Segment> segments;
  std::vector<Relocation> relocations;
  uint64_t imageBegin = 0, imageEnd = 0; ///< virtual addresses that the segments span
  std::vector<runtime::KernelInfo> kernels;
  std::vector<KernelImage> kernelImages; ///< parallel to `kernels`
  std::vector<FunctionSymbol> functions; ///< sorted by address
  std::unique_ptr<Text> text;
  std::string debugFile; ///< the whole file, if it has line tables; else empty

  const FunctionSymbol *functionAt(uint64_t address) const;
};

/// Reads and checks the ELF file `bytes`; `name` is for messages.
Result<std::unique_ptr<CodeImage>> readCodeImage(std::string_view bytes, std::string_view name);

} // namespace hocket::sim
