// Gradients: random problems over heads, groups, lengths, masks, layouts, types, chips and data, in checked execution
// and several interleavings, which must agree to the bit; and the cases that break others.
//
// One file although long: all cases draw on the problems of its first 150 lines.
// HOCKET_RANDOM_BACKWARDS=N draws more than the suite does, HOCKET_TEST_SEED=N others.
#include "BackwardRun.h"
#include "Draw.h"
#include "DrawSequences.h"
#include "Reference/ScoreInterpreter.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

using namespace hocket;
using namespace hocket::attention;

namespace {
constexpr uint64_t kDefaultCount = 4, kDefaultSeed = 20261122;

int64_t drawLength(Draw &draw) {
  return draw.oneIn(2) ? draw.of<int64_t>({1, 31, 32, 33, 63, 64, 65, 96, 127, 129, 255, 257})
                       : draw.between(1, 400);
}

void drawMasks(Draw &draw, ForwardProblem &problem) {
  auto add = [&](const char *name) {
    Result<Modification> modification = shippedModification(name);
    ASSERT_TRUE(modification.ok());
    problem.modifications.push_back(*modification);
  };
  if (draw.oneIn(2))
    problem.visibility = Visibility::causal();
  if (draw.oneIn(3)) {
    problem.numbers["window_left"] = double(draw.between(-1, 100));
    problem.numbers["window_right"] = double(draw.between(-1, 60));
    add("window");
  }
  if (draw.oneIn(8))
    add("documents");
  if (draw.oneIn(10))
    add("chunked");
  if (draw.oneIn(10)) {
    problem.numbers["prefix"] = double(draw.between(0, 150));
    add("prefix");
  }
}

/// Modified scores with bias, dropout, sinks; few at a time, for the registers' sake.
void drawScores(Draw &draw, ForwardProblem &problem) {
  auto add = [&](const char *name) {
    Result<Modification> modification = shippedModification(name);
    ASSERT_TRUE(modification.ok());
    problem.modifications.push_back(*modification);
  };
  if (draw.oneIn(3)) {
    problem.numbers["soft_cap"] = draw.of({0.1, 1.5, 20.0});
    add("soft_cap");
  }
  if (draw.oneIn(4))
    add("alibi");
  if (draw.oneIn(5)) {
    add(problem.dtype == ElementType::BF16 ? "bias_bf16" : "bias_fp16");
    problem.capturedExtents["bias"] = {draw.oneIn(2) ? 1 : problem.batch, draw.oneIn(2) ? 1 : problem.heads,
                                       draw.oneIn(2) ? 1 : problem.seqQ, problem.seqKv};
  }
  if (draw.oneIn(6)) {
    problem.numbers["max_distance"] = double(draw.between(1, 80));
    add("relative_bias");
  }
  problem.sink = draw.oneIn(3);
  problem.dropout = draw.oneIn(3);
  problem.dropping = {draw.of({0.0, 0.1, 0.5}), draw.between(0, 1 << 20), draw.between(0, 99)};
}

/// Block lists, of any extents, given both ways or transposed in front.
void drawBlocks(Draw &draw, BackwardProblem &problem) {
  ForwardProblem &forward = problem.forward;
  forward.blocks = {draw.of<int64_t>({32, 64, 96, 128, 128, 256}), draw.of<int64_t>({32, 64, 96, 128, 128, 256})};
  forward.fullBlocks = draw.oneIn(2);
  problem.transposedLists = draw.oneIn(2);
  auto blocksOf = [](int64_t rows, int64_t size) { return (rows + size - 1) / size; };
  int64_t rows = blocksOf(forward.seqQ, forward.blocks.queries), columns = blocksOf(forward.seqKv, forward.blocks.keys);
  int64_t batch = draw.oneIn(2) ? 1 : forward.batch, heads = draw.oneIn(2) ? 1 : forward.heads;
  for (std::string prefix : {"", "full_"}) {
    forward.capturedExtents[prefix + "kv_num_blocks"] = {batch, heads, rows};
    forward.capturedExtents[prefix + "kv_indices"] = {batch, heads, rows, columns};
  }
}

/// The same in one loop, where it is there.
void runFused(BackwardProblem problem, DataKind data, uint64_t seed, Draw &draw) {
  problem.accumulate = draw.of({Accumulation::F32, Accumulation::Packed});
  if (!validate(problem).ok() || !planFor(problem, "gfx950").ok())
    return;
  SCOPED_TRACE(problem.describe());
  runChecked(problem, data, seed);
}

void runOne(uint64_t seed) {
  Draw draw(seed);
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.dtype = draw.of({ElementType::BF16, ElementType::F16});
  forward.headDim = draw.oneIn(2) ? draw.of<int64_t>({64, 128}) : 8 * draw.between(1, 32);
  forward.headDimV = draw.oneIn(4) ? 8 * draw.between(1, 32) : forward.headDim;
  if (draw.oneIn(8))
    forward.headDim = 192, forward.headDimV = 128;
  forward.batch = draw.between(1, 2);
  forward.kvHeads = draw.between(1, 2);
  forward.heads = forward.kvHeads * draw.of<int64_t>({1, 1, 2, 4});
  forward.seqQ = drawLength(draw), forward.seqKv = drawLength(draw);
  forward.layout = draw.of({Layout::BSHD, Layout::BHSD});
  if (draw.oneIn(4))
    forward.scale = draw.of({-0.2, 0.0, 0.05, 0.3});
  drawMasks(draw, forward);
  if (draw.oneIn(2))
    drawScores(draw, forward);
  if (forward.sink && !draw.oneIn(4))
    problem.otherGradients.insert("sink");
  bool ownLengths = draw.oneIn(3) && !forward.capturedExtents.contains("bias");
  if (ownLengths)
    forward.batch = draw.between(1, 4), addSequences(forward, draw);
  for (const Modification &modification : forward.modifications)
    for (const CapturedTensor &tensor : modification.tensors)
      if ((tensor.name == "bias" || tensor.name == "slopes" || tensor.name == "table") && draw.oneIn(2))
        problem.otherGradients.insert(tensor.name);
  if (!ownLengths && draw.oneIn(3))
    drawBlocks(draw, problem);
  if (draw.oneIn(4) && !ownLengths) {
    int64_t row = forward.kvHeads * forward.headDim + 8;
    problem.gradientStrides["dk"] = {row * forward.seqKv + 64, row, forward.headDim};
  }
  auto data = draw.of({DataKind::Normal, DataKind::Normal, DataKind::Normal, DataKind::Rising,
                       DataKind::Large, DataKind::OneHot, DataKind::Equal});
  std::string target = draw.of<std::string>({"gfx950", "gfx950", "gfx942"});
  const int64_t group = forward.heads / forward.kvHeads;
  if (draw.oneIn(3))
    problem.groupParts = draw.of<int64_t>({1, group, forward.blocks.any() ? group : group * draw.between(2, 5)});
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe() + " on " +
               target + ", data " + std::string(toString(data)));
  ASSERT_TRUE(validate(problem).ok()) << validate(problem).error().message;
  runChecked(problem, data, seed, target);
  // Of small problems no other workgroup shares the compute unit; the kernel for that is tried all the same.
  bool mayShare = target == "gfx950" && std::min(forward.headDim, forward.valueHeadDim()) > 96 &&
                  std::max(forward.headDim, forward.valueHeadDim()) <= 128;
  if (mayShare && planFor(problem, target, "two_on_a_unit").ok())
    runChecked(problem, data, seed, target, "two_on_a_unit");
  runFused(problem, data, seed, draw);
}
} // namespace

TEST(Backward, RandomProblemsAreRight) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_BACKWARDS", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count; ++i) {
    // Of a long run one wants to know where it is, and where it was if it ends the process.
    if (count > kDefaultCount)
      std::cout << "HOCKET_TEST_SEED=" << first + i << std::endl;
    runOne(first + i);
  }
}

/// All schedules of a part compute the same bits.
TEST(Backward, SchedulesDoNotChangeBits) {
  BackwardProblem problem;
  problem.forward.heads = 2, problem.forward.kvHeads = 1;
  problem.forward.seqQ = 150, problem.forward.seqKv = 200;
  problem.forward.headDim = problem.forward.headDimV = 64;
  problem.forward.visibility = Visibility::causal();
  uint64_t hash = runChecked(problem, DataKind::Normal, 1, "gfx950", "sequential").outputHash;
  EXPECT_EQ(runChecked(problem, DataKind::Normal, 1, "gfx950", "double_buffer").outputHash, hash);
}

/// One loop: dQ is added up in another order, dK and dV have the bits of every schedule; four interleavings each.
TEST(Backward, FusedIsRightInEveryOrder) {
  struct Case {
    int64_t dim;
    Accumulation accumulate;
    const char *schedule;
  };
  for (auto [dim, accumulate, schedule] : {Case{64, Accumulation::F32, "in_turns"},
                                           Case{64, Accumulation::Packed, "sequential"},
                                           Case{128, Accumulation::F32, "sequential"},
                                           Case{128, Accumulation::Packed, "in_turns"}}) {
    BackwardProblem problem;
    problem.forward.heads = 4, problem.forward.kvHeads = 2;
    problem.forward.seqQ = 193, problem.forward.seqKv = 520;
    problem.forward.headDim = problem.forward.headDimV = dim;
    problem.forward.visibility = dim == 64 ? Visibility::causal() : Visibility();
    problem.accumulate = accumulate;
    SCOPED_TRACE(problem.describe() + ", " + schedule);
    Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, "gfx950", schedule);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_EQ((*plan)->launches().size(), 3u);
    EXPECT_EQ((*plan)->launches()[1].kernel, std::string("fmha_bwd_fused_") + schedule + "_" +
                                                 std::string(toString(accumulate)));
    runChecked(problem, DataKind::Normal, 12, "gfx950", schedule);
  }
}

/// Keys of a workgroup that do not exist have weights beyond every number where all scores are far below zero, and must
/// not count in dQ.
TEST(Backward, FusedIgnoresKeysThatAreNotThere) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.dtype = ElementType::F16;
  forward.seqQ = 150, forward.seqKv = 2;
  forward.headDim = forward.headDimV = 64;
  problem.accumulate = Accumulation::F32;
  for (DataKind data : {DataKind::Large, DataKind::Rising})
    runChecked(problem, data, 13);
}

/// Nor do the shape that goes with a schedule, and where what is held lies.
TEST(Backward, TwoWorkgroupsOnAUnitHaveTheSameBits) {
  BackwardProblem problem;
  problem.forward.heads = 4, problem.forward.kvHeads = 2;
  problem.forward.seqQ = 170, problem.forward.seqKv = 300;
  problem.forward.headDim = problem.forward.headDimV = 128;
  problem.forward.visibility = Visibility::causal();
  uint64_t hash = runChecked(problem, DataKind::Normal, 3, "gfx950", "sequential").outputHash;
  Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, "gfx950", "two_on_a_unit");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->launches()[1].kernel, "fmha_bwd_dkdv_two_on_a_unit_paired");
  EXPECT_EQ((*plan)->launches()[2].kernel, "fmha_bwd_dq_dual_wave");
  EXPECT_EQ(runChecked(problem, DataKind::Normal, 3, "gfx950", "two_on_a_unit").outputHash, hash);
  EXPECT_EQ(runChecked(problem, DataKind::Normal, 3, "gfx950", "two_on_a_unit_alternate").outputHash, hash);
}

/// Where there are workgroups for all compute units, two share one.
TEST(Backward, ManyWorkgroupsShareUnits) {
  BackwardProblem problem;
  problem.forward.heads = problem.forward.kvHeads = 8;
  problem.forward.seqQ = problem.forward.seqKv = 4096;
  auto first = [&] { return backwardSteps(problem)[1].front().front().name; };
  EXPECT_EQ(first(), "fmha_bwd_dkdv_double_buffer");
  problem.forward.heads = problem.forward.kvHeads = 16;
  EXPECT_EQ(first(), "fmha_bwd_dkdv_two_on_a_unit");
  // Where others follow, all alike, the two sums are added to in turns.
  problem.forward.batch = 2;
  EXPECT_EQ(first(), "fmha_bwd_dkdv_two_on_a_unit_alternate");
  problem.forward.batch = 1;
  // Nothing follows the first two of each unit, which differ: a heavy one comes beside a light one.
  problem.forward.visibility = Visibility::causal();
  EXPECT_EQ(first(), "fmha_bwd_dkdv_two_on_a_unit_paired");
  // As it does where lighter ones follow, but not where another batch does.
  problem.forward.seqQ = problem.forward.seqKv = 8192;
  EXPECT_EQ(first(), "fmha_bwd_dkdv_two_on_a_unit_paired");
  problem.forward.batch = 2;
  EXPECT_EQ(first(), "fmha_bwd_dkdv_two_on_a_unit");
  problem.forward.headDim = problem.forward.headDimV = 64;
  EXPECT_EQ(first(), "fmha_bwd_dkdv_double_buffer");
}

/// Rows that see nothing, more queries than keys, give nothing, and neither do keys that nobody sees.
TEST(Backward, RowsThatSeeNothing) {
  BackwardProblem problem;
  problem.forward.seqQ = 140, problem.forward.seqKv = 33;
  problem.forward.headDim = problem.forward.headDimV = 64;
  problem.forward.visibility = Visibility::causal();
  runChecked(problem, DataKind::Normal, 2);
}

/// Where one key has nearly all of the weight dP and delta cancel, and delta is as exact as the O that is given: the
/// rounding of that alone makes errors of the size of the tolerance (docs/Accuracy.md).
TEST(Backward, DeltaIsOfTheStoredO) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 2;
  forward.seqQ = 27, forward.seqKv = 31;
  forward.headDim = 192, forward.headDimV = 128;
  forward.visibility = Visibility::causal();
  forward.scale = -0.2;
  BackwardReport report = runChecked(problem, DataKind::Normal, 202611440);
  ASSERT_EQ(report.errors.gradients.size(), 3u);
  for (const GradientErrors &gradient : report.errors.gradients)
    EXPECT_LT(gradient.tensorRelative, 3e-3) << gradient.name;
}

TEST(Backward, Refused) {
  BackwardProblem problem;
  auto message = [&] {
    Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, "gfx950");
    return plan.ok() ? std::string() : plan.error().message;
  };
  problem.forward.headDim = 60;
  EXPECT_EQ(message(), "no kernel takes the backward of bf16 B1 H1 Sq1 Skv1 D60 bshd: head-dim is 60, use a multiple "
                       "of 8 up to 256");
  problem.forward.headDim = problem.forward.headDimV = 96;
  problem.accumulate = Accumulation::F32;
  problem.deterministic = true;
  EXPECT_EQ(message(), "'deterministic' is asked for, and 'accumulate' f32, which adds dQ up in whatever order workgroups "
                       "come to it; leave one of them out");
}

/// Of a small head a block of lists may leave tiles that fewer waves fetch than would without.
TEST(Backward, SmallHeadsOfSmallBlocks) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.heads = 2;
  forward.seqQ = 129, forward.seqKv = 97;
  forward.headDim = forward.headDimV = 8;
  forward.blocks = {128, 32};
  forward.capturedExtents["kv_num_blocks"] = {1, 1, 2};
  forward.capturedExtents["kv_indices"] = {1, 1, 2, 4};
  runChecked(problem, DataKind::Normal, 61);
}

/// Of a large head few waves load so many rows of a tile that registers interleave them in several groups.
TEST(Backward, LargeHeadsOfSmallBlocksThroughRegisters) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.dtype = ElementType::F16;
  forward.seqQ = 100, forward.seqKv = 70;
  forward.headDim = 32, forward.headDimV = 232;
  forward.blocks = {64, 32};
  forward.capturedExtents["kv_num_blocks"] = {1, 1, 2};
  forward.capturedExtents["kv_indices"] = {1, 1, 2, 3};
  runChecked(problem, DataKind::Normal, 62, "gfx942");
}

/// Heads whose columns are no power of two, and of fewer than two blocks: what is behind them is zero, and not stored.
TEST(Backward, FusedTakesEveryHead) {
  for (auto [dim, dimV] : {std::pair(16, 16), {72, 72}, {96, 40}, {136, 136}, {192, 128}, {224, 224}}) {
    BackwardProblem problem;
    problem.forward.heads = 2, problem.forward.kvHeads = 1;
    problem.forward.seqQ = 100, problem.forward.seqKv = 270;
    problem.forward.headDim = dim, problem.forward.headDimV = dimV;
    problem.forward.visibility = dim == 96 ? Visibility::causal() : Visibility();
    problem.accumulate = dim % 16 == 0 ? Accumulation::F32 : Accumulation::Packed;
    SCOPED_TRACE(problem.describe());
    runChecked(problem, DataKind::Normal, 41);
  }
}

/// Sequences one behind the other: some have no queries, some no keys, some more queries than keys, and between them
/// lie rows that are nobody's.
static BackwardProblem packedSequences() {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 5, forward.heads = 4, forward.kvHeads = 2;
  forward.seqQ = 200, forward.seqKv = 300;
  forward.headDim = forward.headDimV = 64;
  forward.visibility = Visibility::causal();
  forward.lists = {true, true, true, true};
  forward.totalQ = 350, forward.totalKv = 650;
  forward.known.lists = {{"cu_seqlens_q", {0, 0, 33, 233, 272, 350}},
                         {"cu_seqlens_k", {0, 100, 100, 400, 417, 650}},
                         {"seqused_q", {0, 33, 190, 39, 60}},
                         {"seqused_k", {90, 0, 300, 17, 233}}};
  return problem;
}

/// Sums of packed sequences have places of their own, and sequences without queries none.
TEST(Backward, FusedTakesPackedSequences) {
  BackwardProblem problem = packedSequences();
  ForwardProblem &forward = problem.forward;
  for (Accumulation accumulate : {Accumulation::F32, Accumulation::Packed}) {
    problem.accumulate = accumulate;
    runChecked(problem, DataKind::Normal, 42);
  }
  forward.headDim = forward.headDimV = 128;
  forward.lists = {false, false, true, true}; // dense, of lengths of their own
  forward.known.lists = {{"seqused_q", {0, 33, 190, 39, 60}}, {"seqused_k", {90, 0, 300, 17, 233}}};
  runChecked(problem, DataKind::Normal, 43);
}

/// dQ walks the forward's lists, dK and dV those of blocks of queries: of masks that count in partial blocks alone,
/// with a mask that counts in all, heads of a group with lists of their own, rows behind whole blocks, and blocks of
/// nothing.
TEST(Backward, BlockLists) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 2, forward.heads = 4, forward.kvHeads = 2;
  forward.seqQ = 300, forward.seqKv = 420;
  forward.headDim = forward.headDimV = 64;
  forward.blocks = {128, 128};
  forward.fullBlocks = true;
  forward.modifications = {*shippedModification("documents")};
  Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, "gfx950");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ((*plan)->launches().size(), 4u);
  EXPECT_EQ((*plan)->launches().front().kernel, "fmha_bwd_lists");
  runChecked(problem, DataKind::Normal, 31);
  problem.transposedLists = true;
  plan = planFor(problem, "gfx950");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->launches().size(), 3u);
  runChecked(problem, DataKind::Normal, 31);
  forward.visibility = Visibility::causal();
  forward.headDim = forward.headDimV = 128;
  runChecked(problem, DataKind::Normal, 32);
  runChecked(problem, DataKind::Normal, 32, "gfx950", "two_on_a_unit");
  forward.headDim = forward.headDimV = 64;
  forward.blocks = {256, 32};
  forward.dropout = true, forward.sink = true;
  forward.dropping = {0.2, 3, 4};
  problem.otherGradients = {"sink"};
  problem.transposedLists = false;
  runChecked(problem, DataKind::Normal, 33);
  runChecked(problem, DataKind::Normal, 34, "gfx942");
  forward.headDim = forward.headDimV = 256; // dK and dV apart
  forward.dropout = false;
  forward.blocks = {128, 96};
  runChecked(problem, DataKind::Normal, 35);
}

/// More entries than a wave looks at together.
TEST(Backward, LongListsAreTransposed) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.seqQ = 70, forward.seqKv = 32 * 150;
  forward.headDim = forward.headDimV = 32;
  forward.blocks = {32, 32};
  forward.fullBlocks = true;
  runChecked(problem, DataKind::Normal, 36);
}

namespace {
/// Lines of a region that make `result` of `from`: a number that rises or falls with it, or neither.
std::string drawNumber(Draw &draw, std::string from, const std::string &result) {
  std::string text;
  int64_t steps = draw.between(1, 4);
  for (int64_t step = 0; step != steps; ++step) {
    std::string own = step + 1 == steps ? result : result + std::to_string(step), constant = "%c" + own.substr(1);
    int64_t kind = draw.between(0, 6);
    int64_t number = kind <= 1 ? draw.between(1, 70) : kind == 2 ? draw.between(0, 3) : draw.between(-60, 200);
    if (draw.oneIn(5) && kind > 2)
      constant = "%shift";
    else
      text += "  " + constant + " = arith.constant " + std::to_string(number) + " : i32\n";
    constexpr const char *ops[] = {"divsi", "divsi", "muli", "addi", "subi", "maxsi", "minsi"};
    bool swaps = kind == 4 && draw.oneIn(2);
    text += "  " + own + " = arith." + ops[kind] + " " + (swaps ? constant + ", " + from : from + ", " + constant) +
            " : i32\n";
    from = own;
  }
  return text;
}

std::string drawPredicate(Draw &draw) {
  std::string text = "attn.mask_mod @drawn(%batch: i32, %head: i32, %query: i32, %key: i32,\n"
                     "    %shift: i32 {attn.value = \"seq_kv - seq_q\"}) {\n" +
                     drawNumber(draw, "%query", "%q");
  std::string key = "%key";
  if (draw.oneIn(2)) {
    text += "  %by = arith.constant " + std::to_string(draw.between(1, 60)) + " : i32\n";
    text += "  %k = arith.divsi %key, %by : i32\n";
    key = "%k";
  }
  std::string comparison = draw.of<const char *>({"eq", "eq", "sge", "sle", "slt", "sgt", "ne"});
  return text + "  %seen = arith.cmpi " + comparison + ", %q, " + key + " : i32\n  attn.yield %seen : i1\n}";
}
} // namespace

/// Queries that see a key are visited, whatever says which: numbers that are divided, scaled, limited, mirrored.
TEST(Backward, NumbersOfQueriesLeaveNoneOut) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_PREDICATES", 6), first = fromEnvironment("HOCKET_TEST_SEED", 7100);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t seed = first; seed != first + count; ++seed) {
    Draw draw(seed);
    BackwardProblem problem;
    ForwardProblem &forward = problem.forward;
    forward.headDim = forward.headDimV = 32;
    forward.seqQ = draw.between(1, 600), forward.seqKv = draw.between(1, 600);
    std::string text = drawPredicate(draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + text);
    Result<std::vector<Modification>> modifications = parseModifications(text, "drawn.mlir");
    ASSERT_TRUE(modifications.ok()) << modifications.error().message;
    forward.modifications = *modifications;
    runChecked(problem, DataKind::Normal, seed);
  }
}

/// Keys go through the queries that see them, and no others, whatever says it.
TEST(Backward, PredicatesLeaveQueriesOut) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.seqQ = forward.seqKv = 1536;
  forward.headDim = forward.headDimV = 64;
  auto instructions = [&] {
    BackwardReport report = runChecked(problem, DataKind::Normal, 37);
    return report.launches.empty() ? 0 : report.launches.front().kernels[1].waveInstructions;
  };
  uint64_t all = instructions();
  forward.modifications = {*shippedModification("window")};
  forward.numbers = {{"window_left", 60}, {"window_right", 0}};
  uint64_t ofWindow = instructions();
  EXPECT_GT(ofWindow, 0u);
  EXPECT_LT(ofWindow, all / 2);
  forward.visibility = Visibility::causal();
  forward.numbers = {{"window_left", 60}, {"window_right", 100}};
  EXPECT_LT(instructions(), all / 2);
  // Quotients and the greater of two, in which the query is no summand; falling ones, and scaled.
  forward.visibility = Visibility();
  forward.numbers = {};
  for (const char *seen : {"%place = arith.maxsi %diagonal, %zero : i32\n  %own = arith.divsi %place, %size : i32\n"
                           "  %other = arith.divsi %key, %size : i32\n  %seen = arith.cmpi eq, %own, %other : i32",
                           "%own = arith.divsi %diagonal, %size : i32\n  %mirrored = arith.subi %nine, %own : i32\n"
                           "  %other = arith.divsi %key, %size : i32\n  %seen = arith.cmpi eq, %mirrored, %other : i32",
                           "%own = arith.shrsi %query, %five : i32\n  %far = arith.muli %own, %five : i32\n"
                           "  %near = arith.minsi %far, %size : i32\n  %seen = arith.cmpi sge, %near, %key : i32"}) {
    std::string text = "attn.mask_mod @chunks(%batch: i32, %head: i32, %query: i32, %key: i32,\n"
                       "    %shift: i32 {attn.value = \"seq_kv - seq_q\"}) {\n"
                       "  %size = arith.constant 128 : i32\n  %zero = arith.constant 0 : i32\n"
                       "  %five = arith.constant 5 : i32\n  %nine = arith.constant 9 : i32\n"
                       "  %diagonal = arith.addi %query, %shift : i32\n  " +
                       std::string(seen) + "\n  attn.yield %seen : i1\n}";
    Result<std::vector<Modification>> modifications = parseModifications(text, "chunks.mlir");
    ASSERT_TRUE(modifications.ok()) << modifications.error().message;
    SCOPED_TRACE(text);
    forward.modifications = *modifications;
    EXPECT_LT(instructions(), all / 2);
  }
  forward.seqQ = 700, forward.seqKv = 450; // of the last: a negative shift
  instructions();
}

/// Scores far beyond a cap, where powers overflow, have flat slopes and not NaN.
TEST(Backward, ScoresFarBeyondTheCap) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.seqQ = 40, forward.seqKv = 70;
  forward.headDim = forward.headDimV = 64;
  forward.modifications.push_back(*shippedModification("soft_cap"));
  forward.numbers["soft_cap"] = 0.01;
  runChecked(problem, DataKind::Normal, 8);
}

/// Slopes with kinks, branches and roots, captured numbers and tensors, against the interpreter's own derivatives; with
/// dropout, whose sign must not be mistaken for a slope's.
TEST(Backward, ModifiedScores) {
  Result<std::vector<Modification>> modifications = parseModifications(R"(
attn.score_mod @bent(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?xf32> {attn.sizes = ["heads"]}, %reach: i32) {
  %slope = attn.read %slopes[%head] : tensor<?xf32> -> f32
  %near = arith.cmpi sle, %key, %reach : i32
  %zero = arith.constant 0.0 : f32
  %negative = arith.cmpf olt, %score, %zero : f32
  %bent = scf.if %near -> f32 {
    %one = arith.constant 1.0 : f32
    %size = math.absf %score : f32
    %more = arith.addf %size, %one : f32
    %root = math.sqrt %more : f32
    %turned = arith.negf %root : f32
    scf.yield %turned : f32
  } else {
    %inner = scf.if %negative -> f32 {
      %power = math.exp %score : f32
      scf.yield %power : f32
    } else {
      %product = arith.mulf %score, %slope : f32
      scf.yield %product : f32
    }
    scf.yield %inner : f32
  }
  %wave = math.sin %score : f32
  %sum = arith.addf %bent, %wave : f32
  attn.yield %sum : f32
})", "bent.mlir");
  ASSERT_TRUE(modifications.ok()) << modifications.error().message;
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.heads = 2, forward.kvHeads = 1;
  forward.seqQ = 100, forward.seqKv = 77;
  forward.headDim = forward.headDimV = 64;
  forward.modifications = *modifications;
  forward.numbers["reach"] = 30;
  runChecked(problem, DataKind::Normal, 5);
  forward.dropout = true;
  forward.dropping = {0.3, 7, 8, /*inMemory=*/true};
  runChecked(problem, DataKind::Normal, 6);
  forward.dtype = ElementType::F16;
  forward.visibility = Visibility::causal();
  runChecked(problem, DataKind::Normal, 7, "gfx942");
}

namespace {
/// Two batches, two heads of queries for each of keys.
BackwardProblem groupedHeads(int64_t seqQ, int64_t seqKv) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 2, forward.heads = 4, forward.kvHeads = 2;
  forward.seqQ = seqQ, forward.seqKv = seqKv;
  forward.headDim = forward.headDimV = 64;
  return problem;
}

/// The gradient of a bias with each of `extents` is checked, and as exact as the others.
void runWithBiases(BackwardProblem problem, std::initializer_list<std::vector<int64_t>> extents, uint64_t seed) {
  problem.otherGradients = {"bias"};
  for (const std::vector<int64_t> &each : extents) {
    problem.forward.capturedExtents["bias"] = each;
    BackwardReport report = runChecked(problem, DataKind::Normal, seed);
    ASSERT_EQ(report.errors.gradients.size(), 4u);
    EXPECT_TRUE(report.errors.gradients.back().isChecked);
    EXPECT_LT(report.errors.gradients.back().tensorRelative, 4e-3);
  }
}
} // namespace

/// A table by head and by distance, of which some distances lie outside, before a cap, with dropout, of packed
/// sequences; and one that differs from batch to batch and is read at places that masks and the score know nothing of.
TEST(Backward, GradientsOfTables) {
  BackwardProblem problem = groupedHeads(150, 70);
  ForwardProblem &forward = problem.forward;
  forward.modifications = {*shippedModification("relative_bias"), *shippedModification("soft_cap")};
  forward.numbers = {{"max_distance", 40}, {"soft_cap", 1.5}};
  problem.otherGradients = {"table"};
  BackwardReport report = runChecked(problem, DataKind::Normal, 51);
  ASSERT_EQ(report.errors.gradients.size(), 4u);
  EXPECT_EQ(report.errors.gradients.back().name, "d_table");
  EXPECT_TRUE(report.errors.gradients.back().isChecked);
  forward.visibility = Visibility::causal();
  forward.dropout = true;
  forward.dropping = {0.3, 7, 8};
  runChecked(problem, DataKind::Normal, 52, "gfx942");
  Result<std::vector<Modification>> modifications = parseModifications(R"(
attn.score_mod @hashed(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?x?xf32> {attn.sizes = ["batch", "seq_kv"]}) {
  %three = arith.constant 3 : i32
  %size = arith.constant 31 : i32
  %product = arith.muli %query, %three : i32
  %sum = arith.addi %product, %key : i32
  %place = arith.remui %sum, %size : i32
  %number = attn.read %t[%batch, %place] : tensor<?x?xf32> -> f32
  %square = arith.mulf %number, %number : f32
  %result = arith.addf %score, %square : f32
  attn.yield %result : f32
})", "hashed.mlir");
  ASSERT_TRUE(modifications.ok()) << modifications.error().message;
  forward.modifications = *modifications;
  forward.numbers = {};
  problem.otherGradients = {"t"};
  forward.dropout = false;
  forward.lists.usedKv = true;
  forward.known.lists = {{"seqused_k", {70, 31}}};
  runChecked(problem, DataKind::Normal, 53);
}

/// Sequences one behind the other: some have no queries, some no keys, some more queries than keys, and between them
/// lie rows that are nobody's and hold NaN.
TEST(Backward, PackedSequences) {
  BackwardProblem problem = packedSequences();
  ForwardProblem &forward = problem.forward;
  forward.sink = true;
  problem.otherGradients = {"sink"};
  runChecked(problem, DataKind::Normal, 9);
  runChecked(problem, DataKind::Normal, 9, "gfx942");
  forward.dropout = true;
  forward.dropping = {0.2, 3, 4};
  forward.modifications = {*shippedModification("window")};
  forward.numbers = {{"window_left", 40}, {"window_right", 5}};
  runChecked(problem, DataKind::Normal, 10);
}

/// Packed sequences of the same lengths have the gradients of dense ones to the bit.
TEST(Backward, SequencesOfEqualLengthsAreDenseToTheBit) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 3, forward.heads = 2;
  forward.seqQ = 70, forward.seqKv = 130;
  forward.headDim = forward.headDimV = 64;
  forward.visibility = Visibility::causal();
  forward.sink = true;
  problem.otherGradients = {"sink"};
  uint64_t hash = runChecked(problem, DataKind::Normal, 11).outputHash;
  forward.lists.packedQ = forward.lists.packedKv = true;
  forward.totalQ = 210, forward.totalKv = 390;
  forward.known.lists = {{"cu_seqlens_q", {0, 70, 140, 210}}, {"cu_seqlens_k", {0, 130, 260, 390}}};
  EXPECT_EQ(runChecked(problem, DataKind::Normal, 11).outputHash, hash);
}

/// Summed over batches and more rows than one step has, most of which see nothing but the sink.
TEST(Backward, GradientOfTheSink) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 2, forward.heads = 4, forward.kvHeads = 2;
  forward.seqQ = 1100, forward.seqKv = 40; // more rows than one step of the sum has
  forward.headDim = forward.headDimV = 32;
  forward.visibility = Visibility::causal();
  forward.sink = true;
  problem.otherGradients = {"sink"};
  BackwardReport report = runChecked(problem, DataKind::Normal, 12);
  ASSERT_EQ(report.errors.gradients.size(), 4u);
  EXPECT_EQ(report.errors.gradients.back().name, "d_sink");
  EXPECT_TRUE(report.errors.gradients.back().isChecked);
  EXPECT_LT(report.errors.gradients.back().tensorRelative, 4e-3);
  forward.dropout = true;
  forward.dropping = {0.5, 1, 2};
  runChecked(problem, DataKind::Large, 13, "gfx942");
}

/// A bias with every extent that may be 1, before a cap; slopes of heads; both with all else.
TEST(Backward, GradientsOfCapturedTensors) {
  BackwardProblem problem = groupedHeads(150, 70);
  ForwardProblem &forward = problem.forward;
  forward.visibility = Visibility::causal();
  forward.modifications = {*shippedModification("bias_bf16")};
  runWithBiases(problem, {{2, 4, 150, 70}, {1, 4, 150, 70}, {2, 1, 1, 70}, {1, 1, 1, 70}}, 14);
  forward.capturedExtents["bias"] = {1, 1, 1, 70};
  forward.modifications.push_back(*shippedModification("soft_cap"));
  forward.modifications.push_back(*shippedModification("alibi"));
  forward.modifications.push_back(*shippedModification("window"));
  forward.numbers = {{"soft_cap", 1.5}, {"window_left", 40}, {"window_right", 5}};
  forward.sink = forward.dropout = true;
  forward.dropping = {0.2, 3, 4};
  problem.otherGradients = {"bias", "sink", "slopes"};
  runChecked(problem, DataKind::Normal, 15);
  forward.dtype = ElementType::F16;
  forward.modifications.front() = *shippedModification("bias_fp16");
  forward.headDim = 72;
  runChecked(problem, DataKind::Large, 16, "gfx942");
}

/// By block lists a captured tensor gets what the listed blocks add: a bias with all extents and with some of 1, slopes
/// and a table, where blocks have the rows of fewer waves and where keys end within one.
TEST(Backward, GradientsOfCapturedTensorsGoByBlockLists) {
  BackwardProblem problem = groupedHeads(200, 170);
  ForwardProblem &forward = problem.forward;
  forward.blocks = {128, 64};
  forward.fullBlocks = true;
  forward.modifications = {*shippedModification("bias_bf16"), *shippedModification("documents")};
  runWithBiases(problem, {{2, 4, 200, 170}, {1, 4, 1, 170}}, 54);
  forward.visibility = Visibility::causal();
  forward.blocks = {96, 32};
  forward.modifications = {*shippedModification("alibi"), *shippedModification("relative_bias")};
  forward.numbers = {{"max_distance", 40}};
  forward.dropout = true;
  forward.dropping = {0.2, 3, 4};
  problem.otherGradients = {"slopes", "table"};
  runChecked(problem, DataKind::Normal, 55);
  runChecked(problem, DataKind::Normal, 56, "gfx942");
}

/// Gradients of what packed sequences read count each sequence's own places.
TEST(Backward, GradientOfABiasOfPackedSequences) {
  BackwardProblem problem;
  ForwardProblem &forward = problem.forward;
  forward.batch = 3, forward.heads = 2;
  forward.seqQ = 70, forward.seqKv = 90;
  forward.headDim = forward.headDimV = 64;
  forward.lists.packedQ = forward.lists.packedKv = true;
  forward.totalQ = 110, forward.totalKv = 150;
  forward.known.lists = {{"cu_seqlens_q", {0, 70, 70, 110}}, {"cu_seqlens_k", {0, 50, 60, 150}}};
  forward.modifications = {*shippedModification("bias_bf16")};
  problem.otherGradients = {"bias"};
  runChecked(problem, DataKind::Normal, 17);
  forward.capturedExtents["bias"] = {1, 2, 70, 90};
  runChecked(problem, DataKind::Normal, 18);
}

/// A plan takes buffers by name and refuses what is missing.
TEST(Backward, PlanRunsOnBuffers) {
  BackwardProblem problem;
  problem.forward.seqQ = 70, problem.forward.seqKv = 50;
  problem.forward.headDim = problem.forward.headDimV = 64;
  Result<std::shared_ptr<const BackwardPlan>> plan = planFor(problem, "gfx950", "sequential");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->workspaceBytes(), 8u * 70);
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, "gfx950");
  Buffers buffers;
  std::string names;
  for (const BufferNeed &need : (*plan)->buffers()) {
    names += need.name + " ";
    auto memory = device->allocate(need.bytes);
    ASSERT_TRUE(memory.ok());
    std::vector<std::byte> zeros(need.bytes);
    ASSERT_TRUE(device->copyToDevice(*memory, zeros).ok());
    buffers[need.name] = {*memory, need.bytes};
  }
  EXPECT_EQ(names, "q k v do o lse dq dk dv workspace ");
  EXPECT_TRUE((*plan)->run(*device, buffers).ok());
  Buffers without = buffers;
  without.erase("lse");
  EXPECT_EQ((*plan)->run(*device, without).error().message,
            "buffer 'lse' is null, 280 bytes of device memory are needed");
  buffers["workspace"].bytes = 8;
  EXPECT_EQ((*plan)->run(*device, buffers).error().message,
            "buffer 'workspace' has 8 bytes, 560 are needed");
}
