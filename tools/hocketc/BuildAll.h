// hocketc --all: registered kernels, ahead of time.
#pragma once

#include "hocket/Support/Result.h"

#include <string>

namespace hocket::hocketc {

/// Compiles the variants of `profile` ("" is all) for `architecture` into `directory`, with
/// manifests and an index (hocket/Attention/KernelBundle.h). Through the cache: what was compiled
/// before is copied. Prints a line a kernel to standard error if `verbose`.
Status buildAll(const std::string &profile, const std::string &architecture,
                const std::string &directory, bool verbose);

} // namespace hocket::hocketc
