// The tensors of an attention as .npy files, so that anyone can judge a result outside.
#pragma once

#include "Verify/Attention/RunForward.h"

namespace hocket::run {

/// Writes every input and output of `problem` to `directory`, which is made if need be: q.npy, k.npy, v.npy, o.npy as
/// [batch, sequence, heads, dim] whatever the layout, lse.npy as [batch, heads, sequence], of packed tensors without the
/// batch, rows that no sequence uses as zeros; what is captured with its own extents, dropout_bytes.npy as [batch, heads,
/// query, key]; bf16 as the 16-bit integers of its bits; and problem.json, which says the rest.
Status saveForward(const std::string &directory, const attention::ForwardProblem &problem,
                   const attention::ForwardInputs &inputs,
                   const attention::ForwardOutputs &outputs);

/// Writes the heads of one tensor, rows in the order of `RowNumbers`, as those of `saveForward` are.
Status saveHeads(const std::string &directory, const attention::ForwardProblem &problem,
                 const manifest::TensorSpec &tensor, std::span<const std::byte> rows);
/// Writes a tensor with its own extents.
Status saveWhole(const std::string &directory, const manifest::TensorSpec &tensor,
                 std::span<const std::byte> bytes);

} // namespace hocket::run
