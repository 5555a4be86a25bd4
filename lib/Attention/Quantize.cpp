// What quantising asks for, and where its tensors lie.
#include "hocket/Attention/Quantize.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingMultiply;
using manifest::TensorRole;
using manifest::TensorSpec;
using manifest::Value;

/// Largest numbers that a wave looks through for a scale of a tensor and of a head.
static constexpr int64_t kPartsOfTensor = 1024, kPartsOfHead = 64;
/// Rows of a part are whole tiles of that many, but of blocks.
static constexpr int64_t kTileRows = 64;
static constexpr int64_t kMaxHeadDim = 1024, kMaxGrid = 65535, kMaxScales = int64_t(1) << 30;
/// Waves behind the last part count rows, too: up to four parts more, in 32 bits.
static constexpr int64_t kMaxRows = int64_t(1) << 28;

static constexpr std::string_view kPer[] = {"tensor", "head", "block", "token", "mx"};

std::string_view attention::toString(ScalesPer per) { return kPer[static_cast<size_t>(per)]; }

Result<ScalesPer> attention::parseScalesPer(std::string_view text) {
  for (ScalesPer per : {ScalesPer::Tensor, ScalesPer::Head, ScalesPer::Block, ScalesPer::Token, ScalesPer::Mx})
    if (text == toString(per))
      return per;
  return invalidInput("per is '" + std::string(text) + "', use tensor, head, block, token or mx");
}

Result<ElementType> attention::parseQuantizedType(std::string_view text) {
  for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2, ElementType::I8, ElementType::F4E2M1})
    if (text == optionName(type))
      return type;
  return invalidInput("dtype is '" + std::string(text) + "', use f8e4m3, f8e5m2, i8 or f4e2m1");
}

int64_t QuantizeProblem::rowsOfPart() const {
  const int64_t wholeTiles = std::max<int64_t>((seq + kTileRows - 1) / kTileRows, 1) * kTileRows;
  if (per == ScalesPer::Block)
    return std::min(block, wholeTiles); // a larger one has all rows
  int64_t most = per == ScalesPer::Tensor ? kPartsOfTensor / std::max<int64_t>(saturatingMultiply(batch, heads), 1)
                                          : kPartsOfHead / std::max<int64_t>(headsOfScale, 1);
  most = std::max<int64_t>(most, 1);
  int64_t rows = (seq + most - 1) / most;
  return std::max<int64_t>((rows + kTileRows - 1) / kTileRows, 1) * kTileRows;
}

/// Rows of `elements`, in the order of dimensions that the layout says.
static TensorSpec rowsLike(const QuantizeProblem &problem, std::string name, TensorRole role, ElementType type,
                           int64_t elements) {
  const int64_t seq = problem.seq, heads = problem.heads, ofBatch = saturatingMultiply(saturatingMultiply(seq, heads), elements);
  TensorStrides at = problem.layout == Layout::BSHD ? TensorStrides{ofBatch, saturatingMultiply(heads, elements), elements}
                                                    : TensorStrides{ofBatch, elements, saturatingMultiply(seq, elements)};
  if (name == "x" && problem.strides)
    at = *problem.strides;
  std::string stride = name + "_stride_";
  return {name, role, type, elements,
          {{"batch", stride + "b", problem.batch, at.batch},
           {"head", stride + "h", heads, at.head},
           {"sequence", stride + "s", seq, at.sequence, kTileRows}},
          true, /*strided=*/name == "x"};
}

static bool isPacked(const QuantizeProblem &problem) { return problem.to == ElementType::F4E2M1; }

static TensorSpec scaleOf(const QuantizeProblem &problem) {
  constexpr ElementType f32 = ElementType::F32;
  TensorSpec spec{"scale", TensorRole::Output, f32, 1, {}, true, /*strided=*/false};
  switch (problem.per) {
  case ScalesPer::Tensor:
    return spec;
  case ScalesPer::Head:
    spec.rowElements = problem.heads / std::max<int64_t>(problem.headsOfScale, 1);
    spec.dimensions = {{"batch", "scale_stride_b", problem.batch, spec.rowElements}};
    return spec;
  case ScalesPer::Block:
    spec.rowElements = problem.parts();
    spec.dimensions = {{"batch", "scale_stride_b", problem.batch, saturatingMultiply(problem.heads, spec.rowElements)},
                       {"head", "scale_stride_h", problem.heads, spec.rowElements}};
    return spec;
  case ScalesPer::Token:
    return rowsLike(problem, "scale", TensorRole::Output, f32, 1);
  case ScalesPer::Mx:
    break;
  }
  return rowsLike(problem, "scale", TensorRole::Output, ElementType::U8, problem.headDim / kMxBlock);
}

std::vector<TensorSpec> QuantizeProblem::tensors() const {
  TensorSpec values = isPacked(*this) ? rowsLike(*this, "values", TensorRole::Output, ElementType::U8, headDim / 2)
                                      : rowsLike(*this, "values", TensorRole::Output, to, headDim);
  // What becomes fp4 is read as words of two.
  TensorSpec x = isPacked(*this) ? rowsLike(*this, "x", TensorRole::Input, ElementType::I32, headDim / 2)
                                 : rowsLike(*this, "x", TensorRole::Input, from, headDim);
  if (isPacked(*this) && strides)
    for (manifest::TensorDimension &dimension : x.dimensions)
      dimension.stride /= 2;
  return {std::move(x), std::move(values), scaleOf(*this)};
}

std::vector<TensorSpec> QuantizeProblem::temporaries() const {
  if (!isShared())
    return {};
  return {{"amax", TensorRole::Output, ElementType::F32, saturatingMultiply(saturatingMultiply(batch, heads), parts()), {}, true,
           /*strided=*/false}};
}

std::string QuantizeProblem::describe() const {
  std::string text = std::string(optionName(from)) + " B" + std::to_string(batch) + " S" + std::to_string(seq) + " H" +
                     std::to_string(heads) + " D" + std::to_string(headDim) + " " + std::string(attention::toString(layout)) + " to " +
                     std::string(optionName(to)) + " per " + std::string(attention::toString(per));
  if (per == ScalesPer::Block)
    text += std::to_string(block);
  if (headsOfScale != 1)
    text += " of " + std::to_string(headsOfScale);
  if (strides)
    text += " x=" + std::to_string(strides->batch) + "," + std::to_string(strides->sequence) + "," + std::to_string(strides->head);
  return text;
}

static Status checkTypes(const QuantizeProblem &problem) {
  const ElementType from = problem.from, to = problem.to;
  if (!isOperandType(from) && from != ElementType::F32)
    return unsupported("x has elements of " + std::string(optionName(from)) + ", use bf16, fp16 or f32");
  bool isFp8 = to == ElementType::F8E4M3 || to == ElementType::F8E5M2, isMx = problem.per == ScalesPer::Mx;
  if (isFp8 || (isMx ? isPacked(problem) : to == ElementType::I8)) {
    if (isPacked(problem) && from == ElementType::F32)
      return unsupported("x has elements of f32 and dtype is f4e2m1, which is made of 16 bits; convert x to bf16 or fp16");
    return Status::success();
  }
  return unsupported("dtype is " + std::string(optionName(to)) + " per " + std::string(toString(problem.per)) + ", use " +
                     (isMx ? "f8e4m3, f8e5m2 or f4e2m1" : "f8e4m3, f8e5m2 or i8; f4e2m1 has scales per mx"));
}

static Status checkExtents(const QuantizeProblem &problem) {
  auto outside = [](const char *name, int64_t found, int64_t most) {
    return invalidInput(std::string(name) + " is " + std::to_string(found) + ", it must be from 1 to " + std::to_string(most));
  };
  for (auto [name, value, most] : {std::tuple("batch", problem.batch, kMaxGrid), {"seq", problem.seq, kMaxRows},
                                   {"heads", problem.heads, kMaxGrid / (kMaxHeadDim / kMxBlock)},
                                   {"head-dim", problem.headDim, kMaxHeadDim}, {"block", problem.block, kMaxScales},
                                   {"heads-of-scale", problem.headsOfScale, problem.heads}})
    if (value < 1 || value > most)
      return outside(name, value, most);
  if (problem.headsOfScale != 1 && (problem.per != ScalesPer::Head || problem.heads % problem.headsOfScale != 0))
    return invalidInput("heads-of-scale is " + std::to_string(problem.headsOfScale) + " with scales per " +
                        std::string(toString(problem.per)) + " of " + std::to_string(problem.heads) +
                        " heads; it divides the heads and goes with scales per head");
  if (problem.per == ScalesPer::Mx && problem.headDim % kMxBlock != 0)
    return invalidInput("head-dim is " + std::to_string(problem.headDim) + ", scales per mx want a multiple of " +
                        std::to_string(kMxBlock) + "; pad it with zeros");
  for (const TensorSpec &spec : problem.temporaries())
    if (spec.elements() > kMaxScales)
      return invalidInput("scales per " + std::string(toString(problem.per)) + " are more than " + std::to_string(kMaxScales) +
                          "; use larger blocks");
  return Status::success();
}

Status attention::validate(const QuantizeProblem &problem) {
  if (Status status = checkExtents(problem); !status.ok())
    return status;
  if (Status status = checkTypes(problem); !status.ok())
    return status;
  for (const TensorSpec &tensor : problem.tensors())
    if (Status status = manifest::validate(tensor); !status.ok())
      return status;
  if (isPacked(problem) && problem.strides)
    for (auto [name, extent, stride] : {std::tuple("batch", problem.batch, problem.strides->batch),
                                        {"sequence", problem.seq, problem.strides->sequence},
                                        {"head", problem.heads, problem.strides->head}})
      if (extent > 1 && stride % 2 != 0)
        return invalidInput("the " + std::string(name) + " stride of 'x' is " + std::to_string(stride) +
                            " elements, for f4e2m1 it must be even");
  return Status::success();
}

static manifest::Variables variablesOf(const QuantizeProblem &problem) {
  manifest::Variables variables;
  for (auto [name, value] : {std::pair("batch", problem.batch), {"seq", problem.seq}, {"heads", problem.heads},
                             {"parts", problem.isShared() ? problem.parts() : 1},
                             {"part_rows", problem.isShared() ? problem.rowsOfPart() : 1},
                             {"scale_heads", problem.heads / problem.headsOfScale},
                             {"amax_parts", problem.isShared() ? problem.temporaries().front().rowElements : 1}})
    variables.emplace(name, Value::integer(value));
  std::vector<TensorSpec> tensors = problem.tensors();
  for (TensorSpec &between : problem.temporaries())
    tensors.push_back(std::move(between));
  addVariables(variables, tensors);
  return variables;
}

QuantizePlan::QuantizePlan(QuantizeProblem problem, std::vector<PlannedLaunch> launches)
    : LaunchPlan(std::move(launches), problem.tensors(), variablesOf(problem), problem.temporaries()), description(problem) {}

Result<std::shared_ptr<const QuantizePlan>> QuantizePlan::make(QuantizeProblem problem, std::vector<PlannedLaunch> launches) {
  std::shared_ptr<QuantizePlan> plan(new QuantizePlan(std::move(problem), std::move(launches)));
  if (Status status = plan->measure("quantize " + plan->description.describe()); !status.ok())
    return status.error();
  return std::shared_ptr<const QuantizePlan>(std::move(plan));
}
