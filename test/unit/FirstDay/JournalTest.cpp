// A journal is continued where it ended, however that was.
#include "Journal.h"

#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::run::firstday;
using llvm::json::Object;

namespace {
class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("journal", "jsonl", path));
    llvm::sys::fs::remove(path);
  }
  void TearDown() override { llvm::sys::fs::remove(path); }
  Result<Journal> open(const Object &header = Object{{"device", "a"}}) { return Journal::open(path.str().str(), header); }
  void append(const std::string &text) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error, llvm::sys::fs::OF_Append) << text;
    ASSERT_FALSE(error);
  }
  llvm::SmallString<128> path;
};
} // namespace

TEST_F(JournalTest, ResultsAreThereAgain) {
  {
    Result<Journal> journal = open();
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE(journal->begin("kernels", "k").ok());
    ASSERT_TRUE(journal->finish("kernels", "k", Object{{"verdict", "same"}}).ok());
  }
  Result<Journal> journal = open();
  ASSERT_TRUE(journal.ok());
  ASSERT_NE(journal->find("kernels", "k"), nullptr);
  EXPECT_EQ(journal->find("kernels", "k")->getString("verdict"), "same");
  EXPECT_EQ(journal->find("kernels", "other"), nullptr);
}

TEST_F(JournalTest, CountsWhatDidNotEnd) {
  for (unsigned attempt = 0; attempt != 2; ++attempt) {
    Result<Journal> journal = open();
    ASSERT_TRUE(journal.ok());
    EXPECT_EQ(journal->attempts("kernels", "hangs"), attempt);
    ASSERT_TRUE(journal->begin("kernels", "hangs").ok());
  }
}

TEST_F(JournalTest, HalfALineIsDropped) {
  ASSERT_TRUE(open().ok());
  append("{\"stage\":\"kernels\",\"item\":\"k\",\"resu");
  Result<Journal> journal = open();
  ASSERT_TRUE(journal.ok());
  ASSERT_TRUE(journal->finish("kernels", "next", Object{{"verdict", "same"}}).ok());
  journal = open();
  ASSERT_TRUE(journal.ok());
  EXPECT_NE(journal->find("kernels", "next"), nullptr);
  EXPECT_EQ(journal->find("kernels", "k"), nullptr);
}

TEST_F(JournalTest, RefusesOneOfAnotherDevice) {
  ASSERT_TRUE(open().ok());
  Result<Journal> journal = open(Object{{"device", "b"}});
  ASSERT_FALSE(journal.ok());
  EXPECT_NE(journal.error().message.find("'device' is \"a\" there and \"b\" here"), std::string::npos)
      << journal.error().message;
}

TEST_F(JournalTest, RefusesAnotherFile) {
  append("problem,kernel\n");
  Result<Journal> journal = open();
  ASSERT_FALSE(journal.ok());
  EXPECT_NE(journal.error().message.find("is not the journal of a first day"), std::string::npos);
}
