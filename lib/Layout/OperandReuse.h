// Reusing an accumulator as the next product's operand, with no data moved between lanes.
//
// Attention computes S^T = K Q^T, so the accumulator of the first product has the key index in its
// rows and the query in its columns: lane l holds query l % 32 and, for that query, the keys
// 8*(r/4) + 4*(l/32) + r%4. The second product wants P as an operand whose lane l holds query l %
// 32 and, for it, k = 8*(l/32) + e. Same queries in the same lanes, only the *keys* are in another
// order. But a sum over keys does not care about order: call "key number k" whatever key sits where
// the operand expects k, and let the other operand (V) be read in that same order. For 32x32 shapes
// the order swaps bits 2 and 3 of the key. Here it is computed for any pair of layouts, and refused
// where no order exists.
#pragma once

#include "Layout/LinearLayout.h"

namespace hocket {

/// Which dimensions of accumulator and operand correspond.
struct ReuseDims {
  std::string_view accumulatorSummed =
      dims::Row; ///< the accumulator's index that is summed over next
  std::string_view accumulatorKept = dims::Col;
  std::string_view operandSummed = dims::K;
  std::string_view operandKept = dims::Col; ///< dims::Col for operand B, dims::Row for operand A
};

/// The order in which the summed index must be taken: k -> key, a bijection, such that for every
/// (register, lane) accumulator.summed = order(operand.summed) and accumulator.kept = operand.kept.
///
/// `accumulator` and `operand` map (register, lane) of equal sizes; register i of the operand is
/// accumulator register i converted. The result has input "k" and output "key" and is checked
/// against both layouts. Errors name what differs when a lane would need another lane's data.
Result<LinearLayout> accumulatorAsOperand(const LinearLayout &accumulator,
                                          const LinearLayout &operand, const ReuseDims &names = {});

/// `layout` with its dimension `summed` passed through `order`: the operand that is read in that
/// order, in terms of true keys. V's operand layout (register, lane) -> (k, col) becomes (register,
/// lane) -> (key as `summed`, col).
Result<LinearLayout> permuteOutput(const LinearLayout &layout, std::string_view summed,
                                   const LinearLayout &order);

} // namespace hocket
