// What an attention forward computes: shapes, types, strides, mask, scale.
//
// O[b,i,h,:] = sum_j softmax_j(scale * Q[b,i,h,:] . K[b,j,h / (heads/kvHeads),:]) V[b,j,...,:],
// over the keys j that query i sees: all, or with `causal` those with j <= i + seqKv - seqQ (bottom
// right). A row that sees no key gives O = 0 and LSE = -inf. LSE is the natural logarithm of the
// sum of exponentials, float32 [batch, heads, seqQ], contiguous.
#pragma once

#include "hocket/Manifest/Expression.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::attention {

/// The element type of Q, K, V and O; all 16 bits.
enum class DataType { BF16, FP16 };
/// "bf16" or "fp16".
std::string_view toString(DataType type);
Result<DataType> parseDataType(std::string_view text);

/// The order of dimensions in memory: batch, sequence, head, dim or batch, head, sequence, dim.
enum class Layout { BSHD, BHSD };
std::string_view toString(Layout layout);
Result<Layout> parseLayout(std::string_view text);

/// Strides of one tensor in elements; the head dimension is contiguous.
struct TensorStrides {
  int64_t batch = 0, sequence = 0, head = 0;
  bool operator==(const TensorStrides &) const = default;
};

/// The extents of one tensor: `sequence` is seqQ or seqKv, `heads` heads or kvHeads.
struct TensorShape {
  int64_t batch = 0, sequence = 0, heads = 0, dim = 0;
  int64_t rows() const { return batch * sequence * heads; }
  int64_t elements() const { return rows() * dim; }
};

/// The four tensors of a forward problem.
enum class TensorName { Q, K, V, O };
/// "q", "k", "v", "o".
std::string_view toString(TensorName tensor);

/// Rows that a kernel may treat as one tile; a tile must span less than 2 GiB.
inline constexpr int64_t queryTileRows = 256;
inline constexpr int64_t keyTileRows = 256;

/// The most slices that keys may be split into: each has a result of its own in the workspace.
inline constexpr int64_t mostSplits = 1024;

struct ForwardProblem {
  DataType dtype = DataType::BF16;
  int64_t batch = 1;
  int64_t heads = 1;   ///< query heads
  int64_t kvHeads = 1; ///< divides heads
  int64_t seqQ = 1;
  int64_t seqKv = 1;
  int64_t headDim = 128;  ///< of Q and K
  int64_t headDimV = 128; ///< of V and O
  bool causal = false;
  std::optional<double> scale; ///< factor on Q K^T; default 1 / sqrt(headDim)
  bool wantLse = false;
  /// Q may be multiplied by the scale and rounded again before the product: faster, and less
  /// accurate (docs/Accuracy.md).
  bool fastScale = false;
  /// A tensor is added to the scores. No kernel does so yet; asking for it is refused by name.
  bool bias = false;
  /// Slices of the keys that workgroups of their own work on (docs/SplitKV.md): 0 as the heuristic
  /// says, 1 for none, more: so many.
  int64_t numSplits = 0;
  Layout layout = Layout::BSHD;
  /// Explicit strides per tensor, instead of those of the dense `layout`.
  std::optional<TensorStrides> strides[4] = {};

  bool isSplit() const { return numSplits > 1; }
  double effectiveScale() const;
  TensorShape shape(TensorName tensor) const;
  TensorStrides stridesOf(TensorName tensor) const;
  /// Bytes from the first to behind the last element of `tensor`.
  uint64_t spanBytes(TensorName tensor) const;
  /// Keys that query `row` sees: 0 to seqKv.
  int64_t visibleKeys(int64_t row) const;
  /// One line that says everything: "bf16 B1 H8/2 Sq1000 Skv1000 D128 causal bshd lse"; strides
  /// ("k=32768,128,4096": batch, sequence, head), scale and splits only where they are given.
  std::string describe() const;
};

/// Checks what no kernel takes: an extent below 1, a head ratio that is not whole, a scale that is
/// not finite, a number of splits out of range, a negative or overflowing stride, rows of O that
/// overlap, a tile of 2 GiB or more. InvalidInput; the message names the field as hocket-run spells
/// it, without dashes.
Status validate(const ForwardProblem &problem);

/// Device addresses of a problem's tensors; `lse` and `workspace` may be 0.
struct ForwardPointers {
  uint64_t q = 0, k = 0, v = 0, o = 0, lse = 0, workspace = 0;
};

/// The variables that a manifest may use (docs/Manifest.md). Without `pointers` those six are
/// absent.
manifest::Variables problemVariables(const ForwardProblem &problem,
                                     const ForwardPointers *pointers = nullptr);

} // namespace hocket::attention
