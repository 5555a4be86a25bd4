// From a forward problem to a code object and its manifest, in process.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Support/Result.h"

#include <optional>
#include <string>

namespace hocket::run {

/// A kernel ready to be run by `attention::runForward`.
struct CompiledForward {
  std::string codeObject; ///< the bytes of the linked file
  std::string manifest;   ///< JSON
  double seconds = 0;     ///< host time of the compilation
};

/// Compiles a kernel for `problem` following `schedule` (a shipped one's name or a file; the
/// shipped default if absent). Errors carry the compiler's diagnostics.
Result<CompiledForward> compileForward(const attention::ForwardProblem &problem,
                                       const std::optional<std::string> &schedule);

} // namespace hocket::run
