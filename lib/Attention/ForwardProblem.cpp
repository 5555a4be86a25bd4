// Shapes, strides and the rules that hold for every kernel.
//
// All products of extents are formed with overflow checks first, so that what passes `validate` can
// be computed with anywhere else without one.
#include "hocket/Attention/ForwardProblem.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

using namespace hocket;
using namespace hocket::attention;
using manifest::Value;

namespace {
constexpr int64_t elementBytes = 2;
/// Extents stay far below what 64-bit offsets hold, and rows below what a host can list.
constexpr int64_t maxExtent = int64_t(1) << 31;
constexpr int64_t maxRows = int64_t(1) << 34;
constexpr int64_t maxSpanBytes = int64_t(1) << 46;
constexpr int64_t maxTileBytes = int64_t(1) << 31;
} // namespace

std::string_view attention::toString(DataType type) {
  return type == DataType::BF16 ? "bf16" : "fp16";
}

Result<DataType> attention::parseDataType(std::string_view text) {
  if (text == "bf16")
    return DataType::BF16;
  if (text == "fp16" || text == "f16")
    return DataType::FP16;
  return invalidInput("dtype '" + std::string(text) + "' is not supported; use bf16 or fp16");
}

std::string_view attention::toString(Layout layout) {
  return layout == Layout::BSHD ? "bshd" : "bhsd";
}

Result<Layout> attention::parseLayout(std::string_view text) {
  if (text == "bshd")
    return Layout::BSHD;
  if (text == "bhsd")
    return Layout::BHSD;
  return invalidInput("layout '" + std::string(text) + "' is not known; use bshd or bhsd");
}

std::string_view attention::toString(TensorName tensor) {
  constexpr std::string_view names[] = {"q", "k", "v", "o"};
  return names[static_cast<size_t>(tensor)];
}

double ForwardProblem::effectiveScale() const {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(headDim)));
}

TensorShape ForwardProblem::shape(TensorName tensor) const {
  switch (tensor) {
  case TensorName::Q:
    return {batch, seqQ, heads, headDim};
  case TensorName::K:
    return {batch, seqKv, kvHeads, headDim};
  case TensorName::V:
    return {batch, seqKv, kvHeads, headDimV};
  case TensorName::O:
    break;
  }
  return {batch, seqQ, heads, headDimV};
}

TensorStrides ForwardProblem::stridesOf(TensorName tensor) const {
  if (const auto &given = strides[static_cast<size_t>(tensor)])
    return *given;
  TensorShape s = shape(tensor);
  if (layout == Layout::BSHD)
    return {s.sequence * s.heads * s.dim, s.heads * s.dim, s.dim};
  return {s.heads * s.sequence * s.dim, s.dim, s.sequence * s.dim};
}

uint64_t ForwardProblem::spanBytes(TensorName tensor) const {
  TensorShape s = shape(tensor);
  TensorStrides t = stridesOf(tensor);
  return elementBytes *
         ((s.batch - 1) * t.batch + (s.sequence - 1) * t.sequence + (s.heads - 1) * t.head + s.dim);
}

int64_t ForwardProblem::visibleKeys(int64_t row) const {
  if (!causal)
    return seqKv;
  return std::clamp<int64_t>(row + seqKv - seqQ + 1, 0, seqKv);
}

/// The shortest decimal that reads back as `value`.
static std::string shortest(double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

std::string ForwardProblem::describe() const {
  std::string text(toString(dtype));
  text += " B" + std::to_string(batch) + " H" + std::to_string(heads);
  if (kvHeads != heads)
    text += "/" + std::to_string(kvHeads);
  text += " Sq" + std::to_string(seqQ) + " Skv" + std::to_string(seqKv) + " D" +
          std::to_string(headDim);
  if (headDimV != headDim)
    text += "/" + std::to_string(headDimV);
  text += causal ? " causal " : " ";
  text += toString(layout);
  for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O})
    if (const auto &given = strides[static_cast<size_t>(tensor)])
      text += " " + std::string(toString(tensor)) + "=" + std::to_string(given->batch) + "," +
              std::to_string(given->sequence) + "," + std::to_string(given->head);
  if (scale)
    text += " scale=" + shortest(*scale);
  text += wantLse ? " lse" : "";
  text += fastScale ? " fast-scale" : "";
  text += bias ? " bias" : "";
  if (numSplits != 0)
    text += " splits" + std::to_string(numSplits);
  return text;
}

static Status checkExtents(const ForwardProblem &problem) {
  struct Field {
    const char *name;
    int64_t value, limit;
  };
  const Field fields[] = {
      {"batch", problem.batch, maxExtent},       {"heads", problem.heads, maxExtent},
      {"kv-heads", problem.kvHeads, maxExtent},  {"seq-q", problem.seqQ, maxExtent},
      {"seq-kv", problem.seqKv, maxExtent},      {"head-dim", problem.headDim, 1 << 16},
      {"head-dim-v", problem.headDimV, 1 << 16},
  };
  for (const Field &field : fields) {
    if (field.value < 1)
      return invalidInput(std::string(field.name) + " is " + std::to_string(field.value) +
                          ", it must be at least 1");
    if (field.value > field.limit)
      return invalidInput(std::string(field.name) + " is " + std::to_string(field.value) +
                          ", at most " + std::to_string(field.limit) + " are possible");
  }
  if (problem.heads % problem.kvHeads != 0)
    return invalidInput("heads (" + std::to_string(problem.heads) +
                        ") is not a multiple of kv-heads (" + std::to_string(problem.kvHeads) +
                        "); every KV head serves the same number of query heads");
  if (problem.scale && !std::isfinite(*problem.scale))
    return invalidInput("scale is not a finite number; leave it out to take 1 / sqrt(head-dim)");
  if (problem.numSplits < 0 || problem.numSplits > mostSplits)
    return invalidInput("num-splits is " + std::to_string(problem.numSplits) +
                        ", it must be 0 to " + std::to_string(mostSplits) +
                        ": 0 to let the heuristic choose, 1 for none");
  return Status::success();
}

/// a * b + c for values that are not negative, or nothing if it overflows.
static bool multiplyAdd(int64_t a, int64_t b, int64_t &sum) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

static Status checkSpan(const ForwardProblem &problem, TensorName tensor) {
  TensorShape shape = problem.shape(tensor);
  std::string name(toString(tensor));
  int64_t rows = 0;
  bool fits = multiplyAdd(shape.batch * 1, shape.heads, rows);
  int64_t all = 0;
  fits = fits && multiplyAdd(rows, shape.sequence, all) && all <= maxRows;
  if (!fits)
    return invalidInput("tensor '" + name + "' has more than " + std::to_string(maxRows) +
                        " rows; use a smaller batch, heads or sequence");
  TensorStrides strides = problem.stridesOf(tensor);
  int64_t elements = shape.dim;
  fits = multiplyAdd(shape.batch - 1, strides.batch, elements) &&
         multiplyAdd(shape.sequence - 1, strides.sequence, elements) &&
         multiplyAdd(shape.heads - 1, strides.head, elements);
  if (!fits || elements > maxSpanBytes / elementBytes)
    return invalidInput("tensor '" + name + "' spans more than " + std::to_string(maxSpanBytes) +
                        " bytes; use smaller strides");
  return Status::success();
}

static Status checkStrides(const ForwardProblem &problem, TensorName tensor) {
  TensorStrides strides = problem.stridesOf(tensor);
  std::string name(toString(tensor));
  const std::pair<const char *, int64_t> fields[] = {
      {"batch", strides.batch}, {"sequence", strides.sequence}, {"head", strides.head}};
  for (const auto &[field, value] : fields)
    if (value < 0)
      return invalidInput("the " + std::string(field) + " stride of '" + name + "' is " +
                          std::to_string(value) + ", negative strides are not supported");
  if (Status status = checkSpan(problem, tensor); !status.ok())
    return status;
  TensorShape shape = problem.shape(tensor);
  bool isKey = tensor == TensorName::K || tensor == TensorName::V;
  int64_t tileRows = std::min(shape.sequence, isKey ? keyTileRows : queryTileRows);
  int64_t tileBytes = elementBytes * ((tileRows - 1) * strides.sequence + shape.dim);
  if (tileBytes >= maxTileBytes)
    return invalidInput("the sequence stride of '" + name + "' is " +
                        std::to_string(strides.sequence) + " elements, a tile of " +
                        std::to_string(tileRows) + " rows then spans " + std::to_string(tileBytes) +
                        " bytes; it must stay below 2147483648");
  return Status::success();
}

/// Rows of O must not share elements. Sorted by stride, each dimension must step over all that the
/// smaller ones cover; strides that interleave without overlap are refused too.
static Status checkOutputOverlap(const ForwardProblem &problem) {
  TensorShape shape = problem.shape(TensorName::O);
  TensorStrides strides = problem.stridesOf(TensorName::O);
  std::vector<std::pair<int64_t, int64_t>> dimensions = {{strides.batch, shape.batch},
                                                         {strides.sequence, shape.sequence},
                                                         {strides.head, shape.heads}};
  std::sort(dimensions.begin(), dimensions.end());
  int64_t covered = shape.dim;
  for (const auto &[stride, extent] : dimensions) {
    if (extent == 1)
      continue;
    if (stride < covered)
      return invalidInput("the strides of 'o' make its rows overlap: a stride of " +
                          std::to_string(stride) + " elements steps over " +
                          std::to_string(covered) + "; use larger strides");
    covered += (extent - 1) * stride;
  }
  return Status::success();
}

Status attention::validate(const ForwardProblem &problem) {
  if (Status status = checkExtents(problem); !status.ok())
    return status;
  // Dense strides are products of extents, which only make sense once the row count is checked.
  for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O}) {
    TensorShape shape = problem.shape(tensor);
    if (!problem.strides[static_cast<size_t>(tensor)] &&
        (shape.batch > maxRows / shape.heads ||
         shape.batch * shape.heads > maxRows / shape.sequence))
      return invalidInput("tensor '" + std::string(toString(tensor)) + "' has more than " +
                          std::to_string(maxRows) +
                          " rows; use a smaller batch, heads or sequence");
    if (Status status = checkStrides(problem, tensor); !status.ok())
      return status;
  }
  return checkOutputOverlap(problem);
}

manifest::Variables attention::problemVariables(const ForwardProblem &problem,
                                                const ForwardPointers *pointers) {
  manifest::Variables variables = {
      {"batch", Value::integer(problem.batch)},
      {"heads", Value::integer(problem.heads)},
      {"kv_heads", Value::integer(problem.kvHeads)},
      {"seq_q", Value::integer(problem.seqQ)},
      {"seq_kv", Value::integer(problem.seqKv)},
      {"head_dim", Value::integer(problem.headDim)},
      {"head_dim_v", Value::integer(problem.headDimV)},
      {"causal", Value::integer(problem.causal)},
      {"scale", Value::real(problem.effectiveScale())},
      {"is_bf16", Value::integer(problem.dtype == DataType::BF16)},
      {"is_fp16", Value::integer(problem.dtype == DataType::FP16)},
      {"num_splits", Value::integer(std::max<int64_t>(problem.numSplits, 1))},
      {"element_bytes", Value::integer(elementBytes)},
      {"want_lse", Value::integer(problem.wantLse)},
      {"lse_stride_b", Value::integer(problem.heads * problem.seqQ)},
      {"lse_stride_h", Value::integer(problem.seqQ)},
  };
  for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O}) {
    TensorStrides strides = problem.stridesOf(tensor);
    std::string name(toString(tensor));
    variables[name + "_stride_b"] = Value::integer(strides.batch);
    variables[name + "_stride_s"] = Value::integer(strides.sequence);
    variables[name + "_stride_h"] = Value::integer(strides.head);
    variables[name + "_bytes"] = Value::integer(static_cast<int64_t>(problem.spanBytes(tensor)));
  }
  if (!pointers)
    return variables;
  const std::pair<const char *, uint64_t> addresses[] = {
      {"q", pointers->q}, {"k", pointers->k},     {"v", pointers->v},
      {"o", pointers->o}, {"lse", pointers->lse}, {"workspace", pointers->workspace}};
  for (const auto &[name, address] : addresses)
    variables[name] = Value::integer(static_cast<int64_t>(address));
  return variables;
}
