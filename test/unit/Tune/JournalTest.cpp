#include "hocket/Tune/Tune.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace hocket;
using namespace hocket::tune;

namespace {
std::string fileWith(const std::string &content) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("journal", "jsonl", path));
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << content;
  EXPECT_FALSE(code);
  return path.str().str();
}
} // namespace

TEST(Journal, TrialsSurviveAndAHalfLineIsNotThere) {
  std::string path = fileWith(journalHead("x") + journalLine({"a \"b\"\n", 32, Outcome::Timed, 12.345678901234567, 3.5, ""}) +
                              journalLine({"c", 0, Outcome::Spilled, 0, 0, "why"}) + "{\"schedule\":");
  auto trials = readJournal(path, "x");
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  ASSERT_EQ(trials->size(), 2u);
  EXPECT_EQ((*trials)[0].schedule, "a \"b\"\n");
  EXPECT_EQ((*trials)[0].microseconds, 12.345678901234567);
  EXPECT_EQ((*trials)[0].preview, 3.5);
  EXPECT_EQ((*trials)[0].kvTile, 32);
  EXPECT_EQ((*trials)[1].kvTile, 0);
  EXPECT_EQ((*trials)[1].outcome, Outcome::Spilled);
  EXPECT_EQ((*trials)[1].message, "why");
  llvm::sys::fs::remove(path);
}

TEST(Journal, RefusesWhatIsNotItsOwn) {
  std::string path = fileWith(journalHead("x"));
  EXPECT_NE(readJournal(path, "y").error().message.find("is of another kernel"), std::string::npos);
  llvm::sys::fs::remove(path);
  path = fileWith(journalHead("x") + "[]\n");
  EXPECT_NE(readJournal(path, "x").error().message.find("line 2"), std::string::npos);
  llvm::sys::fs::remove(path);
  path = fileWith("hello\n");
  EXPECT_FALSE(readJournal(path, "x").ok());
  llvm::sys::fs::remove(path);
  auto none = readJournal(path, "x");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}
