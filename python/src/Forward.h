// Attention forward, for hocket/attention.py, which has checked and named what its caller gave.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hocket::python {

/// Computes the problem `what` on `tensors`, all of one device: "q", "k", "v", "o" of four
/// dimensions with contiguous heads, "lse" if it is wanted. `what` has dtype, layout, batch, heads,
/// kv_heads, seq_q, seq_kv, head_dim, head_dim_v, mask, scale (may be None), num_splits; "modifications", pairs of a name and a
/// text, which shipped ones do not have; their "numbers", and the "extents" of tensors that they
/// capture, which are among `tensors`.
/// `architecture` is that of the simulator, for tensors of the host. On a GPU the work goes to
/// `stream`; without one it is done at the return.
void forward(const pybind11::dict &what, const pybind11::dict &tensors,
             const std::string &architecture, std::optional<int64_t> stream);

} // namespace hocket::python
