// Attention and its gradients on tensors of others.
#include "Attention.h"

#include "Call.h"
#include "HostLists.h"
#include "Problem.h"

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using attention::BackwardProblem;
using attention::ForwardProblem;

static NamedTensors namedTensors(const py::dict &tensors) {
  NamedTensors named;
  for (const auto &[key, value] : tensors)
    named.emplace_back(key.cast<std::string>(), value.cast<std::shared_ptr<Tensor>>());
  return named;
}

/// The problem `what` of tensors, whose strides it honours.
static BackwardProblem describe(const py::dict &what, const NamedTensors &tensors) {
  BackwardProblem problem{problemOf(what)};
  for (const py::handle &name : what["gradients"].cast<py::list>())
    problem.otherGradients.insert(name.cast<std::string>());
  if (what.contains("accumulate")) {
    // Python has checked the name.
    problem.accumulate = attention::accumulationOf(what["accumulate"].cast<std::string>()).value_or(attention::Accumulation::None);
    problem.deterministic = what["deterministic"].cast<bool>();
  }
  ForwardProblem &forward = problem.forward;
  for (const auto &[name, tensor] : tensors) {
    forward.wantLse |= name == "lse";
    forward.sink |= name == "sink";
  }
  std::vector<manifest::TensorSpec> dense = problem.tensors();
  for (const auto &[name, tensor] : tensors)
    for (const manifest::TensorSpec &spec : dense) {
      if (spec.name != name || !spec.strided)
        continue;
      bool isGradient = name == "do" || name == "dq" || name == "dk" || name == "dv";
      if (auto strides = stridesOf(*tensor, spec, forward.layout))
        (isGradient ? problem.gradientStrides : forward.strides)[name] = *strides;
    }
  return problem;
}

/// A plan of any kind.
template <typename Plan>
static Result<std::shared_ptr<const attention::LaunchPlan>> anyPlan(Result<Plan> plan) {
  if (!plan.ok())
    return plan.error();
  return std::shared_ptr<const attention::LaunchPlan>(*std::move(plan));
}

namespace {
/// A problem and the call that computes it, or its gradients.
class ProblemCall {
public:
  ProblemCall(const py::dict &what, const py::dict &tensors, const std::string &architecture,
              std::optional<int64_t> stream)
      : named(namedTensors(tensors)), problem(describe(what, named)), architecture(architecture), stream(stream) {
    checkHostLists(problem.forward, named);
  }
  Call forward() const {
    return {[this](attention::Planner &planner) { return anyPlan(planner.plan(problem.forward)); }, named, architecture,
            stream};
  }
  Call backward() const {
    return {[this](attention::Planner &planner) { return anyPlan(planner.planBackward(problem)); }, named, architecture,
            stream};
  }

private:
  NamedTensors named;
  BackwardProblem problem;
  std::string architecture;
  std::optional<int64_t> stream;
};
} // namespace

void python::forward(const py::dict &what, const py::dict &tensors,
                     const std::string &architecture, std::optional<int64_t> stream) {
  ProblemCall(what, tensors, architecture, stream).forward().run();
}

void python::backward(const py::dict &what, const py::dict &tensors,
                      const std::string &architecture, std::optional<int64_t> stream) {
  ProblemCall(what, tensors, architecture, stream).backward().run();
}

void python::planBackward(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                          std::optional<int64_t> stream) {
  ProblemCall(what, tensors, architecture, stream).backward().plan();
}

std::string python::forwardPlan(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                                std::optional<int64_t> stream) {
  return ProblemCall(what, tensors, architecture, stream).forward().plan()->toJson();
}

std::string python::backwardPlan(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                                 std::optional<int64_t> stream) {
  return ProblemCall(what, tensors, architecture, stream).backward().plan()->toJson();
}
