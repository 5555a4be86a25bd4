// One problem on one device, start to end: check, place, launch, judge.
//
// What cannot be done is refused before data is generated; what the kernel did wrong is collected
// in the report, so that one run tells everything there is to tell.
#include "Verify/Attention/RunForward.h"

#include "Verify/Attention/AppendedKeys.h"
#include "Verify/Attention/BlockTable.h"
#include "Verify/Attention/RowNumbers.h"
#include "Verify/TensorRun.h"
#include "hocket/Attention/ForwardPlan.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

using namespace hocket;
using namespace hocket::attention;
using verify::bytesOf;

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The state of one `runForward`.
class ForwardRunner : verify::TensorRun {
public:
  ForwardRunner(runtime::Device &device, const ForwardProblem &problem, const ForwardOptions &options)
      : TensorRun(device, options, report, "tensor", tensorsOf(problem)), problem(problem),
        options(options), numbers(problem) {}
  Result<ForwardReport> run(std::span<const PlannedLaunch> launches);

private:
  static std::vector<manifest::TensorSpec> tensorsOf(const ForwardProblem &problem);
  Status prepare();
  verify::Contents roomFor(Outcome outcome) override;
  std::vector<uint64_t> rowOffsets(const manifest::TensorSpec &spec) const override {
    return numbers.offsets(spec);
  }
  verify::RowPieces rowPieces(const manifest::TensorSpec &spec) const override { return numbers.pieces(spec); }
  Status makeRules();
  Status save();
  void verifyLists();
  void verifyWork();
  void verify();

  const ForwardProblem &problem;
  const ForwardOptions &options;
  const RowNumbers numbers;

  ForwardInputs inputs;
  BeforeAppend before; ///< of the launch; empty where nothing is appended
  verify::TypedArray rotated[3]; ///< "q_rotated", by outcome
  std::vector<int32_t> workLists[3];  ///< where they are made, by outcome
  std::map<std::string, std::vector<std::byte>> lists[3]; ///< of blocks, where they are made, by outcome
  std::shared_ptr<const ScoreRules> rules; ///< null: nothing is modified
  ForwardOutputs outputs[3]; ///< by outcome; of what `inspect` left only if it is verified
  ForwardReport report;
};
} // namespace

/// What one launch leaves for another is compared like a result.
std::vector<manifest::TensorSpec> ForwardRunner::tensorsOf(const ForwardProblem &problem) {
  std::vector<manifest::TensorSpec> specs = problem.tensors();
  for (manifest::TensorSpec &spec : problem.temporaries())
    specs.push_back(std::move(spec));
  return RowNumbers::rowByRow(problem, std::move(specs));
}

verify::Contents ForwardRunner::roomFor(Outcome outcome) {
  ForwardOutputs &room = outputs[static_cast<size_t>(outcome)];
  room.o = verify::TypedArray(problem.tensor("o").type, static_cast<size_t>(numbers.queries() * problem.valueHeadDim()));
  if (problem.wantLse)
    room.lse.resize(static_cast<size_t>(numbers.queries()));
  verify::Contents contents = {{"o", room.o.bytes()}, {"lse", bytesOf(room.lse)}};
  for (const manifest::TensorSpec &spec : problem.tensors())
    if (problem.makesBlocks && isBlockList(spec.name) && spec.wanted) {
      std::vector<std::byte> &list = lists[static_cast<size_t>(outcome)][spec.name];
      list.resize(spec.spanBytes());
      contents[spec.name] = list;
    }
  if (problem.work.list == WorkLists::Made) {
    std::vector<int32_t> &list = workLists[static_cast<size_t>(outcome)];
    list.resize(problem.temporaries().back().elements());
    contents["work_list"] = bytesOf(list);
  }
  if (problem.update.turns()) {
    verify::TypedArray &turned = rotated[static_cast<size_t>(outcome)];
    turned = verify::TypedArray(inputs.q.type(), inputs.q.size());
    contents["q_rotated"] = turned.bytes();
  }
  return contents;
}

Status ForwardRunner::makeRules() {
  if (problem.modifications.empty() || !options.verify)
    return Status::success();
  if (!options.scoreRules)
    return unsupported("the problem '" + problem.describe() +
                       "' has modifications, which nothing here interprets; run it without verifying");
  Result<std::shared_ptr<const ScoreRules>> made = options.scoreRules(problem, inputs.captured);
  if (!made.ok())
    return made.error();
  rules = *made;
  return Status::success();
}

Status ForwardRunner::prepare() {
  if (Status status = placeWorkspace(problemVariables(problem)); !status.ok())
    return status;
  report.workspaceBytes = workspaceBytes();
  say("generating data");
  inputs = generateInputs(problem, options.data, options.seed, options.threads);
  if (problem.makesBlocks && !options.blockLists)
    return unsupported("the kernel makes lists of blocks of the masks; say which are right ('blockLists')");
  if (Status status = takeBlockLists(problem, options.blockLists, inputs); !status.ok())
    return status;
  if (Status status = makeRules(); !status.ok())
    return status;
  Clock::time_point start = Clock::now();
  say("uploading");
  if (problem.update.appends)
    before = takeAppended(problem, numbers, inputs);
  auto given = [](verify::TypedArray &earlier, verify::TypedArray &read) {
    return earlier.empty() ? read.bytes() : earlier.bytes();
  };
  verify::Contents contents = {
      {"q", given(before.q, inputs.q)}, {"k", given(before.k, inputs.k)}, {"v", given(before.v, inputs.v)}};
  for (auto &[name, bytes] : inputs.capturedBytes)
    contents[name] = bytes;
  if (Status status = place(std::move(contents)); !status.ok())
    return status;
  if (problem.update.appends)
    finishAppended(problem, numbers, inputs, before);
  report.uploadSeconds = secondsSince(start);
  manifest::Addresses placed = addresses();
  return bind(problemVariables(problem, &placed));
}

/// Lists that were made have the entries of those that the masks ask for; what no count reaches may be anything.
void ForwardRunner::verifyLists() {
  auto numbersOf = [&](const std::string &name) {
    std::span<const std::byte> bytes = lists[static_cast<size_t>(Outcome::First)].at(name);
    return std::span(reinterpret_cast<const int32_t *>(bytes.data()), bytes.size() / sizeof(int32_t));
  };
  for (std::string prefix : {"", "full_"}) {
    if (!lists[0].contains(prefix + "kv_num_blocks"))
      continue;
    std::span<const int32_t> counts = numbersOf(prefix + "kv_num_blocks"), indices = numbersOf(prefix + "kv_indices");
    const std::vector<double> &wantedCounts = inputs.captured.at(prefix + "kv_num_blocks");
    const std::vector<double> &wanted = inputs.captured.at(prefix + "kv_indices");
    size_t columns = indices.size() / counts.size();
    bool same = std::equal(counts.begin(), counts.end(), wantedCounts.begin(), wantedCounts.end());
    for (size_t row = 0; same && row != counts.size(); ++row)
      same = std::equal(indices.begin() + row * columns, indices.begin() + row * columns + counts[row],
                        wanted.begin() + row * columns);
    if (!same)
      report.failures.push_back("the lists '" + prefix + "kv_indices' are not those of the blocks that the masks show");
  }
}

/// The list that was made is one for the problem, and the host's.
void ForwardRunner::verifyWork() {
  const std::vector<int32_t> &made = workLists[static_cast<size_t>(Outcome::First)];
  if (Status status = validateWorkList(problem, made); !status.ok())
    return report.failures.push_back("the list of work that was made is wrong: " + status.error().message);
  std::vector<int32_t> wanted = makeWorkList(problem);
  int64_t count = (int64_t(wanted[kWorkCount]) + 1) * kWorkFields;
  bool same = made[kWorkCount] == wanted[kWorkCount] && made[kWorkSliceCount] == wanted[kWorkSliceCount] &&
              std::equal(wanted.begin() + kWorkFields, wanted.begin() + count, made.begin() + kWorkFields);
  if (!same)
    report.failures.push_back("the list of work that was made is not in the order in which the host makes it");
}

/// Q as it was given, beside what it was turned into.
Status ForwardRunner::save() {
  const ForwardOutputs &first = outputs[static_cast<size_t>(Outcome::First)];
  if (!problem.update.turns())
    return options.save(inputs, first);
  ForwardInputs given = inputs;
  std::span<const std::byte> turned = std::as_const(inputs.q).bytes();
  given.capturedBytes["q_rotated"].assign(turned.begin(), turned.end());
  given.q = before.q;
  return options.save(given, first);
}

void ForwardRunner::verify() {
  Clock::time_point start = Clock::now();
  int64_t limit = options.maxCheckedRows > 0 ? options.maxCheckedRows : defaultRowLimit(problem);
  ForwardReference reference = computeReference(
      problem, inputs, chooseRows(problem, limit, options.seed), options.threads, options.progress,
      rules.get());
  report.referenceSeconds = secondsSince(start);
  start = Clock::now();
  say("comparing");
  auto compare = [&](Outcome outcome) {
    return compareForward(problem, inputs, reference, outputs[static_cast<size_t>(outcome)]);
  };
  report.errors = compare(Outcome::First);
  if (options.inspect && options.verifyInspected)
    report.inspectedErrors = compare(Outcome::Inspected);
  report.compareSeconds = secondsSince(start);
  addVerdict(report.errors.failures);
  if (problem.makesBlocks)
    verifyLists();
  if (problem.work.list == WorkLists::Made)
    verifyWork();
  if (problem.update.turns() && rotated[static_cast<size_t>(Outcome::First)] != inputs.q)
    report.failures.push_back("queries are not turned as their positions say");
  if (report.inspectedErrors)
    for (const std::string &failure : report.inspectedErrors->failures)
      report.failures.push_back("in the order of the cycle model: " + failure);
}

/// The host holds the inputs, the outputs and copies of one tensor at a time while it fills memory:
/// a problem that cannot fit is refused before anything is allocated.
static Status checkHostMemory(const ForwardProblem &problem, const RowNumbers &numbers) {
  auto elementsOf = [&](const manifest::TensorSpec &tensor) {
    if (tensor.name == "q" || tensor.name == "o")
      return double(numbers.queries()) * double(tensor.rowElements);
    if (tensor.name == "k" || tensor.name == "v")
      return double(numbers.keys()) * double(tensor.rowElements);
    return tensor.name == "lse" ? double(numbers.queries()) : double(tensor.elements());
  };
  double elements = 0;
  for (const manifest::TensorSpec &tensor : problem.tensors())
    elements += tensor.wanted ? elementsOf(tensor) : 0;
  constexpr double bytesPerElement = 6, gib = double(1 << 30);
  double needed = elements * bytesPerElement;
  double available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (needed <= 0.8 * available)
    return Status::success();
  return hostError("the problem needs some " + std::to_string(static_cast<int64_t>(needed / gib)) +
                   " GiB of host memory for its tensors, this machine has " +
                   std::to_string(static_cast<int64_t>(available / gib)) +
                   " GiB; use a smaller batch, fewer heads or shorter sequences");
}

Result<ForwardReport> ForwardRunner::run(std::span<const PlannedLaunch> launches) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = checkKnown(problem); !status.ok())
    return status.error();
  if (Status status = checkHostMemory(problem, numbers); !status.ok())
    return status.error();
  for (const PlannedLaunch &launch : launches)
    if (Status status = load(std::as_bytes(std::span(launch.compiled->codeObject)),
                             launch.compiled->manifest, problemVariables(problem), launch.instead);
        !status.ok())
      return status.error();
  if (Status status = attention::checkInputs(launches, problem); !status.ok())
    return status.error();
  if (Status status = prepare(); !status.ok())
    return status.error();
  if (Status status = launchAndCompare(options.verifyInspected); !status.ok())
    return status.error();
  report.outputHash = outputHash();
  if (options.save && !faulted)
    if (Status status = save(); !status.ok())
      return status.error();
  if (options.verify && !faulted)
    verify();
  finish();
  report.problem = problem;
  report.options = options;
  return std::move(report);
}

Result<ForwardReport> attention::runForward(runtime::Device &device,
                                            std::span<const PlannedLaunch> launches,
                                            const ForwardProblem &problem,
                                            const ForwardOptions &options) {
  if (launches.empty())
    return invalidInput("a run needs a kernel at least");
  return ForwardRunner(device, problem, options).run(launches);
}

Result<ForwardReport> attention::runForward(runtime::Device &device,
                                            std::span<const std::byte> codeObject,
                                            const manifest::Manifest &manifest,
                                            const ForwardProblem &problem,
                                            const ForwardOptions &options) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->codeObject.assign(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  kernel->manifest = manifest;
  const PlannedLaunch launch{manifest.kernel, std::move(kernel)};
  return runForward(device, std::span(&launch, 1), problem, options);
}
