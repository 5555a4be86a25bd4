// Seeded samples of rows.
#include "Verify/Random.h"

#include <algorithm>
#include <random>

using namespace hocket;

std::vector<int64_t> verify::addSample(std::vector<int64_t> rows, int64_t total, int64_t limit,
                                       uint64_t seed) {
  int64_t stretches = limit - static_cast<int64_t>(rows.size());
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < stretches; ++i) {
    auto bound = [&](int64_t n) {
      return static_cast<int64_t>(static_cast<__int128>(total) * n / stretches);
    };
    int64_t begin = bound(i), length = std::max<int64_t>(1, bound(i + 1) - begin);
    rows.push_back(begin + static_cast<int64_t>(random() % static_cast<uint64_t>(length)));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}
