// Shapes, strides and the rules that hold for every kernel. What passes `validate` can be computed
// with anywhere else without checks for overflow.
#include "hocket/Gemm/GemmProblem.h"

using namespace hocket;
using namespace hocket::gemm;
using manifest::Value;

static constexpr MatrixName kMatrices[] = {MatrixName::A, MatrixName::B, MatrixName::C};
static constexpr int64_t kMaxExtent = int64_t(1) << 31, kMaxSpan = int64_t(1) << 45;

std::string_view gemm::toString(MatrixName matrix) {
  constexpr std::string_view names[] = {"a", "b", "c"};
  return names[static_cast<size_t>(matrix)];
}

int64_t GemmProblem::stride(MatrixName matrix) const {
  return strides[static_cast<size_t>(matrix)].value_or((columns(matrix) + 7) / 8 * 8);
}

std::string GemmProblem::describe() const {
  std::string text = std::string(toString(dtype)) + " " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k);
  for (MatrixName matrix : kMatrices)
    if (const auto &given = strides[static_cast<size_t>(matrix)])
      text += " " + std::string(toString(matrix)) + "=" + std::to_string(*given);
  return text;
}

static Status checkStride(const GemmProblem &problem, MatrixName matrix) {
  std::string name = "stride of " + std::string(toString(matrix));
  int64_t stride = problem.stride(matrix), rows = problem.rows(matrix), span;
  if (stride < 0)
    return invalidInput(name + " is " + std::to_string(stride) + ", it must not be negative");
  if (__builtin_mul_overflow(stride, rows, &span) || span > kMaxSpan)
    return invalidInput(name + " is " + std::to_string(stride) + ": " + std::to_string(rows) +
                        " rows of it span more than " + std::to_string(kMaxSpan) + " elements");
  if (matrix == MatrixName::C && rows > 1 && stride < problem.n)
    return invalidInput(name + " is " + std::to_string(stride) + ", less than its " +
                        std::to_string(problem.n) + " columns: rows would overlap");
  return Status::success();
}

Status gemm::validate(const GemmProblem &problem) {
  for (auto [name, value] :
       {std::pair("m", problem.m), std::pair("n", problem.n), std::pair("k", problem.k)})
    if (value < 1 || value > kMaxExtent)
      return invalidInput(std::string(name) + " is " + std::to_string(value) + ", 1 to " +
                          std::to_string(kMaxExtent) + " are possible");
  for (MatrixName matrix : kMatrices)
    if (Status status = checkStride(problem, matrix); !status.ok())
      return status;
  return Status::success();
}

manifest::Variables gemm::problemVariables(const GemmProblem &problem,
                                           const GemmPointers *pointers) {
  manifest::Variables variables = {
      {"m", Value::integer(problem.m)},
      {"n", Value::integer(problem.n)},
      {"k", Value::integer(problem.k)},
      {"is_bf16", Value::integer(problem.dtype == DataType::BF16)},
      {"is_fp16", Value::integer(problem.dtype == DataType::FP16)},
      {"element_bytes", Value::integer(2)},
  };
  for (MatrixName matrix : kMatrices)
    variables[std::string(toString(matrix)) + "_stride"] = Value::integer(problem.stride(matrix));
  if (!pointers)
    return variables;
  for (auto [name, address] :
       {std::pair("a", pointers->a), std::pair("b", pointers->b), std::pair("c", pointers->c)})
    variables[name] = Value::integer(static_cast<int64_t>(address));
  return variables;
}
