// Random decodes through the planner: few queries of many keys, whatever heads, groups, masks, modifications, sinks, dropout,
// packed queries, pages and block lists they have, in any number of slices or as many as the heuristic says. What comes out
// must be right, and checked execution must find nothing.
//
// HOCKET_RANDOM_DECODES=N draws more, HOCKET_TEST_SEED=N others.
#include "../Kernels/Draw.h"
#include "../Kernels/DrawSequences.h"

#include "Reference/ScoreInterpreter.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <map>

using namespace hocket;
using namespace hocket::attention;

/// Of the new tokens a query sees those that a table says, as in a tree of drafts, and all keys before them.
static constexpr const char *kTree = R"(
attn.mask_mod @tree(%batch: i32, %head: i32, %query: i32, %key: i32,
    %table: tensor<?x?xi32> {attn.sizes = ["seq_q", "seq_q"]}, %shift: i32 {attn.value = "seq_kv - seq_q"}) {
  %zero = arith.constant 0 : i32
  %own = arith.subi %key, %shift : i32
  %is_old = arith.cmpi slt, %own, %zero : i32
  %number = arith.maxsi %own, %zero : i32
  %entry = attn.read %table[%query, %number] : tensor<?x?xi32> -> i32
  %one = arith.constant 1 : i32
  %bit = arith.andi %entry, %one : i32
  %is_ancestor = arith.cmpi ne, %bit, %zero : i32
  %seen = arith.ori %is_old, %is_ancestor : i1
  attn.yield %seen : i1
}
)";

static void addShipped(ForwardProblem &problem, const char *name) {
  Result<Modification> modification = shippedModification(name);
  ASSERT_TRUE(modification.ok()) << modification.error().message;
  problem.modifications.push_back(*modification);
}

static void addTree(ForwardProblem &problem) {
  Result<std::vector<Modification>> tree = parseModifications(kTree, "tree");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  problem.modifications.push_back(tree->front());
}

static void addMask(ForwardProblem &problem, Draw &draw, bool ownLengths) {
  int64_t kind = draw.between(0, 5);
  if (kind <= 1)
    problem.visibility = Visibility::causal();
  if (kind == 2 || kind == 3) {
    problem.numbers["window_left"] = static_cast<double>(draw.between(0, 400));
    problem.numbers["window_right"] = static_cast<double>(draw.of<int64_t>({0, 0, -1, 20}));
    if (kind == 3)
      problem.numbers["sink_tokens"] = static_cast<double>(draw.between(0, 70));
    addShipped(problem, kind == 3 ? "window_with_sinks" : "window");
  }
  if (kind == 4 && !ownLengths)
    addTree(problem);
}

static void addScores(ForwardProblem &problem, Draw &draw) {
  if (draw.oneIn(6)) {
    problem.numbers["soft_cap"] = static_cast<double>(draw.between(1, 60)) / 2;
    addShipped(problem, "soft_cap");
  }
  if (draw.oneIn(6))
    addShipped(problem, "alibi");
}

static void addDropout(ForwardProblem &problem, Draw &draw) {
  problem.dropout = true;
  problem.dropping = {.probability = static_cast<double>(draw.between(1, 90)) / 100,
                      .seed = draw.between(-1000, int64_t(1) << 40),
                      .offset = draw.between(0, int64_t(1) << 34),
                      .inMemory = draw.oneIn(2)};
}

static ForwardProblem drawDecode(Draw &draw) {
  ForwardProblem problem;
  problem.dtype = draw.of({ElementType::BF16, ElementType::F16});
  problem.batch = draw.between(1, 4);
  problem.kvHeads = draw.between(1, 2);
  problem.heads = problem.kvHeads * draw.of<int64_t>({1, 2, 3, 4, 7, 8, 16});
  problem.headDim = problem.headDimV =
      draw.oneIn(2) ? draw.of<int64_t>({64, 96, 128, 192, 256}) : 8 * draw.between(1, 32);
  problem.seqQ = draw.oneIn(2) ? draw.of<int64_t>({1, 1, 2, 4, 8, 16}) : draw.between(1, 64);
  problem.seqKv = draw.oneIn(2) ? draw.of<int64_t>({1, 63, 64, 65, 511, 513, 1024}) : draw.between(1, 1500);
  problem.wantLse = draw.oneIn(2);
  problem.sink = draw.oneIn(3);
  const bool ownLengths = draw.oneIn(2);
  if (draw.oneIn(8))
    addDropout(problem, draw);
  addMask(problem, draw, ownLengths);
  addScores(problem, draw);
  if (ownLengths) {
    addSequences(problem, draw);
    if (problem.lists.packedQ && draw.oneIn(4))
      problem.minSeqlenQ = draw.between(1, 10);
    if (draw.oneIn(2))
      addPages(problem, draw);
  } else if (draw.oneIn(6)) {
    problem.blocks = {128, 128};
    problem.fullBlocks = draw.oneIn(2);
  }
  problem.tuning.numSplits = draw.oneIn(3) ? 0 : draw.oneIn(6) ? 1 : draw.oneIn(3) ? draw.between(9, 40) : draw.between(2, 8);
  return problem;
}

namespace {
class RandomDecodes : public testing::Test {
protected:
  void runOne(uint64_t seed);

  int64_t split = 0; ///< problems whose keys were
  std::map<std::string, std::shared_ptr<Planner>> planners;
};
} // namespace

void RandomDecodes::runOne(uint64_t seed) {
  Draw draw(seed);
  ForwardProblem problem = drawDecode(draw);
  const std::string target = draw.of<std::string>({"gfx950", "gfx950", "gfx950", "gfx942"});
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + target + " " + problem.describe());
  std::shared_ptr<Planner> &planner = planners[target];
  if (!planner) {
    jit::PlannerOptions options;
    options.architecture = target;
    auto made = jit::makePlanner(options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    planner = *made;
  }
  auto plan = planner->plan(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  split += (*plan)->combine() != nullptr;
  ForwardOptions run;
  run.interleavings = 1;
  run.check = true;
  run.seed = seed;
  run.data = draw.of({DataKind::Normal, DataKind::Normal, DataKind::Rising, DataKind::OneHot});
  run.scoreRules = reference::interpretModifications;
  auto device = sim::createDevice(nullptr, target);
  Result<ForwardReport> report = runForward(*device, (*plan)->launches(), (*plan)->problem(), run);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
  EXPECT_TRUE(report->findings.empty()) << toText(*report);
}

TEST_F(RandomDecodes, AreRightHoweverTheirKeysAreSplit) {
  const uint64_t count = fromEnvironment("HOCKET_RANDOM_DECODES", 8);
  const uint64_t first = fromEnvironment("HOCKET_TEST_SEED", 20261128);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count && !HasFailure(); ++i)
    runOne(first + i);
  RecordProperty("split", std::to_string(split));
  EXPECT_TRUE(HasFailure() || count < 8 || split * 3 >= static_cast<int64_t>(count)) << split << " of " << count;
}
