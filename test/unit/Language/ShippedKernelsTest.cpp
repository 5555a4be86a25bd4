// Kernels of kernels/tile that show the language, against float64: other formulas than attention's
// softmax and one product.
#include "TileKernel.h"

#include "hocket/Runtime/File.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hocket;
using namespace hocket::language;

static manifest::Value number(int64_t value) { return manifest::Value::integer(value); }

static std::string shipped(const std::string &name) {
  Result<std::string> text =
      runtime::readText(std::string(HOCKET_SOURCE_DIR) + "/kernels/tile/" + name + ".mlir");
  EXPECT_TRUE(text.ok());
  return text.ok() ? *text : "";
}

/// Rows of (batch, row, head), each of `columns` with room behind it.
static Tensor heads(const std::string &name, int64_t batch, int64_t rows, int64_t heads,
                    int64_t columns, std::vector<double> values) {
  Tensor tensor{name, "bf16", std::move(values)};
  for (int64_t row = 0; row != batch * rows * heads; ++row)
    for (int64_t column = 0; column != columns; ++column)
      tensor.places.push_back(row * (columns + 8) + column);
  return tensor;
}

static void addStrides(manifest::Variables &variables, const std::string &name, int64_t rows,
                       int64_t heads, int64_t columns) {
  variables[name + "_stride_h"] = number(columns + 8);
  variables[name + "_stride_s"] = number(heads * (columns + 8));
  variables[name + "_stride_b"] = number(rows * heads * (columns + 8));
}

/// Of an output element: the unit roundoff of bf16 (8 significant bits) for it, and for each weight,
/// which is rounded to bf16 for the second product; float32 has little to add.
static double bound(double exact, double magnitude) {
  constexpr double roundoff = 0x1p-8, small = 0x1p-14;
  return (roundoff + small) * magnitude + roundoff * std::abs(exact) + 1e-30;
}

TEST(ShippedKernels, Relu2Attention) {
  TileKernel kernel(shipped("relu2_attention_bf16"));
  ASSERT_TRUE(kernel.valid());
  constexpr int64_t d = 128;
  for (auto [batch, queries, keys, qHeads, kvHeads] :
       {std::tuple(1, 33, 257, 2, 1), std::tuple(2, 300, 64, 2, 2), std::tuple(1, 5, 1, 1, 1),
        std::tuple(1, 16, 400, 1, 1)}) {
    SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
    Tensor q = heads("q", batch, queries, qHeads, d, normal("bf16", batch * queries * qHeads * d, 1));
    Tensor k = heads("k", batch, keys, kvHeads, d, normal("bf16", batch * keys * kvHeads * d, 2));
    Tensor v = heads("v", batch, keys, kvHeads, d, normal("bf16", batch * keys * kvHeads * d, 3));
    Tensor o = heads("o", batch, queries, qHeads, d,
                     std::vector<double>(batch * queries * qHeads * d, 99));
    const double scale = -0.125;
    manifest::Variables variables = {{"batch", number(batch)},     {"seq_q", number(queries)},
                                     {"seq_kv", number(keys)},     {"heads", number(qHeads)},
                                     {"kv_heads", number(kvHeads)}, {"scale", manifest::Value::real(scale)}};
    addStrides(variables, "q", queries, qHeads, d);
    addStrides(variables, "k", keys, kvHeads, d);
    addStrides(variables, "v", keys, kvHeads, d);
    addStrides(variables, "o", queries, qHeads, d);
    kernel.run({&q, &k, &v, &o}, variables, 2);
    for (int64_t b = 0; b != batch; ++b)
      for (int64_t i = 0; i != queries; ++i)
        for (int64_t h = 0; h != qHeads; ++h) {
          int64_t kvHead = h / (qHeads / kvHeads);
          std::vector<double> exact(d), magnitude(d);
          for (int64_t j = 0; j != keys; ++j) {
            double score = 0;
            const double *qRow = &q.values[((b * queries + i) * qHeads + h) * d];
            const double *kRow = &k.values[((b * keys + j) * kvHeads + kvHead) * d];
            for (int64_t e = 0; e != d; ++e)
              score += qRow[e] * kRow[e];
            double positive = std::max(scale * score, 0.0), weight = positive * positive;
            const double *vRow = &v.values[((b * keys + j) * kvHeads + kvHead) * d];
            for (int64_t e = 0; e != d; ++e)
              exact[e] += weight * vRow[e], magnitude[e] += weight * std::abs(vRow[e]);
          }
          for (int64_t e = 0; e != d; ++e)
            ASSERT_NEAR(o.values[((b * queries + i) * qHeads + h) * d + e], exact[e],
                        bound(exact[e], magnitude[e]))
                << "row " << i << ", column " << e;
        }
  }
}

TEST(ShippedKernels, DecayAttention) {
  TileKernel kernel(shipped("decay_attention_bf16"));
  ASSERT_TRUE(kernel.valid());
  constexpr int64_t d = 64;
  for (auto [batch, rows, count] :
       {std::tuple(1, 129, 2), std::tuple(2, 300, 3), std::tuple(1, 1, 1), std::tuple(1, 448, 1)}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    Tensor q = heads("q", batch, rows, count, d, normal("bf16", batch * rows * count * d, 1));
    Tensor k = heads("k", batch, rows, count, d, normal("bf16", batch * rows * count * d, 2));
    Tensor v = heads("v", batch, rows, count, d, normal("bf16", batch * rows * count * d, 3));
    Tensor o = heads("o", batch, rows, count, d, std::vector<double>(batch * rows * count * d, 99));
    Tensor decays{"log2_decay", "f32", {}};
    for (int64_t h = 0; h != count; ++h)
      decays.values.push_back(h == 0 ? -0.03125 : h == 1 ? 0 : -2);
    manifest::Variables variables = {
        {"batch", number(batch)}, {"seq", number(rows)}, {"heads", number(count)}};
    for (const char *name : {"q", "k", "v", "o"})
      addStrides(variables, name, rows, count, d);
    kernel.run({&q, &k, &v, &o, &decays}, variables, 2);
    for (int64_t b = 0; b != batch; ++b)
      for (int64_t i = 0; i != rows; ++i)
        for (int64_t h = 0; h != count; ++h) {
          std::vector<double> exact(d), magnitude(d);
          for (int64_t j = 0; j <= i; ++j) {
            double score = 0;
            const double *qRow = &q.values[((b * rows + i) * count + h) * d];
            const double *kRow = &k.values[((b * rows + j) * count + h) * d];
            for (int64_t e = 0; e != d; ++e)
              score += qRow[e] * kRow[e];
            double weight = score * std::exp2(static_cast<double>(i - j) * decays.values[h]);
            const double *vRow = &v.values[((b * rows + j) * count + h) * d];
            for (int64_t e = 0; e != d; ++e)
              exact[e] += weight * vRow[e], magnitude[e] += std::abs(weight * vRow[e]);
          }
          for (int64_t e = 0; e != d; ++e)
            ASSERT_NEAR(o.values[((b * rows + i) * count + h) * d + e], exact[e],
                        bound(exact[e], magnitude[e]))
                << "row " << i << ", head " << h << ", column " << e;
        }
  }
}

/// Sums of integers are exact in float32, and rounded once.
static double dot(const double *a, const double *b, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i != k; ++i)
    sum += a[i] * b[i];
  return rounded("bf16", sum);
}

static Tensor matrices(const std::string &name, int64_t rows, int64_t columns, int64_t stride,
                       std::vector<double> values) {
  Tensor tensor{name, "bf16", std::move(values)};
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t column = 0; column != columns; ++column)
      tensor.places.push_back(row * stride + column);
  return tensor;
}

static int64_t padded(int64_t columns) { return (columns + 7) / 8 * 8 + 8; }

TEST(ShippedKernels, BatchedProduct) {
  TileKernel kernel(shipped("gemm_batched_bf16"));
  ASSERT_TRUE(kernel.valid());
  for (auto [batch, m, n, k] : {std::tuple(3, 130, 133, 190), std::tuple(2, 7, 9, 1),
                                std::tuple(1, 128, 256, 128), std::tuple(5, 40, 20, 320)}) {
    SCOPED_TRACE(std::to_string(batch) + " of " + std::to_string(m) + " x " + std::to_string(n) +
                 " x " + std::to_string(k));
    Tensor a = matrices("a", batch * m, k, padded(k), integers(batch * m * k, 1));
    Tensor b = matrices("b", batch * n, k, padded(k), integers(batch * n * k, 2));
    Tensor c = matrices("c", batch * m, n, padded(n), std::vector<double>(batch * m * n, 99));
    kernel.run({&a, &b, &c},
               {{"batch", number(batch)}, {"m", number(m)}, {"n", number(n)}, {"k", number(k)},
                {"a_stride", number(padded(k))}, {"a_stride_b", number(m * padded(k))},
                {"b_stride", number(padded(k))}, {"b_stride_b", number(n * padded(k))},
                {"c_stride", number(padded(n))}, {"c_stride_b", number(m * padded(n))}},
               2);
    for (int64_t i = 0; i != batch; ++i)
      for (int64_t row = 0; row != m; ++row)
        for (int64_t column = 0; column != n; ++column)
          ASSERT_EQ(c.values[(i * m + row) * n + column],
                    dot(&a.values[(i * m + row) * k], &b.values[(i * n + column) * k], k))
              << "matrix " << i << ", row " << row << ", column " << column;
  }
}

TEST(ShippedKernels, GroupedProduct) {
  TileKernel kernel(shipped("gemm_grouped_bf16"));
  ASSERT_TRUE(kernel.valid());
  for (auto [sizes, n, k] :
       {std::tuple(std::vector<int64_t>{5, 0, 130, 128, 1}, 133, 65),
        std::tuple(std::vector<int64_t>{0, 0, 3}, 20, 192), std::tuple(std::vector<int64_t>{256}, 128, 64),
        std::tuple(std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1}, 7, 9)}) {
    int64_t groups = static_cast<int64_t>(sizes.size()), m = 0;
    Tensor offsets{"offsets", "i32", {0}};
    for (int64_t size : sizes)
      offsets.values.push_back(static_cast<double>(m += size));
    SCOPED_TRACE(std::to_string(groups) + " groups, " + std::to_string(m) + " rows");
    Tensor a = matrices("a", m, k, padded(k), integers(m * k, 1));
    Tensor b = matrices("b", groups * n, k, padded(k), integers(groups * n * k, 2));
    Tensor c = matrices("c", m, n, padded(n), std::vector<double>(m * n, 99));
    kernel.run({&a, &b, &c, &offsets},
               {{"groups", number(groups)}, {"m", number(m)}, {"n", number(n)}, {"k", number(k)},
                {"a_stride", number(padded(k))}, {"b_stride", number(padded(k))},
                {"b_stride_g", number(n * padded(k))}, {"c_stride", number(padded(n))}},
               2);
    for (int64_t g = 0; g != groups; ++g)
      for (auto row = static_cast<int64_t>(offsets.values[g]); row < offsets.values[g + 1]; ++row)
        for (int64_t column = 0; column != n; ++column)
          ASSERT_EQ(c.values[row * n + column],
                    dot(&a.values[row * k], &b.values[(g * n + column) * k], k))
              << "group " << g << ", row " << row << ", column " << column;
  }
}
