// The names of the stages are one list, in order.
#include "hocket/Pipelines/Stages.h"

#include <gtest/gtest.h>

using namespace hocket;

TEST(Stages, NamesAreParsedBack) {
  for (Stage stage : kStages) {
    Result<Stage> parsed = parseStage(toString(stage));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, stage);
    EXPECT_FALSE(extension(stage).empty());
  }
}

TEST(Stages, UnknownNamesListTheKnownOnes) {
  Result<Stage> parsed = parseStage("Tile");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message,
            "unknown stage 'Tile', expected one of attn, tile, clusters, rocdl, llvm, asm, hsaco");
}
