// A code object as the simulator sees it: an AMDGPU ELF file, checked and parsed once.
//
// Everything in the file is taken as hostile: offsets, sizes and counts are checked before use, and
// each way a file can be wrong is an error that names the file. Instructions are decoded when they
// are first reached, so the size of a library costs nothing until its kernels run.
#pragma once

#include "hocket/Runtime/Device.h"
#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::sim {

class CodeImage;

/// A parsed code object; immutable for its users and shareable between threads.
class CodeObject {
public:
  /// Parses `bytes` (which are copied). `name` is the file's name in messages. Accepts code objects
  /// of ABI version 4, 5 and 6 for gfx950 and gfx942 in wave64. Errors are InvalidInput for what is
  /// no such file or is malformed, Unsupported for other targets.
  static Result<std::shared_ptr<const CodeObject>> load(std::span<const std::byte> bytes,
                                                        std::string_view name);
  ~CodeObject();
  CodeObject(const CodeObject &) = delete;
  CodeObject &operator=(const CodeObject &) = delete;

  const std::string &name() const;
  /// LLVM's processor name: "gfx950" or "gfx942".
  const std::string &architecture() const;
  /// All kernels, in the order of the metadata.
  const std::vector<runtime::KernelInfo> &kernels() const;
  /// The index into `kernels()` of the kernel called `kernel`; the error lists what there is.
  Result<size_t> kernelIndex(std::string_view kernel) const;

  /// What the simulator works on; internal to lib/Simulator.
  CodeImage &image() const { return *content; }

private:
  explicit CodeObject(std::unique_ptr<CodeImage> content);
  std::unique_ptr<CodeImage> content;
};

} // namespace hocket::sim
