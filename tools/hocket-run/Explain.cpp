// Why the planner plans what it plans, asked of the planner.
#include "Explain.h"

#include "Output.h"

#include "Verify/ReportParts.h"
#include "hocket/Pipelines/TileCount.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
namespace json = llvm::json;

/// The first line of what a compiler says; where in what it was made of follows.
static llvm::StringRef firstLine(llvm::StringRef message) { return message.split('\n').first; }

static void writePlan(json::OStream &out, const LaunchPlan &plan) {
  out.attributeBegin("plan");
  out.rawValue(plan.toJson());
  out.attributeEnd();
}

static void writeCandidate(json::OStream &out, const Candidate &candidate) {
  out.attribute("kernel", candidate.kernel->name);
  out.attribute("priority", candidate.kernel->priority);
  out.attribute("chosen", candidate.chosen);
  out.attribute("supported", candidate.broken.empty());
  out.attribute("pays", candidate.pays);
  out.attributeArray("broken", [&] {
    for (const BrokenRule &rule : candidate.broken)
      out.object([&] {
        out.attribute("field", rule.field);
        out.attribute("text", rule.text);
      });
  });
  out.attribute("reason", candidate.reason());
}

/// Into how many slices the keys are split, by which kernels, and what the heuristic expects of
/// each number.
static void writeSplit(json::OStream &out, const SelectedKernels &selected) {
  out.attribute("splits", selected.split.splits);
  out.attribute("reason", selected.split.reason);
  out.attributeArray("kernels", [&] {
    for (const KernelEntry *kernel : selected.kernels)
      out.value(kernel->name);
  });
  out.attributeArray("estimates", [&] {
    for (const SplitEstimate &estimate : selected.split.estimates)
      out.object([&] {
        out.attribute("splits", estimate.splits);
        out.attribute("slices_us", estimate.slices);
        out.attribute("combine_us", estimate.combine);
      });
  });
}

/// How many tiles `kernel` visits, or why that is not known.
static void writeTiles(json::OStream &out, llvm::raw_ostream &text, const Result<TileCount> &count) {
  if (!count.ok()) {
    text << "tiles    not counted: " << count.error().message << '\n';
    return;
  }
  text << "tiles    of " << count->rows << " queries x " << count->keys << " keys: " << count->visited << " of "
       << count->all << " visited, " << count->cut << " of them cut by masks, " << count->visited - count->cut
       << " whole\n";
  out.attributeObject("tiles", [&] {
    out.attribute("queries", count->rows);
    out.attribute("keys", count->keys);
    out.attribute("all", count->all);
    out.attribute("visited", count->visited);
    out.attribute("cut", count->cut);
    out.attribute("whole", count->visited - count->cut);
  });
}

/// Which kernel is taken in the end: modifications may need more registers than the chosen one has, which compiling tells.
static void writeTaken(json::OStream &out, llvm::raw_ostream &text, const Result<ForwardPlanPointer> &plan) {
  if (!plan.ok()) {
    text << "taken    none: " << plan.error().message << '\n';
    out.attribute("taken", nullptr);
    return;
  }
  const PlannedLaunch &attention = (*plan)->attention();
  for (const auto &[name, reason] : attention.passedOver)
    text << "passed   " << name << ": " << firstLine(reason) << '\n';
  text << "taken    " << attention.kernel << '\n';
  out.attribute("taken", attention.kernel);
  out.attributeArray("passed_over", [&] {
    for (const auto &[name, reason] : attention.passedOver)
      out.object([&] {
        out.attribute("kernel", name);
        out.attribute("reason", reason);
      });
  });
}

/// The chosen kernel, or that which takes its place.
static const KernelEntry &takenKernel(const ForwardExplanation &why) {
  if (why.plan.ok())
    for (const Candidate &candidate : why.choice.candidates)
      if (candidate.kernel->name == (*why.plan)->attention().kernel)
        return *candidate.kernel;
  return *why.choice.kernel;
}

/// Why which kernel was chosen, and the plan, if there is one.
static std::string toJson(const ForwardProblem &problem, const ForwardExplanation &why, llvm::raw_ostream &text,
                          llvm::StringRef arch) {
  return verify::jsonObject([&](json::OStream &out) {
    out.attribute("problem", problem.describe());
    out.attribute("kernel",
                  why.choice.kernel ? json::Value(why.choice.kernel->name) : json::Value(nullptr));
    out.attributeArray("candidates", [&] {
      for (const Candidate &candidate : why.choice.candidates)
        out.object([&] { writeCandidate(out, candidate); });
    });
    if (!why.selected.ok())
      return;
    writeTaken(out, text, why.plan);
    if (why.choice.kernel)
      writeTiles(out, text, countTiles(problem, takenKernel(why), arch));
    out.attributeObject("split", [&] { writeSplit(out, *why.selected); });
    if (why.plan.ok())
      writePlan(out, **why.plan);
  });
}

Result<int> run::explainForward(const Options &options, const ForwardProblem &problem) {
  const std::string device = deviceName(options), jsonFile = jsonPath(options);
  const std::vector<std::string> directories = bundles(options);
  if (Status status = options.refuseUnread(options.name() + " --explain"); !status.ok())
    return status.error();
  Result<runtime::OpenedDevice> opened = openDevice(device);
  if (!opened.ok())
    return opened.error();
  Result<ToolPlanner> planner =
      ToolPlanner::make(directories, {architecture(options), opened->device->properties().computeUnits});
  if (!planner.ok())
    return planner.error();
  showProgress("compiling", 0);
  Result<ForwardExplanation> why = planner->planner().explain(problem);
  clearProgress();
  if (!why.ok())
    return why.error();
  llvm::raw_ostream &out = reportStream(jsonFile);
  out << why->choice.explain(problem);
  std::string json = toJson(problem, *why, out, architecture(options));
  if (why->selected.ok()) {
    out << "keys     " << why->selected->split.reason << '\n';
    if (why->selected->problem.tuning.isSplit())
      out << "kernels  " << why->selected->kernels[0]->name << ", then " << why->selected->kernels[1]->name
          << '\n';
  }
  if (Status status = writeJson(jsonFile, json); !status.ok())
    return status.error();
  return why->plan.ok() ? Result<int>(exitRight) : why->plan.error();
}

/// What is asked for and never chosen (docs/FusedBackward.md).
static std::string whyAtomicsOrNot(const BackwardProblem &problem) {
  if (problem.accumulate != Accumulation::None)
    return "              one loop, dQ added up by atomics: asked for\n";
  return "              no atomics: not asked for; in f32 they are predicted slower than two loops but on small grids, packed "
         "ones round each sum, and with both dQ depends on timing\n";
}

/// Why there is a launch that adds up parts; empty without one (docs/Backward.md).
static std::string whyParts(const BackwardProblem &problem) {
  const int64_t parts = partsOfGroup(problem);
  if (parts == 1)
    return {};
  return "              " + std::to_string(parts) + " workgroups share the queries of each block of keys: " +
         (problem.groupParts != 0 ? "asked for\n" : "there are few blocks\n");
}

Result<int> run::explainBackward(const Options &options, const BackwardProblem &problem) {
  const std::string schedule = scheduleName(options), jsonFile = jsonPath(options);
  if (Status status = options.refuseUnread(options.name() + " --explain"); !status.ok())
    return status.error();
  Result<ToolPlanner> planner = ToolPlanner::make({}, {architecture(options)});
  if (!planner.ok())
    return planner.error();
  showProgress("compiling", 0);
  Result<BackwardPlanPointer> plan = planner->planner().planBackward(problem, schedule);
  clearProgress();
  if (!plan.ok())
    return plan.error();
  llvm::raw_ostream &out = reportStream(jsonFile);
  out << "problem       " << problem.describe() << '\n';
  for (const PlannedLaunch &launch : (*plan)->launches()) {
    out << "chosen        " << launch.kernel << '\n';
    for (const auto &[name, reason] : launch.passedOver)
      out << "  not         " << name << ": " << firstLine(reason) << '\n';
  }
  out << whyParts(problem) << whyAtomicsOrNot(problem);
  std::string json = verify::jsonObject([&](json::OStream &members) {
    members.attribute("problem", problem.describe());
    writePlan(members, **plan);
  });
  Status status = writeJson(jsonFile, json);
  return status.ok() ? Result<int>(exitRight) : status.error();
}
