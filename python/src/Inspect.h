// What there is to know about a kernel's run: findings, predicted times, counts. Each happens in a
// simulator of its own, on copies of the tensors.
#pragma once

#include "Kernel.h"

namespace hocket::python {

/// Checked execution. "findings" are tuples of kind, severity and text with how often it was seen,
/// "fault" is the error that ended the launch, or "". Tensors that may change get what was computed
/// if the launch ended as it should.
pybind11::dict checkKernel(const Kernel &kernel, const KernelArguments &arguments, uint64_t seed);

/// Timed execution of a workgroup, and the prediction of the grid: "text", "run" and "grid" (JSON),
/// "microseconds", "picture" (SVG of a turn of the loop, or "" where there is no loop).
pybind11::dict predictKernel(const Kernel &kernel, const KernelArguments &arguments);

/// What one turn of the hot loop executes: a list with a dict for the first wave of each wave group,
/// "total" and "clusters" with counts by kind of instruction.
pybind11::list countKernel(const Kernel &kernel, const KernelArguments &arguments);

} // namespace hocket::python
