// From an attention problem to a kernel that computes it, compiled in process.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Pipelines/Compiler.h"
#include "hocket/Support/Result.h"

#include <string>

namespace hocket {

using ForwardKernel = attention::CompiledKernel;

/// The `attn.forward` that describes `problem`: what depends on run-time values (batch, lengths,
/// heads, strides, scale, the number of splits) is left to the kernel's arguments.
std::string describeForward(const attention::ForwardProblem &problem);

/// The `attn.combine` that folds the slices of `problem`, which is split.
std::string describeCombine(const attention::ForwardProblem &problem);

/// Compiles the kernel for `problem` (if that is split, the producer), without any cache (hocket/Jit/Jit.h has one). Of `options`,
/// target, schedule, debug information and spill policy apply. Errors: what `compile` refuses; a
/// problem that the kernel's requirements exclude.
Result<ForwardKernel> compileForward(const attention::ForwardProblem &problem,
                                     const CompileOptions &options = {});

} // namespace hocket
