// Which tiles the analysis of masks visits, and which it masks, against brute force over the predicate: random
// predicates of comparisons of sums of query, key and numbers, joined by and, or and not.
//
// HOCKET_RANDOM_PREDICATES=N draws more than the suite does, HOCKET_TEST_SEED=N others.
#include "Draw.h"
#include "Conversion/TileSurvey.h"
#include "Grid/WaveShape.h"
#include "Reference/ScoreInterpreter.h"
#include "Registration/Registration.h"
#include "hocket/Pipelines/Modifications.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

using namespace hocket;
using namespace hocket::attention;

namespace {
constexpr uint64_t kDefaultCount = 20, kDefaultSeed = 20261123;

/// Text of a predicate. Factors of query and key are 1 or -1, or 0; otherwise exactness is not promised.
class PredicateText {
public:
  explicit PredicateText(Draw &draw) : draw(draw) {}

  std::string write(int64_t comparisons) {
    mostComparisons = comparisons;
    std::string seen = predicate(comparisons);
    return "attn.mask_mod @random(%batch: i32, %head: i32, %query: i32, %key: i32,\n"
           "    %shift: i32 {attn.value = \"seq_kv - seq_q\"}, %reach: i32) {\n" +
           text + "  attn.yield " + seen + " : i1\n}\n";
  }
  bool isExact = true; ///< whether what is visited and masked is exact

private:
  std::string line(const std::string &op) {
    std::string name = "%v" + std::to_string(count++);
    text += "  " + name + " = " + op + "\n";
    return name;
  }
  std::string binary(const char *op, const std::string &a, const std::string &b, const char *type = "i32") {
    return line("arith." + std::string(op) + " " + a + ", " + b + " : " + type);
  }
  std::string constant(int64_t low, int64_t high) {
    return line("arith.constant " + std::to_string(draw.between(low, high)) + " : i32");
  }
  std::string real(const std::string &a) { return line("arith.sitofp " + a + " : i32 to f32"); }
  std::string comparison() {
    std::string a = draw.oneIn(8) ? "%reach" : "%key", b = draw.oneIn(4) ? constant(-20, 420) : "%query";
    if (a == "%key" && draw.oneIn(6))
      b = "%reach";
    for (std::string *side : {&a, &b}) {
      if (draw.oneIn(3))
        *side = binary(draw.oneIn(2) ? "addi" : "subi", *side, draw.oneIn(2) ? "%shift" : "%reach");
      if (draw.oneIn(2))
        *side = binary("addi", *side, constant(-150, 150));
    }
    if (draw.oneIn(8))
      b = binary(draw.oneIn(2) ? "minsi" : "maxsi", b, constant(0, 300));
    if (draw.oneIn(5)) { // all on one side: query and key may have the same sign
      a = binary(draw.oneIn(3) ? "addi" : "subi", a, b);
      b = constant(-100, 300);
    } else if (draw.oneIn(5)) { // how far apart they are: two conditions
      isExact &= mostComparisons <= 2;
      a = line("math.absi " + binary("subi", a, b) + " : i32");
      b = draw.oneIn(3) ? "%reach" : constant(-5, 200);
    }
    if (draw.oneIn(6)) { // the same in real numbers, whose limit is that of all rows
      isExact = false;
      return line("arith.cmpf " + draw.of<std::string>({"ole", "olt", "oge", "ogt", "oeq", "une"}) + ", " + real(a) + ", " + real(b) +
                  " : f32");
    }
    return line("arith.cmpi " + draw.of<std::string>({"sle", "slt", "sge", "sgt", "sle", "sge", "eq", "ne"}) + ", " + a + ", " + b +
                " : i32");
  }
  std::string predicate(int64_t comparisons) {
    if (comparisons == 1) {
      std::string one = comparison();
      return draw.oneIn(4) ? binary("xori", one, line("arith.constant true"), "i1") : one;
    }
    int64_t left = draw.between(1, comparisons - 1);
    std::string a = predicate(left), b = predicate(comparisons - left);
    if (draw.oneIn(6)) {
      isExact &= comparisons == 2; // twice as many terms as of `and`
      return draw.oneIn(2) ? binary("xori", a, b, "i1") : line("arith.cmpi eq, " + a + ", " + b + " : i1");
    }
    std::string both = binary(draw.oneIn(2) ? "andi" : "ori", a, b, "i1");
    return draw.oneIn(6) ? binary("xori", both, line("arith.constant true"), "i1") : both;
  }

  int64_t mostComparisons = 1;
  Draw &draw;
  std::string text;
  int64_t count = 0;
};

struct Counts {
  int64_t tiles = 0, visited = 0, needless = 0, waves = 0, cut = 0, needlessCuts = 0;
};

ForwardProblem drawProblem(Draw &draw) {
  ForwardProblem problem;
  problem.seqQ = draw.between(1, 300);
  problem.seqKv = draw.between(1, 400);
  problem.numbers["reach"] = static_cast<double>(draw.between(-60, 200));
  if (draw.oneIn(4))
    problem.visibility = Visibility::causal();
  return problem;
}

/// Compares all workgroups, tiles and waves of `problem` with brute force. What is there must be visited, and what
/// hides something masked; what is so without need is counted.
void compare(const ForwardProblem &problem, const std::string &text, TileSurvey::Shape shape, Counts &counts) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  bool isCausal = problem.visibility == Visibility::causal();
  std::unique_ptr<TileSurvey> survey = TileSurvey::create(*module, isCausal, shape);
  ASSERT_TRUE(survey);
  llvm::SmallVector<double> numbers;
  for (llvm::StringRef name : survey->numbers())
    numbers.push_back(name == "seq_kv"           ? double(problem.seqKv)
                      : name == "seq_kv - seq_q" ? double(problem.seqKv - problem.seqQ)
                                                 : problem.numbers.at(name.str()));
  survey->set(problem.seqQ, problem.seqKv, numbers);
  auto rules = reference::interpretModifications(problem, {});
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  auto sees = [&](int64_t query, int64_t key) {
    return (!isCausal || key <= query + problem.seqKv - problem.seqQ) && (*rules)->sees({0, 0, query, key});
  };
  for (int64_t row = 0; row < problem.seqQ; row += shape.rows) {
    auto visited = survey->visited({0, 0, row});
    ASSERT_TRUE(visited);
    ASSERT_TRUE(std::is_sorted(visited->begin(), visited->end()));
    for (int64_t tile = 0; tile * shape.kvTile < problem.seqKv; ++tile) {
      bool anySeen = false, isVisited = llvm::is_contained(*visited, tile);
      for (int64_t wave = row; wave < std::min(row + shape.rows, problem.seqQ); wave += kWaveRows) {
        bool anyHidden = false;
        for (int64_t query = wave; query < std::min(wave + kWaveRows, problem.seqQ); ++query)
          for (int64_t key = tile * shape.kvTile; key < std::min((tile + 1) * shape.kvTile, problem.seqKv); ++key) {
            bool seen = sees(query, key);
            anySeen |= seen;
            anyHidden |= !seen;
          }
        std::optional<bool> isCut = survey->isCut(wave, tile);
        ASSERT_TRUE(isCut);
        ASSERT_TRUE(*isCut || !anyHidden) << "tile " << tile << " hides keys from queries of " << wave;
        ++counts.waves, counts.cut += anyHidden, counts.needlessCuts += *isCut && !anyHidden;
      }
      ASSERT_TRUE(isVisited || !anySeen) << "tile " << tile << " is seen by queries of " << row;
      ++counts.tiles, counts.visited += anySeen, counts.needless += isVisited && !anySeen;
    }
    EXPECT_EQ(std::set<int64_t>(visited->begin(), visited->end()).size(), visited->size()) << "one is visited twice";
  }
}

/// A problem with the predicate of `text` alone.
Counts countsOf(ForwardProblem problem, const std::string &text, TileSurvey::Shape shape) {
  Counts counts;
  Result<std::vector<Modification>> parsed = parseModifications(text, "random");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!parsed.ok())
    return counts;
  problem.modifications = *parsed;
  compare(problem, text, shape, counts);
  return counts;
}

/// Draws a problem, a predicate and a shape.
void runOne(uint64_t seed) {
  Draw draw(seed);
  ForwardProblem problem = drawProblem(draw);
  PredicateText predicate(draw);
  std::string text = predicate.write(draw.between(1, 4));
  TileSurvey::Shape shape = {draw.between(1, 8) * 32, draw.oneIn(2) ? 32 : 64};
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe() + "\n" + text);
  Counts counts = countsOf(problem, text, shape);
  if (!predicate.isExact)
    return;
  EXPECT_EQ(counts.needless, 0) << "tiles of " << counts.tiles << " that nobody sees are visited";
  EXPECT_EQ(counts.needlessCuts, 0) << "of " << counts.waves << " tiles of waves that are whole are masked";
}
} // namespace

TEST(TileSurvey, RandomPredicatesVisitAndMaskWhatBruteForceSays) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_PREDICATES", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  RecordProperty("seed", std::to_string(first));
  for (uint64_t i = 0; i != count && !::testing::Test::HasFailure(); ++i)
    runOne(first + i);
}

/// Predicates of five to eight terms, of which few have a key in any problem: what has none must not be taken together
/// with what has some (a mask's hidden keys; ranges that no key, or none in front of the last, lies in).
TEST(TileSurvey, RangesWithoutKeysWidenNoOthers) {
  for (uint64_t seed : {5116, 6028, 6080})
    runOne(seed);
}

/// Nine ranges, of which the last two are joined: one has some keys, and one that has none begins below 0.
TEST(TileSurvey, RangesBelowTheFirstKeyWidenNoOthers) {
  std::string body, seen;
  auto addRange = [&](int64_t first, const std::string &last) {
    std::string n = std::to_string(first + 1000);
    body += "  %c" + n + " = arith.constant " + std::to_string(first) + " : i32\n" + "  %a" + n +
            " = arith.cmpi sge, %key, %c" + n + " : i32\n" + "  %b" + n + " = arith.cmpi slt, %key, " + last +
            " : i32\n" + "  %r" + n + " = arith.andi %a" + n + ", %b" + n + " : i1\n";
    if (!seen.empty())
      body += "  %s" + n + " = arith.ori " + seen + ", %r" + n + " : i1\n";
    seen = seen.empty() ? "%r" + n : "%s" + n;
  };
  auto constant = [&](int64_t number) {
    body += "  %e" + std::to_string(number) + " = arith.constant " + std::to_string(number) + " : i32\n";
    return "%e" + std::to_string(number);
  };
  for (int64_t beyond = 1000; beyond != 1070; beyond += 10)
    addRange(beyond, constant(beyond + 5));
  addRange(300, constant(310));
  body += "  %before = arith.subi %query, %reach : i32\n"; // below the last one's begin
  addRange(-50, "%before");
  ForwardProblem problem;
  problem.seqQ = 100, problem.seqKv = 400;
  problem.numbers["reach"] = 200;
  Counts counts = countsOf(problem,
                           "attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %reach: i32) {\n" + body +
                               "  attn.yield " + seen + " : i1\n}\n",
                           {128, 64});
  EXPECT_EQ(counts.visited, 1);
  EXPECT_EQ(counts.needless, 0);
}

/// The key divided by a constant, a query with another factor, numbers that wrap: right, if not always exact.
TEST(TileSurvey, WhatIsNotExactLeavesNothingOut) {
  const char *head = "attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %reach: i32) {\n";
  struct Case {
    bool isExact;
    const char *body;
  };
  const Case cases[] = {
      {true, "  %c = arith.constant 48 : i32\n  %k = arith.divsi %key, %c : i32\n  %q = arith.divsi %query, %c : i32\n"
      "  %s = arith.cmpi eq, %k, %q : i32\n"},
      {true, "  %c = arith.constant 3 : i32\n  %q = arith.muli %query, %c : i32\n  %s = arith.cmpi sle, %key, %q : i32\n"},
      {true, "  %c = arith.constant 2 : i32\n  %k = arith.muli %key, %c : i32\n  %s = arith.cmpi sgt, %k, %query : i32\n"},
      {false, "  %c = arith.muli %reach, %reach : i32\n  %d = arith.muli %c, %c : i32\n  %e = arith.muli %d, %c : i32\n"
      "  %q = arith.addi %query, %reach : i32\n  %a = arith.cmpi sle, %key, %q : i32\n"
      "  %b = arith.cmpi sge, %key, %e : i32\n  %s = arith.andi %a, %b : i1\n"},
      {false, "  %q = arith.muli %query, %key : i32\n  %s = arith.cmpi sle, %q, %reach : i32\n"},
      {false, "  %c = arith.constant 2 : i32\n  %q = arith.remsi %query, %c : i32\n  %k = arith.remsi %key, %c : i32\n"
      "  %s = arith.cmpi ne, %q, %k : i32\n"},
  };
  int64_t needless = 0;
  for (auto [isExact, body] : cases) {
    ForwardProblem problem;
    problem.seqQ = 200, problem.seqKv = 333;
    problem.numbers["reach"] = 97;
    std::string text = std::string(head) + body + "  attn.yield %s : i1\n}\n";
    SCOPED_TRACE(text);
    Counts counts = countsOf(problem, text, {128, 32});
    EXPECT_TRUE(!isExact || (counts.needless == 0 && counts.needlessCuts == 0))
        << counts.needless << " visited, " << counts.needlessCuts << " masked";
    needless += counts.needless;
  }
  EXPECT_GT(needless, 0) << "a product of positions is understood; say so above";
}

/// Real numbers: products with what is the same for all, the greater of two, absolute values, and what is no number. Less
/// is taken for less or equal, so some are not exact to the key; tiles are, where they do not end there.
TEST(TileSurvey, RealNumbersBoundKeys) {
  const char *head = "attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %reach: i32, %slope: f32) {\n"
                     "  %q = arith.sitofp %query : i32 to f32\n  %k = arith.sitofp %key : i32 to f32\n";
  struct Case {
    int64_t visited; ///< tiles of 32 keys, of two workgroups; 0: not said
    const char *body;
  };
  const Case cases[] = {
      // j <= i / 2
      {6, "  %c = arith.constant 0.5 : f32\n  %h = arith.mulf %q, %c : f32\n  %s = arith.cmpf ole, %k, %h : f32\n"},
      // 2 j < i + 3.25
      {7, "  %c = arith.constant 2.0 : f32\n  %d = arith.constant 3.25 : f32\n  %l = arith.mulf %c, %k : f32\n"
          "  %r = arith.addf %q, %d : f32\n  %s = arith.cmpf olt, %l, %r : f32\n"},
      // |i - j| / 4 <= 2.5, of integers and of reals
      {9, "  %d = arith.subi %query, %key : i32\n  %f = arith.sitofp %d : i32 to f32\n  %a = math.absf %f : f32\n"
          "  %c = arith.constant 4.0 : f32\n  %e = arith.divf %a, %c : f32\n  %t = arith.constant 2.5 : f32\n"
          "  %s = arith.cmpf ule, %e, %t : f32\n"},
      {9, "  %f = arith.subf %q, %k : f32\n  %a = math.absf %f : f32\n  %c = arith.constant 0.25 : f32\n"
          "  %e = arith.mulf %a, %c : f32\n  %t = arith.constant 2.5 : f32\n  %s = arith.cmpf ogt, %t, %e : f32\n"},
      // -j >= -(i slope), whatever the sign of the slope
      {0, "  %h = arith.mulf %slope, %q : f32\n  %g = arith.negf %h : f32\n  %n = arith.negf %k : f32\n"
          "  %s = arith.cmpf oge, %n, %g : f32\n"},
      // not (j > max(i - 60.5, 20.5)); not (j / 3 <= i / 7)
      {0, "  %c = arith.constant 60.5 : f32\n  %d = arith.subf %q, %c : f32\n  %e = arith.constant 20.5 : f32\n"
          "  %m = arith.maximumf %d, %e : f32\n  %t = arith.cmpf ugt, %k, %m : f32\n  %u = arith.constant true\n"
          "  %s = arith.xori %t, %u : i1\n"},
      {0, "  %c = arith.constant 3.0 : f32\n  %d = arith.divf %k, %c : f32\n  %e = arith.constant 7.0 : f32\n"
          "  %m = arith.divf %q, %e : f32\n  %t = arith.cmpf ole, %d, %m : f32\n  %u = arith.constant true\n"
          "  %s = arith.xori %t, %u : i1\n"},
      // j slope <= i: the key times a number that is not known is not understood
      {0, "  %h = arith.mulf %slope, %k : f32\n  %s = arith.cmpf ole, %h, %q : f32\n"},
  };
  for (double slope : {0.75, -0.3, 0.0, std::numeric_limits<double>::infinity()})
    for (auto [visited, body] : cases) {
      ForwardProblem problem;
      problem.seqQ = 200, problem.seqKv = 333;
      problem.numbers["reach"] = 97, problem.numbers["slope"] = slope;
      std::string text = std::string(head) + body + "  attn.yield %s : i1\n}\n";
      SCOPED_TRACE(text);
      Counts counts = countsOf(problem, text, {128, 32});
      if (visited != 0) {
        EXPECT_EQ(counts.visited, visited);
        EXPECT_EQ(counts.needless, 0);
        EXPECT_EQ(counts.needlessCuts, 0);
      }
    }
}

/// One that is the other's opposite in each of forty steps: looked at once for each, both ways.
TEST(TileSurvey, PredicatesThatDifferManyTimesEnd) {
  std::string body = "  %v0 = arith.cmpi sle, %key, %query : i32\n";
  for (int i = 0; i != 200; ++i)
    body += "  %c" + std::to_string(i) + " = arith.cmpi sle, %query, %key : i32\n  %v" + std::to_string(i + 1) +
            " = arith.xori %v" + std::to_string(i) + ", %c" + std::to_string(i) + " : i1\n";
  ForwardProblem problem;
  problem.seqQ = 64, problem.seqKv = 64;
  countsOf(problem, "attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {\n" + body +
                        "  attn.yield %v200 : i1\n}\n",
           {64, 32});
}

/// Values that two others use, forty times: looked at once for each use they would never end.
TEST(TileSurvey, WhatIsSharedManyTimesEnds) {
  std::string sums = "  %v0 = arith.addi %query, %key : i32\n";
  std::string bools = "  %v0 = arith.cmpi sle, %key, %query : i32\n"
                     "  %u = arith.cmpi sle, %query, %key : i32\n";
  std::string choices = "  %v0 = arith.minsi %query, %key : i32\n";
  for (int i = 0; i != 40; ++i) {
    std::string now = std::to_string(i), next = std::to_string(i + 1);
    sums += "  %v" + next + " = arith.addi %v" + now + ", %v" + now + " : i32\n";
    bools += "  %w" + now + " = arith.andi %v" + now + ", %u : i1\n";
    bools += "  %v" + next + " = arith.ori %w" + now + ", %v" + now + " : i1\n";
    choices += "  %w" + now + " = arith.maxsi %v" + now + ", %query : i32\n";
    choices += "  %v" + next + " = arith.minsi %w" + now + ", %v" + now + " : i32\n";
  }
  const std::string compare = "  %s = arith.cmpi sle, %v40, %key : i32\n  attn.yield %s : i1\n}\n";
  for (const std::string &body : {sums + compare, choices + compare, bools + "  attn.yield %v40 : i1\n}\n"}) {
    ForwardProblem problem;
    problem.seqQ = 70, problem.seqKv = 130;
    std::string text = "attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {\n" + body;
    Counts counts = countsOf(problem, text, {64, 32});
    EXPECT_EQ(counts.tiles, 10);
  }
}
