// Stage "kernels": registered kernels and problems of many kinds on the device and on the simulator, bits compared and
// both results verified. What differs is run again on smaller problems, to find the smallest that shows it.
#include "Comparison.h"
#include "Journal.h"
#include "Probes.h"
#include "PublishedTable.h"
#include "Session.h"

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
using namespace hocket::attention;

/// Query rows that are compared with the float64 reference.
static constexpr int64_t kRows = 64;
/// Problems that reducing may try.
static constexpr unsigned kTries = 24;

namespace {
/// Shapes that each kernel is run on, as far as it takes them.
struct Shape {
  int64_t batch, heads, kvHeads, seqQ, seqKv;
};

/// Problems that the registry chooses kernels for: what few of its kernels alone show.
struct Mixed {
  llvm::StringLiteral pass, options;
};
} // namespace

static constexpr Shape shapes[] = {{2, 4, 2, 160, 224}, {1, 2, 1, 64, 520}, {1, 8, 1, 1, 700}, {1, 2, 2, 300, 300}};

static constexpr Mixed mixed[] = {
    {"forward", "--seq-q 200 --seq-kv 333 --heads 4 --kv-heads 2 --causal --lse"},
    {"forward", "--seq-q 150 --seq-kv 400 --heads 2 --window 64,0"},
    {"forward", "--seq-q 130 --seq-kv 260 --heads 2 --soft-cap 30 --causal"},
    {"forward", "--seq-q 100 --seq-kv 300 --heads 4 --kv-heads 1 --alibi --causal"},
    {"forward", "--seq-q 1 --seq-kv 2000 --heads 8 --kv-heads 1 --num-splits 4"},
    {"forward", "--seq-q 140 --seq-kv 140 --heads 2 --head-dim 64 --sink --causal"},
    {"forward", "--seq-q 96 --seq-kv 200 --heads 2 --dropout 0.2"},
    {"forward", "--seq-q 80 --seq-kv 170 --heads 2 --head-dim 256 --dtype fp16"},
    {"backward", "--seq-q 128 --seq-kv 160 --heads 2 --kv-heads 1 --causal"},
    {"backward", "--seq-q 96 --seq-kv 96 --heads 2 --head-dim 64 --soft-cap 20"},
};

/// Where in a tensor bits differ first.
static void describeFirst(Finding &finding, const ListedVerdict &expected, const ListedVerdict &found) {
  for (size_t t = 0; t < std::min(expected.outputs.size(), found.outputs.size()); ++t) {
    const auto &[name, wanted] = expected.outputs[t];
    const verify::TypedArray &got = found.outputs[t].second;
    int64_t count = 0, first = -1;
    for (size_t i = 0; i != std::min(wanted.size(), got.size()); ++i)
      if (wanted.bits(i) != got.bits(i)) {
        first = first < 0 ? int64_t(i) : first;
        ++count;
      }
    if (first < 0)
      continue;
    finding["tensor"] = name;
    finding["element"] = first;
    finding["differences"] = count;
    finding["expected"] = "0x" + llvm::utohexstr(wanted.bits(size_t(first)), true);
    finding["found"] = "0x" + llvm::utohexstr(got.bits(size_t(first)), true);
    return;
  }
}

Result<Finding> run::firstday::compareListed(Session &session, const ListedPlan &plan, const ListMaking &making) {
  // A backward gets O and LSE from the reference, of the rows that are verified: these are the same on both.
  Result<ListedVerdict> expected = verifyListed(*session.simulator, plan, making, kRows);
  if (!expected.ok())
    return expected.error();
  Result<ListedVerdict> found = verifyListed(*session.device, plan, making, kRows);
  if (!found.ok())
    return found.error();
  const bool isSame = expected->outputs == found->outputs;
  Finding finding;
  finding["verdict"] = !found->passed() ? verdict::different : isSame ? verdict::same : verdict::rounding;
  if (!found->failures.empty())
    finding["failure"] = found->failures.front();
  if (!isSame)
    describeFirst(finding, *expected, *found);
  return finding;
}

/// `problem` with one extent smaller, in each way that there is.
static std::vector<ForwardProblem> smallerThan(const ForwardProblem &problem) {
  std::vector<ForwardProblem> smaller;
  auto add = [&](auto change) {
    ForwardProblem other = problem;
    change(other);
    if (other != problem && attention::validate(other).ok())
      smaller.push_back(std::move(other));
  };
  add([](ForwardProblem &p) { p.batch = 1; });
  add([](ForwardProblem &p) { p.heads = p.kvHeads = 1; });
  add([](ForwardProblem &p) { p.heads = p.heads / p.kvHeads, p.kvHeads = 1; });
  add([](ForwardProblem &p) { p.seqKv = std::max<int64_t>(p.seqKv / 2, 1); });
  add([](ForwardProblem &p) { p.seqQ = std::max<int64_t>(p.seqQ / 2, 1); });
  return smaller;
}

/// The smallest problem found that `kernel` gets wrong.
static ForwardProblem reduce(Session &session, const std::string &kernel, ForwardProblem problem) {
  unsigned tries = 0;
  for (bool isSmaller = true; isSmaller && tries < kTries;) {
    isSmaller = false;
    for (const ForwardProblem &candidate : smallerThan(problem)) {
      if (++tries > kTries)
        break;
      Result<ListedPlan> plan = planListed(*session.planner, kernel, candidate);
      Result<Finding> finding = plan.ok() ? compareListed(session, *plan, {}) : plan.error();
      if (!finding.ok() || finding->getString("verdict") != verdict::different.str())
        continue;
      problem = candidate;
      isSmaller = true;
      break;
    }
  }
  return problem;
}

/// The mnemonics in the code of `plan`.
static std::set<std::string> mnemonicsOf(const LaunchPlan &plan) {
  std::set<std::string> found;
  for (const PlannedLaunch &launch : plan.launches()) {
    auto target = amdgpu::McTarget::create(launch.compiled->manifest.target);
    auto kernels = amdgpu::readKernels(launch.compiled->codeObject);
    if (!target.ok() || !kernels.ok())
      continue;
    const amdgpu::Disassembler disassembler(*target);
    for (const amdgpu::KernelCode &kernel : *kernels) {
      auto decoded = disassembler.decodeAll(kernel.code, kernel.address);
      for (const amdgpu::Instruction &instruction : decoded.ok() ? *decoded : std::vector<amdgpu::Instruction>())
        found.insert(llvm::StringRef(disassembler.text(instruction)).split(' ').first.str());
    }
  }
  return found;
}

/// Instructions of the plan that were found to differ, or to have to wait for what they did not wait for.
static llvm::json::Array suspects(const Session &session, const LaunchPlan &plan) {
  llvm::json::Array names;
  const std::set<std::string> used = mnemonicsOf(plan);
  for (const Probe &probe : probes()) {
    const Finding *finding = session.journal->find("instructions", probe.name);
    if (!finding || finding->getString("verdict") != verdict::different.str())
      continue;
    const llvm::StringRef mnemonic = probe.name.split(' ').first;
    if (llvm::any_of(used, [&](llvm::StringRef text) { return text.starts_with(mnemonic); }))
      names.push_back(probe.name.str());
  }
  return names;
}

/// What a planner that does not take a problem says.
static Finding refusal(const Error &error) {
  return Finding{{"verdict", verdict::skipped}, {"message", error.message}};
}

static Result<Finding> runKernel(Session &session, const std::string &kernel, const ForwardProblem &problem) {
  Result<ListedPlan> plan = planListed(*session.planner, kernel, problem);
  if (!plan.ok())
    return plan.error().kind == ErrorKind::Unsupported ? Result<Finding>(refusal(plan.error())) : plan.error();
  Result<Finding> finding = compareListed(session, *plan, {});
  if (!finding.ok() || finding->getString("verdict") != verdict::different.str())
    return finding;
  (*finding)["smallest"] = reduce(session, kernel, problem).describe();
  (*finding)["suspects"] = suspects(session, launchPlanOf(*plan));
  return finding;
}

/// The problem of `shape` for a variant, changed as little as the kernel asks for.
static std::optional<ForwardProblem> problemFor(const KernelEntry &entry, const KernelVariant &variant,
                                                const Shape &shape, const std::string &chip) {
  ForwardProblem problem = exampleOf(variant);
  problem.batch = shape.batch, problem.heads = shape.heads, problem.kvHeads = shape.kvHeads;
  problem.seqQ = shape.seqQ, problem.seqKv = shape.seqKv;
  problem.tuning.numSplits = entry.role == KernelRole::Slices ? 2 : 1;
  if (brokenRules(entry, problem, chip).empty())
    return problem;
  return nearestSupported(entry, problem, chip);
}

static void addKernel(Session &session, const KernelEntry &entry, const KernelVariant &variant, const Shape &shape,
                      std::vector<Item> &items) {
  std::optional<ForwardProblem> problem = problemFor(entry, variant, shape, session.chip());
  if (!problem)
    return;
  std::string name = entry.name + ": " + problem->describe();
  if (llvm::any_of(items, [&](const Item &item) { return item.name == name; }))
    return;
  items.push_back({std::move(name), [&session, kernel = entry.name, problem = *problem] {
                     return runKernel(session, kernel, problem);
                   }});
}

static Result<Finding> runMixed(Session &session, const Mixed &line) {
  Result<PublishedTable> table =
      parsePublished("pass,options\n" + line.pass.str() + ",\"" + line.options.str() + "\"\n", "<problem>");
  if (!table.ok())
    return table.error();
  const PublishedRow &row = table->rows.front();
  Result<ListedPlan> plan = planListed(*session.planner, "auto", row.problem);
  if (!plan.ok())
    return plan.error().kind == ErrorKind::Unsupported ? Result<Finding>(refusal(plan.error())) : plan.error();
  Result<Finding> finding = compareListed(session, *plan, row.making);
  if (finding.ok() && finding->getString("verdict") == verdict::different.str())
    (*finding)["suspects"] = suspects(session, launchPlanOf(*plan));
  return finding;
}

Result<std::vector<Item>> run::firstday::kernelItems(Session &session) {
  std::vector<Item> items;
  const KernelRegistry &registry = session.planner->planner().registry();
  size_t number = 0;
  for (const KernelEntry &entry : registry.kernels()) {
    if (entry.role == KernelRole::Combine || !llvm::is_contained(entry.architectures, session.chip()))
      continue;
    const std::vector<KernelVariant> variants = entry.variants();
    if (session.quick) {
      // One variant and shape of each, others for each next.
      if (!variants.empty())
        addKernel(session, entry, variants[number % variants.size()], shapes[number % std::size(shapes)], items);
      ++number;
      continue;
    }
    for (const KernelVariant &variant : variants)
      for (const Shape &shape : shapes)
        addKernel(session, entry, variant, shape, items);
  }
  for (const Mixed &line : mixed)
    items.push_back({"fmha-" + std::string(line.pass == "forward" ? "fwd " : "bwd ") + line.options.str(),
                     [&session, &line] { return runMixed(session, line); }});
  return items;
}
