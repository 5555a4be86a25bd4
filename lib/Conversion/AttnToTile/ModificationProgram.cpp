// Modifications as code on tiles.
#include "ModificationProgram.h"

#include "MaskTerms.h"
#include "ScaledYield.h"
#include "TileSides.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace hocket;

/// Both sides of a branch are computed, since neither has side effects, and selected from.
static void removeBranches(Operation *op) {
  SmallVector<scf::IfOp> branches;
  op->walk([&](scf::IfOp branch) { branches.push_back(branch); }); // inner ones first
  for (scf::IfOp branch : branches) {
    OpBuilder builder(branch);
    auto inlined = [&](Region &region) {
      Operation *yield = region.front().getTerminator();
      SmallVector<Value> values(yield->getOperands());
      yield->erase();
      branch->getBlock()->getOperations().splice(branch->getIterator(),
                                                 region.front().getOperations());
      return values;
    };
    SmallVector<Value> thenValues = inlined(branch.getThenRegion());
    SmallVector<Value> elseValues = inlined(branch.getElseRegion());
    for (auto [result, a, b] : llvm::zip_equal(branch.getResults(), thenValues, elseValues))
      result.replaceAllUsesWith(
          arith::SelectOp::create(builder, branch.getLoc(), branch.getCondition(), a, b));
    branch.erase();
  }
}

ModificationProgram::ModificationProgram(Operation *op, tile::FragType scores,
                                         Orientation orientation, bool ownLengths)
    : copy(op->clone()), scores(scores), orientation(orientation), ownLengths(ownLengths) {
  removeBranches(copy.get());
  body = &copy.get()->getRegion(0).front();
  bool isScore = isa<attn::ScoreModOp>(op);
  first = isScore ? 1 : 0;
  auto function = cast<FunctionOpInterface>(copy.get());
  unsigned own = first + 4;
  for (unsigned index = own; index != body->getNumArguments(); ++index) {
    Type type = body->getArgument(index).getType();
    StringRef key = isa<RankedTensorType>(type) ? "attn.bind" : "attn.value";
    captures.push_back({index, function.getArgAttrOfType<StringAttr>(index, key), type, nullptr});
  }
  findSpans();
}

bool ModificationProgram::scaleYield(float factor, bool asksOfScores) {
  bool asked = hocket::scaleYield(*body, factor, asksOfScores);
  findSpans();
  return asked;
}

bool ModificationProgram::splitTail() {
  tail = findScoreTail(*copy, *body, [&](Value value) { return isSameForBlock(value); });
  findSpans();
  if (tail)
    body->getTerminator()->setOperand(0, tail->inner);
  return tail.has_value();
}

void ModificationProgram::findSpans() {
  spans.clear(), ofQuery.clear();
  for (BlockArgument argument : body->getArguments())
    spans[argument] = Span::Uniform;
  if (first == 1)
    spans[body->getArgument(0)] = Span::Both;
  for (Value argument : {query(), head()})
    if (isMixed() || argument == rowArgument())
      spans[argument] = Span::Queries;
  spans[key()] = Span::Keys;
  ofQuery.insert(query());
  for (Operation &inner : body->without_terminator()) {
    Span span = Span::Uniform;
    for (Value operand : inner.getOperands())
      if (!(isa<attn::ReadOp>(inner) && isOfWave(operand)))
        span = span | spans.lookup(operand);
    bool depends = llvm::any_of(inner.getOperands(),
                                [&](Value operand) { return ofQuery.contains(operand); });
    for (Value result : inner.getResults()) {
      spans[result] = span;
      if (depends)
        ofQuery.insert(result);
    }
  }
}

/// Whether `index`, of what a score's modification reads, is the number of a block of queries that has all of a wave's: of
/// so many that waves' rows divide them.
bool ModificationProgram::isOfWave(Value index) const {
  Operation *op = index.getDefiningOp();
  APInt number;
  if (first != 1 || orientation != Orientation::QueriesInRows || !op || op->getNumOperands() != 2 || op->getOperand(0) != query() ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&number)))
    return false;
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return number.isStrictlyPositive() && number.getZExtValue() % kWaveRows == 0;
  return isa<arith::ShRUIOp, arith::ShRSIOp>(op) && number.uge(llvm::Log2_64(kWaveRows)) && number.ult(32);
}

ModificationProgram::~ModificationProgram() = default;

Span ModificationProgram::spanOf(Value value) const { return spans.lookup(value); }

/// Tensors of i1 are bytes in memory.
static Type storedType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

LogicalResult ModificationProgram::addArguments(KernelFrame &frame) {
  MLIRContext *context = (*copy)->getContext();
  auto function = cast<FunctionOpInterface>(copy.get());
  for (Capture &capture : captures) {
    StringRef name = capture.name.getValue();
    auto tensor = dyn_cast<RankedTensorType>(capture.type);
    Type type = capture.type;
    if (!tensor && ownLengths && LengthExpression::isNeededFor(name)) {
      Result<LengthExpression> expression = LengthExpression::parse(name);
      if (!expression.ok() || !type.isInteger(32))
        return (*copy)->emitOpError() << "'" << function.getName() << "': "
                                 << (expression.ok() ? "the number '" + name.str() +
                                                           "' depends on lengths, which each sequence has for "
                                                           "itself here, and so is an i32; take it as one"
                                                     : expression.error().message);
      expression->addArguments(frame, kMaxPosition);
      capture.ofLengths = std::make_shared<LengthExpression>(*std::move(expression));
      continue;
    }
    if (tensor)
      type = tile::ViewType::get(context, tensor.getShape(), storedType(tensor.getElementType()));
    if (Type asked = frame.typeOf(name)) {
      if (asked != type)
        return (*copy)->emitOpError() << "captures '" << name << "' as " << type
                                 << ", which is captured as " << asked << ", too";
      continue;
    }
    if (!tensor) {
      frame.addScalar(type, name);
      if (type.isInteger(32))
        frame.require("max(" + name + ", 0 - (" + name + ")) <= " + Twine(kMaxPosition),
                      "'" + name + "' may be at most " + Twine(kMaxPosition) + " in size");
      continue;
    }
    Tensor bound{name, {}, {}};
    auto sizes = function.getArgAttrOfType<ArrayAttr>(capture.argument, "attn.sizes");
    for (auto [dimension, size] : llvm::enumerate(sizes.getAsRange<StringAttr>())) {
      bound.sizes.push_back(size.getValue());
      if (static_cast<int64_t>(dimension) + 1 != tensor.getRank())
        bound.strides.push_back(
            StringAttr::get(context, name + "_stride_" + Twine(dimension)).getValue());
    }
    frame.addTensor(type, bound);
    if (isMixed() && tensor.getRank() == 4)
      frame.require("(min(heads / kv_heads, 32) - 1) * " + Twine(name) + "_stride_1 * " +
                        Twine(storedType(tensor.getElementType()).getIntOrFloatBitWidth() / 8) + " < " +
                        Twine(int64_t(1) << 31),
                    "the heads of a group must lie within 2 GiB in '" + Twine(name) + "'");
  }
  frame.require("max(max(batch, heads), max(seq_q, seq_kv)) <= " + Twine(kMaxPosition),
                "batch, heads, seq_q and seq_kv may be at most " + Twine(kMaxPosition) +
                    " with modifications");
  return success();
}

void ModificationProgram::bindArguments(const KernelFrame &frame) {
  for (const Capture &capture : captures) {
    if (capture.ofLengths)
      capture.ofLengths->bindArguments(frame);
    else
      arguments[body->getArgument(capture.argument)] = frame.argument(capture.name.getValue());
  }
}

Type ModificationProgram::typeFor(Span span, Type element) const {
  switch (span) {
  case Span::Uniform:
    return element;
  case Span::Queries:
  case Span::Keys:
    if (span == rowSpan())
      return tile::rowsOf(scores, element);
    return tile::columnsOf(scores, element);
  case Span::Both:
    return tile::FragType::get(element.getContext(), scores.getShape(), element,
                               scores.getRegisterLayout());
  }
  llvm_unreachable("all spans are handled");
}

/// Whether `op` reads [batch, head, query, key] where rows are mixed: its elements lie in lines along rows and keys.
bool ModificationProgram::readsLines(attn::ReadOp op) const {
  OperandRange indices = op.getIndices();
  return isMixed() && indices.size() == 4 && spanOf(indices[0]) == Span::Uniform && indices[1] == head() &&
         indices[2] == query() && indices[3] == key();
}

/// The number of the block of queries that has the wave's, which `index` says of each.
static Value blockOfWave(ExpansionBuilder &builder, Value index, const ScorePlace &place) {
  IRMapping mapping;
  Operation *op = index.getDefiningOp();
  mapping.map(op->getOperand(0), place.row);
  mapping.map(op->getOperand(1), builder.clone(*op->getOperand(1).getDefiningOp())->getResult(0));
  return builder.clone(*op, mapping)->getResult(0);
}

/// Where what `op` reads lies, for the scores at `place`.
ModificationProgram::Read ModificationProgram::describe(ExpansionBuilder &builder, attn::ReadOp op,
                                                        const ScorePlace &place) {
  if (Value rows = lines.lookup(op.getResult())) {
    Value zero = builder.constant(int64_t(0));
    if (place.numbers.pair)
      return {rows, {zero, place.numbers.pair, place.key}, IntegerAttr(), /*isDirect=*/true, builder.getDenseI64ArrayAttr({1, 0})};
    return {rows, {zero, zero, zero, place.key}, builder.getI64IntegerAttr(1)};
  }
  Value view = arguments.lookup(op.getTensor());
  // The dimensions along which queries, and keys, follow one another; others must be numbers.
  std::optional<int64_t> queries, keys;
  bool isDirect = true;
  for (auto [dimension, index] : llvm::enumerate(op.getIndices())) {
    if (spanOf(index) == Span::Uniform || isOfWave(index))
      continue;
    std::optional<int64_t> &along = index == rowArgument() ? queries : keys;
    isDirect &= (index == rowArgument() || index == key()) && !along;
    along = dimension;
  }
  int64_t last = op.getIndices().size() - 1;
  // Memory columns of a fragment are consecutive.
  if (queries && keys)
    isDirect &= (queriesInRows() ? *keys : *queries) == last;
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    if (isOfWave(index))
      indices.push_back(blockOfWave(builder, index, place));
    else if (isDirect && spanOf(index) != Span::Uniform)
      indices.push_back(index == rowArgument() ? place.row : place.key);
    else
      indices.push_back(materialise(builder, index, place));
  }
  std::optional<int64_t> along = queriesInRows() ? queries : keys;
  if (!along)
    along = queriesInRows() ? keys : queries;
  return {view, indices, along ? builder.getI64IntegerAttr(*along) : IntegerAttr(), isDirect};
}

/// What `op` reads, in the places that it differs in.
Value ModificationProgram::read(ExpansionBuilder &builder, attn::ReadOp op,
                                const ScorePlace &place) {
  Type type = typeFor(spanOf(op.getResult()), storedType(op.getResult().getType()));
  if (Value begun = pending.lookup(op.getResult()))
    return tile::EndLoadOp::create(builder, type, begun, pendingTile);
  Read from = describe(builder, op, place);
  if (!from.isDirect)
    return tile::GatherOp::create(builder, type, from.view, from.indices);
  auto load = tile::LoadOp::create(builder, type, from.view, from.indices, from.along, from.over);
  if (isa<tile::FragType>(type))
    load->setAttr(tile::kWholeLines, builder.getUnitAttr());
  return load;
}

bool ModificationProgram::readsAhead(attn::ReadOp op) const {
  if (lines.contains(op.getResult()))
    return true;
  // As `describe` has it: both directions, each by its own index, and columns last.
  auto isOf = [&](Value index) { return index == rowArgument() || index == key(); };
  OperandRange indices = op.getIndices();
  bool isDirect = llvm::all_of(indices, [&](Value index) { return spanOf(index) == Span::Uniform || isOf(index); });
  Value last = queriesInRows() ? key() : rowArgument();
  return isDirect && spanOf(op.getResult()) == Span::Both && llvm::count(indices, key()) == 1 &&
         llvm::count(indices, rowArgument()) == 1 && indices.back() == last;
}

bool ModificationProgram::loadsAhead() const {
  return llvm::any_of(body->getOps<attn::ReadOp>(), [&](attn::ReadOp op) { return readsAhead(op); });
}

SmallVector<Value> ModificationProgram::beginLoads(ExpansionBuilder &builder, const ScorePlace &place, Value tile) {
  SmallVector<Value> begun;
  for (auto op : body->getOps<attn::ReadOp>()) {
    if (!readsAhead(op))
      continue;
    Read from = describe(builder, op, place);
    auto view = cast<tile::ViewType>(from.view.getType());
    auto frag = cast<tile::FragType>(typeFor(Span::Both, view.getElementType()));
    Type pendingType = tile::PendingType::get(builder.getContext(), frag);
    begun.push_back(tile::BeginLoadOp::create(builder, pendingType, from.view, from.indices, from.along, from.over, tile));
  }
  return begun;
}

ValueRange ModificationProgram::takeLoads(ValueRange begun, Value tile) {
  pendingTile = tile;
  for (auto op : body->getOps<attn::ReadOp>())
    if (readsAhead(op)) {
      pending[op.getResult()] = begun.front();
      begun = begun.drop_front();
    }
  return begun;
}

Value ModificationProgram::materialise(ExpansionBuilder &builder, Value value,
                                       const ScorePlace &place) {
  if (Value known = prepared.lookup(value))
    return known;
  if (Value argument = arguments.lookup(value))
    return argument;
  if (value == body->getArgument(first))
    return place.batch;
  if (!isMixed() && value == head())
    return place.head;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(builder, constant.getValue());
  if (auto op = value.getDefiningOp<attn::ReadOp>())
    return read(builder, op, place);
  return map(builder, typeFor(spanOf(value), value.getType()), value, place, MapOptions());
}

Value ModificationProgram::number(ExpansionBuilder &builder, Value value, const ScorePlace &place) {
  if (Value known = prepared.lookup(value))
    return known;
  Value made = materialise(builder, value, place);
  prepared[value] = made;
  return made;
}

/// The heads of a group: a view (head, query, key) of `view` (batch, head, query, key).
static Value headsOf(ExpansionBuilder &builder, Value view, Value batch, const RowPlaces &rows) {
  auto type = cast<tile::ViewType>(view.getType());
  Type one = tile::ViewType::get(builder.getContext(), type.getShape().drop_front(), type.getElementType());
  Value ofBatch = tile::SelectOp::create(builder, one, view, ValueRange(batch));
  return tile::SliceRowsOp::create(builder, one, ofBatch, rows.head, rows.groupHeads, builder.getI64IntegerAttr(0));
}

void ModificationProgram::prepare(ExpansionBuilder &builder, const ScorePlace &place) {
  for (const Capture &capture : captures)
    if (capture.ofLengths)
      arguments[body->getArgument(capture.argument)] =
          capture.ofLengths->emit(builder, place.seqQ, place.seqKv);
  if (isMixed())
    prepared[query()] = place.numbers.queries, prepared[head()] = place.numbers.heads;
  for (auto op : body->getOps<attn::ReadOp>()) {
    if (readsLines(op)) {
      const RowPlaces &rows = place.numbers;
      Value batch = materialise(builder, op.getIndices()[0], place);
      lines[op.getResult()] =
          rows.pair ? headsOf(builder, arguments.lookup(op.getTensor()), batch, rows) :
          tile::RowsAlongOp::create(builder, arguments.lookup(op.getTensor()), batch, rows.query, rows.head,
                                    rows.areHeads, rows.count, /*heads_first=*/true);
      continue;
    }
    Span span = spanOf(op.getResult());
    if (span == Span::Uniform || span == rowSpan())
      if (!prepared.contains(op.getResult())) {
        Value value = read(builder, op, place);
        prepared[op.getResult()] = value;
      }
  }
}

/// What `wanted` is made of: the region's ops but reads, in order, and what they take from outside.
static void findSlice(Block &body, Value wanted, llvm::SetVector<Value> &leaves,
                      SmallVectorImpl<Operation *> &ops) {
  llvm::DenseSet<Operation *> needed;
  auto need = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !isa<attn::ReadOp>(op))
      needed.insert(op);
    else
      leaves.insert(value);
  };
  need(wanted);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (needed.contains(&op))
      for (Value operand : op.getOperands())
        need(operand);
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op))
      ops.push_back(&op);
}

/// What `op` multiplies `score` with, if that is one number for the workgroup; else null.
static Value numberBeside(const ModificationProgram &program, Operation *op, Value score) {
  if (!isa<arith::MulFOp>(op))
    return {};
  Value other = op->getOperand(op->getOperand(0) == score ? 1 : 0);
  bool isProduct = llvm::is_contained(op->getOperands(), score) && other != score;
  return isProduct && program.spanOf(other) == Span::Uniform ? other : Value();
}

namespace {
/// Copies ops of a region that modifies a score, some of them as others that do the same.
class RegionCopy {
public:
  /// `sides`: of absolute values, by `setSign` where they are known.
  RegionCopy(ExpansionBuilder &builder, IRMapping &mapping, const ModificationProgram &program, const TileSides *sides)
      : builder(builder), mapping(mapping), program(program), sides(sides) {}

  /// The score `inRegion` is `number` x `by`.
  void scaleScore(Value inRegion, Value number, Value by) { score = inRegion, raw = number, factor = by; }
  /// The score `inRegion` counts for nothing, and what is added to it `by` times.
  void leaveOutScore(Value inRegion, Value by) { score = inRegion, factor = by; }
  void setSign(Operation *absolute, Value sign) { signs[absolute] = sign; }
  void copy(Operation *op);

private:
  Value negative(Value value) { return arith::NegFOp::create(builder, value); }
  /// The op that takes an absolute value of a sum of positions, converted, if `value` is what it makes.
  Operation *absoluteOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return sides && isa_and_nonnull<math::AbsFOp>(op) && sides->signs.contains(op) ? op : nullptr;
  }
  Value times(Value value) { return raw ? value : arith::MulFOp::create(builder, value, factor).getResult(); }
  Value product(Value a, Value b, bool isAddend = false);
  Value addend(Operation *op);
  Value difference(Operation *op);

  ExpansionBuilder &builder;
  IRMapping &mapping;
  const ModificationProgram &program;
  const TileSides *sides;
  Value score, raw, factor;
  Value sum; ///< of what was added to a score that is left out
  llvm::DenseMap<Operation *, Value> signs;
};
} // namespace

/// |x| s is x s with the sign of s: a sum times a number is linear on tiles, and the bits are those of the side that is
/// known.
Value RegionCopy::product(Value a, Value b, bool isAddend) {
  if (absoluteOf(b))
    std::swap(a, b);
  Operation *absolute = absoluteOf(a);
  Value y = isAddend ? times(mapping.lookup(b)) : mapping.lookup(b);
  if (!absolute || absoluteOf(b) || signs.contains(absolute))
    return arith::MulFOp::create(builder, mapping.lookup(a), y);
  Value x = mapping.lookup(absolute->getOperand(0));
  return math::CopySignOp::create(builder, arith::MulFOp::create(builder, x, y), y);
}

/// What `op` adds to the score; null if it does something else.
Value RegionCopy::addend(Operation *op) {
  auto is = [&](unsigned index) { return op->getOperand(index) == score; };
  auto mapped = [&](unsigned index) { return mapping.lookup(op->getOperand(index)); };
  if (isa<arith::AddFOp>(op) && is(0) != is(1))
    return times(mapped(is(0) ? 1 : 0));
  if (isa<arith::SubFOp>(op) && is(0) && !is(1))
    return negative(times(mapped(1)));
  if (isa<math::FmaOp>(op) && is(2) && !is(0) && !is(1))
    return product(op->getOperand(0), op->getOperand(1), /*isAddend=*/true);
  return {};
}

/// A comparison of sums that cannot wrap as one of their difference with 0: `tile.map` compares what is linear in the
/// coordinates in one instruction. Null for any other op.
Value RegionCopy::difference(Operation *op) {
  auto comparison = dyn_cast<arith::CmpIOp>(op);
  if (!comparison)
    return {};
  std::optional<NumberRange> left = rangeOf(program, comparison.getLhs()), right = rangeOf(program, comparison.getRhs());
  constexpr int64_t largest = int64_t(1) << 30;
  auto isSmall = [&](const std::optional<NumberRange> &range) {
    return range && range->min >= -largest && range->max < largest;
  };
  if (!isSmall(left) || !isSmall(right))
    return {};
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = comparison.getPredicate();
  bool swaps = predicate == Predicate::sle || predicate == Predicate::sgt;
  bool isAtLeast = predicate == Predicate::sge || predicate == Predicate::sle;
  if (!swaps && predicate != Predicate::sge && predicate != Predicate::slt)
    return {};
  Value a = mapping.lookup(comparison.getLhs()), b = mapping.lookup(comparison.getRhs());
  auto without = arith::SubIOp::create(builder, swaps ? b : a, swaps ? a : b, arith::IntegerOverflowFlags::nsw);
  return arith::CmpIOp::create(builder, isAtLeast ? Predicate::sge : Predicate::slt, without,
                               builder.constant(int64_t(0)));
}

void RegionCopy::copy(Operation *op) {
  if (Value compared = difference(op))
    return mapping.map(op->getResult(0), compared);
  Value result;
  if (Value sign = signs.lookup(op)) {
    Value of = mapping.lookup(op->getOperand(0));
    result = isa<math::AbsIOp>(op) ? arith::MulIOp::create(builder, of, sign).getResult()
                                   : arith::MulFOp::create(builder, of, sign).getResult();
  } else if (Value added = factor ? addend(op) : Value()) {
    if (raw)
      result = math::FmaOp::create(builder, raw, factor, added);
    else
      result = sum = sum ? arith::AddFOp::create(builder, sum, added).getResult() : added;
    if (!raw)
      score = op->getResult(0);
  } else if (Value number = raw ? numberBeside(program, op, score) : Value()) {
    result = arith::MulFOp::create(builder, raw, arith::MulFOp::create(builder, factor, mapping.lookup(number)));
  } else if (isa<arith::MulFOp>(op)) {
    result = product(op->getOperand(0), op->getOperand(1));
  } else if (isa<math::FmaOp>(op) && (absoluteOf(op->getOperand(0)) || absoluteOf(op->getOperand(1)))) {
    Value both = product(op->getOperand(0), op->getOperand(1));
    result = arith::AddFOp::create(builder, both, mapping.lookup(op->getOperand(2)));
  }
  if (result)
    mapping.map(op->getResult(0), result);
  else
    builder.clone(*op, mapping);
}

/// Whether each of `ops` that uses the score adds something to it, or multiplies it with a number: scaling and that are
/// one instruction.
static bool scalesWith(const ModificationProgram &program, Value score, ArrayRef<Operation *> ops) {
  return llvm::all_of(ops, [&](Operation *op) {
    size_t uses = llvm::count(op->getOperands(), score);
    if (uses != 0 && numberBeside(program, op, score))
      return true;
    bool isFirst = uses == 1 && op->getOperand(0) == score;
    if (isa<arith::AddFOp>(op) || (isa<arith::SubFOp>(op) && isFirst))
      return uses <= 1;
    return uses == 0 || (isa<math::FmaOp>(op) && uses == 1 && op->getOperand(2) == score);
  });
}

Value ModificationProgram::map(ExpansionBuilder &builder, Type type, Value wanted, const ScorePlace &place,
                               const MapOptions &options) {
  Value scoreValue = options.scores, scale = options.scale;
  llvm::SetVector<Value> leaves;
  SmallVector<Operation *> ops;
  findSlice(*body, wanted, leaves, ops);
  bool isScore = first == 1;
  bool usesPlace = (rowArgument() && leaves.contains(rowArgument())) || leaves.contains(key());
  SmallVector<Value> inputs;
  if (scoreValue)
    inputs.push_back(scoreValue);
  if (scale)
    inputs.push_back(scale);
  SmallVector<Value> inner; // the leaves that are inputs
  for (Value leaf : leaves) {
    if (leaf == rowArgument() || leaf == key() || (isScore && leaf == body->getArgument(0)))
      continue;
    inner.push_back(leaf);
    inputs.push_back(materialise(builder, leaf, place));
  }
  auto signOf = [&](Operation *op) { return options.areSidesKnown ? options.sides->signs.lookup(op) : Value(); };
  for (Operation *op : ops)
    if (Value sign = signOf(op))
      inputs.push_back(sign);
  Span span = scoreValue ? Span::Both : spanOf(wanted);
  bool hasQueries = span == Span::Queries || span == Span::Both;
  bool hasKeys = span == Span::Keys || span == Span::Both;
  Value firstQuery = usesPlace && hasQueries ? place.row : Value();
  Value firstKey = usesPlace && hasKeys ? place.key : Value();
  auto result = tile::MapOp::create(builder, TypeRange(type), inputs,
                                    queriesInRows() ? firstQuery : firstKey,
                                    queriesInRows() ? firstKey : firstQuery, options.condition, usesPlace, options.rarely);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &block = result.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(tile::elementTypeOf(input.getType()), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  IRMapping mapping;
  unsigned next = 0;
  Value score;
  if (scoreValue)
    score = block.getArgument(next++);
  Value factor = scale ? block.getArgument(next++) : Value();
  Value raw = isScore ? body->getArgument(0) : Value(), modified = score;
  if (scale && !options.adds && (wanted == raw || !scalesWith(*this, raw, ops)))
    modified = arith::MulFOp::create(builder, score, factor);
  if (isScore)
    mapping.map(raw, modified);
  for (Value leaf : inner) {
    Value value = block.getArgument(next++);
    if (leaf.getType().isInteger(1) && !value.getType().isInteger(1)) {
      Value zero = arith::ConstantOp::create(builder, builder.getI8IntegerAttr(0));
      value = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value, zero);
    }
    mapping.map(leaf, value);
  }
  RegionCopy copy(builder, mapping, *this, options.sides);
  if (options.adds)
    copy.leaveOutScore(raw, factor);
  else if (scale)
    copy.scaleScore(raw, score, factor);
  for (Operation *op : ops)
    if (signOf(op))
      copy.setSign(op, block.getArgument(next++));
  if (usesPlace) {
    Value row = block.addArgument(builder.getI32Type(), builder.getLoc());
    Value column = block.addArgument(builder.getI32Type(), builder.getLoc());
    if (rowArgument())
      mapping.map(rowArgument(), queriesInRows() ? row : column);
    mapping.map(key(), queriesInRows() ? column : row);
  }
  for (Operation *op : ops)
    copy.copy(op);
  Value value = mapping.lookup(wanted);
  if (options.adds && !options.addsFirst)
    value = arith::AddFOp::create(builder, score, value);
  if (options.hides) {
    Value hidden = builder.constant(-std::numeric_limits<float>::infinity());
    value = arith::SelectOp::create(builder, value, score, hidden);
  }
  tile::YieldOp::create(builder, ValueRange(value));
  return result.getResult(0);
}

/// Where the tile lies on one side of all absolute values, they are linear.
Value ModificationProgram::onBothSides(ExpansionBuilder &builder, MapOptions options, const ScorePlace &place,
                                       const TileExtent *extent) {
  std::optional<TileSides> sides = extent ? sidesOf(builder, *this, place, *extent) : std::nullopt;
  if (!sides)
    return map(builder, scores, yielded(), place, options);
  options.sides = &*sides, options.areSidesKnown = true, options.condition = sides->areKnown;
  options.scores = map(builder, scores, yielded(), place, options);
  Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  options.condition = arith::XOrIOp::create(builder, sides->areKnown, yes);
  options.areSidesKnown = false;
  return map(builder, scores, yielded(), place, options);
}

Value ModificationProgram::modify(ExpansionBuilder &builder, Value scoreValue, Value scale,
                                  const ScorePlace &place, const TileExtent *extent) {
  MapOptions options;
  options.scores = scoreValue, options.scale = scale;
  return onBothSides(builder, options, place, extent);
}

/// What `body` adds to the score or subtracts from it, to `added`: all that it does, if the result is true. A product is
/// null.
static bool findSummands(Block &body, SmallVectorImpl<Value> &added) {
  Value sum = body.getArgument(0), yielded = body.getTerminator()->getOperand(0);
  if (sum == yielded)
    return false;
  while (sum.hasOneUse() && sum != yielded) {
    OpOperand &use = *sum.getUses().begin();
    Operation *user = use.getOwner();
    bool adds = user->getBlock() == &body && (isa<arith::AddFOp>(user) || (isa<arith::SubFOp>(user) && use.getOperandNumber() == 0) ||
                (isa<math::FmaOp>(user) && use.getOperandNumber() == 2));
    if (!adds)
      return false;
    added.push_back(isa<math::FmaOp>(user) ? Value() : user->getOperand(1 - use.getOperandNumber()));
    sum = user->getResult(0);
  }
  return sum == yielded && sum.hasOneUse();
}

bool ModificationProgram::onlyAdds(Operation *op) {
  SmallVector<Value> added;
  return findSummands(op->getRegion(0).front(), added);
}

Value ModificationProgram::addTo(ExpansionBuilder &builder, Value sums, bool first, Value factor, const ScorePlace &place,
                                 const TileExtent &extent) {
  MapOptions options;
  options.scores = sums, options.scale = factor, options.adds = true, options.addsFirst = first;
  SmallVector<Value> added;
  bool isSum = findSummands(*body, added) && !llvm::is_contained(added, Value());
  Value mayAdd = isSum ? mayBeFound(builder, *this, added, place, extent) : Value();
  if (!mayAdd)
    return onBothSides(builder, options, place, &extent);
  // Most tiles may lie beyond a table: nothing is looked up there.
  auto branch = scf::IfOp::create(builder, TypeRange(sums.getType()), mayAdd, /*withElseRegion=*/true);
  ExpansionBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, onBothSides(builder, options, place, &extent));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, sums);
  return branch.getResult(0);
}

Value ModificationProgram::hide(ExpansionBuilder &builder, Value scoreValue, Value predicate, Value condition,
                                const ScorePlace &place, bool rarely) {
  MapOptions options;
  options.scores = scoreValue, options.condition = condition, options.hides = true, options.rarely = rarely;
  return map(builder, scores, predicate, place, options);
}

/// A mask that captures one number, the value of `expression`; `body` makes of its arguments whether the key is seen.
static attn::MaskModOp createMask(OpBuilder &builder, Location loc, StringRef name, StringRef expression,
                                  function_ref<Value(Block &)> body) {
  Type i32 = builder.getI32Type();
  SmallVector<Type> types(5, i32);
  SmallVector<DictionaryAttr> attributes(5, builder.getDictionaryAttr({}));
  attributes.back() = builder.getDictionaryAttr(
      builder.getNamedAttr("attn.value", builder.getStringAttr(expression)));
  auto op = attn::MaskModOp::create(
      builder, loc, name, builder.getFunctionType(types, builder.getI1Type()),
      builder.getArrayAttr(SmallVector<Attribute>(attributes.begin(), attributes.end())),
      ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block &block = op.getBody().emplaceBlock();
  for (Type type : types)
    block.addArgument(type, loc);
  builder.setInsertionPointToStart(&block);
  attn::YieldOp::create(builder, loc, body(block));
  return op;
}

attn::MaskModOp hocket::createEnd(OpBuilder &builder, Location loc) {
  return createMask(builder, loc, "end", "seq_kv", [&](Block &block) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, block.getArgument(3),
                                 block.getArgument(4));
  });
}

attn::MaskModOp hocket::createWindow(OpBuilder &builder, Location loc, std::optional<int64_t> left,
                                     std::optional<int64_t> right) {
  return createMask(builder, loc, "window", "seq_kv - seq_q", [&](Block &block) {
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)).getResult();
    };
    Value beside = arith::AddIOp::create(builder, loc, block.getArgument(2), block.getArgument(4));
    Value key = block.getArgument(3), seen;
    auto both = [&](arith::CmpIPredicate predicate, Value bound) {
      Value holds = arith::CmpIOp::create(builder, loc, predicate, key, bound);
      seen = seen ? arith::AndIOp::create(builder, loc, seen, holds).getResult() : holds;
    };
    if (left)
      both(arith::CmpIPredicate::sge,
           arith::SubIOp::create(builder, loc, beside, constant(std::min(*left, kMaxPosition))));
    if (right)
      both(arith::CmpIPredicate::sle,
           arith::AddIOp::create(builder, loc, beside, constant(std::min(*right, kMaxPosition))));
    return seen;
  });
}
