// Work on a stack whose size is ours to say.
//
// LLVM and MLIR recurse along chains of names in the input, and whoever calls the compiler has
// whatever stack he has: a thread of a foreign program sometimes less than a megabyte. What
// RecursionCheck.h lets pass fits in here.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace hocket {

/// Bytes of address space; memory is taken as it is used. A level of a chain of names takes up to
/// 2 KiB (types inside types, printed), `kMostLevels` of them a quarter of this.
inline constexpr size_t kLargeStack = size_t(256) << 20;

/// Runs `work` on a thread with a stack of `kLargeStack` and waits for it. Where there is no such
/// thread to be had (a limit on address space, say), it runs on the caller's.
void runOnLargeStack(llvm::function_ref<void()> work);

} // namespace hocket
