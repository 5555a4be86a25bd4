// One product on one device, start to end: check, place, launch, judge.
#include "hocket/Gemm/RunGemm.h"

#include "hocket/Verify/Random.h"

#include <memory>

using namespace hocket;
using namespace hocket::gemm;
using verify::bytesOf;
using verify::DeviceTensor;

namespace {
/// The state of one `runGemm`.
class Runner : verify::KernelRun {
public:
  Runner(runtime::Device &device, const GemmProblem &problem, const GemmOptions &options)
      : KernelRun(device, options, report), problem(problem), options(options) {}
  Result<GemmReport> run(std::span<const std::byte> codeObject, const manifest::Manifest &manifest);

private:
  Status place();
  Status launchAndCompare();
  Status launchOnce(uint64_t seed, std::vector<uint16_t> &to);
  Status collectMatrix(MatrixName matrix, std::span<std::byte> to, const std::string &launch);
  Status checkInputs();
  void verify();
  DeviceTensor &matrix(MatrixName name) { return *matrices[static_cast<size_t>(name)]; }

  const GemmProblem &problem;
  const GemmOptions &options;

  GemmInputs inputs;
  std::vector<uint16_t> output; ///< of the first launch
  std::unique_ptr<DeviceTensor> matrices[3];
  GemmReport report;
};
} // namespace

Status Runner::place() {
  say("generating data");
  inputs = generateInputs(problem, options.data, options.seed, options.threads);
  output.resize(static_cast<size_t>(problem.m * problem.n));
  // Checked execution reports what is accessed outside of allocations. So these end with their
  // matrices: reads beyond are found too, even where a mask hides what they return.
  uint64_t guardBehind = options.check ? 0 : verify::guardBytes;
  for (MatrixName name : {MatrixName::A, MatrixName::B, MatrixName::C}) {
    std::vector<uint64_t> rows;
    for (int64_t row = 0; row != problem.rows(name); ++row)
      rows.push_back(2 * static_cast<uint64_t>(row * problem.stride(name)));
    Result<std::unique_ptr<DeviceTensor>> tensor = DeviceTensor::create(
        device, std::string(toString(name)), std::move(rows),
        2 * static_cast<uint64_t>(problem.columns(name)), options.alignment, guardBehind);
    if (!tensor.ok())
      return tensor.error();
    matrices[static_cast<size_t>(name)] = *std::move(tensor);
  }
  if (Status status = matrix(MatrixName::A).upload(bytesOf(inputs.a)); !status.ok())
    return status;
  if (Status status = matrix(MatrixName::B).upload(bytesOf(inputs.b)); !status.ok())
    return status;
  GemmPointers pointers{matrix(MatrixName::A).address(), matrix(MatrixName::B).address(),
                        matrix(MatrixName::C).address()};
  return bind(problemVariables(problem, &pointers));
}

Status Runner::collectMatrix(MatrixName name, std::span<std::byte> to, const std::string &launch) {
  return collect(matrix(name), "matrix '" + std::string(toString(name)) + "'", to, launch);
}

Status Runner::launchOnce(uint64_t seed, std::vector<uint16_t> &to) {
  if (Status status = matrix(MatrixName::C).uploadGuards(); !status.ok())
    return status;
  if (Status status = launch(seed); !status.ok())
    return status;
  to.resize(output.size());
  return collectMatrix(MatrixName::C, bytesOf(to), launchName(seed));
}

Status Runner::launchAndCompare() {
  auto launchAnother = [&](uint64_t seed, bool first) -> Status {
    std::vector<uint16_t> other;
    if (Status status = launchOnce(seed, first ? output : other); !status.ok())
      return status;
    if (!first && !faulted && other != output)
      reportDifference(seed);
    return Status::success();
  };
  if (Status status = launchAll(launchAnother); !status.ok())
    return status;
  if (Status status = inspect(); !status.ok())
    return status;
  return checkInputs();
}

Status Runner::checkInputs() {
  for (auto [name, wanted] :
       {std::pair(MatrixName::A, &inputs.a), std::pair(MatrixName::B, &inputs.b)}) {
    std::vector<uint16_t> content(wanted->size());
    if (Status status = collectMatrix(name, bytesOf(content), ""); !status.ok())
      return status;
    if (content != *wanted)
      report.failures.push_back("input matrix '" + std::string(toString(name)) +
                                "' was overwritten");
  }
  return Status::success();
}

void Runner::verify() {
  int64_t limit = options.maxCheckedRows > 0 ? options.maxCheckedRows : defaultRowLimit(problem);
  std::vector<int64_t> rows;
  if (problem.m <= limit)
    for (int64_t row = 0; row != problem.m; ++row)
      rows.push_back(row);
  else
    rows = verify::addSample({0, problem.m - 1}, problem.m, limit, options.seed);
  GemmReference reference =
      computeReference(problem, inputs, std::move(rows), options.threads, options.progress);
  say("comparing");
  report.errors = compareGemm(problem, options.data, reference, output);
  addVerdict(report.errors.failures);
}

Result<GemmReport> Runner::run(std::span<const std::byte> codeObject,
                               const manifest::Manifest &manifest) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = load(codeObject, manifest, problemVariables(problem)); !status.ok())
    return status.error();
  for (auto step : {&Runner::place, &Runner::launchAndCompare})
    if (Status status = (this->*step)(); !status.ok())
      return status.error();
  report.outputHash = verify::hashBits({bytesOf(output)});
  if (options.verify && !faulted)
    verify();
  finish();
  report.problem = problem;
  report.options = options;
  return std::move(report);
}

Result<GemmReport> gemm::runGemm(runtime::Device &device, std::span<const std::byte> codeObject,
                                 const manifest::Manifest &manifest, const GemmProblem &problem,
                                 const GemmOptions &options) {
  return Runner(device, problem, options).run(codeObject, manifest);
}
