// Turns LLVM's fatal errors on this thread into a return value.
//
// LLVM's back end ends the process where it cannot select an intrinsic for the processor. For a
// compiler inside somebody's program that is no way to report bad input, and no check beforehand
// can know what selection will reject. LLVM offers a hook for exactly this: a fatal-error handler,
// which may not return but may jump out. Work that was jumped out of is abandoned, not unwound:
// what it allocated is leaked, by design.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace hocket {

/// Runs `work`; true if it returned, false with LLVM's reason in `message` if it met a fatal error.
/// Installs a fatal-error handler in the process at the first call; errors of threads outside a
/// guard go on as LLVM would have let them. Guards do not nest.
bool runGuarded(llvm::function_ref<void()> work, std::string &message);

} // namespace hocket
