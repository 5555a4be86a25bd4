// Reads in pieces up to a limit: the size that the system reports says nothing about a pipe or a
// device. Writes through C's streams; every call's outcome is looked at, because a full disk shows
// only when the stream is closed.
#include "hocket/Runtime/File.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::runtime;

static Error failure(const char *verb, const std::string &path, int code) {
  std::string message = std::string("cannot ") + verb + " '" + path + "': " + std::strerror(code);
  return code == ENOENT ? notFound(message) : hostError(message);
}

namespace {
/// An open file, closed with the object unless it is standard input.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number > STDIN_FILENO)
      ::close(number);
  }
};
} // namespace

/// A shell's `<(...)` is a pipe of a file system of its own, and has a writer. One with a name has
/// none until somebody comes, and opening it would wait.
static bool isNamedPipe(int descriptor) {
  constexpr long pipeFileSystem = 0x50495045; // PIPEFS_MAGIC, linux/magic.h
  struct stat about;
  struct statfs system;
  return ::fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode) &&
         ::fstatfs(descriptor, &system) == 0 && system.f_type != pipeFileSystem;
}

/// Neither a terminal nor /dev/null, which have an end: /dev/zero has none.
static bool isDevice(int descriptor) {
  struct stat about, nothing;
  if (::fstat(descriptor, &about) != 0 || !S_ISCHR(about.st_mode) || ::isatty(descriptor))
    return false;
  return ::stat("/dev/null", &nothing) != 0 || nothing.st_rdev != about.st_rdev;
}

static Status open(const std::string &path, Descriptor &file) {
  file.number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.number < 0)
    return failure("read", path, errno);
  if (isNamedPipe(file.number))
    return hostError("cannot read '" + path + "': it is a named pipe; give a file");
  if (isDevice(file.number))
    return hostError("cannot read '" + path + "': it is a device; give a file");
  int flags = ::fcntl(file.number, F_GETFL);
  if (flags < 0 || ::fcntl(file.number, F_SETFL, flags & ~O_NONBLOCK) < 0)
    return failure("read", path, errno);
  return Status::success();
}

static std::string sizeText(size_t bytes) {
  bool whole = bytes % (size_t(1) << 20) == 0;
  return whole ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

/// Reads into `content` (a container of bytes) until the end of the file or past `limit`.
template <typename Content>
static Status readAll(int descriptor, const std::string &path, size_t limit, Content &content) {
  constexpr size_t smallest = 1 << 16;
  for (size_t size = 0; size <= limit;) {
    content.resize(size + std::max(smallest, size / 2));
    ssize_t got = ::read(descriptor, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read", path, errno);
    size += static_cast<size_t>(got);
    if (got == 0) {
      content.resize(size);
      return Status::success();
    }
  }
  return invalidInput("'" + path + "' has more than " + sizeText(limit) +
                      ", the most that is read; is it the file that was meant?");
}

Result<std::vector<std::byte>> runtime::readFile(const std::string &path, size_t limit) {
  Descriptor file;
  std::vector<std::byte> bytes;
  if (Status status = open(path, file); !status.ok())
    return status.error();
  if (Status status = readAll(file.number, path, limit, bytes); !status.ok())
    return status.error();
  return bytes;
}

Result<std::string> runtime::readText(const std::string &path, size_t limit) {
  Descriptor file{STDIN_FILENO};
  bool standard = path == "-";
  std::string text;
  if (!standard)
    if (Status status = open(path, file); !status.ok())
      return status.error();
  if (Status status = readAll(file.number, standard ? "<stdin>" : path, limit, text); !status.ok())
    return status.error();
  return text;
}

Status runtime::writeFile(const std::string &path, std::span<const std::byte> bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return failure("write", path, errno);
  size_t written = std::fwrite(bytes.data(), 1, bytes.size(), file);
  int code = errno;
  if (std::fclose(file) != 0)
    return failure("write", path, errno);
  if (written != bytes.size())
    return failure("write", path, code);
  return Status::success();
}
