// Random layouts for property tests. The seed is fixed unless HOCKET_TEST_SEED says otherwise, and
// every failing test prints it.
#pragma once

#include "Layout/LinearLayout.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace hocket::test {

inline uint64_t seed() {
  const char *text = std::getenv("HOCKET_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 0) : 20260118;
}

/// A test with a generator; prints the seed when it fails.
class RandomTest : public ::testing::Test {
protected:
  uint64_t below(uint64_t bound) {
    return std::uniform_int_distribution<uint64_t>(0, bound - 1)(rng);
  }

  BitMatrix matrix(unsigned rows, unsigned columns) {
    std::vector<uint64_t> cols;
    for (unsigned i = 0; i < columns; ++i)
      cols.push_back(rows ? below(uint64_t(1) << rows) : 0);
    return BitMatrix(rows, cols);
  }

  BitMatrix invertible(unsigned bits) {
    for (;;) {
      BitMatrix candidate = matrix(bits, bits);
      if (candidate.isBijective())
        return candidate;
    }
  }

  /// A layout with the given dimensions and random bases.
  LinearLayout layout(const std::vector<LayoutDim> &ins, const std::vector<LayoutDim> &outs) {
    std::vector<InputBases> inputs;
    for (const LayoutDim &in : ins) {
      InputBases bases{in.name, {}};
      for (unsigned bit = 0; bit < in.bits; ++bit) {
        Coordinates image;
        for (const LayoutDim &out : outs)
          image.emplace_back(out.name, below(out.size()));
        bases.bases.push_back(image);
      }
      inputs.push_back(bases);
    }
    Result<LinearLayout> result = LinearLayout::fromBases(inputs, outs);
    EXPECT_TRUE(result.ok());
    return result.ok() ? *result : LinearLayout();
  }

  std::mt19937_64 rng{seed()};
  ::testing::ScopedTrace trace{__FILE__, __LINE__, "HOCKET_TEST_SEED=" + std::to_string(seed())};
};

} // namespace hocket::test
