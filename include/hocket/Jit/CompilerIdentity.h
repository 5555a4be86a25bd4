// Which compiler this is: what a cached kernel must have been made by to be used.
#pragma once

#include "hocket/Support/Result.h"

#include <string>

namespace hocket::jit {

/// Text that changes whenever what this process would compile could change: the hash of Hocket's
/// sources and build settings, taken when it was built; LLVM's version; and the build IDs of the
/// LLVM and MLIR libraries that are really loaded, which a system update replaces without anything
/// being built anew (without a build ID: the library's size and time). The same in every program
/// that was built from the same sources and runs on the same libraries.
const std::string &compilerIdentity();

} // namespace hocket::jit
