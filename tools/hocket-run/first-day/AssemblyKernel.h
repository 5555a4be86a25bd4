// Kernels of a few lines of assembly: what they all begin and end with, and how they are launched.
#pragma once

#include "hocket/Runtime/Device.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hocket::run::firstday {

/// Dwords that a probe reads for each lane, and that it writes.
inline constexpr unsigned probeDwords = 16, probeLanes = 64;
/// What a probe reads or leaves: `probeDwords` dwords for each lane, lane by lane.
using LaneValues = std::vector<uint32_t>;

/// A code object for `chip` of one wave's kernel "probe". `body` finds its lane's dwords in v[16:31], its lane's number
/// in v0, 64 times that in v1, and the address of all dwords in s[4:5]; it leaves results in v[32:47], which are 0
/// before. It may use v2 to v15, v48 to v127, s8 to s63 and 16 KiB of LDS.
Result<std::string> assembleProbe(llvm::StringRef body, const std::string &chip);
/// Launches a probe.
Result<LaneValues> runProbe(runtime::Device &device, const std::string &codeObject, const LaneValues &input);

/// A code object of the kernel "loop": `setup`, then `body` as often as the argument says. s[4:5] is the address of a
/// buffer, s3 the workgroup's number, v0 the work-item's, v1 four times that.
Result<std::string> assembleLoop(llvm::StringRef setup, llvm::StringRef body, const std::string &chip);

/// A loaded loop and its buffer.
class LoadedLoop {
public:
  static Result<std::unique_ptr<LoadedLoop>> load(runtime::Device &device, const std::string &codeObject,
                                                  uint64_t bufferBytes);
  ~LoadedLoop();
  LoadedLoop(const LoadedLoop &) = delete;
  LoadedLoop &operator=(const LoadedLoop &) = delete;

  runtime::Kernel &kernel() const { return *loaded; }
  std::vector<std::byte> arguments(uint32_t turns) const;

private:
  explicit LoadedLoop(runtime::Device &device) : device(device) {}
  runtime::Device &device;
  std::shared_ptr<runtime::Kernel> loaded;
  runtime::DeviceAddress buffer = 0;
};

} // namespace hocket::run::firstday
