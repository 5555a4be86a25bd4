// Modifications as lists of steps.
#include "Reference/ScoreInterpreter.h"

#include "ElementOps.h"
#include "ElementSlopes.h"

#include "Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::reference;
using attention::CapturedNumbers;
using attention::ForwardProblem;
using attention::ScorePosition;

namespace {
/// A captured tensor, by the extents that it has; an extent of 1 stands for all indices below `whole`.
struct Table {
  std::vector<double> numbers;
  std::vector<int64_t> extents, whole;

  /// The number's place; -1 outside.
  int64_t placeOf(std::span<const int64_t> indices) const {
    int64_t place = 0;
    for (size_t i = 0; i != extents.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= whole[i])
        return -1;
      place = place * extents[i] + (extents[i] == 1 ? 0 : indices[i]);
    }
    return place;
  }
};

/// One op: a function of elements, a constant, or a look-up.
struct Step {
  ElementFunction function = nullptr;
  std::string name; ///< of the op
  const Table *table = nullptr;
  SmallVector<unsigned, 3> operands; ///< numbers of values
  ElementType from{}, to{};
  int64_t detail = 0;
  Number constant;
  bool isTruth = false; ///< reads bytes that are true where they are not 0
};

/// A modification, ready to be run for many elements.
class Program {
public:
  static Result<Program> create(FunctionOpInterface op, const ForwardProblem &problem,
                                const std::map<std::string, Table> &tables);
  bool isMask = false;
  double run(double score, const ScorePosition &position) const { return move(score, 0, position).value; }
  /// What comes of a score that moves by `tangent`.
  struct Moving {
    double value, tangent;
  };
  /// `read` is the table whose numbers move, by 1, and which of them; null: none do.
  struct MovingTable {
    const Table *table;
    int64_t place = -1;
  };
  Moving move(double score, double tangent, const ScorePosition &position, MovingTable *read = nullptr) const;

private:
  Status addBlock(Block &block, const std::map<std::string, Table> &tables);
  Status add(Operation &op, const std::map<std::string, Table> &tables);
  Status addBranch(scf::IfOp op, const std::map<std::string, Table> &tables);
  unsigned numberOf(Value value) const { return numbers.lookup(value); }
  void define(Value value) {
    unsigned next = numbers.size();
    numbers[value] = next;
  }

  llvm::DenseMap<Value, unsigned> numbers; ///< only while it is made
  llvm::DenseMap<Value, std::string> tensors;
  /// Behind the score and the position: of each sequence, or of all.
  std::vector<std::vector<Number>> captured;
  std::vector<Step> steps;
  unsigned yielded = 0;
};

class Rules : public attention::ScoreRules {
public:
  double modified(double scaled, const ScorePosition &position) const override {
    for (const Program &program : programs)
      if (!program.isMask)
        scaled = program.run(scaled, position);
    return scaled;
  }
  double derivative(double scaled, const ScorePosition &position) const override {
    Program::Moving moving{scaled, 1};
    for (const Program &program : programs)
      if (!program.isMask)
        moving = program.move(moving.value, moving.tangent, position);
    return moving.tangent;
  }
  Influence influence(std::string_view tensor, double scaled, const ScorePosition &position) const override {
    auto found = tables.find(std::string(tensor));
    if (found == tables.end())
      return {};
    Program::MovingTable read{&found->second};
    Program::Moving moving{scaled, 0};
    for (const Program &program : programs)
      if (!program.isMask)
        moving = program.move(moving.value, moving.tangent, position, &read);
    return {moving.tangent, read.place};
  }
  bool sees(const ScorePosition &position) const override {
    return llvm::all_of(programs, [&](const Program &program) {
      return !program.isMask || program.run(0, position) != 0;
    });
  }

  std::map<std::string, Table> tables;
  std::vector<Program> programs;
};
} // namespace

Status Program::addBranch(scf::IfOp op, const std::map<std::string, Table> &tables) {
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
    if (Status status = addBlock(region->front(), tables); !status.ok())
      return status;
  Operation *a = op.getThenRegion().front().getTerminator();
  Operation *b = op.getElseRegion().front().getTerminator();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    Result<ElementType> type = reference::computedTypeOf(result.getType());
    if (!type.ok())
      return type.error();
    Step step;
    step.function = functionOf("arith.select");
    step.name = "arith.select";
    step.operands = {numberOf(op.getCondition()), numberOf(a->getOperand(index)),
                     numberOf(b->getOperand(index))};
    step.from = ElementType::I1;
    step.to = *type;
    steps.push_back(step);
    define(result);
  }
  return Status::success();
}

Status Program::add(Operation &op, const std::map<std::string, Table> &tables) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addBranch(branch, tables);
  Step step;
  Result<ElementType> to = reference::computedTypeOf(op.getResult(0).getType());
  if (!to.ok())
    return to.error();
  step.from = step.to = *to;
  std::string name = op.getName().getStringRef().str();
  if (auto read = dyn_cast<attn::ReadOp>(op)) {
    step.table = &tables.at(tensors.lookup(read.getTensor()));
    step.isTruth = read.getResult().getType().isInteger(1);
    for (Value index : read.getIndices())
      step.operands.push_back(numberOf(index));
  } else if (name == "arith.constant") {
    Result<Number> constant = constantOf(op);
    if (!constant.ok())
      return constant.error();
    step.constant = *constant;
  } else {
    for (Value operand : op.getOperands())
      step.operands.push_back(numberOf(operand));
    Result<ElementType> from = reference::computedTypeOf(op.getOperand(0).getType());
    if (!from.ok())
      return from.error();
    step.from = *from;
    if (auto predicate = op.getAttrOfType<IntegerAttr>("predicate"))
      step.detail = predicate.getInt();
    step.function = functionOf(name);
    step.name = name;
    if (!step.function || step.operands.size() > 3)
      return invalidInput("the interpreter of modifications does not know '" + name + "'");
  }
  steps.push_back(step);
  define(op.getResult(0));
  return Status::success();
}

Status Program::addBlock(Block &block, const std::map<std::string, Table> &tables) {
  for (Operation &op : block.without_terminator())
    if (Status status = add(op, tables); !status.ok())
      return status;
  return Status::success();
}

/// The problem's variables; of each sequence, where sequences have lengths of their own.
static std::vector<manifest::Variables> variablesOfSequences(const ForwardProblem &problem) {
  manifest::Variables variables = attention::problemVariables(problem);
  if (!problem.lists.any())
    return {std::move(variables)};
  std::vector<manifest::Variables> result;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    attention::Lengths lengths = problem.lengthsOf(sequence);
    variables["seq_q"] = manifest::Value::integer(lengths.q);
    variables["seq_kv"] = manifest::Value::integer(lengths.kv);
    result.push_back(variables);
  }
  return result;
}

Result<Program> Program::create(FunctionOpInterface op, const ForwardProblem &problem,
                                const std::map<std::string, Table> &tables) {
  Program program;
  program.isMask = isa<attn::MaskModOp>(op);
  Block &block = op.getFunctionBody().front();
  unsigned own = program.isMask ? 4 : 5;
  std::vector<manifest::Variables> variables = variablesOfSequences(problem);
  program.captured.resize(variables.size());
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (isa<RankedTensorType>(argument.getType())) {
      program.tensors[argument] = op.getArgAttrOfType<StringAttr>(index, "attn.bind").str();
      continue;
    }
    program.define(argument);
    if (index < own)
      continue;
    std::string text = op.getArgAttrOfType<StringAttr>(index, "attn.value").str();
    Result<manifest::Expression> expression = manifest::Expression::parse(text);
    if (!expression.ok())
      return expression.error();
    ElementType type = argument.getType().isF32() ? ElementType::F32 : ElementType::I32;
    for (auto [own, list] : llvm::zip_equal(variables, program.captured)) {
      Result<manifest::Value> value = expression->evaluate(own);
      if (!value.ok())
        return value.error();
      list.push_back({reference::roundTo(type, value->asReal()), 0});
    }
  }
  if (Status status = program.addBlock(block, tables); !status.ok())
    return status.error();
  program.yielded = program.numberOf(block.getTerminator()->getOperand(0));
  program.numbers.clear();
  return program;
}

Program::Moving Program::move(double score, double tangent, const ScorePosition &position, MovingTable *read) const {
  SmallVector<Number, 64> values;
  SmallVector<double, 64> tangents;
  if (!isMask)
    values.push_back({reference::roundTo(ElementType::F32, score), 0});
  for (int64_t place : {position.batch, position.head, position.query, position.key})
    values.push_back({static_cast<double>(place), 0});
  size_t sequence = captured.size() == 1 ? 0 : static_cast<size_t>(position.batch);
  llvm::append_range(values, captured[sequence]);
  tangents.resize(values.size());
  if (!isMask)
    tangents.front() = tangent;
  for (const Step &step : steps) {
    if (step.table) {
      SmallVector<int64_t, 4> indices;
      for (unsigned operand : step.operands)
        indices.push_back(static_cast<int64_t>(values[operand].value));
      int64_t place = step.table->placeOf(indices);
      double number = place < 0 ? 0 : step.table->numbers[static_cast<size_t>(place)];
      values.push_back({step.isTruth ? (number != 0 ? -1.0 : 0.0) : number, 0});
      bool moves = read && read->table == step.table && place >= 0;
      if (moves)
        read->place = place;
      tangents.push_back(moves ? 1 : 0);
      continue;
    }
    if (!step.function) {
      values.push_back(step.constant);
      tangents.push_back(0);
      continue;
    }
    Number operands[3];
    SmallVector<double, 3> points, moves;
    for (auto [operand, number] : llvm::zip(operands, step.operands)) {
      operand = values[number];
      points.push_back(operand.value), moves.push_back(tangents[number]);
    }
    Number result = step.function(operands, step.from, step.to, step.detail);
    // How far the kernel may be off is judged at the end, on O.
    values.push_back({result.value, 0});
    tangents.push_back(isFloat(step.to) ? tangentOf(step.name, points, moves, result.value) : 0);
  }
  return {values[yielded].value, tangents[yielded]};
}

/// The extents that `modification` says of `tensor`.
static std::vector<int64_t> wholeExtents(const attention::CapturedTensor &tensor,
                                         const manifest::Variables &variables) {
  std::vector<int64_t> extents;
  for (const std::string &size : tensor.sizes) {
    Result<manifest::Expression> expression = manifest::Expression::parse(size);
    Result<manifest::Value> value =
        expression.ok() ? expression->evaluate(variables) : expression.error();
    extents.push_back(value.ok() ? value->asInteger() : 0);
  }
  return extents;
}

Result<std::shared_ptr<const attention::ScoreRules>>
reference::interpretModifications(const ForwardProblem &problem, const CapturedNumbers &captured) {
  auto rules = std::make_shared<Rules>();
  manifest::Variables variables = attention::problemVariables(problem);
  for (const attention::Modification &modification : problem.modifications)
    for (const attention::CapturedTensor &tensor : modification.tensors) {
      auto content = captured.find(tensor.name);
      if (content == captured.end())
        return invalidInput("there is no content of '" + tensor.name + "'");
      std::vector<int64_t> whole = wholeExtents(tensor, variables);
      auto given = problem.capturedExtents.find(tensor.name);
      rules->tables[tensor.name] = {
          content->second, given == problem.capturedExtents.end() ? whole : given->second, whole};
    }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  for (const attention::Modification &modification : problem.modifications) {
    auto module = parseSourceString<ModuleOp>(modification.text, ParserConfig(&context),
                                              modification.name);
    if (!module)
      return invalidInput("modification '" + modification.name + "' cannot be read");
    for (auto op : module->getOps<FunctionOpInterface>()) {
      Result<Program> program = Program::create(op, problem, rules->tables);
      if (!program.ok())
        return program.error();
      rules->programs.push_back(*std::move(program));
    }
  }
  return std::shared_ptr<const attention::ScoreRules>(std::move(rules));
}
