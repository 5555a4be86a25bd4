// What modifications and lists of blocks capture of a problem, and what is asked of it.
#include "Attention/ProblemParts.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingMultiply;
using manifest::TensorRole;
using manifest::TensorSpec;
using manifest::Value;

/// The extents of `tensor` that the modification says; those that cannot be told are 0.
static std::vector<int64_t> wholeExtents(const CapturedTensor &tensor,
                                         const manifest::Variables &variables) {
  std::vector<int64_t> extents;
  for (const std::string &size : tensor.sizes) {
    Result<manifest::Expression> expression = manifest::Expression::parse(size);
    Result<Value> value = expression.ok() ? expression->evaluate(variables) : expression.error();
    extents.push_back(value.ok() && value->isInteger() ? value->asInteger() : 0);
  }
  return extents;
}

static TensorSpec captured(const CapturedTensor &tensor, const std::vector<int64_t> &extents) {
  TensorSpec spec{tensor.name, TensorRole::Input, tensor.type, extents.back(), {}, true,
                  /*strided=*/false};
  int64_t stride = extents.back();
  for (size_t dimension = extents.size() - 1; dimension-- > 0;) {
    int64_t extent = extents[dimension];
    std::string number = std::to_string(dimension);
    // Of an extent of 1 the kernel may ask for any index.
    spec.dimensions.insert(spec.dimensions.begin(),
                           {"dimension " + number, tensor.name + "_stride_" + number, extent,
                            extent == 1 ? 0 : stride});
    stride = saturatingMultiply(stride, extent);
  }
  return spec;
}

/// The tensors of block lists; those of full blocks are the last two.
static std::vector<CapturedTensor> blockTensors(const BlockSizes &blocks) {
  std::string rows = "ceildiv(seq_q, " + std::to_string(blocks.queries) + ")";
  std::string columns = "ceildiv(seq_kv, " + std::to_string(blocks.keys) + ")";
  std::vector<CapturedTensor> tensors;
  for (std::string prefix : {"", "full_"}) {
    tensors.push_back({prefix + "kv_num_blocks", ElementType::I32, {"batch", "heads", rows}});
    tensors.push_back({prefix + "kv_indices", ElementType::I32, {"batch", "heads", rows, columns}});
  }
  return tensors;
}

std::vector<TensorSpec> attention::transposedTensors(const ForwardProblem &problem, TensorRole role) {
  TensorSpec whole = problem.tensor("kv_indices");
  int64_t batch = whole.dimensions[0].extent, heads = whole.dimensions[1].extent;
  int64_t rows = whole.dimensions[2].extent, columns = whole.rowElements;
  std::vector<TensorSpec> tensors;
  for (std::string prefix : {"", "full_"}) {
    tensors.push_back(captured({prefix + "q_num_blocks", ElementType::I32, {}}, {batch, heads, columns}));
    tensors.push_back(captured({prefix + "q_indices", ElementType::I32, {}}, {batch, heads, columns, rows}));
  }
  for (TensorSpec &tensor : tensors) {
    tensor.role = role;
    tensor.wanted = problem.fullBlocks || !tensor.name.starts_with("full_");
  }
  return tensors;
}

bool attention::isBlockList(std::string_view tensor) {
  return tensor.ends_with("kv_num_blocks") || tensor.ends_with("kv_indices");
}

/// Block lists, and what each modification captures.
static std::vector<std::vector<CapturedTensor>> capturedTensors(const ForwardProblem &problem) {
  std::vector<std::vector<CapturedTensor>> lists;
  if (problem.blocks.queries > 0 && problem.blocks.keys > 0)
    lists.push_back(blockTensors(problem.blocks));
  for (const Modification &modification : problem.modifications)
    lists.push_back(modification.tensors);
  return lists;
}

void attention::addCaptured(const ForwardProblem &problem, std::vector<TensorSpec> &list) {
  if (problem.modifications.empty() && !problem.blocks.any())
    return;
  manifest::Variables variables = scalarVariables(problem);
  for (const std::vector<CapturedTensor> &tensors : capturedTensors(problem))
    for (const CapturedTensor &tensor : tensors) {
      if (std::any_of(list.begin(), list.end(),
                      [&](const TensorSpec &known) { return known.name == tensor.name; }))
        continue;
      auto given = problem.capturedExtents.find(tensor.name);
      list.push_back(captured(tensor, given != problem.capturedExtents.end() &&
                                              given->second.size() == tensor.sizes.size()
                                          ? given->second
                                          : wholeExtents(tensor, variables)));
      if (problem.makesBlocks && isBlockList(tensor.name))
        list.back().role = TensorRole::Output;
      if (tensor.name.starts_with("full_kv_") && !problem.fullBlocks && problem.blocks.any())
        list.back().wanted = false;
    }
}

static Status checkCaptured(const ForwardProblem &problem, const std::string &who,
                            const std::vector<CapturedTensor> &tensors, const manifest::Variables &variables);

/// Names of modifications, what they are called by, and what they take.
static Status checkModification(const ForwardProblem &problem, const Modification &modification,
                                const manifest::Variables &variables) {
  std::string who = "modification '" + modification.name + "'";
  for (const std::string &number : modification.numbers) {
    Result<manifest::Expression> expression = manifest::Expression::parse(number);
    Result<Value> value = expression.ok() ? expression->evaluate(variables) : expression.error();
    if (!value.ok())
      return invalidInput(who + " takes the number '" + number + "': " + value.error().message +
                          "; give the problem that number");
  }
  return checkCaptured(problem, who, modification.tensors, variables);
}

/// What `who` reads.
static Status checkCaptured(const ForwardProblem &problem, const std::string &who,
                            const std::vector<CapturedTensor> &tensors, const manifest::Variables &variables) {
  for (const CapturedTensor &tensor : tensors) {
    std::vector<int64_t> whole = wholeExtents(tensor, variables);
    for (size_t i = 0; i != whole.size(); ++i)
      if (whole[i] < 1)
        return invalidInput(who + " reads '" + tensor.name + "', whose extent '" +
                            tensor.sizes[i] + "' is no number from 1 on");
    auto given = problem.capturedExtents.find(tensor.name);
    if (given == problem.capturedExtents.end())
      continue;
    bool fits = given->second.size() == whole.size() && given->second.back() == whole.back();
    for (size_t i = 0; fits && i != whole.size(); ++i)
      fits = given->second[i] == whole[i] || given->second[i] == 1;
    if (fits)
      continue;
    auto list = [](const std::vector<int64_t> &extents) {
      std::string text;
      for (int64_t extent : extents)
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
      return text;
    };
    return invalidInput("'" + tensor.name + "' is " + list(given->second) + ", " + who +
                        " reads " + list(whole) +
                        "; every extent but the last may be 1 instead");
  }
  return Status::success();
}

/// "window_left -2, window_right 0": the numbers that `condition` is about.
static std::string numbersIn(const manifest::Expression &condition, const manifest::Variables &variables) {
  std::string text;
  for (const std::string &name : condition.variables())
    if (auto number = variables.find(name); number != variables.end())
      text += (text.empty() ? "" : ", ") + name + " " + shortest(number->second.asReal());
  return text;
}

/// What a modification asks of numbers.
static Status checkRules(const Modification &modification, const manifest::Variables &variables) {
  std::string who = "modification '" + modification.name + "'";
  for (const NumberRule &rule : modification.rules) {
    Result<manifest::Expression> condition = manifest::Expression::parse(rule.condition);
    if (!condition.ok())
      return invalidInput(who + " asks for '" + rule.condition + "': " + condition.error().message);
    for (const std::string &name : condition->variables())
      if (!variables.contains(name))
        return invalidInput(who + " takes the number '" + name + "', which the problem has not: " + rule.expected +
                            "; give the problem that number");
    Result<Value> holds = condition->evaluate(variables);
    if (!holds.ok())
      return invalidInput(who + " asks for '" + rule.condition + "': " + holds.error().message);
    if (holds->asReal() == 0)
      return invalidInput(who + " is given " + numbersIn(*condition, variables) + ", expected " + rule.expected);
  }
  return Status::success();
}

Status attention::checkModifications(const ForwardProblem &problem) {
  if (problem.modifications.empty() && problem.numbers.empty() && problem.capturedExtents.empty() &&
      !problem.blocks.any() && !problem.makesBlocks)
    return Status::success();
  if (problem.makesBlocks && !problem.blocks.any())
    return invalidInput("lists of blocks are to be made, of no size; say how many queries and keys a block has");
  for (auto [size, what] : {std::pair(problem.blocks.queries, "queries"), {problem.blocks.keys, "keys"}})
    if (problem.blocks.any() && size < 1)
      return invalidInput("blocks of " + std::to_string(size) + " " + what + " are asked for, expected at least 1");
  // What the problem says of itself cannot be said again.
  ForwardProblem bare = problem;
  bare.numbers.clear();
  manifest::Variables own = problemVariables(bare);
  for (const auto &[name, value] : problem.numbers)
    if (own.contains(name) || !std::isfinite(value))
      return invalidInput("number '" + name + "' " +
                          (own.contains(name) ? "is one of the problem's variables; call it otherwise"
                                              : "is not finite"));
  manifest::Variables variables = scalarVariables(problem);
  std::vector<std::string> names;
  for (const Modification &modification : problem.modifications) {
    if (std::find(names.begin(), names.end(), modification.name) != names.end())
      return invalidInput("there are two modifications '" + modification.name +
                          "'; give one of them another name");
    names.push_back(modification.name);
    if (Status status = checkRules(modification, variables); !status.ok())
      return status;
    if (Status status = checkModification(problem, modification, variables); !status.ok())
      return status;
  }
  if (problem.blocks.any())
    if (Status status = checkCaptured(problem, "a kernel with block lists", blockTensors(problem.blocks), variables);
        !status.ok())
      return status;
  std::vector<std::vector<CapturedTensor>> captured = capturedTensors(problem);
  for (const auto &[name, extents] : problem.capturedExtents)
    if (std::none_of(captured.begin(), captured.end(), [&](const std::vector<CapturedTensor> &tensors) {
          return std::any_of(tensors.begin(), tensors.end(),
                             [&](const CapturedTensor &tensor) { return tensor.name == name; });
        }))
      return invalidInput("extents are given for '" + name + "', which no modification reads");
  return Status::success();
}
