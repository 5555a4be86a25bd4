// The rows of an attention problem on the host, numbered: by sequence, head, and position.
//
// Sequences may have lengths of their own, some of them 0; rows that no sequence has do not exist on the host.
// For dense tensors the numbers are those of [batch, head, sequence] arrays.
#pragma once

#include "Verify/DeviceTensor.h"
#include "hocket/Attention/ForwardProblem.h"

#include <cstdint>
#include <string>
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
  int64_t queries() const { return firstQueryOf(sequences()); }
  int64_t keys() const { return firstKeyOf(sequences()); }
  /// Where row `row` of Q stands.
  Place query(int64_t row) const;
  int64_t firstQuery(int64_t sequence, int64_t head) const {
    return firstQueryOf(sequence) + head * of(sequence).q;
  }
  int64_t firstKey(int64_t sequence, int64_t kvHead) const {
    return firstKeyOf(sequence) + kvHead * of(sequence).kv;
  }
  const Lengths &of(int64_t sequence) const { return isDense() ? common : lengths[sequence]; }
  int64_t sequences() const { return batch; }

  /// Whether sequences have rows of the tensor `name`: Q, K, V, O, their gradients, and LSE.
  static bool hasRowsOf(std::string_view name);
  /// `tensors` as they are seen by sequences: with lengths of their own these have parts of LSE's rows, which are
  /// numbers then, one by one.
  static std::vector<manifest::TensorSpec> rowByRow(const ForwardProblem &problem,
                                                    std::vector<manifest::TensorSpec> tensors);
  /// Byte offsets of the rows of a tensor of `rowByRow`, in the order of their numbers.
  std::vector<uint64_t> offsets(const manifest::TensorSpec &tensor) const;
  /// In which pieces they lie.
  verify::RowPieces pieces(const manifest::TensorSpec &tensor) const;

private:
  bool isDense() const { return !lists.any(); }
  /// The number of a sequence's first row; of the number of sequences, the end.
  int64_t firstQueryOf(int64_t sequence) const {
    return isDense() ? sequence * heads * common.q : firstQueries[sequence];
  }
  int64_t firstKeyOf(int64_t sequence) const {
    return isDense() ? sequence * kvHeads * common.kv : firstKeys[sequence];
  }

  /// Where a row of a head's part of a page lies, in elements.
  int64_t placeInPage(const manifest::TensorSpec &tensor, int64_t slot, int64_t stride) const;

  SequenceLists lists;
  PageLayout pageLayout;
  Lengths common; ///< of dense tensors, which need no table
  int64_t batch, heads, kvHeads;
  std::vector<Lengths> lengths, firstRows; ///< of each sequence; in packed tensors
  std::vector<int64_t> firstQueries, firstKeys;
  std::vector<std::vector<int64_t>> pages; ///< of each sequence, where keys are in pages
};

/// An error where the content of a list or table of `problem` is not known: what is judged must be.
Status checkKnown(const ForwardProblem &problem);

} // namespace hocket::attention
