// The search: batches of candidates, drawn or changed from the best so far, compiled and timed side by side.
#include "hocket/Tune/Tune.h"

#include "Conversion/TileShape.h"
#include "Tile/IR/Interleave.h"
#include "Tune/Candidate.h"
#include "Verify/Parallel.h"
#include "hocket/Pipelines/ForwardKernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

using namespace hocket;
using namespace hocket::tune;

namespace {
/// Candidates between two looks at what was found. Fixed, so that the number of threads changes nothing.
constexpr size_t kBatch = 8;
/// The best so many of a form have offspring.
constexpr size_t kParents = 4;
/// Of the first so many three quarters are drawn, an eighth of those behind: what is drawn late is rarely near the best.
constexpr size_t kEarly = 96;
/// Who takes so many times as long as the best in the preview is not timed.
constexpr double kSlower = 1.03;
/// After so many proposals in vain a form, or an island, counts as twice as slow as it is: others have their turn.
constexpr double kFormPatience = 400, kIslandPatience = 1600;
/// What is better by less than this share was still in vain.
constexpr double kProgress = 0.003;
/// How often a proposal may turn out known or impossible before the space counts as exhausted.
constexpr unsigned kMaxAttempts = 20000;

/// A change and its number (Neighbour).
using ChangeKey = std::pair<Change, int>;

struct Proposal {
  Candidate candidate;
  std::optional<ChangeKey> change; ///< the only one of `parent` that it is
  std::optional<size_t> parent;    ///< none: drawn
};

/// Candidates of one form or island.
struct Family {
  double best = std::numeric_limits<double>::infinity(); ///< score
  double bestBefore = best;                              ///< when the last progress was made
  unsigned inVain = 0;                                   ///< proposals from one of it since then
  double prospect(double patience) const { return best * (1 + inVain / patience); }
  void learn(double score);
};

void Family::learn(double score) {
  best = std::min(best, score);
  if (best >= bestBefore * (1 - kProgress))
    return;
  bestBefore = best;
  inVain = 0;
}

/// The best trials of a form, and those of the forms of an island.
using Group = std::vector<size_t>;
using Groups = std::vector<Group>;

/// What a change has brought where it was tried: by how much it made others slower, the latest trial as much as all before.
struct Effect {
  double slower = 0;
  bool isKnown = false;
  void learn(double factor);
  /// How often it is to be tried beside others. Of none it is known that it is good for nothing.
  int weight() const { return static_cast<int>(1000 / (1 + std::max(slower, -0.5 * kUsual) / kUsual)); }

private:
  /// By so much a change may be for the worse and be tried half as often as one that changes nothing.
  static constexpr double kUsual = 0.02;
};

void Effect::learn(double factor) {
  double now = factor == 1 ? kUsual : std::clamp(factor - 1, -0.5, 0.5); // the same code
  slower = isKnown ? (slower + now) / 2 : now;
  isKnown = true;
}

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
  /// By the hash of the code.
  using Costs = std::map<std::array<uint8_t, 32>, double>;
  Result<Algorithm> algorithmOf(std::optional<int64_t> kvTile) const;
  Status readDemands(const Algorithm &start);
  Key keyOf(const Candidate &candidate) const;
  bool isWorthIt(Candidate &candidate);
  std::vector<Groups> parents() const;
  std::optional<Proposal> nextNeighbour(size_t parent);
  std::optional<Proposal> propose(const std::vector<Groups> &islands);
  std::vector<Proposal> proposeBatch();
  Result<double> costOf(const attention::CompiledKernel &kernel, const Cost &of, Costs &known) const;
  Status time(const attention::CompiledKernel &kernel, double limit, Trial &trial) const;
  std::optional<attention::CompiledKernel> compiled(const Key &key, Trial &trial) const;
  Trial tryOut(const Key &key, double limit) const;
  std::optional<Trial> recall(const Key &key, double limit) const;
  double previewLimit() const;
  Status runBatch(const std::vector<Proposal> &batch);
  Status record(const Proposal &proposal, Trial trial, bool isNew);
  void learn(const Proposal &proposal, double score);
  bool timeIsUp() const;
  Status judgeFinalists();
  Status judge(Trial &finalist) const;

  std::string_view text, name;
  const Cost &cost;
  const Options &options;
  Choices choices;
  std::chrono::steady_clock::time_point begin;
  StepGraph graph;
  Shapes shapes;
  /// What keys of a tile change, as far as it is known: the graph says which steps do nothing then.
  struct OfTile {
    std::optional<Demand> demand;
    std::optional<StepGraph> graph;
  };
  std::map<int64_t, OfTile> tiles; ///< by keys of a tile; 0: not said
  std::map<Key, Trial> known;        ///< of earlier runs
  std::set<Key> seen;
  std::vector<Candidate> candidates; ///< of each trial
  std::vector<double> scores;        ///< of each trial: its cost, or what the preview leads to expect
  std::vector<size_t> order;         ///< the numbers of those that have a score, best first
  /// What is known of kernels; trials of a batch ask for it at the same time.
  struct KnownCosts {
    std::mutex mutex;
    Costs whole, previews;
  };
  mutable KnownCosts costs;
  /// Of trials that have been asked for some: those that are left.
  std::map<size_t, std::vector<Neighbour>> neighbours;
  std::map<ChangeKey, Effect> effects;
  using FormOfIsland = std::pair<Candidate::Island, Candidate::Form>;
  FormOfIsland formOf(const Candidate &candidate) const { return {candidate.island(), candidate.form(graph)}; }
  std::map<Candidate::Island, Family> islands;
  std::map<FormOfIsland, Family> forms;
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
  case Outcome::Slower:
    return "slower";
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
    tiles[0].demand = start.demand;
    tiles[0].demand->waves = waves;
  }
  for (int64_t keys : options.kvTiles) {
    Result<Algorithm> algorithm = algorithmOf(keys);
    if (!algorithm.ok())
      return algorithm.error();
    algorithm->demand.waves = waves;
    tiles[keys] = {std::move(algorithm->demand), std::move(algorithm->graph)};
  }
  return Status::success();
}

Search::Key Search::keyOf(const Candidate &candidate) const {
  return {toText(candidate.table(graph), graph, "tuned"), candidate.keysOfTile()};
}

/// Whether its dependences can be kept, and what is known of LDS and registers does not speak against it. What will
/// hardly fit is tried now and then.
bool Search::isWorthIt(Candidate &candidate) {
  auto found = tiles.find(candidate.keysOfTile());
  static const OfTile unknown;
  const OfTile &own = found == tiles.end() ? unknown : found->second;
  if (!candidate.repair(own.graph ? *own.graph : graph))
    return false;
  if (!own.demand)
    return true;
  Fit fit = candidate.fit(graph, *own.demand);
  return fit == Fit::Yes || (fit == Fit::Tight && choices.chance(1, 4));
}

bool Search::timeIsUp() const {
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return options.seconds > 0 && spent.count() > options.seconds;
}

/// What is wrong with a schedule is seen before there is code; behind that, registers are what is wanting, or Hocket has a
/// bug.
static Outcome refusal(const CompileFailure &failure, const Error &error) {
  if (error.kind == ErrorKind::Internal)
    return Outcome::Failed;
  return failure.stage && *failure.stage >= Stage::Asm ? Outcome::Spilled : Outcome::Illegal;
}

/// What the same code cost, if there was some: steps in another order are often the same instructions.
Result<double> Search::costOf(const attention::CompiledKernel &kernel, const Cost &of, Costs &known) const {
  llvm::ArrayRef code(reinterpret_cast<const uint8_t *>(kernel.codeObject.data()), kernel.codeObject.size());
  std::array<uint8_t, 32> key = llvm::SHA256::hash(code);
  {
    std::lock_guard lock(costs.mutex);
    if (auto same = known.find(key); same != known.end())
      return same->second;
  }
  Result<double> microseconds = of(kernel);
  std::lock_guard lock(costs.mutex);
  if (microseconds.ok())
    known.emplace(key, *microseconds);
  return microseconds;
}

static void callSlower(Trial &trial) {
  trial.outcome = Outcome::Slower;
  trial.microseconds = 0;
  trial.message = "slower than the best on a smaller problem";
}

/// Times `kernel`, on the whole problem if the preview takes no longer than `limit`.
Status Search::time(const attention::CompiledKernel &kernel, double limit, Trial &trial) const {
  if (options.preview) {
    Result<double> preview = costOf(kernel, options.preview, costs.previews);
    if (!preview.ok())
      return preview.error();
    trial.preview = *preview;
    if (trial.preview > limit) {
      callSlower(trial);
      return Status::success();
    }
  }
  Result<double> microseconds = costOf(kernel, cost, costs.whole);
  if (!microseconds.ok())
    return microseconds.error();
  trial.outcome = Outcome::Timed;
  trial.microseconds = *microseconds;
  return Status::success();
}

/// How long a preview may take for the whole problem to be timed.
double Search::previewLimit() const {
  return found.ranking.empty() ? std::numeric_limits<double>::infinity()
                               : kSlower * found.trials[found.ranking.front()].preview;
}

/// The candidate's code; none: `trial` says why.
std::optional<attention::CompiledKernel> Search::compiled(const Key &key, Trial &trial) const {
  CompileOptions compileOptions = options.compile;
  compileOptions.to = Stage::HSACO;
  compileOptions.onStage = nullptr;
  compileOptions.drawSchedule = compileOptions.debugInfo = false;
  compileOptions.schedule = "candidate";
  compileOptions.scheduleText = key.first;
  if (key.second != 0)
    compileOptions.kvTile = key.second;
  CompileFailure failure;
  Result<Compilation> compilation = compile(text, name, compileOptions, &failure);
  if (!compilation.ok()) {
    trial.outcome = refusal(failure, compilation.error());
    trial.message = compilation.error().message;
    return std::nullopt;
  }
  Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, name);
  if (!manifest.ok()) {
    trial.outcome = Outcome::Failed;
    trial.message = compilation->manifest.empty() ? compilation->noManifest : manifest.error().message;
    return std::nullopt;
  }
  attention::CompiledKernel kernel;
  kernel.codeObject = std::move(compilation->output);
  kernel.manifest = *std::move(manifest);
  return kernel;
}

Trial Search::tryOut(const Key &key, double limit) const {
  Trial trial;
  trial.schedule = key.first;
  trial.kvTile = key.second;
  std::optional<attention::CompiledKernel> kernel = compiled(key, trial);
  if (!kernel)
    return trial;
  if (Status status = time(*kernel, limit, trial); !status.ok()) {
    trial.outcome = Outcome::Failed;
    trial.message = status.error().message;
  }
  return trial;
}

/// What an earlier run found, as this one would: whom it timed may be too slow for this one now.
std::optional<Trial> Search::recall(const Key &key, double limit) const {
  auto earlier = known.find(key);
  if (earlier == known.end())
    return std::nullopt;
  Trial trial = earlier->second;
  bool isSlower = options.preview && trial.preview > limit;
  if (trial.outcome == Outcome::Slower && !isSlower)
    return std::nullopt;
  if (trial.outcome == Outcome::Timed && isSlower)
    callSlower(trial);
  return trial;
}

/// What `byProspect` says of a family, best first.
template <class T> static std::vector<T> inOrder(std::vector<std::pair<double, T>> byProspect) {
  llvm::sort(byProspect);
  std::vector<T> result;
  for (auto &[prospect, item] : byProspect)
    result.push_back(std::move(item));
  return result;
}

/// The best trials of each form of each island, those of the best island and form first, as long as proposals from it are
/// not in vain. Different forms are good in different ways, and a search over the best of all would soon have nothing but
/// variations of one; an island that is behind at first needs some hundred trials to show what is in it.
/// Equal times are mostly equal code: one stands for all.
std::vector<Groups> Search::parents() const {
  std::map<Candidate::Island, std::map<Candidate::Form, Group>> all;
  std::set<std::pair<FormOfIsland, double>> times;
  for (size_t index : order) {
    FormOfIsland of = formOf(candidates[index]);
    Group &group = all[of.first][of.second];
    if (group.size() < kParents && times.emplace(of, scores[index]).second)
      group.push_back(index);
  }
  std::vector<std::pair<double, Groups>> result;
  for (auto &[island, groupOf] : all) {
    std::vector<std::pair<double, Group>> groups;
    for (auto &[form, group] : groupOf)
      groups.emplace_back(forms.at({island, form}).prospect(kFormPatience), std::move(group));
    result.emplace_back(islands.at(island).prospect(kIslandPatience), inOrder(std::move(groups)));
  }
  return inOrder(std::move(result));
}

/// One of the small changes of `parent` that was not proposed yet, more often one that was good for others.
std::optional<Proposal> Search::nextNeighbour(size_t parent) {
  auto [entry, isNew] = neighbours.try_emplace(parent);
  std::vector<Neighbour> &left = entry->second;
  if (isNew) {
    Candidate from = candidates[parent];
    from.chooseShape(shapes, choices);
    left = from.neighbours(graph, shapes);
  }
  if (left.empty())
    return std::nullopt;
  std::vector<int> upTo; // sums of weights
  for (const Neighbour &neighbour : left)
    upTo.push_back((upTo.empty() ? 0 : upTo.back()) + effects[{neighbour.kind, neighbour.what}].weight());
  auto chosen = left.begin() + (llvm::upper_bound(upTo, choices.below(upTo.back())) - upTo.begin());
  Proposal proposal{std::move(chosen->candidate), ChangeKey(chosen->kind, chosen->what), parent};
  left.erase(chosen);
  return proposal;
}

/// Some are drawn anew; the others change a parent, of better islands, forms and better ones of a form more often. Of the best
/// of a form all small changes are tried in turn, so that none is missed; between, some larger ones.
std::optional<Proposal> Search::propose(const std::vector<Groups> &islands) {
  auto worthIt = [&](Proposal proposal) {
    return isWorthIt(proposal.candidate) ? std::optional(std::move(proposal)) : std::nullopt;
  };
  bool isEarly = found.trials.size() < kEarly;
  if (islands.empty() || choices.chance(isEarly ? 6 : 1, 8))
    return worthIt({Candidate::draw(graph, shapes, choices), std::nullopt, std::nullopt});
  auto pick = [&](size_t count) { return std::min<size_t>(choices.few(8), count - 1); };
  const Groups &groups = islands[pick(islands.size())];
  const Group &group = groups[pick(groups.size())];
  if (choices.chance(3, 4))
    if (std::optional<Proposal> near = nextNeighbour(group.front()))
      return worthIt(*std::move(near));
  size_t parent = group[pick(group.size())];
  Candidate candidate = candidates[parent];
  candidate.chooseShape(shapes, choices);
  for (int changes = 1 + choices.few(2); changes > 0; --changes)
    candidate.change(shapes, choices);
  return worthIt({std::move(candidate), std::nullopt, parent});
}

std::vector<Proposal> Search::proposeBatch() {
  std::vector<Proposal> batch;
  size_t wanted = std::min<size_t>(kBatch, options.candidates - found.trials.size());
  std::vector<Groups> islands = parents();
  for (unsigned attempt = 0; attempt != kMaxAttempts && batch.size() < wanted; ++attempt)
    if (std::optional<Proposal> proposal = propose(islands))
      if (seen.insert(keyOf(proposal->candidate)).second)
        batch.push_back(*std::move(proposal));
  return batch;
}

/// Puts trial `number` where it belongs among `numbers`, by ascending values; behind its equals.
static void insertSorted(std::vector<size_t> &numbers, size_t number, llvm::function_ref<double(size_t)> value) {
  numbers.insert(llvm::upper_bound(numbers, number, [&](size_t a, size_t b) { return value(a) < value(b); }), number);
}

Status Search::record(const Proposal &proposal, Trial trial, bool isNew) {
  size_t number = found.trials.size();
  candidates.push_back(proposal.candidate);
  found.trials.push_back(std::move(trial));
  const Trial &made = found.trials.back();
  scores.push_back(made.microseconds);
  if (made.outcome == Outcome::Timed)
    insertSorted(found.ranking, number, [&](size_t of) { return found.trials[of].microseconds; });
  if (made.outcome == Outcome::Slower) {
    const Trial &best = found.trials[found.ranking.front()];
    scores.back() = made.preview * best.microseconds / best.preview;
  }
  if (made.outcome == Outcome::Timed || made.outcome == Outcome::Slower)
    insertSorted(order, number, [&](size_t of) { return scores[of]; });
  learn(proposal, scores.back() ? scores.back() : std::numeric_limits<double>::infinity());
  if (!isNew || !options.onTrial)
    return Status::success();
  return options.onTrial(made, number, found.ranking.empty() ? made : found.trials[found.ranking.front()]);
}

/// Which kinds of changes are good for something, and which forms.
void Search::learn(const Proposal &proposal, double score) {
  if (proposal.change && scores[*proposal.parent] > 0)
    effects[*proposal.change].learn(score / scores[*proposal.parent]);
  if (proposal.parent) {
    const Candidate &parent = candidates[*proposal.parent];
    ++islands[parent.island()].inVain;
    ++forms[formOf(parent)].inVain;
  }
  islands[proposal.candidate.island()].learn(score);
  forms[formOf(proposal.candidate)].learn(score);
}

Status Search::runBatch(const std::vector<Proposal> &batch) {
  std::vector<Trial> trials(batch.size());
  std::vector<char> isNew(batch.size());
  double limit = previewLimit();
  verify::parallelFor(static_cast<int64_t>(batch.size()), options.threads, [&](int64_t index) {
    Key key = keyOf(batch[index].candidate);
    std::optional<Trial> earlier = recall(key, limit);
    isNew[index] = !earlier;
    trials[index] = earlier ? *std::move(earlier) : tryOut(key, limit);
  });
  for (size_t index = 0; index != batch.size(); ++index)
    if (Status status = record(batch[index], std::move(trials[index]), isNew[index]); !status.ok())
      return status;
  return Status::success();
}

/// The finalist's mean.
Status Search::judge(Trial &finalist) const {
  std::optional<attention::CompiledKernel> kernel = compiled({finalist.schedule, finalist.kvTile}, finalist);
  if (!kernel)
    return invalidInput("a schedule that was timed does not compile any more: " + finalist.message);
  double logarithms = std::log(finalist.microseconds);
  for (const Cost &variant : options.variants) {
    Result<double> microseconds = variant(*kernel);
    if (!microseconds.ok())
      return microseconds.error();
    logarithms += std::log(*microseconds);
  }
  finalist.mean = std::exp(logarithms / (options.variants.size() + 1.0));
  return Status::success();
}

/// Who is ahead by what the cost does not know for sure is not ahead: the best are compared under other assumptions.
Status Search::judgeFinalists() {
  std::vector<size_t> finalists;
  for (size_t index : found.ranking)
    if (finalists.size() < options.finalists &&
        (finalists.empty() || found.trials[finalists.back()].microseconds != found.trials[index].microseconds))
      finalists.push_back(index);
  std::vector<Status> statuses(finalists.size(), Status::success());
  verify::parallelFor(static_cast<int64_t>(finalists.size()), options.threads,
                      [&](int64_t i) { statuses[i] = judge(found.trials[finalists[i]]); });
  for (const Status &status : statuses)
    if (!status.ok())
      return status;
  llvm::sort(finalists, [&](size_t a, size_t b) {
    return std::pair(found.trials[a].mean, a) < std::pair(found.trials[b].mean, b);
  });
  llvm::erase_if(found.ranking, [&](size_t index) { return found.trials[index].mean != 0; });
  found.ranking.insert(found.ranking.begin(), finalists.begin(), finalists.end());
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
  shapes = {options.waves, options.kvTiles, options.workgroups, interleaveOf(algorithm->start), algorithm->start.workgroups,
            algorithm->start.masksApart, algorithm->start.polynomials, static_cast<int>(algorithm->demand.simds)};
  graph = std::move(algorithm->graph);
  Candidate first = Candidate::fromTable(algorithm->start, graph);
  seen.insert(keyOf(first));
  if (Status status = runBatch({{first, std::nullopt, std::nullopt}}); !status.ok())
    return status.error();
  found.start = found.trials.front();
  if (found.start.outcome != Outcome::Timed)
    return invalidInput("the schedule to start from cannot be timed: " + found.start.message);
  while (found.trials.size() < options.candidates && !timeIsUp()) {
    std::vector<Proposal> batch = proposeBatch();
    if (batch.empty())
      break;
    if (Status status = runBatch(batch); !status.ok())
      return status.error();
  }
  if (!options.variants.empty())
    if (Status status = judgeFinalists(); !status.ok())
      return status.error();
  found.start = found.trials.front();
  return std::move(found);
}

/// What a search may choose from, as `attn.forward` takes it.
static Status checkChoices(const Options &options) {
  for (int64_t waves : options.waves)
    if (waves < 1 || waves > kMaxWaves)
      return invalidInput("waves to choose from are " + std::to_string(waves) + ", expected 1 to " +
                          std::to_string(kMaxWaves));
  for (int64_t workgroups : options.workgroups)
    if (workgroups < 1 || workgroups > tile::kMaxWorkgroups)
      return invalidInput("workgroups to choose from are " + std::to_string(workgroups) + ", expected 1 to " +
                          std::to_string(tile::kMaxWorkgroups));
  return Status::success();
}

Result<Found> tune::tuneSchedule(std::string_view text, std::string_view name, const Cost &cost,
                                 const Options &options) {
  if (options.candidates == 0)
    return invalidInput("a search needs at least one candidate");
  if (Status status = checkChoices(options); !status.ok())
    return status.error();
  return Search(text, name, cost, options).run();
}
