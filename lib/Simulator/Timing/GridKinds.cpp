// Rules are tried from the coarsest on. One is refuted by two workgroups of one kind that execute
// different numbers of instructions; pairs are drawn from a fixed generator, so that predictions
// repeat.
#include "GridKinds.h"

#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <tuple>

using namespace hocket;
using namespace hocket::sim;

static constexpr unsigned pairsPerRule = 10;
static constexpr uint64_t mostKinds = 512, stretches = 64;

Result<uint64_t> WorkgroupSampler::instructions(uint64_t number) {
  Result<WorkDone> work = workOf(number);
  return work.ok() ? Result<uint64_t>(work->instructions) : work.error();
}

Result<WorkDone> WorkgroupSampler::workOf(uint64_t number) {
  auto found = known.find(number);
  if (found != known.end())
    return found->second;
  group.start(number);
  if (!group.run())
    return executionError(group.error);
  return known[number] = {group.instructions(), group.idleLanes()};
}

void WorkgroupSampler::executeAhead(const std::vector<uint64_t> &numbers, unsigned threads) {
  std::vector<std::pair<uint64_t, WorkDone>> fresh; // by number
  for (uint64_t number : numbers)
    if (!known.count(number))
      fresh.emplace_back(number, WorkDone());
  std::atomic<size_t> next = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
  for (size_t i = 0; i < std::min<size_t>(pool.getMaxConcurrency(), fresh.size()); ++i)
    pool.async([&] {
      Workgroup own(context);
      for (size_t at = next++; at < fresh.size() && own.error.empty(); at = next++) {
        own.start(fresh[at].first);
        if (!own.run())
          return;
        fresh[at].second = {own.instructions(), own.idleLanes()};
      }
    });
  pool.wait();
  for (auto [number, work] : fresh)
    if (work.instructions)
      known[number] = work;
}

/// The number is ((z * Y) + y) * X + x; a rule takes (number / divide) % modulus.
static KindRule makeRule(std::string name, uint64_t divide, uint64_t modulus) {
  KindRule rule;
  rule.name = std::move(name);
  rule.kinds = modulus;
  rule.of = [=](uint64_t number) { return number / divide % modulus; };
  rule.example = [=](uint64_t kind) { return kind * divide; };
  return rule;
}

/// A kind for each pair of y and of (x / divide) % modulus.
static KindRule makeProduct(std::string name, uint64_t divide, uint64_t modulus, uint64_t x,
                            uint64_t y) {
  KindRule rule;
  rule.name = "y, " + std::move(name);
  rule.kinds = modulus * y;
  rule.of = [=](uint64_t number) {
    return number / x % y * modulus + number % x / divide % modulus;
  };
  rule.example = [=](uint64_t kind) { return kind / modulus * x + kind % modulus * divide; };
  return rule;
}

static std::vector<KindRule> candidates(const runtime::Dim3 &grid) {
  uint64_t x = grid.x, y = grid.y, z = grid.z;
  std::vector<KindRule> rules;
  rules.push_back(makeRule("all alike", 1, 1));
  rules.push_back(makeRule("x", 1, x));
  rules.push_back(makeRule("y", x, y));
  rules.push_back(makeRule("z", x * y, z));
  for (uint64_t d = 2; d < x; ++d) {
    if (x % d != 0)
      continue;
    rules.push_back(makeRule("x % " + std::to_string(d), 1, d));
    rules.push_back(makeRule("x / " + std::to_string(d), d, x / d));
  }
  if (y > 1) {
    // Two dimensions that both matter: blocks of rows, and slices of keys.
    rules.push_back(makeProduct("x", 1, x, x, y));
    for (uint64_t d = 2; d < x; ++d)
      if (x % d == 0)
        rules.push_back(makeProduct("x / " + std::to_string(d), d, x / d, x, y));
  }
  std::erase_if(rules, [](const KindRule &rule) { return rule.kinds > mostKinds; });
  std::sort(rules.begin(), rules.end(), [](const KindRule &a, const KindRule &b) {
    return std::tie(a.kinds, a.name) < std::tie(b.kinds, b.name);
  });
  return rules;
}

/// Workgroups that a rule is tried on: those at distances 1, 2, 4, ... from both ends, where the few that differ from
/// most of a grid are (the blocks that see keys, where queries are far more than keys; ragged ones), those of the kinds
/// of the ends that are the farthest from these, and some at random.
static std::vector<uint64_t> trials(const KindRule &rule, uint64_t workgroups, uint64_t &random) {
  std::vector<uint64_t> numbers;
  for (uint64_t distance = 1; distance <= workgroups / 2; distance *= 2) {
    numbers.push_back(distance);
    numbers.push_back(workgroups - distance);
  }
  const uint64_t last = workgroups - 1;
  uint64_t likeFirst = last, likeLast = 0;
  while (rule.of(likeFirst) != rule.of(0))
    --likeFirst;
  while (rule.of(likeLast) != rule.of(last))
    ++likeLast;
  numbers.insert(numbers.end(), {likeFirst, likeLast});
  for (unsigned i = 0; i < pairsPerRule; ++i)
    numbers.push_back(nextRandom(random) % workgroups);
  return numbers;
}

static Result<bool> refuted(WorkgroupSampler &sampler, const KindRule &rule, uint64_t workgroups,
                            uint64_t &random) {
  for (uint64_t number : trials(rule, workgroups, random)) {
    uint64_t other = rule.example(rule.of(number));
    Result<uint64_t> a = sampler.instructions(number);
    Result<uint64_t> b = sampler.instructions(other);
    if (!a.ok() || !b.ok())
      return a.ok() ? b.error() : a.error();
    // Rare paths that depend on data change a count a little.
    uint64_t difference = *a > *b ? *a - *b : *b - *a;
    if (difference * 100 > std::max(*a, *b))
      return true;
  }
  return false;
}

Result<KindRule> sim::findKindRule(WorkgroupSampler &sampler, const runtime::Dim3 &grid) {
  uint64_t workgroups = uint64_t(grid.x) * grid.y * grid.z, random = 1;
  for (KindRule &rule : candidates(grid)) {
    Result<bool> no = refuted(sampler, rule, workgroups, random);
    if (!no.ok())
      return no.error();
    if (!*no)
      return std::move(rule);
  }
  uint64_t length = (workgroups + stretches - 1) / stretches;
  return makeRule("sampled every " + std::to_string(length), length,
                  (workgroups + length - 1) / length);
}

/// Counts that differ by so many parts in a hundred are alike; stretches that there may be.
static constexpr uint64_t alikePercent = 2, mostStretches = 1024;

Result<KindRule> sim::findStretches(WorkgroupSampler &sampler, uint64_t workgroups) {
  std::vector<uint64_t> begins;
  std::vector<std::pair<uint64_t, uint64_t>> open = {{0, workgroups}}; // the first one is on top
  while (!open.empty()) {
    auto [begin, end] = open.back();
    open.pop_back();
    Result<uint64_t> first = sampler.instructions(begin), last = sampler.instructions(end - 1);
    if (!first.ok() || !last.ok())
      return first.ok() ? last.error() : first.error();
    const uint64_t difference = *first > *last ? *first - *last : *last - *first;
    const bool alike = difference * 100 <= alikePercent * std::max(*first, *last);
    if (alike || end - begin < 2 || begins.size() + open.size() >= mostStretches) {
      begins.push_back(begin);
      continue;
    }
    const uint64_t middle = begin + (end - begin) / 2;
    open.push_back({middle, end});
    open.push_back({begin, middle});
  }
  KindRule rule;
  rule.name = "stretches of like work";
  rule.kinds = begins.size();
  rule.of = [begins](uint64_t number) {
    return static_cast<uint64_t>(std::upper_bound(begins.begin(), begins.end(), number) - begins.begin() - 1);
  };
  rule.example = [begins](uint64_t kind) { return begins[kind]; };
  return std::move(rule);
}
