// Which blocks of keys a block of queries sees, as lists: PyTorch's BlockMask.
//
// Lists are data of a launch, the sizes of their blocks part of what a kernel is compiled for. They serve masks that no
// analysis understands, and any pattern of blocks without a mask.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace hocket::attention {

struct ForwardProblem;

/// Queries and keys of a block; 0: there are no lists.
struct BlockSizes {
  int64_t queries = 0, keys = 0;

  bool any() const { return queries != 0 || keys != 0; }
  bool operator==(const BlockSizes &) const = default;
};

/// What masks say of a block: they hide all of it, count in it, or hide nothing.
enum class BlockKind { Hidden, Partial, Full };

/// The tensors of a launch, int32: "kv_num_blocks" [batch, heads, rows], how many entries of "kv_indices"
/// [batch, heads, rows, columns] count; these are the numbers of partial blocks of keys. The same of full ones,
/// "full_kv_num_blocks" and "full_kv_indices", or nothing.
struct BlockLists {
  int64_t batch = 1, heads = 1; ///< 1: the same for all
  int64_t rows = 0, columns = 0;  ///< blocks of queries and of keys
  std::vector<int32_t> counts, indices, fullCounts, fullIndices;

  bool hasFull() const { return !fullCounts.empty(); }
  /// The four as bytes, by the name of the tensor; nothing for those that there are not.
  std::vector<std::pair<std::string_view, std::span<const std::byte>>> tensors() const;
  /// The kind of each block, [batch, heads, rows, columns]. Of lists that `validate` accepts.
  std::vector<BlockKind> table() const;
};

/// For each block of keys the blocks of queries that list it, ascending: `rows` are blocks of keys then, and the tensors
/// are "q_num_blocks" and so on. Of lists that `validate` accepts; what no count reaches is 0.
BlockLists transpose(const BlockLists &lists);

/// Whether a tensor of that name is one of the four.
bool isBlockList(std::string_view tensor);

/// Lists of a table [batch, heads, rows, columns].
BlockLists listBlocks(int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                      std::span<const BlockKind> table);

/// Whether a key is seen.
using KeyPredicate = std::function<bool(int64_t batch, int64_t head, int64_t query, int64_t key)>;

/// The lists of blocks of the sizes that `problem.blocks` says, by a look at each element: rows of blocks without
/// a key, and blocks that end beyond the last query or key, included.
BlockLists makeBlockLists(const ForwardProblem &problem, const KeyPredicate &sees);

/// Whether the lists are those of a problem. InvalidInput names the tensor, the entry and what is wrong with it:
/// extents, a count that is negative or too large, an index out of range, a block that is listed twice.
Status validate(const BlockLists &lists, const ForwardProblem &problem);

} // namespace hocket::attention
