// What a matrix product computes: C = A B^T, with A of m x k, B of n x k and C of m x n, rows
// contiguous, in one 16-bit type; sums are meant to be accumulated in float32 and rounded once.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Manifest/Expression.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::gemm {

using attention::DataType;

enum class MatrixName { A, B, C };
/// "a", "b", "c".
std::string_view toString(MatrixName matrix);

struct GemmProblem {
  DataType dtype = DataType::BF16;
  int64_t m = 1, n = 1, k = 1;
  /// Elements from one row to the next; by default the row, rounded up to a multiple of 8.
  std::optional<int64_t> strides[3] = {};

  int64_t rows(MatrixName matrix) const { return matrix == MatrixName::B ? n : m; }
  int64_t columns(MatrixName matrix) const { return matrix == MatrixName::C ? n : k; }
  int64_t stride(MatrixName matrix) const;
  /// "bf16 1000x333x65", with the strides that are given ("a=72").
  std::string describe() const;
};

/// Checks what no kernel takes: an extent below 1, a negative or overflowing stride, rows of C that
/// overlap. InvalidInput; the message names the field as hocket-run spells it, without dashes.
Status validate(const GemmProblem &problem);

/// Device addresses of A, B and C.
struct GemmPointers {
  uint64_t a = 0, b = 0, c = 0;
};

/// The variables that a manifest may use (docs/Manifest.md); without `pointers` those are absent.
manifest::Variables problemVariables(const GemmProblem &problem,
                                     const GemmPointers *pointers = nullptr);

} // namespace hocket::gemm
