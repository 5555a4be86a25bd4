// The argument file of `hocket-run exec`: what it says, checked, before anything touches a device.
// docs/HocketRun.md is its specification.
#pragma once

#include "hocket/Runtime/Arguments.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::run {

/// A piece of device memory and how it starts.
struct BufferSpec {
  std::string name; ///< may be empty; "argument 3" in messages then
  uint64_t bytes = 0;
  uint64_t align = 256;
  std::string initFile;           ///< if not empty, the content comes from there
  std::vector<std::byte> pattern; ///< if not empty, repeated over the buffer; else zero
  std::string saveFile;           ///< if not empty, the content goes there after the launch
  std::string describe(size_t index) const;
};

/// One argument: bytes, or the address of a buffer.
struct ArgumentSpec {
  runtime::ArgumentValue value; ///< an address of 0 for buffers
  std::optional<size_t> buffer; ///< index into `ArgumentFile::buffers`
  uint64_t byteOffset = 0;      ///< added to its address
};

struct ArgumentFile {
  std::optional<uint64_t> kernargSize;
  std::vector<ArgumentSpec> arguments;
  std::vector<BufferSpec> buffers;
};

/// Parses the text of an argument file called `name`. InvalidInput names the argument and key.
Result<ArgumentFile> parseArguments(const std::string &text, const std::string &name);

} // namespace hocket::run
