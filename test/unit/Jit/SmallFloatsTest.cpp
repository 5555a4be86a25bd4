// Attention of floats of 8 bits, of keys of 8 bits beside queries of 16, and of integers: random problems over types, descales, heads,
// masks, modifications, dense, packed and paged keys and split KV, all rows of O compared, in checked execution.
//
// The same problems in f32, and with numbers of single keys and values and O of 8 bits.
//
// HOCKET_RANDOM_SMALL_FLOATS=N, HOCKET_RANDOM_MX=N, HOCKET_RANDOM_F4=N, HOCKET_RANDOM_F32=N and HOCKET_RANDOM_KEY_NUMBERS=N draw more, HOCKET_TEST_SEED=N others.
#include "../Kernels/DrawSequences.h"
#include "Reference/ScoreInterpreter.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>


using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static constexpr uint64_t kDefaultCount = 12, kDefaultWide = 5, kDefaultMx = 6, kDefaultTiny = 6, kDefaultOfKeys = 10, kDefaultSeed = 20261128;

static HeadTypes drawTypes(Draw &draw) {
  ElementType e4m3 = ElementType::F8E4M3, e5m2 = ElementType::F8E5M2;
  if (draw.oneIn(3))
    return {ElementType::I8, ElementType::I8, draw.of({e4m3, e4m3, e5m2, ElementType::BF16, ElementType::F16})};
  if (draw.oneIn(2))
    return {draw.of({ElementType::BF16, ElementType::F16}), draw.of({e4m3, e5m2})};
  HeadTypes types = draw.of({e4m3, e4m3, e5m2});
  if (types.q == e4m3 && draw.oneIn(3))
    types.o = ElementType::F16;
  return types;
}

/// Lengths of one's own, sequences that are packed, or pages; the vectorised layout is of 16 bits.
static void drawSequences(ForwardProblem &problem, Draw &draw) {
  addSequences(problem, draw);
  if (draw.oneIn(2))
    return;
  addPages(problem, draw);
  if (problem.pageLayout == PageLayout::Vectorised)
    problem.pageLayout = PageLayout::HND;
}

static void modify(ForwardProblem &problem, Draw &draw) {
  auto add = [&](const char *name) { problem.modifications.push_back(*shippedModification(name)); };
  if (draw.oneIn(3)) {
    add("soft_cap");
    problem.numbers["soft_cap"] = 20;
  }
  if (draw.oneIn(3))
    add("alibi");
  if (draw.oneIn(3)) {
    add("window");
    problem.numbers["window_left"] = double(draw.between(0, 200)), problem.numbers["window_right"] = double(draw.between(0, 50));
  }
  problem.sink = draw.oneIn(4);
}

/// With scales of blocks: no pages, and heads of whole pairs of blocks.
static void addBlockScales(ForwardProblem &problem, Draw &draw) {
  const ElementType e4m3 = ElementType::F8E4M3, e5m2 = ElementType::F8E5M2, e2m1 = ElementType::F4E2M1;
  problem.mxScales = true;
  problem.dtype = draw.of({HeadTypes(e4m3), HeadTypes(e5m2), HeadTypes(e2m1, e2m1, e4m3), HeadTypes(e2m1, e2m1, e5m2)});
  problem.headDim = problem.headDimV = draw.of<int64_t>({64, 128, 128, 192, 256});
  problem.lists = {};
  problem.known.lists.clear();
  if (draw.oneIn(2) && problem.tuning.numSplits == 0)
    addSequences(problem, draw);
}

/// The same with V of 4 bits, whose scales are of keys of a sequence, so that these are not packed.
static void addValueScales(ForwardProblem &problem, Draw &draw) {
  const ElementType e4m3 = ElementType::F8E4M3, e2m1 = ElementType::F4E2M1;
  const int64_t keys = problem.seqKv;
  addBlockScales(problem, draw);
  problem.dtype = draw.of({HeadTypes(e2m1), HeadTypes(e2m1), HeadTypes(e4m3, e4m3, e2m1)});
  if (!problem.lists.packedKv)
    return;
  problem.lists = {};
  problem.known.lists.clear();
  problem.seqKv = keys;
}

/// Numbers of single keys and values, and O of 8 bits, beside Q, K and V of any types.
static void scaleKeysAndOutput(ForwardProblem &problem, Draw &draw) {
  if (draw.oneIn(4))
    problem.dtype = draw.of({ElementType::BF16, ElementType::F16, ElementType::F32});
  problem.outputScale = draw.oneIn(2);
  if (draw.oneIn(2))
    problem.dtype.o = draw.of({ElementType::F8E4M3, ElementType::F8E5M2});
  problem.descale = problem.dtype.q != ElementType::F32 && draw.between(0, 3) != 0;
  problem.descaleBlocks.keys = problem.descale && draw.oneIn(2) ? 1 : 0;
  problem.descaleBlocks.values = problem.descale && draw.oneIn(2) ? 1 : 0;
  problem.descaleBlocks.channels = problem.descale && problem.descaleBlocks.values == 0 && draw.oneIn(2);
  problem.descaleBlocks.rows = 0;
}

static ForwardProblem drawProblem(Draw &draw, std::optional<HeadTypes> types) {
  ForwardProblem problem;
  problem.dtype = types ? *types : drawTypes(draw);
  problem.descale = !types && draw.oneIn(2);
  if (problem.descale && draw.oneIn(2))
    problem.descaleBlocks = {draw.of<int64_t>({0, 32, 96, 128}), draw.of<int64_t>({0, 32, 64, 96, 256}), draw.oneIn(2)};
  problem.batch = draw.between(1, 3);
  problem.kvHeads = draw.between(1, 2);
  problem.heads = problem.kvHeads * draw.of<int64_t>({1, 2, 8});
  problem.headDim = problem.headDimV = draw.of<int64_t>({64, 128, 128, 16 * draw.between(1, 16)});
  problem.seqQ = draw.oneIn(2) ? draw.between(1, 5) : draw.between(1, 300);
  problem.seqKv = draw.between(1, draw.oneIn(3) ? 1500 : 400);
  problem.layout = draw.of({Layout::BSHD, Layout::BHSD});
  problem.visibility = draw.oneIn(2) ? Visibility::causal() : Visibility();
  problem.wantLse = draw.oneIn(2);
  if (draw.oneIn(2))
    drawSequences(problem, draw);
  if (draw.oneIn(3))
    modify(problem, draw);
  else if (draw.oneIn(3) && problem.headDim % 64 == 0 && problem.headDim <= 192 && !problem.lists.packedQ && !problem.lists.usedQ)
    problem.tuning.numSplits = draw.between(2, 5);
  return problem;
}

/// Runs `count` random problems of `types`, or of drawn ones, which `change` changes.
static void runRandom(uint64_t count, std::optional<HeadTypes> types = {}, void (*change)(ForwardProblem &, Draw &) = nullptr) {
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  for (uint64_t seed = first; seed != first + count; ++seed) {
    Draw draw(seed);
    ForwardProblem problem = drawProblem(draw, types);
    if (change)
      change(problem, draw);
    jit::PlannerOptions chip;
    chip.architecture = types && draw.oneIn(3) ? "gfx942" : "gfx950"; // which has no attention of 8 bits
    if (chip.architecture == "gfx942") {
      problem.headDim = problem.headDimV = std::min<int64_t>(problem.headDim, 192);
      problem.tuning.numSplits = 0; // no slices of f32
    }
    auto planner = jit::makePlanner(chip);
    ASSERT_TRUE(planner.ok()) << planner.error().message;
    auto device = sim::createDevice(nullptr, chip.architecture);
    DataKind data = draw.of({DataKind::Normal, DataKind::Rising, DataKind::OneHot, DataKind::Equal});
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe() + ", data " +
                 std::string(toString(data)) + ", " + chip.architecture);
    auto plan = (*planner)->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ForwardOptions options;
    options.check = true;
    options.interleavings = interleavingsWanted();
    options.seed = seed;
    options.data = data;
    options.scoreRules = reference::interpretModifications;
    auto report = runForward(*device, (*plan)->launches(), (*plan)->problem(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->passed()) << toText(*report);
  }
}

TEST(SmallFloats, RandomProblemsComeOutRight) {
  runRandom(fromEnvironment("HOCKET_RANDOM_SMALL_FLOATS", kDefaultCount));
}

TEST(BlockScales, RandomProblemsComeOutRight) {
  runRandom(fromEnvironment("HOCKET_RANDOM_MX", kDefaultMx), {}, addBlockScales);
}

TEST(ValueScales, RandomProblemsComeOutRight) {
  runRandom(fromEnvironment("HOCKET_RANDOM_F4", kDefaultTiny), {}, addValueScales);
}

TEST(NumbersOfKeys, RandomProblemsComeOutRight) {
  runRandom(fromEnvironment("HOCKET_RANDOM_KEY_NUMBERS", kDefaultOfKeys), {}, scaleKeysAndOutput);
}

TEST(WideFloats, RandomProblemsComeOutRight) {
  runRandom(fromEnvironment("HOCKET_RANDOM_F32", kDefaultWide), ElementType::F32);
}

static std::string refusal(HeadTypes types) {
  ForwardProblem problem;
  problem.dtype = types;
  Status status = validate(problem);
  return status.ok() ? "" : status.error().message;
}

TEST(SmallFloats, TypesThatDoNotMixAreRefusedWithTheNearest) {
  HeadTypes types(ElementType::BF16, ElementType::F8E4M3);
  EXPECT_EQ(refusal(types), "");
  types.v = ElementType::BF16;
  EXPECT_THAT(refusal(types), HasSubstr("dtype of v is bf16, which no kernel takes; use bf16_kv_f8e4m3"));
  types = ElementType::F8E4M3;
  types.k = ElementType::F16;
  EXPECT_THAT(refusal(types), HasSubstr("dtype of k is fp16, which no kernel takes; use f8e4m3"));
  types = ElementType::F16;
  types.o = ElementType::BF16;
  EXPECT_THAT(refusal(types), HasSubstr("dtype of o is bf16, which no kernel takes; use fp16"));
  types.o = ElementType::F8E4M3;
  EXPECT_EQ(refusal(types), "");
  EXPECT_EQ(optionName(types), "fp16_o_f8e4m3");
  EXPECT_EQ(types.of("k_new"), ElementType::F16);
  types = ElementType::F32;
  EXPECT_EQ(refusal(types), "");
  types.k = types.v = ElementType::F8E4M3;
  EXPECT_THAT(refusal(types), HasSubstr("dtype of k is f8e4m3, which no kernel takes; use f32"));
}

TEST(SmallIntegers, TypesThatDoNotMixAreRefusedWithTheNearest) {
  const ElementType integer = ElementType::I8, e5m2 = ElementType::F8E5M2, wide = ElementType::BF16;
  EXPECT_EQ(refusal({integer, integer, e5m2}), "");
  EXPECT_EQ(refusal({integer, integer, wide}), "");
  EXPECT_THAT(refusal(integer), HasSubstr("dtype of v is i8, which no kernel takes; use i8_v_f8e4m3"));
  EXPECT_THAT(refusal({wide, integer, wide}), HasSubstr("dtype of q is bf16, which no kernel takes; use i8_v_bf16"));
  EXPECT_THAT(refusal({integer, e5m2, e5m2}), HasSubstr("dtype of k is f8e5m2, which no kernel takes; use i8_v_f8e5m2"));
  HeadTypes types(integer, integer, wide);
  types.o = ElementType::F16;
  EXPECT_THAT(refusal(types), HasSubstr("dtype of o is fp16, which no kernel takes; use i8_v_bf16"));
}

TEST(SmallIntegers, DescalesThatNoKernelTakesAreRefusedByName) {
  ForwardProblem problem;
  problem.dtype = {ElementType::I8, ElementType::I8, ElementType::F8E4M3};
  problem.descaleBlocks = {128, 64, true};
  EXPECT_THAT(validate(problem).error().message, HasSubstr("and there are none; give such (descale)"));
  problem.descale = true;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("q_descale").elements(), 1);
  problem.seqQ = 300, problem.seqKv = 500, problem.heads = 4, problem.kvHeads = 2;
  EXPECT_EQ(problem.tensor("q_descale").elements(), 4 * 3);
  EXPECT_EQ(problem.tensor("k_descale").elements(), 2 * 8);
  EXPECT_EQ(problem.tensor("v_descale").elements(), 2 * 128);
  problem.descaleBlocks.keys = 16;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("descale-keys is 16, which no kernel takes; use a multiple of 32"));
  problem.descaleBlocks.keys = 1;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("k_descale").elements(), 2 * 500);
  problem.descaleBlocks.values = 1;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("and not both; leave one of them out"));
  problem.descaleBlocks.channels = false;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("v_descale").elements(), 2 * 500);
  problem.descaleBlocks.values = 2;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("descale-values is 2, which no kernel takes; use 1"));
  problem.descaleBlocks.keys = 64, problem.descaleBlocks.values = 0, problem.descaleBlocks.channels = true;
  problem.work.list = WorkLists::Given;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("and descale-rows is of one; leave one of them out"));
  problem.work = {};
  problem.lists.usedKv = problem.update.appends = true;
  problem.dtype = {ElementType::BF16, ElementType::F8E4M3};
  EXPECT_THAT(validate(problem).error().message, HasSubstr("new keys are divided by one number a KV head"));
}

TEST(BlockScales, TensorsAreWordsOfFourScales) {
  ForwardProblem problem;
  problem.dtype = ElementType::F8E4M3;
  problem.mxScales = true;
  problem.seqQ = 300, problem.seqKv = 500, problem.heads = 4, problem.kvHeads = 2;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("q_scale").elements(), 4 * 300);
  EXPECT_EQ(problem.tensor("k_scale").elements(), 2 * 500);
  problem.headDim = problem.headDimV = 192;
  EXPECT_EQ(problem.tensor("k_scale").elements(), 2 * 500 * 2);
  problem.dtype = HeadTypes(ElementType::F4E2M1, ElementType::F4E2M1, ElementType::F8E4M3);
  EXPECT_EQ(problem.tensor("q").rowElements, 96);
  EXPECT_EQ(problem.tensor("v").rowElements, 192);
}

TEST(BlockScales, WhatNoKernelTakesIsRefusedByName) {
  auto refused = [](const ForwardProblem &problem) { return validate(problem).ok() ? "" : validate(problem).error().message; };
  ForwardProblem problem;
  problem.mxScales = true;
  EXPECT_THAT(refused(problem), HasSubstr("dtype of q is bf16; use f8e4m3 or f4e2m1_v_f8e4m3, or leave mx out"));
  problem.dtype = ElementType::F8E4M3;
  problem.work.list = WorkLists::Given;
  EXPECT_THAT(refused(problem), HasSubstr("and mx scales are of one; leave one of them out"));
  problem.work = {};
  problem.lists.usedKv = problem.update.appends = true;
  EXPECT_THAT(refused(problem), HasSubstr("quantise keys before, and leave append and rotary out"));
  const HeadTypes mixed(ElementType::BF16, ElementType::F4E2M1, ElementType::F8E4M3);
  EXPECT_THAT(refusal(mixed), HasSubstr("dtype of q is bf16, which no kernel takes; use f4e2m1_v_f8e4m3"));
  EXPECT_THAT(validate(mixed).error().message, HasSubstr("dtype of q is bf16, which no kernel takes; use f4e2m1_v_f8e4m3"));
}

TEST(ValueScales, TensorsAreWordsOfFourBlocksOfKeys) {
  ForwardProblem problem;
  problem.dtype = ElementType::F4E2M1;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("dtype of v is f4e2m1, whose numbers have scales of blocks; give these, too (mx)"));
  problem.mxScales = true;
  problem.seqKv = 300, problem.kvHeads = problem.heads = 2;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("v").rowElements, 64);
  EXPECT_EQ(problem.tensor("v_scale").elements(), 2 * 3 * 128);
  problem.dropout = true;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("give V f8e4m3, or leave dropout out"));
  problem.dropout = false;
  problem.headDimV = 96;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("head-dim-v is 96 with V of f4e2m1, which has multiples of 64"));
}

TEST(SmallIntegers, NewKeysAreAppendedAsTheyAreStored) {
  ForwardProblem problem;
  problem.dtype = {ElementType::I8, ElementType::I8, ElementType::F8E4M3};
  problem.lists.usedKv = true;
  problem.update.appends = true;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("append them as they are stored (append-as-stored)"));
  problem.update.asStored = true;
  EXPECT_TRUE(validate(problem).ok());
}

TEST(SmallFloats, NamesOfTypesAreReadAsTheyAreWritten) {
  for (const char *name : {"bf16", "fp16", "f8e4m3", "f8e5m2_o_fp16", "bf16_kv_f8e4m3", "fp16_k_f8e4m3_v_f8e5m2", "f8e4m3_v_f8e5m2",
                           "i8_v_f8e4m3", "i8_v_f8e5m2_o_fp16", "i8_v_fp16"}) {
    auto types = parseHeadTypes(name);
    ASSERT_TRUE(types.ok()) << types.error().message;
    EXPECT_EQ(optionName(*types), name);
  }
  EXPECT_THAT(parseHeadTypes("bf16_x_f8e4m3").error().message, HasSubstr("has a type for 'x'"));
  EXPECT_THAT(parseHeadTypes("half").error().message, HasSubstr("dtype 'half' is not supported"));
}

TEST(SmallFloats, WhatNoKernelDoesIsRefusedByName) {
  ForwardProblem problem;
  problem.dtype = {ElementType::BF16, ElementType::F8E4M3};
  problem.lists.usedKv = true;
  problem.update.asStored = true;
  EXPECT_THAT(validate(problem).error().message, HasSubstr("append-as-stored says what new keys are; append some (append)"));
}
