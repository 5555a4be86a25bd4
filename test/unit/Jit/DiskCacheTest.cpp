// The cache on disk: what comes back, what damage does, what is removed.
#include "TemporaryDirectory.h"

#include "hocket/Jit/DiskCache.h"
#include "hocket/Runtime/File.h"

#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace hocket;
using namespace hocket::jit;
using testing::HasSubstr;
namespace fs = llvm::sys::fs;

static CacheEntry entryFor(const std::string &key) {
  return {key, "about " + key, "manifest", "report", std::string("code\0object", 11) + key};
}

namespace {
class Disk : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(directory.ok()); }
  std::string pathOf(const std::string &key) const {
    return directory.path() + "/cache/llvmcache-" + contentHash(key);
  }
  std::string content(const std::string &key) const {
    Result<std::vector<std::byte>> bytes = runtime::readFile(pathOf(key));
    EXPECT_TRUE(bytes.ok());
    return {reinterpret_cast<const char *>(bytes->data()), bytes->size()};
  }
  void write(const std::string &path, std::string_view text) {
    ASSERT_TRUE(runtime::writeFile(path, std::as_bytes(std::span(text))).ok());
  }
  unsigned files() const {
    unsigned count = 0;
    std::error_code code;
    for (fs::directory_iterator file(directory.path() + "/cache", code), end; file != end;
         file.increment(code))
      ++count;
    return count;
  }

  test::TemporaryDirectory directory;
  DiskCache cache{{directory.path() + "/cache"}};
};
} // namespace

TEST_F(Disk, GivesBackWhatWasStored) {
  EXPECT_FALSE(cache.load("a"));
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  std::optional<CacheEntry> entry = cache.load("a");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->key, "a");
  EXPECT_EQ(entry->description, "about a");
  EXPECT_EQ(entry->manifest, "manifest");
  EXPECT_EQ(entry->report, "report");
  EXPECT_EQ(entry->codeObject, entryFor("a").codeObject);
  EXPECT_FALSE(cache.load("b"));
}

TEST_F(Disk, EveryFlippedByteAndEveryCutIsNoticed) {
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  const std::string whole = content("a");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write(pathOf("a"), damaged);
    EXPECT_FALSE(cache.load("a")) << "byte " << at;
    write(pathOf("a"), std::string_view(whole).substr(0, at));
    EXPECT_FALSE(cache.load("a")) << "cut to " << at;
  }
  write(pathOf("a"), whole + "x");
  EXPECT_FALSE(cache.load("a"));
  // What is damaged is replaced by the next store.
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  EXPECT_TRUE(cache.load("a"));
}

TEST_F(Disk, AnEntryUnderAnotherNameIsNotTaken) {
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  write(pathOf("b"), content("a"));
  EXPECT_FALSE(cache.load("b"));
  Result<std::vector<CacheListing>> entries = cache.list();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  unsigned wrong = 0;
  for (const CacheListing &entry : *entries)
    wrong += entry.damage == "it is not what its name says";
  EXPECT_EQ(wrong, 1u);
}

TEST_F(Disk, ListRepairAndClear) {
  for (const char *key : {"a", "b", "c"})
    ASSERT_TRUE(cache.store(entryFor(key)).ok());
  write(pathOf("b"), "hocketK1 but not really");
  Result<std::vector<CacheListing>> entries = cache.list();
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->size(), 3u);
  Result<std::vector<CacheListing>> damaged = cache.repair();
  ASSERT_TRUE(damaged.ok());
  ASSERT_EQ(damaged->size(), 1u);
  EXPECT_EQ(damaged->front().hash, contentHash("b"));
  EXPECT_EQ(cache.list()->size(), 2u);
  EXPECT_EQ(*cache.clear(), 2u);
  EXPECT_TRUE(cache.list()->empty());
}

TEST_F(Disk, WhatKilledProcessesLeaveIsSweptOnceItIsOld) {
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  std::string old = directory.path() + "/cache/writing-old",
              fresh = directory.path() + "/cache/writing-new";
  write(old, "half");
  write(fresh, "half");
  int file = ::open(old.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_FALSE(fs::setLastAccessAndModificationTime(file, std::chrono::system_clock::now() -
                                                              std::chrono::hours(1)));
  ::close(file);
  ASSERT_TRUE(cache.store(entryFor("b")).ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)); // someone may still be writing it
}

TEST_F(Disk, TheSizeIsBoundedAndTheLongestUnusedGoFirst) {
  DiskCache small({directory.path() + "/cache", 40'000});
  auto large = [](const std::string &key) {
    CacheEntry entry = entryFor(key);
    entry.codeObject.assign(12'000, 'x');
    return entry;
  };
  for (const char *key : {"a", "b", "c"}) {
    ASSERT_TRUE(small.store(large(key)).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(small.load("a")); // used: now "b" is the oldest
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(small.store(large("d")).ok());
  EXPECT_FALSE(small.load("b"));
  for (const char *key : {"a", "c", "d"})
    EXPECT_TRUE(small.load(key)) << key;
}

TEST_F(Disk, ADirectoryThatCannotBeMadeIsAnError) {
  write(directory.path() + "/file", "");
  DiskCache impossible({directory.path() + "/file/cache"});
  Status status = impossible.store(entryFor("a"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::Host);
  EXPECT_THAT(status.error().message, HasSubstr("cannot create cache directory"));
  EXPECT_FALSE(impossible.checkWritable().ok());
  EXPECT_FALSE(impossible.load("a"));
}

TEST_F(Disk, AProbeLeavesNothingBehind) {
  DiskCache cache({directory.path() + "/new"});
  EXPECT_TRUE(cache.checkWritable().ok());
  std::error_code code;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(directory.path() + "/new", code),
            llvm::sys::fs::directory_iterator());
  EXPECT_FALSE(code);
}

TEST_F(Disk, NoDirectoryMeansNoCache) {
  DiskCache none{CacheSettings{}};
  EXPECT_FALSE(none.enabled());
  EXPECT_TRUE(none.store(entryFor("a")).ok());
  EXPECT_FALSE(none.load("a"));
  EXPECT_TRUE(none.list()->empty());
}

TEST_F(Disk, WhatOthersCanWriteIsNotUsed) {
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  std::string place = directory.path() + "/cache";
  std::string file = place + "/llvmcache-" + contentHash("a");
  std::string reason;
  // A group's right to write, then everyone's; to the entry, then to the directory.
  for (mode_t mode : {0620, 0602}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_FALSE(cache.load("a", &reason));
    EXPECT_THAT(reason, HasSubstr("is not used: others can write to it (mode 6"));
    EXPECT_THAT(cache.list()->at(0).damage, HasSubstr("others can write to it"));
  }
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(cache.load("a", &reason));
  EXPECT_EQ(reason, "");
  for (mode_t mode : {0720, 0702, 01777}) {
    ASSERT_EQ(::chmod(place.c_str(), mode), 0);
    EXPECT_FALSE(cache.load("a", &reason));
    EXPECT_THAT(reason, HasSubstr("cache directory '" + place + "' is not used: others can write"));
    EXPECT_EQ(reason, cache.distrust());
    Status status = cache.store(entryFor("b"));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, reason);
    EXPECT_FALSE(cache.checkWritable().ok());
    cache.lockWork("a"); // makes no file there
  }
  ASSERT_EQ(::chmod(place.c_str(), 0755), 0);
  EXPECT_TRUE(cache.load("a"));
  EXPECT_EQ(cache.list()->size(), 1u);
  for (int digit = 0; digit < 256; ++digit)
    EXPECT_FALSE(fs::exists(place + llvm::formatv("/lock-{0:x-2}", digit).str()));
}

TEST_F(Disk, WhatIsAnotherUsersIsNotUsed) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  std::string place = directory.path() + "/cache";
  std::string file = place + "/llvmcache-" + contentHash("a");
  std::string reason;
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache.load("a", &reason));
  EXPECT_THAT(reason, HasSubstr("is not used: it belongs to user 12345, this process is user 0's"));
  EXPECT_EQ(cache.repair()->size(), 1u);
  EXPECT_TRUE(cache.list()->empty());
  ASSERT_TRUE(cache.store(entryFor("a")).ok());
  EXPECT_TRUE(cache.load("a"));
  ASSERT_EQ(::chown(place.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache.load("a", &reason));
  EXPECT_THAT(reason, HasSubstr("cache directory '" + place + "' is not used: it belongs to user"));
  EXPECT_FALSE(cache.store(entryFor("b")).ok());
}

TEST_F(Disk, TheWorkLockIsHeldByOneAtATime) {
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      DiskCache own({directory.path() + "/cache"});
      for (int round = 0; round < 5; ++round) {
        DiskCache::WorkLock lock = own.lockWork("a");
        EXPECT_EQ(++inside, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --inside;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Disk, NothingTemporaryIsLeftBehind) {
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(cache.store(entryFor(std::to_string(i))).ok());
  unsigned temporary = 0;
  std::error_code code;
  for (fs::directory_iterator file(directory.path() + "/cache", code), end; file != end;
       file.increment(code))
    temporary += llvm::StringRef(file->path()).contains("writing-");
  EXPECT_EQ(temporary, 0u);
}

namespace {
/// Sets an environment variable for one test.
class Variable {
public:
  Variable(const char *name, const char *value) : name(name) {
    if (const char *found = std::getenv(name))
      before = found;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before ? ::setenv(name, before->c_str(), 1) : ::unsetenv(name); }

private:
  const char *name;
  std::optional<std::string> before;
};
} // namespace

TEST(CacheSettings, FollowTheEnvironment) {
  Variable use("HOCKET_CACHE", nullptr), directory("HOCKET_CACHE_DIR", nullptr),
      size("HOCKET_CACHE_SIZE", nullptr), memory("HOCKET_CACHE_MEMORY", nullptr),
      xdg("XDG_CACHE_HOME", "/somewhere");
  Result<CacheSettings> settings = cacheSettingsFromEnvironment();
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->directory, "/somewhere/hocket");
  EXPECT_EQ(settings->maxBytes, 512u << 20);
  EXPECT_EQ(settings->maxMemoryBytes, 64u << 20);
  Variable own("HOCKET_CACHE_DIR", "/own"), small("HOCKET_CACHE_SIZE", "3"),
      little("HOCKET_CACHE_MEMORY", "5");
  settings = cacheSettingsFromEnvironment();
  EXPECT_EQ(settings->directory, "/own");
  EXPECT_EQ(settings->maxBytes, 3u << 20);
  EXPECT_EQ(settings->maxMemoryBytes, 5u << 20);
  Variable off("HOCKET_CACHE", "off");
  EXPECT_TRUE(cacheSettingsFromEnvironment()->directory.empty());
}

TEST(CacheSettings, MalformedVariablesAreErrors) {
  {
    Variable size("HOCKET_CACHE_SIZE", "big");
    EXPECT_THAT(cacheSettingsFromEnvironment().error().message,
                HasSubstr("HOCKET_CACHE_SIZE is 'big', expected a number of MiB"));
  }
  {
    Variable memory("HOCKET_CACHE_MEMORY", "0");
    EXPECT_THAT(cacheSettingsFromEnvironment().error().message,
                HasSubstr("HOCKET_CACHE_MEMORY is '0', expected a number of MiB from 1"));
  }
  Variable use("HOCKET_CACHE", "maybe");
  EXPECT_THAT(cacheSettingsFromEnvironment().error().message,
              HasSubstr("HOCKET_CACHE is 'maybe', expected on or off"));
}
