// What the numbers of a head's keys or values count, on the host: a number for all, for blocks of keys, or for each.
#pragma once

#include "Verify/Attention/ScoreRules.h"
#include "hocket/Attention/ForwardProblem.h"

#include <span>
#include <string>
#include <vector>

namespace hocket::attention {

class KeyFactors {
public:
  KeyFactors() = default; ///< 1
  /// Those of the tensor `name` that KV head `kvHead` of sequence `sequence` has, one for each `size` keys; 0: one for all.
  /// `captured` has the problem's tensors.
  KeyFactors(const ForwardProblem &problem, const CapturedNumbers &captured, const std::string &name, int64_t size,
             int64_t sequence, int64_t kvHead);
  /// Of key `key` of the sequence.
  double of(int64_t key) const;

private:
  std::vector<double> ofPages; ///< one by one, of keys in pages
  std::span<const double> numbers;
  int64_t size = 0;
};

} // namespace hocket::attention
