// Partial results of attention folded on the host.
#pragma once

#include "Tensor.h"

namespace hocket::python {

/// O = sum of w_p O_p and LSE = log of the sum of exp(LSE_p), with w_p = exp(LSE_p - LSE), in
/// float32; rows that saw no key anywhere have O = 0 and LSE = -inf. `outs` and `out` are [batch,
/// seq, heads, dim] of bf16, f16 or f32, `lses` and `lse` [batch, heads, seq] of f32, all of the
/// host and checked. `out` and `lse` may be among the parts.
void merge(const std::vector<std::shared_ptr<Tensor>> &outs,
           const std::vector<std::shared_ptr<Tensor>> &lses, const std::shared_ptr<Tensor> &out,
           const std::shared_ptr<Tensor> &lse);

} // namespace hocket::python
