// The kernel that appends to a cache: `CacheUpdate` as text.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Attention/KernelSource.h"

#include <string_view>

namespace hocket::attention {

/// A kernel of the tile dialect for `architecture` that writes "k_new" and "v_new" to K and V, and "q_rotated", as
/// `semantics.update` says; its arguments are bound to the tensors of a `ForwardProblem` and its temporaries. A wave
/// takes some heads of one row; every element meets its partner, the other of its pair, and the angle's cosine and sine
/// by gathers; computed is in f32, rounded once.
DescribedKernel describeAppend(const ForwardSemantics &semantics, std::string_view architecture);

} // namespace hocket::attention
