// The tensors of an attention as files.
#include "SaveForward.h"

#include "Npy.h"

#include "Verify/Attention/Dropout.h"

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

/// What is captured, and LSE, as they lie.
static Array asItLies(const manifest::TensorSpec &tensor, std::span<const std::byte> bytes) {
  Array array{elementTypeOf(tensor.type), {}, {bytes.begin(), bytes.end()}};
  for (const manifest::TensorDimension &dimension : tensor.dimensions)
    array.shape.push_back(dimension.extent);
  array.shape.push_back(tensor.rowElements);
  return array;
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
  for (const auto &[name, values] :
       {std::pair("q", &inputs.q), std::pair("k", &inputs.k), std::pair("v", &inputs.v),
        std::pair("o", &outputs.o)})
    if (Status status = saveHeads(directory, problem.tensor(name), *values); !status.ok())
      return status;
  if (problem.wantLse) {
    manifest::TensorSpec lse = problem.tensor("lse");
    if (Status status = write("lse", asItLies(lse, std::as_bytes(std::span(outputs.lse))));
        !status.ok())
      return status;
  }
  for (const auto &[name, bytes] : inputs.capturedBytes)
    if (Status status = write(name, asItLies(problem.tensor(name), bytes)); !status.ok())
      return status;
  if (problem.dropout)
    if (Status status = write("dropout_bytes", dropoutBytes(problem, inputs)); !status.ok())
      return status;
  std::string text = describe(problem);
  return runtime::writeFile(directory + "/problem.json", std::as_bytes(std::span(text)));
}
