// Attention and its gradients, for hocket/_call.py, which has checked and named what its caller gave.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hocket::python {

/// Computes the problem `what` (Problem.h) on `tensors`, all of one device: "q", "k", "v", "o" with contiguous heads,
/// "lse" if it is wanted, what modifications capture, lists.
/// `architecture` is that of the simulator, for tensors of the host. On a GPU the work goes to
/// `stream`; without one it is done at the return.
void forward(const pybind11::dict &what, const pybind11::dict &tensors,
             const std::string &architecture, std::optional<int64_t> stream);

/// The same for the gradients: "q", "k", "v", "o", "lse", "do" are read, "dq", "dk", "dv" written.
void backward(const pybind11::dict &what, const pybind11::dict &tensors,
              const std::string &architecture, std::optional<int64_t> stream);

/// Makes the plan of such a backward alone, of the tensors that its forward has: throws what cannot be planned.
void planBackward(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
                  std::optional<int64_t> stream);

/// The plans that `forward` and `backward` would run, as JSON.
std::string forwardPlan(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
                        std::optional<int64_t> stream);
std::string backwardPlan(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
                         std::optional<int64_t> stream);

} // namespace hocket::python
