// The ops on values, interpreted as matrices of numbers with error bounds: what a wave's kernel
// computes, without layouts, registers or lanes.
#pragma once

#include "ValueKernel.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace hocket::test {

/// A fragment, by memory rows and columns; row values are 1 column, column values 1 row, a number
/// both.
struct Matrix {
  int64_t rows = 1, columns = 1;
  std::vector<reference::Number> numbers;

  reference::Number at(int64_t row, int64_t column) const {
    return numbers[(rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)];
  }
};

/// What the kernel of `module` stores into each of its arguments that are views, by number; the
/// kernel is a list of loads at 0, maps, reductions and stores at 0. `arguments` as given to
/// runKernel.
Result<std::map<unsigned, Matrix>> interpretKernel(mlir::ModuleOp module,
                                                   const std::vector<Argument> &arguments);

} // namespace hocket::test
