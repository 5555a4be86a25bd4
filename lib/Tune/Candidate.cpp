#include "Tune/Candidate.h"

#include "Tile/IR/Interleave.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::tune;

namespace {
/// Beyond these nothing was ever gained, and LDS or registers give out.
constexpr int kMaxClusters = 8, kMaxUnroll = 4, kMaxOffset = 8;
/// Registers for addresses and for what steps make and use themselves, at least.
constexpr int64_t kBeside = 32;
} // namespace

int Candidate::floorCluster(int at) const { return at - floorDivide(at, clusters) * clusters; }

/// Barriers of an iteration.
int Candidate::phases() const { return clusters - static_cast<int>(llvm::count(joined, true)); }

int Candidate::phaseOf(int at) const {
  int begun = 0;
  for (int cluster = 1; cluster <= floorCluster(at); ++cluster)
    begun += !joined[cluster];
  return floorDivide(at, clusters) * phases() + begun;
}

Candidate Candidate::fromTable(const Table &table, const StepGraph &graph) {
  Candidate result;
  result.clusters = static_cast<int>(table.clusters.size());
  result.unroll = table.unroll, result.waveGroups = table.waveGroups;
  result.waves = table.waves, result.workgroups = table.workgroups, result.kvTile = table.kvTile;
  result.masksApart = table.masksApart, result.polynomials = table.polynomials;
  result.position.assign(graph.steps.size(), 0);
  result.rank.assign(graph.steps.size(), 0);
  std::vector<bool> multiplies(table.clusters.size());
  for (auto [order, place] : llvm::enumerate(table.places)) {
    result.position[place.step] = static_cast<int>(place.cluster) - place.offset * result.clusters;
    result.rank[place.step] = static_cast<int>(order);
    if (graph.steps[place.step].multiplies)
      multiplies[place.cluster] = true;
  }
  for (auto [index, form] : llvm::enumerate(table.clusters)) {
    result.priority.push_back(form.priority);
    result.interleave.push_back(form.interleave);
    result.joined.push_back(form.joined);
    result.otherKind.push_back(form.compute != multiplies[index]);
  }
  if (result.unroll == result.unrollFor(graph))
    result.unroll = 0;
  return result;
}

/// With as many slots as ScheduleModel.h gives a ring.
int Candidate::slotsBetween(size_t fill, size_t read) const {
  return floorDivide(phaseOf(position[read]) + waveGroups - 1 - phaseOf(position[fill]), phases()) + 1;
}

/// So many copies of the loop's body that in each it is known which slot of a ring is whose.
int Candidate::unrollFor(const StepGraph &graph) const {
  int all = 1, most = 1;
  for (const Dependence &dependence : graph.dependences)
    if (dependence.throughLds) {
      int slots = std::clamp(slotsBetween(dependence.from, dependence.to), 1, kMaxUnroll);
      all = std::lcm(all, slots), most = std::max(most, slots);
    }
  return all <= kMaxUnroll ? all : most;
}

/// The first position at which `step` may stand, for dependences on steps in front of it.
static int earliest(const StepGraph &graph, const std::vector<int> &position, size_t step, int lag) {
  int first = 0;
  for (const Dependence &dependence : graph.dependences)
    if (dependence.to == step && dependence.from < step && dependence.tiles == 0)
      first = std::max(first, position[dependence.from] + (dependence.throughLds ? 1 + lag : 0));
  return first;
}

/// One of `from`; 0 of none.
static int oneOf(const std::vector<int64_t> &from, Choices &choices) {
  return from.empty() ? 0 : static_cast<int>(from[choices.below(static_cast<int>(from.size()))]);
}

/// `text` with `word` if it lacks that, else without; alone, in the place of slots.
static std::string toggled(const std::string &text, std::string_view word) {
  tile::Interleave read = tile::Interleave::of(text);
  if (read.none || !read.slots.empty())
    return std::string(word);
  std::string result;
  if (word == kSpread) // which "stream" does not go with
    read.stream = false;
  if (word == kStream)
    read.spread = false;
  for (auto [name, has] : {std::pair(kStream, read.stream), std::pair(kAcross, read.across),
                           std::pair(kSpread, read.spread), std::pair(kPowers, read.powers),
                           std::pair(kEven, read.even)})
    if (has != (name == word))
      result += (result.empty() ? "" : " ") + std::string(name);
  return result;
}

/// Whether `step` only brings nearer what others fetched: it needs nothing but what lies in LDS.
static bool readsOnly(const StepGraph &graph, size_t step) {
  bool reads = false;
  for (const Dependence &dependence : graph.dependences)
    if (dependence.to == step) {
      if (!dependence.throughLds)
        return false;
      reads = true;
    }
  return reads && !graph.steps[step].multiplies;
}

/// Whether `step` brings tiles nearer and does nothing else.
static bool brings(const StepGraph &graph, size_t step) {
  return graph.steps[step].fetches || readsOnly(graph, step);
}

/// The first position at which something uses what `step` makes of a tile.
static std::optional<int> firstUse(const StepGraph &graph, const std::vector<int> &position, size_t step,
                                   bool throughLds = false) {
  std::optional<int> use;
  for (const Dependence &dependence : graph.dependences)
    if (dependence.from == step && dependence.tiles == 0 && dependence.throughLds == throughLds)
      use = std::min(use.value_or(position[dependence.to]), position[dependence.to]);
  return use;
}

Candidate Candidate::draw(const StepGraph &graph, const Shapes &shapes, Choices &choices) {
  Candidate result;
  result.masksApart = shapes.masksApart, result.workgroups = shapes.workgroups;
  result.polynomials = shapes.polynomials;
  result.chooseShape(shapes, choices);
  // What is alone on its SIMD has nobody to take turns with.
  result.waveGroups = result.isAlone(shapes) ? 1 : 1 + choices.below(2);
  // Two groups take turns at the matrix unit: clusters that use it alternate with others, mostly one for each product.
  int products = static_cast<int>(llvm::count_if(graph.steps, [](const Step &step) { return step.multiplies; }));
  result.clusters = result.waveGroups == 1  ? 1 + choices.below(4)
                    : choices.chance(2, 3) ? 2 * std::clamp(products, 1, kMaxClusters / 2)
                                           : 2 * (1 + choices.below(3));
  result.joined.assign(result.clusters, false);
  for (int cluster = 1; result.waveGroups == 1 && cluster < result.clusters; ++cluster)
    result.joined[cluster] = choices.chance(1, 4);
  result.drawSteps(graph, choices);
  result.useLate(graph, choices);
  result.readLate(graph, choices);
  result.fetchAhead(graph, choices);
  result.drawForms(graph, shapes, choices);
  result.drawOrder(graph, choices);
  return result;
}

/// A pipeline: most steps as early as what they need allows, the others begin another cluster, half of the times so
/// where they would wait for a product of their own. Products stand each in a cluster of its own, or all in one, or come
/// as they may.
void Candidate::drawSteps(const StepGraph &graph, Choices &choices) {
  position.assign(graph.steps.size(), 0);
  enum { Apart, AsTheyCome, Together } products = std::array{Apart, Apart, AsTheyCome, Together}[choices.below(4)];
  std::vector<bool> hasProduct(clusters);
  for (size_t step = 0; step != position.size(); ++step) {
    const bool multiplies = graph.steps[step].multiplies;
    int at = earliest(graph, position, step, waveGroups - 1);
    bool waits = llvm::any_of(graph.dependences, [&](const Dependence &dependence) {
      return dependence.to == step && dependence.tiles == 0 && graph.steps[dependence.from].multiplies;
    });
    if (choices.chance(1, waits ? 2 : 5))
      at += 1 + choices.few(clusters - 1);
    if (multiplies && waveGroups == 2 && at % 2 == 0)
      ++at;
    bool moves = multiplies && products != AsTheyCome && llvm::is_contained(hasProduct, true);
    for (int tries = 0; moves && hasProduct[floorCluster(at)] == (products == Apart) && tries != clusters; ++tries)
      at += waveGroups;
    position[step] = at;
    if (multiplies)
      hasProduct[floorCluster(at)] = true;
  }
}

bool Candidate::multiplies(const StepGraph &graph, int cluster) const {
  return llvm::any_of(stepsIn(cluster), [&](size_t step) { return graph.steps[step].multiplies; });
}

/// What clusters are: of two words that are for waves which read and fetch beneath products, each half of the times, and
/// a quarter of the times that operands come piece by piece; raised priority where something multiplies, or in every
/// other cluster, or nowhere.
void Candidate::drawForms(const StepGraph &graph, const Shapes &shapes, Choices &choices) {
  rank.resize(position.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::string text = shapes.interleave;
  for (std::string_view word : {kSpread, kAcross})
    if (choices.chance(1, 2))
      text = toggled(text, word);
  if (choices.chance(1, 4))
    text = toggled(text, kStream);
  interleave.assign(clusters, text);
  otherKind.assign(clusters, false);
  priority.assign(clusters, -1);
  int raised = choices.below(3);
  for (int cluster = 0; cluster != clusters; ++cluster)
    if ((raised == 1 && multiplies(graph, cluster)) || (raised == 2 && cluster % 2 == 1))
      priority[cluster] = 1;
}

/// As the steps of a tile follow each other; or so that little is cut into pieces and little is waited for: where
/// something multiplies, what branches comes first and what is only brought nearer last, elsewhere reads first.
void Candidate::drawOrder(const StepGraph &graph, Choices &choices) {
  if (choices.chance(1, 3))
    return;
  int count = static_cast<int>(position.size());
  for (int step = 0; step != count; ++step) {
    bool busy = multiplies(graph, floorCluster(position[step]));
    int place = busy ? (graph.steps[step].branches ? 0 : brings(graph, step) ? 2 : 1)
                     : (brings(graph, step) ? 0 : 1);
    rank[step] = place * count + step;
  }
}

/// Of what is neither read nor multiplied some is put off until it is used.
void Candidate::useLate(const StepGraph &graph, Choices &choices) {
  for (size_t step = graph.steps.size(); step-- != 0;) {
    if (graph.steps[step].multiplies || graph.steps[step].fetches || readsOnly(graph, step) || !choices.chance(1, 3))
      continue;
    if (std::optional<int> use = firstUse(graph, position, step))
      position[step] = *use;
  }
}

/// Operands take many registers: mostly they are read right before their use, in the cluster before or beneath what
/// multiplies with those of the tile before, and one earlier where two groups take turns at the matrix unit.
void Candidate::readLate(const StepGraph &graph, Choices &choices) {
  const int ways[] = {0, 1, clusters};
  int ahead = ways[choices.below(3)];
  for (size_t step = 0; step != graph.steps.size(); ++step) {
    if (!readsOnly(graph, step) || choices.chance(1, 4))
      continue;
    if (std::optional<int> use = firstUse(graph, position, step))
      position[step] = *use - (waveGroups - 1) - ahead;
  }
}

/// What is fetched has to be there when it is read: mostly memory is given the time of a tile or two, and as much for
/// all.
void Candidate::fetchAhead(const StepGraph &graph, Choices &choices) {
  int ahead = choices.chance(1, 4) ? choices.below(clusters) : clusters - 1 + choices.below(clusters + 1);
  for (size_t step = 0; step != graph.steps.size(); ++step) {
    if (!graph.steps[step].fetches)
      continue;
    if (std::optional<int> use = firstUse(graph, position, step, /*throughLds=*/true))
      position[step] = *use - waveGroups - ahead - (choices.chance(1, 4) ? 1 : 0);
  }
}

/// The number of a change: of what, in which way, at which end.
static int numbered(size_t what, size_t way, size_t end = 0) {
  return static_cast<int>((what * 1024 + way) * 2 + end);
}

/// In front of all others of its cluster, or behind them.
static int placedIn(bool front, const std::vector<int> &rank) {
  return front ? *llvm::min_element(rank) - 1 : *llvm::max_element(rank) + 1;
}

void Candidate::moveSteps(Choices &choices) {
  int count = static_cast<int>(position.size());
  size_t step = choices.below(count);
  switch (choices.below(6)) {
  case 0: // a step within its cluster
    rank[step] = placedIn(choices.chance(1, 2), rank);
    break;
  case 1: { // everything from a position on, by clusters or a tile
    int from = position[step], by = choices.sign() * (choices.chance(1, 3) ? clusters : 1);
    for (int &at : position)
      at += at >= from ? by : 0;
    break;
  }
  case 2: // a step by whole tiles
    position[step] += choices.sign() * clusters;
    break;
  default:
    position[step] += choices.sign() * (1 + choices.few(2));
    rank[step] = placedIn(choices.chance(1, 2), rank);
  }
}

void Candidate::insertCluster(int before) {
  for (int &at : position) {
    int turn = floorDivide(at, clusters), index = floorCluster(at);
    at = turn * (clusters + 1) + index + (index >= before ? 1 : 0);
  }
  ++clusters;
  priority.insert(priority.begin() + before, -1);
  interleave.insert(interleave.begin() + before, interleave[std::min<size_t>(before, interleave.size() - 1)]);
  joined.insert(joined.begin() + before, false);
  otherKind.insert(otherKind.begin() + before, false);
}

/// What stood in it goes to the one before; in the first, to the one behind. A barrier in front of it stays.
void Candidate::removeCluster(int index) {
  if (index + 1 < clusters && !joined[index])
    joined[index + 1] = false;
  for (int &at : position) {
    int turn = floorDivide(at, clusters), own = floorCluster(at);
    at = turn * (clusters - 1) + own - (own > index || (own == index && own > 0) ? 1 : 0);
  }
  --clusters;
  priority.erase(priority.begin() + index);
  interleave.erase(interleave.begin() + index);
  joined.erase(joined.begin() + index);
  joined.front() = false;
  otherKind.erase(otherKind.begin() + index);
}

void Candidate::changeClusters(Choices &choices) {
  bool grows = clusters == 1 || (clusters < kMaxClusters && choices.chance(1, 2));
  int index = choices.below(clusters);
  if (grows)
    insertCluster(index);
  else
    removeCluster(index);
}

void Candidate::chooseShape(const Shapes &shapes, Choices &choices) {
  waves = waves ? waves : oneOf(shapes.waves, choices);
  kvTile = kvTile ? kvTile : oneOf(shapes.kvTiles, choices);
  if (workgroups == 0 && !shapes.workgroupCounts.empty())
    workgroups = oneOf(shapes.workgroupCounts, choices);
}

void Candidate::changeForm(const Shapes &shapes, Choices &choices) {
  int cluster = choices.below(clusters);
  switch (choices.below(shapes.waves.size() + shapes.kvTiles.size() + shapes.workgroupCounts.size() < 2 ? 6 : 7)) {
  case 0:
    unroll = choices.below(kMaxUnroll + 1);
    break;
  case 1:
    waveGroups = 3 - waveGroups;
    joined.assign(clusters, false);
    break;
  case 2: // against the other group, or another workgroup on the compute unit
    priority[cluster] = priority[cluster] > 0 ? -1 : 1;
    break;
  case 3:
    otherKind[cluster] = !otherKind[cluster];
    break;
  case 4: { // products in front of branches, LDS busy evenly; powers beneath products; no wave ahead
    static constexpr std::string_view words[] = {kAcross, kSpread, kStream, kAcross, kSpread, kStream, kPowers, kEven};
    std::string_view word = words[choices.below(std::size(words))];
    interleave[cluster] = toggled(interleave[cluster], word);
    break;
  }
  case 5: // a barrier less or more
    joined[cluster] = cluster != 0 && waveGroups == 1 && !joined[cluster];
    break;
  default:
    waves = oneOf(shapes.waves, choices), kvTile = oneOf(shapes.kvTiles, choices);
    if (!shapes.workgroupCounts.empty())
      workgroups = oneOf(shapes.workgroupCounts, choices);
  }
}

void Candidate::change(const Shapes &shapes, Choices &choices) {
  int kind = choices.below(10);
  if (kind < 8)
    return moveSteps(choices);
  if (kind == 8)
    return changeClusters(choices);
  changeForm(shapes, choices);
}

/// A copy among `to`, for a change of it.
Candidate &Candidate::add(Neighbours &to, Change kind, int what) const {
  to.push_back({*this, kind, what});
  return to.back().candidate;
}

/// A step in another cluster, there in front of all others or behind them; everything from a position on.
void Candidate::addMoves(Neighbours &to) const {
  std::vector<int> ways = {1, -1, clusters, -clusters};
  for (size_t step = 0; step != position.size(); ++step)
    for (size_t way = 0; way != ways.size(); ++way) {
      if (llvm::is_contained(llvm::ArrayRef(ways).take_front(way), ways[way]))
        continue;
      for (bool front : {true, false}) {
        Candidate &moved = add(to, Change::Move, numbered(step, way, front));
        moved.position[step] += ways[way];
        moved.rank[step] = placedIn(front, rank);
      }
    }
  std::vector<int> places = position;
  llvm::sort(places);
  places.erase(llvm::unique(places), places.end());
  for (int from : llvm::drop_begin(places))
    for (int by : {1, -1}) {
      size_t first = llvm::find(position, from) - position.begin();
      for (int &at : add(to, Change::MoveAll, numbered(first, by > 0)).position)
        at += at >= from ? by : 0;
    }
}

/// A step in front of all others of its cluster, behind them, or behind the next.
void Candidate::addOrders(Neighbours &to) const {
  for (int cluster = 0; cluster != clusters; ++cluster) {
    std::vector<size_t> steps = stepsIn(cluster);
    for (size_t at = 0; at != steps.size(); ++at) {
      for (bool front : {true, false})
        add(to, Change::Order, numbered(steps[at], front)).rank[steps[at]] = placedIn(front, rank);
      if (at + 1 == steps.size())
        continue;
      Candidate &swapped = add(to, Change::Order, numbered(steps[at], 2));
      std::swap(swapped.rank[steps[at]], swapped.rank[steps[at + 1]]);
    }
  }
}

/// `first`, all that needs it of the same tile and what only these need (their operands).
static std::vector<bool> withFollowers(const StepGraph &graph, size_t first) {
  std::vector<bool> result(graph.steps.size());
  result[first] = true;
  for (bool grows = true; grows;) {
    grows = false;
    std::vector<bool> used(result.size()), usedByOthers(result.size());
    for (const Dependence &dependence : graph.dependences) {
      if (dependence.tiles != 0)
        continue;
      if (result[dependence.from] && !result[dependence.to])
        result[dependence.to] = grows = true;
      (result[dependence.to] ? used : usedByOthers)[dependence.from] = true;
    }
    for (size_t step = 0; step != result.size(); ++step)
      if (!result[step] && used[step] && !usedByOthers[step] && brings(graph, step))
        result[step] = grows = true;
  }
  return result;
}

/// A step with its followers by a cluster or a tile: what stands in front of it runs so much further ahead.
void Candidate::addRetimed(const StepGraph &graph, Neighbours &to) const {
  for (size_t first = 0; first != position.size(); ++first) {
    std::vector<bool> moves = withFollowers(graph, first);
    for (auto [way, by] : llvm::enumerate(std::array{1, -1, clusters, -clusters})) {
      Candidate &moved = add(to, Change::Retime, numbered(first, way));
      for (size_t step = 0; step != moves.size(); ++step)
        moved.position[step] += moves[step] ? by : 0;
    }
  }
}

/// All operands read so far in front of their use; their tiles are fetched as far ahead of that as before.
void Candidate::readAhead(const StepGraph &graph, int ahead) {
  for (size_t step = 0; step != position.size(); ++step) {
    std::optional<int> use = readsOnly(graph, step) ? firstUse(graph, position, step) : std::nullopt;
    if (!use)
      continue;
    int by = *use - (waveGroups - 1) - ahead - position[step];
    position[step] += by;
    for (const Dependence &dependence : graph.dependences)
      if (dependence.to == step && dependence.throughLds && graph.steps[dependence.from].fetches)
        position[dependence.from] += by;
  }
}

/// All operands earlier or later at once, since one alone keeps what the other gives free; all fetches.
void Candidate::addOperands(const StepGraph &graph, Neighbours &to) const {
  for (auto [way, ahead] : llvm::enumerate(std::array{0, 1, clusters}))
    add(to, Change::RetimeAll, numbered(0, way)).readAhead(graph, ahead);
  for (auto [way, by] : llvm::enumerate(std::array{1, -1, clusters, -clusters})) {
    Candidate &moved = add(to, Change::RetimeAll, numbered(1, way));
    for (size_t step = 0; step != position.size(); ++step)
      moved.position[step] += graph.steps[step].fetches ? by : 0;
  }
}

/// Each cluster in two, behind every one of its steps, with a barrier between and without.
void Candidate::addSplits(Neighbours &to) const {
  if (clusters == kMaxClusters)
    return;
  for (int cluster = 0; cluster != clusters; ++cluster) {
    std::vector<size_t> steps = stepsIn(cluster);
    for (size_t first = 1; first < steps.size(); ++first)
      for (bool join : {false, true}) {
        if (join && waveGroups == 2)
          continue;
        Candidate &split = add(to, Change::Split, numbered(steps[first], join));
        split.insertCluster(cluster + 1);
        split.joined[cluster + 1] = join;
        split.interleave[cluster + 1] = interleave[cluster];
        split.priority[cluster + 1] = priority[cluster];
        for (size_t step : llvm::ArrayRef(steps).drop_front(first))
          ++split.position[step];
      }
  }
}

void Candidate::addClusterForms(const StepGraph &graph, Neighbours &to) const {
  constexpr std::array words = {kSpread, kAcross, kStream};
  for (auto [way, word] : llvm::enumerate(words)) {
    std::string text = toggled(interleave.front(), word);
    add(to, Change::FormAll, numbered(way, 0)).interleave.assign(clusters, text);
  }
  for (int cluster = 0; cluster != clusters; ++cluster) {
    size_t ways = 0;
    auto next = [&]() -> Candidate & {
      return add(to, Change::Form, numbered(ways++, multiplies(graph, cluster)));
    };
    for (std::string_view word : words)
      next().interleave[cluster] = toggled(interleave[cluster], word);
    next().priority[cluster] = priority[cluster] > 0 ? -1 : 1;
    next().otherKind[cluster] = !otherKind[cluster];
    if (clusters < kMaxClusters)
      next().insertCluster(cluster);
    if (clusters > 1)
      next().removeCluster(cluster);
    if (cluster != 0 && waveGroups == 1)
      next().joined[cluster] = !joined[cluster];
  }
}

void Candidate::addShapes(const Shapes &shapes, Neighbours &to) const {
  auto addWith = [&](int Candidate::*member, int value, size_t which) {
    if (this->*member != value)
      add(to, Change::Shape, numbered(which, value)).*member = value;
  };
  for (int count = 0; count <= kMaxUnroll; ++count)
    addWith(&Candidate::unroll, count, 0);
  if (!isAlone(shapes)) {
    Candidate &other = add(to, Change::Shape, numbered(1, waveGroups));
    other.waveGroups = 3 - waveGroups;
    other.joined.assign(clusters, false);
  }
  for (int64_t count : shapes.waves)
    addWith(&Candidate::waves, static_cast<int>(count), 2);
  for (int64_t keys : shapes.kvTiles)
    addWith(&Candidate::kvTile, static_cast<int>(keys), 3);
  for (int64_t count : shapes.workgroupCounts)
    addWith(&Candidate::workgroups, static_cast<int>(count), 4);
}

std::vector<Neighbour> Candidate::neighbours(const StepGraph &graph, const Shapes &shapes) const {
  Neighbours result;
  addMoves(result);
  addOrders(result);
  addRetimed(graph, result);
  addOperands(graph, result);
  addSplits(result);
  addClusterForms(graph, result);
  addShapes(shapes, result);
  return result;
}

/// Whether `dependence` is kept; if not, moves one of its steps by the least that helps it.
bool Candidate::settle(const StepGraph &graph, const Dependence &dependence) {
  int &from = position[dependence.from], &to = position[dependence.to];
  int made = from - dependence.tiles * clusters;
  if (!dependence.throughLds) {
    if (made < to || (made == to && rank[dependence.from] < rank[dependence.to]))
      return true;
    if (made == to)
      rank[dependence.to] = rank[dependence.from] + 1;
    else if (graph.steps[dependence.from].fetches)
      from -= made - to;
    else
      to = made;
    return false;
  }
  auto isComplete = [&] { return phaseOf(from - dependence.tiles * clusters) + waveGroups <= phaseOf(to); };
  if (isComplete())
    return true;
  while (!isComplete())
    graph.steps[dependence.from].fetches ? --from : ++to;
  return false;
}

bool Candidate::repair(const StepGraph &graph) {
  // Every round moves something by the least that helps; what circles never settles and is given up.
  for (size_t round = 0; round != 4 * graph.steps.size(); ++round) {
    bool kept = true;
    for (const Dependence &dependence : graph.dependences)
      kept &= settle(graph, dependence);
    if (kept) {
      normalize(graph);
      return llvm::all_of(position, [&](int at) {
        return std::abs(floorDivide(at, clusters)) <= kMaxOffset;
      });
    }
  }
  return false;
}

/// What the rings take.
int64_t Candidate::ldsBytes(const Demand &demand) const {
  int64_t bytes = 0;
  for (const RingDemand &ring : demand.rings) {
    int slots = 1;
    for (size_t read : ring.reads)
      slots = std::max(slots, slotsBetween(ring.fills, read));
    bytes += slots * ring.tileBytes;
  }
  return bytes;
}

/// What lies in a lane's registers behind a cluster: of each value those tiles that have been made and are still used.
int64_t Candidate::registersBehind(int cluster, const Demand &demand) const {
  int64_t registers = demand.always;
  for (const ValueDemand &value : demand.values) {
    int made = position[value.from], used = made;
    for (auto [step, tiles] : value.uses)
      used = std::max(used, position[step] + tiles * clusters);
    registers += value.registers * (floorDivide(cluster - made, clusters) - floorDivide(cluster - used, clusters));
  }
  return registers;
}

/// Of operands that come in a cluster: those of later ones come beneath its products, and whoever reads its own holds
/// all of it, unless that comes piece by piece.
int64_t Candidate::operandsReadIn(int cluster, const StepGraph &graph, const Demand &demand) const {
  if (tile::Interleave::of(interleave[cluster]).stream)
    return 0;
  int64_t registers = 0;
  for (const ValueDemand &value : demand.values)
    if (floorCluster(position[value.from]) == cluster && readsOnly(graph, value.from))
      registers += value.registers;
  return registers;
}

Fit Candidate::fit(const StepGraph &graph, const Demand &demand) const {
  if (demand.simds == 0)
    return Fit::Yes;
  int64_t share = std::max<int64_t>(1, workgroups ? workgroups : demand.workgroups);
  // Tiles are padded: none are left for what they would fill without.
  if (share > int64_t(demand.ldsBytes.size()) || ldsBytes(demand) >= demand.ldsBytes[share - 1])
    return Fit::No;
  int64_t onSimd = share * std::max<int64_t>(1, llvm::divideCeil(waves ? waves : demand.waves, demand.simds));
  int64_t most = demand.registers / onSimd;
  Fit result = Fit::Yes;
  for (int cluster = 0; cluster != clusters; ++cluster) {
    if (registersBehind(cluster, demand) + kBeside > most)
      return Fit::No;
    if (registersBehind(cluster - 1, demand) + operandsReadIn(cluster, graph, demand) > most)
      result = Fit::Tight;
  }
  return result;
}

/// `demand` of placed steps alone, by their new numbers. Where something is put that waited in registers, nobody knows
/// here: its ring is left out.
static void keepPlaced(Demand &demand, const std::vector<bool> &placed, const std::vector<size_t> &number) {
  auto isGone = [&](size_t step) { return !placed[step]; };
  llvm::erase_if(demand.rings, [&](RingDemand &ring) {
    llvm::erase_if(ring.reads, isGone);
    for (size_t &read : ring.reads)
      read = number[read];
    bool goes = isGone(ring.fills);
    ring.fills = number[ring.fills];
    return goes;
  });
  llvm::erase_if(demand.values, [&](ValueDemand &value) {
    llvm::erase_if(value.uses, [&](const auto &use) { return isGone(use.first); });
    for (auto &[step, tiles] : value.uses)
      step = number[step];
    bool goes = isGone(value.from);
    value.from = number[value.from];
    return goes;
  });
}

Algorithm tune::onlyPlaced(const Algorithm &algorithm) {
  Algorithm result = algorithm;
  std::vector<bool> placed(algorithm.graph.steps.size());
  for (const Place &place : algorithm.start.places)
    placed[place.step] = true;
  std::vector<Dependence> &edges = result.graph.dependences;
  for (size_t step = 0; step != placed.size(); ++step) {
    if (placed[step])
      continue;
    std::vector<Dependence> kept, in, out;
    for (const Dependence &edge : edges)
      (edge.to == step ? in : edge.from == step ? out : kept).push_back(edge);
    for (const Dependence &before : in)
      for (const Dependence &behind : out)
        kept.push_back({before.from, behind.to, before.tiles + behind.tiles,
                        before.throughLds || behind.throughLds});
    for (const Dependence &before : in) // it moves what it needs on behalf of whoever loaded it
      result.graph.steps[before.from].fetches |= result.graph.steps[step].fetches;
    edges = std::move(kept);
  }
  std::vector<size_t> number(placed.size());
  std::vector<Step> steps;
  for (size_t step = 0; step != placed.size(); ++step) {
    number[step] = steps.size();
    if (placed[step])
      steps.push_back(result.graph.steps[step]);
  }
  result.graph.steps = std::move(steps);
  keepPlaced(result.demand, placed, number);
  for (Dependence &edge : edges)
    edge.from = number[edge.from], edge.to = number[edge.to];
  for (Place &place : result.start.places)
    place.step = number[place.step];
  return result;
}
