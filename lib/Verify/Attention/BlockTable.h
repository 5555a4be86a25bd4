// What block lists say of each block, for references.
#pragma once

#include "Verify/Attention/Data.h"
#include "hocket/Attention/BlockLists.h"

#include <functional>
#include <span>
#include <vector>

namespace hocket::attention {

/// Makes the lists of a problem with blocks, from what its masks read.
using MakeBlockLists = std::function<Result<BlockLists>(const ForwardProblem &problem, const ForwardInputs &inputs)>;

/// Gives `inputs` the lists that `make` makes, if it is there, else leaves lists of random blocks. Errors: those of
/// `make` and of `validate`.
Status takeBlockLists(const ForwardProblem &problem, const MakeBlockLists &make, ForwardInputs &inputs);

/// The lists among `inputs`, which must be those of a problem with blocks.
BlockLists listsOf(const ForwardProblem &problem, const ForwardInputs &inputs);

/// The kinds of all blocks, of what lists there are.
class BlockTable {
public:
  BlockTable() = default;
  BlockTable(const ForwardProblem &problem, const ForwardInputs &inputs);

  /// Of one head; empty without lists.
  std::span<const BlockKind> of(int64_t batch, int64_t head) const;

private:
  BlockLists lists;
  std::vector<BlockKind> kinds;
};

} // namespace hocket::attention
