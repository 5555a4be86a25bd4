// What may be named where a file is wanted: everything else ends with an error that says why.
#include "hocket/Runtime/File.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::runtime;

namespace {
class File : public testing::Test {
protected:
  void SetUp() override {
    std::string model = std::filesystem::temp_directory_path() / "hocket-file-XXXXXX";
    ASSERT_NE(::mkdtemp(model.data()), nullptr);
    directory = model;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string path(const std::string &name) const { return directory + "/" + name; }
  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string directory;
};
} // namespace

static void expectError(const Result<std::string> &text, ErrorKind kind,
                        const std::string &message) {
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().kind, kind);
  EXPECT_EQ(text.error().message, message);
}

TEST_F(File, ReadsUpToTheLimit) {
  std::string content(200000, '\0');
  for (size_t i = 0; i != content.size(); ++i)
    content[i] = static_cast<char>(i % 251);
  std::string file = write("content", content);
  for (size_t limit : {content.size(), content.size() + 1, largestText}) {
    Result<std::string> text = readText(file, limit);
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(*text, content);
  }
  expectError(readText(file, content.size() - 1), ErrorKind::InvalidInput,
              "'" + file +
                  "' has more than 199999 bytes, the most that is read; is it the file that was "
                  "meant?");
  Result<std::vector<std::byte>> bytes = readFile(file);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(bytes->size(), content.size());
  EXPECT_TRUE(readText(write("empty", ""), 0).ok());
}

TEST_F(File, SaysWhatCannotBeRead) {
  expectError(readText(path("none")), ErrorKind::NotFound,
              "cannot read '" + path("none") + "': No such file or directory");
  expectError(readText(directory), ErrorKind::Host,
              "cannot read '" + directory + "': Is a directory");
  std::string locked = write("locked", "x");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  if (::geteuid() != 0) {
    expectError(readText(locked), ErrorKind::Host,
                "cannot read '" + locked + "': Permission denied");
  }
}

TEST_F(File, ReadsNoDeviceButOneThatEnds) {
  expectError(readText("/dev/zero"), ErrorKind::Host,
              "cannot read '/dev/zero': it is a device; give a file");
  Result<std::string> nothing = readText("/dev/null");
  ASSERT_TRUE(nothing.ok()) << nothing.error().message;
  EXPECT_EQ(*nothing, "");
}

TEST_F(File, DoesNotWaitForANamedPipe) {
  std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expectError(readText(pipe), ErrorKind::Host,
              "cannot read '" + pipe + "': it is a named pipe; give a file");
}

// What a shell passes for <(command).
TEST_F(File, ReadsAPipeThatHasAWriter) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  Result<std::string> text = readText("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, "text");
}
