// Choosing a kernel, and saying why.
#include "hocket/Attention/Kernels.h"

#include "ExpectedTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <limits>

using namespace hocket;
using namespace hocket::attention;

/// Kernels that are expected to take so much of the least time are as good as the fastest.
static constexpr double kAsGoodAsFastest = 1.01;
/// A kernel is robust that takes no more than so many times the least time under any variation of the model's doubtful
/// parameters; and what may be paid for that without one.
static constexpr double kMostRegret = 1.08, kPriceOfRobust = 1.04;

static std::string inMicroseconds(double microseconds) { return llvm::formatv("{0:F1} us", microseconds); }

std::string Candidate::reason() const {
  if (!broken.empty()) {
    std::string text = "does not take it: ";
    for (const BrokenRule &rule : broken)
      text += (&rule == &broken.front() ? "" : "; ") + rule.text;
    return text;
  }
  std::string condition = kernel->pays.text();
  if (byTime && microseconds) {
    std::string most = llvm::formatv("{0:F0} % more than the fastest", 100 * (regret - 1));
    return (chosen ? "chosen: expected to take " : "takes it, and is expected to take ") +
           inMicroseconds(*microseconds) + "; under any variation of the model at most " + most;
  }
  if (byTime)
    return "takes it, but what it costs is not known for such heads, or so large a grid";
  if (chosen)
    return pays ? "chosen: of those that pay it has the highest priority, " +
                      std::to_string(kernel->priority) + " (pays when " + condition + ")"
                : "chosen: none pays, and of those that take it this has the lowest priority";
  if (!pays)
    return "takes it, but does not pay: " + condition + " does not hold";
  return "takes it and pays, but one of higher priority does too";
}

/// What `candidates` are expected to take, and their regret.
static void foresee(std::vector<Candidate> &candidates, const ForwardProblem &problem, const Machine &machine) {
  std::vector<std::optional<ExpectedTime>> times(candidates.size());
  std::vector<double> least(sim::timeVariations().size(), std::numeric_limits<double>::infinity());
  for (auto [candidate, time] : llvm::zip_equal(candidates, times)) {
    if (candidate.broken.empty())
      time = expectedTime(problem, *candidate.kernel, machine);
    if (!time)
      continue;
    candidate.microseconds = time->microseconds;
    for (auto [best, varied] : llvm::zip_equal(least, time->varied))
      best = std::min(best, varied);
  }
  for (auto [candidate, time] : llvm::zip_equal(candidates, times))
    if (time)
      for (auto [best, varied] : llvm::zip_equal(least, time->varied))
        candidate.regret = std::max(candidate.regret, varied / best);
}

/// The first whose expected time is close to the least of those that are robust, or of all where no robust one is near
/// the fastest; nothing where costs do not tell that of `byRule`.
static Candidate *chooseByTime(std::vector<Candidate> &candidates, const Candidate *byRule,
                               const ForwardProblem &problem, std::string_view architecture, unsigned units) {
  Result<const ArchInfo *> arch = findArch(architecture);
  if (!arch.ok() || !byRule || problem.tuning.isSplit())
    return nullptr;
  foresee(candidates, problem, Machine(*arch, units ? units : (*arch)->chip.computeUnits));
  if (!byRule->microseconds)
    return nullptr;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  auto leastOf = [&](double mostRegret) {
    double least = kNever;
    for (const Candidate &candidate : candidates)
      if (candidate.microseconds && candidate.regret <= mostRegret)
        least = std::min(least, *candidate.microseconds);
    return least;
  };
  const double fastest = leastOf(kNever), robust = leastOf(kMostRegret);
  const bool isWorthIt = robust <= kPriceOfRobust * fastest;
  const double least = isWorthIt ? robust : fastest, mostRegret = isWorthIt ? kMostRegret : kNever;
  return &*llvm::find_if(candidates, [&](const Candidate &candidate) {
    return candidate.microseconds && candidate.regret <= mostRegret &&
           *candidate.microseconds <= kAsGoodAsFastest * least;
  });
}

Result<KernelChoice> KernelRegistry::choose(const ForwardProblem &problem, std::string_view architecture,
                                            unsigned units) const {
  KernelChoice choice;
  manifest::Variables variables = problemVariables(problem);
  Candidate *best = nullptr, *fallback = nullptr;
  choice.candidates.reserve(entries.size());
  for (const KernelEntry &entry : entries) {
    if (entry.role == KernelRole::Combine)
      continue;
    Candidate &candidate = choice.candidates.emplace_back();
    candidate.kernel = &entry;
    candidate.broken = brokenRules(entry, problem, architecture);
    if (!candidate.broken.empty())
      continue;
    Result<manifest::Value> pays = entry.pays.evaluate(variables);
    if (!pays.ok())
      return Error{pays.error().kind,
                   "registered kernel '" + entry.name + "': \"pays\": " + pays.error().message};
    candidate.pays = pays->asReal() != 0;
    fallback = &candidate;
    if (candidate.pays && !best)
      best = &candidate;
  }
  Candidate *byRule = best ? best : fallback;
  Candidate *byTime = chooseByTime(choice.candidates, byRule, problem, architecture, units);
  for (Candidate &candidate : choice.candidates)
    candidate.byTime = byTime;
  if (Candidate *chosen = byTime ? byTime : byRule) {
    chosen->chosen = true;
    choice.kernel = chosen->kernel;
  }
  return choice;
}

/// How far the heads of `other` are from those of `problem`. Larger ones are nearer: a head can be
/// padded, not cut.
static int64_t distance(const ForwardProblem &problem, const ForwardProblem &other) {
  auto between = [](int64_t from, int64_t to) { return to >= from ? to - from : 2 * (from - to); };
  return between(problem.headDim, other.headDim) + between(problem.valueHeadDim(), other.valueHeadDim());
}

/// Rules that a kernel breaks, those about what is computed before those about where elements lie.
static std::pair<size_t, size_t> countBroken(const Candidate &candidate) {
  size_t layout = llvm::count_if(candidate.broken, [](const BrokenRule &r) { return r.ofLayout; });
  return {candidate.broken.size() - layout, layout};
}

/// Whether some kernel takes `problem` where its keys are not split.
static bool isTakenWhole(const KernelChoice &choice, ForwardProblem problem, std::string_view architecture) {
  problem.tuning.numSplits = 1;
  return llvm::any_of(choice.candidates, [&](const Candidate &candidate) {
    return brokenRules(*candidate.kernel, problem, architecture).empty();
  });
}

/// Names the rules of the nearest kernel of those that do what is asked, with slices or without: the one that breaks the
/// fewest, and of those the one whose nearest problem has the nearest heads; among equals the last, the most general.
static Error refusal(const KernelChoice &choice, const ForwardProblem &problem,
                     std::string_view architecture) {
  std::string text =
      "no kernel takes the problem '" + problem.describe() + "' on " + std::string(architecture);
  const Candidate *nearest = nullptr;
  std::optional<ForwardProblem> supported;
  const KernelRole role = problem.tuning.isSplit() ? KernelRole::Slices : KernelRole::Whole;
  for (const Candidate &candidate : choice.candidates) {
    if (candidate.kernel->role != role || (nearest && countBroken(candidate) > countBroken(*nearest)))
      continue;
    std::optional<ForwardProblem> other =
        nearestSupported(*candidate.kernel, problem, architecture);
    bool fewer = !nearest || countBroken(candidate) < countBroken(*nearest);
    bool nearer =
        other && (!supported || distance(problem, *other) <= distance(problem, *supported));
    if (!fewer && !nearer)
      continue;
    nearest = &candidate;
    supported = std::move(other);
  }
  if (!nearest)
    return unsupported(text + ": the registry has none" +
                       (role == KernelRole::Slices ? " that works on slices; use num-splits 1" : ""));
  text += ": ";
  for (const BrokenRule &rule : nearest->broken)
    text += (&rule == &nearest->broken.front() ? "" : "; ") + rule.text;
  text += supported ? "; the nearest supported problem is '" + supported->describe() + "'"
                    : "; no problem near it is supported there";
  if (role == KernelRole::Slices && isTakenWhole(choice, problem, architecture))
    text += "; with num-splits 1 it is supported as it is";
  return unsupported(std::move(text));
}

Result<const KernelEntry *> KernelRegistry::select(const ForwardProblem &problem,
                                                   std::string_view architecture, unsigned units) const {
  if (Status status = validate(problem); !status.ok())
    return Error{status.error().kind,
                 status.error().message + "; the problem is '" + problem.describe() + "'"};
  Result<KernelChoice> choice = choose(problem, architecture, units);
  if (!choice.ok())
    return choice.error();
  if (!choice->kernel)
    return refusal(*choice, problem, architecture);
  return choice->kernel;
}

std::vector<const KernelEntry *>
KernelRegistry::alternatives(const KernelEntry &chosen, const ForwardProblem &problem,
                             std::string_view architecture) const {
  std::vector<const KernelEntry *> others;
  for (const KernelEntry &entry : entries)
    if (&entry != &chosen && entry.role == chosen.role &&
        brokenRules(entry, problem, architecture).empty())
      others.push_back(&entry);
  // One whose rows are heads does not stand in for one whose rows are queries, of which there may be thousands.
  std::stable_partition(others.begin(), others.end(), [&](const KernelEntry *entry) {
    return entry->tuning.groupRows == chosen.tuning.groupRows;
  });
  return others;
}

Result<const KernelEntry *> KernelRegistry::selectCombine(const ForwardProblem &problem,
                                                          std::string_view architecture) const {
  std::string why = "the registry has none";
  const KernelEntry *fallback = nullptr;
  const manifest::Variables variables = problemVariables(problem);
  for (const KernelEntry &entry : entries) {
    if (entry.role != KernelRole::Combine)
      continue;
    std::vector<BrokenRule> broken = brokenRules(entry, problem, architecture);
    if (!broken.empty()) {
      why = broken.front().text;
      continue;
    }
    Result<manifest::Value> pays = entry.pays.evaluate(variables);
    if (!pays.ok())
      return Error{pays.error().kind, "registered kernel '" + entry.name + "': \"pays\": " + pays.error().message};
    if (pays->asReal() != 0)
      return &entry;
    fallback = &entry;
  }
  if (fallback)
    return fallback;
  return unsupported("no kernel combines the slices of the problem '" + problem.describe() +
                     "' on " + std::string(architecture) + ": " + why + "; use num-splits 1");
}

/// Whether the kernel is for something else altogether, so that its rules tell a reader nothing about the problem.
static bool isForAnother(const Candidate &candidate) {
  return llvm::any_of(candidate.broken, [](const BrokenRule &rule) {
    return rule.field == "arch" || rule.field == "dtype" || rule.field == "num-splits";
  });
}

std::string KernelChoice::explain(const ForwardProblem &problem) const {
  std::vector<const Candidate *> told;
  for (const Candidate &candidate : candidates)
    if (!isForAnother(candidate))
      told.push_back(&candidate);
  std::stable_partition(told.begin(), told.end(), [](const Candidate *one) { return one->broken.empty(); });
  size_t width = 0;
  for (const Candidate *candidate : told)
    width = std::max(width, candidate->kernel->name.size());
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "problem  " << problem.describe() << '\n';
  for (const Candidate *candidate : told)
    out << (candidate->chosen ? "  * " : "    ") << llvm::left_justify(candidate->kernel->name, width) << "  "
        << candidate->reason() << '\n';
  if (told.size() < candidates.size())
    out << "    (and " << candidates.size() - told.size() << " for other types, another chip, or another number of slices)\n";
  return text;
}
