// What runs in front of attention in the same plan, what attention then reads, and what runs behind it.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Attention/KernelSource.h"

#include <string_view>
#include <vector>

namespace hocket::attention {

/// The kernels that the semantics ask for in front of attention, in order: what makes lists of blocks, what appends to a
/// cache.
std::vector<DescribedKernel> kernelsInFront(const ForwardSemantics &semantics, std::string_view architecture);

/// The kernels behind attention, in order: what puts slices of listed work together.
std::vector<DescribedKernel> kernelsBehind(const ForwardSemantics &semantics);

/// What attention reads instead of the problem's tensors (`PlannedLaunch::instead`): Q where it is turned.
manifest::Substitutes tensorsInstead(const ForwardSemantics &semantics);

} // namespace hocket::attention
