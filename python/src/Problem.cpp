// The problem that a dict of Python's and the shapes of tensors describe.
#include "Problem.h"

#include "hocket/Pipelines/Modifications.h"

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;
using attention::ForwardProblem;

std::optional<attention::TensorStrides> python::stridesOf(const Tensor &tensor, const manifest::TensorSpec &dense,
                                                          attention::Layout layout) {
  std::vector<int64_t> s = tensor.strides;
  attention::TensorStrides strides, usual = attention::stridesOf(dense);
  if (s.size() == 3) // packed: rows, heads, elements
    strides = {usual.batch, s[0], s[1]};
  else
    strides = layout == attention::Layout::BSHD ? attention::TensorStrides{s[0], s[1], s[2]}
                                                : attention::TensorStrides{s[0], s[2], s[1]};
  // What a dimension of one element has for a stride says nothing, and may be anything.
  for (const manifest::TensorDimension &dimension : dense.dimensions)
    if (dimension.extent == 1)
      (dimension.name == "head"       ? strides.head
       : dimension.name == "sequence" ? strides.sequence
                                      : strides.batch) = dimension.stride;
  return strides == usual ? std::nullopt : std::optional(strides);
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
  problem.dtype = valueOf(attention::parseHeadTypes(what["dtype"].cast<std::string>()));
  problem.descale = what["descale"].cast<bool>();
  problem.mxScales = what.contains("mx_scales") && what["mx_scales"].cast<bool>();
  problem.descaleBlocks.channels = what.contains("descale_channels") && what["descale_channels"].cast<bool>();
  problem.outputScale = what.contains("output_scale") && what["output_scale"].cast<bool>();
  problem.layout = valueOf(attention::parseLayout(what["layout"].cast<std::string>()));
  auto read = [&](const char *name, int64_t &member) {
    if (what.contains(name))
      member = what[name].cast<int64_t>();
  };
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help) read(#name, problem.member);
#define HOCKET_COUNT(name, member, option, meta, help, when) read(#name, problem.member);
#define HOCKET_NUMBER(name, member, initial) read(#name, problem.member);
#include "hocket/Attention/ProblemFields.def"
  problem.visibility = valueOf(attention::Visibility::parse(what["mask"].cast<std::string>()));
  if (!what["scale"].is_none())
    problem.scale = what["scale"].cast<double>();
  for (const attention::SequenceList &list : attention::sequenceLists())
    problem.lists.*list.value = what["lists"].cast<py::list>().contains(std::string(list.tensor));
  if (!what["pages"].is_none()) {
    std::tie(problem.lists.pageSize, problem.numPages) = what["pages"].cast<std::pair<int64_t, int64_t>>();
    if (what["in_vectors"].cast<bool>())
      problem.pageLayout = attention::PageLayout::Vectorised;
  }
  if (!what["update"].is_none()) {
    const auto [rows, asStored, rotary, rotaryDim, positions] =
        what["update"].cast<std::tuple<int64_t, bool, std::string, int64_t, int64_t>>();
    problem.update = {.appends = true,
                      .rotary = valueOf(attention::parseRotary(rotary)),
                      .rotaryDim = rotaryDim,
                      .asStored = asStored};
    problem.newRows = rows;
    problem.positions = positions;
  }
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
