// hocket-dev mutate: how good the checks are, measured by faults that are put into a kernel.
//
// The kernel is an attention forward's, a backward's, a matrix product's, or any of the tile language. One instruction
// at a time is changed in the code object and the problem run checked, under
// several interleavings, and verified. A mutant is caught by a finding, an error or a wrong result;
// what is not caught must be shown to be the same program, by a proof from a fixed list, or it is
// missed.
#include "DevSubcommands.h"
#include "BackwardRequest.h"
#include "ForwardOptions.h"
#include "GemmRequest.h"
#include "NamedRequest.h"
#include "Output.h"
#include "ProblemRunner.h"

#include "hocket/Simulator/RuntimeDevice.h"
#include "Simulator/Check/ReadLoads.h"
#include "Simulator/Trace.h"
#include "Target/AMDGPU/Mutation.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <random>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using amdgpu::Mutant;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// What became of one mutant.
struct Outcome {
  Mutant mutant;
  enum Verdict { Caught, Equivalent, Missed, Unreached } verdict = Missed;
  std::string by; ///< the finding's kind, "wrong result", "error"; or the reason of equivalence
};

constexpr unsigned defaultInterleavings = 4;
/// Beside the reasons that the machine code has (Mutation.h): of a load to LDS whose slot is another one, in whose runs
/// nothing that the original brought was read, and nothing shows.
constexpr llvm::StringLiteral kNobodyReads = "load to LDS that nobody reads";

/// One problem that every mutant has to run whose instruction it executes.
struct Trial {
  ProblemRunner run;
  uint64_t instructions = 0; ///< of all waves of the original
  uint64_t instructionLimit = 0;
  std::set<uint64_t> executed; ///< addresses, under any of the interleavings
  std::set<uint64_t> read;     ///< loads to LDS that brought what somebody read
};

/// What the command line asks for.
struct MutationRequest {
  CompiledKernel kernel;
  std::vector<Trial> trials;
  uint64_t seed = 0;
  MutantChoice mutants;
  unsigned interleavings = 1;
  std::string json;
};

class Mutation {
public:
  Mutation(runtime::Device &device, MutationRequest request)
      : device(device), kernel(std::move(request.kernel)), trials(std::move(request.trials)) {
    options.seed = request.seed;
    options.interleavings =
        request.interleavings == 1 ? defaultInterleavings : request.interleavings;
    options.check = true;
  }

  Status prepare(const MutantChoice &choice);
  Status judgeAll();
  std::string toJson() const;
  void printSummary(llvm::raw_ostream &out) const;
  /// Whether of any it is not known that it would be seen: missed, or executed by no problem.
  bool anyOpen() const { return llvm::any_of(outcomes, isOpen); }

private:
  static bool isOpen(const Outcome &outcome) {
    return outcome.verdict == Outcome::Missed || outcome.verdict == Outcome::Unreached;
  }
  std::string runOnce(const std::string &codeObject, const Trial &trial, unsigned interleaving);
  std::string runAll(const std::string &codeObject, llvm::ArrayRef<const Trial *> chosen,
                     unsigned interleavings);
  Status measure(Trial &trial);
  void chooseSample(uint64_t count);
  std::string patched(const Mutant &mutant) const;
  std::vector<const Trial *> trialsThatReach(const Mutant &mutant) const;
  bool nobodyReads(const Mutant &mutant, llvm::ArrayRef<const Trial *> reaching) const;
  Result<Outcome> judge(const Mutant &mutant);

  runtime::Device &device;
  CompiledKernel kernel;
  std::vector<Trial> trials;
  RunControls options;
  amdgpu::KernelCode code; ///< points into `kernel.codeObject`
  std::unique_ptr<amdgpu::Disassembler> disassembler;
  std::vector<Mutant> mutants;
  size_t possible = 0;
  std::vector<Outcome> outcomes;
};
} // namespace

/// Runs the problem; "" if all is right, else what is not.
std::string Mutation::runOnce(const std::string &codeObject, const Trial &trial,
                              unsigned interleaving) {
  RunControls once = options;
  once.seed = options.seed + interleaving;
  once.interleavings = 1;
  once.instructionLimit = trial.instructionLimit;
  Result<RunOutcome> outcome = trial.run(device, std::as_bytes(std::span(codeObject)), once);
  if (!outcome.ok())
    return "error";
  if (!outcome->findings.empty())
    return std::string(findingName(outcome->findings.front().kind));
  return outcome->failures.empty() ? "" : "wrong result";
}

/// The first thing that goes wrong in the trials, cheapest first; "" if nothing does.
std::string Mutation::runAll(const std::string &codeObject, llvm::ArrayRef<const Trial *> chosen,
                             unsigned interleavings) {
  for (unsigned i = 0; i < interleavings; ++i)
    for (const Trial *trial : chosen)
      if (std::string wrong = runOnce(codeObject, *trial, i); !wrong.empty())
        return wrong;
  return "";
}

/// How long the original takes, since a mutant may loop, and what it executes.
Status Mutation::measure(Trial &trial) {
  RunControls all = options;
  all.verify = false;
  all.check = false;
  sim::ExecutedCode executed(kernel.manifest.kernel);
  std::shared_ptr<runtime::Device> watched =
      sim::createDevice(&executed.instrument(), kernel.manifest.target);
  Result<RunOutcome> outcome =
      trial.run(*watched, std::as_bytes(std::span(kernel.codeObject)), all);
  if (!outcome.ok())
    return outcome.error();
  trial.instructions = outcome->waveInstructions;
  trial.instructionLimit = 2 * trial.instructions + 10000;
  trial.executed = executed.addresses();
  sim::ReadLoads read(kernel.manifest.kernel, kernel.manifest.target);
  watched = sim::createDevice(&read.instrument(), kernel.manifest.target);
  outcome = trial.run(*watched, std::as_bytes(std::span(kernel.codeObject)), all);
  if (!outcome.ok())
    return outcome.error();
  Result<std::set<uint64_t>> addresses = read.addresses();
  if (!addresses.ok())
    return addresses.error();
  trial.read = *std::move(addresses);
  return Status::success();
}

/// The kinds that there are, as a message lists them.
static std::string kindNames() {
  std::string names;
  for (int kind = 0; kind <= int(amdgpu::MutationKind::Counter); ++kind)
    names += (kind ? ", " : "") + amdgpu::mutationName(amdgpu::MutationKind(kind)).str();
  return names;
}

static Status checkKind(StringRef name) {
  for (int kind = 0; kind <= int(amdgpu::MutationKind::Counter); ++kind)
    if (name == amdgpu::mutationName(amdgpu::MutationKind(kind)))
      return Status::success();
  return invalidInput("option '--kind' has the value '" + name.str() + "', expected one of " + kindNames());
}

Status Mutation::prepare(const MutantChoice &choice) {
  if (!choice.kind.empty())
    if (Status status = checkKind(choice.kind); !status.ok())
      return status;
  Result<std::vector<amdgpu::KernelCode>> kernels = amdgpu::readKernels(kernel.codeObject);
  if (!kernels)
    return kernels.error();
  auto found = llvm::find_if(*kernels, [&](const amdgpu::KernelCode &candidate) {
    return candidate.name == kernel.manifest.kernel;
  });
  if (found == kernels->end())
    return invalidInput("the code object has no kernel '" + kernel.manifest.kernel +
                        "', which its manifest names");
  code = *found;
  auto target = amdgpu::McTarget::create(amdgpu::processorOf(kernel.codeObject));
  if (!target)
    return target.error();
  disassembler = std::make_unique<amdgpu::Disassembler>(*target);
  Result<std::vector<Mutant>> all = amdgpu::enumerateMutants(code, *disassembler);
  if (!all)
    return all.error();
  mutants = *std::move(all);
  if (!choice.kind.empty())
    llvm::erase_if(mutants, [&](const Mutant &mutant) { return amdgpu::mutationName(mutant.kind) != choice.kind; });
  chooseSample(choice.count);
  for (Trial &trial : trials)
    if (Status status = measure(trial); !status.ok())
      return status;
  llvm::sort(trials,
             [](const Trial &a, const Trial &b) { return a.instructions < b.instructions; });
  std::vector<const Trial *> every;
  for (const Trial &trial : trials)
    every.push_back(&trial);
  if (std::string wrong = runAll(kernel.codeObject, every, options.interleavings); !wrong.empty())
    return invalidInput("the kernel is not clean without mutation (" + wrong +
                        "); run it with '--check' to see more");
  return Status::success();
}

void Mutation::chooseSample(uint64_t count) {
  possible = mutants.size();
  if (count == 0 || count >= mutants.size())
    return;
  std::mt19937_64 random(options.seed);
  // Fisher-Yates by hand: the standard's shuffle differs between libraries.
  for (size_t i = 0; i < count; ++i)
    std::swap(mutants[i], mutants[i + random() % (mutants.size() - i)]);
  mutants.resize(count);
  llvm::sort(mutants, [](const Mutant &a, const Mutant &b) {
    return std::tie(a.offset, a.after) < std::tie(b.offset, b.after);
  });
}

std::string Mutation::patched(const Mutant &mutant) const {
  std::string changed = kernel.codeObject;
  auto *begin = reinterpret_cast<const uint8_t *>(kernel.codeObject.data());
  size_t at = static_cast<size_t>(code.code.data() - begin) + mutant.offset;
  std::copy(mutant.bytes.begin(), mutant.bytes.end(), changed.begin() + static_cast<ptrdiff_t>(at));
  return changed;
}

/// The trials in which the changed instruction executes; up to there a mutant does what the
/// original does, so that in all others it is the original.
std::vector<const Trial *> Mutation::trialsThatReach(const Mutant &mutant) const {
  const uint64_t begin = code.address + mutant.offset, end = begin + mutant.bytes.size();
  std::vector<const Trial *> reaching;
  for (const Trial &trial : trials) {
    auto first = trial.executed.lower_bound(begin);
    if (first != trial.executed.end() && *first < end)
      reaching.push_back(&trial);
  }
  return reaching;
}

/// Whether it goes elsewhere with what a load to LDS brings and nobody reads: behind the last tile, or one that nobody
/// sees.
bool Mutation::nobodyReads(const Mutant &mutant, llvm::ArrayRef<const Trial *> reaching) const {
  return mutant.isLoadToLds && llvm::none_of(reaching, [&](const Trial *trial) {
    return trial->read.contains(code.address + mutant.offset);
  });
}

Result<Outcome> Mutation::judge(const Mutant &mutant) {
  Outcome outcome;
  outcome.mutant = mutant;
  Result<std::string> reason = amdgpu::proveEquivalent(code, mutant, *disassembler);
  if (!reason)
    return reason.error();
  // A proof from the code alone holds for every order of waves: one is enough to contradict it.
  // What is said of a barrier holds for the runs without it, and of a slot for those with the other.
  const bool proven = !reason->empty() && *reason != amdgpu::kRedundantByEpochs && *reason != amdgpu::kFetchesNothing;
  std::vector<const Trial *> reaching = trialsThatReach(mutant);
  if (reaching.empty() && !proven) {
    outcome.verdict = Outcome::Unreached;
    outcome.by = "no problem executes the instruction";
    return outcome;
  }
  outcome.by = runAll(patched(mutant), reaching, proven ? 1 : options.interleavings);
  if (!outcome.by.empty()) {
    // What shows in a run is not equivalent: a proof from the code alone would be wrong.
    outcome.verdict = proven ? Outcome::Missed : Outcome::Caught;
    if (proven)
      outcome.by += ", although proven equivalent: " + *reason;
    return outcome;
  }
  outcome.by = reason->empty() && nobodyReads(mutant, reaching) ? kNobodyReads.str() : *reason;
  outcome.verdict = outcome.by.empty() ? Outcome::Missed : Outcome::Equivalent;
  return outcome;
}

Status Mutation::judgeAll() {
  for (const Mutant &mutant : mutants) {
    showProgress("mutant " + std::to_string(outcomes.size() + 1) + " of " +
                     std::to_string(mutants.size()),
                 double(outcomes.size()) / double(mutants.size()));
    Result<Outcome> outcome = judge(mutant);
    if (!outcome)
      return outcome.error();
    outcomes.push_back(*std::move(outcome));
  }
  clearProgress();
  return Status::success();
}

static StringRef nameOf(Outcome::Verdict verdict) {
  static constexpr StringRef names[] = {"caught", "equivalent", "missed", "unreached"};
  return names[verdict];
}

std::string Mutation::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  int64_t counts[4] = {};
  for (const Outcome &outcome : outcomes)
    ++counts[outcome.verdict];
  out.object([&] {
    out.attribute("passed", !anyOpen());
    out.attribute("kernel", kernel.manifest.kernel);
    out.attribute("seed", options.seed);
    out.attribute("interleavings", options.interleavings);
    out.attribute("possible", static_cast<uint64_t>(possible));
    out.attribute("mutants", static_cast<uint64_t>(outcomes.size()));
    out.attribute("caught", counts[Outcome::Caught]);
    out.attribute("equivalent", counts[Outcome::Equivalent]);
    out.attribute("missed", counts[Outcome::Missed]);
    out.attribute("unreached", counts[Outcome::Unreached]);
    out.attributeArray("outcomes", [&] {
      for (const Outcome &outcome : outcomes)
        out.object([&] {
          out.attribute("kind", amdgpu::mutationName(outcome.mutant.kind));
          out.attribute("offset", outcome.mutant.offset);
          out.attribute("before", outcome.mutant.before);
          out.attribute("after", outcome.mutant.after);
          out.attribute("verdict", nameOf(outcome.verdict));
          out.attribute("by", outcome.by);
        });
    });
  });
  stream << '\n';
  return text;
}

void Mutation::printSummary(llvm::raw_ostream &out) const {
  std::map<std::pair<StringRef, StringRef>, std::map<std::string, unsigned>> table;
  for (const Outcome &outcome : outcomes)
    ++table[{amdgpu::mutationName(outcome.mutant.kind), nameOf(outcome.verdict)}][outcome.by];
  for (const auto &[key, reasons] : table)
    for (const auto &[reason, count] : reasons)
      out << llvm::formatv("{0,-14} {1,-11} {2,5}  {3}\n", key.first, key.second, count, reason);
  for (const Outcome &outcome : outcomes)
    if (isOpen(outcome))
      out << llvm::formatv("{0}: {1} at offset {2:x}: '{3}' became '{4}'\n", nameOf(outcome.verdict),
                           amdgpu::mutationName(outcome.mutant.kind), outcome.mutant.offset,
                           outcome.mutant.before, outcome.mutant.after);
  out << outcomes.size() << " of " << possible << " mutants\n";
}

static Result<int> mutate(MutationRequest request) {
  Result<runtime::OpenedDevice> opened =
      openDevice(sim::deviceNameFor(request.kernel.manifest.target));
  if (!opened.ok())
    return opened.error();
  MutantChoice choice = request.mutants;
  std::string json = request.json;
  Mutation mutation(*opened->device, std::move(request));
  if (Status status = mutation.prepare(choice); !status.ok())
    return status.error();
  if (Status status = mutation.judgeAll(); !status.ok())
    return status.error();
  mutation.printSummary(reportStream(json));
  if (Status status = writeJson(json, mutation.toJson()); !status.ok())
    return status.error();
  return mutation.anyOpen() ? exitWrong : exitRight;
}

/// "mutate CO COMMON... --problem OPTIONS... --problem OPTIONS...": one list of options for each
/// problem, with the common ones in front; CO stands behind `fileOption`.
static std::vector<std::vector<std::string>> splitProblems(llvm::ArrayRef<const char *> args,
                                                           StringRef fileOption) {
  std::vector<std::string> common;
  std::vector<std::vector<std::string>> problems;
  for (size_t i = 0; i < args.size(); ++i) {
    StringRef arg = args[i];
    if (arg == "--problem") {
      problems.push_back(common);
      continue;
    }
    std::string text = i == 0 && !arg.starts_with("-") ? (fileOption + arg).str() : arg.str();
    (problems.empty() ? common : problems.back()).push_back(std::move(text));
  }
  if (problems.empty())
    problems.push_back(common);
  return problems;
}

/// What options have no effect on that say which kernel is mutated.
static constexpr StringRef kFurther = "a further --problem";
static constexpr StringRef kTitle =
    "Puts small faults into a kernel, runs each mutant checked and says what is found";

/// What one run of `mutate` has once, though each problem's options could say it.
struct SaidOnce {
  verify::RunOptions run;
  MutantChoice mutants;
  std::string json;
};

/// Refuses of a further problem what only the first one's options, or those in front of it, can say.
static Status checkFurther(const SaidOnce &first, const SaidOnce &further) {
  for (auto [isSame, name] : {std::pair(first.run.seed == further.run.seed, "seed"),
                              {first.run.interleavings == further.run.interleavings, "interleavings"},
                              {first.mutants.count == further.mutants.count, "count"},
                              {first.mutants.kind == further.mutants.kind, "kind"},
                              {first.json == further.json, "json"}})
    if (!isSame)
      return invalidInput("--" + std::string(name) +
                          " is said once, for all problems; give it in front of the first '--problem'");
  return Status::success();
}

/// Attention forwards: the first problem's options say all that is not the problem's own.
static Result<std::optional<MutationRequest>>
readForwards(const std::vector<std::vector<const char *>> &problems) {
  MutationRequest request;
  struct Own {
    ForwardProblem problem;
    DataKind data;
    decltype(ForwardOptions::blockLists) blockLists;
  };
  std::vector<Own> trials;
  ForwardOptions base;
  std::vector<PlannedLaunch> launches; // one, or two of split KV
  size_t mutated = 0;                  // which of them is
  std::optional<Options> first;
  std::optional<SaidOnce> once;
  for (const std::vector<const char *> &args : problems) {
    Result<std::optional<Options>> options =
        parseForwardOptions("mutate", kTitle, args,
                            ForwardVis | KernelVis | CompileVis | MutateVis | LaunchVis);
    if (!options.ok())
      return options.error();
    if (!*options)
      return std::optional<MutationRequest>();
    Result<ForwardProblem> problem = readProblem(**options);
    if (!problem.ok())
      return problem.error();
    Result<ForwardOptions> own = readForwardOptions(**options);
    if (!own.ok())
      return own.error();
    Result<MutantChoice> mutants = mutantChoice(**options);
    if (!mutants.ok())
      return mutants.error();
    SaidOnce said{*own, *mutants, jsonPath(**options)};
    trials.push_back({*problem, own->data, own->blockLists});
    // The kernels are those of the first problem: no heuristic for the others.
    if (ForwardProblem &added = trials.back().problem; added.tuning.numSplits == 0)
      added.tuning.numSplits = 1;
    if (trials.size() > 1) {
      if (Status status = checkFurther(*once, said); !status.ok())
        return status.error();
      if (Status status = (*options)->refuseUnread(kFurther, &*first); !status.ok())
        return status.error();
      continue;
    }
    base = *std::move(own);
    Result<std::optional<size_t>> launch = launchNumber(**options);
    if (!launch.ok())
      return launch.error();
    request.json = said.json;
    if (Status status = checkOptions(**options); !status.ok())
      return status.error();
    once = std::move(said);
    Result<ForwardPlanPointer> plan = makeForwardPlan(**options, trials.front().problem);
    if (!plan.ok())
      return plan.error();
    launches = copyLaunches(**plan);
    mutated = launch->value_or(0);
    if (mutated >= launches.size())
      return invalidInput(
          "--launch 2 is the kernel that combines slices, but the problem has none; "
          "add '--num-splits'");
    request.kernel = *launches[mutated].compiled;
    request.seed = base.seed, request.mutants = *std::move(mutants);
    request.interleavings = base.interleavings;
    first.emplace(std::move(**options));
  }
  base.progress = {};
  for (auto &[problem, data, blockLists] : trials) {
    if (problem.tuning.isSplit() != trials.front().problem.tuning.isSplit())
      return invalidInput("'--num-splits' splits some problems and not others, which the same "
                          "kernel cannot take; give it for all");
    base.data = data, base.blockLists = blockLists;
    request.trials.emplace_back().run = runnerOf(launches, mutated, problem, base);
  }
  return std::optional(std::move(request));
}

/// Backwards, likewise; of their launches `--launch` is mutated.
static Result<std::optional<MutationRequest>>
readBackwards(const std::vector<std::vector<const char *>> &problems) {
  MutationRequest request;
  std::vector<PlannedLaunch> launches;
  size_t mutated = 0;
  std::optional<Options> first;
  std::optional<SaidOnce> once;
  for (const std::vector<const char *> &args : problems) {
    Result<std::optional<Options>> options =
        parseForwardOptions("mutate fmha-bwd", kTitle, args,
                            BackwardVis | KernelVis | MutateVis | LaunchVis);
    if (!options.ok())
      return options.error();
    if (!*options)
      return std::optional<MutationRequest>();
    Result<BackwardProblem> problem = readBackwardProblem(**options);
    if (!problem.ok())
      return problem.error();
    Result<BackwardOptions> own = readBackwardOptions(**options);
    if (!own.ok())
      return own.error();
    Result<MutantChoice> mutants = mutantChoice(**options);
    if (!mutants.ok())
      return mutants.error();
    SaidOnce said{*own, *mutants, jsonPath(**options)};
    if (first) {
      if (Status status = checkFurther(*once, said); !status.ok())
        return status.error();
      if (Status status = (*options)->refuseUnread(kFurther, &*first); !status.ok())
        return status.error();
    } else {
      Result<std::optional<size_t>> launch = launchNumber(**options);
      if (!launch.ok())
        return launch.error();
      if (Status status = checkOptions(**options); !status.ok())
        return status.error();
      once = said;
      Result<std::shared_ptr<const BackwardPlan>> plan = makeBackwardPlan(**options, *problem);
      if (!plan.ok())
        return plan.error();
      launches = copyLaunches(**plan);
      mutated = launch->value_or(0);
      if (mutated >= launches.size())
        return invalidInput("--launch is " + std::to_string(mutated + 1) + ", the backward has " +
                            std::to_string(launches.size()) + " launches");
      request.kernel = *launches[mutated].compiled;
      request.seed = own->seed, request.mutants = *std::move(mutants);
      request.interleavings = own->interleavings;
      request.json = std::move(said.json);
      first.emplace(std::move(**options));
    }
    own->progress = {};
    request.trials.emplace_back().run = runnerOf(launches, mutated, *problem, *own);
  }
  return std::optional(std::move(request));
}

/// What `parse` reads of each problem's options, likewise: of the first comes the kernel, `runner` runs each.
template <typename Parse, typename Runner>
static Result<std::optional<MutationRequest>> readEach(const std::vector<std::vector<const char *>> &problems, Parse parse,
                                                       Runner runner) {
  MutationRequest request;
  std::optional<SaidOnce> once;
  for (const std::vector<const char *> &args : problems) {
    auto own = parse(args);
    if (!own.ok())
      return own.error();
    if (!*own)
      return std::optional<MutationRequest>();
    auto &read = **own;
    SaidOnce said{read.options, read.mutants, read.json};
    if (once) {
      if (Status status = checkFurther(*once, said); !status.ok())
        return status.error();
    } else {
      once = std::move(said);
      request.kernel = std::move(read.kernel);
      request.seed = read.options.seed, request.mutants = std::move(read.mutants);
      request.interleavings = read.options.interleavings;
      request.json = read.json;
    }
    read.options.progress = {};
    request.trials.emplace_back().run = runner(request.kernel.manifest, read);
  }
  return std::optional(std::move(request));
}

static Result<std::optional<MutationRequest>> readProducts(const std::vector<std::vector<const char *>> &problems) {
  return readEach(
      problems, [](const auto &args) { return parseGemmRequest("mutate gemm", kTitle, args, MutateVis); },
      [](const manifest::Manifest &manifest, const GemmRequest &gemm) {
        return runnerOf(manifest, gemm.problem, gemm.options);
      });
}

static Result<std::optional<MutationRequest>> readNamed(const std::vector<std::vector<const char *>> &problems) {
  return readEach(
      problems, [](const auto &args) { return parseNamedRequest("mutate kernel", kTitle, args); },
      [](const manifest::Manifest &manifest, const NamedRequest &named) { return runnerOf(manifest, named); });
}

Result<int> run::mutateCommand(llvm::ArrayRef<const char *> args) {
  static const std::map<StringRef, Result<std::optional<MutationRequest>> (*)(
                                       const std::vector<std::vector<const char *>> &)>
      kinds = {{"gemm", readProducts}, {"fmha-bwd", readBackwards}, {"kernel", readNamed}};
  auto kind = args.empty() ? kinds.end() : kinds.find(args.front());
  const bool isForward = kind == kinds.end();
  std::vector<std::vector<std::string>> lists =
      splitProblems(args.drop_front(isForward ? 0 : 1), isForward ? "--code-object=" : "");
  std::vector<std::vector<const char *>> problems; // point into `lists`
  for (const std::vector<std::string> &list : lists)
    for (std::vector<const char *> &pointers = problems.emplace_back();
         const std::string &arg : list)
      pointers.push_back(arg.c_str());
  auto request = isForward ? readForwards(problems) : kind->second(problems);
  if (!request.ok())
    return request.error();
  return *request ? mutate(**std::move(request)) : Result<int>(exitRight);
}
