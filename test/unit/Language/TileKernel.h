// A kernel of the tile dialect, compiled from text and run on the simulator, checked, with tensors
// in host memory: what the tests of the language share.
#pragma once

#include "hocket/Manifest/Manifest.h"
#include "hocket/Runtime/Device.h"

#include <cstring>
#include <string>
#include <vector>

namespace hocket::language {

/// Values of a tensor as doubles, and how they lie in memory.
struct Tensor {
  std::string name;
  std::string type; ///< "bf16", "f16", "f32", "i32", "i8"
  std::vector<double> values;
  /// Where value i lies, in elements; left out: one after the other.
  std::vector<uint64_t> places = {};

  uint64_t placeOf(size_t index) const { return places.empty() ? index : places[index]; }
};

uint64_t elementBytes(const std::string &type);
/// `value` as an element of `type` holds it.
double rounded(const std::string &type, double value);

class TileKernel {
public:
  /// Compiles `text`, of one kernel, for `target`. A failure is the test's.
  explicit TileKernel(const std::string &text, const std::string &target = "gfx950");

  bool valid() const { return manifest.has_value(); }
  /// Launches it with each of `tensors` in memory of its own, which holds nothing that it can read
  /// by accident. Checked execution (but not of tensors of gigabytes, for which it takes minutes)
  /// must find nothing, in each of `interleavings` orders of waves. Tensors hold what is there
  /// afterwards.
  void run(std::vector<Tensor *> tensors, manifest::Variables variables,
           unsigned interleavings = 1);

private:
  std::string target, codeObject;
  std::optional<manifest::Manifest> manifest;
};

/// What `compile` says of `text`.
std::string errorOf(const std::string &text, const std::string &target = "gfx950");

/// Small numbers that every element type holds exactly, the same for the same seed.
std::vector<double> integers(size_t count, uint64_t seed, int64_t range = 7);
/// Standard normal numbers, rounded to `type`.
std::vector<double> normal(const std::string &type, size_t count, uint64_t seed);

} // namespace hocket::language
