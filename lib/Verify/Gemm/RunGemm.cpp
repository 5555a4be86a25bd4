// One product on one device, start to end: check, place, launch, judge.
#include "Verify/Gemm/RunGemm.h"

#include "Verify/Random.h"
#include "Verify/TensorRun.h"

using namespace hocket;
using namespace hocket::gemm;

namespace {
/// The state of one `runGemm`.
class Runner : verify::TensorRun {
public:
  Runner(runtime::Device &device, const GemmProblem &problem, const GemmOptions &options)
      : TensorRun(device, options, report, "matrix", problem.tensors()), problem(problem),
        options(options) {}
  Result<GemmReport> run(std::span<const std::byte> codeObject, const manifest::Manifest &manifest);

private:
  Status prepare();
  verify::Contents roomFor(Outcome outcome) override {
    verify::TypedArray &room = outcome == Outcome::First ? output : other;
    room = verify::TypedArray(problem.dtype, static_cast<size_t>(problem.m * problem.n));
    return {{"c", room.bytes()}};
  }
  void verify();

  const GemmProblem &problem;
  const GemmOptions &options;

  GemmInputs inputs;
  verify::TypedArray output, other; ///< of the first launch, and of the last of the others
  GemmReport report;
};
} // namespace

Status Runner::prepare() {
  say("generating data");
  inputs = generateInputs(problem, options.data, options.seed, options.threads);
  if (Status status = place({{"a", inputs.a.bytes()}, {"b", inputs.b.bytes()}}); !status.ok())
    return status;
  manifest::Addresses placed = addresses();
  return bind(problemVariables(problem, &placed));
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
  if (Status status = prepare(); !status.ok())
    return status.error();
  if (Status status = launchAndCompare(); !status.ok())
    return status.error();
  report.outputHash = outputHash();
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
