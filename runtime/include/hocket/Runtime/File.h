// Whole files in and out, with errors that name the file and the reason.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hocket::runtime {

/// The content of `path`. NotFound if it does not exist, Host if it cannot be read.
Result<std::vector<std::byte>> readFile(const std::string &path);

/// Writes `bytes` to `path`, replacing what is there. Host if that fails, at the last byte too.
Status writeFile(const std::string &path, std::span<const std::byte> bytes);

} // namespace hocket::runtime
