// The kernel that runs in front of attention where keys are appended to a cache: `CacheUpdate` as text.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <string>
#include <string_view>

namespace hocket::attention {

/// The names under which plans and bundles know that kernel: "append_d128_bf16_pages16_half64".
std::string appendName(const ForwardSemantics &semantics);

/// A kernel of the tile dialect for `architecture` that writes "k_new" and "v_new" to K and V, and "q_rotated", as
/// `semantics.update` says; its arguments are bound to the tensors of a `ForwardProblem` and its temporaries. A wave
/// takes some heads of one row; every element meets its partner, the other of its pair, and the angle's cosine and sine
/// by gathers; computed is in f32, rounded once.
std::string describeAppend(const ForwardSemantics &semantics, std::string_view architecture);

/// What attention reads instead of the problem's tensors (`PlannedLaunch::instead`): Q where it is turned.
manifest::Substitutes tensorsInstead(const ForwardSemantics &semantics);

} // namespace hocket::attention
