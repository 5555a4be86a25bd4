// The same input gives the same bytes: again, after other kernels, and on many threads.
#include "hocket/Pipelines/Compiler.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

using namespace hocket;

/// Eight different problems: both types, both masks, with and without LSE.
static std::vector<std::string> problems() {
  std::vector<std::string> result;
  for (const char *element : {"bf16", "f16"})
    for (const char *mask : {"none", "causal"})
      for (const char *lse : {"", " lse"})
        result.push_back("attn.forward @kernel" + std::to_string(result.size()) + " element_type(" +
                         element + ") head_dim(128) mask(" + mask + ")" + lse + "\n");
  return result;
}

static constexpr size_t kKernelsOfThread = 2;

static std::string compileOrMessage(const std::string &text) {
  Result<Compilation> compilation = compile(text, "kernel.mlir");
  return compilation ? compilation->output : "error: " + compilation.error().message;
}

static std::vector<std::string> compileSerially(const std::vector<std::string> &texts) {
  std::vector<std::string> outputs;
  for (const std::string &text : texts)
    outputs.push_back(compileOrMessage(text));
  return outputs;
}

TEST(Determinism, EarlierCompilationsLeaveNoTrace) {
  std::string first = compileOrMessage(problems().front());
  ASSERT_EQ(first.substr(0, 4), "\x7f"
                                "ELF")
      << first;
  compileOrMessage(problems().back());
  compileOrMessage("attn.forward @broken");
  EXPECT_TRUE(compileOrMessage(problems().front()) == first);
}

TEST(Determinism, EightThreadsGiveTheBytesOfOne) {
  std::vector<std::string> texts = problems();
  std::vector<std::string> wanted = compileSerially(texts);
  for (const std::string &output : wanted)
    ASSERT_EQ(output.substr(0, 4), "\x7f"
                                   "ELF")
        << output;

  // Every kernel is compiled by two threads, each first by one and second by the other.
  std::vector<std::vector<std::string>> found(texts.size(), std::vector<std::string>(texts.size()));
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread != texts.size(); ++thread)
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i != kKernelsOfThread; ++i) {
        size_t kernel = (thread + i) % texts.size();
        found[thread][kernel] = compileOrMessage(texts[kernel]);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t thread = 0; thread != texts.size(); ++thread)
    for (size_t i = 0; i != kKernelsOfThread; ++i) {
      size_t kernel = (thread + i) % texts.size();
      EXPECT_TRUE(found[thread][kernel] == wanted[kernel])
          << "thread " << thread << ", kernel " << kernel;
    }
}

TEST(Determinism, EveryStageIsReportedInOrder) {
  CompileOptions options;
  std::vector<Stage> seen;
  options.onStage = [&](Stage stage, std::string_view text) {
    EXPECT_FALSE(text.empty());
    seen.push_back(stage);
    return Status::success();
  };
  ASSERT_TRUE(compile(problems().front(), "kernel.mlir", options));
  EXPECT_EQ(seen, std::vector<Stage>(kStages.begin(), kStages.end()));
}
