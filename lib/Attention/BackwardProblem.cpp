// The backward's tensors, and what follows from them.
#include "hocket/Attention/BackwardProblem.h"

#include "Attention/GroupParts.h"
#include "Attention/ProblemParts.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using manifest::TensorRole;
using manifest::TensorSpec;

static constexpr std::string_view kAccumulations[] = {"none", "f32", "packed"};

std::string_view attention::toString(Accumulation accumulation) {
  return kAccumulations[static_cast<size_t>(accumulation)];
}

std::optional<Accumulation> attention::accumulationOf(std::string_view name) {
  auto found = std::find(std::begin(kAccumulations), std::end(kAccumulations), name);
  if (found == std::end(kAccumulations))
    return std::nullopt;
  return static_cast<Accumulation>(found - std::begin(kAccumulations));
}

/// "do" for "o": the tensor of which another is the gradient, as text.
static std::string gradientName(const TensorSpec &tensor) { return "d" + tensor.name; }

/// The gradient of `tensor`: dense, where `given` does not say otherwise.
static TensorSpec gradientOf(const ForwardProblem &forward, const TensorSpec &tensor,
                             const BackwardProblem &problem, TensorRole role) {
  // A forward without strides has dense tensors.
  ForwardProblem dense = forward;
  dense.strides.clear();
  TensorSpec gradient = dense.tensor(tensor.name);
  gradient.name = gradientName(tensor);
  gradient.role = role;
  auto given = problem.gradientStrides.find(gradient.name);
  for (manifest::TensorDimension &dimension : gradient.dimensions) {
    dimension.variable = "d" + dimension.variable;
    if (given == problem.gradientStrides.end())
      continue;
    dimension.stride = dimension.name == "batch"  ? given->second.batch
                       : dimension.name == "head" ? given->second.head
                                                  : given->second.sequence;
    // Kernels work on blocks of rows: those behind the only one must not lie within it.
    if (dimension.name == "sequence" && dimension.extent == 1)
      dimension.stride = std::max(dimension.stride, gradient.rowElements);
  }
  return gradient;
}

std::vector<TensorSpec> BackwardProblem::tensors() const {
  std::vector<TensorSpec> list, gradients;
  for (TensorSpec &tensor : forward.tensors()) {
    bool isOutput = tensor.role == TensorRole::Output;
    tensor.role = TensorRole::Input;
    if (tensor.name == "lse")
      tensor.wanted = true;
    if (tensor.name == "o")
      list.push_back(gradientOf(forward, tensor, *this, TensorRole::Input));
    else if (tensor.strided && !isOutput)
      gradients.push_back(gradientOf(forward, tensor, *this, TensorRole::Output));
    if (tensor.name == "lse" && lseGradient) {
      TensorSpec gradient = gradientOf(forward, tensor, *this, TensorRole::Input);
      gradient.wanted = true;
      list.push_back(std::move(gradient));
    }
    list.push_back(std::move(tensor));
  }
  list.insert(list.end(), gradients.begin(), gradients.end());
  if (forward.blocks.any() && transposedLists)
    for (TensorSpec &tensor : transposedTensors(forward, TensorRole::Input))
      list.push_back(std::move(tensor));
  for (const std::string &name : otherGradients) {
    TensorSpec gradient = forward.tensor(name);
    gradient.name = "d_" + name;
    gradient.role = TensorRole::Output;
    for (manifest::TensorDimension &dimension : gradient.dimensions)
      dimension.variable = "d_" + dimension.variable;
    list.push_back(std::move(gradient));
  }
  return list;
}

/// What parts of a group's heads make of the gradient of `name`: dense, in f32.
static TensorSpec partsOf(const BackwardProblem &problem, const std::string &name, int64_t parts) {
  ForwardProblem widened = problem.forward;
  widened.strides.clear();
  widened.kvHeads = manifest::saturatingMultiply(widened.kvHeads, parts);
  TensorSpec tensor = widened.tensor(name);
  tensor.name = "parts_d" + name;
  tensor.role = TensorRole::Output;
  tensor.type = ElementType::F32;
  for (manifest::TensorDimension &dimension : tensor.dimensions)
    dimension.variable = "parts_d" + dimension.variable;
  return tensor;
}

std::vector<TensorSpec> BackwardProblem::temporaries() const {
  std::vector<TensorSpec> list;
  if (forward.blocks.any() && !transposedLists)
    list = transposedTensors(forward, TensorRole::Output);
  if (int64_t parts = partsOfGroup(*this); parts > 1)
    for (const char *name : {"k", "v"})
      list.push_back(partsOf(*this, name, parts));
  return list;
}

TensorSpec BackwardProblem::tensor(std::string_view name) const {
  for (TensorSpec &tensor : tensors())
    if (tensor.name == name)
      return std::move(tensor);
  return {}; // a bug of the caller: there is no memory of that name
}

std::string BackwardProblem::describe() const {
  ForwardProblem plain = forward;
  plain.wantLse = false;
  std::string text = "backward of " + plain.describe();
  for (const auto &[name, strides] : gradientStrides)
    text += " " + name + "=" + std::to_string(strides.batch) + "," +
            std::to_string(strides.sequence) + "," + std::to_string(strides.head);
  for (const std::string &name : otherGradients)
    text += " d_" + name;
  if (lseGradient)
    text += " dlse";
  if (accumulate != Accumulation::None)
    text += " accumulate " + std::string(toString(accumulate));
  if (deterministic)
    text += " deterministic";
  if (groupParts != 0)
    text += " group parts " + std::to_string(groupParts);
  if (transposedLists)
    text += " transposed lists";
  return text;
}

/// Whether `name` is one that modifications of scores read numbers of.
static bool isRead(const ForwardProblem &forward, const std::string &name) {
  for (const Modification &modification : forward.modifications)
    for (const CapturedTensor &tensor : modification.tensors)
      if (!modification.isMask && tensor.name == name)
        return tensor.type != ElementType::I32 && tensor.type != ElementType::I8;
  return false;
}

static Status checkOther(const ForwardProblem &forward, const std::string &name) {
  if (name == "sink" ? forward.sink : isRead(forward, name))
    return Status::success();
  return unsupported("the gradient of '" + name + "' is asked for; " +
                     (name == "sink" ? "the problem has no sink"
                                     : "there are those of q, k, v, the sink, and tensors of floating-point numbers "
                                       "that modifications of scores read"));
}

/// What kernels ask of lists: blocks have whole waves of rows.
static Status checkBlocks(const BackwardProblem &problem) {
  constexpr int64_t unit = 32;
  const BlockSizes &blocks = problem.forward.blocks;
  if (problem.accumulate != Accumulation::None)
    return unsupported("'accumulate' does not go by block lists; leave it out");
  if (blocks.queries % unit != 0 || blocks.keys % unit != 0)
    return unsupported("blocks have " + std::to_string(blocks.queries) + " queries and " + std::to_string(blocks.keys) +
                       " keys, the backward takes multiples of " + std::to_string(unit) + "; use such");
  return Status::success();
}

Status attention::validate(const BackwardProblem &problem) {
  ForwardProblem forward = problem.forward;
  forward.tuning = {};
  if (Status status = validate(forward); !status.ok())
    return status;
  if (forward.dtype != HeadTypes(forward.dtype.q) || !isOperandType(forward.dtype.q) || forward.descale || forward.outputScale)
    return unsupported("dtype is " + optionName(forward.dtype) + (forward.descale ? " with descales" : "") +
                       (forward.outputScale ? " with output-scale" : "") +
                       ", whose gradients no kernel computes; use bf16 or fp16");
  if (forward.update.appends)
    return unsupported("what is appended to a cache has no gradient; append in a call before");
  if (forward.minSeqlenQ != 0)
    return unsupported("gradients are those of all sequences; leave min-seqlen-q at 0");
  if (forward.work.any())
    return unsupported("a list of work is of forwards; leave it out");
  if (forward.lists.inPages())
    return unsupported("keys in pages have no backward; give dense or packed ones");
  for (const std::string &name : problem.otherGradients)
    if (Status status = checkOther(forward, name); !status.ok())
      return status;
  if (problem.deterministic && problem.accumulate != Accumulation::None)
    return invalidInput("'deterministic' is asked for, and 'accumulate' " + std::string(toString(problem.accumulate)) +
                        ", which adds dQ up in whatever order workgroups come to it; leave one of them out");
  const int64_t group = forward.heads / forward.kvHeads;
  const int64_t parts = problem.groupParts;
  const bool isOfHeads = parts > 0 && group % parts == 0;
  const bool isOfSlices = parts > 0 && parts % group == 0 && parts / group <= kMaxSlices && !forward.blocks.any();
  if (parts != 0 && !isOfHeads && !isOfSlices)
    return invalidInput("group-parts is " + std::to_string(parts) + ", and " + std::to_string(group) +
                        " query heads share a KV head; use a divisor of " + std::to_string(group) +
                        (forward.blocks.any() ? "" : ", " + std::to_string(group) + " times 2 to " + std::to_string(kMaxSlices)) +
                        ", or 0 for as many as are best");
  if (problem.transposedLists && !forward.blocks.any())
    return invalidInput("transposed lists are given, of no block lists; leave them out");
  if (forward.blocks.any())
    if (Status status = checkBlocks(problem); !status.ok())
      return status;
  std::vector<TensorSpec> tensors = problem.tensors();
  for (const auto &[name, strides] : problem.gradientStrides) {
    bool isKnown = name == "do" || name == "dq" || name == "dk" || name == "dv";
    if (!isKnown)
      return invalidInput("strides are given for '" + name + "'; gradients are do, dq, dk, dv");
  }
  for (const auto &list : {tensors, problem.temporaries()})
    for (const TensorSpec &tensor : list)
      if (Status status = manifest::validate(tensor); !status.ok())
        return status;
  return Status::success();
}

manifest::Variables attention::problemVariables(const BackwardProblem &problem,
                                                const manifest::Addresses *addresses) {
  ForwardProblem forward = problem.forward;
  forward.wantLse = true;
  manifest::Variables variables = problemVariables(forward);
  std::vector<TensorSpec> tensors = problem.tensors(), between = problem.temporaries();
  tensors.insert(tensors.end(), between.begin(), between.end());
  addVariables(variables, tensors);
  variables.emplace("group_parts", manifest::Value::integer(partsOfGroup(problem)));
  if (addresses)
    addAddresses(variables, tensors, *addresses);
  return variables;
}
