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
    if (name.starts_with("d_"))
      continue;
    bool isGradient = name == "do" || name == "dq" || name == "dk" || name == "dv";
    if (name == "lse")
      forward.wantLse = true;
    else if (name == "sink")
      forward.sink = true;
    else if (isGradient)
      problem.gradientStrides[name] = stridesOf(*tensor, forward.layout);
    else if (tensor->shape.size() > 2 && !forward.capturedExtents.contains(name))
      forward.strides[name] = stridesOf(*tensor, forward.layout);
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

void python::forward(const py::dict &what, const py::dict &tensors,
                     const std::string &architecture, std::optional<int64_t> stream) {
  NamedTensors named = namedTensors(tensors);
  ForwardProblem problem = describe(what, named).forward;
  checkHostLists(problem, named);
  auto plan = [&](attention::Planner &planner) { return anyPlan(planner.plan(problem)); };
  Call{plan, std::move(named), architecture, stream}.run();
}

static Call backwardCall(const BackwardProblem &problem, NamedTensors named, const std::string &architecture,
                         std::optional<int64_t> stream) {
  auto plan = [&problem](attention::Planner &planner) { return anyPlan(planner.planBackward(problem)); };
  return {plan, std::move(named), architecture, stream};
}

void python::backward(const py::dict &what, const py::dict &tensors,
                      const std::string &architecture, std::optional<int64_t> stream) {
  NamedTensors named = namedTensors(tensors);
  BackwardProblem problem = describe(what, named);
  checkHostLists(problem.forward, named);
  backwardCall(problem, std::move(named), architecture, stream).run();
}

void python::planBackward(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                          std::optional<int64_t> stream) {
  NamedTensors named = namedTensors(tensors);
  BackwardProblem problem = describe(what, named);
  checkHostLists(problem.forward, named);
  backwardCall(problem, std::move(named), architecture, stream).plan();
}
