// Device memory for `exec`'s buffers. Patterns are uploaded in pieces, so that a large buffer does
// not need a host copy.
#include "ExecBuffers.h"

#include "hocket/Runtime/File.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;

ExecBuffers::ExecBuffers(ExecBuffers &&other) noexcept
    : device(other.device), specs(other.specs), files(std::move(other.files)),
      addresses(std::move(other.addresses)) {
  other.addresses.clear();
}

ExecBuffers::~ExecBuffers() {
  for (runtime::DeviceAddress address : addresses)
    (void)device->free(address).ok();
}

Result<ExecBuffers> ExecBuffers::create(runtime::Device &device, const std::vector<BufferSpec> &specs) {
  ExecBuffers buffers(device, specs);
  for (size_t i = 0; i != specs.size(); ++i) {
    const BufferSpec &spec = specs[i];
    std::vector<std::byte> content;
    if (!spec.initFile.empty()) {
      Result<std::vector<std::byte>> bytes =
          runtime::readFile(spec.initFile, std::max<size_t>(spec.bytes, runtime::largestFile));
      if (!bytes.ok())
        return Error{bytes.error().kind, spec.describe(i) + ": " + bytes.error().message};
      content = *std::move(bytes);
      if (content.size() != spec.bytes)
        return invalidInput("file '" + spec.initFile + "' has " + std::to_string(content.size()) +
                            " bytes, " + spec.describe(i) + " has " + std::to_string(spec.bytes) +
                            "; make them equal");
    }
    buffers.files.push_back(std::move(content));
    Result<runtime::DeviceAddress> address =
        device.allocate(spec.bytes, spec.align, spec.name.empty() ? spec.describe(i) : spec.name);
    if (!address.ok())
      return Error{address.error().kind, spec.describe(i) + ": " + address.error().message};
    buffers.addresses.push_back(*address);
  }
  return buffers;
}

Status ExecBuffers::fillWithPattern(size_t index) const {
  const BufferSpec &spec = (*specs)[index];
  constexpr uint64_t pieceBytes = 1 << 24; // a multiple of every pattern's size
  std::vector<std::byte> piece(std::min(spec.bytes, pieceBytes));
  for (size_t i = 0; i != piece.size(); ++i)
    piece[i] = spec.pattern[i % spec.pattern.size()];
  for (uint64_t at = 0; at < spec.bytes; at += piece.size()) {
    std::span<const std::byte> part(piece.data(),
                                    std::min<uint64_t>(piece.size(), spec.bytes - at));
    if (Status status = device->copyToDevice(addresses[index] + at, part); !status.ok())
      return status;
  }
  return Status::success();
}

Status ExecBuffers::initialise() const {
  for (size_t i = 0; i != specs->size(); ++i) {
    const BufferSpec &spec = (*specs)[i];
    Status status = !spec.initFile.empty()  ? device->copyToDevice(addresses[i], files[i])
                    : !spec.pattern.empty() ? fillWithPattern(i)
                                            : device->fill(addresses[i], 0, spec.bytes);
    if (!status.ok())
      return status;
  }
  return Status::success();
}

Result<std::vector<std::byte>> ExecBuffers::read(size_t index) const {
  std::vector<std::byte> content((*specs)[index].bytes);
  if (Status status = device->copyFromDevice(content, addresses[index]); !status.ok())
    return status.error();
  return content;
}
