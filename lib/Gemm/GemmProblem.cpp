// Shapes, strides and the rules that hold for every kernel. What passes `validate` can be computed
// with anywhere else without checks for overflow.
#include "Gemm/GemmProblem.h"

using namespace hocket;
using namespace hocket::gemm;
using manifest::TensorRole;
using manifest::TensorSpec;
using manifest::Value;

static constexpr int64_t kMaxExtent = int64_t(1) << 31, kMaxSpan = int64_t(1) << 45;

std::vector<TensorSpec> GemmProblem::tensors() const {
  auto matrix = [&](const char *name, TensorRole role, int64_t rows, int64_t columns) {
    auto given = strides.find(name);
    int64_t stride =
        given != strides.end() ? given->second : manifest::saturatingAdd(columns, 7) / 8 * 8;
    return TensorSpec{
        name, role, dtype, columns, {{"row", std::string(name) + "_stride", rows, stride}}};
  };
  return {matrix("a", TensorRole::Input, m, k), matrix("b", TensorRole::Input, n, k),
          matrix("c", TensorRole::Output, m, n)};
}

std::string GemmProblem::describe() const {
  std::string text = std::string(optionName(dtype)) + " " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k);
  for (const auto &[name, stride] : strides)
    text += " " + name + "=" + std::to_string(stride);
  return text;
}

static Status checkStride(const TensorSpec &matrix) {
  const auto &[name, variable, rows, stride, tile] = matrix.dimensions.front();
  std::string what = "stride of " + matrix.name + " is " + std::to_string(stride);
  int64_t span;
  if (stride < 0)
    return invalidInput(what + ", it must not be negative");
  if (__builtin_mul_overflow(stride, rows, &span) || span > kMaxSpan)
    return invalidInput(what + ": " + std::to_string(rows) + " rows of it span more than " +
                        std::to_string(kMaxSpan) + " elements");
  if (matrix.role == TensorRole::Output && rows > 1 && stride < matrix.rowElements)
    return invalidInput(what + ", less than its " + std::to_string(matrix.rowElements) +
                        " columns: rows would overlap");
  return Status::success();
}

Status gemm::validate(const GemmProblem &problem) {
  for (auto [name, value] :
       {std::pair("m", problem.m), std::pair("n", problem.n), std::pair("k", problem.k)})
    if (value < 1 || value > kMaxExtent)
      return invalidInput(std::string(name) + " is " + std::to_string(value) + ", 1 to " +
                          std::to_string(kMaxExtent) + " are possible");
  for (const TensorSpec &matrix : problem.tensors())
    if (Status status = checkStride(matrix); !status.ok())
      return status;
  return Status::success();
}

manifest::Variables gemm::problemVariables(const GemmProblem &problem,
                                           const manifest::Addresses *addresses) {
  manifest::Variables variables = {
      {"m", Value::integer(problem.m)},
      {"n", Value::integer(problem.n)},
      {"k", Value::integer(problem.k)},
  };
  std::vector<TensorSpec> matrices = problem.tensors();
  addVariables(variables, matrices);
  if (addresses)
    addAddresses(variables, matrices, *addresses);
  return variables;
}
