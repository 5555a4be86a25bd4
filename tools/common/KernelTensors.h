// Tensors and numbers of a kernel by name: what the command line says of them, and what they hold.
#pragma once

#include "Elements.h"

#include "hocket/Manifest/Tensors.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket::run {

/// One tensor.
struct KernelTensor {
  std::string name;
  Array initial;
  std::vector<int64_t> strides;    ///< in memory, in elements; empty: dense
  std::string source;              ///< for reports: a file, "random, seed 3", "zero"
  bool isOutput = false;           ///< made for the kernel to write
  std::vector<std::string> saveTo; ///< files
  std::string expectedFile;        ///< "" if nothing is expected
  Array expected;
  Tolerance tolerance;

  /// Whether the kernel may change it.
  bool mayChange() const { return isOutput || !saveTo.empty() || !expectedFile.empty(); }
};

/// What the options say, in the order of the command line.
struct TensorTexts {
  std::vector<std::string> tensors, randoms, strides, saves, expectations, tolerances;
  uint64_t seed = 0; ///< of random tensors without one
};

/// Reads everything, files included, and checks that it fits together. Errors name the option.
Result<std::vector<KernelTensor>> readTensors(const TensorTexts &texts);
/// Texts as in "scale=0.125", of --scalar.
Result<manifest::Variables> readScalars(const std::vector<std::string> &texts);

/// How a tensor lies in memory: rows of `rowBytes` bytes, as they follow in C order, at `offsets`.
struct TensorRows {
  std::vector<uint64_t> offsets;
  uint64_t rowBytes = 0;
};
TensorRows rowsOf(const KernelTensor &tensor);

/// "128x64 bf16".
std::string describe(const Array &array);
/// As short as it reads back the same up to nine digits: "0.1", "-inf", "nan".
std::string showNumber(double value);
/// "[3, 17]" of the element that is at `index` in C order.
std::string position(const Array &array, int64_t index);

} // namespace hocket::run
