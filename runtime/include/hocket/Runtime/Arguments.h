// Typed kernel arguments, and packing them into the block that a launch takes.
//
// Kernel arguments are bytes at offsets. Packing checks what can be checked against the kernel's
// metadata (count, sizes, offsets, overlap, hidden arguments) so that a wrong argument list is a
// message and not a wrong result.
#pragma once

#include "hocket/Runtime/Device.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::runtime {

/// One value to pass. Without an offset it takes the place of the next explicit argument of the
/// metadata: the i-th value that has no offset of its own is not counted among those that have, so
/// either none or all values should have one.
struct ArgumentValue {
  std::string type;             ///< for messages: "i32", "pointer", "bytes"
  std::vector<std::byte> bytes; ///< little-endian, as the kernel reads them
  std::optional<uint32_t> offset;

  /// A number or another trivially copyable value, as it is in memory.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  static ArgumentValue of(const T &value, std::string type,
                          std::optional<uint32_t> offset = std::nullopt) {
    ArgumentValue argument{std::move(type), std::vector<std::byte>(sizeof(T)), offset};
    std::memcpy(argument.bytes.data(), &value, sizeof(T));
    return argument;
  }
  static ArgumentValue pointer(DeviceAddress address) { return of(address, "pointer"); }
  static ArgumentValue i32(int32_t value) { return of(value, "i32"); }
  static ArgumentValue u32(uint32_t value) { return of(value, "u32"); }
  static ArgumentValue i64(int64_t value) { return of(value, "i64"); }
  static ArgumentValue u64(uint64_t value) { return of(value, "u64"); }
  static ArgumentValue f32(float value) { return of(value, "f32"); }
  static ArgumentValue f64(double value) { return of(value, "f64"); }
};

/// Packs `values` into a block of `kernargSize` bytes (default: the metadata's size); bytes that no
/// value covers are zero.
///
/// If no value has an offset, there must be exactly as many as the kernel has explicit arguments.
/// Values with an offset may be fewer, or pieces of one argument. Errors (InvalidInput): a count,
/// size or offset that does not fit, overlapping values, a hidden argument, a block smaller than
/// the metadata's, no metadata for a value without offset.
Result<std::vector<std::byte>> packArguments(const KernelInfo &kernel,
                                             std::span<const ArgumentValue> values,
                                             std::optional<uint64_t> kernargSize = std::nullopt);

} // namespace hocket::runtime
