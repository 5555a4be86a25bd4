// What a first day has found so far: a file of one JSON object a line, which later runs continue.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <utility>

namespace hocket::run::firstday {

/// Results by stage and item. Each is written when it is there, so that whatever ends the process loses one item.
class Journal {
public:
  /// Opens `path`, or begins it with `header`. InvalidInput if it holds something else than a journal, or one that began
  /// with another header: results of another device or of other options are not continued.
  static Result<Journal> open(std::string path, const llvm::json::Object &header);

  /// The result of an item; null: there is none.
  const llvm::json::Object *find(llvm::StringRef stage, llvm::StringRef item) const;
  /// How often an item was begun.
  unsigned attempts(llvm::StringRef stage, llvm::StringRef item) const;
  Status begin(llvm::StringRef stage, llvm::StringRef item);
  Status finish(llvm::StringRef stage, llvm::StringRef item, llvm::json::Object result);

private:
  using Key = std::pair<std::string, std::string>;
  explicit Journal(std::string path) : path(std::move(path)) {}
  Status read(llvm::StringRef text, const llvm::json::Object &header);
  Status cutAt(uint64_t bytes);
  Status append(llvm::json::Object line);

  std::string path;
  std::map<Key, llvm::json::Object> results;
  std::map<Key, unsigned> begun;
};

} // namespace hocket::run::firstday
