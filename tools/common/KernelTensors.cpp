// Tensors from the command line.
#include "KernelTensors.h"

#include "hocket/Runtime/File.h"

#include "Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <cstdio>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

static Error badOption(StringRef option, StringRef value, const std::string &wanted) {
  return invalidInput("option '--" + option.str() + "' has the value '" + value.str() +
                      "', expected " + wanted);
}

static Result<ElementType> parseType(StringRef option, StringRef value, StringRef name) {
  if (std::optional<ElementType> type = parseElementType(name))
    return *type;
  return badOption(option, value,
                   "a type as in 'bf16' in place of '" + name.str() + "'; known are " +
                       elementTypeNames());
}

/// "128x64": extents.
static std::optional<std::vector<int64_t>> parseShape(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, 'x');
  std::vector<int64_t> shape;
  for (StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0)
      return std::nullopt;
    shape.push_back(extent);
  }
  return shape;
}

/// A shape and a type, with the bytes that they take.
struct ShapeAndType {
  std::vector<int64_t> shape;
  ElementType type;
  uint64_t bytes;
};

static Result<ShapeAndType> parseShapeAndType(StringRef option, StringRef value, StringRef shape,
                                              StringRef type) {
  std::optional<std::vector<int64_t>> extents = parseShape(shape);
  if (!extents)
    return badOption(option, value, "a shape as in '128x64' in place of '" + shape.str() + "'");
  Result<ElementType> parsed = parseType(option, value, type);
  if (!parsed.ok())
    return parsed.error();
  Result<uint64_t> bytes = arrayBytes(*extents, *parsed, "tensor '" + value.str() + "'");
  if (!bytes.ok())
    return bytes.error();
  return ShapeAndType{*std::move(extents), *parsed, *bytes};
}

/// FILE[:TYPE]. Directories may have colons in their names, files not.
static Result<Array> readArray(StringRef option, StringRef value, StringRef text) {
  auto [file, type] = text.rsplit(':');
  if (type.empty() || type.contains('/'))
    return readNpy(text.str());
  Result<ElementType> as = parseType(option, value, type);
  if (!as.ok())
    return as.error();
  return readNpy(file.str(), *as);
}

static Result<KernelTensor> readTensor(const std::string &value) {
  auto [name, rest] = StringRef(value).split('=');
  llvm::SmallVector<StringRef> parts;
  rest.split(parts, ',');
  if (name.empty() || rest.empty() || (parts.size() != 1 && parts.size() != 3))
    return badOption("tensor", value,
                     "'NAME=FILE.npy' or, to be written, 'NAME=FILE.npy,128x64,bf16'");
  KernelTensor tensor;
  tensor.name = name.str();
  if (parts.size() == 1) {
    Result<Array> array = readArray("tensor", value, rest);
    if (!array.ok())
      return array.error();
    tensor.source = rest.str();
    tensor.initial = *std::move(array);
    return std::move(tensor);
  }
  Result<ShapeAndType> shape = parseShapeAndType("tensor", value, parts[1], parts[2]);
  if (!shape.ok())
    return shape.error();
  tensor.initial = {shape->type, std::move(shape->shape), std::vector<std::byte>(shape->bytes)};
  tensor.source = "zero";
  tensor.isOutput = true;
  tensor.saveTo.push_back(parts[0].str());
  return std::move(tensor);
}

static Result<KernelTensor> readRandom(const std::string &value, uint64_t seed) {
  auto [name, rest] = StringRef(value).split('=');
  llvm::SmallVector<StringRef> parts;
  rest.split(parts, ',');
  if (name.empty() || parts.size() < 2 || parts.size() > 3 ||
      (parts.size() == 3 && parts[2].getAsInteger(0, seed)))
    return badOption("random", value, "'NAME=SHAPE,TYPE[,SEED]' as in 'x=128x64,bf16,1'");
  Result<ShapeAndType> shape = parseShapeAndType("random", value, parts[0], parts[1]);
  if (!shape.ok())
    return shape.error();
  KernelTensor tensor;
  tensor.name = name.str();
  tensor.source = "random, seed " + std::to_string(seed);
  tensor.initial = randomArray(std::move(shape->shape), shape->type, shape->bytes, seed);
  return std::move(tensor);
}

static Result<KernelTensor *> findTensor(std::vector<KernelTensor> &tensors, StringRef option,
                                         StringRef name) {
  for (KernelTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return invalidInput("option '--" + option.str() + "' is about tensor '" + name.str() +
                      "', which is not given; give it with --tensor or --random");
}

/// Whether no two elements share a place: each dimension steps over all that the ones of smaller
/// strides reach.
static bool areApart(const std::vector<int64_t> &shape, const std::vector<int64_t> &strides) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides))
    if (extent > 1)
      steps.emplace_back(stride, extent);
  llvm::sort(steps);
  int64_t reach = 0;
  for (auto [stride, extent] : steps) {
    if (stride <= reach)
      return false;
    reach += stride * (extent - 1);
  }
  return true;
}

static Status addStrides(std::vector<KernelTensor> &tensors, const TensorTexts &texts) {
  constexpr int64_t largest = int64_t(1) << 36; // bytes from the first element to the last
  for (const std::string &value : texts.strides) {
    auto [name, text] = StringRef(value).split('=');
    std::optional<std::vector<int64_t>> strides = parseShape(text);
    if (name.empty() || !strides)
      return badOption("strides", value, "'NAME=STRIDES' as in 'x=4096x1'");
    Result<KernelTensor *> found = findTensor(tensors, "strides", name);
    if (!found.ok())
      return found.error();
    KernelTensor &tensor = **found;
    const std::vector<int64_t> &shape = tensor.initial.shape;
    auto refuse = [&](const std::string &why) {
      return invalidInput("strides " + text.str() + " of tensor '" + tensor.name + "', which is " +
                          describe(tensor.initial) + ", " + why);
    };
    if (!tensor.strides.empty())
      return invalidInput("option '--strides' is given twice for tensor '" + tensor.name + "'");
    if (strides->size() != shape.size())
      return refuse("are " + std::to_string(strides->size()) + ", one for each dimension is wanted");
    const int64_t bytes = bytesOf(tensor.initial.dtype);
    int64_t reach = 0;
    for (auto [extent, stride] : llvm::zip_equal(shape, *strides)) {
      if (stride > largest / std::max<int64_t>(extent, 1))
        return refuse("reach beyond 64 GiB; use smaller ones");
      reach += stride * (extent - 1) * bytes;
      if (stride * bytes % 2 != 0 && stride != 1)
        return refuse("put elements of one byte at odd distances; use even ones");
    }
    if (reach > largest)
      return refuse("reach beyond 64 GiB; use smaller ones");
    if (!areApart(shape, *strides))
      return refuse("let elements share places; give strides that keep them apart");
    tensor.strides = *std::move(strides);
  }
  return Status::success();
}

TensorRows run::rowsOf(const KernelTensor &tensor) {
  const std::vector<int64_t> &shape = tensor.initial.shape;
  const uint64_t elementBytes = bytesOf(tensor.initial.dtype);
  TensorRows rows = {{0}, tensor.initial.data.size()};
  if (tensor.strides.empty() || shape.empty())
    return rows;
  // Elements that are side by side, along the last dimension, are a row.
  const bool isDense = tensor.strides.back() == 1 || shape.back() == 1;
  rows.rowBytes = elementBytes * (isDense ? shape.back() : 1);
  const size_t dimensions = shape.size() - (isDense ? 1 : 0);
  for (size_t i = 0; i != dimensions; ++i) {
    std::vector<uint64_t> next;
    for (uint64_t offset : rows.offsets)
      for (int64_t index = 0; index != shape[i]; ++index)
        next.push_back(offset + index * tensor.strides[i] * elementBytes);
    rows.offsets = std::move(next);
  }
  return rows;
}

static Status addSaves(std::vector<KernelTensor> &tensors, const TensorTexts &texts) {
  for (const std::string &value : texts.saves) {
    auto [name, file] = StringRef(value).split('=');
    if (name.empty() || file.empty())
      return badOption("save", value, "'NAME=FILE.npy'");
    Result<KernelTensor *> tensor = findTensor(tensors, "save", name);
    if (!tensor.ok())
      return tensor.error();
    (*tensor)->saveTo.push_back(file.str());
  }
  WrittenFiles written;
  for (const KernelTensor &tensor : tensors)
    for (const std::string &file : tensor.saveTo) {
      if (Status status = checkWritable(file); !status.ok())
        return status;
      if (Status status = written.add(file, "tensor '" + tensor.name + "'"); !status.ok())
        return status;
    }
  return Status::success();
}

/// Whether unsigned integers of the file can only be the bits of a type that numpy does not have.
static bool areBitsOf(ElementType file, ElementType tensor) {
  const ElementTypeInfo &info = infoOf(tensor);
  return info.kind != ElementKind::Int && info.numpy == infoOf(file).numpy && infoOf(file).kind == ElementKind::Int;
}

static Status addExpectations(std::vector<KernelTensor> &tensors, const TensorTexts &texts) {
  for (const std::string &value : texts.expectations) {
    auto [name, file] = StringRef(value).split('=');
    if (name.empty() || file.empty())
      return badOption("expect", value, "'NAME=FILE.npy'");
    Result<KernelTensor *> found = findTensor(tensors, "expect", name);
    if (!found.ok())
      return found.error();
    KernelTensor &tensor = **found;
    if (!tensor.expectedFile.empty())
      return invalidInput("option '--expect' is given twice for tensor '" + tensor.name + "'");
    Result<Array> array = readArray("expect", value, file);
    if (!array.ok())
      return array.error();
    if (array->shape != tensor.initial.shape)
      return invalidInput("'" + file.str() + "' is " + describe(*array) + ", tensor '" +
                          tensor.name + "' is " + describe(tensor.initial));
    // What numpy has no type for is saved as bits, which nobody means as integers.
    if (areBitsOf(array->dtype, tensor.initial.dtype))
      return invalidInput("'" + file.str() + "' has elements of " +
                          std::string(toString(array->dtype)) + ", tensor '" +
                          tensor.name + "' is " + describe(tensor.initial) + "; write '" +
                          file.str() + ":" + std::string(toString(tensor.initial.dtype)) +
                          "' to take them for its bits");
    tensor.expected = *std::move(array);
    tensor.expectedFile = file.str();
    tensor.tolerance = defaultTolerance(tensor.initial.dtype);
  }
  return Status::success();
}

static std::optional<Tolerance> parseTolerance(StringRef text) {
  auto [absolute, relative] = text.split(',');
  Tolerance tolerance;
  if (absolute.getAsDouble(tolerance.absolute) ||
      (relative.empty() ? absolute : relative).getAsDouble(tolerance.relative))
    return std::nullopt;
  bool right = std::isfinite(tolerance.absolute) && std::isfinite(tolerance.relative) &&
               tolerance.absolute >= 0 && tolerance.relative >= 0;
  return right ? std::optional(tolerance) : std::nullopt;
}

static Status addTolerances(std::vector<KernelTensor> &tensors, const TensorTexts &texts) {
  for (const std::string &value : texts.tolerances) {
    StringRef numbers = value, name;
    if (numbers.contains('='))
      std::tie(name, numbers) = numbers.split('=');
    std::optional<Tolerance> tolerance = parseTolerance(numbers);
    if (!tolerance)
      return badOption("tolerance", value,
                       "one or two numbers from 0 on, as in '1e-2' or 'o=1e-3,1e-2'");
    bool used = false;
    for (KernelTensor &tensor : tensors)
      if (!tensor.expectedFile.empty() && (name.empty() || tensor.name == name)) {
        tensor.tolerance = *tolerance;
        used = true;
      }
    if (!used)
      return invalidInput("option '--tolerance' has no effect: nothing is expected of " +
                          (name.empty() ? "any tensor" : "tensor '" + name.str() + "'") +
                          "; add '--expect'");
  }
  return Status::success();
}

Result<std::vector<KernelTensor>> run::readTensors(const TensorTexts &texts) {
  std::vector<KernelTensor> tensors;
  auto add = [&](Result<KernelTensor> tensor) -> Status {
    if (!tensor.ok())
      return tensor.error();
    if (llvm::any_of(tensors,
                     [&](const KernelTensor &other) { return other.name == tensor->name; }))
      return invalidInput("tensor '" + tensor->name + "' is given twice");
    if (tensor->initial.data.empty())
      return invalidInput("tensor '" + tensor->name + "' has no elements");
    tensors.push_back(*std::move(tensor));
    return Status::success();
  };
  for (const std::string &value : texts.tensors)
    if (Status status = add(readTensor(value)); !status.ok())
      return status.error();
  for (const std::string &value : texts.randoms)
    if (Status status = add(readRandom(value, texts.seed)); !status.ok())
      return status.error();
  for (auto step : {addStrides, addSaves, addExpectations, addTolerances})
    if (Status status = step(tensors, texts); !status.ok())
      return status.error();
  return std::move(tensors);
}

Result<manifest::Variables> run::readScalars(const std::vector<std::string> &texts) {
  manifest::Variables scalars;
  for (const std::string &text : texts) {
    auto [name, number] = StringRef(text).split('=');
    int64_t integer;
    double real;
    manifest::Value value;
    if (!name.empty() && !number.getAsInteger(0, integer))
      value = manifest::Value::integer(integer);
    else if (!name.empty() && !number.getAsDouble(real) && std::isfinite(real))
      value = manifest::Value::real(real);
    else
      return invalidInput("option '--scalar' has the value '" + text +
                          "', expected a name and a number as in 'scale=0.125'");
    if (!scalars.try_emplace(name.str(), value).second)
      return invalidInput("scalar '" + name.str() + "' is given twice");
  }
  return std::move(scalars);
}

std::string run::describe(const Array &array) {
  std::string text;
  for (int64_t extent : array.shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return (text.empty() ? "one" : text) + " " + std::string(toString(array.dtype));
}

std::string run::showNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string run::position(const Array &array, int64_t index) {
  std::string text;
  for (int64_t extent : llvm::reverse(array.shape)) {
    text = std::to_string(index % extent) + (text.empty() ? "" : ", " + text);
    index /= extent;
  }
  return "[" + text + "]";
}
