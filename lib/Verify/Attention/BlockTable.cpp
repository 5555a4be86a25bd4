// What block lists say of each block.
#include "Verify/Attention/BlockTable.h"

using namespace hocket;
using namespace hocket::attention;

static int64_t divideCeil(int64_t value, int64_t by) { return (value + by - 1) / by; }

Status attention::takeBlockLists(const ForwardProblem &problem, const MakeBlockLists &make, ForwardInputs &inputs) {
  if (!make || !problem.blocks.any())
    return Status::success();
  Result<BlockLists> lists = make(problem, inputs);
  if (!lists.ok())
    return lists.error();
  if (Status status = validate(*lists, problem); !status.ok())
    return status;
  setBlockLists(*lists, inputs);
  return Status::success();
}

BlockLists attention::listsOf(const ForwardProblem &problem, const ForwardInputs &inputs) {
  BlockLists lists;
  lists.rows = divideCeil(problem.seqQ, problem.blocks.queries);
  lists.columns = divideCeil(problem.seqKv, problem.blocks.keys);
  manifest::TensorSpec tensor = problem.tensor("kv_num_blocks");
  lists.batch = tensor.dimensions[0].extent, lists.heads = tensor.dimensions[1].extent;
  auto copy = [&](const char *name, std::vector<int32_t> &to) {
    if (auto found = inputs.captured.find(name); found != inputs.captured.end())
      to.assign(found->second.begin(), found->second.end());
  };
  copy("kv_num_blocks", lists.counts), copy("kv_indices", lists.indices);
  copy("full_kv_num_blocks", lists.fullCounts), copy("full_kv_indices", lists.fullIndices);
  return lists;
}

BlockTable::BlockTable(const ForwardProblem &problem, const ForwardInputs &inputs) {
  if (!problem.blocks.any())
    return;
  lists = listsOf(problem, inputs);
  kinds = lists.table();
}

std::span<const BlockKind> BlockTable::of(int64_t batch, int64_t head) const {
  if (kinds.empty())
    return {};
  int64_t group = (lists.batch == 1 ? 0 : batch) * lists.heads + (lists.heads == 1 ? 0 : head);
  auto size = static_cast<size_t>(lists.rows * lists.columns);
  return std::span(kinds).subspan(static_cast<size_t>(group) * size, size);
}
