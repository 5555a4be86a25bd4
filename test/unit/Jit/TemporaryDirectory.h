// A directory that goes when the test does.
#pragma once

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace hocket::test {

class TemporaryDirectory {
public:
  TemporaryDirectory() {
    failed = llvm::sys::fs::createUniqueDirectory("hocket", name) ||
             llvm::sys::fs::setPermissions(name, llvm::sys::fs::owner_all);
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory() { (void)llvm::sys::fs::remove_directories(name); }
  bool ok() const { return !failed; }
  std::string path() const { return name.str().str(); }

private:
  llvm::SmallString<128> name;
  bool failed = false;
};

} // namespace hocket::test
