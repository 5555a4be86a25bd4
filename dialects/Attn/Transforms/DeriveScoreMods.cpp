// attn-derive-score-mods: modifications of scores derived by the score, in reverse mode.
#include "Attn/Transforms/DeriveScoreMods.h"

#include "Attn/Transforms/Derivative.h"
#include "Attn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace hocket::attn {
#define GEN_PASS_DEF_DERIVESCOREMODSPASS
#include "Attn/Transforms/Passes.h.inc"
} // namespace hocket::attn

using namespace mlir;
using namespace hocket::attn;

namespace {
/// The derivative of the whole by each value that has been reached.
using Adjoints = llvm::DenseMap<Value, Value>;

/// One modification, which gets the ops of its derivative in front of its terminator.
class Derivation {
public:
  explicit Derivation(ScoreModOp op) : op(op), builder(op.getLoc(), op.getContext()) {}
  /// Makes the op's body its derivative by the sum of `inputs`, f32 values of it that no branch has for itself.
  LogicalResult run(ArrayRef<Value> inputs);

private:
  void mark(Block &block);
  LogicalResult sweep(ArrayRef<Operation *> ops, Adjoints &adjoints);
  LogicalResult sweepBranch(scf::IfOp branch, Adjoints &adjoints);
  LogicalResult sweepSide(Region &side, ArrayRef<Value> seeds, ArrayRef<Value> outer);
  void add(Adjoints &adjoints, Value value, Value adjoint);
  Value zero(Type type) {
    return arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  }

  ScoreModOp op;
  ImplicitLocOpBuilder builder;
  llvm::DenseSet<Value> active; ///< what depends on the score, and is no step of it: numbers, and their bits
};
} // namespace

/// Whether result `number` of `op`, some of whose operands or yielded values are active, moves with them. Truth values
/// and integers that come of a number change in steps, if at all, but for its bits and what is made of these, of which
/// no op has a derivative.
static bool moves(Operation *op, unsigned number, function_ref<bool(Value)> isActive) {
  Type type = op->getResult(number).getType();
  if (isa<FloatType>(type))
    return true;
  if (type.isInteger(1))
    return false;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isActive(branch.thenYield().getOperand(number)) || isActive(branch.elseYield().getOperand(number));
  return isa<arith::BitcastOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return isActive(operand) && isa<IntegerType>(operand.getType());
         });
}

void Derivation::mark(Block &block) {
  auto isActive = [&](Value value) { return active.contains(value); };
  for (Operation &inner : block) {
    bool depends = llvm::any_of(inner.getOperands(), isActive);
    if (auto branch = dyn_cast<scf::IfOp>(inner)) {
      for (Region *side : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        mark(side->front());
        depends |= llvm::any_of(side->front().getTerminator()->getOperands(), isActive);
      }
    }
    for (OpResult result : inner.getResults())
      if (depends && moves(&inner, result.getResultNumber(), isActive))
        active.insert(result);
  }
}

void Derivation::add(Adjoints &adjoints, Value value, Value adjoint) {
  Value &sum = adjoints[value];
  sum = sum ? builder.createOrFold<arith::AddFOp>(sum, adjoint) : adjoint;
}

/// A side again, and what reaches the values `outer` from its results, of which `seeds` (null: nothing) come back.
LogicalResult Derivation::sweepSide(Region &side, ArrayRef<Value> seeds, ArrayRef<Value> outer) {
  IRMapping mapping;
  SmallVector<Operation *> ops;
  for (Operation &inner : side.front().without_terminator())
    ops.push_back(builder.clone(inner, mapping));
  mark(*builder.getInsertionBlock());
  Adjoints adjoints;
  for (auto [value, seed] : llvm::zip_equal(side.front().getTerminator()->getOperands(), seeds))
    if (Value own = mapping.lookupOrDefault(value); seed && active.contains(own))
      add(adjoints, own, seed);
  if (failed(sweep(ops, adjoints)))
    return failure();
  SmallVector<Value> results;
  for (Value value : outer) {
    Value adjoint = adjoints.lookup(value);
    results.push_back(adjoint ? adjoint : zero(value.getType()));
  }
  scf::YieldOp::create(builder, results);
  return success();
}

/// The values from outside, active numbers, that `region` uses.
static void findOuter(Region &region, const llvm::DenseSet<Value> &active, llvm::SetVector<Value> &outer) {
  region.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (active.contains(operand) && isa<FloatType>(operand.getType()) && !region.isAncestor(operand.getParentRegion()))
        outer.insert(operand);
  });
}

LogicalResult Derivation::sweepBranch(scf::IfOp branch, Adjoints &adjoints) {
  SmallVector<Value> seeds;
  for (Value result : branch.getResults())
    seeds.push_back(adjoints.lookup(result));
  llvm::SetVector<Value> outer;
  findOuter(branch.getThenRegion(), active, outer);
  findOuter(branch.getElseRegion(), active, outer);
  if (outer.empty())
    return success();
  auto derived = scf::IfOp::create(builder, TypeRange(ValueRange(outer.getArrayRef())), branch.getCondition(),
                                   /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [from, to] : {std::pair(&branch.getThenRegion(), &derived.getThenRegion()),
                          std::pair(&branch.getElseRegion(), &derived.getElseRegion())}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to->front());
    if (failed(sweepSide(*from, seeds, outer.getArrayRef())))
      return failure();
  }
  for (auto [value, adjoint] : llvm::zip_equal(outer, derived.getResults()))
    add(adjoints, value, adjoint);
  return success();
}

/// From the last of `ops` to the first: what each hands on of what has reached it.
LogicalResult Derivation::sweep(ArrayRef<Operation *> ops, Adjoints &adjoints) {
  for (Operation *inner : llvm::reverse(ops)) {
    if (auto branch = dyn_cast<scf::IfOp>(inner)) {
      if (llvm::any_of(branch.getResults(), [&](Value result) { return adjoints.contains(result); }))
        if (failed(sweepBranch(branch, adjoints)))
          return failure();
      continue;
    }
    if (inner->getNumResults() != 1 || !adjoints.contains(inner->getResult(0)))
      continue;
    auto handed = adjointsOfOperands(builder, inner, adjoints.lookup(inner->getResult(0)),
                                     [&](Value operand) { return active.contains(operand); });
    if (!handed)
      return inner->emitOpError() << "has no derivative, which the backward of '" << op.getSymName()
                                  << "' needs; say it by other ops, or leave the modification out";
    for (auto [operand, adjoint] : llvm::zip_equal(inner->getOperands(), *handed))
      if (adjoint)
        add(adjoints, operand, adjoint);
  }
  return success();
}

/// What nobody uses any more.
static void removeUnused(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &inner : block.without_terminator())
    ops.push_back(&inner);
  for (Operation *inner : llvm::reverse(ops))
    if (inner->use_empty())
      inner->erase();
}

LogicalResult Derivation::run(ArrayRef<Value> inputs) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<Operation *> ops;
  for (Operation &inner : body.without_terminator())
    if (!llvm::any_of(inputs, [&](Value input) { return input.getDefiningOp() == &inner; }))
      ops.push_back(&inner);
  active.insert(inputs.begin(), inputs.end());
  mark(body);
  builder.setInsertionPoint(yield);
  Adjoints adjoints;
  if (active.contains(yield.getValue())) {
    Value one = arith::ConstantOp::create(builder, builder.getF32FloatAttr(1.0f));
    add(adjoints, yield.getValue(), one);
  }
  if (failed(sweep(ops, adjoints)))
    return failure();
  Value derivative;
  for (Value input : inputs)
    if (Value adjoint = adjoints.lookup(input))
      derivative = derivative ? builder.createOrFold<arith::AddFOp>(derivative, adjoint) : adjoint;
  yield.getValueMutable().assign(derivative ? derivative : zero(yield.getValue().getType()));
  removeUnused(body);
  return success();
}

FailureOr<OwningOpRef<ScoreModOp>> hocket::attn::deriveScoreMod(ScoreModOp op) {
  OwningOpRef<ScoreModOp> derived(op.clone());
  if (failed(Derivation(*derived).run(derived->getBody().getArgument(0))))
    return failure();
  derived->setSymName((op.getSymName() + "_derivative").str());
  return derived;
}

SmallVector<ReadOp> hocket::attn::readsOf(ScoreModOp op, StringRef tensor) {
  SmallVector<ReadOp> reads;
  op.walk([&](ReadOp read) {
    auto argument = dyn_cast<BlockArgument>(read.getTensor());
    auto name = op.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "attn.bind");
    if (name && name.getValue() == tensor)
      reads.push_back(read);
  });
  return reads;
}

FailureOr<OwningOpRef<ScoreModOp>> hocket::attn::deriveByTensor(ScoreModOp op, StringRef tensor) {
  OwningOpRef<ScoreModOp> derived(op.clone());
  SmallVector<Value> inputs;
  Block &body = derived->getBody().front();
  for (ReadOp read : readsOf(*derived, tensor)) {
    if (!read.getResult().getType().isF32())
      return op.emitOpError() << "reads '" << tensor << "' as " << read.getResult().getType()
                              << ", whose gradient is not there; read it as f32";
    // Out of its branch, where it reads the same.
    bool isMovable = llvm::all_of(read.getIndices(), llvm::IsaPred<BlockArgument>);
    if (!isMovable && read->getBlock() != &body)
      return op.emitOpError() << "reads '" << tensor
                              << "' at a computed place in a branch; read it outside, or leave its gradient out";
    if (isMovable)
      read->moveBefore(&body, body.begin());
    inputs.push_back(read.getResult());
  }
  if (failed(Derivation(*derived).run(inputs)))
    return failure();
  derived->setSymName((op.getSymName() + "_by_" + tensor).str());
  return derived;
}

OwningOpRef<ScoreModOp> hocket::attn::yieldIndex(ScoreModOp op, Value index) {
  IRMapping mapping;
  OwningOpRef<ScoreModOp> copy(cast<ScoreModOp>(op->clone(mapping)));
  Block &body = copy->getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  OpBuilder builder(yield);
  Value number = arith::SIToFPOp::create(builder, op.getLoc(), builder.getF32Type(), mapping.lookup(index));
  yield.getValueMutable().assign(number);
  removeUnused(body);
  copy->setSymName((op.getSymName() + "_index").str());
  return copy;
}

bool hocket::attn::yieldsOne(ScoreModOp op) {
  return matchPattern(op.getBody().front().getTerminator()->getOperand(0), m_OneFloat());
}

namespace {
struct DeriveScoreModsPass : hocket::attn::impl::DeriveScoreModsPassBase<DeriveScoreModsPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<ScoreModOp> all(getOperation().getOps<ScoreModOp>());
    for (ScoreModOp op : all) {
      FailureOr<OwningOpRef<ScoreModOp>> derived = deriveScoreMod(op);
      if (failed(derived))
        return signalPassFailure();
      symbols.insert(derived->release(), std::next(Block::iterator(op)));
    }
  }
};
} // namespace
