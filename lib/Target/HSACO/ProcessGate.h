// Keeps lld apart from everything in the process that generates code.
//
// lld has global state, so two links must not overlap. It also resets every command-line option of
// LLVM to its default, and passes and code generation read those: doing both at once is a data
// race even though no value changes. So code generation holds the gate shared, linking exclusively.
#pragma once

#include <shared_mutex>

namespace hocket::hsaco {

/// The gate of this process.
std::shared_mutex &processGate();

} // namespace hocket::hsaco
