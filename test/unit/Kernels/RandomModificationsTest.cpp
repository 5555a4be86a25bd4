// Random combinations of modifications, masks, shapes, schedules and chips: what a kernel computes must be what the
// interpreter of the regions says, and checked execution must find nothing. It visits and cuts the tiles that brute
// force over the masks finds, none without need where the analysis promises that, and none less anywhere; and executes
// as many matrix instructions as that many tiles have.
//
// The same with packed sequences and with lengths of their own: some empty, some with rows that they do not use,
// which hold NaN and must stay as they are.
//
// And with keys in pages, which lie at random, some of them shared; entries of tables that nothing uses name no page.
//
// HOCKET_RANDOM_MODIFICATIONS=N, HOCKET_RANDOM_SEQUENCES=N and HOCKET_RANDOM_PAGES=N draw more than the suite does,
// HOCKET_TEST_SEED=N others.
#include "DrawSequences.h"
#include "Problems.h"
#include "TilesByForce.h"
#include "Verify/Attention/BlockTable.h"
#include "Reference/ScoreInterpreter.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Pipelines/TileCount.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

namespace {
constexpr uint64_t kDefaultCount = 16, kDefaultSequences = 8, kDefaultPages = 8, kDefaultSeed = 20261122;

int64_t drawLength(Draw &draw) {
  return draw.oneIn(2) ? draw.of<int64_t>({1, 31, 32, 63, 64, 65, 127, 128, 129, 255, 257, 512})
                       : draw.between(1, 700);
}

/// A predicate of comparisons of random sums of query and key, joined at random. `plain`: of factors 1, and the key
/// undivided, so that which tiles it cuts is known exactly.
std::string randomPredicate(Draw &draw, bool plain) {
  std::string text = "attn.mask_mod @random(%batch: i32, %head: i32, %query: i32, %key: i32, "
                     "%shift: i32 {attn.value = \"seq_kv - seq_q\"}) {\n";
  int64_t count = draw.between(1, 4);
  for (int64_t i = 0; i != count; ++i) {
    std::string n = std::to_string(i);
    auto line = [&](const std::string &name, const std::string &op) {
      text += "  %" + name + n + " = " + op + "\n";
    };
    line("c", "arith.constant " + std::to_string(draw.between(-200, 400)) + " : i32");
    line("f", "arith.constant " + std::to_string(draw.between(1, 3)) + " : i32");
    line("d", "arith.constant " + std::to_string(draw.of<int64_t>({1, 32, 64, 100, 128})) + " : i32");
    line("q", plain || draw.oneIn(2) ? "arith.addi %query, %shift : i32" : "arith.muli %query, %f" + n + " : i32");
    std::string key = "%key";
    if (!plain && draw.oneIn(4)) {
      line("k", "arith.divsi %key, %d" + n + " : i32");
      key = "%k" + n;
    }
    if (draw.oneIn(3)) {
      line("l", "arith.subi " + key + ", %q" + n + " : i32");
      line("r", "arith.addi %c" + n + ", %f" + n + " : i32");
    } else {
      line("l", "arith.addi " + key + ", %f" + n + " : i32");
      line("r", "arith.addi %q" + n + ", %c" + n + " : i32");
    }
    line("p", "arith.cmpi " + draw.of<std::string>({"sle", "slt", "sge", "sgt", "eq", "ne"}) + ", %l" + n +
                  ", %r" + n + " : i32");
    if (i == 0) {
      line("s", "arith.ori %p0, %p0 : i1");
      continue;
    }
    std::string before = std::to_string(i - 1);
    if (draw.oneIn(4)) {
      line("t", "arith.constant true");
      line("n", "arith.xori %p" + n + ", %t" + n + " : i1");
    } else {
      line("n", "arith.andi %p" + n + ", %p" + n + " : i1");
    }
    line("s", draw.of<std::string>({"arith.andi", "arith.ori"}) + " %s" + before + ", %n" + n + " : i1");
  }
  return text + "  attn.yield %s" + std::to_string(count - 1) + " : i1\n}\n";
}

void addShipped(ForwardProblem &problem, const char *name) {
  Result<Modification> modification = shippedModification(name);
  ASSERT_TRUE(modification.ok()) << modification.error().message;
  problem.modifications.push_back(*modification);
}

void addScores(ForwardProblem &problem, Draw &draw) {
  if (draw.oneIn(4)) {
    problem.numbers["soft_cap"] = static_cast<double>(draw.between(1, 60)) / 2;
    addShipped(problem, "soft_cap");
  }
  if (draw.oneIn(4))
    addShipped(problem, draw.of<const char *>({"alibi", "alibi_vertical"}));
  if (draw.oneIn(4)) {
    addShipped(problem, problem.dtype == ElementType::BF16 ? "bias_bf16" : "bias_fp16");
    problem.capturedExtents["bias"] = {draw.oneIn(2) ? 1 : problem.batch,
                                       draw.oneIn(2) ? 1 : problem.heads,
                                       draw.oneIn(3) ? 1 : problem.seqQ, problem.seqKv};
  }
  if (draw.oneIn(6)) {
    problem.numbers["max_distance"] = static_cast<double>(draw.between(0, 300));
    addShipped(problem, "relative_bias");
  }
}

/// Whether analysis knows of each tile what its masks do.
bool addMasks(ForwardProblem &problem, Draw &draw) {
  if (draw.oneIn(3)) {
    problem.numbers["window_left"] = static_cast<double>(draw.between(-1, 200));
    problem.numbers["window_right"] = static_cast<double>(draw.between(-1, 80));
    bool hasSinks = draw.oneIn(2);
    if (hasSinks)
      problem.numbers["sink_tokens"] = static_cast<double>(draw.between(0, 150));
    addShipped(problem, hasSinks ? "window_with_sinks" : "window");
  }
  if (draw.oneIn(6)) {
    problem.numbers["prefix"] = static_cast<double>(draw.between(0, 300));
    addShipped(problem, "prefix");
  }
  if (draw.oneIn(6))
    addShipped(problem, draw.of<const char *>({"documents", "causal_top_left", "causal", "chunked"}));
  if (!draw.oneIn(3))
    return true;
  bool plain = draw.oneIn(2);
  std::string text = randomPredicate(draw, plain);
  Result<std::vector<Modification>> own = parseModifications(text, "random");
  EXPECT_TRUE(own.ok()) << own.error().message << text;
  if (own.ok())
    problem.modifications.push_back(own->front());
  return plain;
}

enum class KeyPlaces { Dense, OwnLengths, Pages };

ForwardProblem drawProblem(Draw &draw, KeyPlaces geometry) {
  bool ownLengths = geometry != KeyPlaces::Dense;
  ForwardProblem problem;
  problem.dtype = draw.of({ElementType::BF16, ElementType::F16});
  problem.batch = draw.between(1, ownLengths ? 5 : 2);
  problem.kvHeads = draw.between(1, 2);
  problem.heads = problem.kvHeads * draw.between(1, 2);
  problem.headDim = problem.headDimV = draw.of<int64_t>({128, 128, 64, 72, 256});
  problem.seqQ = drawLength(draw);
  problem.seqKv = drawLength(draw);
  problem.visibility = draw.oneIn(3) ? Visibility::causal() : Visibility();
  problem.wantLse = draw.oneIn(2);
  problem.sink = draw.oneIn(4);
  problem.dropout = draw.oneIn(4);
  if (problem.dropout)
    problem.dropping = {.probability = static_cast<double>(draw.between(1, 90)) / 100,
                        .seed = draw.between(-1000, int64_t(1) << 40),
                        .offset = draw.between(0, int64_t(1) << 34),
                        .inMemory = draw.oneIn(2)};
  if (!ownLengths && !problem.dropout && draw.oneIn(4)) {
    problem.blocks = {draw.of<int64_t>({256, 512}), draw.of<int64_t>({64, 128, 192})};
    problem.fullBlocks = draw.oneIn(2);
    if (draw.oneIn(2)) {
      int64_t rows = (problem.seqQ + problem.blocks.queries - 1) / problem.blocks.queries;
      int64_t columns = (problem.seqKv + problem.blocks.keys - 1) / problem.blocks.keys;
      problem.capturedExtents["kv_num_blocks"] = problem.capturedExtents["full_kv_num_blocks"] = {1, problem.heads, rows};
      problem.capturedExtents["kv_indices"] = problem.capturedExtents["full_kv_indices"] = {1, problem.heads, rows, columns};
    }
  }
  if (draw.oneIn(4))
    problem.scale = static_cast<double>(draw.between(-20, 20)) / 64;
  if (!problem.sink && !ownLengths && !problem.blocks.any() && draw.oneIn(4))
    problem.tuning.numSplits = draw.between(2, 4);
  if (ownLengths) {
    problem.layout = draw.of({Layout::BSHD, Layout::BHSD});
    addSequences(problem, draw);
    if (problem.lists.packedQ && draw.oneIn(4))
      problem.minSeqlenQ = draw.between(1, 40);
  }
  if (geometry == KeyPlaces::Pages)
    addPages(problem, draw);
  return problem;
}

/// Lists of blocks of what masks say, for a problem with full ones that differ from batch to batch and head to head.
Result<BlockLists> listsOfMasks(const ForwardProblem &problem, const ForwardInputs &inputs) {
  auto rules = reference::interpretModifications(problem, inputs.captured);
  if (!rules.ok())
    return rules.error();
  return makeBlockLists(problem, [&](int64_t batch, int64_t head, int64_t query, int64_t key) {
    return problem.sees(query, key) && (*rules)->sees({batch, head, query, key});
  });
}

/// Matrix instructions of one wave for one tile.
int64_t productsOfTile(const ForwardProblem &problem, int64_t keys, const std::string &target) {
  constexpr int64_t block = 32, operand = 16; // rows and columns, and the depth of an operand
  int64_t times = target == "gfx950" ? 1 : 2; // instructions for it
  auto parts = [](int64_t whole, int64_t part) { return (whole + part - 1) / part; };
  return times * (keys / block * parts(problem.headDim, operand) + parts(problem.valueHeadDim(), block) * (keys / operand));
}

/// The kinds of all blocks, [batch, heads, rows, columns], of lists that may be the same for some.
std::vector<BlockKind> kindsOf(const ForwardProblem &problem, const BlockLists &lists) {
  std::vector<BlockKind> table = lists.table(), kinds;
  int64_t size = lists.rows * lists.columns;
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t head = 0; head != problem.heads; ++head) {
      int64_t group = (lists.batch == 1 ? 0 : batch) * lists.heads + (lists.heads == 1 ? 0 : head);
      kinds.insert(kinds.end(), table.begin() + group * size, table.begin() + (group + 1) * size);
    }
  return kinds;
}

/// What the kernel visits, by analysis and by its matrix instructions, is what brute force finds.
void compareTiles(const ForwardProblem &problem, const ForwardKernel &kernel, const BlockLists &lists, bool isExact,
                  bool listsAreMasks, int64_t products, bool leavesOut) {
  Result<test::TilesByForce> byForce = test::TilesByForce::create(problem);
  ASSERT_TRUE(byForce.ok()) << byForce.error().message;
  manifest::Variables variables = problemVariables(problem);
  constexpr int64_t lanes = 64;
  int64_t waves = kernel.manifest.block[0].evaluate(variables)->asInteger() / lanes;
  TileSizes sizes = {waves * kernel.manifest.waveRows, kernel.manifest.tileKeys};
  bool isListed = problem.blocks.any();
  Result<TileCount> counted = countTiles(problem, sizes, isListed ? &lists : nullptr);
  ASSERT_TRUE(counted.ok()) << counted.error().message;
  test::TilesSeen seen = !isListed       ? byForce->count(sizes)
                         : listsAreMasks ? byForce->count(sizes, byForce->kindsOfBlocks())
                                         : byForce->count(sizes, kindsOf(problem, lists));
  EXPECT_GE(counted->visited, seen.visited) << "tiles that are seen are left out";
  EXPECT_GE(counted->cut, seen.cut) << "tiles that masks cut are taken to be whole";
  if (isExact) {
    EXPECT_EQ(counted->visited, seen.visited) << "tiles that nobody sees are visited";
    EXPECT_EQ(counted->cut, seen.cut) << "whole tiles are masked";
  }
  int64_t ofTile = productsOfTile(problem, sizes.keys, kernel.manifest.target);
  EXPECT_LE(products, counted->visited * waves * ofTile);
  EXPECT_GE(products, (leavesOut ? seen.ofWaves : counted->visited * waves) * ofTile) << "tiles are not computed";
}

/// The kernel by the first of `schedules` that has the registers for it, or by one with small tiles, for which some
/// always suffice.
Result<ForwardKernel> compileByAny(const ForwardProblem &problem, const std::string &target,
                                   std::vector<std::string> schedules, std::string &taken) {
  CompileOptions options;
  options.target = target;
  for (const std::string &schedule : schedules) {
    options.schedule = taken = schedule;
    if (Result<ForwardKernel> kernel = compileForward(problem, options); kernel.ok())
      return kernel;
  }
  options.kvTile = 32;
  options.schedule = taken = "sequential";
  options.waves = 4;
  if (Result<ForwardKernel> kernel = compileForward(problem, options); kernel.ok())
    return kernel;
  options.waves = 2, options.scalarsInLanes = true;
  return compileForward(problem, options);
}

/// What is drawn runs with a schedule that is drawn as well, or with the first that has the registers for it.
void runOne(uint64_t seed, KeyPlaces geometry, int64_t *exact = nullptr) {
  Draw draw(seed);
  ForwardProblem problem = drawProblem(draw, geometry);
  addScores(problem, draw);
  bool isExact = addMasks(problem, draw);
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe());
  EXPECT_TRUE(validate(problem).ok()) << validate(problem).error().message;
  std::string target = draw.of<std::string>({"gfx950", "gfx950", "gfx942"}), taken;
  std::vector<std::string> schedules = {"sequential", "double_buffer", "dual_wave"};
  std::rotate(schedules.begin(), schedules.begin() + draw.between(0, 2), schedules.end());
  schedules.push_back("read_ahead"); // of large heads it needs the fewest registers
  if (target != "gfx950")
    schedules = {"register_pipeline", "sequential"};
  Result<ForwardKernel> kernel = compileByAny(problem, target, schedules, taken);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  ForwardOptions run;
  run.interleavings = interleavingsWanted();
  run.check = true;
  run.seed = seed;
  run.data = draw.of({DataKind::Normal, DataKind::Normal, DataKind::Rising, DataKind::OneHot});
  run.scoreRules = reference::interpretModifications;
  bool listsAreMasks = problem.fullBlocks && problem.capturedExtents.count("kv_indices") == 0 && draw.oneIn(2);
  if (listsAreMasks)
    run.blockLists = listsOfMasks;
  BlockLists lists;
  run.save = [&](const ForwardInputs &inputs, const ForwardOutputs &) {
    if (problem.blocks.any())
      lists = listsOf(problem, inputs);
    return Status::success();
  };
  std::shared_ptr<runtime::Device> device = sim::createDevice(nullptr, target);
  std::vector<PlannedLaunch> launches = {{"first", std::make_shared<CompiledKernel>(*kernel)}};
  if (problem.tuning.isSplit())
    launches.push_back({"combine", test::combineFor(problem, target)});
  Result<ForwardReport> report = runForward(*device, launches, problem, run);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (report.ok())
    EXPECT_TRUE(report->passed()) << toText(*report);
  if (geometry != KeyPlaces::Dense || ::testing::Test::HasFailure())
    return;
  // Once more, to count.
  test::ProductCounter counter;
  device = sim::createDevice(&counter, target);
  run.check = run.verify = false, run.interleavings = 1;
  report = runForward(*device, launches, problem, run);
  ASSERT_TRUE(report.ok()) << report.error().message;
  // Where all that a tile needs stands together, a wave leaves out tiles of which it sees nothing.
  bool leavesOut = taken != "dual_wave" && taken != "read_ahead";
  compareTiles(problem, *kernel, lists, isExact, listsAreMasks, counter.count(), leavesOut);
  if (exact)
    *exact += isExact;
}
} // namespace

TEST(Modifications, RandomCombinationsAreWhatTheInterpreterSays) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_MODIFICATIONS", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  int64_t exact = 0;
  for (uint64_t i = 0; i != count && !::testing::Test::HasFailure(); ++i)
    runOne(first + i, KeyPlaces::Dense, &exact);
  RecordProperty("tiles_exactly", std::to_string(exact));
  EXPECT_TRUE(::testing::Test::HasFailure() || exact * 2 >= static_cast<int64_t>(count))
      << "of " << count << " only " << exact;
}

/// A region may make scores of any size, and a row's largest counts all the same: alone, behind and in front of others
/// that add or multiply, and in slices.
TEST(Modifications, ScoresOfAnySizeHaveWeights) {
  auto times = [](const char *factor) {
    return std::string("attn.score_mod @times(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {\n"
                       "  %factor = arith.constant ") +
           factor + " : f32\n  %product = arith.mulf %score, %factor : f32\n  attn.yield %product : f32\n}\n";
  };
  struct Case {
    std::vector<const char *> before;
    const char *factor;
    std::vector<const char *> behind;
    int64_t slices;
  };
  const Case cases[] = {{{}, "1.152921504606847e18", {}, 1},
                        {{"soft_cap"}, "-1.0e9", {}, 1},
                        {{}, "1.0e30", {"alibi", "relative_bias"}, 1},
                        {{"relative_bias"}, "1.0e12", {}, 3}};
  for (const Case &item : cases)
    for (ElementType dtype : {ElementType::BF16, ElementType::F16}) {
      ForwardProblem problem = test::makeProblem(dtype, item.slices == 1, 1, 2, 1, 130, 333);
      problem.numbers = {{"soft_cap", 20}, {"max_distance", 30}};
      problem.tuning.numSplits = item.slices;
      for (const char *name : item.before)
        addShipped(problem, name);
      problem.modifications.push_back(parseModifications(times(item.factor), "times")->front());
      for (const char *name : item.behind)
        addShipped(problem, name);
      SCOPED_TRACE(std::string(item.factor) + " " + problem.describe());
      CompileOptions options;
      options.schedule = "sequential";
      Result<ForwardKernel> kernel = compileForward(problem, options);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      std::vector<PlannedLaunch> launches = {{"first", std::make_shared<CompiledKernel>(*kernel)}};
      if (item.slices > 1)
        launches.push_back({"combine", test::combineFor(problem)});
      ForwardOptions run;
      run.check = true;
      run.data = DataKind::Rising; // references move, by more than sums keep
      run.scoreRules = reference::interpretModifications;
      std::shared_ptr<runtime::Device> device = sim::createDevice();
      Result<ForwardReport> report = runForward(*device, launches, problem, run);
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_TRUE(report->passed()) << toText(*report);
    }
}

TEST(Sequences, RandomLengthsAreWhatTheInterpreterSays) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_SEQUENCES", kDefaultSequences);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count && !::testing::Test::HasFailure(); ++i)
    runOne(first + i, KeyPlaces::OwnLengths);
}

TEST(Pages, RandomTablesAreWhatTheInterpreterSays) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_PAGES", kDefaultPages);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count && !::testing::Test::HasFailure(); ++i)
    runOne(first + i, KeyPlaces::Pages);
}
