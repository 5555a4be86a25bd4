// The buffers of one `exec`: allocated once, given their content before every launch, read back.
#pragma once

#include "ExecArguments.h"

#include "hocket/Runtime/Device.h"

#include <cstddef>
#include <vector>

namespace hocket::run {

class ExecBuffers {
public:
  /// Reads the initial files (each must have exactly the buffer's size) and allocates.
  static Result<ExecBuffers> create(runtime::Device &device, const std::vector<BufferSpec> &specs);
  ~ExecBuffers();
  ExecBuffers(ExecBuffers &&other) noexcept;
  ExecBuffers(const ExecBuffers &) = delete;
  ExecBuffers &operator=(const ExecBuffers &) = delete;

  runtime::DeviceAddress address(size_t index) const { return addresses[index]; }
  /// Gives every buffer its initial content.
  Status initialise() const;
  /// The content of buffer `index`.
  Result<std::vector<std::byte>> read(size_t index) const;

private:
  ExecBuffers(runtime::Device &device, const std::vector<BufferSpec> &specs)
      : device(&device), specs(&specs) {}
  Status fillWithPattern(size_t index) const;

  runtime::Device *device;
  const std::vector<BufferSpec> *specs;
  std::vector<std::vector<std::byte>> files; ///< by buffer; empty if it has no file
  std::vector<runtime::DeviceAddress> addresses;
};

} // namespace hocket::run
