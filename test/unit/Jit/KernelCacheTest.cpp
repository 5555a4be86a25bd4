// Each kernel once: threads, errors, disk. What makes kernels is a function that counts.
#include "TemporaryDirectory.h"

#include "hocket/Jit/KernelCache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace hocket;
using namespace hocket::jit;
using attention::CompiledKernel;
using attention::KernelOrigin;
using testing::HasSubstr;

static Result<CompiledKernel> makeKernel(const std::string &code) {
  CompiledKernel kernel;
  kernel.codeObject = code;
  kernel.seconds = 1;
  return kernel;
}

TEST(KernelCache, AKernelIsMadeOnceHoweverManyThreadsAsk) {
  KernelCache cache{CacheSettings{}};
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k) {
        std::string key = "kernel " + std::to_string((i + k) % 10);
        auto kernel = cache.get(key, "", [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return makeKernel(key);
        });
        ASSERT_TRUE(kernel.ok());
        EXPECT_EQ((*kernel)->codeObject, key);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 10);
  EXPECT_EQ(cache.counts().compiled, 10u);
  EXPECT_EQ(cache.counts().memory, 70u);
}

TEST(KernelCache, AnotherProcessFindsItOnDisk) {
  test::TemporaryDirectory directory;
  {
    KernelCache first({directory.path()});
    ASSERT_TRUE(first.get("a", "", [] { return makeKernel("code"); }).ok());
  }
  KernelCache second({directory.path()});
  auto kernel = second.get("a", "", []() -> Result<CompiledKernel> {
    ADD_FAILURE() << "made again";
    return internalError("");
  });
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->codeObject, "code");
  EXPECT_EQ((*kernel)->origin, KernelOrigin::Disk);
  EXPECT_EQ((*kernel)->seconds, 0);
  EXPECT_EQ(second.counts().disk, 1u);
}

TEST(KernelCache, ErrorsReachEveryoneAndAreForgotten) {
  KernelCache cache{CacheSettings{}};
  auto failed = cache.get("a", "", []() -> Result<CompiledKernel> { return hostError("no"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_TRUE(cache.get("a", "", [] { return makeKernel("code"); }).ok());
}

TEST(KernelCache, ADamagedEntryIsMadeAnew) {
  test::TemporaryDirectory directory;
  {
    KernelCache first({directory.path()});
    ASSERT_TRUE(first.get("a", "", [] { return makeKernel("code"); }).ok());
  }
  std::string file = directory.path() + "/llvmcache-" + contentHash("a");
  {
    std::error_code code;
    llvm::raw_fd_ostream out(file, code, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::FA_Write,
                             llvm::sys::fs::OF_None);
    ASSERT_FALSE(code);
    out.seek(50);
    out << '!';
  }
  KernelCache second({directory.path()});
  ASSERT_TRUE(second.get("a", "", [] { return makeKernel("code"); }).ok());
  EXPECT_EQ(second.counts().compiled, 1u);
  EXPECT_TRUE(second.disk().load("a")); // and it is whole again
}

TEST(KernelCache, ACacheThatCannotBeWrittenIsNoObstacle) {
  KernelCache cache({"/dev/null/cache"});
  auto kernel = cache.get("a", "", [] { return makeKernel("code"); });
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(cache.counts().unstored, 1u);
  EXPECT_THAT(cache.lastProblem(), HasSubstr("/dev/null/cache"));
}

TEST(KernelCache, ForgetsTheLongestUnusedAndKeepsWhatIsHeld) {
  CacheSettings settings;
  settings.maxMemoryBytes = 2500; // two kernels of 1000 bytes and their keys
  KernelCache cache(settings);
  auto get = [&](const std::string &key) {
    auto kernel = cache.get(key, "", [&] { return makeKernel(std::string(1000, key[0])); });
    EXPECT_TRUE(kernel.ok());
    return *kernel;
  };
  KernelCache::Kernel held = get("a");
  get("b");
  EXPECT_EQ(get("a"), held); // used later than b
  get("c");                  // b goes
  EXPECT_EQ(cache.counts().forgotten, 1u);
  EXPECT_EQ(get("a"), held);
  EXPECT_EQ(cache.counts().compiled, 3u);
  get("b"); // c goes
  get("c"); // a goes
  EXPECT_EQ(cache.counts().compiled, 5u);
  EXPECT_EQ(cache.counts().forgotten, 3u);
  EXPECT_EQ(held->codeObject, std::string(1000, 'a'));
  EXPECT_NE(get("a"), held);
}

TEST(KernelCache, AKernelThatIsTooLargeToKeepIsUsedAllTheSame) {
  CacheSettings settings;
  settings.maxMemoryBytes = 10;
  KernelCache cache(settings);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ((*cache.get("a", "", [] { return makeKernel("twelve bytes"); }))->codeObject,
              "twelve bytes");
  EXPECT_EQ(cache.counts().compiled, 2u);
}

TEST(KernelCache, SaysOnceThatADirectoryIsNotTrusted) {
  test::TemporaryDirectory directory;
  CacheSettings settings{directory.path()};
  { // what a stranger could have put there
    KernelCache stranger(settings);
    ASSERT_TRUE(stranger.get("a", "", [] { return makeKernel("wrong"); }).ok());
  }
  using llvm::sys::fs::perms;
  ASSERT_FALSE(llvm::sys::fs::setPermissions(directory.path(), perms::all_all));
  std::vector<std::string> told;
  settings.onProblem = [&](const std::string &text) { told.push_back(text); };
  KernelCache cache(settings);
  for (const char *key : {"a", "b"})
    EXPECT_EQ((*cache.get(key, "", [] { return makeKernel("code"); }))->codeObject, "code");
  EXPECT_EQ(cache.counts().disk, 0u);
  EXPECT_EQ(cache.counts().unstored, 2u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("is not used: others can write to it (mode 777)"));
  EXPECT_EQ(cache.lastProblem(), told[0]);
}
