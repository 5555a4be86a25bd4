// The problem that a dict of Python's and the shapes of tensors describe.
#include "Problem.h"

#include "hocket/Pipelines/Modifications.h"

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using attention::ForwardProblem;

attention::TensorStrides python::stridesOf(const Tensor &tensor, attention::Layout layout) {
  std::vector<int64_t> s = tensor.strides;
  // Packed: rows, heads, elements.
  if (s.size() == 3)
    return {0, tensor.shape[0] == 1 ? (tensor.shape[2] + 7) / 8 * 8 : s[0],
            tensor.shape[1] == 1 ? (tensor.shape[2] + 7) / 8 * 8 : s[1]};
  // What a dimension of one element has for a stride says nothing, and may be anything. Kernels work on
  // blocks of rows and tell those beyond the last by their places, so a row must have a length.
  for (size_t i = 0; i != s.size(); ++i)
    if (tensor.shape[i] == 1)
      s[i] = (tensor.shape[3] + 7) / 8 * 8;
  return layout == attention::Layout::BSHD ? attention::TensorStrides{s[0], s[1], s[2]}
                                           : attention::TensorStrides{s[0], s[2], s[1]};
}

/// Shipped ones have no text.
static void addModifications(ForwardProblem &problem, const py::dict &what) {
  for (const py::handle &entry : what["modifications"].cast<py::list>()) {
    const auto [name, text] = entry.cast<std::pair<std::string, std::string>>();
    if (text.empty()) {
      problem.modifications.push_back(valueOf(shippedModification(name)));
      continue;
    }
    for (attention::Modification &modification : valueOf(parseModifications(text, name)))
      problem.modifications.push_back(std::move(modification));
  }
  for (const auto &[name, number] : what["numbers"].cast<py::dict>())
    problem.numbers[name.cast<std::string>()] = number.cast<double>();
  for (const auto &[name, extents] : what["extents"].cast<py::dict>())
    problem.capturedExtents[name.cast<std::string>()] = extents.cast<std::vector<int64_t>>();
}

ForwardProblem python::problemOf(const py::dict &what) {
  ForwardProblem problem;
  problem.dtype = valueOf(parseOperandType(what["dtype"].cast<std::string>()));
  problem.layout = valueOf(attention::parseLayout(what["layout"].cast<std::string>()));
  problem.batch = what["batch"].cast<int64_t>();
  problem.heads = what["heads"].cast<int64_t>();
  problem.kvHeads = what["kv_heads"].cast<int64_t>();
  problem.seqQ = what["seq_q"].cast<int64_t>();
  problem.seqKv = what["seq_kv"].cast<int64_t>();
  problem.headDim = what["head_dim"].cast<int64_t>();
  problem.headDimV = what["head_dim_v"].cast<int64_t>();
  problem.visibility = valueOf(attention::Visibility::parse(what["mask"].cast<std::string>()));
  if (!what["scale"].is_none())
    problem.scale = what["scale"].cast<double>();
  problem.tuning.numSplits = what["num_splits"].cast<int64_t>();
  for (const attention::SequenceList &list : attention::sequenceLists())
    problem.lists.*list.value = what["lists"].cast<py::list>().contains(std::string(list.tensor));
  if (!what["pages"].is_none()) {
    std::tie(problem.lists.pageSize, problem.numPages) = what["pages"].cast<std::pair<int64_t, int64_t>>();
    problem.tablePages = what["table_pages"].cast<int64_t>();
    if (what["in_vectors"].cast<bool>())
      problem.pageLayout = attention::PageLayout::Vectorised;
  }
  if (!what["update"].is_none()) {
    const auto [rows, rotary, rotaryDim, positions] =
        what["update"].cast<std::tuple<int64_t, std::string, int64_t, int64_t>>();
    problem.update = {.appends = true, .rotary = valueOf(attention::parseRotary(rotary)), .rotaryDim = rotaryDim};
    problem.newRows = rows;
    problem.positions = positions;
  }
  problem.totalQ = what["total_q"].cast<int64_t>();
  problem.totalKv = what["total_kv"].cast<int64_t>();
  if (what.contains("min_seqlen_q"))
    problem.minSeqlenQ = what["min_seqlen_q"].cast<int64_t>();
  if (what.contains("work_list") && what["work_list"].cast<bool>())
    problem.work.list = attention::WorkLists::Made;
  if (!what["dropout"].is_none()) {
    const auto [probability, seed, offset] = what["dropout"].cast<std::tuple<double, int64_t, int64_t>>();
    problem.dropout = true;
    problem.dropping = {.probability = probability, .seed = seed, .offset = offset};
  }
  if (!what["blocks"].is_none()) {
    const auto [queries, keys] = what["blocks"].cast<std::pair<int64_t, int64_t>>();
    problem.blocks = {queries, keys};
    problem.fullBlocks = what["extents"].contains("full_kv_indices");
  }
  addModifications(problem, what);
  return problem;
}
