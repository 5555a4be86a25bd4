// The parameter table: overriding, errors, and the page that documents it.
#include "Grid/TimeParameters.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

using namespace hocket;
using namespace hocket::sim;
using testing::AllOf;
using testing::HasSubstr;

TEST(TimeParameters, AreSetByKey) {
  TimeParameters p;
  ASSERT_TRUE(p.set("barrier.latency=30").ok());
  EXPECT_EQ(p.barrierLatency, 30);
  ASSERT_TRUE(p.set("lds.cycle_scale=1.5").ok());
  EXPECT_EQ(p.ldsScale, 1.5);
}

TEST(TimeParameters, UnknownKeysListTheKnownOnes) {
  TimeParameters p;
  EXPECT_THAT(p.set("barrier=30").error().message,
              AllOf(HasSubstr("no time parameter 'barrier'"), HasSubstr("barrier.latency"),
                    HasSubstr("trans.cycles")));
}

TEST(TimeParameters, ValuesAreNumbers) {
  TimeParameters p;
  for (const char *text : {"lds.latency", "lds.latency=", "lds.latency=x", "lds.latency=-1",
                           "lds.latency=nan", "lds.latency=60001"})
    EXPECT_THAT(p.set(text).error().message,
                HasSubstr("expected a number from 0 to 60000 (cycles) as in 'lds.latency=44'"))
        << text;
  EXPECT_TRUE(p.set("lds.latency=60000").ok());
}

TEST(TimeParameters, RatesClocksAndSharesAreNotZero) {
  TimeParameters p;
  for (const char *text : {"memory.bytes=0", "clock.eighth=0", "grid.memory_tbs=0",
                           "grid.memory_efficiency=0", "grid.memory_efficiency=1.5"})
    EXPECT_THAT(p.set(text).error().message, HasSubstr("expected a number from 0.001")) << text;
  EXPECT_TRUE(p.set("grid.memory_efficiency=1").ok());
}

TEST(TimeParameters, SwitchesAreOnOrOff) {
  TimeParameters p;
  for (const char *text : {"packed.f32_beneath_mfma=7", "packed.f32_beneath_mfma=0.5"})
    EXPECT_THAT(p.set(text).error().message, HasSubstr("expected a number that is 0 or 1")) << text;
  EXPECT_TRUE(p.set("packed.f32_beneath_mfma=1").ok());
}

TEST(TimeParameters, VariationsAreOtherValuesWithASource) {
  ASSERT_GT(timeVariations().size(), 10u);
  for (const TimeVariation &variation : timeVariations()) {
    TimeParameters changed;
    EXPECT_TRUE(changed.set(assignmentOf(variation)).ok()) << assignmentOf(variation);
    EXPECT_FALSE(changed == TimeParameters()) << assignmentOf(variation) << " is what the table has";
    EXPECT_FALSE(variation.source.empty()) << variation.key;
  }
}

TEST(TimeParameters, EveryOneHasASourceAndAConfidence) {
  for (const TimeParameterInfo &info : timeParameterTable()) {
    EXPECT_FALSE(info.source.empty()) << info.key;
    EXPECT_THAT(std::string(info.confidence),
                testing::AnyOf("measured", "documented", "inferred", "guess"))
        << info.key;
  }
}

TEST(TimeParameters, ThePageIsCurrent) {
  std::ifstream file(HOCKET_SOURCE_DIR "/docs/generated/TimeParameters.md");
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_TRUE(content.str() == timeParameterPage())
      << "write the new page with: hocket-run time-parameters > docs/generated/TimeParameters.md";
}
