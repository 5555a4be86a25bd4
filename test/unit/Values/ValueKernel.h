// Kernels of one workgroup on the simulator, whose views are matrices and vectors of numbers.
#pragma once

#include "Reference/ElementProgram.h"
#include "hocket/Support/Result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hocket::test {

/// The contents of a view: a matrix, or a vector if `rank` is 1.
struct Tensor {
  ElementType type = ElementType::F32;
  int64_t rows = 1, columns = 0;
  std::vector<double> numbers; ///< row by row; what a kernel does not write stays NaN or 0
  int rank = 2;
};

/// A view's tensor, which the kernel may write, or a number.
using Argument = std::variant<Tensor *, float, int32_t>;

/// Compiles the one kernel of `text` and runs one workgroup of it under checked execution. Errors:
/// what does not compile, does not finish, or is found by the checks.
Status runKernel(std::string_view text, std::string_view kernel, unsigned waves,
                 const std::vector<Argument> &arguments, const std::string &target = "gfx950");

/// Variables of a manifest that are no pointers.
using Sizes = std::map<std::string, std::variant<int64_t, double>>;

/// A change of a kernel's text: `to` in place of every `from`, which must be there.
struct Edit {
  std::string from, to;
};

/// Compiles kernels/tile/`name`.mlir, with `edit` if there is one, and launches it as its manifest
/// says: `tensors` are the variables that are pointers, by name, `sizes` all others.
Status runShippedKernel(const std::string &name,
                        const std::vector<std::pair<std::string, Tensor *>> &tensors,
                        const Sizes &sizes, const std::string &target = "gfx950",
                        const std::optional<Edit> &edit = std::nullopt);

} // namespace hocket::test
