// Kernels of kernels/tile that are made of maps and reductions, each against float64 computed here,
// on sizes that cut workgroups and waves, under checked execution.
#include "ValueKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace hocket;
using namespace hocket::test;

static Tensor makeTensor(ElementType type, int64_t rows, int64_t columns, double least, double greatest,
                         uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor = {type, rows, columns, {}, 2};
  for (int64_t i = 0; i != rows * columns; ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    tensor.numbers.push_back(reference::roundTo(type, least + (greatest - least) * unit));
  }
  return tensor;
}

static Tensor unwritten(ElementType type, int64_t rows, int64_t columns) {
  return {type, rows, columns, std::vector<double>(rows * columns, std::nan("")), 2};
}

/// Half a unit in the last place of bf16, which has 8 bits, and what f32 adds to it.
static constexpr double kHalfUlp = 0x1.01p-8;

TEST(ShippedKernels, softmax) {
  for (int64_t m : {1, 6}) {
    Tensor x = makeTensor(ElementType::BF16, m, 4096, -20, 20, 1), y = unwritten(ElementType::BF16, m, 4096);
    if (m > 3)
      x.numbers[3 * 4096 + 77] = 3e38; // one element has it all
    Status status = runShippedKernel("softmax_bf16", {{"x", &x}, {"y", &y}},
                                     {{"m", m}, {"x_stride", 4096}, {"y_stride", 4096}});
    ASSERT_TRUE(status) << status.error().message;
    for (int64_t row = 0; row != m; ++row) {
      const double *numbers = &x.numbers[row * 4096];
      double greatest = *std::max_element(numbers, numbers + 4096), sum = 0;
      for (int64_t i = 0; i != 4096; ++i)
        sum += std::exp(numbers[i] - greatest);
      for (int64_t i = 0; i != 4096; ++i) {
        double expected = std::exp(numbers[i] - greatest) / sum;
        // A score in units of log2 has an error of 2^-24 of its size, up to 20 log2(e) here.
        ASSERT_NEAR(y.numbers[row * 4096 + i], expected, expected * (kHalfUlp + 64 * 0x1p-24) + 0x1p-126)
            << "row " << row << ", column " << i;
      }
    }
  }
}

TEST(ShippedKernels, rmsNorm) {
  constexpr float kEpsilon = 1e-5f;
  for (int64_t m : {1, 11}) {
    Tensor x = makeTensor(ElementType::BF16, m, 4096, -3, 3, 2), y = unwritten(ElementType::BF16, m, 4096);
    Tensor weight = makeTensor(ElementType::BF16, 1, 4096, 0.5, 1.5, 3);
    if (m > 3) // epsilon is all there is
      std::fill_n(x.numbers.begin() + 3 * 4096, 4096, 0.0);
    Status status =
        runShippedKernel("rms_norm_bf16", {{"x", &x}, {"weight", &weight}, {"y", &y}},
                         {{"m", m}, {"x_stride", 4096}, {"y_stride", 4096}, {"epsilon", double(kEpsilon)}});
    ASSERT_TRUE(status) << status.error().message;
    for (int64_t row = 0; row != m; ++row) {
      double squares = 0;
      for (int64_t i = 0; i != 4096; ++i)
        squares += x.numbers[row * 4096 + i] * x.numbers[row * 4096 + i];
      for (int64_t i = 0; i != 4096; ++i) {
        double expected = x.numbers[row * 4096 + i] * weight.numbers[i] / std::sqrt(squares / 4096 + kEpsilon);
        ASSERT_NEAR(y.numbers[row * 4096 + i], expected, std::fabs(expected) * kHalfUlp + 1e-30)
            << "row " << row << ", column " << i;
      }
    }
  }
}

/// `activation` of a product and a bias, plus a residual.
static void checkEndOfProduct(double (*activation)(double), const std::optional<Edit> &edit) {
  struct Size {
    int64_t m, n, k;
  };
  for (Size size : {Size{70, 300, 72}, Size{256, 256, 128}}) {
    auto [m, n, k] = size;
    int64_t width = (n + 7) / 8 * 8;
    Tensor a = makeTensor(ElementType::BF16, m, k, -1, 1, 4), b = makeTensor(ElementType::BF16, n, k, -1, 1, 5);
    Tensor bias = makeTensor(ElementType::BF16, 1, n, -2, 2, 6);
    Tensor residual = makeTensor(ElementType::BF16, m, width, -2, 2, 7), d = unwritten(ElementType::BF16, m, width);
    Status status = runShippedKernel(
        "gemm_bias_gelu_bf16", {{"a", &a}, {"b", &b}, {"bias", &bias}, {"residual", &residual}, {"d", &d}},
        {{"m", m}, {"n", n}, {"k", k}, {"a_stride", k}, {"b_stride", k}, {"residual_stride", width}, {"d_stride", width}},
        "gfx950", edit);
    ASSERT_TRUE(status) << status.error().message;
    for (int64_t i = 0; i != m; ++i)
      for (int64_t j = 0; j != n; ++j) {
        double sum = 0, sizes = 0;
        for (int64_t l = 0; l != k; ++l) {
          sum += a.numbers[i * k + l] * b.numbers[j * k + l];
          sizes += std::fabs(a.numbers[i * k + l] * b.numbers[j * k + l]);
        }
        double x = sum + bias.numbers[j];
        double expected = activation(x) + residual.numbers[i * width + j];
        double bound = 2 * (static_cast<double>(k) + 8) * 0x1p-24 * (sizes + 4) + std::fabs(expected) * kHalfUlp;
        ASSERT_NEAR(d.numbers[i * width + j], expected, bound) << "row " << i << ", column " << j;
      }
  }
}

TEST(ShippedKernels, gemmBiasGelu) {
  checkEndOfProduct([](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, std::nullopt);
}

/// As the kernel's page says.
TEST(ShippedKernels, gemmBiasSilu) {
  checkEndOfProduct([](double x) { return x / (1 + std::exp(-x)); },
                    Edit{"math.erf %scaled", "math.tanh %half_x"});
}

TEST(ShippedKernels, columnSums) {
  struct Size {
    int64_t m, n;
  };
  // Columns that fill the lanes of no wave, those of one, of some, and of all.
  for (auto [m, n] : {Size{5, 1024}, Size{600, 1024}, Size{20, 1}, Size{300, 258}, Size{17, 2501}}) {
    int64_t slices = (m + 255) / 256;
    Tensor x = makeTensor(ElementType::F32, m, n, -1, 1, 8), partial = unwritten(ElementType::F32, slices, n);
    Tensor sums = unwritten(ElementType::F32, 1, n);
    Sizes sizes = {{"m", m}, {"n", n}, {"x_stride", n}};
    Status status = runShippedKernel("column_sums_f32", {{"x", &x}, {"partial", &partial}}, sizes);
    ASSERT_TRUE(status) << status.error().message;
    status = runShippedKernel("column_sums_combine_f32", {{"partial", &partial}, {"sums", &sums}}, sizes);
    ASSERT_TRUE(status) << status.error().message;
    for (int64_t column = 0; column != n; ++column) {
      double sum = 0, all = 0;
      for (int64_t row = 0; row != m; ++row) {
        sum += x.numbers[row * n + column];
        all += std::fabs(x.numbers[row * n + column]);
      }
      ASSERT_NEAR(sums.numbers[column], sum, static_cast<double>(m) * 0x1p-24 * all) << "column " << column;
    }
  }
}
