// The normal form of a candidate, in which schedules of the same code are the same, and its text.
#include "Tune/Candidate.h"

#include "Tile/IR/Interleave.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::tune;

/// In the order in which they run.
std::vector<size_t> Candidate::stepsIn(int cluster) const {
  std::vector<size_t> steps;
  for (size_t step = 0; step != position.size(); ++step)
    if (floorCluster(position[step]) == cluster)
      steps.push_back(step);
  llvm::sort(steps, [&](size_t a, size_t b) { return std::pair(rank[a], a) < std::pair(rank[b], b); });
  return steps;
}

/// Steps that do nothing stand in front of who needs them, wherever that is.
void Candidate::settleIdle(const StepGraph &graph) {
  for (size_t step = position.size(); step-- != 0;) {
    if (!graph.steps[step].idle)
      continue;
    std::optional<std::pair<int, int>> first; // of those that use it: position and rank
    for (const Dependence &dependence : graph.dependences)
      if (dependence.from == step && dependence.to != step) {
        std::pair use(position[dependence.to] + dependence.tiles * clusters, rank[dependence.to]);
        first = std::min(first.value_or(use), use);
      }
    if (!first)
      continue;
    for (int &each : rank)
      each *= 2;
    position[step] = first->first, rank[step] = 2 * first->second - 1;
  }
}

/// What means nothing, so that what is the same code is mostly the same text: clusters without steps where all waves are
/// in step, an order within clusters that do not multiply, one priority for all.
void Candidate::leaveOutIdle(const StepGraph &graph) {
  for (int cluster = clusters - 1; cluster >= 0 && waveGroups == 1; --cluster)
    if (clusters > 1 && stepsIn(cluster).empty())
      removeCluster(cluster);
  for (int cluster = 0; cluster != clusters; ++cluster)
    if (!multiplies(graph, cluster))
      interleave[cluster].clear();
  if (llvm::all_equal(priority))
    llvm::fill(priority, -1);
}

/// Whether `by` needs what `step` makes in the iteration in which both run.
bool Candidate::isNeeded(const StepGraph &graph, size_t step, size_t by) const {
  return llvm::any_of(graph.dependences, [&](const Dependence &dependence) {
    return dependence.from == step && dependence.to == by &&
           position[step] - dependence.tiles * clusters == position[by];
  });
}

/// `block` in the order of the loop, as far as its steps do not need each other.
std::vector<size_t> Candidate::sortedByNeed(const StepGraph &graph, std::vector<size_t> block) const {
  std::vector<size_t> sorted;
  while (!block.empty()) {
    auto isReady = [&](size_t step) {
      return llvm::none_of(block, [&](size_t other) { return other != step && isNeeded(graph, other, step); });
    };
    std::vector<size_t> ready;
    llvm::copy_if(block, std::back_inserter(ready), isReady);
    size_t next = ready.empty() ? block.front() : *llvm::min_element(ready);
    sorted.push_back(next);
    llvm::erase(block, next);
  }
  return sorted;
}

/// Ranks are places in a cluster. What lies between two branches of a compute cluster is ordered by the compiler: there
/// one order stands for all.
void Candidate::sortWithinBlocks(const StepGraph &graph) {
  for (int cluster = 0; cluster != clusters; ++cluster) {
    std::vector<size_t> sorted, block;
    bool isCompute = multiplies(graph, cluster) != bool(otherKind[cluster]);
    auto endBlock = [&] {
      llvm::append_range(sorted, sortedByNeed(graph, block));
      block.clear();
    };
    for (size_t step : stepsIn(cluster)) {
      if (isCompute && !graph.steps[step].branches) {
        block.push_back(step);
        continue;
      }
      endBlock();
      sorted.push_back(step);
    }
    endBlock();
    for (auto [place, step] : llvm::enumerate(sorted))
      rank[step] = static_cast<int>(place);
  }
}

/// The first step that multiplies runs for the tile at which an iteration stands; it does not matter otherwise.
void Candidate::normalize(const StepGraph &graph) {
  settleIdle(graph);
  leaveOutIdle(graph);
  auto first = llvm::find_if(graph.steps, [](const Step &step) { return step.multiplies; });
  size_t step = first == graph.steps.end() ? 0 : first - graph.steps.begin();
  int turn = floorDivide(position[step], clusters);
  for (int &at : position)
    at -= turn * clusters;
  sortWithinBlocks(graph);
  if (unroll == unrollFor(graph))
    unroll = 0;
}

Candidate::Form Candidate::form(const StepGraph &graph) const {
  int last = 0; // where products stand; the first is that of tile 0
  for (size_t step = 0; step != position.size(); ++step)
    if (graph.steps[step].multiplies)
      last = std::max(last, floorDivide(position[step], clusters));
  return {clusters, last};
}

Table Candidate::table(const StepGraph &graph) const {
  Table result;
  result.unroll = unroll ? unroll : unrollFor(graph);
  result.waveGroups = waveGroups, result.waves = waves, result.kvTile = kvTile;
  result.workgroups = workgroups == 1 ? 0 : workgroups, result.masksApart = masksApart;
  result.polynomials = polynomials;
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
                                    std::tuple(" workgroups(", table.workgroups, 0),
                                    std::tuple(" polynomials(", table.polynomials, 0)})
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
