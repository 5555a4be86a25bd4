// The names of the stages are one list, in order.
#include "hocket/Pipelines/Compiler.h"
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

TEST(Stages, TheOneThatFailedIsSaid) {
  CompileFailure failure;
  Result<Compilation> malformed = compile("attn.", "text", {}, &failure);
  ASSERT_FALSE(malformed);
  EXPECT_EQ(failure.stage, Stage::Attn);
  EXPECT_TRUE(malformed.error().message.ends_with("\nnote: in stage 'attn'"));
  CompileOptions options;
  options.kvTile = 32;
  options.schedule = "dual_wave";
  Result<Compilation> narrow =
      compile("attn.forward @k element_type(bf16) head_dim(12)", "text", options, &failure);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(failure.stage, Stage::Tile) << narrow.error().message;
  options.target = "gfx1";
  ASSERT_FALSE(compile("attn.", "text", options, &failure));
  EXPECT_EQ(failure.stage, std::nullopt) << "refused before any stage";
}
