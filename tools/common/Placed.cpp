#include "Placed.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include <span>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

static Result<Placed::Launch> loadLaunch(runtime::Device &device, const PlannedLaunch &launch,
                                         const ForwardProblem &problem) {
  const manifest::Manifest &manifest = launch.compiled->manifest;
  manifest::Variables variables = substitute(problemVariables(problem), launch.instead);
  if (Status status = manifest::checkRequirements(manifest, variables); !status.ok())
    return status.error();
  auto module =
      device.loadModule(std::as_bytes(std::span(launch.compiled->codeObject)), manifest.kernel);
  if (!module.ok())
    return module.error();
  auto found = (*module)->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  if (Status status = manifest::checkKernel(manifest, (*found)->info()); !status.ok())
    return status.error();
  return Placed::Launch{launch.compiled, launch.instead, *module, *found, {}, launch.decides};
}

Status run::writeKnown(runtime::Device &device, const ForwardProblem &problem, const manifest::Addresses &addresses) {
  for (const auto &[name, numbers] : problem.known.lists)
    if (auto found = addresses.find(name); found != addresses.end())
      if (Status status = device.copyToDevice(found->second, std::as_bytes(std::span(numbers))); !status.ok())
        return status;
  return Status::success();
}

Result<Placed> Placed::make(const std::vector<PlannedLaunch> &launches,
                            const ForwardProblem &problem) {
  Placed placed;
  const std::string &chip = launches.front().compiled->manifest.target;
  placed.device = sim::createDevice(nullptr, chip);
  if (!placed.device)
    return unsupported("there is no simulator of '" + chip + "'");
  uint64_t workspace = 0;
  for (const PlannedLaunch &planned : launches) {
    Result<Launch> launch = loadLaunch(*placed.device, planned, problem);
    if (!launch.ok())
      return launch.error();
    Result<uint64_t> bytes =
        manifest::workspaceBytes(planned.compiled->manifest, problemVariables(problem));
    if (!bytes.ok())
      return bytes.error();
    workspace = std::max(workspace, *bytes);
    placed.launches.push_back(*std::move(launch));
  }
  std::vector<std::pair<std::string, uint64_t>> needs;
  std::vector<manifest::TensorSpec> tensors = problem.tensors();
  for (const manifest::TensorSpec &tensor : problem.temporaries())
    tensors.push_back(tensor);
  for (const manifest::TensorSpec &tensor : tensors)
    needs.emplace_back(tensor.name, tensor.bufferBytes());
  needs.emplace_back(manifest::workspaceName, workspace);
  manifest::Addresses addresses;
  for (const auto &[name, bytes] : needs) {
    if (bytes == 0)
      continue;
    auto address = placed.device->allocate(bytes, 256, "tensor");
    if (!address.ok())
      return address.error();
    addresses[name] = *address;
  }
  if (Status status = writeKnown(*placed.device, problem, addresses); !status.ok())
    return status.error();
  for (Launch &launch : placed.launches) {
    auto bound =
        manifest::bindLaunch(launch.compiled->manifest,
                             substitute(problemVariables(problem, &addresses), launch.instead));
    if (!bound.ok())
      return bound.error();
    launch.binding = *std::move(bound);
  }
  return std::move(placed);
}

Result<sim::GridTime> run::predictLaunches(Placed &placed, const sim::TimingOptions &timing,
                                           KindCaches &caches) {
  std::optional<sim::GridTime> total;
  for (Placed::Launch &launch : placed.launches) {
    Result<sim::GridTime> grid =
        sim::predictGrid(*placed.device, *launch.kernel, launch.binding.shape,
                         launch.binding.kernarg, timing, &caches[launch.compiled->codeObject]);
    if (!grid.ok())
      return grid.error();
    // Samples have written some of what later launches go by.
    if (launch.decides)
      if (auto report = placed.device->launch(*launch.kernel, launch.binding.shape, launch.binding.kernarg); !report.ok())
        return report.error();
    if (!total) {
      total = *std::move(grid);
      continue;
    }
    // What a launch costs beside its execution counts for each.
    total->executeMicroseconds += grid->microseconds;
    total->memoryMicroseconds += grid->memoryMicroseconds;
    total->microseconds += grid->microseconds;
  }
  return *std::move(total);
}
