// The search with a cost of its own: what it tries depends on nothing but its input, and a journal replaces trials.
#include "hocket/Tune/Tune.h"

#include "gtest/gtest.h"

#include <atomic>

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
  kernel.manifest.tensors.push_back({"x", std::nullopt, {*manifest::Expression::parse("rows_of_x")}, {}});
  auto time = predictMicroseconds(kernel, {});
  ASSERT_FALSE(time.ok());
  EXPECT_NE(time.error().message.find("'rows_of_x' that has no value"), std::string::npos);
}
