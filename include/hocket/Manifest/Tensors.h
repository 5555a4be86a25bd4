// The tensors of a problem as data: what each is called and is for, and where its elements lie.
//
// Whatever a problem computes, its tensors are a list of these. Variables of manifests, checks,
// buffers by name, uploads and downloads go over the list, so that a problem with one more tensor
// is a list with one more entry.
#pragma once

#include "hocket/Manifest/Expression.h"
#include "hocket/Runtime/Device.h"
#include "hocket/Support/ElementType.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::manifest {

enum class TensorRole { Input, Output };

/// A dimension around the rows of a tensor.
struct TensorDimension {
  std::string name;         ///< as messages call it: "batch"
  std::string variable;     ///< of manifests, its stride: "q_stride_b"
  int64_t extent = 1;       ///< not negative
  int64_t stride = 0;       ///< elements
  int64_t tile = 1;         ///< how many of it kernels may treat as one tile, below 2 GiB
};

/// What the numbers (i32) of a tensor may be that says where a kernel finds things.
struct NumberRange {
  int64_t least = 0, most = 0;
  bool ascending = false; ///< none is below the one before it in its row
  std::string meaning;    ///< of a number: "a page of 'k' and 'v'"
};

/// Rows of contiguous elements, with dimensions around them. Products that 64 bits do not hold
/// saturate, so that a tensor that `validate` has not seen can be asked, too.
struct TensorSpec {
  std::string name; ///< "q": of its buffer, of the variable with its address, in messages
  TensorRole role = TensorRole::Input;
  ElementType type = ElementType::BF16;
  int64_t rowElements = 1;                 ///< contiguous
  std::vector<TensorDimension> dimensions; ///< in the order of dense arrays on the host
  bool wanted = true; ///< an optional output that nobody wants has no buffer, but still variables
  /// Whether the strides are the caller's to choose; otherwise they follow from the extents.
  bool strided = true;
  /// At most one dimension then; no range: any numbers.
  std::optional<NumberRange> numbers = std::nullopt;
  /// Of rows of a record each: what their numbers may be, column by column, from row 1 on.
  std::vector<NumberRange> columns = {};

  int64_t rows() const;
  int64_t elements() const;
  int64_t rowBytes() const;
  /// Bytes from the first to behind the last element.
  uint64_t spanBytes() const;
  /// Bytes that a buffer must have: `spanBytes`, or 0 if it is not wanted.
  uint64_t bufferBytes() const { return wanted ? spanBytes() : 0; }
  /// Byte offsets of the rows, in the order of `dimensions`; of a valid tensor.
  std::vector<uint64_t> rowOffsets() const;
};

/// Device addresses by the names of tensors; "workspace" is one.
using Addresses = std::map<std::string, uint64_t, std::less<>>;

/// The name under which kernels get memory for partial results.
inline constexpr std::string_view workspaceName = "workspace";

/// Product and sum of values that are not negative, INT64_MAX where 64 bits do not hold them.
int64_t saturatingMultiply(int64_t a, int64_t b);
int64_t saturatingAdd(int64_t a, int64_t b);

/// Checks what no kernel takes: a negative stride, too many rows, a span or a tile that offsets do
/// not reach, rows of an output that overlap. InvalidInput; the message names tensor and dimension.
Status validate(const TensorSpec &tensor);

/// Adds the strides and spans ("q_stride_b", "q_bytes") of `tensors`.
void addVariables(Variables &variables, const std::vector<TensorSpec> &tensors);
/// Adds an address for each of `tensors`, and one for the workspace: 0 where `addresses` has none.
void addAddresses(Variables &variables, const std::vector<TensorSpec> &tensors,
                  const Addresses &addresses);

/// The lists among `tensors` whose numbers have a range, for those of `addresses`.
std::vector<runtime::NumberList> numberLists(const std::vector<TensorSpec> &tensors, const Addresses &addresses);
/// Which tensor stands for which: the name that a kernel knows, and that of the other one.
using Substitutes = std::map<std::string, std::string, std::less<>>;
/// `variables`, those of each tensor of `instead` (address, strides, bytes) being those of the other.
Variables substitute(const Variables &variables, const Substitutes &instead);

} // namespace hocket::manifest
