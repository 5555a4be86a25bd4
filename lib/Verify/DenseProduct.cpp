// c += a b in double, for the host's best vector instructions: the loop is written once on a
// generic vector type and compiled once a target; the first call chooses.
#include "Verify/DenseProduct.h"

using namespace hocket;
using namespace hocket::verify;

namespace {
typedef double Vector __attribute__((vector_size(64), aligned(8)));
constexpr int64_t lanes = 8;
using Function = void (*)(int64_t, int64_t, int64_t, const double *, int64_t, const double *,
                          int64_t, double *, int64_t);
} // namespace

/// `Columns` vectors of four rows stay in registers over the whole depth.
template <int Columns>
__attribute__((always_inline)) static inline void
product(int64_t rows, int64_t columns, int64_t depth, const double *a, int64_t lda, const double *b,
        int64_t ldb, double *c, int64_t ldc) {
  for (int64_t n = 0; n < columns; n += Columns * lanes) {
    for (int64_t r = 0; r < rows; r += kernelRows) {
      Vector sum[kernelRows][Columns];
      for (int64_t i = 0; i < kernelRows; ++i)
        for (int v = 0; v < Columns; ++v)
          sum[i][v] = *reinterpret_cast<const Vector *>(c + (r + i) * ldc + n + v * lanes);
      for (int64_t k = 0; k < depth; ++k) {
        Vector right[Columns];
        for (int v = 0; v < Columns; ++v)
          right[v] = *reinterpret_cast<const Vector *>(b + k * ldb + n + v * lanes);
        for (int64_t i = 0; i < kernelRows; ++i) {
          double left = a[(r + i) * lda + k];
          for (int v = 0; v < Columns; ++v)
            sum[i][v] += left * right[v];
        }
      }
      for (int64_t i = 0; i < kernelRows; ++i)
        for (int v = 0; v < Columns; ++v)
          *reinterpret_cast<Vector *>(c + (r + i) * ldc + n + v * lanes) = sum[i][v];
    }
  }
}

static void baseline(int64_t rows, int64_t columns, int64_t depth, const double *a, int64_t lda,
                     const double *b, int64_t ldb, double *c, int64_t ldc) {
  product<1>(rows, columns, depth, a, lda, b, ldb, c, ldc);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void avx2(int64_t rows, int64_t columns, int64_t depth,
                                                 const double *a, int64_t lda, const double *b,
                                                 int64_t ldb, double *c, int64_t ldc) {
  product<1>(rows, columns, depth, a, lda, b, ldb, c, ldc);
}

__attribute__((target("avx512f"))) static void avx512(int64_t rows, int64_t columns, int64_t depth,
                                                      const double *a, int64_t lda, const double *b,
                                                      int64_t ldb, double *c, int64_t ldc) {
  product<2>(rows, columns, depth, a, lda, b, ldb, c, ldc);
}

static Function choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return avx512;
  return __builtin_cpu_supports("avx2") ? avx2 : baseline;
}
#else
static Function choose() { return baseline; }
#endif

void verify::multiplyAccumulate(int64_t rows, int64_t columns, int64_t depth, const double *a,
                                   int64_t lda, const double *b, int64_t ldb, double *c,
                                   int64_t ldc) {
  static const Function function = choose();
  function(rows, columns, depth, a, lda, b, ldb, c, ldc);
}
