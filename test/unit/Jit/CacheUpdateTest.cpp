// Keys that are appended to caches, and rotary embedding: random plans against the definition, and what is refused.
//
// HOCKET_RANDOM_APPENDS=N draws more than the suite does, HOCKET_TEST_SEED=N others.
#include "FindingsOnZeros.h"

#include "../Kernels/Draw.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static constexpr uint64_t kDefaultCount = 12, kDefaultSeed = 20261123;

/// Pages at random for sequences that have `lengths` keys in the end.
static void addPages(ForwardProblem &problem, Draw &draw, const std::vector<int32_t> &lengths) {
  problem.pageLayout = draw.of({PageLayout::NHD, PageLayout::HND, PageLayout::Vectorised});
  problem.lists.pageSize = problem.pageLayout == PageLayout::Vectorised ? draw.of<int64_t>({8, 16, 24, 64, 200})
                                                                        : draw.of<int64_t>({1, 16, 48, 64, 200});
  int64_t size = problem.lists.pageSize, perSequence = (problem.seqKv + size - 1) / size;
  problem.numPages = problem.batch * perSequence + 3;
  std::vector<int32_t> order(static_cast<size_t>(problem.numPages));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(draw.between(0, 1 << 20))));
  auto pagesOf = [&](int32_t length) { return (length + size - 1) / size; };
  if (draw.oneIn(2)) {
    problem.tablePages = perSequence;
    std::vector<int32_t> &table = problem.known.lists["block_table"];
    table.assign(static_cast<size_t>(problem.batch * perSequence), INT32_MAX);
    size_t next = 0;
    for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
      for (int64_t page = 0; page != pagesOf(lengths[static_cast<size_t>(sequence)]); ++page)
        table[static_cast<size_t>(sequence * perSequence + page)] = order[next++];
    return;
  }
  problem.lists.pageLists = true;
  problem.lists.usedKv = false;
  problem.known.lists.erase("seqused_k");
  std::vector<int32_t> starts = {0}, last;
  for (int32_t length : lengths) {
    starts.push_back(starts.back() + static_cast<int32_t>(pagesOf(length)));
    last.push_back(static_cast<int32_t>(length - (pagesOf(length) - 1) * size));
  }
  // There is a page at least, behind all that any sequence has.
  std::vector<int32_t> &pages = problem.known.lists["kv_page_indices"];
  pages.assign(order.begin(), order.begin() + starts.back());
  pages.push_back(INT32_MAX);
  problem.tablePages = static_cast<int64_t>(pages.size());
  problem.known.lists["kv_indptr"] = std::move(starts);
  problem.known.lists["kv_last_page_len"] = std::move(last);
}

/// Sequences that use some of their queries, whose rooms are `rooms`.
static void useSomeQueries(ForwardProblem &problem, Draw &draw, const std::vector<int32_t> &rooms) {
  problem.lists.usedQ = true;
  std::vector<int32_t> &used = problem.known.lists["seqused_q"];
  for (int32_t room : rooms)
    used.push_back(static_cast<int32_t>(draw.oneIn(3) ? room : draw.between(0, room)));
}

/// Packed queries, each with a new key: sequences of all lengths in a tensor with rows in front and behind that are
/// nobody's.
static void packQueries(ForwardProblem &problem, Draw &draw) {
  problem.lists.packedQ = true;
  problem.newRows = problem.seqQ;
  std::vector<int32_t> &starts = problem.known.lists["cu_seqlens_q"];
  starts = {static_cast<int32_t>(draw.oneIn(3) ? draw.between(0, 5) : 0)};
  std::vector<int32_t> rooms;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    rooms.push_back(static_cast<int32_t>(draw.oneIn(4) ? 0 : draw.between(1, problem.seqQ)));
    starts.push_back(starts.back() + rooms.back());
  }
  if (draw.oneIn(3))
    useSomeQueries(problem, draw, rooms);
  problem.minSeqlenQ = draw.oneIn(3) ? draw.between(0, 5) : 0;
  problem.totalQ = starts.back() + draw.between(starts.back() == 0, 3);
  problem.work.list = draw.of({WorkLists::None, WorkLists::Made});
  problem.work.slices = problem.work.any() && draw.oneIn(2);
}

/// Caches of 8 bits, or numbers that count something: new rows are divided and rounded, or copied. Vectors have 16 bits.
static void drawStored(ForwardProblem &problem, Draw &draw) {
  problem.descale = draw.oneIn(2);
  problem.update.asStored = draw.oneIn(3);
  if (problem.pageLayout == PageLayout::Vectorised || draw.oneIn(3))
    return;
  const auto stored = draw.of({ElementType::F8E4M3, ElementType::F8E5M2});
  problem.dtype = draw.oneIn(3) ? HeadTypes(stored) : HeadTypes(problem.dtype.q, stored);
}

static ForwardProblem drawProblem(Draw &draw) {
  ForwardProblem problem;
  problem.dtype = draw.of({ElementType::BF16, ElementType::F16});
  problem.batch = draw.between(1, 4);
  problem.kvHeads = draw.of<int64_t>({1, 2, 3, 20});
  problem.heads = problem.kvHeads * draw.of<int64_t>({1, 2, 7});
  problem.headDim = draw.of<int64_t>({64, 128, 192});
  problem.headDimV = problem.headDim == 192 ? 128 : problem.headDim;
  problem.layout = draw.of({Layout::BSHD, Layout::BHSD});
  problem.newRows = draw.of<int64_t>({1, 2, 5, 17});
  problem.seqQ = draw.oneIn(3) ? draw.between(1, 40) : problem.newRows;
  if (draw.oneIn(3))
    packQueries(problem, draw);
  else if (draw.oneIn(4))
    useSomeQueries(problem, draw, std::vector<int32_t>(static_cast<size_t>(problem.batch), static_cast<int32_t>(problem.seqQ)));
  problem.seqKv = draw.between(problem.newRows, 300);
  problem.wantLse = draw.oneIn(2);
  if (draw.oneIn(2))
    problem.visibility = Visibility::causal();
  problem.update.appends = true;
  if (!draw.oneIn(3)) {
    problem.update.rotary = draw.of({Rotary::Interleaved, Rotary::Half});
    problem.update.rotaryDim = 16 * draw.between(1, problem.headDim / 16);
    problem.positions = problem.seqKv + problem.seqQ;
  }
  std::vector<int32_t> before, after;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    int64_t added = problem.newRowsOf(sequence);
    before.push_back(static_cast<int32_t>(draw.oneIn(4) ? 0 : draw.between(0, problem.seqKv - added)));
    after.push_back(before.back() + static_cast<int32_t>(added));
  }
  problem.lists.usedKv = true;
  problem.known.lists["seqused_k"] = before;
  if (draw.oneIn(2))
    addPages(problem, draw, after);
  if (!draw.oneIn(3))
    drawStored(problem, draw);
  return problem;
}

TEST(CacheUpdate, RandomOnesAreWhatTheDefinitionSays) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_APPENDS", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  for (uint64_t seed = first; seed != first + count; ++seed) {
    Draw draw(seed);
    ForwardProblem problem = drawProblem(draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe());
    bool isSmall = bytesOf(problem.dtype.k) == 1;
    std::string target = isSmall ? "gfx950" : draw.of<std::string>({"gfx950", "gfx950", "gfx942"});
    jit::PlannerOptions chip;
    chip.architecture = target;
    auto planner = jit::makePlanner(chip);
    ASSERT_TRUE(planner.ok()) << planner.error().message;
    auto plan = (*planner)->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ForwardOptions options;
    options.check = true;
    options.interleavings = interleavingsWanted();
    options.seed = seed;
    auto device = sim::createDevice(nullptr, target);
    auto report = runForward(*device, (*plan)->launches(), (*plan)->problem(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->passed()) << toText(*report);
  }
}

static ForwardProblem small() {
  ForwardProblem problem;
  problem.seqKv = 100;
  problem.newRows = 4;
  problem.update = {true, Rotary::Half, 64};
  problem.positions = 100;
  problem.lists.usedKv = true;
  return problem;
}

static std::string refusal(const ForwardProblem &problem) {
  Status status = validate(problem);
  return status.ok() ? "" : status.error().message;
}

TEST(CacheUpdate, WhatCannotBeIsRefusedByName) {
  EXPECT_EQ(refusal(small()), "");
  ForwardProblem problem = small();
  problem.update.rotaryDim = 40;
  EXPECT_THAT(refusal(problem), HasSubstr("rotary-dim is 40, it must be a multiple of 16 up to the head-dim, 128"));
  problem.update.rotaryDim = 144;
  EXPECT_THAT(refusal(problem), HasSubstr("rotary-dim is 144"));
  problem = small();
  problem.positions = 99;
  EXPECT_THAT(refusal(problem), HasSubstr("have 99 positions, up to 100 are needed"));
  problem = small();
  problem.seqQ = 10;
  EXPECT_EQ(refusal(problem), ""); // without a mask all queries have the first one's position
  problem.visibility = Visibility::causal();
  EXPECT_THAT(refusal(problem), HasSubstr("have 100 positions, up to 106 are needed"));
  problem = small();
  problem.newRows = 0;
  EXPECT_THAT(refusal(problem), HasSubstr("append is 0, it must be at least 1"));
  problem = small();
  problem.lists.usedKv = false;
  EXPECT_THAT(refusal(problem), HasSubstr("say how many that are (used-kv)"));
  problem = small();
  problem.lists.packedKv = true;
  EXPECT_THAT(refusal(problem), HasSubstr("appended to packed keys"));
  problem = small();
  problem.lists.packedQ = true;
  EXPECT_THAT(refusal(problem), HasSubstr("append is 4, where queries are packed a sequence gets a new key for each"));
  problem.newRows = problem.seqQ;
  EXPECT_EQ(refusal(problem), "");
  problem = small();
  problem.lists.packedQ = true;
  problem.seqQ = problem.newRows = 5;
  problem.batch = 2;
  problem.totalQ = 6;
  problem.known.lists["cu_seqlens_q"] = {0, 5, 6};
  problem.known.lists["seqused_k"] = {95, 99};
  EXPECT_EQ(refusal(problem), "");
  problem.known.lists["seqused_k"] = {95, 100};
  EXPECT_THAT(refusal(problem),
              HasSubstr("'seqused_k' has 100 at 1 and gets 1 new rows (append), there is room for 100"));
  problem.minSeqlenQ = 1; // the second sequence is skipped, and so gets none
  EXPECT_EQ(refusal(problem), "");
  problem.minSeqlenQ = 0;
  problem.lists.usedQ = true;
  problem.known.lists["seqused_q"] = {4, 0};
  problem.known.lists["seqused_k"] = {96, 100};
  EXPECT_EQ(refusal(problem), "");
  problem.known.lists["seqused_k"] = {97, 100};
  EXPECT_THAT(refusal(problem), HasSubstr("'seqused_k' has 97 at 0 and gets 4 new rows (append)"));
  problem = small();
  problem.update.appends = false;
  EXPECT_THAT(refusal(problem), HasSubstr("rotary turns new keys; append some"));
  problem = small();
  problem.known.lists["seqused_k"] = {97};
  EXPECT_THAT(refusal(problem), HasSubstr("'seqused_k' has 97 at 0 and gets 4 new rows (append), there is room for 100"));
}

// Q in its turned form is the plan's own, behind what slices of keys need.
TEST(CacheUpdate, TurnedQueriesHaveTheirPlaceInTheWorkspace) {
  ForwardProblem problem = small();
  problem.known.lists["seqused_k"] = {90};
  auto planner = jit::makePlanner();
  ASSERT_TRUE(planner.ok());
  auto plan = (*planner)->plan(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->launches().size(), 2u);
  EXPECT_EQ((*plan)->launches().front().kernel, "append_d128_bf16_half64");
  EXPECT_EQ((*plan)->workspaceBytes(), 256u);
  problem.tuning.numSplits = 2;
  auto split = (*planner)->plan(problem);
  ASSERT_TRUE(split.ok()) << split.error().message;
  EXPECT_EQ((*split)->launches().size(), 3u);
  EXPECT_GT((*split)->workspaceBytes(), 256u);
}

// The kernel that appends depends on what is stored, and on nothing else of K and V.
TEST(CacheUpdate, KernelsAreNamedByWhatTheyStore) {
  ForwardProblem problem = small();
  problem.dtype = {ElementType::BF16, ElementType::F8E4M3};
  problem.descale = true;
  auto planner = jit::makePlanner();
  ASSERT_TRUE(planner.ok());
  for (auto [asStored, name] : {std::pair(false, "append_d128_bf16_kv_f8e4m3_descale_half64"),
                                {true, "append_d128_bf16_kv_f8e4m3_as_stored_half64"}}) {
    problem.update.asStored = asStored;
    auto plan = (*planner)->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ((*plan)->launches().front().kernel, name);
    EXPECT_EQ(problem.tensor("k_new").type, asStored ? ElementType::F8E4M3 : ElementType::BF16);
    EXPECT_EQ(problem.tensor("rotary_cos").type, ElementType::BF16);
  }
}

// What no host has seen is written nowhere outside of the cache, and is found.
TEST(CacheUpdate, ListsThatLieReachNothingOutside) {
  ForwardProblem problem;
  problem.batch = 3;
  problem.heads = 4, problem.kvHeads = 2;
  problem.seqQ = problem.newRows = 9, problem.totalQ = 14, problem.seqKv = 64;
  problem.visibility = Visibility::causal();
  problem.update = {true, Rotary::Half, 64};
  problem.positions = 64;
  problem.lists = {.packedQ = true, .usedQ = true, .usedKv = true, .pageSize = 16};
  problem.numPages = 13, problem.tablePages = 4;
  problem.work = {WorkLists::Made, /*slices=*/true};
  problem.workSlots = 8;
  problem.known.lists = {{"cu_seqlens_q", {0, 9, 10, 14}}, {"seqused_q", {7, 1, 4}}, {"seqused_k", {57, 0, 20}},
                         {"block_table", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}};
  auto planner = jit::makePlanner();
  ASSERT_TRUE(planner.ok()) << planner.error().message;
  auto plan = (*planner)->plan(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(findingsOnZeros(**plan, problem.known.lists), "");
  for (const auto &[name, numbers] : problem.known.lists)
    for (int32_t wrong : {-1, INT32_MAX})
      for (size_t at : {size_t(1), numbers.size() - (name == "block_table" ? 3 : 1)}) {
        auto lists = problem.known.lists;
        lists[name][at] = wrong;
        EXPECT_THAT(findingsOnZeros(**plan, lists), HasSubstr("'" + name + "'[")) << name << " " << at << " " << wrong;
      }
}
