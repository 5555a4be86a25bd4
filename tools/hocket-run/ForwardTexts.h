// What --texts of fmha-fwd writes.
#pragma once

#include "ForwardOptions.h"

namespace hocket::run {

/// Writes what the kernels of all launches for `problem` are compiled from to `directory`, a file for each, as hocketc
/// takes it; compiled again they are the same bytes. Errors: a kernel that is a code object already (InvalidInput), what
/// the compiler says, a file that cannot be written.
Result<int> writeForwardTexts(const std::string &directory, const Options &options,
                              const attention::ForwardProblem &problem);

} // namespace hocket::run
