// What a forward that appends to its cache starts from, and what it has to leave there.
#pragma once

#include "Verify/Attention/Data.h"
#include "Verify/Attention/RowNumbers.h"

#include <cstdint>
#include <vector>

namespace hocket::attention {

/// Q, K and V in front of the launch, in the order of `ForwardInputs`, whose q, k and v are what attention then reads.
struct BeforeAppend {
  verify::TypedArray q, k, v;
};

/// Takes the last rows of each sequence in `inputs` for those that are appended: "k_new", "v_new", "rotary_cos" and
/// "rotary_sin" become what is captured, rows of K and V that are not written yet hold NaN, and Q and the new rows of K
/// are turned in `inputs`, in float32, as kernels do it.
BeforeAppend takeAppended(const ForwardProblem &problem, const RowNumbers &numbers, ForwardInputs &inputs);

/// Rows that sequences share have one content, that of `before`, which memory has: `inputs` get it. Then `before` holds K
/// and V as they must be after the launch.
void finishAppended(const ForwardProblem &problem, const RowNumbers &numbers, ForwardInputs &inputs,
                    BeforeAppend &before);

} // namespace hocket::attention
