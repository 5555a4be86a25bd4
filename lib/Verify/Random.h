// Random numbers by position: every one is a function of (seed, stream, index), so that order and
// number of threads do not matter.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace hocket::verify {

/// SplitMix64's finaliser: a bijection whose output bits depend on all input bits.
inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// One stream of numbers.
class Generator {
public:
  Generator(uint64_t seed, uint64_t stream) : key(mix(seed + 0x9e3779b97f4a7c15 * (stream + 1))) {}
  uint64_t bits(uint64_t index) const { return mix(key + 0x9e3779b97f4a7c15 * (index + 1)); }
  /// Two independent standard normal numbers (Box-Muller).
  void normalPair(uint64_t index, double &a, double &b) const {
    uint64_t word = bits(index);
    double u = (static_cast<double>(word >> 40) + 0.5) * 0x1p-24;
    double angle = 2 * std::numbers::pi * static_cast<double>(word & 0xffffffff) * 0x1p-32;
    double radius = std::sqrt(-2 * std::log(u));
    a = radius * std::cos(angle);
    b = radius * std::sin(angle);
  }
  double sign(uint64_t index) const { return bits(index) & 1 ? 1 : -1; }

private:
  uint64_t key;
};

/// `rows` and, up to `limit` of them, one seeded row from each of equal stretches of `total` rows;
/// sorted, each once.
std::vector<int64_t> addSample(std::vector<int64_t> rows, int64_t total, int64_t limit,
                               uint64_t seed);

} // namespace hocket::verify
