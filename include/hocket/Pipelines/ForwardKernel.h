// From an attention problem to a kernel that computes it, compiled in process.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Pipelines/Compiler.h"
#include "hocket/Support/Result.h"

#include <string>
#include <string_view>

namespace hocket {

using ForwardKernel = attention::CompiledKernel;

/// The `attn.forward` that computes `semantics`; `split`: it is a producer of split KV. What
/// depends on run-time values (batch, lengths, heads, strides, scale, the number of splits) is left to the
/// kernel's arguments.
std::string describeForward(const attention::ForwardSemantics &semantics, bool split);
std::string describeForward(const attention::ForwardProblem &problem);

/// The `attn.combine` that folds the slices of a split forward.
std::string describeCombine(const attention::ForwardSemantics &semantics, const attention::KernelTuning &tuning);

/// Compiles `text`, from the stage `options.from` on, to a code object; `name` is what messages
/// call it. The manifest's `kernel` is empty if the text has not exactly one kernel with bindings.
Result<attention::CompiledKernel> compileKernel(std::string_view text, std::string_view name,
                                                const CompileOptions &options = {});

/// Compiles the kernel for `problem` (if that is split, the producer), without any cache
/// (hocket/Jit/Jit.h has one). Of `options`, target, schedule, debug information and spill policy
/// apply. Errors: what `compile` refuses; a problem that the kernel's requirements exclude.
Result<attention::CompiledKernel> compileForward(const attention::ForwardProblem &problem,
                                                 const CompileOptions &options = {});

} // namespace hocket
