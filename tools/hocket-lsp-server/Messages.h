// Messages of the language server protocol: JSON behind a header with its length.
#pragma once

#include "llvm/Support/JSON.h"

#include <mutex>
#include <optional>
#include <string>

namespace hocket::lsp {

/// Reads messages from a file descriptor.
class MessageReader {
public:
  explicit MessageReader(int file) : file(file) {}
  /// The next message; nothing at the end of the input, or where it makes no sense.
  std::optional<std::string> next();

private:
  bool fill();
  int file;
  std::string buffer;
};

/// Writes messages to a file descriptor, from any thread, each whole.
class MessageWriter {
public:
  explicit MessageWriter(int file) : file(file) {}
  /// Whether the other end took it.
  bool write(llvm::StringRef message);
  bool writeJson(const llvm::json::Value &message);

private:
  int file;
  std::mutex mutex;
};

} // namespace hocket::lsp
