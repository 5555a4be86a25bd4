// Source lines of code addresses, where a code object has DWARF line tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace hocket::sim {

class SourceLines {
public:
  /// `file` is a code object's bytes, or empty; it must outlive this.
  explicit SourceLines(const std::string &file);
  ~SourceLines();
  /// "file:line", or "" where it is not known.
  std::string at(uint64_t address);

private:
  struct Tables;
  std::unique_ptr<Tables> tables;
};

} // namespace hocket::sim
