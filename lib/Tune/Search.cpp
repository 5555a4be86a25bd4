// The search: batches of candidates, drawn or changed from the best so far, compiled and timed side by side.
#include "hocket/Tune/Tune.h"

#include "Tile/IR/Interleave.h"
#include "Tune/Candidate.h"
#include "Verify/Parallel.h"
#include "hocket/Pipelines/ForwardKernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <chrono>
#include <mutex>
#include <set>

using namespace hocket;
using namespace hocket::tune;

namespace {
/// Candidates between two looks at what was found. Fixed, so that the number of threads changes nothing.
constexpr size_t kBatch = 8;
/// The best so many of a form have offspring.
constexpr size_t kParents = 4;
/// Among the first so many a third is drawn, an eighth of those behind: what is drawn late is rarely near the best.
constexpr size_t kEarly = 64;
/// How often a proposal may turn out known or impossible before the space counts as exhausted.
constexpr unsigned kMaxAttempts = 20000;

class Search {
public:
  Search(std::string_view text, std::string_view name, const Cost &cost, const Options &options)
      : text(text), name(name), cost(cost), options(options), choices(options.seed),
        begin(std::chrono::steady_clock::now()) {
    for (const Trial &trial : options.known)
      known.emplace(std::pair(trial.schedule, trial.kvTile), trial);
  }
  Result<Found> run();

private:
  /// A schedule's text, and keys of a tile (0: not said).
  using Key = std::pair<std::string, int64_t>;
  Result<Algorithm> algorithmOf(std::optional<int64_t> kvTile) const;
  Status readDemands(const Algorithm &start);
  Key keyOf(const Candidate &candidate) const;
  bool isWorthIt(Candidate &candidate) const;
  std::vector<std::vector<size_t>> parents() const;
  std::optional<Candidate> nextNeighbour(size_t parent);
  std::optional<Candidate> propose(const std::vector<std::vector<size_t>> &groups);
  std::vector<Candidate> proposeBatch();
  Result<double> costOf(const attention::CompiledKernel &kernel) const;
  Trial tryOut(const Key &key) const;
  Status runBatch(const std::vector<Candidate> &batch);
  Status record(const Candidate &candidate, Trial trial, bool isNew);
  bool timeIsUp() const;

  std::string_view text, name;
  const Cost &cost;
  const Options &options;
  Choices choices;
  std::chrono::steady_clock::time_point begin;
  StepGraph graph;
  Shapes shapes;
  std::map<int64_t, Demand> demands; ///< by keys of a tile, as far as they are known
  std::map<Key, Trial> known;        ///< of earlier runs
  std::set<Key> seen;
  std::vector<Candidate> candidates; ///< of each trial
  mutable std::mutex costMutex;
  mutable std::map<std::array<uint8_t, 32>, double> costs; ///< by the hash of the code
  std::map<size_t, std::vector<Candidate>> neighbours; ///< of trials that have been asked for some: those that are left
  Found found;
};
} // namespace

std::string_view tune::toString(Outcome outcome) {
  switch (outcome) {
  case Outcome::Timed:
    return "timed";
  case Outcome::Illegal:
    return "illegal";
  case Outcome::Spilled:
    return "spilled";
  case Outcome::Failed:
    return "failed";
  }
  return "";
}

Result<Algorithm> Search::algorithmOf(std::optional<int64_t> kvTile) const {
  CompileOptions compileOptions = options.compile;
  if (kvTile)
    compileOptions.kvTile = kvTile;
  compileOptions.to = Stage::Tile;
  compileOptions.onStage = nullptr;
  compileOptions.drawSchedule = false;
  Result<Compilation> compilation = compile(text, name, compileOptions);
  if (!compilation.ok())
    return compilation.error();
  Result<Algorithm> algorithm = readAlgorithm(compilation->output, name);
  return algorithm.ok() ? Result<Algorithm>(onlyPlaced(*algorithm)) : algorithm.error();
}

/// What candidates need, for tiles of each size. Where schedules choose the size, nothing is known of it.
Status Search::readDemands(const Algorithm &start) {
  int64_t waves = options.compile.waves.value_or(0);
  if (options.compile.kvTile || options.compile.from == Stage::Tile) {
    demands[0] = start.demand;
    demands[0].waves = waves;
  }
  for (int64_t keys : options.kvTiles) {
    Result<Algorithm> algorithm = algorithmOf(keys);
    if (!algorithm.ok())
      return algorithm.error();
    demands[keys] = std::move(algorithm->demand);
    demands[keys].waves = waves;
  }
  return Status::success();
}

Search::Key Search::keyOf(const Candidate &candidate) const {
  return {toText(candidate.table(graph), graph, "tuned"), candidate.keysOfTile()};
}

/// Whether its dependences can be kept, and what is known of LDS and registers does not speak against it.
bool Search::isWorthIt(Candidate &candidate) const {
  if (!candidate.repair(graph))
    return false;
  auto demand = demands.find(candidate.keysOfTile());
  return demand == demands.end() || candidate.mayFit(demand->second);
}

bool Search::timeIsUp() const {
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return options.seconds > 0 && spent.count() > options.seconds;
}

/// What is wrong with a schedule is seen before there is code; behind that, registers are what is wanting.
static Outcome refusal(const CompileFailure &failure) {
  return failure.stage && *failure.stage >= Stage::Asm ? Outcome::Spilled : Outcome::Illegal;
}

/// What the same code cost, if there was some: steps in another order are often the same instructions.
Result<double> Search::costOf(const attention::CompiledKernel &kernel) const {
  llvm::ArrayRef code(reinterpret_cast<const uint8_t *>(kernel.codeObject.data()), kernel.codeObject.size());
  std::array<uint8_t, 32> key = llvm::SHA256::hash(code);
  {
    std::lock_guard lock(costMutex);
    if (auto same = costs.find(key); same != costs.end())
      return same->second;
  }
  Result<double> microseconds = cost(kernel);
  std::lock_guard lock(costMutex);
  if (microseconds.ok())
    costs.emplace(key, *microseconds);
  return microseconds;
}

Trial Search::tryOut(const Key &key) const {
  CompileOptions compileOptions = options.compile;
  compileOptions.to = Stage::HSACO;
  compileOptions.onStage = nullptr;
  compileOptions.drawSchedule = compileOptions.debugInfo = false;
  compileOptions.schedule = "candidate";
  compileOptions.scheduleText = key.first;
  if (key.second != 0)
    compileOptions.kvTile = key.second;
  Trial trial;
  trial.schedule = key.first;
  trial.kvTile = key.second;
  CompileFailure failure;
  Result<Compilation> compilation = compile(text, name, compileOptions, &failure);
  if (!compilation.ok()) {
    trial.outcome = refusal(failure);
    trial.message = compilation.error().message;
    return trial;
  }
  attention::CompiledKernel kernel;
  Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, name);
  if (!manifest.ok()) {
    trial.outcome = Outcome::Failed;
    trial.message = compilation->manifest.empty() ? compilation->noManifest : manifest.error().message;
    return trial;
  }
  kernel.codeObject = std::move(compilation->output);
  kernel.manifest = *std::move(manifest);
  Result<double> microseconds = costOf(kernel);
  trial.outcome = microseconds.ok() ? Outcome::Timed : Outcome::Failed;
  if (microseconds.ok())
    trial.microseconds = *microseconds;
  else
    trial.message = microseconds.error().message;
  return trial;
}

/// The best trials of each form, those of the best form first. Different forms are good in different ways, and a search
/// over the best of all would soon have nothing but variations of one. Equal times are mostly equal code: one stands
/// for all.
std::vector<std::vector<size_t>> Search::parents() const {
  std::vector<std::vector<size_t>> groups;
  std::map<Candidate::Form, size_t> groupOf;
  std::set<std::pair<size_t, double>> times;
  for (size_t index : found.ranking) {
    auto [entry, isNew] = groupOf.try_emplace(candidates[index].form(), groups.size());
    if (isNew)
      groups.emplace_back();
    std::vector<size_t> &group = groups[entry->second];
    if (group.size() < kParents && times.emplace(entry->second, found.trials[index].microseconds).second)
      group.push_back(index);
  }
  return groups;
}

/// One of the small changes of `parent` that was not proposed yet, in random order.
std::optional<Candidate> Search::nextNeighbour(size_t parent) {
  auto [entry, isNew] = neighbours.try_emplace(parent);
  std::vector<Candidate> &left = entry->second;
  if (isNew) {
    Candidate from = candidates[parent];
    from.chooseShape(shapes, choices);
    left = from.neighbours(shapes);
    for (size_t i = left.size(); i > 1; --i)
      std::swap(left[i - 1], left[choices.below(static_cast<int>(i))]);
  }
  if (left.empty())
    return std::nullopt;
  Candidate candidate = std::move(left.back());
  left.pop_back();
  return candidate;
}

/// Some are drawn anew; the others change a parent, of better forms and better ones of a form more often. Of the best
/// of a form all small changes are tried in turn, so that none is missed; between, some larger ones.
std::optional<Candidate> Search::propose(const std::vector<std::vector<size_t>> &groups) {
  if (groups.empty() || choices.chance(1, found.trials.size() < kEarly ? 3 : 8)) {
    Candidate candidate = Candidate::draw(graph, shapes, choices);
    return isWorthIt(candidate) ? std::optional(candidate) : std::nullopt;
  }
  auto pick = [&](size_t count) { return std::min<size_t>(choices.few(8), count - 1); };
  const std::vector<size_t> &group = groups[pick(groups.size())];
  std::optional<Candidate> near = choices.chance(2, 3) ? nextNeighbour(group.front()) : std::nullopt;
  if (near)
    return isWorthIt(*near) ? near : std::nullopt;
  Candidate candidate = candidates[group[pick(group.size())]];
  candidate.chooseShape(shapes, choices);
  for (int changes = 1 + choices.few(2); changes > 0; --changes)
    candidate.change(shapes, choices);
  return isWorthIt(candidate) ? std::optional(candidate) : std::nullopt;
}

std::vector<Candidate> Search::proposeBatch() {
  std::vector<Candidate> batch;
  size_t wanted = std::min<size_t>(kBatch, options.candidates - found.trials.size());
  std::vector<std::vector<size_t>> groups = parents();
  for (unsigned attempt = 0; attempt != kMaxAttempts && batch.size() < wanted; ++attempt)
    if (std::optional<Candidate> candidate = propose(groups))
      if (seen.insert(keyOf(*candidate)).second)
        batch.push_back(*std::move(candidate));
  return batch;
}

Status Search::record(const Candidate &candidate, Trial trial, bool isNew) {
  size_t number = found.trials.size();
  candidates.push_back(candidate);
  found.trials.push_back(std::move(trial));
  const Trial &made = found.trials.back();
  if (made.outcome == Outcome::Timed)
    found.ranking.insert(
        llvm::upper_bound(found.ranking, number,
                          [&](size_t a, size_t b) {
                            return found.trials[a].microseconds < found.trials[b].microseconds;
                          }),
        number);
  if (!isNew || !options.onTrial)
    return Status::success();
  return options.onTrial(made, number, found.ranking.empty() ? made : found.trials[found.ranking.front()]);
}

Status Search::runBatch(const std::vector<Candidate> &batch) {
  std::vector<Trial> trials(batch.size());
  std::vector<char> isNew(batch.size());
  verify::parallelFor(static_cast<int64_t>(batch.size()), options.threads, [&](int64_t index) {
    Key key = keyOf(batch[index]);
    auto earlier = known.find(key);
    isNew[index] = earlier == known.end();
    trials[index] = isNew[index] ? tryOut(key) : earlier->second;
  });
  for (size_t index = 0; index != batch.size(); ++index)
    if (Status status = record(batch[index], std::move(trials[index]), isNew[index]); !status.ok())
      return status;
  return Status::success();
}

/// What clusters of schedules that are drawn begin with: words that a cluster of `start` has.
static std::string interleaveOf(const Table &start) {
  bool streams = false, powers = false, even = false;
  for (const ClusterForm &form : start.clusters) {
    tile::Interleave how = tile::Interleave::of(form.interleave);
    streams |= how.stream, powers |= how.powers, even |= how.even;
  }
  std::string text;
  for (auto [name, has] : {std::pair(kStream, streams), std::pair(kPowers, powers), std::pair(kEven, even)})
    if (has)
      text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

Result<Found> Search::run() {
  Result<Algorithm> algorithm = algorithmOf(std::nullopt);
  if (!algorithm.ok())
    return algorithm.error();
  if (Status status = readDemands(*algorithm); !status.ok())
    return status.error();
  shapes = {options.waves, options.kvTiles, interleaveOf(algorithm->start), algorithm->start.workgroups,
            algorithm->start.masksApart, static_cast<int>(algorithm->demand.simds)};
  graph = std::move(algorithm->graph);
  Candidate first = Candidate::fromTable(algorithm->start, graph);
  seen.insert(keyOf(first));
  if (Status status = runBatch({first}); !status.ok())
    return status.error();
  found.start = found.trials.front();
  if (found.start.outcome != Outcome::Timed)
    return invalidInput("the schedule to start from cannot be timed: " + found.start.message);
  while (found.trials.size() < options.candidates && !timeIsUp()) {
    std::vector<Candidate> batch = proposeBatch();
    if (batch.empty())
      break;
    if (Status status = runBatch(batch); !status.ok())
      return status.error();
  }
  return std::move(found);
}

Result<Found> tune::tuneSchedule(std::string_view text, std::string_view name, const Cost &cost,
                                 const Options &options) {
  if (options.candidates == 0)
    return invalidInput("a search needs at least one candidate");
  return Search(text, name, cost, options).run();
}
