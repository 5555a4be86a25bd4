// The manifest's JSON: written as documented, read back the same, refused by name when wrong.
#include "hocket/Manifest/Manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::manifest;

static const char golden[] = R"json({
  "hocket_manifest": 1,
  "kernel": "fmha_fwd",
  "target": "gfx950",
  "kernarg_size": 32,
  "block": [
    512,
    1,
    1
  ],
  "grid": [
    "ceildiv(seq_q, 256)",
    "heads",
    "batch"
  ],
  "static_lds": 65536,
  "dynamic_lds": 0,
  "workspace": "batch * 16",
  "arguments": [
    {
      "name": "q",
      "offset": 0,
      "type": "pointer",
      "value": "q",
      "align": 16
    },
    {
      "name": "scale",
      "offset": 8,
      "type": "f32",
      "value": "scale * log2e"
    },
    {
      "name": "seq_q",
      "offset": 12,
      "type": "i32",
      "value": "seq_q"
    }
  ],
  "requires": [
    {
      "condition": "head_dim == 128",
      "message": "head_dim must be 128"
    }
  ]
}
)json";

/// The golden text with one replacement.
static std::string with(const std::string &from, const std::string &to) {
  std::string text = golden;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

static std::string errorOf(const std::string &text) {
  Result<Manifest> manifest = parseManifest(text, "m.json");
  return manifest.ok() ? "parsed" : manifest.error().message;
}

TEST(Manifest, ReadsAndWritesTheSameText) {
  Result<Manifest> manifest = parseManifest(golden, "m.json");
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->kernel, "fmha_fwd");
  EXPECT_EQ(manifest->arguments.size(), 3u);
  EXPECT_EQ(manifest->arguments[0].align, 16u);
  EXPECT_EQ(writeManifest(*manifest), golden);
}

TEST(Manifest, NeedsOnlyWhatMatters) {
  Result<Manifest> manifest =
      parseManifest(R"({"hocket_manifest": 1, "kernel": "k", "target": "gfx950", "kernarg_size": 0,
                        "block": [64, 1, 1], "grid": ["1", 1, 1], "arguments": []})",
                    "m.json");
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->workspace.text(), "0");
}

TEST(Manifest, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(errorOf("{"), testing::HasSubstr("manifest 'm.json' is not JSON: "));
  // LLVM's parser recurses; brackets in strings do not count.
  EXPECT_THAT(errorOf(std::string(200000, '[')),
              testing::HasSubstr("not JSON: arrays and objects nest 200000 deep, expected at most "
                                 "256"));
  EXPECT_THAT(errorOf("{\"kernel\": \"" + std::string(1000, '[') + "\\\"[\"}"),
              testing::Not(testing::HasSubstr("nest")));
  EXPECT_EQ(errorOf("[]"), "manifest 'm.json' must be a JSON object");
  EXPECT_THAT(errorOf(with("\"hocket_manifest\": 1", "\"hocket_manifest\": 2")),
              testing::HasSubstr("\"hocket_manifest\" is 2, this version reads 1"));
  EXPECT_THAT(errorOf(with("\"kernel\"", "\"kernle\"")),
              testing::HasSubstr("unknown key \"kernle\" in the manifest; known are "));
  EXPECT_THAT(errorOf(with("\"kernel\": \"fmha_fwd\",", "")),
              testing::HasSubstr("\"kernel\" is missing in the manifest"));
  EXPECT_THAT(errorOf(with("\"fmha_fwd\"", "3")),
              testing::HasSubstr("\"kernel\" in the manifest must be a string that is not empty"));
  EXPECT_THAT(
      errorOf(with("\"kernarg_size\": 32", "\"kernarg_size\": -1")),
      testing::HasSubstr("\"kernarg_size\" in the manifest must be an unsigned 32-bit integer"));
  EXPECT_THAT(errorOf(with("\"kernarg_size\": 32", "\"kernarg_size\": 100000")),
              testing::HasSubstr("at most 65536 are possible"));
  EXPECT_THAT(errorOf(with("    512,\n", "")),
              testing::HasSubstr("\"block\" must be an array of three expressions"));
  EXPECT_THAT(errorOf(with("ceildiv(seq_q, 256)", "ceildiv(seq_q")),
              testing::HasSubstr("\"grid\"[0]: expression 'ceildiv(seq_q', column 14"));
  EXPECT_THAT(errorOf(with("\"batch * 16\"", "1.5")),
              testing::HasSubstr("\"workspace\" must be an expression (a string) or an integer"));
}

TEST(Manifest, NamesTheArgumentThatIsWrong) {
  EXPECT_THAT(errorOf(with("\"align\": 16", "\"aling\": 16")),
              testing::HasSubstr("unknown key \"aling\" in argument 0 ('q'); known are"));
  EXPECT_THAT(errorOf(with("\"align\": 16", "\"align\": 12")),
              testing::HasSubstr("\"align\" of argument 0 ('q') must be a power of two"));
  EXPECT_THAT(errorOf(with("\"f32\"", "\"f16\"")),
              testing::HasSubstr("\"type\" of argument 1 ('scale') is 'f16'; known are i32"));
  EXPECT_THAT(errorOf(with("\"offset\": 12", "\"offset\": 10")),
              testing::HasSubstr(
                  "argument 'seq_q' at offset 10 is misaligned; a i32 needs a multiple of 4"));
  EXPECT_THAT(errorOf(with("\"offset\": 12", "\"offset\": 32")),
              testing::HasSubstr("argument 'seq_q' ends at byte 36, \"kernarg_size\" is 32"));
  EXPECT_THAT(errorOf(with("\"offset\": 12", "\"offset\": 4")),
              testing::HasSubstr("arguments 'q' and 'seq_q' overlap at offset 4"));
  EXPECT_THAT(errorOf(with("\"value\": \"seq_q\"", "\"value\": []")),
              testing::HasSubstr("\"value\" of argument 2 ('seq_q') must be an expression"));
  EXPECT_THAT(errorOf(with("\"message\": \"head_dim must be 128\"", "\"message\": \"\"")),
              testing::HasSubstr("\"message\" in requirement 0"));
}
