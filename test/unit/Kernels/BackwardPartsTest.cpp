// Gradients whose workgroups share the queries of a group of heads: when that is chosen, and that sums are right.
#include "BackwardRun.h"

#include "hocket/Pipelines/Modifications.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

namespace {
BackwardProblem problemOf(int64_t heads, int64_t kvHeads, int64_t rows, int64_t headDim = 128) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.heads = heads, forward.kvHeads = kvHeads;
  forward.seqQ = forward.seqKv = rows;
  forward.headDim = forward.headDimV = headDim;
  return problem;
}

Modification windowOf(BackwardProblem &problem, int left) {
  problem.forward.numbers = {{"window_left", double(left)}, {"window_right", 0.0}};
  return *shippedModification("window");
}
} // namespace

/// Some heads, all of them, and slices of their queries, of which the last ones may be empty.
TEST(BackwardParts, SumsAreRight) {
  for (int64_t parts : {2, 4, 8, 40}) {
    BackwardProblem problem = problemOf(4, 1, 300);
    problem.forward.seqQ = 170;
    problem.forward.visibility = Visibility::causal();
    problem.groupParts = parts;
    SCOPED_TRACE(problem.describe());
    uint64_t hash = runChecked(problem, DataKind::Normal, 5).outputHash;
    EXPECT_EQ(runChecked(problem, DataKind::Normal, 5, "gfx950", "sequential").outputHash, hash);
    problem.accumulate = Accumulation::Packed;
    runChecked(problem, DataKind::Normal, 6);
  }
}

/// Slices are of the queries that masks leave.
TEST(BackwardParts, SlicesOfWhatMasksLeave) {
  BackwardProblem problem = problemOf(2, 1, 330, 64);
  problem.forward.modifications = {windowOf(problem, 70)};
  problem.groupParts = 6;
  runChecked(problem, DataKind::Normal, 7);
  runChecked(problem, DataKind::Rising, 8, "gfx942");
}

TEST(BackwardParts, ChosenWhereThereAreFewWorkgroups) {
  EXPECT_EQ(partsOfGroup(problemOf(64, 8, 4096)), 2);
  EXPECT_EQ(partsOfGroup(problemOf(32, 8, 2048)), 4);
  // One launch more for a few tiles.
  EXPECT_EQ(partsOfGroup(problemOf(4, 2, 200)), 1);
  // There are enough.
  EXPECT_EQ(partsOfGroup(problemOf(64, 8, 8192)), 1);
  EXPECT_EQ(partsOfGroup(problemOf(64, 64, 4096)), 1);
  // The heads of a group are too few: each has slices.
  EXPECT_EQ(partsOfGroup(problemOf(16, 8, 2048)), 4);
  BackwardProblem problem = problemOf(16, 16, 2048);
  EXPECT_EQ(partsOfGroup(problem), 1);
  problem.accumulate = Accumulation::Packed;
  EXPECT_EQ(partsOfGroup(problem), 2);
  // Beneath a causal mask more of them even out what they have to do.
  problem = problemOf(64, 8, 4096);
  problem.forward.visibility = Visibility::causal();
  EXPECT_EQ(partsOfGroup(problem), 4);
  // What has a compute unit for itself.
  problem = problemOf(64, 8, 4096);
  problem.forward.modifications = {windowOf(problem, 512)};
  EXPECT_EQ(partsOfGroup(problem), 1);
  EXPECT_EQ(partsOfGroup(problemOf(32, 8, 2048, 256)), 2);
  problem.groupParts = 8;
  EXPECT_EQ(partsOfGroup(problem), 8);
  // Of a group without divisors all heads, if these are not far too many, and at once.
  EXPECT_EQ(partsOfGroup(problemOf(71, 1, 4096)), 71);
  EXPECT_EQ(partsOfGroup(problemOf(2147483647, 1, 4096)), 1);
}

TEST(BackwardParts, Refused) {
  auto message = [](BackwardProblem problem, int64_t parts) {
    problem.groupParts = parts;
    Status status = validate(problem);
    return status.ok() ? std::string() : status.error().message;
  };
  BackwardProblem problem = problemOf(8, 2, 100);
  EXPECT_EQ(message(problem, 3), "group-parts is 3, and 4 query heads share a KV head; use a divisor of 4, 4 times 2 to 64, "
                                 "or 0 for as many as are best");
  EXPECT_THAT(message(problem, -4), HasSubstr("group-parts is -4"));
  EXPECT_THAT(message(problem, 4 * 65), HasSubstr("4 times 2 to 64"));
  EXPECT_EQ(message(problem, 4 * 64), "");
  problem.forward.blocks = {128, 128};
  problem.forward.capturedExtents = {{"kv_num_blocks", {1, 1, 1}}, {"kv_indices", {1, 1, 1, 1}}};
  EXPECT_EQ(message(problem, 8), "group-parts is 8, and 4 query heads share a KV head; use a divisor of 4, or 0 for as many "
                                 "as are best");
}
