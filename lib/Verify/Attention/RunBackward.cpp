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
                  RowNumbers::rowByRow(problem.forward, problem.tensors())),
        problem(problem), options(options), numbers(problem.forward) {}
  Result<BackwardReport> run(std::span<const PlannedLaunch> launches);

private:
  Status makeRules(std::shared_ptr<const ScoreRules> &rules);
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
  BackwardReport report;
};
} // namespace

verify::Contents BackwardRunner::roomFor(Outcome outcome) {
  BackwardOutputs &room = outputs[static_cast<size_t>(outcome)];
  room.dq.resize(static_cast<size_t>(numbers.queries() * problem.forward.headDim));
  room.dk.resize(static_cast<size_t>(numbers.keys() * problem.forward.headDim));
  room.dv.resize(static_cast<size_t>(numbers.keys() * problem.forward.headDimV));
  verify::Contents contents = {{"dq", bytesOf(room.dq)}, {"dk", bytesOf(room.dk)}, {"dv", bytesOf(room.dv)}};
  for (const std::string &name : problem.otherGradients) {
    std::vector<std::byte> &values = room.others[name];
    manifest::TensorSpec gradient = problem.tensor("d_" + name);
    values.resize(static_cast<size_t>(gradient.elements() * hocket::bytesOf(gradient.type)));
    contents["d_" + name] = values;
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
Status BackwardRunner::makeRules(std::shared_ptr<const ScoreRules> &rules) {
  if (problem.forward.modifications.empty() || !options.verify)
    return Status::success();
  if (!options.scoreRules)
    return unsupported("the problem '" + problem.describe() +
                       "' has modifications, which nothing here interprets; run it without verifying");
  ForwardInputs captured = generateInputs(problem.forward, options.data, options.seed, options.threads);
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
  if (Status status = makeRules(rules); !status.ok())
    return status;
  std::vector<int64_t> groups;
  if (options.verify)
    groups = chooseGroups(problem, options.maxCheckedRows, options.seed);
  inputs = generateInputs(problem, options.data, options.seed, std::move(groups), reference,
                          options.threads, options.progress, rules.get());
  say("uploading");
  verify::Contents contents = {{"q", bytesOf(inputs.forward.q)}, {"k", bytesOf(inputs.forward.k)},
                               {"v", bytesOf(inputs.forward.v)}, {"o", bytesOf(inputs.o)},
                               {"do", bytesOf(inputs.dO)},       {"lse", bytesOf(inputs.lse)}};
  for (auto &[name, bytes] : inputs.forward.capturedBytes)
    contents[name] = bytes;
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
  out.attribute("dtype", StringRef(toString(forward.dtype)));
  out.attribute("batch", forward.batch);
  out.attribute("heads", forward.heads);
  out.attribute("kv_heads", forward.kvHeads);
  out.attribute("seq_q", forward.seqQ);
  out.attribute("seq_kv", forward.seqKv);
  out.attribute("head_dim", forward.headDim);
  out.attribute("head_dim_v", forward.headDimV);
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
