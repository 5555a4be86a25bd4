// The search with a cost of its own: what it tries depends on nothing but its input, and a journal replaces trials.
#include "hocket/Tune/Tune.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cmath>
#include <set>

using namespace hocket;
using namespace hocket::tune;

namespace {
constexpr std::string_view kAttention = R"(
attn.forward @f element_type(bf16) head_dim(64) mask(none) waves(4)
)";

/// The bytes of code: something that differs between schedules and takes no time to find.
Result<double> codeSize(const attention::CompiledKernel &kernel) {
  return static_cast<double>(kernel.codeObject.size());
}

Options few(unsigned threads) {
  Options options;
  options.candidates = 6;
  options.threads = threads;
  return options;
}
} // namespace

TEST(Search, SameInputSameTrials) {
  auto one = tuneSchedule(kAttention, "text", codeSize, few(1));
  ASSERT_TRUE(one.ok()) << one.error().message;
  ASSERT_EQ(one->trials.size(), 6u);
  EXPECT_EQ(one->start.outcome, Outcome::Timed);
  for (size_t i = 1; i < one->ranking.size(); ++i)
    EXPECT_LE(one->trials[one->ranking[i - 1]].microseconds, one->trials[one->ranking[i]].microseconds);
  for (const Trial &trial : one->trials)
    EXPECT_NE(trial.outcome, Outcome::Illegal) << trial.schedule << trial.message;

  std::atomic<int> timed = 0;
  Options again = few(3);
  again.known = one->trials;
  again.known.pop_back();
  auto two = tuneSchedule(
      kAttention, "text",
      [&](const attention::CompiledKernel &kernel) {
        ++timed;
        return codeSize(kernel);
      },
      again);
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_LE(timed, 1);
  for (size_t i = 0; i != 6; ++i)
    EXPECT_EQ(one->trials[i].schedule, two->trials[i].schedule);
}

/// Who is slower there than the best is not timed, and what was found of it replaces its trial.
TEST(Search, APreviewSparesWhatIsSlower) {
  Options options = few(2);
  options.candidates = 12;
  std::atomic<int> previewed = 0, timed = 0;
  options.preview = [&](const attention::CompiledKernel &kernel) {
    ++previewed;
    return codeSize(kernel);
  };
  Cost cost = [&](const attention::CompiledKernel &kernel) {
    ++timed;
    return codeSize(kernel);
  };
  auto one = tuneSchedule(kAttention, "text", cost, options);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_LT(timed, previewed);
  size_t slower = 0;
  for (const Trial &trial : one->trials) {
    if (trial.outcome != Outcome::Slower)
      continue;
    ++slower;
    EXPECT_GT(trial.preview, one->trials[one->ranking.front()].preview);
    EXPECT_EQ(trial.microseconds, 0);
  }
  EXPECT_GT(slower, 0u);

  options.known = one->trials;
  previewed = timed = 0;
  auto two = tuneSchedule(kAttention, "text", cost, options);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(previewed, 0);
  EXPECT_EQ(timed, 0);
  EXPECT_EQ(one->ranking, two->ranking);
  for (size_t i = 0; i != one->trials.size(); ++i)
    EXPECT_EQ(one->trials[i].schedule, two->trials[i].schedule);
}

/// Another search may have to time whom an earlier one did not, and does not need to time whom that one did.
TEST(Search, WhatAnotherSearchSparedIsTimedWhereItIsTheBest) {
  Options options = few(1);
  options.candidates = 4;
  options.preview = codeSize;
  auto one = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(one.ok()) << one.error().message;
  options.known = one->trials;
  options.known.front().outcome = Outcome::Slower; // the start, with which nothing is compared
  options.known.front().microseconds = 0;
  auto two = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(two->start.outcome, Outcome::Timed);
  EXPECT_EQ(two->start.microseconds, one->start.microseconds);
}

/// Each of the counts is tried, 1 as if nothing were said.
TEST(Search, WorkgroupsAreChosen) {
  Options options = few(2);
  options.candidates = 16;
  options.workgroups = {1, 2};
  auto found = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(found.ok()) << found.error().message;
  size_t two = 0;
  for (const Trial &trial : found->trials) {
    two += trial.schedule.find("workgroups(2)") != std::string::npos;
    EXPECT_EQ(trial.schedule.find("workgroups(1)"), std::string::npos);
  }
  EXPECT_GT(two, 0u);
  EXPECT_LT(two, 15u);
}

/// Of the best, who is best by the mean of the cost and its variants comes first.
TEST(Search, FinalistsAreRankedByTheirMeans) {
  Options options = few(2);
  options.candidates = 12;
  auto plain = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  // The smaller, the slower, and by more than what the size says.
  auto inverse = [](const attention::CompiledKernel &kernel) { return Result<double>(1e18 / std::pow(kernel.codeObject.size(), 3)); };
  options.variants = {inverse};
  options.finalists = 3;
  auto found = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->ranking.size(), plain->ranking.size());
  std::set<double> costs;
  for (size_t i = 0; i != found->ranking.size(); ++i) {
    const Trial &trial = found->trials[found->ranking[i]];
    EXPECT_EQ(trial.mean != 0, i < 3) << i;
    if (i < 3) {
      costs.insert(trial.microseconds);
      EXPECT_NEAR(trial.mean, std::sqrt(1e18 / std::pow(trial.microseconds, 2)), 1e-6 * trial.mean);
    }
  }
  EXPECT_EQ(costs.size(), 3u);
  EXPECT_EQ(*costs.begin(), plain->trials[plain->ranking.front()].microseconds);
  EXPECT_EQ(*costs.rbegin(), found->trials[found->ranking.front()].microseconds);
  options.variants = {[](const attention::CompiledKernel &) { return Result<double>(invalidInput("unknown")); }};
  auto failed = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "unknown");
}

TEST(Search, OtherSeedOtherTrials) {
  Options options = few(2);
  options.seed = 7;
  options.candidates = 3;
  auto one = tuneSchedule(kAttention, "text", codeSize, options);
  options.seed = 8;
  auto two = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->trials[1].schedule, two->trials[1].schedule);
}

TEST(Search, EndsWithTheErrorOfWhoeverListens) {
  Options options = few(1);
  options.onTrial = [](const Trial &, size_t number, const Trial &) {
    return number == 0 ? Status(invalidInput("enough")) : Status::success();
  };
  auto found = tuneSchedule(kAttention, "text", codeSize, options);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "enough");
}

TEST(Search, RefusesWhatHasNoLoop) {
  auto found = tuneSchedule(R"(
tile.kernel @nothing(%x: !tile.view<?xf32>) target("gfx950") waves(4) {
}
)",
                            "text", codeSize, few(1));
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("has 0 loops over tiles"), std::string::npos) << found.error().message;
}

TEST(Prediction, NamesTheExtentThatIsMissing) {
  attention::CompiledKernel kernel;
  kernel.manifest.target = "gfx950";
  kernel.manifest.tensors.push_back({"x", std::nullopt, {*manifest::Expression::parse("rows_of_x")}, {}});
  auto time = predictMicroseconds(kernel, {});
  ASSERT_FALSE(time.ok());
  EXPECT_NE(time.error().message.find("'rows_of_x' that has no value"), std::string::npos) << time.error().message;
}
