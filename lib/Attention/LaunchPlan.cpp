// Plans: checks that must come before a launch, and launching.
#include "hocket/Attention/LaunchPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket;
using namespace hocket::attention;

/// What the kernels' 16-byte loads ask of every tensor, and a line of memory, with which temporaries begin.
static constexpr uint64_t kAlignment = 16, kLine = 128;

static uint64_t toLine(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

Status LaunchPlan::measure(std::string description) {
  title = std::move(description);
  uint64_t workspace = 0;
  for (const PlannedLaunch &step : steps) {
    const manifest::Manifest &manifest = step.compiled->manifest;
    if (Status status = checkRequirements(manifest, substitute(variables, step.instead)); !status.ok())
      return Error{status.error().kind,
                   status.error().message + "; the problem is '" + title + "'"};
    Result<uint64_t> bytes = manifest::workspaceBytes(manifest, variables);
    if (!bytes.ok())
      return bytes.error();
    workspace = std::max(workspace, *bytes);
  }
  for (const manifest::TensorSpec &tensor : tensors)
    needs.push_back({tensor.name, tensor.bufferBytes()});
  for (const manifest::TensorSpec &tensor : temporaries) {
    places[tensor.name] = toLine(workspace);
    workspace = toLine(workspace) + tensor.bufferBytes();
  }
  needs.push_back({std::string(manifest::workspaceName), workspace});
  llvm::copy_if(needs, std::back_inserter(needed), [](const BufferNeed &need) { return need.bytes != 0; });
  return Status::success();
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

Status LaunchPlan::checkBuffers(const Buffers &buffers) const {
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

Result<LaunchPlan::LoadedKernels> LaunchPlan::loaded(runtime::Device &device) const {
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

Status LaunchPlan::load(runtime::Device &device) const {
  Result<LoadedKernels> kernels = loaded(device);
  return kernels.ok() ? Status::success() : Status(kernels.error());
}

void LaunchPlan::unload(runtime::Device &device) const {
  // The module may be the last to hold the device: let go of it after the lock.
  LoadedKernels last;
  std::lock_guard lock(mutex);
  auto found = devices.find(&device);
  if (found == devices.end())
    return;
  last = std::move(found->second);
  devices.erase(found);
}

manifest::Addresses LaunchPlan::addressesOf(const Buffers &buffers) const {
  manifest::Addresses addresses;
  for (const BufferNeed &need : needed)
    addresses[need.name] = buffers.find(need.name)->second.address;
  for (const auto &[name, place] : places)
    addresses[name] = addresses[std::string(manifest::workspaceName)] + place;
  return addresses;
}

Result<std::vector<manifest::Binding>> LaunchPlan::bind(const Buffers &buffers, const manifest::Variables &own) const {
  if (Status status = checkBuffers(buffers); !status.ok())
    return status.error();
  manifest::Addresses addresses = addressesOf(buffers);
  manifest::Variables bound = variables;
  for (const auto &[name, value] : own)
    bound.insert_or_assign(name, value);
  addAddresses(bound, tensors, addresses);
  addAddresses(bound, temporaries, addresses);
  std::vector<manifest::Binding> bindings;
  for (const PlannedLaunch &step : steps) {
    Result<manifest::Binding> binding = bindLaunch(step.compiled->manifest, substitute(bound, step.instead));
    if (!binding.ok())
      return binding.error();
    bindings.push_back(*std::move(binding));
  }
  return bindings;
}

Result<LaunchPlan::Prepared> LaunchPlan::prepare(runtime::Device &device, const Buffers &buffers,
                                                 const manifest::Variables &own) const {
  Result<std::vector<manifest::Binding>> bindings = bind(buffers, own);
  if (!bindings.ok())
    return bindings.error();
  Result<LoadedKernels> kernels = loaded(device);
  if (!kernels.ok())
    return kernels.error();
  return Prepared{*kernels, *std::move(bindings), numberLists(tensors, addressesOf(buffers))};
}

Result<std::vector<runtime::LaunchReport>> LaunchPlan::run(runtime::Device &device, const Buffers &buffers,
                                                            const manifest::Variables &own) const {
  Result<Prepared> prepared = prepare(device, buffers, own);
  if (!prepared.ok())
    return prepared.error();
  std::vector<runtime::LaunchReport> reports;
  for (size_t i = 0; i < steps.size(); ++i) {
    const manifest::Binding &binding = prepared->bindings[i];
    auto report = device.launchWith(prepared->lists, *(*prepared->kernels)[i].kernel, binding.shape, binding.kernarg);
    if (!report.ok())
      return report.error();
    reports.push_back(*std::move(report));
  }
  return reports;
}

Status LaunchPlan::run(runtime::Device &device, const Buffers &buffers, runtime::Stream &stream,
                       const manifest::Variables &own) const {
  Result<Prepared> prepared = prepare(device, buffers, own);
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
