// Tensors as numbers of few bits and scales: the problem, and its plan of one or two launches (docs/SmallFloats.md).
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Attention/KernelSource.h"
#include "hocket/Attention/LaunchPlan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// Which numbers share a scale: all; those of a head; of `block` rows of a head; of one row of a head; or of 32 elements
/// of it, whose scale is a power of two (the mx formats).
enum class ScalesPer { Tensor, Head, Block, Token, Mx };
/// "tensor", "head", "block", "token", "mx".
std::string_view toString(ScalesPer per);
Result<ScalesPer> parseScalesPer(std::string_view text);
/// "f8e4m3", "f8e5m2", "i8", "f4e2m1".
Result<ElementType> parseQuantizedType(std::string_view text);

/// x [batch, seq, heads, headDim] becomes values of `to` with x ~ value * scale. A scale is the largest finite number's size
/// among those that share it, over the largest of `to`; 1 where that is 0. Quotients are rounded to the nearest, floats' to
/// even, integers' away from zero, and end at the largest number; a NaN stays one, of integers it is 0. A power of two is
/// the least that keeps all of its block within the type. NaN (255) is that of a block of fp4 with a NaN.
struct QuantizeProblem {
  ElementType from = ElementType::BF16; ///< bf16, f16, f32
  ElementType to = ElementType::F8E4M3; ///< f8e4m3, f8e5m2, i8; per mx also f4e2m1, but no integers
  ScalesPer per = ScalesPer::Tensor;
  int64_t batch = 1, seq = 1, heads = 1, headDim = 128;
  int64_t block = 128;      ///< rows, per block
  int64_t headsOfScale = 1; ///< per head: query heads that share one, those of a KV head
  /// The order of dimensions of values, scales, and, where `strides` says nothing, x.
  Layout layout = Layout::BSHD;
  std::optional<TensorStrides> strides; ///< of x, in elements

  /// Whether scales need a launch before the one that converts.
  bool isShared() const { return per == ScalesPer::Tensor || per == ScalesPer::Head || per == ScalesPer::Block; }
  /// Rows of a head whose largest number is found by one wave, and how many such parts a head has.
  int64_t rowsOfPart() const;
  int64_t parts() const { return (seq + rowsOfPart() - 1) / rowsOfPart(); }

  /// "x"; "values" of x's shape, of fp4 as bytes of two, the first in the lower half; "scale": f32 [1], [batch, heads /
  /// headsOfScale], [batch, heads, parts], or x's shape without elements; of mx bytes of E8M0, x's shape in blocks.
  std::vector<manifest::TensorSpec> tensors() const;
  /// The largest numbers of parts.
  std::vector<manifest::TensorSpec> temporaries() const;
  /// "bf16 B2 S100 H4 D128 bshd to f8e4m3 per head".
  std::string describe() const;
  bool operator==(const QuantizeProblem &) const = default;
};

/// InvalidInput or Unsupported, with the field to blame.
Status validate(const QuantizeProblem &problem);

/// The kernels, in order.
std::vector<DescribedKernel> describeQuantize(const QuantizeProblem &problem, std::string_view architecture);

class QuantizePlan : public LaunchPlan {
public:
  static Result<std::shared_ptr<const QuantizePlan>> make(QuantizeProblem problem, std::vector<PlannedLaunch> launches);
  const QuantizeProblem &problem() const { return description; }

private:
  QuantizePlan(QuantizeProblem problem, std::vector<PlannedLaunch> launches);

  QuantizeProblem description;
};

} // namespace hocket::attention
