// Persistent kernels whose pipelines join: what places their items, found for many turns at once.
//
// Where tiles, rows and heads of a turn's item lie follows from the turn and from arguments alone: divisions and
// products of 64 bits, a hundred scalar instructions for each turn while the other wave group has long finished. Here
// each lane computes them for a turn of its own, in front of the loop over items and every so many turns again; a turn
// reads its lane. Of a value of 64 bits there are two words. A register holds up to four words, each for 16 turns.
//
// What is found so is every integer and every address in the turn that follows from the turn, or from a later one, and
// from what all turns have in common, by arithmetic alone, and that something else uses. What one instruction makes of
// another such value is not, and values that are the same function of their turns share words.
#include "Lowering.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <map>
#include <tuple>
#include <vector>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kTableLanes = kWaveLanes;
/// Vector registers that tables may have where words can be packed more tightly.
static constexpr size_t kMostRegisters = 4;
static constexpr size_t kMostWordsInRegister = 4;
/// Scalar instructions from which on a value is worth a place in a table: reading it takes two for each word.
static constexpr int64_t kLeastCost = 6;

namespace {
/// What an integer follows from.
struct Source {
  enum Kind { Common, Turn, Other } kind; ///< what all turns have in common, that and a turn, or more
  Value turn;                              ///< this one's number or a later one's

  static Source common() { return {Common, Value()}; }
  static Source other() { return {Other, Value()}; }
  bool followsFromTurn() const { return kind == Turn; }
};

/// What the integers in a loop over items follow from.
class TurnValues {
public:
  explicit TurnValues(scf::ForOp loop) : loop(loop) { findWorthwhile(); }

  Source of(Value value);
  /// How many turns ahead of this one others are looked at.
  int64_t ahead = 0;
  /// What other ops use, in the order of the code.
  SmallVector<Value> uses;
  /// The same for values that are the same function of their turn.
  unsigned numberOf(Value value);

private:
  using Expression = std::tuple<const void *, const void *, std::vector<unsigned>>;
  Source find(Value value);
  bool isTurn(Value value);
  void findUses();
  void findWorthwhile();
  bool isOneStep(Value value);
  int64_t costOf(Value value, llvm::DenseSet<Value> &counted);

  scf::ForOp loop;
  llvm::DenseMap<Value, Source> known;
  llvm::DenseSet<Value> refused; ///< not to be found by tables
  llvm::DenseMap<Value, unsigned> numbers;
  std::map<Expression, unsigned> expressions;
};
} // namespace

/// An integer, or an address in memory.
static bool isInteger(Value value) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(value.getType());
  return pointer ? pointer.getAddressSpace() == kGlobal : value.getType().isSignlessInteger();
}

/// Arithmetic on integers, which a lane can do as well.
static bool isArithmetic(Operation *op) {
  bool isKnown =
      isa<LLVM::GEPOp, ROCDL::ReadfirstlaneOp>(op) || isa_and_nonnull<arith::ArithDialect>(op->getDialect());
  return isKnown && op->getNumResults() == 1 && op->getNumRegions() == 0 && isInteger(op->getResult(0)) &&
         llvm::all_of(op->getOperands(), isInteger);
}

/// Whether it is this turn's number, or that of a later one if there is one: select(.., turn + n, turn).
bool TurnValues::isTurn(Value value) {
  if (value == loop.getInductionVar())
    return true;
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() != loop.getInductionVar())
    return false;
  auto add = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  APInt by;
  if (!add || add.getLhs() != loop.getInductionVar() || !matchPattern(add.getRhs(), m_ConstantInt(&by)))
    return false;
  ahead = std::max(ahead, by.getSExtValue());
  return by.isStrictlyPositive();
}

Source TurnValues::of(Value value) {
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  Source found = find(value);
  known.try_emplace(value, found);
  return found;
}

Source TurnValues::find(Value value) {
  if (!isInteger(value) || refused.contains(value))
    return Source::other();
  if (isTurn(value))
    return {Source::Turn, value};
  Operation *op = value.getDefiningOp();
  bool isOutside = !loop.getRegion().isAncestor(value.getParentRegion());
  if (!op)
    return isOutside ? Source::common() : Source::other();
  if (isa<ROCDL::BlockIdXOp>(op))
    return Source::common();
  if (!isArithmetic(op))
    return Source::other();
  Source joined = Source::common();
  for (Value operand : op->getOperands()) {
    Source source = of(operand);
    if (source.kind == Source::Other) // what is the same in all lanes of a wave is common to its turns
      return isOutside && isa<ROCDL::ReadfirstlaneOp>(op) ? Source::common() : source;
    if (source.kind == Source::Common || source.turn == joined.turn)
      continue;
    if (joined.followsFromTurn())
      return Source::other();
    joined = source;
  }
  return joined;
}

unsigned TurnValues::numberOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isa<ROCDL::ReadfirstlaneOp>(op) && of(op->getOperand(0)).kind != Source::Other)
    return numberOf(op->getOperand(0));
  if (auto known = numbers.find(value); known != numbers.end())
    return known->second;
  bool isRoot = isTurn(value);
  Expression expression(isRoot ? nullptr : value.getAsOpaquePointer(), nullptr, {});
  bool isKnown = op && (isa<ROCDL::BlockIdXOp>(op) || (isArithmetic(op) && !isa<ROCDL::ReadfirstlaneOp>(op)));
  if (isKnown && !isRoot && of(value).kind != Source::Other) {
    std::vector<unsigned> operands;
    for (Value operand : op->getOperands())
      operands.push_back(numberOf(operand));
    expression = {op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(), operands};
  }
  unsigned number = expressions.try_emplace(expression, expressions.size()).first->second;
  numbers[value] = number;
  return number;
}

void TurnValues::findUses() {
  uses.clear();
  known.clear();
  loop.getBody()->walk([&](Operation *op) {
    for (Value value : op->getResults()) {
      if (!of(value).followsFromTurn() || isTurn(value))
        continue;
      bool isUsed = llvm::any_of(value.getUsers(), [&](Operation *user) {
        return user->getNumResults() != 1 || !isArithmetic(user) || !of(user->getResult(0)).followsFromTurn();
      });
      if (isUsed)
        uses.push_back(value);
    }
  });
}

int64_t TurnValues::costOf(Value value, llvm::DenseSet<Value> &counted) {
  Operation *op = value.getDefiningOp();
  if (!of(value).followsFromTurn() || !op || isTurn(value) || !counted.insert(value).second)
    return 0;
  int64_t cost = isa<arith::DivUIOp, arith::RemUIOp>(op) ? 20
                 : isa<arith::MulIOp>(op) && value.getType().isInteger(64) ? 6
                                                                            : 1;
  for (Value operand : op->getOperands())
    cost += costOf(operand, counted);
  return cost;
}

/// Whether an instruction or two make it of one that follows from the turn and of what is common: an address that is known
/// but for a distance, a row of a wave, the lower half of what is extended.
bool TurnValues::isOneStep(Value value) {
  Operation *op = value.getDefiningOp();
  auto follows = [&](Value operand) { return of(operand).followsFromTurn(); };
  if (isa<arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op) || llvm::count_if(op->getOperands(), follows) != 1)
    return false;
  auto address = dyn_cast<LLVM::GEPOp>(op);
  return !address || follows(address.getBase());
}

/// Truths and narrow integers are computed from others in each turn, and what is cheap.
void TurnValues::findWorthwhile() {
  auto isWhole = [](Type type) {
    return type.isInteger(32) || type.isInteger(64) || isa<LLVM::LLVMPointerType>(type);
  };
  for (bool isDone = false; !isDone;) {
    findUses();
    isDone = true;
    for (Value value : uses) {
      llvm::DenseSet<Value> counted;
      if (isWhole(value.getType()) && !isOneStep(value) && costOf(value, counted) >= kLeastCost)
        continue;
      refused.insert(value);
      isDone = false;
    }
  }
}

namespace {
/// The tables of one kernel.
class ItemTables {
public:
  ItemTables(LLVM::LLVMFuncOp func, const KernelValues &kernel, scf::ForOp loop)
      : func(func), kernel(kernel), loop(loop), values(loop) {
    for (Value value : values.uses) {
      size_t &needed = wordsOfNumber[values.numberOf(value)];
      needed = std::max(needed, wordsFor(value));
    }
    for (Value value : values.uses)
      if (wordOf.try_emplace(values.numberOf(value), words).second)
        words += wordsOf(value);
    while (inRegister < kMostWordsInRegister && registers() > kMostRegisters)
      inRegister *= 2;
  }

  size_t registers() const { return llvm::divideCeil(words, inRegister); }
  /// The loop carries so many values for them behind all others.
  void emit();

private:
  static size_t wordsFor(Value value);
  size_t wordsOf(Value value) { return wordsOfNumber.lookup(values.numberOf(value)); }
  int64_t turnsInTable() const { return kTableLanes / static_cast<int64_t>(inRegister); }
  Value ofLane(Value value, Value turn, IRMapping &mapping, Emitter &emit);
  SmallVector<Value> compute(Value firstTurn, Emitter &emit);
  Value read(Emitter &emit, Value value, Value index);

  LLVM::LLVMFuncOp func;
  const KernelValues &kernel;
  scf::ForOp loop;
  TurnValues values;
  size_t words = 0, inRegister = 1;
  llvm::DenseMap<unsigned, size_t> wordOf, wordsOfNumber; ///< by the number of a value: its first, and how many
  SmallVector<Value> tables; ///< in the turn
};
} // namespace

/// How many words `value` needs where it is used: sizes of descriptors are of 32 bits.
size_t ItemTables::wordsFor(Value value) {
  auto isSize = [&](Operation *user) {
    auto descriptor = dyn_cast<ROCDL::MakeBufferRsrcOp>(user);
    return descriptor && descriptor.getNumRecords() == value && descriptor.getBase() != value;
  };
  return value.getType().isInteger(32) || llvm::all_of(value.getUsers(), isSize) ? 1 : 2;
}

/// `value` for the `turn` of each lane.
Value ItemTables::ofLane(Value value, Value turn, IRMapping &mapping, Emitter &emit) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Source source = values.of(value);
  Operation *op = value.getDefiningOp();
  Value made = value;
  if (value == source.turn) {
    made = turn;
  } else if (op && isArithmetic(op) &&
             llvm::all_of(op->getOperands(), [&](Value operand) { return values.of(operand).kind != Source::Other; })) {
    for (Value operand : op->getOperands())
      mapping.map(operand, ofLane(operand, turn, mapping, emit));
    made = isa<ROCDL::ReadfirstlaneOp>(op) ? mapping.lookup(op->getOperand(0)) : emit.clone(*op, mapping)->getResult(0);
  }
  mapping.map(value, made);
  return made;
}

/// The tables' registers, for turns from `firstTurn` on.
SmallVector<Value> ItemTables::compute(Value firstTurn, Emitter &emit) {
  Value turn = emit.add(firstTurn, arith::AndIOp::create(emit, kernel.lane, emit.i32(turnsInTable() - 1)));
  Value part = arith::DivUIOp::create(emit, kernel.lane, emit.i32(turnsInTable()));
  SmallVector<Value> found;
  llvm::DenseMap<Value, IRMapping> mappings; // by turn
  for (Value value : values.uses) {
    if (wordOf.lookup(values.numberOf(value)) != found.size())
      continue;
    Value whole = ofLane(value, turn, mappings[values.of(value).turn], emit);
    if (isa<LLVM::LLVMPointerType>(whole.getType()))
      whole = LLVM::PtrToIntOp::create(emit, emit.getI64Type(), whole);
    found.push_back(emit.toI32(whole));
    if (wordsOf(value) == 2)
      found.push_back(emit.toI32(arith::ShRUIOp::create(emit, whole, emit.i64(32))));
  }
  SmallVector<Value> packed;
  for (auto [i, word] : llvm::enumerate(found)) {
    if (i % inRegister == 0) {
      packed.push_back(word);
      continue;
    }
    Value isHere = compare(emit, arith::CmpIPredicate::uge, part, emit.i32(i % inRegister));
    packed.back() = arith::SelectOp::create(emit, isHere, word, packed.back());
  }
  return packed;
}

/// What the table has of `value` for turn `index` of the table.
Value ItemTables::read(Emitter &emit, Value value, Value index) {
  size_t firstWord = wordOf.lookup(values.numberOf(value));
  auto word = [&](size_t number) -> Value {
    Value lane = emit.add(index, emit.i32((number % inRegister) * turnsInTable()));
    return ROCDL::ReadlaneOp::create(emit, emit.getI32Type(), tables[number / inRegister], lane);
  };
  if (wordsOf(value) == 1)
    return value.getType().isInteger(32) ? word(firstWord) : zeroExtended(emit, word(firstWord));
  Value whole = emit.joinWords(word(firstWord), word(firstWord + 1));
  return value.getType().isInteger(64) ? whole : LLVM::IntToPtrOp::create(emit, value.getType(), whole).getResult();
}

/// What nobody uses any more: it would keep arguments in registers.
static void eraseUnused(scf::ForOp loop) {
  SmallVector<Operation *> ops;
  loop.getBody()->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isArithmetic(op) && op->use_empty())
      op->erase();
}

/// The loop computes the tables anew for turns that they do not know. It carries them, and the first turn that they know.
void ItemTables::emit() {
  Emitter before(func.getLoc(), OpBuilder(loop));
  SmallVector<Value> inits = compute(before.i32(0), before);
  inits.push_back(before.i32(0));
  size_t first = loop.getInitArgs().size() - inits.size();
  for (auto [i, init] : llvm::enumerate(inits))
    loop.getInitArgsMutable()[first + i].assign(init);

  Emitter inTurn(func.getLoc(), OpBuilder::atBlockBegin(loop.getBody()));
  Value turn = loop.getInductionVar();
  ValueRange carried = loop.getRegionIterArgs().drop_front(first);
  Value inTable = arith::SubIOp::create(inTurn, turn, carried.back());
  Value isUnknown =
      compare(inTurn, arith::CmpIPredicate::eq, inTable, inTurn.i32(turnsInTable() - values.ahead));
  auto branch = scf::IfOp::create(inTurn, carried.getTypes(), inTurn.rare(isUnknown), /*withElseRegion=*/true);
  Emitter anew(func.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  SmallVector<Value> made = compute(turn, anew);
  made.push_back(turn);
  scf::YieldOp::create(anew, made);
  Emitter as(func.getLoc(), OpBuilder::atBlockBegin(branch.elseBlock()));
  scf::YieldOp::create(as, carried);
  for (auto [i, result] : llvm::enumerate(branch.getResults()))
    loop.getBody()->getTerminator()->setOperand(first + i, result);
  tables = llvm::to_vector_of<Value>(branch.getResults().drop_back());
  Value firstTurn = branch.getResults().back();
  readArgumentsIn(func, branch);

  for (Value value : values.uses) {
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfterValue(value);
    Emitter emit(func.getLoc(), builder);
    Value index = arith::SubIOp::create(emit, values.of(value).turn, firstTurn);
    value.replaceAllUsesWith(read(emit, value, index));
  }
  eraseUnused(loop);
}

scf::ForOp hocket::lowering::tabulateItems(LLVM::LLVMFuncOp func, const KernelValues &kernel, scf::ForOp loop) {
  size_t registers = ItemTables(func, kernel, loop).registers();
  if (registers == 0)
    return loop;
  IRRewriter rewriter(loop);
  Value none = arith::ConstantOp::create(rewriter, func.getLoc(), rewriter.getI32IntegerAttr(0));
  auto carry = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return llvm::to_vector_of<Value>(arguments);
  };
  auto made = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, SmallVector<Value>(registers + 1, none),
                                                                 /*replaceInitOperandUsesInLoop=*/false, carry));
  ItemTables(func, kernel, made).emit();
  return made;
}
