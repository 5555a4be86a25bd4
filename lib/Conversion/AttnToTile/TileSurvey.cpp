// Masks' code, evaluated.
#include "Conversion/TileSurvey.h"

#include "VisitedTiles.h"

#include <bit>

using namespace mlir;
using namespace hocket;

// Names of arguments that no number of a problem has.
static constexpr StringRef kBatch = "survey batch", kHead = "survey head", kRow = "survey row",
                           kWaveRow = "survey wave row", kTile = "survey tile", kQueries = "survey queries",
                           kSurveyKeys = "survey keys";

namespace {
class MaskSurvey : public TileSurvey {
public:
  MaskSurvey(Shape shape, MLIRContext *context) : shape(shape), frame(context) {}
  bool build(ModuleOp module, bool isCausal);

  SmallVector<StringRef> numbers() const override;
  bool dependsOnHeads() const override;
  void set(int64_t seqQ, int64_t seqKv, ArrayRef<double> numbers) override;
  StringRef obstacle() const override { return unknownOp; }
  std::optional<SmallVector<int64_t>> visited(const Workgroup &workgroup) override;
  std::optional<bool> isCut(int64_t row, int64_t tile, bool countsMasks) override;

private:
  void emit(Location loc);
  void evaluate(Operation *from, Operation *to);
  bool evaluate(Operation &op);
  bool evaluateByFolding(Operation &op);
  std::optional<int64_t> find(Value value) const;

  Shape shape;
  KernelFrame frame;
  SmallVector<std::unique_ptr<ModificationProgram>> programs;
  size_t masks = 0; ///< how many of `programs`, the first, are `attn.mask_mod`; the end of keys follows them
  SmallVector<std::string> names;
  tile::KernelOp kernel;
  VisitedTiles tiles;
  Value cut, cutByOwn; ///< by any mask, and by those that are no `attn.mask_mod`
  Operation *ofWave = nullptr, *ofTile = nullptr; ///< where the parts of the code begin
  llvm::DenseMap<Value, int64_t> known; ///< integers; of f32 the bits
  std::string unknownOp;
};
} // namespace

TileSurvey::~TileSurvey() = default;

std::unique_ptr<TileSurvey> TileSurvey::create(ModuleOp module, bool isCausal, Shape shape) {
  auto survey = std::make_unique<MaskSurvey>(shape, module.getContext());
  return survey->build(module, isCausal) ? std::move(survey) : nullptr;
}

bool MaskSurvey::build(ModuleOp module, bool isCausal) {
  Location loc = module.getLoc();
  auto scores = tile::FragType::get(module.getContext(), {shape.kvTile, kWaveRows},
                                    Float32Type::get(module.getContext()), tile::FragLayout::Acc);
  auto addProgram = [&](Operation *op) { programs.push_back(std::make_unique<ModificationProgram>(op, scores)); };
  for (auto mask : module.getOps<attn::MaskModOp>())
    addProgram(mask);
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Operation *> own = {createEnd(atEnd, loc)};
  if (isCausal)
    own.push_back(createWindow(atEnd, loc, std::nullopt, 0));
  for (Operation *op : own) {
    addProgram(op);
    op->erase();
  }
  masks = programs.size() - own.size();
  Type i32 = IntegerType::get(module.getContext(), 32);
  for (StringRef name : {kBatch, kHead, kRow, kWaveRow, kTile, kQueries, kSurveyKeys})
    frame.addScalar(i32, name);
  for (const auto &program : programs)
    if (failed(program->addArguments(frame)))
      return false;
  ImplicitLocOpBuilder at(loc, atEnd);
  kernel = frame.create(at, "survey", "gfx950", 1);
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    StringRef name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tile.bind");
    if ((argument.getType().isInteger(32) || argument.getType().isF32()) && !name.starts_with("survey "))
      names.push_back(name.str());
  }
  emit(loc);
  return true;
}

void MaskSurvey::emit(Location loc) {
  ExpansionBuilder builder(loc, OpBuilder::atBlockEnd(&kernel.getBody().front()));
  Value queries = frame.argument(kQueries), keys = frame.argument(kSurveyKeys);
  Value lastQuery = arith::SubIOp::create(builder, queries, builder.constant(int64_t(1)));
  Value lastKey = arith::SubIOp::create(builder, keys, builder.constant(int64_t(1)));
  auto rowsFrom = [&](Value first, int64_t count) -> QueryRange {
    Value last = arith::AddIOp::create(builder, first, builder.constant(count - 1));
    return {first, arith::MinSIOp::create(builder, last, lastQuery)};
  };
  ScorePlace place = {frame.argument(kBatch), frame.argument(kHead), frame.argument(kRow), builder.constant(int64_t(0))};
  std::vector<MaskBounds> bounds;
  SmallVector<MaskBounds *> ofVisits;
  for (const auto &program : programs) {
    program->bindArguments(frame);
    program->prepare(builder, place);
    bounds.emplace_back(*program).prepare(place);
  }
  // Behind the last key there are no tiles to visit; that it ends in one hides there.
  for (auto [index, mask] : llvm::enumerate(bounds))
    if (index != masks)
      ofVisits.push_back(&mask);
  tiles = visitTiles(builder, MaskBounds::visible(builder, ofVisits, rowsFrom(frame.argument(kRow), shape.rows)), keys,
                     shape.kvTile);
  Value first = frame.argument(kWaveRow);
  ofWave = builder.constant(int64_t(0)).getDefiningOp();
  for (MaskBounds &mask : bounds)
    mask.prepareCuts(builder, rowsFrom(first, kWaveRows));
  Value begin = arith::MulIOp::create(builder, frame.argument(kTile), builder.constant(shape.kvTile));
  ofTile = begin.getDefiningOp();
  Value end = arith::AddIOp::create(builder, begin, builder.constant(shape.kvTile - 1));
  end = arith::MinSIOp::create(builder, end, lastKey);
  Value none = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  auto anyOf = [&](ArrayRef<MaskBounds> of, Value any) {
    for (const MaskBounds &mask : of)
      any = arith::OrIOp::create(builder, any, mask.isCut(builder, begin, end));
    return any;
  };
  cutByOwn = anyOf(ArrayRef(bounds).drop_front(masks), none);
  cut = anyOf(ArrayRef(bounds).take_front(masks), cutByOwn);
  tile::ReturnOp::create(builder);
}

SmallVector<StringRef> MaskSurvey::numbers() const { return SmallVector<StringRef>(names.begin(), names.end()); }

bool MaskSurvey::dependsOnHeads() const {
  return llvm::any_of(programs, [](const auto &program) {
    return !program->block().getArgument(0).use_empty() || !program->block().getArgument(1).use_empty();
  });
}

void MaskSurvey::set(int64_t seqQ, int64_t seqKv, ArrayRef<double> numbers) {
  known.clear(), unknownOp.clear();
  known[frame.argument(kQueries)] = seqQ;
  known[frame.argument(kSurveyKeys)] = seqKv;
  for (auto [name, number] : llvm::zip_equal(names, numbers)) {
    Value argument = frame.argument(name);
    known[argument] = argument.getType().isF32() ? int64_t(std::bit_cast<uint32_t>(static_cast<float>(number)))
                                                 : static_cast<int64_t>(number);
  }
}

std::optional<int64_t> MaskSurvey::find(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

static std::optional<bool> compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  default:
    return std::nullopt;
  }
}

/// An op of two numbers; nothing for one that is not understood.
static std::optional<int64_t> compute(Operation &op, int64_t a, int64_t b) {
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison.getPredicate(), a, b);
  if (isa<arith::AddIOp>(op))
    return static_cast<int32_t>(a + b);
  if (isa<arith::SubIOp>(op))
    return static_cast<int32_t>(a - b);
  if (isa<arith::MulIOp>(op))
    return static_cast<int32_t>(a * b);
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  if (isa<arith::XOrIOp>(op))
    return a ^ b;
  bool isQuotient = isa<arith::DivSIOp>(op) || (isa<arith::DivUIOp>(op) && a >= 0 && b > 0);
  return isQuotient && b != 0 ? std::optional<int64_t>(a / b) : std::nullopt;
}

static std::optional<int64_t> numberOf(Attribute attribute) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getType().isInteger(1) ? number.getValue().getBoolValue() : number.getInt();
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute); number && number.getType().isF32())
    return static_cast<int64_t>(number.getValue().bitcastToAPInt().getZExtValue());
  return std::nullopt;
}

static Attribute attributeOf(Type type, int64_t number) {
  if (type.isF32())
    return FloatAttr::get(type, APFloat(std::bit_cast<float>(static_cast<uint32_t>(number))));
  return type.isSignlessInteger() ? Attribute(IntegerAttr::get(type, number)) : Attribute();
}

/// What the op's folder makes of numbers: slower than arithmetic here, and all that the dialects know.
bool MaskSurvey::evaluateByFolding(Operation &op) {
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(attributeOf(operand.getType(), known[operand]));
  SmallVector<OpFoldResult, 1> results;
  if (llvm::is_contained(operands, Attribute()) || op.getNumResults() != 1 || failed(op.fold(operands, results)) ||
      results.size() != 1)
    return false;
  std::optional<int64_t> number;
  if (auto value = dyn_cast<Value>(results.front()))
    number = find(value);
  else
    number = numberOf(cast<Attribute>(results.front()));
  if (number)
    known[op.getResult(0)] = *number;
  return number.has_value();
}

/// Whether the result of `op` is known; i1 are 0 and 1.
bool MaskSurvey::evaluate(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    std::optional<int64_t> number = numberOf(constant.getValue());
    if (number)
      known[constant] = *number;
    return number.has_value();
  }
  if (op.getNumResults() == 0)
    return false;
  if (auto map = dyn_cast<tile::MapOp>(op)) { // of numbers
    Block &body = map.getBody().front();
    if (map.getNumResults() != 1 || body.getNumArguments() != map.getInputs().size())
      return false;
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), map.getInputs()))
      if (std::optional<int64_t> number = find(input))
        known[argument] = *number;
      else
        return false;
    for (Operation &inner : body.without_terminator())
      if (!evaluate(inner))
        return false;
    known[map.getResult(0)] = known[body.getTerminator()->getOperand(0)];
    return true;
  }
  SmallVector<int64_t, 3> operands;
  for (Value operand : op.getOperands())
    if (std::optional<int64_t> number = find(operand))
      operands.push_back(*number);
    else
      return false;
  std::optional<int64_t> result;
  if (isa<arith::SelectOp>(op))
    result = operands[0] != 0 ? operands[1] : operands[2];
  else if (operands.size() == 2 && !op.getOperand(0).getType().isF32())
    result = compute(op, operands[0], operands[1]);
  if (result)
    known[op.getResult(0)] = *result;
  else if (!evaluateByFolding(op) && unknownOp.empty() && !op.getOperands().empty() &&
           op.getName().getDialectNamespace() != tile::TileDialect::getDialectNamespace())
    unknownOp = op.getName().getStringRef();
  return find(op.getResult(0)).has_value();
}

void MaskSurvey::evaluate(Operation *from, Operation *to) {
  for (Operation *op = from; op && op != to; op = op->getNextNode())
    if (!evaluate(*op))
      for (Value result : op->getResults())
        known.erase(result);
}

std::optional<SmallVector<int64_t>> MaskSurvey::visited(const Workgroup &workgroup) {
  known[frame.argument(kBatch)] = workgroup.batch;
  known[frame.argument(kHead)] = workgroup.head;
  known[frame.argument(kRow)] = workgroup.row;
  known.erase(frame.argument(kWaveRow));
  evaluate(&kernel.getBody().front().front(), ofWave);
  std::optional<int64_t> first = find(tiles.first), count = find(tiles.count);
  if (!first || !count)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (int64_t t = 0; t != *count; ++t) {
    int64_t number = *first + t;
    for (const VisitedTiles::Jump &jump : tiles.jumps)
      if (std::optional<int64_t> after = find(jump.after), by = find(jump.by); !after || !by)
        return std::nullopt;
      else if (t >= *after)
        number += *by;
    result.push_back(number);
  }
  return result;
}

std::optional<bool> MaskSurvey::isCut(int64_t row, int64_t tile, bool countsMasks) {
  Value waveRow = frame.argument(kWaveRow);
  if (find(waveRow) != row) {
    known[waveRow] = row;
    evaluate(ofWave, ofTile);
  }
  known[frame.argument(kTile)] = tile;
  evaluate(ofTile, nullptr);
  std::optional<int64_t> found = find(countsMasks ? cut : cutByOwn);
  return found ? std::optional<bool>(*found != 0) : std::nullopt;
}
