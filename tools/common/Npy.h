// Arrays in files of numpy's format .npy, versions 1.0 to 3.0.
//
// numpy has no bf16 and no 8-bit floats: their bits are saved as unsigned integers, and read back
// as what the reader calls them.
#pragma once

#include "hocket/Support/ElementType.h"
#include "hocket/Support/Result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hocket::run {

/// A dense array in C order.
struct Array {
  ElementType dtype = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  int64_t elements() const;
};

/// Bytes of an array. InvalidInput if they are more than the host should hold (`what` names it).
Result<uint64_t> arrayBytes(const std::vector<int64_t> &shape, ElementType dtype,
                            const std::string &what);

/// Reads the file. `as`: bits of another type of the same width, or floats to be rounded to it.
/// InvalidInput names what is wrong with the file and what to save instead.
Result<Array> readNpy(const std::string &path,
                      std::optional<ElementType> as = std::nullopt);
Status writeNpy(const std::string &path, const Array &array);

} // namespace hocket::run
