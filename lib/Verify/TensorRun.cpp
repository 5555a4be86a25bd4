// Tensors on the device and their content on the host, by name.
#include "Verify/TensorRun.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::verify;
using manifest::TensorRole;
using manifest::TensorSpec;

static const std::string kWorkspace(manifest::workspaceName);

DeviceTensor *TensorRun::placed(const std::string &name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : found->second.get();
}

Status TensorRun::place(Contents contents) {
  inputs = std::move(contents);
  for (const TensorSpec &spec : specs) {
    if (!spec.wanted)
      continue;
    Result<std::unique_ptr<DeviceTensor>> tensor = DeviceTensor::create(
        device, spec.name, rowOffsets(spec), static_cast<uint64_t>(spec.rowBytes()),
        options.alignment, guard(), rowPieces(spec), spec.rows() == 0 ? 0 : spec.spanBytes());
    if (!tensor.ok())
      return tensor.error();
    tensors[spec.name] = *std::move(tensor);
    if (spec.role == TensorRole::Input)
      if (Status status = placed(spec.name)->upload(inputs.at(spec.name)); !status.ok())
        return status;
  }
  lists = manifest::numberLists(specs, addresses());
  return Status::success();
}

Status TensorRun::placeWorkspace(const manifest::Variables &problem) {
  for (const LoadedKernel &kernel : kernels) {
    Result<uint64_t> bytes = manifest::workspaceBytes(*kernel.manifest, problem);
    if (!bytes.ok())
      return bytes.error();
    workspaceSize = std::max(workspaceSize, *bytes);
  }
  if (workspaceSize == 0)
    return Status::success();
  Result<std::unique_ptr<DeviceTensor>> tensor =
      DeviceTensor::create(device, kWorkspace, {0}, workspaceSize, options.alignment, guard());
  if (!tensor.ok())
    return tensor.error();
  tensors[kWorkspace] = *std::move(tensor);
  return Status::success();
}

manifest::Addresses TensorRun::addresses() const {
  manifest::Addresses result;
  for (const auto &[name, tensor] : tensors)
    result[name] = tensor->address();
  return result;
}

Status TensorRun::reset() {
  for (const TensorSpec &spec : specs)
    if (spec.wanted && spec.role == TensorRole::Output)
      if (Status status = placed(spec.name)->uploadGuards(); !status.ok())
        return status;
  DeviceTensor *workspace = placed(kWorkspace);
  return workspace ? workspace->uploadGuards() : Status::success();
}

Status TensorRun::collectOutputs(const Contents &to, const std::string &where) {
  for (const TensorSpec &spec : specs)
    if (spec.wanted && spec.role == TensorRole::Output)
      if (Status status = collect(*placed(spec.name), nameOf(spec), to.at(spec.name), where);
          !status.ok())
        return status;
  DeviceTensor *workspace = placed(kWorkspace);
  if (!workspace)
    return Status::success();
  std::vector<std::byte> content(workspaceSize);
  return collect(*workspace, noun + " 'workspace'", content, where);
}

Status TensorRun::launchAndCompare(bool keepInspected) {
  auto launchOnce = [&](uint64_t seed, bool isFirst) -> Status {
    Contents to = roomFor(isFirst ? Outcome::First : Outcome::Another);
    if (isFirst)
      first = to;
    if (Status status = reset(); !status.ok())
      return status;
    if (Status status = launch(seed); !status.ok())
      return status;
    if (Status status = collectOutputs(to, launchName(seed)); !status.ok())
      return status;
    bool same = std::equal(first.begin(), first.end(), to.begin(), to.end(),
                           [&](const auto &a, const auto &b) {
                             return a.first == b.first && (!hasSameBits(a.first) || sameBits(a.second, b.second));
                           });
    if (!same && !faulted)
      reportDifference(seed);
    if (!isFirst && !faulted)
      judgeAnother(launchName(seed));
    return Status::success();
  };
  if (Status status = launchAll(launchOnce); !status.ok())
    return status;
  if (Status status = inspectAll(keepInspected && options.inspect); !status.ok())
    return status;
  return checkInputs();
}

Status TensorRun::inspectAll(bool keep) {
  if (keep)
    if (Status status = reset(); !status.ok())
      return status;
  if (Status status = inspect(); !status.ok())
    return status;
  return keep ? collectOutputs(roomFor(Outcome::Inspected), " (in the order of the cycle model)")
              : Status::success();
}

Status TensorRun::checkInputs() {
  for (const TensorSpec &spec : specs) {
    if (!spec.wanted || spec.role != TensorRole::Input)
      continue;
    std::span<const std::byte> uploaded = inputs.at(spec.name);
    std::vector<std::byte> content(uploaded.size());
    if (Status status = collect(*placed(spec.name), nameOf(spec), content, ""); !status.ok())
      return status;
    if (!sameBits(content, uploaded))
      report.failures.push_back("input " + nameOf(spec) + " was overwritten");
  }
  return Status::success();
}

uint64_t TensorRun::outputHash() const {
  std::vector<std::span<const std::byte>> outputs;
  for (const TensorSpec &spec : specs)
    if (spec.role == TensorRole::Output) {
      auto content = first.find(spec.name);
      outputs.push_back(content == first.end() ? std::span<const std::byte>() : content->second);
    }
  return hashBits(outputs);
}
