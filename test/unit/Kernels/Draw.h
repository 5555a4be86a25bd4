// What random tests draw, from a seed that they print.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>

namespace hocket {

class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}
  /// From [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  }
  bool oneIn(int64_t chances) { return between(1, chances) == 1; }
  template <typename T> T of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  std::mt19937_64 random;
};

/// The number in an environment variable: how many problems to draw, or from which seed on.
inline uint64_t fromEnvironment(const char *name, uint64_t fallback) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

/// How many orders of the waves to run each random problem in.
inline unsigned interleavingsWanted() {
  return static_cast<unsigned>(fromEnvironment("HOCKET_TEST_INTERLEAVINGS", 2));
}

} // namespace hocket
