#include "Messages.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <cerrno>
#include <unistd.h>

using namespace hocket::lsp;
using llvm::StringRef;

/// No document is larger.
static constexpr size_t kMaxMessage = size_t(1) << 30;

bool MessageReader::fill() {
  std::array<char, 1 << 16> bytes;
  ssize_t count;
  do
    count = ::read(file, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  if (count <= 0)
    return false;
  buffer.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

std::optional<std::string> MessageReader::next() {
  size_t header;
  while ((header = buffer.find("\r\n\r\n")) == std::string::npos)
    if (buffer.size() > kMaxMessage || !fill())
      return std::nullopt;
  size_t length = 0;
  llvm::SmallVector<StringRef> lines;
  StringRef(buffer).take_front(header).split(lines, "\r\n");
  for (StringRef line : lines)
    if (line.consume_front_insensitive("content-length:") &&
        line.trim().getAsInteger(10, length))
      return std::nullopt;
  if (length == 0 || length > kMaxMessage)
    return std::nullopt;
  buffer.erase(0, header + 4);
  while (buffer.size() < length)
    if (!fill())
      return std::nullopt;
  std::string message = buffer.substr(0, length);
  buffer.erase(0, length);
  return message;
}

bool MessageWriter::write(StringRef message) {
  std::string text =
      llvm::formatv("Content-Length: {0}\r\n\r\n{1}", message.size(), message).str();
  std::lock_guard lock(mutex);
  for (StringRef rest = text; !rest.empty();) {
    ssize_t count = ::write(file, rest.data(), rest.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    rest = rest.drop_front(static_cast<size_t>(count));
  }
  return true;
}

bool MessageWriter::writeJson(const llvm::json::Value &message) {
  return write(llvm::formatv("{0}", message).str());
}
