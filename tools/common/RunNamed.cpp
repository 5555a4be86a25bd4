// One launch of a kernel of the user's own, start to end: bind, place, launch, judge.
#include "RunNamed.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace hocket;
using namespace hocket::run;
using verify::DeviceTensor;

namespace {
class NamedRun : verify::KernelRun {
public:
  NamedRun(runtime::Device &device, const manifest::Manifest &manifest,
           const std::vector<KernelTensor> &tensors, const manifest::Variables &scalars,
           const verify::RunOptions &options)
      : KernelRun(device, options, report), manifest(manifest), tensors(tensors) {
    arguments.scalars = scalars;
    for (const KernelTensor &tensor : tensors)
      arguments.tensors.push_back(
          {tensor.name, 0, tensor.initial.dtype, tensor.initial.shape, tensor.strides});
  }
  Result<NamedReport> run(std::span<const std::byte> codeObject);

private:
  Result<std::unique_ptr<DeviceTensor>> allocate(const std::string &name, TensorRows rows);
  Status place(uint64_t workspaceBytes);
  Status upload();
  Status launchOnce(uint64_t seed, bool first);
  Status collectAll(uint64_t seed, std::vector<Array> &to);
  void judge();
  void compareWithExpected(size_t index);

  const manifest::Manifest &manifest;
  const std::vector<KernelTensor> &tensors;
  manifest::NamedArguments arguments;
  std::vector<std::unique_ptr<DeviceTensor>> placed;
  std::unique_ptr<DeviceTensor> workspace;
  NamedReport report;
};
} // namespace

/// Under checked execution nothing stands around the rows, so that reads beyond are found too.
Result<std::unique_ptr<DeviceTensor>> NamedRun::allocate(const std::string &name, TensorRows rows) {
  return DeviceTensor::create(device, name, std::move(rows.offsets), rows.rowBytes,
                              options.alignment, options.check ? 0 : verify::guardBytes);
}

Status NamedRun::place(uint64_t workspaceBytes) {
  for (size_t i = 0; i != tensors.size(); ++i) {
    Result<std::unique_ptr<DeviceTensor>> tensor =
        allocate(tensors[i].name, rowsOf(tensors[i]));
    if (!tensor.ok())
      return tensor.error();
    arguments.tensors[i].address = (*tensor)->address();
    placed.push_back(*std::move(tensor));
  }
  if (workspaceBytes != 0) {
    Result<std::unique_ptr<DeviceTensor>> made = allocate("workspace", {{0}, workspaceBytes});
    if (!made.ok())
      return made.error();
    workspace = *std::move(made);
    arguments.scalars["workspace"] =
        manifest::Value::integer(static_cast<int64_t>(workspace->address()));
  }
  Result<manifest::Variables> variables = manifest::deriveVariables(manifest, arguments);
  return variables.ok() ? bind(*variables) : variables.error();
}

Status NamedRun::upload() {
  for (size_t i = 0; i != tensors.size(); ++i) {
    std::vector<std::byte> content = tensors[i].initial.data;
    if (Status status = placed[i]->upload(content); !status.ok())
      return status;
  }
  return workspace ? workspace->uploadGuards() : Status::success();
}

Status NamedRun::collectAll(uint64_t seed, std::vector<Array> &to) {
  for (size_t i = 0; i != tensors.size(); ++i) {
    const Array &initial = tensors[i].initial;
    Array &array = to.emplace_back(
        Array{initial.dtype, initial.shape, std::vector<std::byte>(initial.data.size())});
    if (Status status =
            collect(*placed[i], "tensor '" + tensors[i].name + "'", array.data, launchName(seed));
        !status.ok())
      return status;
  }
  return Status::success();
}

Status NamedRun::launchOnce(uint64_t seed, bool first) {
  if (Status status = upload(); !status.ok())
    return status;
  if (Status status = launch(seed); !status.ok())
    return status;
  std::vector<Array> results;
  if (Status status = collectAll(seed, results); !status.ok())
    return status;
  if (first)
    report.results = std::move(results);
  else if (!faulted && !std::equal(results.begin(), results.end(), report.results.begin(),
                                   [](const Array &a, const Array &b) { return a.data == b.data; }))
    reportDifference(seed);
  return Status::success();
}

void NamedRun::compareWithExpected(size_t index) {
  const KernelTensor &tensor = tensors[index];
  Comparison found = compare(report.results[index], tensor.expected, tensor.tolerance);
  report.verdicts.push_back({index, found});
  report.verified = true;
  if (found.wrong == 0)
    return;
  report.failures.push_back(
      llvm::formatv("tensor '{0}': {1} of {2} elements differ from '{3}' by more than {4} + {5} * "
                    "|expected|; the worst at {6} is {7}, expected {8}",
                    tensor.name, found.wrong, found.elements, tensor.expectedFile,
                    showNumber(tensor.tolerance.absolute), showNumber(tensor.tolerance.relative),
                    position(tensor.initial, found.worst), showNumber(found.found),
                    showNumber(found.wanted))
          .str());
}

void NamedRun::judge() {
  for (size_t i = 0; i != tensors.size(); ++i) {
    if (!tensors[i].expectedFile.empty())
      compareWithExpected(i);
    if (!tensors[i].mayChange() && report.results[i].data != tensors[i].initial.data)
      report.failures.push_back("tensor '" + tensors[i].name +
                                "' was overwritten; if it is meant to be, add '--save' or "
                                "'--expect' for it");
  }
}

Result<NamedReport> NamedRun::run(std::span<const std::byte> codeObject) {
  // Without addresses first: what does not fit is to be said before memory is allocated.
  Result<manifest::Variables> variables = manifest::deriveVariables(manifest, arguments);
  if (!variables.ok())
    return variables.error();
  if (Status status = load(codeObject, manifest, *variables); !status.ok())
    return status.error();
  Result<uint64_t> bytes = manifest::workspaceBytes(manifest, *variables);
  if (!bytes.ok())
    return bytes.error();
  if (Status status = place(*bytes); !status.ok())
    return status.error();
  auto launchAnother = [&](uint64_t seed, bool first) { return launchOnce(seed, first); };
  if (options.launches) {
    if (Status status = launchAll(launchAnother); !status.ok())
      return status.error();
    if (!faulted)
      judge();
  }
  // What is timed starts from the same values as the launches.
  if (options.inspect)
    if (Status status = upload(); !status.ok())
      return status.error();
  if (Status status = inspect(); !status.ok())
    return status.error();
  finish();
  return std::move(report);
}

Result<NamedReport> run::runNamed(runtime::Device &device, std::span<const std::byte> codeObject,
                                  const manifest::Manifest &manifest,
                                  const std::vector<KernelTensor> &tensors,
                                  const manifest::Variables &scalars,
                                  const verify::RunOptions &options) {
  return NamedRun(device, manifest, tensors, scalars, options).run(codeObject);
}
