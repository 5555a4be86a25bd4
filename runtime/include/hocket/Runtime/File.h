// Whole files in and out, with errors that name the file and the reason.
//
// The one reader of everything that a user names: what is no file but never ends (a device) or
// never begins (a pipe that nobody writes to) is an error, not a process that eats the machine's
// memory or waits for ever.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hocket::runtime {

/// The most bytes that are read of a text that a person writes: a kernel, a schedule, JSON.
inline constexpr size_t largestText = size_t(64) << 20;
/// The most bytes that are read of a file of data: a code object.
inline constexpr size_t largestFile = size_t(1) << 30;

/// The content of `path`. NotFound if it does not exist, Host if it cannot be read or is a named
/// pipe, InvalidInput if it has more than `limit` bytes; not many more than those are read.
Result<std::vector<std::byte>> readFile(const std::string &path, size_t limit = largestFile);

/// The same as text, - for standard input, which messages call "<stdin>".
Result<std::string> readText(const std::string &path, size_t limit = largestText);

/// Writes `bytes` to `path`, replacing what is there. Host if that fails, at the last byte too.
Status writeFile(const std::string &path, std::span<const std::byte> bytes);

} // namespace hocket::runtime
