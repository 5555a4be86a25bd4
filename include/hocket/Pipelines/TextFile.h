// Files that the compiler reads: inputs and schedules, whole, and none larger than a text can be.
//
// A file of another kind (a disk image, a device without an end) given by mistake is an error, not
// a process that eats the machine's memory.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <string>

namespace hocket {

/// The most bytes that an input or a schedule may have.
inline constexpr size_t kLargestInput = size_t(64) << 20;

/// The content of `path`. `NotFound` if it cannot be read, `InvalidInput` if it has more than
/// `kLargestInput` bytes; not more than those are read.
Result<std::string> readInputFile(const std::string &path);

/// The same for standard input, which messages call "<stdin>".
Result<std::string> readStandardInput();

} // namespace hocket
