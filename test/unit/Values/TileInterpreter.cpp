// The ops on values, interpreted as matrices of numbers.
#include "TileInterpreter.h"

#include "Tile/IR/RegionOps.h"
#include "Tile/IR/Tile.h"

#include <cmath>

using namespace hocket;
using namespace hocket::test;
using reference::Number;

namespace {
class Interpreter {
public:
  Interpreter(const std::vector<Argument> &arguments) : arguments(arguments) {}
  Status run(tile::KernelOp kernel);
  std::map<unsigned, Matrix> stored;

private:
  Status runOp(mlir::Operation &op);
  Status runLoad(tile::LoadOp op);
  Status runMap(tile::MapOp op);
  void runReduce(tile::ReduceOp op);

  const std::vector<Argument> &arguments;
  llvm::DenseMap<mlir::Value, Matrix> values;
};
} // namespace

/// The memory shape of a type.
static Matrix shapeOf(mlir::Type type) {
  Matrix matrix;
  if (auto frag = llvm::dyn_cast<tile::FragType>(type)) {
    matrix.rows = frag.getMemoryRows();
    matrix.columns = frag.getMemoryColumns();
  } else if (auto rows = llvm::dyn_cast<tile::RowsType>(type)) {
    matrix.rows = rows.getSize();
  } else if (auto columns = llvm::dyn_cast<tile::ColumnsType>(type)) {
    matrix.columns = columns.getSize();
  }
  matrix.numbers.resize(matrix.rows * matrix.columns);
  return matrix;
}

static unsigned argumentOf(mlir::Value view) {
  return llvm::cast<mlir::BlockArgument>(view).getArgNumber();
}

Status Interpreter::runLoad(tile::LoadOp op) {
  const Tensor &tensor = *std::get<Tensor *>(arguments[argumentOf(op.getView())]);
  Matrix matrix = shapeOf(op.getResult().getType());
  if (matrix.numbers.size() != tensor.numbers.size())
    return invalidInput("the interpreter loads whole tensors only");
  for (size_t i = 0; i != matrix.numbers.size(); ++i)
    matrix.numbers[i] = {tensor.numbers[i], 0};
  values[op.getResult()] = matrix;
  return Status::success();
}

Status Interpreter::runMap(tile::MapOp op) {
  Result<reference::ElementProgram> program = reference::ElementProgram::create(op.getBody());
  if (!program)
    return program.error();
  std::vector<Matrix> results;
  for (mlir::Type type : op.getResultTypes())
    results.push_back(shapeOf(type));
  int64_t rows = results.front().rows, columns = results.front().columns;
  std::vector<Number> elements(op.getBody().getNumArguments());
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t column = 0; column != columns; ++column) {
      size_t count = op.getInputs().size();
      for (size_t i = 0; i != count; ++i)
        elements[i] = values.find(op.getInputs()[i])->second.at(row, column);
      if (op.getCoordinates()) {
        elements[count] = {static_cast<double>(row), 0};
        elements[count + 1] = {static_cast<double>(column), 0};
      }
      std::vector<Number> yielded = program->run(elements);
      for (size_t i = 0; i != results.size(); ++i)
        results[i].numbers[row * columns + column] = yielded[i];
    }
  for (auto [result, matrix] : llvm::zip_equal(op.getResults(), results))
    values[result] = matrix;
  return Status::success();
}

/// In any order: the bound covers all.
static Number sum(const std::vector<Number> &numbers, bool isFloat) {
  Number total;
  double sizes = 0;
  for (const Number &number : numbers) {
    total.value += number.value;
    total.error += number.error;
    sizes += std::fabs(number.value) + number.error;
  }
  if (!isFloat) {
    total.value = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(total.value)));
    total.error = total.error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return total;
  }
  if (!std::isfinite(total.value))
    return {total.value, total.error == 0 ? 0 : std::numeric_limits<double>::infinity()};
  total.error += 0x1p-24 * static_cast<double>(numbers.size()) * sizes + 0x1p-148;
  return total;
}

static Number extreme(const std::vector<Number> &numbers, bool greatest) {
  Number result = numbers.front();
  for (const Number &number : numbers) {
    double error = std::max(result.error, number.error);
    bool isNan = std::isnan(result.value) || std::isnan(number.value);
    if (isNan)
      result.value = std::nan("");
    else if (greatest ? number.value > result.value : number.value < result.value)
      result.value = number.value;
    result.error = error;
  }
  return result;
}

static Number logical(const std::vector<Number> &numbers, bool all) {
  bool result = all, open = false;
  for (const Number &number : numbers) {
    result = all ? result && number.value != 0 : result || number.value != 0;
    open = open || number.error != 0;
  }
  return {result ? 1.0 : 0.0, open ? 1.0 : 0.0};
}

void Interpreter::runReduce(tile::ReduceOp op) {
  const Matrix source = values.find(op.getSource())->second;
  Matrix result = shapeOf(op.getResult().getType());
  bool overRows = op.getOver() == tile::Dimension::Rows;
  ElementType from = *reference::computedTypeOf(tile::elementTypeOf(op.getSource().getType()));
  ElementType to = *reference::computedTypeOf(tile::elementTypeOf(op.getResult().getType()));
  bool isFloat = from == ElementType::F32 || from == ElementType::F16 || from == ElementType::BF16;
  int64_t kept = overRows ? source.columns : source.rows;
  int64_t reduced = overRows ? source.rows : source.columns;
  for (int64_t i = 0; i != kept; ++i) {
    std::vector<Number> numbers;
    for (int64_t j = 0; j != reduced; ++j)
      numbers.push_back(overRows ? source.at(j, i) : source.at(i, j));
    tile::Reduction kind = op.getKind();
    Number number = kind == tile::Reduction::Sum ? sum(numbers, isFloat)
                    : kind == tile::Reduction::Max || kind == tile::Reduction::Min
                        ? extreme(numbers, kind == tile::Reduction::Max)
                        : logical(numbers, kind == tile::Reduction::All);
    if (to == ElementType::I8)
      number.value = static_cast<int8_t>(static_cast<int64_t>(number.value));
    double rounded = reference::roundTo(to, number.value);
    if (number.error != 0 || rounded != number.value)
      number.error += number.error == 0 ? 0 : reference::ulpOf(to, std::fabs(rounded) + number.error);
    number.value = rounded;
    result.numbers[i] = number;
  }
  values[op.getResult()] = result;
}

Status Interpreter::runOp(mlir::Operation &op) {
  if (auto load = llvm::dyn_cast<tile::LoadOp>(op))
    return runLoad(load);
  if (auto map = llvm::dyn_cast<tile::MapOp>(op))
    return runMap(map);
  if (auto reduce = llvm::dyn_cast<tile::ReduceOp>(op)) {
    runReduce(reduce);
    return Status::success();
  }
  if (auto store = llvm::dyn_cast<tile::StoreOp>(op)) {
    stored[argumentOf(store.getView())] = values.find(store.getValue())->second;
    return Status::success();
  }
  if (op.getName().getStringRef() == "arith.constant" || llvm::isa<tile::ReturnOp>(op))
    return Status::success();
  return invalidInput("the interpreter does not know " + op.getName().getStringRef().str());
}

Status Interpreter::run(tile::KernelOp kernel) {
  for (auto [value, argument] : llvm::zip_equal(kernel.getBody().getArguments(), arguments)) {
    if (auto *number = std::get_if<float>(&argument))
      values[value] = {1, 1, {{*number, 0}}};
    if (auto *number = std::get_if<int32_t>(&argument))
      values[value] = {1, 1, {{static_cast<double>(*number), 0}}};
  }
  for (mlir::Operation &op : kernel.getBody().front())
    if (Status status = runOp(op); !status)
      return status;
  return Status::success();
}

Result<std::map<unsigned, Matrix>>
hocket::test::interpretKernel(mlir::ModuleOp module, const std::vector<Argument> &arguments) {
  Interpreter interpreter(arguments);
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (Status status = interpreter.run(kernel); !status)
      return status.error();
  return interpreter.stored;
}
