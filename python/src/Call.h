// One run of a plan on tensors where they are: memory of the host in the simulator, ROCm's on its GPU.
#pragma once

#include "Devices.h"
#include "Tensor.h"


#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace hocket::python {

struct Call {
  /// The plan, of the planner of the tensors' device; called without the interpreter lock.
  std::function<Result<std::shared_ptr<const attention::LaunchPlan>>(attention::Planner &)> makePlan;
  /// By the names of the plan's buffers, one at least, all of one device.
  std::vector<std::pair<std::string, std::shared_ptr<Tensor>>> tensors;
  std::string architecture;      ///< of the simulator
  std::optional<int64_t> stream; ///< of a GPU; without one the work is done at the return
  manifest::Variables own = {};  ///< variables of the plan that this run has values of its own for

  /// With the interpreter lock, which it gives up meanwhile. Throws what goes wrong.
  void run() const;
  /// Makes the plan, and with it the kernels, alone. Throws what cannot be planned.
  std::shared_ptr<const attention::LaunchPlan> plan() const;

private:
  Result<Context *> context() const;
  Status runInSimulator(const std::stop_token &stop) const;
  Status runOnGpu() const;
};

} // namespace hocket::python
