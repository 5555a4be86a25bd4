// Plans: checks that must come before a launch, and launching.
#include "hocket/Attention/ForwardPlan.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket;
using namespace hocket::attention;

/// What the kernels' 16-byte loads ask of every tensor.
static constexpr uint64_t kAlignment = 16;

KernelSource::~KernelSource() = default;

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
  plan->tensors = plan->description.tensors();
  plan->variables = problemVariables(plan->description);
  if (Status status = checkInputs(plan->steps, plan->description); !status.ok())
    return status.error();
  uint64_t workspace = 0;
  for (const PlannedLaunch &step : plan->steps) {
    const manifest::Manifest &manifest = step.compiled->manifest;
    if (Status status = checkRequirements(manifest, plan->variables); !status.ok())
      return Error{status.error().kind, status.error().message + "; the problem is '" +
                                            plan->description.describe() + "'"};
    Result<uint64_t> bytes = manifest::workspaceBytes(manifest, plan->variables);
    if (!bytes.ok())
      return bytes.error();
    workspace = std::max(workspace, *bytes);
  }
  for (const manifest::TensorSpec &tensor : plan->tensors)
    plan->needs.push_back({tensor.name, tensor.bufferBytes()});
  plan->needs.push_back({std::string(manifest::workspaceName), workspace});
  return std::shared_ptr<const ForwardPlan>(std::move(plan));
}

static Status checkBuffer(const Buffer &buffer, const std::string &name, uint64_t wanted) {
  if (wanted == 0)
    return Status::success();
  if (buffer.address == 0)
    return invalidInput("buffer '" + name + "' is null, " + std::to_string(wanted) +
                        " bytes of device memory are needed");
  if (buffer.bytes < wanted)
    return invalidInput("buffer '" + name + "' has " + std::to_string(buffer.bytes) + " bytes, " +
                        std::to_string(wanted) + " are needed");
  if (buffer.address % kAlignment != 0)
    return invalidInput("buffer '" + name + "' is at an address that is " +
                        std::to_string(buffer.address % kAlignment) + " beyond a multiple of " +
                        std::to_string(kAlignment) + " bytes; align it");
  return Status::success();
}

Status ForwardPlan::checkBuffers(const Buffers &buffers) const {
  for (const auto &[name, buffer] : buffers)
    if (llvm::none_of(needs, [&](const BufferNeed &need) { return need.name == name; })) {
      auto names = llvm::map_range(needs, [](const BufferNeed &need) { return need.name; });
      return invalidInput("there is no buffer '" + name + "'; known are " +
                          llvm::join(names, ", "));
    }
  for (const BufferNeed &need : needs) {
    auto given = buffers.find(need.name);
    Buffer buffer = given == buffers.end() ? Buffer() : given->second;
    if (Status status = checkBuffer(buffer, need.name, need.bytes); !status.ok())
      return status;
  }
  return Status::success();
}

Result<ForwardPlan::LoadedKernels> ForwardPlan::loaded(runtime::Device &device) const {
  std::lock_guard lock(mutex);
  LoadedKernels &known = devices[&device];
  if (known)
    return known;
  auto kernels = std::make_shared<std::vector<Loaded>>();
  for (const PlannedLaunch &step : steps) {
    const manifest::Manifest &manifest = step.compiled->manifest;
    if (manifest.target != device.properties().architecture)
      return unsupported("the plan is for " + manifest.target + ", device '" +
                         device.properties().name + "' is a " + device.properties().architecture +
                         "; make a plan for that architecture");
    auto module =
        device.loadModule(std::as_bytes(std::span(step.compiled->codeObject)), manifest.kernel);
    if (!module.ok())
      return module.error();
    auto kernel = (*module)->kernel(manifest.kernel);
    if (!kernel.ok())
      return kernel.error();
    if (Status status = checkKernel(manifest, (*kernel)->info()); !status.ok())
      return status.error();
    kernels->push_back({*module, *kernel});
  }
  known = std::move(kernels);
  return known;
}

Status ForwardPlan::load(runtime::Device &device) const {
  Result<LoadedKernels> kernels = loaded(device);
  return kernels.ok() ? Status::success() : Status(kernels.error());
}

void ForwardPlan::unload(runtime::Device &device) const {
  // The module may be the last to hold the device: let go of it after the lock.
  LoadedKernels last;
  std::lock_guard lock(mutex);
  auto found = devices.find(&device);
  if (found == devices.end())
    return;
  last = std::move(found->second);
  devices.erase(found);
}

Result<ForwardPlan::Prepared> ForwardPlan::prepare(runtime::Device &device,
                                                   const Buffers &buffers) const {
  if (Status status = checkBuffers(buffers); !status.ok())
    return status.error();
  Result<LoadedKernels> kernels = loaded(device);
  if (!kernels.ok())
    return kernels.error();
  manifest::Addresses addresses;
  for (const BufferNeed &need : needs)
    if (need.bytes != 0)
      addresses[need.name] = buffers.find(need.name)->second.address;
  manifest::Variables bound = variables;
  addAddresses(bound, tensors, addresses);
  Prepared prepared{*kernels, {}};
  for (const PlannedLaunch &step : steps) {
    Result<manifest::Binding> binding = bindLaunch(step.compiled->manifest, bound);
    if (!binding.ok())
      return binding.error();
    prepared.bindings.push_back(*std::move(binding));
  }
  return prepared;
}

Result<std::vector<runtime::LaunchReport>> ForwardPlan::run(runtime::Device &device,
                                                            const Buffers &buffers) const {
  Result<Prepared> prepared = prepare(device, buffers);
  if (!prepared.ok())
    return prepared.error();
  std::vector<runtime::LaunchReport> reports;
  for (size_t i = 0; i < steps.size(); ++i) {
    const manifest::Binding &binding = prepared->bindings[i];
    auto report = device.launch(*(*prepared->kernels)[i].kernel, binding.shape, binding.kernarg);
    if (!report.ok())
      return report.error();
    reports.push_back(*std::move(report));
  }
  return reports;
}

Status ForwardPlan::run(runtime::Device &device, const Buffers &buffers,
                        runtime::Stream &stream) const {
  Result<Prepared> prepared = prepare(device, buffers);
  if (!prepared.ok())
    return prepared.error();
  for (size_t i = 0; i < steps.size(); ++i) {
    const manifest::Binding &binding = prepared->bindings[i];
    if (Status status =
            stream.launch(*(*prepared->kernels)[i].kernel, binding.shape, binding.kernarg);
        !status.ok())
      return status;
  }
  return Status::success();
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

Result<std::shared_ptr<const ForwardPlan>> Planner::makePlan(const ForwardProblem &problem,
                                                             unsigned computeUnits) {
  Result<SelectedKernels> selected = selectKernels(kernels, problem, architecture, computeUnits);
  if (!selected.ok())
    return selected.error();
  std::vector<PlannedLaunch> launches;
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
    launches.push_back({name, *std::move(kernel)});
  }
  return ForwardPlan::make(selected->problem, std::move(launches));
}

Result<std::shared_ptr<const ForwardPlan>> Planner::plan(const ForwardProblem &problem) {
  {
    std::lock_guard lock(mutex);
    if (const auto *known = plans.find(problem))
      return *known;
  }
  auto plan = makePlan(problem, units);
  // Slices are the heuristic's wish: without kernels for them there is a way.
  if (!plan.ok() && plan.error().kind == ErrorKind::NotFound && problem.tuning.numSplits == 0)
    plan = makePlan(problem, 0);
  if (!plan.ok())
    return plan;
  std::lock_guard lock(mutex);
  // Another thread may have been faster; everyone gets the same plan.
  if (const auto *known = plans.find(problem))
    return *known;
  plans.insert(problem, *plan, 1);
  return plan;
}
