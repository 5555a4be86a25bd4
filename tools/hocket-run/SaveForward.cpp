// The tensors of an attention as files.
#include "SaveForward.h"

#include "Npy.h"

#include "Verify/Attention/Dropout.h"
#include "Verify/Attention/RowNumbers.h"

#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

/// Rows in the order of `RowNumbers` at their places in a tensor that is dense; what no sequence uses is zero.
static std::vector<std::byte> atTheirPlaces(ForwardProblem problem, const manifest::TensorSpec &dense,
                                            std::span<const std::byte> rows) {
  problem.pageLayout = PageLayout::NHD;
  auto rowBytes = static_cast<size_t>(dense.rowElements * bytesOf(dense.type));
  std::vector<std::byte> data(static_cast<size_t>(dense.elements()) * bytesOf(dense.type));
  bool isNew = dense.name == "k_new" || dense.name == "v_new"; // of which sequences have as many rows
  for (uint64_t offset : isNew ? dense.rowOffsets() : RowNumbers(problem).offsets(dense)) {
    std::copy_n(rows.begin(), rowBytes, data.begin() + static_cast<ptrdiff_t>(offset));
    rows = rows.subspan(rowBytes);
  }
  return data;
}

/// Rows of heads as [batch, sequence, head, dim], of packed tensors without the batch.
static Array headsInside(const ForwardProblem &problem, manifest::TensorSpec tensor,
                         std::span<const std::byte> rows) {
  size_t last = tensor.dimensions.size() - 1; // head and sequence are the last two
  int64_t heads = tensor.dimensions[last - 1].extent, sequence = tensor.dimensions[last].extent;
  int64_t dim = tensor.rowElements;
  tensor.dimensions[last].stride = heads * dim, tensor.dimensions[last - 1].stride = dim;
  Array array{tensor.type, {sequence, heads, dim}, {}};
  if (last == 2) {
    tensor.dimensions[0].stride = sequence * heads * dim;
    array.shape.insert(array.shape.begin(), tensor.dimensions[0].extent);
  }
  array.data = atTheirPlaces(problem, tensor, rows);
  return array;
}

/// What is captured, and LSE, as they lie.
static Array asItLies(const manifest::TensorSpec &tensor, std::span<const std::byte> bytes) {
  Array array{tensor.type, {}, {bytes.begin(), bytes.end()}};
  for (const manifest::TensorDimension &dimension : tensor.dimensions)
    array.shape.push_back(dimension.extent);
  array.shape.push_back(tensor.rowElements);
  return array;
}

/// A tensor beside the usual ones; rows of heads that are new in a cache, or turned, are [batch, sequence, head, dim].
static Array captured(const ForwardProblem &problem, const std::string &name, std::span<const std::byte> bytes) {
  std::vector<manifest::TensorSpec> tensors = problem.temporaries();
  for (const manifest::TensorSpec &tensor : problem.tensors())
    tensors.push_back(tensor);
  auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto &tensor) { return tensor.name == name; });
  if (name != "k_new" && name != "v_new" && name != "q_rotated")
    return asItLies(*found, bytes);
  return headsInside(problem, *found, bytes);
}

/// The random byte of every element, whether it is seen or not.
static Array dropoutBytes(const ForwardProblem &problem, const ForwardInputs &inputs) {
  auto state = inputs.captured.find("dropout_state");
  Array array{ElementType::U8, {problem.batch, problem.heads, problem.seqQ, problem.seqKv}, {}};
  for (int64_t batch = 0; batch != problem.batch; ++batch)
    for (int64_t head = 0; head != problem.heads; ++head) {
      DropoutBytes bytes(problem, state == inputs.captured.end() ? std::span<const double>() : state->second,
                         batch, head);
      for (int64_t query = 0; query != problem.seqQ; ++query)
        for (int64_t key = 0; key != problem.seqKv; ++key)
          array.data.push_back(std::byte(bytes.at(query, key)));
    }
  return array;
}

static std::string problemJson(const ForwardProblem &problem) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("problem", problem.describe());
    out.attribute("dtype", optionName(problem.dtype));
    out.attribute("mask", llvm::StringRef(problem.visibility.name()));
    out.attribute("scale", problem.effectiveScale());
    out.attribute("lse", problem.wantLse);
    out.attribute("sink", problem.sink);
    if (problem.lists.inPages())
      out.attribute("page_size", problem.lists.pageSize);
    if (problem.update.appends)
      out.attribute("append", problem.newRows);
    if (problem.update.turns())
      out.attribute("rotary", llvm::StringRef(toString(problem.update.rotary)));
    if (problem.dropout)
      out.attributeObject("dropout", [&] {
        out.attribute("probability", problem.dropping.probability);
        out.attribute("seed", problem.dropping.seed);
        out.attribute("offset", problem.dropping.offset);
      });
    out.attributeArray("modifications", [&] {
      for (const Modification &modification : problem.modifications)
        out.object([&] {
          out.attribute("name", modification.name);
          out.attribute("text", modification.text);
        });
    });
    out.attributeObject("numbers", [&] {
      for (const auto &[name, value] : problem.numbers)
        out.attribute(name, value);
    });
  });
  return text + "\n";
}

Status run::saveHeads(const std::string &directory, const ForwardProblem &problem,
                      const manifest::TensorSpec &tensor, std::span<const std::byte> rows) {
  return writeNpy(directory + "/" + tensor.name + ".npy", headsInside(problem, tensor, rows));
}

Status run::saveWhole(const std::string &directory, const manifest::TensorSpec &tensor,
                      std::span<const std::byte> bytes) {
  return writeNpy(directory + "/" + tensor.name + ".npy", asItLies(tensor, bytes));
}

/// LSE as [batch, head, sequence], of packed queries as [head, row].
static Array logSums(const ForwardProblem &problem, std::span<const float> values) {
  manifest::TensorSpec lse = problem.tensor("lse");
  if (!problem.lists.any())
    return asItLies(lse, std::as_bytes(values));
  Array array = asItLies(lse, {});
  manifest::TensorSpec rows = lse;
  rows.dimensions.push_back({"sequence", "", lse.rowElements, 1});
  rows.rowElements = 1;
  array.data = atTheirPlaces(problem, rows, std::as_bytes(values));
  return array;
}

Status run::saveForward(const std::string &directory, const ForwardProblem &problem,
                        const ForwardInputs &inputs, const ForwardOutputs &outputs) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return hostError("cannot make the directory '" + directory + "': " + error.message());
  auto write = [&](const std::string &name, const Array &array) {
    return writeNpy(directory + "/" + name + ".npy", array);
  };
  for (const auto &[name, values] :
       {std::pair("q", &inputs.q), std::pair("k", &inputs.k), std::pair("v", &inputs.v),
        std::pair("o", &outputs.o)})
    if (Status status = saveHeads(directory, problem, problem.tensor(name), values->bytes()); !status.ok())
      return status;
  if (problem.wantLse)
    if (Status status = write("lse", logSums(problem, outputs.lse)); !status.ok())
      return status;
  for (const auto &[name, bytes] : inputs.capturedBytes)
    if (Status status = write(name, captured(problem, name, bytes)); !status.ok())
      return status;
  if (problem.dropout)
    if (Status status = write("dropout_bytes", dropoutBytes(problem, inputs)); !status.ok())
      return status;
  std::string text = problemJson(problem);
  return runtime::writeFile(directory + "/problem.json", std::as_bytes(std::span(text)));
}
