// Inputs for attention problems: seeded, the same everywhere, rounded to the problem's type.
//
// Each kind aims at one way to be wrong. Every element follows from the seed and its position
// alone, so generation runs on all threads and gives the same bits whatever their number.
#pragma once

#include "Verify/Attention/ScoreRules.h"
#include "Verify/TypedArray.h"
#include "hocket/Attention/ForwardProblem.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace hocket::attention {

enum class DataKind {
  Normal, ///< standard normal Q, K, V
  Equal,  ///< all scores of a row equal: the softmax is uniform
  Rising, ///< every row's maximum grows in every 32 keys, by steps below and above a lazy rescale's
          ///< threshold
  Large,  ///< scores with a standard deviation of 50
  OneHot, ///< each query agrees with one visible key alone: O is a row of V
  Zeros,  ///< all zero
};
std::string_view toString(DataKind kind);
Result<DataKind> parseDataKind(std::string_view text);

/// Q, K and V as dense arrays, each of its type, rows in the order of `RowNumbers` ([batch, head,
/// sequence] of dense tensors), whatever the problem's layout.
struct ForwardInputs {
  verify::TypedArray q, k, v;
  /// What is captured, and the sink: as numbers, and as bytes in the tensor's type.
  CapturedNumbers captured;
  std::map<std::string, std::vector<std::byte>, std::less<>> capturedBytes;
};

/// Generates the inputs of a valid problem on `threads` threads (0: all cores).
ForwardInputs generateInputs(const ForwardProblem &problem, DataKind kind, uint64_t seed,
                             unsigned threads = 0);

/// Which tensors are generated.
using WantedTensors = std::function<bool(const manifest::TensorSpec &)>;

/// The same without Q, K and V: lists of sequences, pages and blocks, and what modifications capture. Without `wanted`
/// all of them; what it leaves out changes nothing else. They are the same whatever the kind of data.
ForwardInputs generateCaptured(const ForwardProblem &problem, uint64_t seed, const WantedTensors &wanted = {});

/// Takes `lists` for those of `inputs`.
void setBlockLists(const BlockLists &lists, ForwardInputs &inputs);

} // namespace hocket::attention
