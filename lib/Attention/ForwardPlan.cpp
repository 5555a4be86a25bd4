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
  return llvm::hash_combine(problem.dtype, problem.headDim, problem.headDimV,
                            &problem.visibility.kind(), problem.wantLse, problem.batch,
                            problem.heads, problem.kvHeads, problem.seqQ, problem.seqKv);
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

Result<std::shared_ptr<const ForwardPlan>> ForwardPlan::make(ForwardProblem problem,
                                                             std::vector<PlannedLaunch> launches) {
  std::shared_ptr<ForwardPlan> plan(new ForwardPlan(std::move(problem), std::move(launches)));
  if (Status status = checkInputs(plan->launches(), plan->description); !status.ok())
    return status.error();
  if (Status status = plan->measure(plan->description.describe()); !status.ok())
    return status.error();
  return std::shared_ptr<const ForwardPlan>(std::move(plan));
}

Result<std::shared_ptr<const CompiledKernel>> Planner::find(const KernelEntry &entry,
                                                            const KernelVariant &variant) {
  for (const std::shared_ptr<KernelSource> &source : sources) {
    auto kernel = source->get(entry, variant, architecture);
    if (kernel.ok() || kernel.error().kind != ErrorKind::NotFound)
      return kernel;
  }
  return notFound("kernel '" + entry.variantName(variant) + "' for " + architecture +
                  " is in none of the " + std::to_string(sources.size()) +
                  " sources; build it ahead of time (hocketc --all) or let it be compiled");
}

Result<std::shared_ptr<const CompiledKernel>> Planner::find(const ForwardSemantics &semantics,
                                                            const BackwardKernel &kernel) {
  for (const std::shared_ptr<KernelSource> &source : sources) {
    auto found = source->getBackward(semantics, kernel, architecture);
    if (found.ok() || found.error().kind != ErrorKind::NotFound)
      return found;
  }
  return notFound("kernel '" + kernel.name + "' for " + architecture + " is in none of the " +
                  std::to_string(sources.size()) + " sources; let it be compiled");
}

Result<std::shared_ptr<const CompiledKernel>> Planner::find(const DescribedKernel &kernel) {
  for (const std::shared_ptr<KernelSource> &source : sources) {
    auto found = source->getDescribed(kernel, architecture);
    if (found.ok() || found.error().kind != ErrorKind::NotFound)
      return found;
  }
  return notFound("kernel '" + kernel.name + "' for " + architecture + " is in none of the " +
                  std::to_string(sources.size()) + " sources; let it be compiled");
}

Result<std::shared_ptr<const ForwardPlan>> Planner::makePlan(const ForwardProblem &problem,
                                                             unsigned computeUnits) {
  Result<SelectedKernels> selected = selectKernels(kernels, problem, architecture, computeUnits);
  if (!selected.ok())
    return selected.error();
  std::vector<PlannedLaunch> launches;
  for (const DescribedKernel &described : kernelsInFront(problem.semantics(), architecture)) {
    auto kernel = find(described);
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({described.name, *std::move(kernel), {}, described.decides});
  }
  for (const KernelEntry *entry : selected->kernels) {
    auto kernel = find(*entry, variantOf(*entry, selected->problem));
    std::string name = entry->name;
    for (const KernelEntry *other : kernels.alternatives(*entry, selected->problem, architecture)) {
      if (kernel.ok())
        break;
      if (auto instead = find(*other, variantOf(*other, selected->problem)); instead.ok()) {
        kernel = std::move(instead);
        name = other->name;
      }
    }
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({name, *std::move(kernel), tensorsInstead(problem)});
  }
  for (const DescribedKernel &described : kernelsBehind(problem)) {
    auto kernel = find(described);
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({described.name, *std::move(kernel)});
  }
  return ForwardPlan::make(selected->problem, std::move(launches));
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
    // Slices are the heuristic's wish: without kernels for them there is a way.
    if (!plan.ok() && plan.error().kind == ErrorKind::NotFound && problem.tuning.numSplits == 0)
      plan = makePlan(problem, 0);
    return plan;
  });
}

Result<std::shared_ptr<const BackwardPlan>> Planner::planBackward(const BackwardProblem &problem) {
  return remember(backwards, problem, [&] {
    return attention::planBackward(problem, [&](const ForwardSemantics &semantics, const BackwardKernel &kernel) {
      return find(semantics, kernel);
    });
  });
}
