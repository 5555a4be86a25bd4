// Block lists.
#include "hocket/Attention/BlockLists.h"

#include "hocket/Attention/ForwardProblem.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

static int64_t divideCeil(int64_t a, int64_t b) { return a / b + (a % b != 0); }

std::vector<std::pair<std::string_view, std::span<const std::byte>>> BlockLists::tensors() const {
  std::vector<std::pair<std::string_view, std::span<const std::byte>>> list;
  for (auto &[name, numbers] : {std::pair<std::string_view, const std::vector<int32_t> *>("kv_num_blocks", &counts),
                                {"kv_indices", &indices},
                                {"full_kv_num_blocks", &fullCounts},
                                {"full_kv_indices", &fullIndices}})
    if (!numbers->empty())
      list.emplace_back(name, std::as_bytes(std::span(*numbers)));
  return list;
}

std::vector<BlockKind> BlockLists::table() const {
  std::vector<BlockKind> kinds(static_cast<size_t>(batch * heads * rows * columns));
  auto mark = [&](const std::vector<int32_t> &of, const std::vector<int32_t> &at, BlockKind kind) {
    for (size_t row = 0; row != of.size(); ++row)
      for (int32_t i = 0; i != of[row]; ++i)
        kinds[row * static_cast<size_t>(columns) +
              static_cast<size_t>(at[row * static_cast<size_t>(columns) + static_cast<size_t>(i)])] = kind;
  };
  mark(counts, indices, BlockKind::Partial);
  mark(fullCounts, fullIndices, BlockKind::Full);
  return kinds;
}

BlockLists attention::listBlocks(int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                                 std::span<const BlockKind> table) {
  BlockLists lists{batch, heads, rows, columns, {}, {}, {}, {}};
  auto list = [&](BlockKind kind, std::vector<int32_t> &counts, std::vector<int32_t> &indices) {
    counts.resize(static_cast<size_t>(batch * heads * rows));
    indices.resize(table.size());
    for (size_t row = 0; row != counts.size(); ++row)
      for (int64_t column = 0; column != columns; ++column) {
        size_t first = row * static_cast<size_t>(columns);
        if (table[first + static_cast<size_t>(column)] == kind)
          indices[first + static_cast<size_t>(counts[row]++)] = static_cast<int32_t>(column);
      }
  };
  list(BlockKind::Partial, lists.counts, lists.indices);
  list(BlockKind::Full, lists.fullCounts, lists.fullIndices);
  return lists;
}

BlockLists attention::transpose(const BlockLists &lists) {
  std::vector<BlockKind> kinds = lists.table(), turned(kinds.size());
  auto size = static_cast<size_t>(lists.rows * lists.columns), rows = static_cast<size_t>(lists.rows);
  for (size_t i = 0; i != kinds.size(); ++i) {
    size_t of = i / size * size, row = i % size / static_cast<size_t>(lists.columns);
    turned[of + i % static_cast<size_t>(lists.columns) * rows + row] = kinds[i];
  }
  BlockLists result = listBlocks(lists.batch, lists.heads, lists.columns, lists.rows, turned);
  if (!lists.hasFull())
    result.fullCounts.clear(), result.fullIndices.clear();
  return result;
}

namespace {
/// One problem's predicate, a block at a time.
struct BlockLooker {
  const ForwardProblem &problem;
  const KeyPredicate &sees;

  BlockKind look(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    int64_t firstQuery = row * problem.blocks.queries, firstKey = column * problem.blocks.keys;
    int64_t endQuery = std::min(firstQuery + problem.blocks.queries, problem.seqQ);
    int64_t endKey = std::min(firstKey + problem.blocks.keys, problem.seqKv);
    bool any = false, all = true;
    for (int64_t query = firstQuery; query < endQuery; ++query)
      for (int64_t key = firstKey; key < endKey; ++key) {
        bool seen = sees(batch, head, query, key);
        any |= seen, all &= seen;
        if (any && !all)
          return BlockKind::Partial;
      }
    return any ? BlockKind::Full : BlockKind::Hidden;
  }
};
} // namespace

BlockLists attention::makeBlockLists(const ForwardProblem &problem, const KeyPredicate &sees) {
  int64_t rows = divideCeil(problem.seqQ, problem.blocks.queries);
  int64_t columns = divideCeil(problem.seqKv, problem.blocks.keys);
  std::vector<BlockKind> table;
  BlockLooker looker{problem, sees};
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t head = 0; head != problem.heads; ++head)
      for (int64_t row = 0; row != rows; ++row)
        for (int64_t column = 0; column != columns; ++column)
          table.push_back(looker.look(batch, head, row, column));
  return listBlocks(problem.batch, problem.heads, rows, columns, table);
}

/// "kv_indices[0, 3, 1, 2]": entry `index` of a row.
static std::string place(const BlockLists &lists, std::string_view name, size_t row, int64_t index) {
  auto number = static_cast<int64_t>(row);
  std::string text = std::string(name) + "[" + std::to_string(number / lists.rows / lists.heads) + ", " +
                     std::to_string(number / lists.rows % lists.heads) + ", " +
                     std::to_string(number % lists.rows);
  return text + (index < 0 ? "" : ", " + std::to_string(index)) + "]";
}

/// One of the two pairs of lists; marks in `listed` what it has.
static Status checkPair(const BlockLists &lists, const std::string &prefix, const std::vector<int32_t> &counts,
                        const std::vector<int32_t> &indices, std::vector<bool> &listed) {
  size_t rows = static_cast<size_t>(lists.batch * lists.heads * lists.rows);
  if (counts.size() != rows || indices.size() != listed.size())
    return invalidInput(prefix + "kv_num_blocks and " + prefix + "kv_indices have " + std::to_string(counts.size()) +
                        " and " + std::to_string(indices.size()) + " numbers, expected " + std::to_string(rows) +
                        " and " + std::to_string(listed.size()));
  for (size_t row = 0; row != rows; ++row) {
    if (counts[row] < 0 || counts[row] > lists.columns)
      return invalidInput(place(lists, prefix + "kv_num_blocks", row, -1) + " is " + std::to_string(counts[row]) +
                          ", expected 0 to " + std::to_string(lists.columns) + ", the blocks of keys");
    for (int32_t i = 0; i != counts[row]; ++i) {
      int32_t index = indices[row * static_cast<size_t>(lists.columns) + static_cast<size_t>(i)];
      if (index < 0 || index >= lists.columns)
        return invalidInput(place(lists, prefix + "kv_indices", row, i) + " is " + std::to_string(index) +
                            ", expected a block of keys from 0 to " + std::to_string(lists.columns - 1));
      size_t block = row * static_cast<size_t>(lists.columns) + static_cast<size_t>(index);
      if (listed[block])
        return invalidInput(place(lists, prefix + "kv_indices", row, i) + " lists block " + std::to_string(index) +
                            " for the second time; list each block once, as partial or as full");
      listed[block] = true;
    }
  }
  return Status::success();
}

Status attention::validate(const BlockLists &lists, const ForwardProblem &problem) {
  auto fits = [](int64_t found, int64_t wanted) { return found == 1 || found == wanted; };
  int64_t rows = divideCeil(problem.seqQ, problem.blocks.queries);
  int64_t columns = divideCeil(problem.seqKv, problem.blocks.keys);
  if (!fits(lists.batch, problem.batch) || !fits(lists.heads, problem.heads) || lists.rows != rows ||
      lists.columns != columns)
    return invalidInput("block lists are for a batch of " + std::to_string(lists.batch) + ", " +
                        std::to_string(lists.heads) + " heads and " + std::to_string(lists.rows) + " x " +
                        std::to_string(lists.columns) + " blocks, expected 1 or " + std::to_string(problem.batch) +
                        ", 1 or " + std::to_string(problem.heads) + ", and " + std::to_string(rows) + " x " +
                        std::to_string(columns));
  std::vector<bool> listed(static_cast<size_t>(lists.batch * lists.heads * rows * columns));
  if (Status status = checkPair(lists, "", lists.counts, lists.indices, listed); !status.ok())
    return status;
  if (!lists.hasFull())
    return Status::success();
  if (!problem.fullBlocks &&
      std::any_of(lists.fullCounts.begin(), lists.fullCounts.end(), [](int32_t count) { return count != 0; }))
    return invalidInput("full_kv_num_blocks lists full blocks, which the problem has none of; say that it has some "
                        "(full_blocks), or list them as partial");
  return checkPair(lists, "full_", lists.fullCounts, lists.fullIndices, listed);
}
