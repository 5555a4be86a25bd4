// One backward on one device, start to end, and its report.
#include "Verify/Attention/RunBackward.h"

#include "Verify/Attention/RowNumbers.h"
#include "Verify/ReportParts.h"
#include "Verify/TensorRun.h"

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
using verify::bytesOf;
using verify::decimal;
using verify::finiteValue;
using verify::line;
namespace json = llvm::json;

namespace {
class BackwardRunner : verify::TensorRun {
public:
  BackwardRunner(runtime::Device &device, const BackwardProblem &problem, const BackwardOptions &options)
      : TensorRun(device, options, report, "tensor",
                  RowNumbers::rowByRow(problem.forward, tensorsOf(problem))),
        problem(problem), options(options), numbers(problem.forward) {}
  Result<BackwardReport> run(std::span<const PlannedLaunch> launches);

private:
  static std::vector<manifest::TensorSpec> tensorsOf(const BackwardProblem &problem);
  Status makeRules(const ForwardInputs &captured, std::shared_ptr<const ScoreRules> &rules);
  void verifyLists();
  Status prepare();
  verify::Contents roomFor(Outcome outcome) override;
  /// What is added up by atomics is judged anew.
  bool hasSameBits(const std::string &name) const override {
    return problem.accumulate == Accumulation::None || name != "dq";
  }
  void judgeAnother(const std::string &where) override;
  std::vector<uint64_t> rowOffsets(const manifest::TensorSpec &spec) const override {
    return numbers.offsets(spec);
  }

  const BackwardProblem &problem;
  const BackwardOptions &options;
  const RowNumbers numbers;
  BackwardInputs inputs;
  BackwardReference reference;
  BackwardOutputs outputs[3]; ///< by outcome
  BlockLists transposed;      ///< the host's
  std::map<std::string, std::vector<int32_t>, std::less<>> madeLists[3]; ///< by outcome, where a launch transposes
  BackwardReport report;
};
} // namespace

/// What one launch leaves for another is compared like a result.
std::vector<manifest::TensorSpec> BackwardRunner::tensorsOf(const BackwardProblem &problem) {
  std::vector<manifest::TensorSpec> specs = problem.tensors();
  for (manifest::TensorSpec &spec : problem.temporaries())
    specs.push_back(std::move(spec));
  return specs;
}

/// Of lists that were made all that counts reach; the rest may be anything.
void BackwardRunner::verifyLists() {
  const auto &made = madeLists[static_cast<size_t>(Outcome::First)];
  auto compare = [&](const std::string &prefix, const std::vector<int32_t> &counts,
                     const std::vector<int32_t> &indices) {
    if (!made.contains(prefix + "q_indices"))
      return;
    const std::vector<int32_t> &found = made.at(prefix + "q_indices");
    bool same = made.at(prefix + "q_num_blocks") == counts;
    auto columns = static_cast<size_t>(transposed.columns);
    for (size_t row = 0; same && row != counts.size(); ++row)
      same = std::equal(indices.begin() + row * columns, indices.begin() + row * columns + counts[row],
                        found.begin() + row * columns);
    if (!same)
      report.failures.push_back("the lists '" + prefix + "q_indices' are not the forward's, transposed");
  };
  compare("", transposed.counts, transposed.indices);
  compare("full_", transposed.fullCounts, transposed.fullIndices);
}

verify::Contents BackwardRunner::roomFor(Outcome outcome) {
  BackwardOutputs &room = outputs[static_cast<size_t>(outcome)];
  verify::Contents contents;
  auto add = [&](const char *name, int64_t rows, verify::TypedArray &to) {
    manifest::TensorSpec spec = problem.tensor(name);
    to = verify::TypedArray(spec.type, static_cast<size_t>(rows * spec.rowElements));
    contents[name] = to.bytes();
  };
  add("dq", numbers.queries(), room.dq);
  add("dk", numbers.keys(), room.dk);
  add("dv", numbers.keys(), room.dv);
  for (const manifest::TensorSpec &spec : problem.temporaries())
    if (spec.wanted) {
      std::vector<int32_t> &list = madeLists[static_cast<size_t>(outcome)][spec.name];
      list.resize(static_cast<size_t>(spec.elements()));
      contents[spec.name] = bytesOf(list);
    }
  for (const std::string &name : problem.otherGradients) {
    manifest::TensorSpec gradient = problem.tensor("d_" + name);
    verify::TypedArray &values = room.others[name];
    values = verify::TypedArray(gradient.type, static_cast<size_t>(gradient.elements()));
    contents["d_" + name] = values.bytes();
  }
  return contents;
}

void BackwardRunner::judgeAnother(const std::string &where) {
  if (problem.accumulate == Accumulation::None || !options.verify)
    return;
  const BackwardOutputs &computed = outputs[static_cast<size_t>(Outcome::Another)];
  for (const std::string &failure : compareBackward(problem, options.data, reference, computed).failures)
    report.failures.push_back(failure + where);
}

/// What the modifications do, which the forward's O and LSE depend on, too.
Status BackwardRunner::makeRules(const ForwardInputs &captured, std::shared_ptr<const ScoreRules> &rules) {
  if (problem.forward.modifications.empty() || !options.verify)
    return Status::success();
  if (!options.scoreRules)
    return unsupported("the problem '" + problem.describe() +
                       "' has modifications, which nothing here interprets; run it without verifying");
  auto made = options.scoreRules(problem.forward, captured.captured);
  if (!made.ok())
    return made.error();
  rules = *made;
  return Status::success();
}

Status BackwardRunner::prepare() {
  if (Status status = placeWorkspace(problemVariables(problem)); !status.ok())
    return status;
  report.workspaceBytes = workspaceBytes();
  say("generating data");
  std::shared_ptr<const ScoreRules> rules;
  if (problem.forward.blocks.any() || !problem.forward.modifications.empty()) {
    ForwardInputs captured = generateInputs(problem.forward, options.data, options.seed, options.threads);
    if (Status status = takeBlockLists(problem.forward, options.blockLists, captured); !status.ok())
      return status;
    if (Status status = makeRules(captured, rules); !status.ok())
      return status;
  }
  std::vector<int64_t> groups;
  if (options.verify)
    groups = chooseGroups(problem, options.maxCheckedRows, options.seed);
  inputs = generateInputs(problem, options.data, options.seed, std::move(groups), reference,
                          options.threads, options.progress, rules.get(), options.blockLists);
  say("uploading");
  verify::Contents contents = {{"q", inputs.forward.q.bytes()}, {"k", inputs.forward.k.bytes()},
                               {"v", inputs.forward.v.bytes()}, {"o", inputs.o.bytes()},
                               {"do", inputs.dO.bytes()},       {"lse", bytesOf(inputs.lse)}};
  if (problem.lseGradient)
    contents["dlse"] = bytesOf(inputs.dLse);
  for (auto &[name, bytes] : inputs.forward.capturedBytes)
    contents[name] = bytes;
  if (problem.forward.blocks.any())
    transposed = transpose(listsOf(problem.forward, inputs.forward));
  if (problem.transposedLists)
    for (auto [name, numbers] : {std::pair("q_num_blocks", &transposed.counts),
                                 {"q_indices", &transposed.indices},
                                 {"full_q_num_blocks", &transposed.fullCounts},
                                 {"full_q_indices", &transposed.fullIndices}})
      contents[name] = bytesOf(*numbers);
  if (Status status = place(std::move(contents)); !status.ok())
    return status;
  manifest::Addresses placed = addresses();
  return bind(problemVariables(problem, &placed));
}

Result<BackwardReport> BackwardRunner::run(std::span<const PlannedLaunch> launches) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = checkKnown(problem.forward); !status.ok())
    return status.error();
  for (const PlannedLaunch &launch : launches)
    if (Status status = load(std::as_bytes(std::span(launch.compiled->codeObject)),
                             launch.compiled->manifest, problemVariables(problem));
        !status.ok())
      return status.error();
  if (Status status = prepare(); !status.ok())
    return status.error();
  if (Status status = launchAndCompare(); !status.ok())
    return status.error();
  report.outputHash = outputHash();
  const BackwardOutputs &computed = outputs[static_cast<size_t>(Outcome::First)];
  if (options.save && !faulted)
    if (Status status = options.save(inputs, computed); !status.ok())
      return status.error();
  if (options.verify && !faulted) {
    say("comparing");
    report.errors = compareBackward(problem, options.data, reference, computed);
    addVerdict(report.errors.failures);
    verifyLists();
  }
  finish();
  report.problem = problem;
  report.options = options;
  return std::move(report);
}

Result<BackwardReport> attention::runBackward(runtime::Device &device,
                                              std::span<const PlannedLaunch> launches,
                                              const BackwardProblem &problem,
                                              const BackwardOptions &options) {
  if (launches.empty())
    return invalidInput("a run needs a kernel at least");
  return BackwardRunner(device, problem, options).run(launches);
}

// The report

static void writeProblem(json::OStream &out, const BackwardProblem &problem) {
  const ForwardProblem &forward = problem.forward;
  out.attribute("dtype", optionName(forward.dtype));
  out.attribute("batch", forward.batch);
  out.attribute("heads", forward.heads);
  out.attribute("kv_heads", forward.kvHeads);
  out.attribute("seq_q", forward.seqQ);
  out.attribute("seq_kv", forward.seqKv);
  out.attribute("head_dim", forward.headDim);
  out.attribute("head_dim_v", forward.valueHeadDim());
  out.attribute("mask", StringRef(forward.visibility.name()));
  out.attribute("scale", finiteValue(forward.effectiveScale()));
  out.attribute("layout", StringRef(toString(forward.layout)));
}

static void writeKernels(json::OStream &out, const BackwardReport &report) {
  out.attribute("workspace_bytes", report.workspaceBytes);
  out.attributeArray("kernels", [&] {
    for (const verify::KernelSummary &kernel : report.kernels)
      out.object([&] { verify::writeKernel(out, kernel); });
  });
}

static void writeErrors(json::OStream &out, const BackwardReport &report) {
  const BackwardErrors &errors = report.errors;
  out.attribute("groups_total", errors.groupsTotal);
  out.attribute("groups_checked", errors.groupsChecked);
  out.attribute("tolerance", errors.tolerance);
  for (const GradientErrors &gradient : errors.gradients)
    out.attributeObject(gradient.name, [&] {
      out.attribute("tensor_relative", finiteValue(gradient.tensorRelative));
      out.attribute("worst_row_ratio", finiteValue(gradient.worstRowRatio));
      out.attribute("worst_row", gradient.worstRow);
      out.attribute("nan_elements", gradient.nanElements);
      out.attribute("unwritten_elements", gradient.unwrittenElements);
    });
}

static void writeErrorLines(llvm::raw_ostream &out, const BackwardReport &report) {
  const BackwardErrors &errors = report.errors;
  std::string groups =
      std::to_string(errors.groupsChecked) + " of " + std::to_string(errors.groupsTotal);
  line(out, "heads checked",
       errors.groupsChecked == errors.groupsTotal ? groups : groups + " (a seeded sample)");
  for (const GradientErrors &gradient : errors.gradients) {
    std::string label = gradient.name + (gradient.name.size() < 8 ? " error" : " ");
    if (!gradient.isChecked) {
      line(out, label, "not checked: not all heads are");
      continue;
    }
    std::string allowed = " (at most " + decimal("%.1e", gradient.tolerance) + ")";
    line(out, label,
         decimal("%.3e", gradient.tensorRelative) + " relative L2" + (gradient.isJudged ? allowed : " (not judged)") +
             ", worst row " + decimal("%.2f", gradient.worstRowRatio) + " of what is allowed");
  }
}

static verify::ReportBody bodyOf(const BackwardReport &report) {
  return {report.problem.describe(),
          toString(report.options.data),
          report.options,
          [&](json::OStream &out) { writeProblem(out, report.problem); },
          [&](json::OStream &out) { writeKernels(out, report); },
          [&](json::OStream &out) {
            if (report.verified)
              out.attributeObject("errors", [&] { writeErrors(out, report); });
          },
          [&](llvm::raw_ostream &out) { writeErrorLines(out, report); }};
}

std::string attention::toJson(const BackwardReport &report, const verify::JsonMembers &more) {
  return verify::reportJson(report, bodyOf(report), more);
}

std::string attention::toText(const BackwardReport &report) {
  return verify::reportText(report, bodyOf(report));
}
