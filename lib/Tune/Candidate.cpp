#include "Tune/Candidate.h"

#include "Tile/IR/Interleave.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::tune;

namespace {
/// Beyond these nothing was ever gained, and LDS or registers give out.
constexpr int kMaxClusters = 8, kMaxUnroll = 4, kMaxOffset = 8;
} // namespace

static int floorDivide(int a, int b) {
  return static_cast<int>(llvm::divideFloorSigned(int64_t(a), int64_t(b)));
}

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
  result.masksApart = table.masksApart;
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
  return result;
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
  for (auto [name, has] : {std::pair(kStream, read.stream), std::pair(kAcross, read.across),
                           std::pair(kSpread, read.spread), std::pair(kPowers, read.powers),
                           std::pair(kEven, read.even)})
    if (has != (name == word))
      result += (result.empty() ? "" : " ") + std::string(name);
  return result;
}

Candidate Candidate::draw(const StepGraph &graph, const Shapes &shapes, Choices &choices) {
  Candidate result;
  result.waves = oneOf(shapes.waves, choices), result.kvTile = oneOf(shapes.kvTiles, choices);
  // What is alone on its SIMD has nobody to take turns with.
  result.waveGroups = result.isAlone(shapes) ? 1 : 1 + choices.below(2);
  // Two groups take turns at the matrix unit: clusters that use it alternate with others, mostly one for each product.
  int products = static_cast<int>(llvm::count_if(graph.steps, [](const Step &step) { return step.multiplies; }));
  result.clusters = result.waveGroups == 1  ? 1 + choices.below(4)
                    : choices.chance(2, 3) ? 2 * std::clamp(products, 1, kMaxClusters / 2)
                                           : 2 * (1 + choices.below(3));
  result.unroll = 1 + choices.below(2);
  result.workgroups = shapes.workgroups, result.masksApart = shapes.masksApart;
  size_t count = graph.steps.size();
  result.position.assign(count, 0);
  result.rank.resize(count);
  std::iota(result.rank.begin(), result.rank.end(), 0);
  bool raised = choices.chance(1, 2);
  for (size_t step = 0; step != count; ++step) {
    int at = earliest(graph, result.position, step, result.waveGroups - 1) + choices.few(result.clusters);
    if (result.waveGroups == 2 && graph.steps[step].multiplies && at % 2 == 0)
      ++at;
    result.position[step] = at;
  }
  result.readLate(graph, choices);
  // What is fetched may be fetched long before it is read.
  for (size_t step = 0; step != count; ++step)
    if (graph.steps[step].fetches)
      result.position[step] -= choices.few(2 * result.clusters);
  result.priority.assign(result.clusters, -1);
  result.drawWords(shapes, choices);
  result.joined.assign(result.clusters, false);
  for (int cluster = 1; result.waveGroups == 1 && cluster < result.clusters; ++cluster)
    result.joined[cluster] = choices.chance(1, 4);
  result.otherKind.assign(result.clusters, false);
  for (int cluster = 1; raised && cluster < result.clusters; cluster += 2)
    result.priority[cluster] = 1;
  return result;
}

/// What compute clusters say of the order within them: of two words that are for waves which read and fetch beneath
/// products, each half of the times.
void Candidate::drawWords(const Shapes &shapes, Choices &choices) {
  std::string text = shapes.interleave;
  for (std::string_view word : {kSpread, kAcross})
    if (choices.chance(1, 2))
      text = toggled(text, word);
  interleave.assign(clusters, text);
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

/// Operands take many registers: mostly they are read right before their use or in the cluster before, and one earlier
/// where two groups take turns at the matrix unit.
void Candidate::readLate(const StepGraph &graph, Choices &choices) {
  for (size_t step = 0; step != graph.steps.size(); ++step) {
    if (!readsOnly(graph, step) || choices.chance(1, 4))
      continue;
    std::optional<int> use;
    for (const Dependence &dependence : graph.dependences)
      if (dependence.from == step && dependence.tiles == 0)
        use = std::min(use.value_or(position[dependence.to]), position[dependence.to]);
    if (use)
      position[step] = *use - (waveGroups - 1) - choices.few(1);
  }
}

void Candidate::moveSteps(Choices &choices) {
  int count = static_cast<int>(position.size());
  size_t step = choices.below(count);
  switch (choices.below(6)) {
  case 0: // a step within its cluster
    rank[step] += choices.sign() * (1 + choices.below(count));
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
}

void Candidate::changeForm(const Shapes &shapes, Choices &choices) {
  int cluster = choices.below(clusters);
  switch (choices.below(shapes.waves.size() + shapes.kvTiles.size() < 2 ? 6 : 7)) {
  case 0:
    unroll = 1 + choices.below(kMaxUnroll);
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
    static constexpr std::string_view words[] = {kAcross, kSpread, kAcross, kSpread, kPowers, kEven};
    std::string_view word = words[choices.below(std::size(words))];
    interleave[cluster] = toggled(interleave[cluster], word);
    break;
  }
  case 5: // a barrier less or more
    joined[cluster] = cluster != 0 && waveGroups == 1 && !joined[cluster];
    break;
  default:
    waves = oneOf(shapes.waves, choices), kvTile = oneOf(shapes.kvTiles, choices);
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

void Candidate::addMoves(std::vector<Candidate> &to) const {
  std::vector<int> ways = {1, -1, clusters, -clusters, 2, -2};
  for (size_t step = 0; step != position.size(); ++step)
    for (size_t way = 0; way != ways.size(); ++way) {
      if (llvm::is_contained(llvm::ArrayRef(ways).take_front(way), ways[way]))
        continue;
      to.push_back(*this);
      to.back().position[step] += ways[way];
    }
  // Everything from a position on, once for each.
  std::vector<int> places = position;
  llvm::sort(places);
  places.erase(llvm::unique(places), places.end());
  for (int from : llvm::drop_begin(places))
    for (int by : {1, -1, clusters}) {
      to.push_back(*this);
      for (int &at : to.back().position)
        at += at >= from ? by : 0;
    }
}

/// Each cluster in two, behind every one of its steps, with a barrier between and without.
void Candidate::addSplits(std::vector<Candidate> &to) const {
  if (clusters == kMaxClusters)
    return;
  for (int cluster = 0; cluster != clusters; ++cluster) {
    std::vector<size_t> steps = stepsIn(cluster);
    for (size_t first = 1; first < steps.size(); ++first)
      for (bool join : {false, true}) {
        if (join && waveGroups == 2)
          continue;
        Candidate split = *this;
        split.insertCluster(cluster + 1);
        split.joined[cluster + 1] = join;
        split.interleave[cluster + 1] = interleave[cluster];
        split.priority[cluster + 1] = priority[cluster];
        for (size_t step : llvm::ArrayRef(steps).drop_front(first))
          ++split.position[step];
        to.push_back(std::move(split));
      }
  }
}

void Candidate::addClusterForms(std::vector<Candidate> &to) const {
  for (int cluster = 0; cluster != clusters; ++cluster) {
    for (std::string_view word : {kSpread, kAcross}) {
      to.push_back(*this);
      to.back().interleave[cluster] = toggled(interleave[cluster], word);
    }
    to.push_back(*this);
    to.back().priority[cluster] = priority[cluster] > 0 ? -1 : 1;
    to.push_back(*this);
    to.back().otherKind[cluster] = !otherKind[cluster];
    if (cluster != 0 && waveGroups == 1) {
      to.push_back(*this);
      to.back().joined[cluster] = !joined[cluster];
    }
    if (clusters < kMaxClusters) {
      to.push_back(*this);
      to.back().insertCluster(cluster);
    }
    if (clusters > 1) {
      to.push_back(*this);
      to.back().removeCluster(cluster);
    }
  }
}

void Candidate::addShapes(const Shapes &shapes, std::vector<Candidate> &to) const {
  auto add = [&](int Candidate::*member, int value) {
    if (this->*member == value)
      return;
    to.push_back(*this);
    to.back().*member = value;
  };
  for (int count = 1; count <= kMaxUnroll; ++count)
    add(&Candidate::unroll, count);
  if (!isAlone(shapes)) {
    add(&Candidate::waveGroups, 3 - waveGroups);
    to.back().joined.assign(clusters, false);
  }
  for (int64_t count : shapes.waves)
    add(&Candidate::waves, static_cast<int>(count));
  for (int64_t keys : shapes.kvTiles)
    add(&Candidate::kvTile, static_cast<int>(keys));
}

std::vector<Candidate> Candidate::neighbours(const Shapes &shapes) const {
  std::vector<Candidate> result;
  addMoves(result);
  addSplits(result);
  addClusterForms(result);
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

/// What the rings take, with as many slots as ScheduleModel.h gives them.
int64_t Candidate::ldsBytes(const Demand &demand) const {
  int64_t bytes = 0;
  for (const RingDemand &ring : demand.rings) {
    int slots = 1;
    for (size_t read : ring.reads)
      slots = std::max(slots, floorDivide(phaseOf(position[read]) + waveGroups - 1 - phaseOf(position[ring.fills]),
                                          phases()) + 1);
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

bool Candidate::mayFit(const Demand &demand) const {
  if (demand.simds == 0)
    return true;
  if (ldsBytes(demand) > demand.ldsBytes)
    return false;
  int64_t onSimd = std::max<int64_t>(1, llvm::divideCeil(waves ? waves : demand.waves, demand.simds));
  for (int cluster = 0; cluster != clusters; ++cluster)
    if (registersBehind(cluster, demand) > demand.registers / onSimd)
      return false;
  return true;
}

/// In the order in which they run.
std::vector<size_t> Candidate::stepsIn(int cluster) const {
  std::vector<size_t> steps;
  for (size_t step = 0; step != position.size(); ++step)
    if (floorCluster(position[step]) == cluster)
      steps.push_back(step);
  llvm::sort(steps, [&](size_t a, size_t b) { return std::pair(rank[a], a) < std::pair(rank[b], b); });
  return steps;
}

/// What means nothing, so that what is the same code is mostly the same text: clusters without steps where all waves are
/// in step, an order within clusters that do not multiply, one priority for all.
void Candidate::leaveOutIdle(const StepGraph &graph) {
  for (int cluster = clusters - 1; cluster >= 0 && waveGroups == 1; --cluster)
    if (clusters > 1 && stepsIn(cluster).empty())
      removeCluster(cluster);
  for (int cluster = 0; cluster != clusters; ++cluster)
    if (llvm::none_of(stepsIn(cluster), [&](size_t step) { return graph.steps[step].multiplies; }))
      interleave[cluster].clear();
  if (llvm::all_equal(priority))
    llvm::fill(priority, -1);
}

/// The first step that multiplies runs for the tile at which an iteration stands; it does not matter otherwise.
void Candidate::normalize(const StepGraph &graph) {
  leaveOutIdle(graph);
  auto first = llvm::find_if(graph.steps, [](const Step &step) { return step.multiplies; });
  size_t step = first == graph.steps.end() ? 0 : first - graph.steps.begin();
  int turn = floorDivide(position[step], clusters);
  for (int &at : position)
    at -= turn * clusters;
}

Table Candidate::table(const StepGraph &graph) const {
  Table result;
  result.unroll = unroll, result.waveGroups = waveGroups, result.waves = waves, result.kvTile = kvTile;
  result.workgroups = workgroups, result.masksApart = masksApart;
  std::vector<size_t> order(position.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](size_t step) { return std::tuple(floorCluster(position[step]), rank[step], step); };
  llvm::sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  for (int cluster = 0; cluster != clusters; ++cluster)
    result.clusters.push_back({bool(otherKind[cluster]), priority[cluster], interleave[cluster], bool(joined[cluster])});
  for (size_t step : order) {
    size_t cluster = floorCluster(position[step]);
    result.places.push_back({step, cluster, -floorDivide(position[step], clusters)});
    if (graph.steps[step].multiplies)
      result.clusters[cluster].compute = !otherKind[cluster];
  }
  for (ClusterForm &form : result.clusters) // "even" sets it
    if (form.compute && tile::Interleave::of(form.interleave).even)
      form.priority = -1;
  return result;
}

std::string tune::toText(const Table &table, const StepGraph &graph, std::string_view name) {
  std::string text = "tile.schedule @" + std::string(name);
  for (auto [word, value, usual] : {std::tuple(" unroll(", table.unroll, 1),
                                    std::tuple(" wave_groups(", table.waveGroups, 1),
                                    std::tuple(" waves(", table.waves, 0),
                                    std::tuple(" workgroups(", table.workgroups, 0)})
    if (value != usual)
      text += word + std::to_string(value) + ")";
  text += table.masksApart ? " masks_apart {\n" : " {\n";
  for (auto [index, form] : llvm::enumerate(table.clusters)) {
    text += std::string("  tile.cluster ") + (form.joined ? "joined " : "") + (form.compute ? "compute" : "memory");
    if (form.priority >= 0)
      text += " priority(" + std::to_string(form.priority) + ")";
    if (form.compute && !form.interleave.empty())
      text += " interleave(\"" + form.interleave + "\")";
    text += " {";
    for (const Place &place : table.places)
      if (place.cluster == index)
        text += " " + graph.steps[place.step].name + "(" + (place.offset > 0 ? "+" : "") +
                std::to_string(place.offset) + ")";
    text += " }\n";
  }
  return text + "}\n";
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
