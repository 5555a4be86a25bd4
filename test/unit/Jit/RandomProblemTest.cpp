// Random problems through the public interface: what is valid must come out right, what is not must
// be refused with the name of the field that is to blame.
//
// A problem is drawn with all its fields valid; then, for every other one, one field is spoiled in
// a known way. HOCKET_RANDOM_PROBLEMS=N draws more, HOCKET_TEST_SEED=N others.
#include "ApiRun.h"

#include "hocket/Jit/Jit.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

using namespace hocket;
using namespace hocket::attention;

namespace {
class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}
  uint64_t below(uint64_t bound) { return random() % bound; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  bool flip() { return below(2) == 0; }
  /// Lengths around the borders of tiles and blocks as often as any others.
  int64_t length() {
    constexpr int64_t borders[] = {1, 31, 32, 63, 64, 65, 127, 129, 255, 256, 257};
    return flip() ? borders[below(std::size(borders))] : between(1, 300);
  }

private:
  std::mt19937_64 random;
};

/// A way to spoil a problem, and what the message must then name.
struct Spoiler {
  const char *field;
  void (*spoil)(ForwardProblem &, Draw &);
};
} // namespace

/// Strides of a tensor with room between its rows; multiples of 8.
static TensorStrides roomyStrides(const manifest::TensorSpec &tensor, Draw &draw) {
  TensorStrides strides;
  int64_t heads = tensor.dimensions[1].extent, sequence = tensor.dimensions[2].extent;
  int64_t row = tensor.rowElements + 8 * draw.between(0, 4);
  if (draw.flip()) {
    strides.head = row;
    strides.sequence = row * heads + 8 * draw.between(0, 3);
    strides.batch = strides.sequence * sequence + 8 * draw.between(0, 3);
  } else {
    strides.sequence = row;
    strides.head = row * sequence + 8 * draw.between(0, 3);
    strides.batch = strides.head * heads + 8 * draw.between(0, 3);
  }
  return strides;
}

static ForwardProblem drawValid(Draw &draw) {
  ForwardProblem problem;
  problem.dtype = draw.flip() ? ElementType::BF16 : ElementType::F16;
  problem.batch = draw.between(1, 3);
  problem.kvHeads = draw.between(1, 3);
  problem.heads = problem.kvHeads * draw.between(1, 3);
  problem.seqQ = draw.length();
  problem.seqKv = draw.length();
  problem.visibility = draw.flip() ? Visibility::causal() : Visibility();
  problem.wantLse = draw.flip();
  if (draw.below(3) == 0)
    problem.headDim = problem.headDimV = 8 * draw.between(1, 32);
  if (draw.below(6) == 0)
    problem.headDimV = 8 * draw.between(1, 32);
  problem.layout = draw.flip() ? Layout::BSHD : Layout::BHSD;
  if (draw.below(3) == 0)
    problem.scale = static_cast<double>(draw.between(-20, 20)) / 64;
  for (const char *tensor : {"q", "k", "v", "o"})
    if (draw.below(3) == 0)
      problem.strides[tensor] = roomyStrides(problem.tensor(tensor), draw);
  return problem;
}

static constexpr Spoiler kSpoilers[] = {
    {"batch", [](ForwardProblem &p, Draw &d) { p.batch = d.between(-3, 0); }},
    {"heads", [](ForwardProblem &p, Draw &d) { p.heads = d.between(-3, 0); }},
    {"kv-heads", [](ForwardProblem &p, Draw &d) { p.kvHeads = d.between(-3, 0); }},
    {"kv-heads", [](ForwardProblem &p, Draw &d) { p.kvHeads = p.heads + d.between(1, 5); }},
    {"seq-q", [](ForwardProblem &p, Draw &d) { p.seqQ = d.between(-3, 0); }},
    {"seq-kv", [](ForwardProblem &p, Draw &d) { p.seqKv = d.between(-3, 0); }},
    {"seq-kv",
     [](ForwardProblem &p, Draw &d) {
       p = ForwardProblem();
       p.seqKv = (int64_t(1) << 30) + d.between(1, 1000);
     }},
    {"head-dim",
     [](ForwardProblem &p, Draw &d) {
       p.headDim = p.headDimV = d.flip() ? 8 * d.between(33, 60) : 8 * d.between(1, 31) + 3;
       p.strides.clear();
     }},
    {"head-dim-v",
     [](ForwardProblem &p, Draw &d) {
       p.headDim = 128;
       p.headDimV = d.flip() ? 8 * d.between(33, 60) : 8 * d.between(1, 31) + 3;
       p.strides.clear();
     }},
    {"scale", [](ForwardProblem &p, Draw &) { p.scale = 1.0 / 0.0; }},
    {"scale", [](ForwardProblem &p, Draw &) { p.scale = -1e39; }},
    {"stride of 'q'",
     [](ForwardProblem &p, Draw &d) {
       p.strides["q"] = stridesOf(p.tensor("q"));
       p.strides["q"].sequence += d.between(1, 7);
     }},
    {"stride of 'k'",
     [](ForwardProblem &p, Draw &d) {
       p.strides["k"] = stridesOf(p.tensor("k"));
       p.strides["k"].batch = -d.between(1, 1000);
     }},
    {"stride of 'v'",
     [](ForwardProblem &p, Draw &) {
       p.seqKv = 64;
       p.strides["v"] = TensorStrides{0, int64_t(1) << 25, 0};
     }},
    {"strides of 'o'",
     [](ForwardProblem &p, Draw &) {
       p.strides.clear();
       p.headDim = p.headDimV = 128;
       p.seqQ = 10;
       p.strides["o"] = TensorStrides{1 << 20, 64, 1 << 16};
     }},
};

namespace {
class RandomProblems : public testing::Test {
protected:
  RandomProblems() {
    if (const char *text = std::getenv("HOCKET_TEST_SEED"))
      seed = std::strtoull(text, nullptr, 10);
    if (const char *text = std::getenv("HOCKET_RANDOM_PROBLEMS"))
      count = std::strtoull(text, nullptr, 10);
    Result<std::shared_ptr<Planner>> made = jit::makePlanner();
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (made.ok())
      planner = *made;
  }
  uint64_t seed = 20261121, count = 8;
  std::shared_ptr<Planner> planner;
};
} // namespace

TEST_F(RandomProblems, ValidOnesComeOutRight) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  for (uint64_t i = 0; i < count; ++i) {
    Draw draw(seed + i);
    ForwardProblem problem = drawValid(draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed + i) + ": " + problem.describe());
    auto plan = planner->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    auto errors = test::runAndCompare(*device, **plan, seed + i);
    ASSERT_TRUE(errors.ok()) << errors.error().message;
    EXPECT_THAT(errors->failures, testing::IsEmpty());
    (*plan)->unload(*device);
  }
}

TEST_F(RandomProblems, InvalidOnesAreRefusedByTheirField) {
  for (uint64_t i = 0; i < count * 50; ++i) {
    Draw draw(seed + i);
    ForwardProblem problem = drawValid(draw);
    const Spoiler &spoiler = kSpoilers[i % std::size(kSpoilers)];
    spoiler.spoil(problem, draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed + i) + ": " + problem.describe());
    auto plan = planner->plan(problem);
    ASSERT_FALSE(plan.ok());
    EXPECT_THAT(plan.error().message, testing::HasSubstr(spoiler.field));
    EXPECT_THAT(plan.error().message, testing::HasSubstr(problem.describe()));
  }
}
