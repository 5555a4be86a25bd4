// Follows the machine code and the plan side by side.
//
// Waits and barriers of the plan are anchors. At each place of the code it is known behind which anchors the wave may
// be, and what it has issued since. A barrier leads from an anchor to the next; so does a wait, unless it is one that
// LLVM has put in; LLVM also makes waits stricter. Where no anchor is left, the code has not what the passes counted.
#include "Target/AMDGPU/CountedAccesses.h"

#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

using namespace hocket;
using namespace hocket::amdgpu;
using Kind = CountedPlan::Kind;

/// More loads to LDS than this lie between no two waits: a plan with such a way has a loop without any.
static constexpr unsigned kMostLoads = 1 << 12;

namespace {
/// From one anchor to the next.
struct Way {
  unsigned to = 0, loads = 0, accesses = 0;
};

/// Where the wave may be: behind an anchor, with so many loads to LDS and other accesses since.
struct Place {
  unsigned anchor = 0, loads = 0, accesses = 0;
  auto operator<=>(const Place &) const = default;
};
using Places = std::vector<Place>;

class CountedChecker {
public:
  CountedChecker(const CodeFlow &flow, const CountedPlan &plan) : flow(flow), plan(plan), ways(plan.nodes.size()) {}
  Status run();

private:
  Status findWays(unsigned anchor);
  Status findAllWays();
  void findLeftInFlight();
  unsigned mostInFlight(size_t wait);
  Places onward(const Places &from, Kind kind, unsigned allowed, unsigned inFlight) const;
  bool step(size_t at, Places &places);
  Status walk(size_t at, Places places);
  Error mismatch(size_t at, const Places &places) const;
  std::string nameOf(unsigned anchor) const;

  const CodeFlow &flow;
  const CountedPlan &plan;
  std::vector<std::vector<Way>> ways;
  std::vector<unsigned> mostLoads, mostAccesses; ///< on ways from each anchor
  std::vector<unsigned> leftInFlight;            ///< loads to LDS that each wait of the plan leaves at most
  std::map<size_t, unsigned> inFlight;           ///< and each wait of the code
  std::set<std::pair<size_t, Places>> seen; ///< where ways meet
  std::vector<std::pair<size_t, Places>> work;
};
} // namespace

static bool isAnchor(const CountedPlan::Node &node) {
  return node.kind == Kind::Wait || node.kind == Kind::Barrier || node.kind == Kind::End;
}

/// All ways from `anchor` to the next ones; of two that differ in accesses alone the one with fewer.
Status CountedChecker::findWays(unsigned anchor) {
  std::map<std::pair<unsigned, unsigned>, unsigned> fewest; // by node and loads in front of it
  std::vector<Way> open;
  auto reach = [&](const Way &way) {
    auto [known, isNew] = fewest.try_emplace({way.to, way.loads}, way.accesses);
    if (!isNew && known->second <= way.accesses)
      return;
    known->second = way.accesses;
    open.push_back(way);
  };
  for (unsigned next : plan.nodes[anchor].next)
    reach({next, 0, 0});
  while (!open.empty()) {
    Way way = open.back();
    open.pop_back();
    const CountedPlan::Node &node = plan.nodes[way.to];
    if (isAnchor(node))
      continue;
    way.loads += node.kind == Kind::LoadsToLds ? node.count : 0;
    way.accesses += node.kind == Kind::Accesses || node.kind == Kind::LookUps ? node.count : 0;
    if (way.loads > kMostLoads)
      return internalError("kernel '" + plan.kernel + "': loads to LDS stand in a loop without a wait or a barrier, "
                           "where they cannot be counted; wait for them in the loop");
    for (unsigned next : node.next)
      reach({next, way.loads, way.accesses});
  }
  for (const auto &[place, accesses] : fewest)
    if (isAnchor(plan.nodes[place.first])) {
      ways[anchor].push_back({place.first, place.second, accesses});
      mostLoads[anchor] = std::max(mostLoads[anchor], place.second);
      mostAccesses[anchor] = std::max(mostAccesses[anchor], accesses);
    }
  return Status::success();
}

Status CountedChecker::findAllWays() {
  mostLoads.assign(plan.nodes.size(), 0);
  mostAccesses.assign(plan.nodes.size(), 0);
  for (unsigned node = 0; node != plan.nodes.size(); ++node)
    if (node == 0 || isAnchor(plan.nodes[node]))
      if (Status found = findWays(node); !found)
        return found;
  return Status::success();
}

namespace {
/// One step back from a place, and what is issued there.
struct StepBack {
  size_t to;
  unsigned accesses, loads; ///< in all, and those to LDS
};
} // namespace

/// Of the newest accesses in front of `wait`, as many as it `leaves`, those to LDS: on the way with most of them.
static unsigned mostLoadsLeft(size_t wait, unsigned leaves, llvm::function_ref<llvm::SmallVector<StepBack, 2>(size_t)> back) {
  struct Window {
    size_t at;
    unsigned left, loads;
    auto operator<=>(const Window &) const = default;
  };
  std::set<Window> known;
  std::vector<Window> open = {{wait, leaves, 0}};
  unsigned most = 0;
  while (!open.empty()) {
    const Window window = open.back();
    open.pop_back();
    if (window.left == 0)
      continue;
    for (const StepBack &step : back(window.at)) {
      const Window before = {step.to, window.left - std::min(step.accesses, window.left),
                             window.loads + std::min(step.loads, window.left)};
      most = std::max(most, before.loads);
      if (known.insert(before).second)
        open.push_back(before);
    }
  }
  return most;
}

/// Accesses that stand beside no loads to LDS may be among the newest or not: within a cluster LLVM may swap them.
void CountedChecker::findLeftInFlight() {
  std::vector<llvm::SmallVector<StepBack, 2>> back(plan.nodes.size());
  for (unsigned at = 0; at != plan.nodes.size(); ++at) {
    const CountedPlan::Node &node = plan.nodes[at];
    const unsigned loads = node.kind == Kind::LoadsToLds ? node.count : 0;
    for (unsigned next : node.next)
      back[next].push_back({at, node.kind == Kind::LookUps ? node.count : loads, loads});
  }
  leftInFlight.assign(plan.nodes.size(), 0);
  for (unsigned at = 0; at != plan.nodes.size(); ++at)
    if (plan.nodes[at].kind == Kind::Wait)
      leftInFlight[at] = mostLoadsLeft(at, plan.nodes[at].count, [&](size_t place) { return back[place]; });
}

/// The loads to LDS that a wait of the code leaves at most.
unsigned CountedChecker::mostInFlight(size_t wait) {
  auto [found, isNew] = inFlight.try_emplace(wait, 0);
  if (isNew)
    found->second = mostLoadsLeft(wait, flow.allows(wait, CodeFlow::Vector), [&](size_t at) {
      llvm::SmallVector<StepBack, 2> steps;
      for (size_t before : flow.previousOf(at))
        if (!flow.repeatsForLanes(before, at))
          steps.push_back({before, flow.counts(before, CodeFlow::Vector), flow.kindOf(before) == InstructionClass::LdsDma});
      return steps;
    });
  return found->second;
}

/// Sorted; of places behind one anchor with equal loads the one with most accesses.
static void reduce(Places &places) {
  llvm::sort(places, std::greater<>());
  auto isSame = [](const Place &a, const Place &b) { return a.anchor == b.anchor && a.loads == b.loads; };
  places.erase(std::unique(places.begin(), places.end(), isSame), places.end());
}

/// The anchors of `kind` that follow `from`; of waits those that allow `allowed` at least, and leave as many loads to LDS
/// in flight, one behind the other.
Places CountedChecker::onward(const Places &from, Kind kind, unsigned allowed, unsigned inFlight) const {
  Places result, open = from;
  while (!open.empty()) {
    const Place place = open.back();
    open.pop_back();
    for (const Way &way : ways[place.anchor]) {
      const CountedPlan::Node &node = plan.nodes[way.to];
      if (node.kind != kind || way.loads != place.loads || way.accesses > place.accesses ||
          (kind == Kind::Wait && (node.count < allowed || leftInFlight[way.to] < inFlight)))
        continue;
      const Place reached = {way.to, 0, 0};
      if (llvm::is_contained(result, reached))
        continue;
      result.push_back(reached);
      // LLVM makes one wait of two.
      if (kind == Kind::Wait)
        open.push_back(reached);
    }
  }
  return result;
}

/// Whether nothing that is counted may have passed since an anchor: there waves that have no more to do may leave.
static bool isBehindAnchor(const Places &places) {
  return llvm::any_of(places, [](const Place &place) { return place.loads == 0 && place.accesses == 0; });
}

/// Whether the wave can be somewhere behind instruction `at`.
bool CountedChecker::step(size_t at, Places &places) {
  const InstructionClass kind = flow.kindOf(at);
  if (kind == InstructionClass::LdsDma) {
    for (Place &place : places)
      ++place.loads;
    llvm::erase_if(places, [&](const Place &place) { return place.loads > mostLoads[place.anchor]; });
  } else if (flow.counts(at, CodeFlow::Vector)) {
    for (Place &place : places)
      place.accesses = std::min(place.accesses + 1, mostAccesses[place.anchor]);
    reduce(places);
  } else if (kind == InstructionClass::Barrier) {
    places = onward(places, Kind::Barrier, 0, 0);
    reduce(places);
  } else if (kind == InstructionClass::Wait && flow.allows(at, CodeFlow::Vector) < CodeFlow::kNoLimit) {
    llvm::append_range(places, onward(places, Kind::Wait, flow.allows(at, CodeFlow::Vector), mostInFlight(at)));
    reduce(places);
  } else if (flow.nextOf(at).empty() && !isBehindAnchor(places)) {
    places = onward(places, Kind::End, 0, 0);
  }
  return !places.empty();
}

std::string CountedChecker::nameOf(unsigned anchor) const {
  const CountedPlan::Node &node = plan.nodes[anchor];
  if (anchor == 0)
    return "the kernel's begin";
  if (node.kind == Kind::End)
    return "the kernel's end";
  std::string name = node.kind == Kind::Wait ? "the wait vm(" + std::to_string(node.count) + ")" : "the barrier";
  return node.place.empty() ? name : name + " at " + node.place;
}

static constexpr llvm::StringLiteral kWayOut =
    "this is a bug of Hocket, please report it, and use another schedule or other tiles meanwhile";

/// `places` are those in front of instruction `at`, of which none is right. Of all ways on the one is named that the code
/// is nearest to.
Error CountedChecker::mismatch(size_t at, const Places &places) const {
  std::tuple<unsigned, unsigned> nearest(~0U, ~0U);
  Place where = places.front();
  Way wanted;
  for (const Place &place : places)
    for (const Way &way : ways[place.anchor]) {
      const unsigned loads = std::max(place.loads, way.loads) - std::min(place.loads, way.loads);
      const std::tuple distance(loads, way.accesses - std::min(place.accesses, way.accesses));
      if (distance >= nearest)
        continue;
      nearest = distance;
      where = place;
      wanted = way;
    }
  const unsigned loads = where.loads + (flow.kindOf(at) == InstructionClass::LdsDma);
  const bool isWait = plan.nodes[wanted.to].kind == Kind::Wait;
  if (isWait && loads == wanted.loads && where.accesses >= wanted.accesses)
    return internalError(llvm::formatv("kernel '{0}': {1} leaves {2} loads to LDS in flight, and in front of {3:x} the code "
                                       "waits for less: it lacks the wait, or LLVM has changed the order of what it counts; "
                                       "{4}",
                                       plan.kernel, nameOf(wanted.to), leftInFlight[wanted.to], flow.addressOf(at), kWayOut)
                             .str());
  return internalError(llvm::formatv("kernel '{0}': from {1} to {2} the passes counted {3} loads to LDS and {4} other "
                                     "accesses, the code in front of {5:x} has {6} and {7}: LLVM has merged, split, "
                                     "repeated or left out one that a wait counts; {8}",
                                     plan.kernel, nameOf(where.anchor), nameOf(wanted.to), wanted.loads, wanted.accesses,
                                     flow.addressOf(at), loads, where.accesses, kWayOut)
                           .str());
}

/// Follows the code from `at` to where ways meet or part.
Status CountedChecker::walk(size_t at, Places places) {
  while (true) {
    const bool isMeeting = at == 0 || flow.previousOf(at).size() > 1;
    if (isMeeting && !seen.insert({at, places}).second)
      return Status::success();
    Places before = places;
    if (!step(at, places))
      return mismatch(at, before);
    llvm::SmallVector<size_t, 2> next(flow.nextOf(at));
    // More turns would do no harm: what is counted in front of them is older still.
    llvm::erase_if(next, [&](size_t to) { return flow.repeatsForLanes(at, to); });
    if (next.size() != 1) {
      for (size_t way : next)
        work.emplace_back(way, places);
      return Status::success();
    }
    at = next.front();
  }
}

Status CountedChecker::run() {
  if (Status found = findAllWays(); !found)
    return found;
  findLeftInFlight();
  work.emplace_back(0, Places{{0, 0, 0}});
  while (!work.empty()) {
    auto [at, places] = std::move(work.back());
    work.pop_back();
    if (Status walked = walk(at, std::move(places)); !walked)
      return walked;
  }
  return Status::success();
}

Status hocket::amdgpu::checkCounted(const KernelCode &kernel, const Disassembler &disassembler, const CountedPlan &plan) {
  CodeFlow flow(kernel, disassembler);
  if (Status built = flow.build(); !built)
    return built;
  return CountedChecker(flow, plan).run();
}

Status hocket::amdgpu::checkCounted(llvm::StringRef codeObject, llvm::ArrayRef<CountedPlan> plans, llvm::StringRef name) {
  if (plans.empty())
    return Status::success();
  Result<std::vector<KernelCode>> kernels = readKernels(codeObject, name);
  if (!kernels)
    return kernels.error();
  Result<std::shared_ptr<const McTarget>> target = McTarget::create(processorOf(codeObject));
  if (!target)
    return target.error();
  const Disassembler disassembler(*target);
  for (const CountedPlan &plan : plans)
    for (const KernelCode &kernel : *kernels)
      if (kernel.name == plan.kernel)
        if (Status checked = checkCounted(kernel, disassembler, plan); !checked)
          return checked;
  return Status::success();
}
