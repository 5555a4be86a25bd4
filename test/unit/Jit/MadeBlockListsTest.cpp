// Lists of blocks that a kernel makes of random masks: those of the host, and attention by them.
//
// HOCKET_RANDOM_LISTS=N draws more than the suite does, HOCKET_TEST_SEED=N others.
#include "../Kernels/Draw.h"
#include "Reference/ScoreInterpreter.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

static constexpr uint64_t kDefaultCount = 8, kDefaultSeed = 20261123;

static void add(ForwardProblem &problem, const char *name) {
  Result<Modification> modification = shippedModification(name);
  ASSERT_TRUE(modification.ok()) << modification.error().message;
  problem.modifications.push_back(*modification);
}

static ForwardProblem drawProblem(Draw &draw) {
  ForwardProblem problem;
  problem.batch = draw.between(1, 2);
  problem.heads = draw.between(1, 3);
  problem.headDim = problem.headDimV = 64;
  problem.seqQ = draw.between(1, 700);
  problem.seqKv = draw.between(1, 700);
  if (draw.oneIn(2))
    problem.visibility = Visibility::causal();
  if (draw.oneIn(2)) {
    problem.numbers["window_left"] = static_cast<double>(draw.between(-1, 300));
    problem.numbers["window_right"] = static_cast<double>(draw.between(-1, 100));
    add(problem, "window");
  }
  if (draw.oneIn(3)) {
    problem.numbers["prefix"] = static_cast<double>(draw.between(0, 400));
    add(problem, "prefix");
  }
  if (draw.oneIn(3))
    add(problem, "documents");
  problem.blocks = {draw.of<int64_t>({128, 256}), draw.of<int64_t>({64, 128, 192})};
  problem.makesBlocks = true;
  problem.fullBlocks = !draw.oneIn(3);
  // None of these masks depends on the head.
  if (draw.oneIn(2))
    for (std::string prefix : {"", "full_"}) {
      int64_t rows = (problem.seqQ + problem.blocks.queries - 1) / problem.blocks.queries;
      int64_t columns = (problem.seqKv + problem.blocks.keys - 1) / problem.blocks.keys;
      problem.capturedExtents[prefix + "kv_num_blocks"] = {problem.batch, 1, rows};
      problem.capturedExtents[prefix + "kv_indices"] = {problem.batch, 1, rows, columns};
    }
  return problem;
}

/// The host's lists; those of one head where heads share them, full blocks being partial where there are no full ones.
static Result<BlockLists> listsOfMasks(const ForwardProblem &problem, const ForwardInputs &inputs) {
  auto rules = reference::interpretModifications(problem, inputs.captured);
  if (!rules.ok())
    return rules.error();
  BlockLists all = makeBlockLists(problem, [&](int64_t batch, int64_t head, int64_t query, int64_t key) {
    return problem.sees(query, key) && (*rules)->sees({batch, head, query, key});
  });
  int64_t heads = problem.capturedExtents.empty() ? problem.heads : 1;
  std::vector<BlockKind> every = all.table(), table;
  size_t ofHead = static_cast<size_t>(all.rows * all.columns);
  for (size_t i = 0; i != every.size(); ++i) {
    if (heads == 1 && i / ofHead % static_cast<size_t>(problem.heads) != 0)
      continue;
    bool isFull = every[i] == BlockKind::Full;
    table.push_back(isFull && !problem.fullBlocks ? BlockKind::Partial : every[i]);
  }
  BlockLists lists = listBlocks(problem.batch, heads, all.rows, all.columns, table);
  if (!problem.fullBlocks)
    lists.fullCounts.clear(), lists.fullIndices.clear();
  return lists;
}

TEST(MadeBlockLists, AreThoseOfTheHost) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_LISTS", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  for (uint64_t seed = first; seed != first + count; ++seed) {
    Draw draw(seed);
    ForwardProblem problem = drawProblem(draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe());
    jit::PlannerOptions chip;
    chip.architecture = draw.of<std::string>({"gfx950", "gfx942"});
    auto planner = jit::makePlanner(chip);
    ASSERT_TRUE(planner.ok()) << planner.error().message;
    auto plan = (*planner)->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    // The lists, and attention: one launch, or slices and what folds them.
    EXPECT_EQ((*plan)->launches().size(), (*plan)->problem().tuning.isSplit() ? 3u : 2u);
    ForwardOptions options;
    options.check = true;
    options.seed = seed;
    options.scoreRules = reference::interpretModifications;
    options.blockLists = listsOfMasks;
    auto device = sim::createDevice(nullptr, chip.architecture);
    auto report = runForward(*device, (*plan)->launches(), (*plan)->problem(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->passed()) << toText(*report);
  }
}

TEST(MadeBlockLists, NeedSizes) {
  ForwardProblem problem;
  problem.makesBlocks = true;
  Status status = validate(problem);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("say how many queries and keys a block has"));
}
