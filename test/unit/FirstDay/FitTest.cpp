// Parameters are found from what a model says with them.
#include "Fit.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hocket;
using namespace hocket::run::firstday;

static Fit fitOf(const std::function<Result<double>(double)> &model, double initial, Interval range, Interval measured) {
  Result<Fit> fit = fitParameter(model, initial, range, measured);
  EXPECT_TRUE(fit.ok());
  return fit.ok() ? *fit : Fit{};
}

static Result<double> growing(double p) { return 10 + 2 * p; }

TEST(Fit, FindsTheValueAndItsUncertainty) {
  const Fit fit = fitOf(growing, 4, {0, 64}, {29.8, 30.2});
  EXPECT_EQ(fit.outcome, FitOutcome::Found);
  EXPECT_NEAR(fit.value, 10, 0.01);
  EXPECT_NEAR(fit.uncertainty, 0.1, 0.01);
}

TEST(Fit, KeepsAnInitialValueThatIsAsGoodAsAny) {
  const Fit fit = fitOf(growing, 4.05, {0, 64}, {17.8, 18.2});
  EXPECT_EQ(fit.outcome, FitOutcome::Found);
  EXPECT_EQ(fit.value, 4.05);
}

TEST(Fit, ModelsMayFall) {
  const Fit fit = fitOf([](double p) -> Result<double> { return 100 / p; }, 2.4, {0.3, 19}, {49.9, 50.1});
  EXPECT_EQ(fit.outcome, FitOutcome::Found);
  EXPECT_NEAR(fit.value, 2, 0.01);
}

TEST(Fit, StepsOfTheModelAreUncertainty) {
  // Issue turns: what is between two multiples of 4 makes no difference.
  const Fit fit = fitOf([](double p) -> Result<double> { return 4 * std::ceil(p / 4); }, 4, {0, 64}, {11.9, 12.1});
  EXPECT_EQ(fit.outcome, FitOutcome::Found);
  EXPECT_NEAR(fit.value, 10, 0.02);
  EXPECT_NEAR(fit.uncertainty, 2, 0.02);
}

TEST(Fit, SaysThatAParameterHasNoEffect) {
  const Fit fit = fitOf([](double) -> Result<double> { return 7.0; }, 3, {0, 64}, {6.9, 7.1});
  EXPECT_EQ(fit.outcome, FitOutcome::Unaffected);
  EXPECT_EQ(fit.value, 3);
}

TEST(Fit, SaysThatNoValueGivesTheTime) {
  EXPECT_EQ(fitOf(growing, 4, {0, 64}, {500, 501}).outcome, FitOutcome::OutOfReach);
  EXPECT_EQ(fitOf(growing, 4, {0, 64}, {1, 2}).outcome, FitOutcome::OutOfReach);
}

TEST(Fit, PassesErrorsOn) {
  Result<Fit> fit =
      fitParameter([](double) -> Result<double> { return unsupported("no model"); }, 4, {0, 64}, {1, 2});
  ASSERT_FALSE(fit.ok());
  EXPECT_EQ(fit.error().message, "no model");
}
