// Plans of a forward: which kernels, and from where.
#include "hocket/Attention/ForwardPlan.h"

#include "hocket/Attention/LaunchesInFront.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

using namespace hocket;
using namespace hocket::attention;

KernelSource::~KernelSource() = default;

Result<std::shared_ptr<const CompiledKernel>>
KernelSource::getBackward(const ForwardSemantics &, const BackwardKernel &kernel,
                          std::string_view) {
  return notFound("there is no kernel '" + kernel.name + "' here, which has forwards alone");
}

Result<std::shared_ptr<const CompiledKernel>> KernelSource::getDescribed(const DescribedKernel &kernel,
                                                                         std::string_view) {
  return notFound("there is no kernel '" + kernel.name + "' here, which has forwards alone");
}

std::string_view attention::toString(KernelOrigin origin) {
  constexpr std::string_view names[] = {"compiled", "disk", "file"};
  return names[static_cast<size_t>(origin)];
}

size_t ProblemHash::operator()(const ForwardProblem &problem) const {
  return llvm::hash_combine(problem.dtype.q, problem.dtype.k, problem.headDim, problem.valueHeadDim(),
                            &problem.visibility.kind(), problem.wantLse, problem.batch,
                            problem.heads, problem.kvHeads, problem.seqQ, problem.seqKv);
}

size_t ProblemHash::operator()(const QuantizeProblem &problem) const {
  return llvm::hash_combine(problem.from, problem.to, problem.per, problem.batch, problem.seq, problem.heads, problem.headDim);
}

Status attention::checkInputs(std::span<const PlannedLaunch> launches,
                              const ForwardProblem &problem) {
  for (const manifest::TensorSpec &tensor : problem.tensors()) {
    bool isOwn = tensor.name == "q" || tensor.name == "k" || tensor.name == "v";
    if (isOwn || !tensor.wanted || tensor.role != manifest::TensorRole::Input)
      continue;
    bool isRead = llvm::any_of(launches, [&](const PlannedLaunch &launch) {
      return llvm::any_of(launch.compiled->manifest.arguments, [&](const manifest::Argument &argument) {
        return llvm::is_contained(argument.value.variables(), tensor.name);
      });
    });
    if (!isRead)
      return invalidInput("the kernel '" + launches.front().compiled->manifest.kernel +
                          "' does not read '" + tensor.name + "', which the problem '" +
                          problem.describe() + "' has; use a kernel that was compiled for it");
  }
  return Status::success();
}

Result<std::shared_ptr<const ForwardPlan>>
ForwardPlan::make(ForwardProblem problem, std::vector<PlannedLaunch> launches, size_t attention) {
  std::shared_ptr<ForwardPlan> plan(new ForwardPlan(std::move(problem), std::move(launches), attention));
  if (Status status = checkInputs(plan->launches(), plan->description); !status.ok())
    return status.error();
  if (Status status = plan->measure(plan->description.describe()); !status.ok())
    return status.error();
  return std::shared_ptr<const ForwardPlan>(std::move(plan));
}

template <typename Get>
Result<std::shared_ptr<const CompiledKernel>> Planner::firstSource(const std::string &name, const Get &get) {
  for (const std::shared_ptr<KernelSource> &source : sources) {
    Result<std::shared_ptr<const CompiledKernel>> kernel = get(*source);
    if (kernel.ok() || kernel.error().kind != ErrorKind::NotFound)
      return kernel;
  }
  return notFound("kernel '" + name + "' for " + architecture + " is in none of the " +
                  std::to_string(sources.size()) +
                  " sources; build it ahead of time (hocketc --all) or let it be compiled");
}

Result<std::shared_ptr<const CompiledKernel>> Planner::find(const KernelEntry &entry, const ForwardProblem &problem) {
  KernelVariant variant = variantOf(entry, problem);
  return firstSource(entry.variantName(variant),
                     [&](KernelSource &source) { return source.get(entry, variant, architecture); });
}

Result<PlannedLaunch> Planner::firstMade(const KernelEntry &chosen, const ForwardProblem &problem) {
  auto kernel = find(chosen, problem);
  if (kernel.ok())
    return PlannedLaunch{chosen.name, *std::move(kernel)};
  // A bug must be reported: another kernel would hide it, as it would hide a bundle that lacks what is best or was changed.
  const bool mayTryOthers = problem.isModified() || problem.lists.any() || kernel.error().kind == ErrorKind::Unsupported;
  if (kernel.error().kind == ErrorKind::Internal || !mayTryOthers)
    return kernel.error();
  std::vector<PassedOver> passedOver = {{chosen.name, kernel.error().message}};
  for (const KernelEntry *other : kernels.alternatives(chosen, problem, architecture)) {
    auto instead = find(*other, problem);
    if (instead.ok())
      return PlannedLaunch{other->name, *std::move(instead), {}, false, std::move(passedOver)};
    if (instead.error().kind == ErrorKind::Internal)
      return instead.error();
    passedOver.push_back({other->name, instead.error().message});
  }
  return kernel.error();
}

Status Planner::addDescribed(const std::vector<DescribedKernel> &list, std::vector<PlannedLaunch> &launches) {
  for (const DescribedKernel &described : list) {
    auto kernel = firstSource(described.name, [&](KernelSource &source) {
      return source.getDescribed(described, architecture);
    });
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({described.name, *std::move(kernel), {}, described.decides});
  }
  return Status::success();
}

Result<std::shared_ptr<const QuantizePlan>> Planner::planQuantize(const QuantizeProblem &problem) {
  return remember(quantizes, problem, [&]() -> Result<std::shared_ptr<const QuantizePlan>> {
    if (Status status = validate(problem); !status.ok())
      return status.error();
    std::vector<PlannedLaunch> launches;
    if (Status status = addDescribed(describeQuantize(problem, architecture), launches); !status.ok())
      return status.error();
    return QuantizePlan::make(problem, std::move(launches));
  });
}

Result<std::shared_ptr<const ForwardPlan>> Planner::complete(const ForwardProblem &problem, PlannedLaunch attention,
                                                             const KernelEntry *combine) {
  std::vector<PlannedLaunch> launches;
  if (Status status = addDescribed(kernelsInFront(problem.semantics(), architecture), launches); !status.ok())
    return status.error();
  size_t number = launches.size();
  attention.instead = tensorsInstead(problem);
  launches.push_back(std::move(attention));
  if (combine) {
    auto kernel = find(*combine, problem);
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({combine->name, *std::move(kernel)});
  }
  if (Status status = addDescribed(kernelsBehind(problem), launches); !status.ok())
    return status.error();
  return ForwardPlan::make(problem, std::move(launches), number);
}

Result<std::shared_ptr<const ForwardPlan>> Planner::makePlan(const ForwardProblem &problem,
                                                             unsigned computeUnits) {
  Result<SelectedKernels> selected = selectKernels(kernels, problem, architecture, computeUnits);
  if (!selected.ok())
    return selected.error();
  Result<PlannedLaunch> attention = firstMade(*selected->kernels.front(), selected->problem);
  if (!attention.ok())
    return attention.error();
  return complete(selected->problem, *std::move(attention),
                  selected->kernels.size() > 1 ? selected->kernels.back() : nullptr);
}

Result<const KernelEntry *> Planner::combineOf(const ForwardProblem &problem) const {
  return problem.tuning.isSplit() ? kernels.selectCombine(problem, architecture) : Result<const KernelEntry *>(nullptr);
}

Result<std::shared_ptr<const ForwardPlan>> Planner::planWith(std::string_view kernel, const ForwardProblem &problem) {
  Result<const KernelEntry *> entry = kernels.find(kernel);
  if (!entry.ok())
    return entry.error();
  if ((*entry)->role == KernelRole::Combine)
    return invalidInput("kernel '" + (*entry)->name + "' combines slices and computes none itself; name the producer, or "
                        "'auto', and what combines is added");
  if (std::vector<BrokenRule> broken = brokenRules(**entry, problem, architecture); !broken.empty())
    return unsupported("kernel '" + (*entry)->name + "' does not take the problem '" + problem.describe() + "' on " +
                       architecture + ": " + broken.front().text + "; use 'auto' to have one chosen that does");
  Result<const KernelEntry *> combine = combineOf(problem);
  if (!combine.ok())
    return combine.error();
  auto made = find(**entry, problem);
  if (!made.ok())
    return made.error();
  return complete(problem, {(*entry)->name, *std::move(made)}, *combine);
}

Result<std::shared_ptr<const ForwardPlan>> Planner::planWith(const MakeForwardKernel &make,
                                                             const ForwardProblem &problem) {
  auto made = make(problem);
  if (!made.ok())
    return made.error();
  Result<const KernelEntry *> combine = combineOf(problem);
  if (!combine.ok())
    return combine.error();
  return complete(problem, {"", *std::move(made)}, *combine);
}

Result<ForwardExplanation> Planner::explain(const ForwardProblem &problem) {
  Result<SelectedKernels> selected = selectKernels(kernels, problem, architecture, units);
  ForwardProblem asked = problem;
  if (selected.ok())
    asked.visibility = selected->problem.visibility;
  Result<KernelChoice> choice = kernels.choose(asked, architecture, units);
  if (!choice.ok())
    return choice.error();
  return ForwardExplanation{*std::move(choice), std::move(selected), plan(problem)};
}

template <typename Plan, typename Problem, typename Make>
Result<Plan> Planner::remember(RecentlyUsed<Plan, Problem, ProblemHash> &known,
                               const Problem &problem, Make make) {
  {
    std::lock_guard lock(mutex);
    if (const Plan *plan = known.find(problem))
      return *plan;
  }
  Result<Plan> plan = make();
  if (!plan.ok())
    return plan;
  std::lock_guard lock(mutex);
  // Another thread may have been faster; everyone gets the same plan.
  if (const Plan *first = known.find(problem))
    return *first;
  known.insert(problem, *plan, 1);
  return plan;
}

Result<std::shared_ptr<const ForwardPlan>> Planner::plan(const ForwardProblem &problem) {
  return remember(plans, problem, [&] {
    auto plan = makePlan(problem, units);
    // Slices are the heuristic's wish: without kernels for them, or if these do not compile, there is a way.
    const bool mayGoWithout = problem.tuning.numSplits == 0 && !plan.ok() &&
                              (plan.error().kind == ErrorKind::NotFound || plan.error().kind == ErrorKind::Unsupported);
    if (mayGoWithout)
      plan = makePlan(problem, 0);
    return plan;
  });
}

Result<std::shared_ptr<const BackwardPlan>> Planner::planBackward(const BackwardProblem &problem,
                                                                  std::string_view schedule) {
  auto make = [&](const ForwardSemantics &semantics, const BackwardKernel &kernel) {
    return firstSource(kernel.name,
                       [&](KernelSource &source) { return source.getBackward(semantics, kernel, architecture); });
  };
  if (!schedule.empty())
    return attention::planBackward(problem, make, schedule);
  return remember(backwards, problem, [&] { return attention::planBackward(problem, make); });
}
