// Sizes of tensors, and the rules that hold for every one. What passes `validate` can be computed
// with anywhere else without checks for overflow.
#include "hocket/Manifest/Tensors.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::manifest;

namespace {
/// Rows stay below what a host can list, bytes below what addresses have bits for.
constexpr int64_t kMaxRows = int64_t(1) << 34;
constexpr int64_t kMaxSpanBytes = int64_t(1) << 46;
/// Kernels reach the elements of a tile through signed offsets of 32 bits.
constexpr int64_t kMaxTileBytes = int64_t(1) << 31;
} // namespace

int64_t manifest::saturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t manifest::saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t TensorSpec::rows() const {
  int64_t product = 1;
  for (const TensorDimension &dimension : dimensions)
    product = saturatingMultiply(product, dimension.extent);
  return product;
}

int64_t TensorSpec::elements() const { return saturatingMultiply(rows(), rowElements); }

int64_t TensorSpec::rowBytes() const { return saturatingMultiply(rowElements, bytesOf(type)); }

uint64_t TensorSpec::spanBytes() const {
  int64_t elements = rowElements;
  for (const TensorDimension &dimension : dimensions)
    elements =
        saturatingAdd(elements, saturatingMultiply(dimension.extent - 1, dimension.stride));
  return static_cast<uint64_t>(saturatingMultiply(elements, bytesOf(type)));
}

std::vector<uint64_t> TensorSpec::rowOffsets() const {
  std::vector<uint64_t> offsets = {0};
  for (const TensorDimension &dimension : dimensions) {
    std::vector<uint64_t> inner;
    inner.reserve(offsets.size() * static_cast<size_t>(dimension.extent));
    for (uint64_t offset : offsets)
      for (int64_t i = 0; i != dimension.extent; ++i)
        inner.push_back(offset + static_cast<uint64_t>(i * dimension.stride * bytesOf(type)));
    offsets = std::move(inner);
  }
  return offsets;
}

static Status checkStrides(const TensorSpec &tensor) {
  for (const TensorDimension &dimension : tensor.dimensions)
    if (dimension.stride < 0)
      return invalidInput("the " + dimension.name + " stride of '" + tensor.name + "' is " +
                          std::to_string(dimension.stride) +
                          ", negative strides are not supported");
  if (tensor.rows() > kMaxRows)
    return invalidInput("tensor '" + tensor.name + "' has more than " + std::to_string(kMaxRows) +
                        " rows; use a smaller batch, heads or sequence");
  if (tensor.spanBytes() > uint64_t(kMaxSpanBytes))
    return invalidInput("tensor '" + tensor.name + "' spans more than " +
                        std::to_string(kMaxSpanBytes) + " bytes; use smaller strides");
  return Status::success();
}

static Status checkTiles(const TensorSpec &tensor) {
  for (const TensorDimension &dimension : tensor.dimensions) {
    int64_t rows = std::min(dimension.extent, dimension.tile);
    if (rows <= 1)
      continue;
    int64_t bytes = bytesOf(tensor.type) * ((rows - 1) * dimension.stride + tensor.rowElements);
    if (bytes >= kMaxTileBytes)
      return invalidInput("the " + dimension.name + " stride of '" + tensor.name + "' is " +
                          std::to_string(dimension.stride) + " elements, a tile of " +
                          std::to_string(rows) + " rows then spans " + std::to_string(bytes) +
                          " bytes; it must stay below " + std::to_string(kMaxTileBytes));
  }
  return Status::success();
}

/// Sorted by stride, each dimension must step over all that the smaller ones cover; strides that
/// interleave without overlap are refused too.
static Status checkOverlap(const TensorSpec &tensor) {
  std::vector<TensorDimension> dimensions = tensor.dimensions;
  std::sort(dimensions.begin(), dimensions.end(), [](const auto &a, const auto &b) {
    return std::pair(a.stride, a.extent) < std::pair(b.stride, b.extent);
  });
  int64_t covered = tensor.rowElements;
  for (const TensorDimension &dimension : dimensions) {
    if (dimension.extent == 1)
      continue;
    if (dimension.stride < covered)
      return invalidInput("the strides of '" + tensor.name +
                          "' make its rows overlap: a stride of " +
                          std::to_string(dimension.stride) + " elements steps over " +
                          std::to_string(covered) + "; use larger strides");
    covered += (dimension.extent - 1) * dimension.stride;
  }
  return Status::success();
}

Status manifest::validate(const TensorSpec &tensor) {
  if (Status status = checkStrides(tensor); !status.ok())
    return status;
  if (Status status = checkTiles(tensor); !status.ok())
    return status;
  return tensor.role == TensorRole::Output ? checkOverlap(tensor) : Status::success();
}

void manifest::addVariables(Variables &variables, const std::vector<TensorSpec> &tensors) {
  for (const TensorSpec &tensor : tensors) {
    for (const TensorDimension &dimension : tensor.dimensions)
      variables[dimension.variable] = Value::integer(dimension.stride);
    variables[tensor.name + "_type"] = Value::integer(static_cast<int64_t>(tensor.type));
    variables[tensor.name + "_bytes"] = Value::integer(static_cast<int64_t>(tensor.spanBytes()));
  }
}

void manifest::addAddresses(Variables &variables, const std::vector<TensorSpec> &tensors,
                            const Addresses &addresses) {
  auto add = [&](std::string_view name) {
    auto found = addresses.find(name);
    uint64_t address = found == addresses.end() ? 0 : found->second;
    variables[std::string(name)] = Value::integer(static_cast<int64_t>(address));
  };
  for (const TensorSpec &tensor : tensors)
    add(tensor.name);
  add(workspaceName);
}

std::vector<runtime::NumberList> manifest::numberLists(const std::vector<TensorSpec> &tensors,
                                                       const Addresses &addresses) {
  std::vector<runtime::NumberList> lists;
  for (const TensorSpec &tensor : tensors) {
    auto address = addresses.find(tensor.name);
    if (address == addresses.end())
      continue;
    for (size_t column = 0; column != tensor.columns.size(); ++column) {
      const NumberRange &range = tensor.columns[column];
      const auto stride = static_cast<uint64_t>(tensor.dimensions.front().stride);
      lists.push_back({tensor.name, address->second + (stride + column) * sizeof(int32_t),
                       static_cast<uint64_t>(tensor.rows() - 1), 1, stride, range.least, range.most, range.ascending,
                       range.meaning});
    }
    if (!tensor.numbers)
      continue;
    const NumberRange &range = *tensor.numbers;
    bool hasRows = !tensor.dimensions.empty();
    lists.push_back({tensor.name, address->second, static_cast<uint64_t>(tensor.rows()),
                     static_cast<uint64_t>(tensor.rowElements),
                     hasRows ? static_cast<uint64_t>(tensor.dimensions.front().stride) : 0, range.least, range.most,
                     range.ascending, range.meaning});
  }
  return lists;
}

Variables manifest::substitute(const Variables &variables, const Substitutes &instead) {
  Variables result = variables;
  for (const auto &[tensor, other] : instead)
    for (const auto &[name, value] : variables)
      if (name == other || name.starts_with(other + "_stride_") || name == other + "_bytes")
        result.insert_or_assign(tensor + name.substr(other.size()), value);
  return result;
}
