#include "Placed.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include <span>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

Result<Placed> Placed::make(const CompiledKernel &kernel, const ForwardProblem &problem) {
  if (Status status = manifest::checkRequirements(kernel.manifest, problemVariables(problem));
      !status.ok())
    return status.error();
  Placed placed;
  placed.device = sim::createDevice(nullptr, kernel.manifest.target);
  if (!placed.device)
    return unsupported("there is no simulator of '" + kernel.manifest.target + "'");
  auto module = placed.device->loadModule(std::as_bytes(std::span(kernel.codeObject)),
                                          kernel.manifest.kernel);
  if (!module.ok())
    return module.error();
  placed.module = *module;
  auto found = placed.module->kernel(kernel.manifest.kernel);
  if (!found.ok())
    return found.error();
  placed.kernel = *found;
  if (Status status = manifest::checkKernel(kernel.manifest, placed.kernel->info()); !status.ok())
    return status.error();
  ForwardPointers pointers;
  Result<uint64_t> workspace = manifest::workspaceBytes(kernel.manifest, problemVariables(problem));
  if (!workspace.ok())
    return workspace.error();
  uint64_t lse = problem.wantLse ? 4 * uint64_t(problem.shape(TensorName::O).rows()) : 0;
  const std::pair<uint64_t *, uint64_t> places[] = {{&pointers.q, problem.spanBytes(TensorName::Q)},
                                                    {&pointers.k, problem.spanBytes(TensorName::K)},
                                                    {&pointers.v, problem.spanBytes(TensorName::V)},
                                                    {&pointers.o, problem.spanBytes(TensorName::O)},
                                                    {&pointers.lse, lse},
                                                    {&pointers.workspace, *workspace}};
  for (auto [pointer, bytes] : places) {
    if (bytes == 0)
      continue;
    auto address = placed.device->allocate(bytes, 256, "tensor");
    if (!address.ok())
      return address.error();
    *pointer = *address;
  }
  auto bound = manifest::bindLaunch(kernel.manifest, problemVariables(problem, &pointers));
  if (!bound.ok())
    return bound.error();
  placed.binding = *std::move(bound);
  return std::move(placed);
}
