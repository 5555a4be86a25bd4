// What a matrix product computes: C = A B^T, with A of m x k, B of n x k and C of m x n, rows
// contiguous, in one 16-bit type; sums are meant to be accumulated in float32 and rounded once.
#pragma once

#include "hocket/Manifest/Tensors.h"
#include "hocket/Support/ElementType.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket::gemm {

struct GemmProblem {
  ElementType dtype = ElementType::BF16; ///< 16 bits
  int64_t m = 1, n = 1, k = 1;
  /// Elements from one row to the next, by the names of matrices; by default the row, rounded up to
  /// a multiple of 8.
  std::map<std::string, int64_t, std::less<>> strides;

  /// "a", "b", "c", in this order, each with the dimension of its rows.
  std::vector<manifest::TensorSpec> tensors() const;
  /// "bf16 1000x333x65", with the strides that are given ("a=72").
  std::string describe() const;
};

/// Checks what no kernel takes: an extent below 1, a negative or overflowing stride, rows of C that
/// overlap. InvalidInput; the message names the field as hocket-run spells it, without dashes.
Status validate(const GemmProblem &problem);

/// The variables that a manifest may use (docs/Manifest.md); without `addresses` those of the
/// matrices are absent.
manifest::Variables problemVariables(const GemmProblem &problem,
                                     const manifest::Addresses *addresses = nullptr);

} // namespace hocket::gemm
