#include "HostLists.h"

#include "hocket/Attention/BlockLists.h"

#include <algorithm>
#include <map>
#include <string_view>

using namespace hocket;
using namespace hocket::python;
using attention::ForwardProblem;

static std::vector<int32_t> numbersOf(const Tensor &tensor) {
  const auto *numbers = reinterpret_cast<const int32_t *>(tensor.data);
  return {numbers, numbers + tensor.elements()};
}

/// The limit of a length is called by what sets it: a table of pages where the caller gave one.
static void nameRoom(std::string &message, const ForwardProblem &problem, const NamedTensors &tensors) {
  static constexpr std::string_view word = "(seq-kv)";
  size_t at = message.find(word);
  for (const auto &[name, tensor] : tensors)
    if (at != std::string::npos && name == "block_table" && tensor->argument == name)
      message.replace(at, word.size(),
                      "(entries of 'block_table', " + std::to_string(problem.tablePages) + ", times rows of a page)");
}

/// The problem's own name of a tensor is replaced by its caller's.
[[noreturn]] static void raiseOf(Error error, const NamedTensors &tensors) {
  for (const auto &[name, tensor] : tensors)
    if (size_t at = error.message.find("'" + name + "'"); at != std::string::npos)
      error.message.replace(at, name.size() + 2, "argument '" + tensor->argument + "'");
  raise(error);
}

static Status checkSequences(const ForwardProblem &problem, const NamedTensors &lists) {
  if (lists.empty())
    return Status::success();
  ForwardProblem known = problem;
  for (const auto &[name, tensor] : lists)
    known.known.lists[name] = numbersOf(*tensor);
  return attention::validate(known);
}

static Status checkBlocks(const ForwardProblem &problem, const NamedTensors &lists) {
  attention::BlockLists blocks;
  std::map<std::string_view, std::vector<int32_t> *> members = {{"kv_num_blocks", &blocks.counts},
                                                                {"kv_indices", &blocks.indices},
                                                                {"full_kv_num_blocks", &blocks.fullCounts},
                                                                {"full_kv_indices", &blocks.fullIndices}};
  const std::vector<int64_t> *extents = nullptr;
  for (const auto &[name, tensor] : lists) {
    *members[name] = numbersOf(*tensor);
    if (tensor->shape.size() != 4)
      continue;
    // Those of full blocks that more or fewer heads share: no BlockLists.
    if (extents && *extents != tensor->shape)
      return Status::success();
    extents = &tensor->shape;
  }
  // Some may be on a GPU.
  if (!extents || lists.size() != (problem.fullBlocks ? 4 : 2))
    return Status::success();
  blocks.batch = (*extents)[0], blocks.heads = (*extents)[1];
  blocks.rows = (*extents)[2], blocks.columns = (*extents)[3];
  return attention::validate(blocks, problem);
}

void python::checkHostLists(const ForwardProblem &problem, const NamedTensors &tensors) {
  const std::vector<std::string> names = attention::listNames(problem);
  NamedTensors sequences, blocks;
  for (const auto &entry : tensors) {
    if (entry.second->place != Place::Host)
      continue;
    if (std::find(names.begin(), names.end(), entry.first) != names.end())
      sequences.push_back(entry);
    else if (problem.blocks.any() && attention::isBlockList(entry.first))
      blocks.push_back(entry);
  }
  if (Status status = checkSequences(problem, sequences); !status.ok()) {
    Error error = status.error();
    nameRoom(error.message, problem, sequences);
    raiseOf(error, sequences);
  }
  if (Status status = checkBlocks(problem, blocks); !status.ok())
    raise({status.error().kind, "argument 'block_mask': " + status.error().message});
}
