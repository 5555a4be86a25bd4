// From Python's dicts to problems.
#pragma once

#include "Tensor.h"

#include "hocket/Attention/ForwardProblem.h"

#include <pybind11/pybind11.h>

#include <optional>

namespace hocket::python {

/// The forward that `what` describes, without the strides of tensors: dtype, layout, batch, heads, kv_heads, seq_q,
/// seq_kv, head_dim, head_dim_v, mask, scale (may be None), num_splits, dropout and blocks (may be None);
/// "modifications", pairs of a name and a text, which shipped ones do not have; their "numbers", and the "extents" of
/// tensors that they capture; "lists" of sequences, total_q, total_kv. Throws what cannot be.
attention::ForwardProblem problemOf(const pybind11::dict &what);

/// The strides of a tensor of rows of heads; none if they are those that it has without any, `dense`.
std::optional<attention::TensorStrides> stridesOf(const Tensor &tensor, const manifest::TensorSpec &dense,
                                                  attention::Layout layout);

} // namespace hocket::python
