// Attention and its gradients on tensors of others.
#include "Attention.h"

#include "Call.h"
#include "HostLists.h"
#include "Problem.h"

#include "llvm/ADT/STLExtras.h"

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
    problem.lseGradient |= name == "dlse";
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

/// Lengths and a batch in whose place a kernel is chosen that serves all: such as fill a chip.
static constexpr int64_t kUsualLength = 4096, kUsualBatch = 16;

/// The plan of a kernel that depends on no lengths and no batch. Keys are not split.
static Result<std::shared_ptr<const attention::ForwardPlan>> planForAllLengths(attention::Planner &planner, ForwardProblem problem) {
  ForwardProblem usual = problem;
  usual.batch = kUsualBatch;
  usual.seqQ = usual.seqKv = kUsualLength;
  usual.totalQ = usual.totalKv = kUsualBatch * kUsualLength;
  problem.tuning.numSplits = usual.tuning.numSplits = 1;
  Result<attention::KernelChoice> choice = planner.registry().choose(usual, planner.target(), planner.computeUnits());
  if (!choice.ok())
    return choice.error();
  // Where no kernel takes it, whoever plans says why.
  return choice->kernel ? planner.planWith(choice->kernel->name, problem) : planner.plan(problem);
}

namespace {
/// A problem and the call that computes it, or its gradients.
class ProblemCall {
public:
  ProblemCall(const py::dict &what, const py::dict &tensors, const std::string &architecture,
              std::optional<int64_t> stream)
      : named(namedTensors(tensors)), problem(describe(what, named)), architecture(architecture), stream(stream),
        forAllLengths(what.contains("deterministic_lengths") && what["deterministic_lengths"].cast<bool>()) {
    checkHostLists(problem.forward, named);
  }
  Call forward() const {
    return {[this](attention::Planner &planner) {
              return anyPlan(forAllLengths ? planForAllLengths(planner, problem.forward) : planner.plan(problem.forward));
            },
            named, architecture, stream};
  }
  Call backward() const {
    return {[this](attention::Planner &planner) { return anyPlan(planner.planBackward(problem)); }, named, architecture,
            stream};
  }

  const NamedTensors &tensors() const { return named; }
  const ForwardProblem &forwardProblem() const { return problem.forward; }

private:
  NamedTensors named;
  BackwardProblem problem;
  std::string architecture;
  std::optional<int64_t> stream;
  bool forAllLengths;
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

void python::quantize(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                      std::optional<int64_t> stream) {
  attention::QuantizeProblem problem;
  NamedTensors named = namedTensors(tensors);
  problem.from = named.front().second->dtype;
  problem.to = valueOf(attention::parseQuantizedType(what["dtype"].cast<std::string>()));
  problem.per = valueOf(attention::parseScalesPer(what["per"].cast<std::string>()));
  problem.layout = valueOf(attention::parseLayout(what["layout"].cast<std::string>()));
  for (auto [name, member] : {std::pair("batch", &problem.batch), {"seq", &problem.seq}, {"heads", &problem.heads},
                              {"head_dim", &problem.headDim}, {"block", &problem.block}, {"heads_of_scale", &problem.headsOfScale}})
    *member = what[name].cast<int64_t>();
  const auto [ofBatch, ofSequence, ofHead] = what["strides"].cast<std::tuple<int64_t, int64_t, int64_t>>();
  problem.strides = attention::TensorStrides{ofBatch, ofSequence, ofHead};
  Call{[&](attention::Planner &planner) { return anyPlan(planner.planQuantize(problem)); }, std::move(named), architecture, stream}
      .run();
}

std::string python::forwardPlan(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                                std::optional<int64_t> stream) {
  return ProblemCall(what, tensors, architecture, stream).forward().plan()->toJson();
}

std::string python::backwardPlan(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                                 std::optional<int64_t> stream) {
  return ProblemCall(what, tensors, architecture, stream).backward().plan()->toJson();
}

PreparedCall::PreparedCall(const py::dict &what, const py::dict &tensors, const std::string &architecture,
                           const std::vector<std::string> &written, bool isBackward)
    : architecture(architecture) {
  ProblemCall call(what, tensors, architecture, std::nullopt);
  plan = (isBackward ? call.backward() : call.forward()).plan();
  named = call.tensors();
  problem = call.forwardProblem();
  for (auto &[name, tensor] : named) {
    isWritten.push_back(llvm::is_contained(written, name));
    bytes.push_back(tensor->spanBytes());
    tensor = tensor->at(0); // does not keep the first one's memory
  }
}

bool PreparedCall::areApart(const std::vector<std::shared_ptr<Tensor>> &placed) const {
  for (size_t i = 0; i != placed.size(); ++i)
    for (size_t j = 0; isWritten[i] && j != placed.size(); ++j) {
      uintptr_t a = placed[i]->address(), b = placed[j]->address();
      bool inPlace = a == b && named[i].first == "o" && named[j].first == "q" && placed[i]->shape == placed[j]->shape &&
                     placed[i]->strides == placed[j]->strides;
      if (i != j && !inPlace && a < b + bytes[j] && b < a + bytes[i])
        return false;
    }
  return true;
}

bool PreparedCall::run(const std::vector<uintptr_t> &addresses, std::optional<int64_t> stream,
                       std::optional<std::pair<int64_t, int64_t>> dropping) const {
  std::vector<std::shared_ptr<Tensor>> placed;
  NamedTensors own;
  for (size_t i = 0; i != named.size(); ++i) {
    placed.push_back(named[i].second->at(addresses.at(i)));
    own.emplace_back(named[i].first, placed.back());
  }
  if (!areApart(placed))
    return false;
  checkHostLists(problem, own);
  auto known = [this](attention::Planner &) { return Result<std::shared_ptr<const attention::LaunchPlan>>(plan); };
  Call call{known, std::move(own), architecture, stream};
  if (dropping)
    call.own = {{"dropout_seed", manifest::Value::integer(dropping->first)},
                {"dropout_offset", manifest::Value::integer(dropping->second)}};
  call.run();
  return true;
}
