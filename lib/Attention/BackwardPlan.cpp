// Plans of a backward.
#include "hocket/Attention/BackwardPlan.h"

#include "Attention/GroupParts.h"
#include "Grid/WaveShape.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

/// Elements of dK and dV, together, that a wave sums at once.
static constexpr int64_t kMaxSummed = 384;
/// The schedules of workgroups of which two share a compute unit.
static constexpr std::string_view kTwoOnAUnit = "two_on_a_unit", kAlternateTwo = "two_on_a_unit_alternate";

std::string_view attention::toString(BackwardPart part) {
  constexpr std::string_view names[] = {"delta", "dkdv",     "dk",    "dv",      "dq",
                                        "sink",  "captured", "fused", "convert", "sum", "lists"};
  return names[static_cast<size_t>(part)];
}

/// Whether a part computes scores, and so looks at masks and modifications; and whether it follows a schedule.
static bool hasScores(BackwardPart part) {
  return part != BackwardPart::Delta && part != BackwardPart::Sink && part != BackwardPart::Convert &&
         part != BackwardPart::Sum && part != BackwardPart::Lists;
}
static bool isLoop(BackwardPart part) { return hasScores(part) && part != BackwardPart::Captured; }

static BackwardKernel kernelOf(BackwardPart part, const std::string &schedule = {}) {
  std::string name = "fmha_bwd_" + std::string(toString(part));
  if (!isLoop(part))
    return {part, {}, name};
  name += "_" + schedule;
  BackwardKernel kernel{part, {}, name};
  kernel.tuning.schedule = name;
  return kernel;
}

/// The kernel of a part of those that add dQ up.
static BackwardKernel addingKernel(BackwardPart part, Accumulation accumulate, const std::string &schedule = {}) {
  BackwardKernel kernel = kernelOf(part, schedule);
  kernel.accumulate = accumulate;
  kernel.name += "_" + std::string(toString(accumulate));
  return kernel;
}

/// The same where what registers have no room for may lie elsewhere.
static BackwardKernel spilling(BackwardKernel kernel) {
  kernel.tuning.allowSpills = true;
  kernel.name += "_spilling";
  return kernel;
}

/// Workgroups of dK and dV where two share a compute unit.
static int64_t workgroupsOfTwo(const BackwardProblem &problem) {
  return manifest::saturatingMultiply(blocksOfKeys(problem.forward), partsOfGroup(problem));
}

/// Whether dK and dV are best computed by two workgroups on a compute unit: with fewer each has a unit for itself.
static bool wantsTwoOnAUnit(const BackwardProblem &problem) {
  return mayShareUnits(problem.forward) && workgroupsOfTwo(problem) > kUnits;
}

/// Whether of those a heavy one should share its unit with a light one: under a causal mask the first blocks have
/// most to do. Where all workgroups are there at once, nobody makes up for a unit that has two heavy ones. Where
/// lighter ones of the same batch follow, the older of two heavy ones is faster, and the other is late. With several
/// batches it is so where each is there at once and many rounds of workgroups are full: otherwise the last round is
/// shorter without pairs (docs/notes/2026-11-28-robust-choices.md).
static bool wantsPairs(const BackwardProblem &problem) {
  const ForwardProblem &forward = problem.forward;
  if (forward.visibility != Visibility::causal() || forward.blocks.any())
    return false;
  constexpr int64_t kRound = kWorkgroupsOfTwo * kUnits, kManyRounds = 4;
  const int64_t all = workgroupsOfTwo(problem), ofBatch = all / std::max<int64_t>(forward.batch, 1);
  return all <= kRound || forward.batch == 1 ||
         (ofBatch <= kRound && all >= kManyRounds * kRound && all % kRound == 0);
}

/// The same, a heavy block on a unit beside a light one.
static BackwardKernel paired(BackwardKernel kernel) {
  kernel.tuning.blockOrder = "paired";
  kernel.name += "_paired";
  return kernel;
}

/// Whether they follow one another on a unit, all alike: then the sums of dK and dV are best added to in turns.
static bool wantsAlternateSums(const BackwardProblem &problem) {
  return problem.forward.visibility == Visibility() && !problem.forward.blocks.any() &&
         workgroupsOfTwo(problem) > kWorkgroupsOfTwo * kUnits;
}

/// What a part of a backward may follow, the best first.
static std::vector<std::string> schedulesOf(BackwardPart part) {
  if (part == BackwardPart::DkDv)
    return {std::string(kTwoOnAUnit), std::string(kAlternateTwo), "double_buffer", "sequential"};
  if (part == BackwardPart::Dq)
    return {"dual_wave", "double_buffer", "sequential"};
  if (part == BackwardPart::Fused)
    return {"in_turns", "sequential"};
  return {"double_buffer", "sequential"};
}

static bool isAmong(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Refuses a schedule that no part of a backward has.
static Status checkSchedule(std::string_view asked) {
  std::vector<std::string> known;
  for (BackwardPart part : {BackwardPart::DkDv, BackwardPart::Dk, BackwardPart::Dq, BackwardPart::Fused})
    for (const std::string &name : schedulesOf(part))
      if (!isAmong(known, name))
        known.push_back(name);
  if (asked.empty() || isAmong(known, asked))
    return Status::success();
  std::string names;
  for (const std::string &name : known)
    names += (names.empty() ? "" : ", ") + name;
  return invalidInput("no part of a backward has a schedule '" + std::string(asked) + "'; there are " + names);
}

/// What a part follows of a `problem` where `asked` is what the user wants, or empty. A name that only other parts have
/// is not for this one.
static std::vector<std::string> schedulesFor(BackwardPart part, const BackwardProblem &problem, std::string_view asked) {
  std::vector<std::string> all = schedulesOf(part);
  if (isAmong(all, asked))
    return {std::string(asked)};
  bool wantsTwo = wantsTwoOnAUnit(problem), wantsAlternate = wantsTwo && wantsAlternateSums(problem);
  if (!wantsTwo || wantsAlternate)
    std::erase(all, kTwoOnAUnit);
  if (!wantsAlternate)
    std::erase(all, kAlternateTwo);
  return all;
}

/// The first kernel.
static BackwardKernel rowsKernel(const BackwardProblem &problem) {
  BackwardKernel kernel = problem.accumulate == Accumulation::None ? kernelOf(BackwardPart::Delta)
                                                                   : addingKernel(BackwardPart::Delta, problem.accumulate);
  kernel.lseGradient = problem.lseGradient;
  if (kernel.lseGradient)
    kernel.name += "_dlse";
  return kernel;
}

/// One loop, which follows one of `schedules`, instead of two.
static std::vector<BackwardChoices> addingSteps(const BackwardProblem &problem, const std::vector<std::string> &schedules) {
  BackwardChoices loops;
  for (const std::string &name : schedules)
    loops.push_back({addingKernel(BackwardPart::Fused, problem.accumulate, name)});
  for (const std::string &name : schedules)
    loops.push_back({spilling(addingKernel(BackwardPart::Fused, problem.accumulate, name))});
  return {{{rowsKernel(problem)}},
          std::move(loops),
          {{addingKernel(BackwardPart::Convert, problem.accumulate)}}};
}

/// Lets workgroups share the heads of a group: in the second of `steps`, which makes dK and dV, and in one behind it.
static void divideGroups(std::vector<BackwardChoices> &steps) {
  for (std::vector<BackwardKernel> &kernels : steps[1])
    for (BackwardKernel &kernel : kernels)
      kernel.groupParts = true, kernel.name += "_parts";
  BackwardKernel sum = kernelOf(BackwardPart::Sum);
  sum.groupParts = true;
  steps.insert(steps.begin() + 2, {{sum}});
}

std::vector<BackwardChoices> attention::backwardSteps(const BackwardProblem &problem,
                                                      std::string_view schedule) {
  auto schedules = [&](BackwardPart part) { return schedulesFor(part, problem, schedule); };
  BackwardChoices ofKeys, ofQueries;
  if (problem.forward.headDim + problem.forward.valueHeadDim() <= kMaxSummed)
    for (const std::string &name : schedules(BackwardPart::DkDv)) {
      BackwardKernel kernel = kernelOf(BackwardPart::DkDv, name);
      ofKeys.push_back({name == kTwoOnAUnit && wantsPairs(problem) ? paired(kernel) : kernel});
    }
  std::vector<std::string> apart = schedules(BackwardPart::Dk);
  for (const std::string &name : apart)
    ofKeys.push_back({kernelOf(BackwardPart::Dk, name), kernelOf(BackwardPart::Dv, name)});
  ofKeys.push_back({spilling(kernelOf(BackwardPart::Dk, apart.back())), spilling(kernelOf(BackwardPart::Dv, apart.back()))});
  std::vector<std::string> ofDq = schedules(BackwardPart::Dq);
  for (const std::string &name : ofDq)
    ofQueries.push_back({kernelOf(BackwardPart::Dq, name)});
  ofQueries.push_back({spilling(kernelOf(BackwardPart::Dq, ofDq.back()))});
  std::vector<BackwardChoices> steps = {
      {{rowsKernel(problem)}}, std::move(ofKeys), std::move(ofQueries)};
  if (problem.accumulate != Accumulation::None)
    steps = addingSteps(problem, schedules(BackwardPart::Fused));
  if (partsOfGroup(problem) > 1)
    divideGroups(steps);
  if (problem.forward.blocks.any() && !problem.transposedLists)
    steps.insert(steps.begin(), {{kernelOf(BackwardPart::Lists)}});
  for (const std::string &tensor : problem.otherGradients) {
    if (tensor == "sink") {
      steps.push_back({{kernelOf(BackwardPart::Sink)}});
      continue;
    }
    BackwardKernel kernel = kernelOf(BackwardPart::Captured);
    kernel.tensor = tensor, kernel.name += "_" + tensor;
    steps.push_back({{kernel}, {spilling(kernel)}});
  }
  return steps;
}

std::string attention::describeBackward(const ForwardSemantics &semantics, const BackwardKernel &kernel) {
  std::string name(toString(kernel.part));
  const BlockSizes &sizes = semantics.blocks;
  std::string blocks = "(" + std::to_string(sizes.queries) + ", " + std::to_string(sizes.keys) + ")";
  if (kernel.part == BackwardPart::Lists)
    return "attn.transposed_lists @transposed_lists blocks" + blocks + "\n";
  std::string whose = kernel.tensor.empty() ? name : name + "_" + kernel.tensor;
  bool adds = kernel.accumulate != Accumulation::None;
  if (adds)
    whose += "_" + std::string(toString(kernel.accumulate));
  if (kernel.lseGradient)
    whose += "_dlse";
  if (kernel.groupParts && kernel.part != BackwardPart::Sum)
    whose += "_parts";
  std::string text = "attn.backward @fmha_bwd_" + whose + "_" + semantics.kernelSuffix() + " part(" +
                     name + ") element_type(" + std::string(irName(semantics.dtype.q)) +
                     ") head_dim(" + std::to_string(semantics.headDim) + ")";
  if (semantics.valueHeadDim() != semantics.headDim)
    text += " head_dim_v(" + std::to_string(semantics.valueHeadDim()) + ")";
  if (semantics.dropout)
    text += " dropout";
  for (const SequenceList &list : sequenceLists())
    if (semantics.lists.*list.value)
      text += " " + std::string(list.clause);
  if (adds)
    text += " accumulate(" + std::string(toString(kernel.accumulate)) + ")";
  if (kernel.lseGradient)
    text += " lse_gradient";
  if (kernel.groupParts)
    text += " group_parts";
  // Rows have their two numbers whatever they see.
  if (!hasScores(kernel.part))
    return text + "\n";
  if (semantics.blocks.any())
    text += " block_lists" + blocks;
  if (!kernel.tuning.blockOrder.empty())
    text += " block_order(" + kernel.tuning.blockOrder + ")";
  if (!kernel.tensor.empty())
    text += " gradient_of(\"" + kernel.tensor + "\")";
  text += " mask(" + semantics.visibility.attnText() + ")";
  std::string scores, masks, modifications;
  for (const Modification &modification : semantics.modifications) {
    std::string &names = modification.isMask ? masks : scores;
    names += (names.empty() ? "@" : ", @") + modification.name;
    modifications += modification.text + "\n";
  }
  if (!scores.empty())
    text += " score_mod(" + scores + ")";
  if (!masks.empty())
    text += " mask_mod(" + masks + ")";
  return text + "\n" + modifications;
}

Result<std::shared_ptr<const BackwardPlan>>
BackwardPlan::make(BackwardProblem problem, std::vector<PlannedLaunch> launches) {
  std::shared_ptr<BackwardPlan> plan(new BackwardPlan(std::move(problem), std::move(launches)));
  if (Status status = plan->measure(plan->description.describe()); !status.ok())
    return status.error();
  return std::shared_ptr<const BackwardPlan>(std::move(plan));
}

Status attention::checkBackward(const BackwardProblem &problem, std::string_view schedule) {
  if (Status status = validate(problem); !status.ok())
    return status;
  if (Status status = checkSchedule(schedule); !status.ok())
    return status;
  auto refuse = [&](const std::string &what) {
    return Status(unsupported("no kernel takes the " + problem.describe() + ": " + what));
  };
  const ForwardProblem &forward = problem.forward;
  for (auto [name, dim] : {std::pair("head-dim", forward.headDim),
                           std::pair("head-dim-v", forward.valueHeadDim())})
    if (dim % kHeadUnit != 0 || dim > kMaxHead)
      return refuse(std::string(name) + " is " + std::to_string(dim) + ", use a multiple of " +
                    std::to_string(kHeadUnit) + " up to " + std::to_string(kMaxHead));
  if (forward.visibility != Visibility() && forward.visibility != Visibility::causal())
    return refuse("its mask is '" + std::string(forward.visibility.name()) +
                  "'; use none or causal, or say it as a modification");
  return Status::success();
}

/// The launches of the first of `choices` that can be made.
static Result<std::vector<PlannedLaunch>> firstOf(const BackwardChoices &choices,
                                                  const ForwardSemantics &semantics,
                                                  const MakeBackwardKernel &make) {
  Error last = internalError("a step of a backward without a kernel");
  std::vector<PassedOver> passedOver;
  for (const std::vector<BackwardKernel> &kernels : choices) {
    std::vector<PlannedLaunch> launches;
    for (const BackwardKernel &kernel : kernels) {
      auto made = make(semantics, kernel);
      if (!made.ok()) {
        last = made.error();
        // A bug must be reported: another kernel would hide it.
        if (last.kind == ErrorKind::Internal)
          return last;
        passedOver.push_back({kernel.name, last.message});
        break;
      }
      launches.push_back({kernel.name, *std::move(made)});
    }
    if (launches.size() != kernels.size())
      continue;
    launches.front().passedOver = std::move(passedOver);
    return launches;
  }
  return last;
}

Result<std::shared_ptr<const BackwardPlan>>
attention::planBackward(const BackwardProblem &problem, const MakeBackwardKernel &make,
                        std::string_view schedule) {
  if (Status status = checkBackward(problem, schedule); !status.ok())
    return status.error();
  std::vector<PlannedLaunch> launches;
  for (const BackwardChoices &choices : backwardSteps(problem, schedule)) {
    Result<std::vector<PlannedLaunch>> step = firstOf(choices, problem.forward, make);
    if (!step.ok())
      return step.error();
    launches.insert(launches.end(), step->begin(), step->end());
  }
  return BackwardPlan::make(problem, std::move(launches));
}
