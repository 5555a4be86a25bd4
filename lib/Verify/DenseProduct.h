// The one hot loop of the reference: a small dense product in double.
#pragma once

#include <cstdint>

namespace hocket::verify {

/// Rows that are computed together, and the multiple that columns are padded to.
inline constexpr int64_t kernelRows = 4;
inline constexpr int64_t kernelColumns = 16;

inline int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// c[r][n] += sum over k of a[r][k] * b[k][n] for r < rows, n < columns, k < depth; all row-major
/// with the given leading dimensions. `rows` is a multiple of kernelRows, `columns` of
/// kernelColumns. Sums run over k in order, without fused operations, so the host's vector width
/// does not change a bit.
void multiplyAccumulate(int64_t rows, int64_t columns, int64_t depth, const double *a, int64_t lda,
                        const double *b, int64_t ldb, double *c, int64_t ldc);

} // namespace hocket::verify
