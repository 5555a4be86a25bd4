// What HIP programs hand over as device code: a code object, or a bundle of code objects for
// several targets, given by its address alone.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::hip {

using CodeObjectBytes = std::vector<std::byte>;

/// Why there is no code object in an image.
enum class ImageFault {
  NotAnImage,     ///< neither a code object nor a bundle
  Compressed,     ///< a compressed bundle, by a method that this build lacks
  NoBinaryForGpu, ///< a bundle without this target
};

/// The code object in an image, or what is the matter.
struct FoundImage {
  std::optional<CodeObjectBytes> codeObject;
  ImageFault fault = ImageFault::NotAnImage;
  std::string message;
};

/// `image`'s size where nobody knows it.
inline constexpr uint64_t unknownSize = UINT64_MAX;

/// Finds the code object for the simulated chip in the `size` bytes at `image`. A bundle's entry
/// for the plain target is preferred to one with features. HIP's interface passes images in memory
/// without their size: then it follows from the headers, and the memory up to the end that they
/// give must be readable.
FoundImage findCodeObject(const void *image, uint64_t size = unknownSize);

/// A variable in a code object: where it is in the image, and its size.
struct Variable {
  uint64_t address = 0, bytes = 0;
};
std::optional<Variable> findVariable(std::span<const std::byte> codeObject, std::string_view name);

} // namespace hocket::hip
