// Scales of blocks of Q, K and V on the host, as data is divided by them and references multiply by them.
#pragma once

#include "Verify/Attention/ScoreRules.h"
#include "hocket/Attention/ForwardProblem.h"

#include <span>
#include <string>

namespace hocket::attention {

/// The scales of a head's rows, words of each row from the sequence's first on; of V words of each element and four blocks of
/// rows.
class BlockScales {
public:
  BlockScales() = default; ///< of 1
  /// Those of `tensor`, "q", "k" or "v", of head `head` of sequence `sequence`; `captured` has the problem's tensors.
  BlockScales(const ForwardProblem &problem, const CapturedNumbers &captured, const std::string &tensor,
              int64_t sequence, int64_t head);
  /// Of element `element` of row `row` of the sequence.
  double of(int64_t row, size_t element) const;
  bool any() const { return !numbers.empty(); }

private:
  std::span<const double> numbers;
  int64_t words = 0;
  bool areOfRows = false; ///< of blocks of rows of one element of their heads
};

} // namespace hocket::attention
