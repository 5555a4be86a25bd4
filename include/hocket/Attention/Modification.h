// What changes the scores of an attention, or hides keys: functions of the `attn` dialect, as text, and
// what they take from the problem.
//
// Those that Hocket ships are kernels/mods; `hocket/Pipelines/Modifications.h` reads them, and one's own.
#pragma once

#include "hocket/Support/ElementType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::attention {

/// A tensor that a modification reads.
struct CapturedTensor {
  std::string name;
  ElementType type = ElementType::F32; ///< i1 is i8 in memory
  /// Expressions over the problem's variables (docs/Manifest.md), one for each dimension; the last is
  /// contiguous. A tensor may have an extent of 1 instead along any dimension but the last.
  std::vector<std::string> sizes;
  bool operator==(const CapturedTensor &) const = default;
};

/// What a modification asks of the problem's numbers.
struct NumberRule {
  std::string condition; ///< an expression over the problem's variables; holds if it is not 0
  std::string expected;  ///< what is wanted instead: "keys from 0, or -1 for no limit"
  bool operator==(const NumberRule &) const = default;
};

struct Modification {
  std::string name;    ///< its symbol
  bool isMask = false; ///< an `attn.mask_mod`, or an `attn.score_mod`
  std::string text;    ///< the op, as the compiler prints it
  std::vector<CapturedTensor> tensors;
  /// Expressions of the numbers that it takes; `ForwardProblem::numbers` has what is no variable otherwise.
  std::vector<std::string> numbers;
  std::vector<NumberRule> rules;
  bool operator==(const Modification &) const = default;
};

} // namespace hocket::attention
