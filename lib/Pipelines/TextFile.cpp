// Reads in pieces up to the limit: the size that the system reports says nothing about a pipe or a
// device.
#include "hocket/Pipelines/TextFile.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

using namespace hocket;
namespace fs = llvm::sys::fs;

static Error cannotRead(const std::string &path, llvm::Error error) {
  std::string reason = llvm::errorToErrorCode(std::move(error)).message();
  return notFound("cannot read '" + path + "': " + reason);
}

static Result<std::string> readAll(fs::file_t file, const std::string &path) {
  constexpr size_t kStep = 1 << 16;
  std::string bytes;
  while (bytes.size() <= kLargestInput) {
    size_t size = bytes.size();
    bytes.resize(size + kStep);
    llvm::Expected<size_t> got = fs::readNativeFile(file, {bytes.data() + size, kStep});
    if (!got)
      return cannotRead(path, got.takeError());
    bytes.resize(size + *got);
    if (*got == 0)
      return bytes;
  }
  return invalidInput("'" + path + "' has more than " + std::to_string(kLargestInput >> 20) +
                      " MiB, the most that is read; is it the file that was meant?");
}

Result<std::string> hocket::readInputFile(const std::string &path) {
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file)
    return cannotRead(path, file.takeError());
  Result<std::string> text = readAll(*file, path);
  (void)fs::closeFile(*file);
  return text;
}

Result<std::string> hocket::readStandardInput() { return readAll(fs::getStdinHandle(), "<stdin>"); }
