// The rows of an attention problem on the host, numbered: by sequence, head, and position.
//
// Sequences may have lengths of their own, some of them 0; rows that no sequence has do not exist on the host.
// For dense tensors the numbers are those of [batch, head, sequence] arrays.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::attention {

class RowNumbers {
public:
  explicit RowNumbers(const ForwardProblem &problem);

  struct Place {
    int64_t sequence, head, position;
  };
  /// Rows of Q, O and LSE, and of K and V.
  int64_t queries() const { return firstQueries.back(); }
  int64_t keys() const { return firstKeys.back(); }
  /// Where row `row` of Q stands.
  Place query(int64_t row) const;
  int64_t firstQuery(int64_t sequence, int64_t head) const {
    return firstQueries[sequence] + head * lengths[sequence].q;
  }
  int64_t firstKey(int64_t sequence, int64_t kvHead) const {
    return firstKeys[sequence] + kvHead * lengths[sequence].kv;
  }
  const Lengths &of(int64_t sequence) const { return lengths[sequence]; }
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }

  /// Byte offsets of the rows of `tensor` ("q", "k", "v", "o", or "lse", whose rows are one number each),
  /// in the order of their numbers.
  std::vector<uint64_t> offsets(const manifest::TensorSpec &tensor) const;

private:
  std::vector<Lengths> lengths, firstRows; ///< of each sequence; in packed tensors
  std::vector<int64_t> firstQueries, firstKeys; ///< numbers of each sequence's first row, and the end
  SequenceLists lists;
  int64_t heads, kvHeads;
};

} // namespace hocket::attention
