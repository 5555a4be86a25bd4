// Lists of blocks: made, checked, and read again.
#include "hocket/Attention/BlockLists.h"
#include "hocket/Attention/ForwardProblem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

static ForwardProblem problemOf(int64_t seqQ, int64_t seqKv) {
  ForwardProblem problem;
  problem.batch = 2;
  problem.heads = problem.kvHeads = 3;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.blocks = {128, 64};
  problem.fullBlocks = true;
  return problem;
}

TEST(BlockLists, AreWhatThePredicateLeaves) {
  ForwardProblem problem = problemOf(200, 300);
  BlockLists lists = makeBlockLists(
      problem, [](int64_t batch, int64_t head, int64_t query, int64_t key) {
        return head != 1 && key <= query + 64 * batch;
      });
  EXPECT_EQ(lists.rows, 2);
  EXPECT_EQ(lists.columns, 5);
  ASSERT_TRUE(validate(lists, problem).ok()) << validate(lists, problem).error().message;
  // Keys of a block: of 64 up to 319. Queries 0 to 127 see blocks 0 and 1 in part, 128 to 199 all of these.
  EXPECT_THAT(std::span(lists.counts).first(4), ElementsAre(2, 2, 0, 0));
  EXPECT_THAT(std::span(lists.fullCounts).first(4), ElementsAre(0, 2, 0, 0));
  EXPECT_THAT(std::span(lists.indices).first(2), ElementsAre(0, 1));
  EXPECT_THAT(std::span(lists.indices).subspan(5, 2), ElementsAre(2, 3));
  EXPECT_THAT(std::span(lists.fullIndices).subspan(5, 2), ElementsAre(0, 1));
  // The last block ends at key 299: beyond there is nothing that could be hidden.
  ForwardProblem all = problemOf(200, 300);
  BlockLists whole = makeBlockLists(all, [](auto...) { return true; });
  EXPECT_THAT(std::span(whole.fullCounts).first(2), ElementsAre(5, 5));
  EXPECT_THAT(std::span(whole.counts).first(2), ElementsAre(0, 0));
}

TEST(BlockLists, SayTheKindOfEachBlock) {
  using enum BlockKind;
  std::vector<BlockKind> kinds = {Hidden, Full, Partial, Full, Hidden, Hidden, Partial, Partial, Full, Hidden};
  BlockLists lists = listBlocks(1, 1, 2, 5, kinds);
  EXPECT_EQ(lists.table(), kinds);
  EXPECT_EQ(lists.tensors().size(), 4u);
  EXPECT_EQ(lists.tensors()[1].first, "kv_indices");
  EXPECT_EQ(lists.tensors()[1].second.size(), 40u);
}

TEST(BlockLists, AreTransposed) {
  using enum BlockKind;
  std::vector<BlockKind> kinds = {Hidden, Full, Partial, Full, Hidden, Hidden, Partial, Partial, Full, Hidden};
  std::vector<BlockKind> other(10, Partial);
  std::vector<BlockKind> both = kinds;
  both.insert(both.end(), other.begin(), other.end());
  BlockLists turned = transpose(listBlocks(1, 2, 2, 5, both));
  EXPECT_EQ(turned.rows, 5);
  EXPECT_EQ(turned.columns, 2);
  EXPECT_THAT(turned.counts, ElementsAre(0, 1, 2, 0, 0, 2, 2, 2, 2, 2));
  EXPECT_THAT(std::span(turned.indices).first(6), ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(turned.fullCounts, ElementsAre(0, 1, 0, 2, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(std::span(turned.fullIndices).subspan(6, 2), ElementsAre(0, 1));
  EXPECT_EQ(transpose(turned).table(), both);
}

TEST(BlockLists, AreRefusedByName) {
  using enum BlockKind;
  ForwardProblem problem = problemOf(128, 300);
  std::vector<BlockKind> kinds = {Hidden, Full, Partial, Full, Partial};
  BlockLists right = listBlocks(1, 1, 1, 5, kinds);
  ASSERT_TRUE(validate(right, problem).ok());
  auto refused = [&](auto change, const char *message) {
    BlockLists wrong = right;
    change(wrong);
    ASSERT_FALSE(validate(wrong, problem).ok()) << message;
    EXPECT_THAT(validate(wrong, problem).error().message, HasSubstr(message));
  };
  refused([](BlockLists &l) { l.indices[1] = 5; }, "kv_indices[0, 0, 0, 1] is 5, expected a block of keys from 0 to 4");
  refused([](BlockLists &l) { l.indices[0] = -1; }, "kv_indices[0, 0, 0, 0] is -1");
  refused([](BlockLists &l) { l.fullIndices[0] = 2; }, "full_kv_indices[0, 0, 0, 0] lists block 2 for the second time");
  refused([](BlockLists &l) { l.counts[0] = 6; }, "kv_num_blocks[0, 0, 0] is 6, expected 0 to 5");
  refused([](BlockLists &l) { l.fullCounts[0] = -2; }, "full_kv_num_blocks[0, 0, 0] is -2");
  refused([](BlockLists &l) { l.indices.pop_back(); }, "kv_num_blocks and kv_indices have 1 and 4 numbers, expected 1 and 5");
  refused([](BlockLists &l) { l.heads = 2; }, "block lists are for a batch of 1, 2 heads and 1 x 5 blocks");
  // What does not count may be anything.
  BlockLists loose = right;
  loose.indices[2] = 1 << 30;
  EXPECT_TRUE(validate(loose, problem).ok());
  problem.fullBlocks = false;
  EXPECT_THAT(validate(right, problem).error().message, HasSubstr("which the problem has none of"));
}

TEST(BlockLists, AreTensorsOfTheProblem) {
  ForwardProblem problem = problemOf(200, 300);
  problem.capturedExtents["kv_indices"] = {1, 3, 2, 5};
  ASSERT_TRUE(validate(problem).ok()) << validate(problem).error().message;
  manifest::TensorSpec indices = problem.tensor("kv_indices");
  EXPECT_EQ(indices.rowElements, 5);
  EXPECT_EQ(indices.dimensions[0].stride, 0);
  EXPECT_TRUE(problem.tensor("full_kv_indices").wanted);
  EXPECT_THAT(problem.describe(), HasSubstr("blocks=128x64+full"));
  problem.fullBlocks = false;
  EXPECT_FALSE(problem.tensor("full_kv_indices").wanted);
  problem.capturedExtents["kv_indices"] = {1, 2, 2, 5};
  EXPECT_THAT(validate(problem).error().message, HasSubstr("'kv_indices' is 1 x 2 x 2 x 5, a kernel with block lists reads 2 x 3 x 2 x 5"));
  problem.capturedExtents.clear();
  problem.blocks = {128, -1};
  EXPECT_THAT(validate(problem).error().message, HasSubstr("blocks of -1 keys are asked for"));
}
