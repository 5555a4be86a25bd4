// Attention and its gradients, for hocket/_call.py, which has checked and named what its caller gave.
#pragma once

#include "Call.h"

#include "hocket/Attention/BackwardProblem.h"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// Quantises "x" to "values" and "scale" as `what` says.
void quantize(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
              std::optional<int64_t> stream);

/// The plans that `forward` and `backward` would run, as JSON.
std::string forwardPlan(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
                        std::optional<int64_t> stream);
std::string backwardPlan(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
                         std::optional<int64_t> stream);

/// A forward, or a backward, whose problem is known and whose kernels are made, for tensors that differ from the first ones
/// in where they lie alone.
class PreparedCall {
public:
  /// Makes the plan. `written` are the names of the tensors that are written, which may share no memory with others, but
  /// "o" with "q" all of theirs.
  PreparedCall(const pybind11::dict &what, const pybind11::dict &tensors, const std::string &architecture,
               const std::vector<std::string> &written, bool isBackward);
  /// Runs it on the tensors at `addresses`, in the order of the dict. False, and nothing ran, where a written one shares
  /// memory: who checks by name says what is wrong. Lists on the host are checked as always. `dropping` is the seed and the
  /// offset of a problem with dropout, in place of the first ones.
  bool run(const std::vector<uintptr_t> &addresses, std::optional<int64_t> stream,
           std::optional<std::pair<int64_t, int64_t>> dropping) const;

private:
  bool areApart(const std::vector<std::shared_ptr<Tensor>> &placed) const;

  std::vector<std::pair<std::string, std::shared_ptr<Tensor>>> named;
  std::vector<bool> isWritten;
  std::vector<uint64_t> bytes;
  attention::ForwardProblem problem;
  std::string architecture;
  std::shared_ptr<const attention::LaunchPlan> plan;
};

} // namespace hocket::python
