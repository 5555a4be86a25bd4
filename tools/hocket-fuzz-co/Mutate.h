// Makes broken code objects of good ones, reproducibly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket::fuzz {

/// Byte ranges of a code object where a change is likely to be read.
struct Regions {
  struct Range {
    size_t begin = 0, size = 0;
  };
  std::vector<Range> code, descriptors, notes;
};

/// Finds the regions of the ELF file `bytes`; empty ones for what is no such file.
Regions findRegions(const std::vector<std::byte> &bytes);

/// A generator whose numbers depend on nothing but its seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

private:
  uint64_t state;
};

/// `bytes` with one to four changes: flipped bits, copied or random words, cut off ends, other
/// headers and targets, absurd descriptors, random instructions. `what` says which, for reports.
std::vector<std::byte> mutate(const std::vector<std::byte> &bytes, const Regions &regions,
                              Random &random, std::string &what);

} // namespace hocket::fuzz
