// The tensors of an attention as files.
#include "SaveForward.h"

#include "Npy.h"

#include "Verify/Attention/Dropout.h"
#include "Verify/Attention/RowNumbers.h"
#include "Verify/DeviceTensor.h"

#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using manifest::ElementType;

static ElementType elementTypeOf(DataType type) {
  switch (type) {
  case DataType::BF16:
    return ElementType::BF16;
  case DataType::FP16:
    return ElementType::F16;
  case DataType::F32:
    return ElementType::F32;
  case DataType::I32:
    return ElementType::I32;
  case DataType::I8:
    return ElementType::I8;
  }
  return ElementType::U8;
}

/// [batch, head, sequence, dim] of 16-bit patterns as [batch, sequence, head, dim].
static Array headsInside(const manifest::TensorSpec &tensor, std::span<const uint16_t> values) {
  int64_t batch = tensor.dimensions[0].extent, heads = tensor.dimensions[1].extent,
          sequence = tensor.dimensions[2].extent, dim = tensor.rowElements;
  Array array{elementTypeOf(tensor.type), {batch, sequence, heads, dim}, {}};
  auto rowBytes = static_cast<size_t>(dim) * sizeof(uint16_t);
  array.data.resize(static_cast<size_t>(batch * heads * sequence) * rowBytes);
  const auto *from = reinterpret_cast<const std::byte *>(values.data());
  for (int64_t b = 0; b != batch; ++b)
    for (int64_t h = 0; h != heads; ++h)
      for (int64_t s = 0; s != sequence; ++s, from += rowBytes)
        std::copy_n(from, rowBytes, array.data.data() + ((b * sequence + s) * heads + h) * rowBytes);
  return array;
}

/// Rows of sequences with lengths of their own at their places: [rows, heads, dim] of packed tensors, [pages, rows, heads,
/// dim] of pages, NaN where no sequence has anything.
static Array atTheirPlaces(const ForwardProblem &problem, const std::string &name, std::span<const std::byte> values) {
  ForwardProblem dense = problem;
  dense.strides.clear();
  dense.layout = Layout::BSHD;
  dense.pageLayout = PageLayout::NHD;
  manifest::TensorSpec tensor = dense.tensor(name);
  bool isLse = name == "lse";
  Array array{elementTypeOf(tensor.type), {}, {}};
  for (const manifest::TensorDimension &dimension : tensor.dimensions)
    array.shape.push_back(dimension.extent);
  if (!isLse)
    std::swap(array.shape[array.shape.size() - 2], array.shape.back());
  array.shape.push_back(tensor.rowElements);
  const uint16_t nothing[] = {verify::guardPattern, verify::guardPattern};
  for (size_t i = 0; i != tensor.spanBytes() / sizeof(nothing); ++i)
    for (std::byte byte : std::as_bytes(std::span(nothing)))
      array.data.push_back(byte);
  auto rowBytes = static_cast<size_t>(isLse ? bytesOf(tensor.type) : tensor.rowBytes());
  size_t row = 0;
  for (uint64_t offset : RowNumbers(problem).offsets(tensor))
    std::copy_n(values.data() + rowBytes * row++, rowBytes, array.data.data() + offset);
  return array;
}

/// What is captured, and LSE, as they lie.
static Array asItLies(const manifest::TensorSpec &tensor, std::span<const std::byte> bytes) {
  Array array{elementTypeOf(tensor.type), {}, {bytes.begin(), bytes.end()}};
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
  return headsInside(*found, {reinterpret_cast<const uint16_t *>(bytes.data()), bytes.size() / sizeof(uint16_t)});
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

static std::string describe(const ForwardProblem &problem) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("problem", problem.describe());
    out.attribute("dtype", llvm::StringRef(toString(problem.dtype)));
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

Status run::saveHeads(const std::string &directory, const manifest::TensorSpec &tensor,
                      std::span<const uint16_t> values) {
  return writeNpy(directory + "/" + tensor.name + ".npy", headsInside(tensor, values));
}

Status run::saveForward(const std::string &directory, const ForwardProblem &problem,
                        const ForwardInputs &inputs, const ForwardOutputs &outputs) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return hostError("cannot make the directory '" + directory + "': " + error.message());
  auto write = [&](const std::string &name, const Array &array) {
    return writeNpy(directory + "/" + name + ".npy", array);
  };
  auto saved = [&](const std::string &name, std::span<const uint16_t> values) {
    return problem.lists.any() ? atTheirPlaces(problem, name, std::as_bytes(values))
                               : headsInside(problem.tensor(name), values);
  };
  for (const auto &[name, values] :
       {std::pair("q", &inputs.q), std::pair("k", &inputs.k), std::pair("v", &inputs.v),
        std::pair("o", &outputs.o)})
    if (Status status = write(name, saved(name, *values)); !status.ok())
      return status;
  if (problem.wantLse) {
    auto lse = std::as_bytes(std::span(outputs.lse));
    Array array = problem.lists.any() ? atTheirPlaces(problem, "lse", lse) : asItLies(problem.tensor("lse"), lse);
    if (Status status = write("lse", array); !status.ok())
      return status;
  }
  for (const auto &[name, bytes] : inputs.capturedBytes)
    if (Status status = write(name, captured(problem, name, bytes)); !status.ok())
      return status;
  if (problem.dropout)
    if (Status status = write("dropout_bytes", dropoutBytes(problem, inputs)); !status.ok())
      return status;
  std::string text = describe(problem);
  return runtime::writeFile(directory + "/problem.json", std::as_bytes(std::span(text)));
}
