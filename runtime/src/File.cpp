// Reads and writes whole files through C's streams; every call's outcome is looked at, because a
// full disk shows only when the stream is closed.
#include "hocket/Runtime/File.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

using namespace hocket;
using namespace hocket::runtime;

static Error failure(const char *verb, const std::string &path, int code) {
  std::string message = std::string("cannot ") + verb + " '" + path + "': " + std::strerror(code);
  return code == ENOENT ? notFound(message) : hostError(message);
}

Result<std::vector<std::byte>> runtime::readFile(const std::string &path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                        std::fclose);
  if (!file)
    return failure("read", path, errno);
  std::vector<std::byte> bytes;
  constexpr size_t step = 1 << 20;
  for (size_t got = step; got == step;) {
    size_t size = bytes.size();
    bytes.resize(size + step);
    got = std::fread(bytes.data() + size, 1, step, file.get());
    int code = errno;
    bytes.resize(size + got);
    if (std::ferror(file.get()))
      return failure("read", path, code);
  }
  return bytes;
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
