// Abstract execution of the clusters stage: which values matter, and what happens for given ones.
#include "Tile/Transforms/ClusterTrace.h"

#include "Tile/IR/WorkItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::tile;

/// Ops that a run may execute before it is said not to end.
static constexpr int64_t kMaxVisits = 1 << 22;

static bool isEvent(Operation *op) {
  if (auto conversion = dyn_cast<ConvertLayoutOp>(op))
    return conversion.getShared();
  return isa<RingAccessOpInterface, BeginLoadOp, EndLoadOp, WaitOp, BarrierOp>(op) || op->hasAttr(kCountedAttr);
}

// What a value depends on

static SmallVector<Value> sourcesOfArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (index == 0)
      return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    return {loop.getInitArgs()[index - 1], loop.getYieldedValues()[index - 1]};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner() == loop.getBeforeBody())
      return {loop.getInits()[index], loop.getYieldOp()->getOperand(index)};
    return {loop.getConditionOp().getArgs()[index]};
  }
  return {};
}

/// The values that `value` is made from, as far as integer arithmetic and `scf` say; none for a
/// value that comes from elsewhere.
static SmallVector<Value> sourcesOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return sourcesOfArgument(cast<BlockArgument>(value));
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (isa<arith::ArithDialect>(op->getDialect()))
    return llvm::to_vector(op->getOperands());
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.getCondition(), branch.thenYield()->getOperand(index),
            branch.elseYield()->getOperand(index)};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getUpperBound(), loop.getInitArgs()[index], loop.getYieldedValues()[index]};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getCondition(), loop.getConditionOp().getArgs()[index]};
  if (isa<StepOp, WhereOp>(op))
    return {op->getRegion(0).front().getTerminator()->getOperand(index)};
  // What a part holds is the tile that it was loaded from.
  if (auto load = dyn_cast<RingAccessOpInterface>(op); load && load.getStagedPart() == value)
    return {load.getTile()};
  if (auto begin = dyn_cast<BeginLoadOp>(op))
    return {begin.getTile()};
  return {};
}

static bool isOpaque(Value value) {
  return !matchPattern(value, m_Constant()) && sourcesOf(value).empty();
}

/// An opaque value that one of `demands` is made from by a way that does not pass one of `cuts`.
static Value findOpaqueSource(ArrayRef<Value> demands, ArrayRef<Value> cuts) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist(demands);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (llvm::is_contained(cuts, value) || !seen.insert(value).second)
      continue;
    if (isOpaque(value))
      return value;
    llvm::append_range(worklist, sourcesOf(value));
  }
  return Value();
}

/// A value that differs between waves, if `value` is made from one.
static Value findWaveSource(Value start) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist = {start};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (isa_and_nonnull<WaveRowOp, WaveGridOp>(value.getDefiningOp()))
      return value;
    llvm::append_range(worklist, sourcesOf(value));
  }
  return Value();
}

// Finding events and counts

FailureOr<ClusterProgram> ClusterProgram::create(KernelOp kernel) {
  ClusterProgram program(kernel);
  if (failed(program.collectEvents()))
    return failure();
  for (Operation &unit : kernel.getBody().front())
    if (program.hasEvents(&unit) && failed(program.findCount(&unit)))
      return failure();
  return program;
}

/// Finds the events, and refuses whatever else touches a ring or holds events.
LogicalResult ClusterProgram::collectEvents() {
  WalkResult walk = kernel.walk([&](Operation *op) {
    if (isa<ForTilesOp>(op)) {
      op->emitOpError("is of the tile stage; run 'tile-pipeline' before 'tile-verify-clusters'");
      return WalkResult::interrupt();
    }
    if (isa<AwaitOp>(op)) {
      op->emitOpError("says no count yet; run 'tile-synchronize' before 'tile-verify-clusters'");
      return WalkResult::interrupt();
    }
    bool usesRing = !isa<LookUpOp, LocateOp, RingOp>(op) && llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RingType>);
    auto access = dyn_cast<RingAccessOpInterface>(op);
    if (usesRing && (!access || !access.getRing().getDefiningOp<RingOp>())) {
      op->emitOpError("uses a ring in a way that 'tile-verify-clusters' cannot follow; use "
                      "'tile.fetch' and 'tile.read' on the result of a 'tile.ring'");
      return WalkResult::interrupt();
    }
    if (!isEvent(op))
      return WalkResult::advance();
    events.insert(op);
    withEvents.insert(op);
    // Steps, and the control flow that a kernel may have: `tile.kernel` verifies that.
    for (Operation *holder = op->getParentOp(); holder != kernel; holder = holder->getParentOp())
      withEvents.insert(holder);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The values that must be numbers for `op` to be followed.
static SmallVector<Value> demandsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](RingAccessOpInterface access) {
        SmallVector<Value> values = {access.getTile()};
        if (Value slot = access.getSlot())
          values.push_back(slot);
        auto ring = access.getRing().getDefiningOp<RingOp>();
        if (Value alternate = ring ? ring.getAlternate() : Value())
          values.push_back(alternate);
        if (Value part = access.getStagedPart(); part && access.writesSlot())
          values.push_back(part);
        return values;
      })
      .Case([](BeginLoadOp begin) { return SmallVector<Value>{begin.getTile()}; })
      .Case([](EndLoadOp end) { return SmallVector<Value>{end.getTile(), end.getPending()}; })
      .Case([](scf::IfOp branch) { return SmallVector<Value>{branch.getCondition()}; })
      .Case([](scf::ForOp loop) {
        return SmallVector<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
      })
      .Case([](scf::WhileOp loop) {
        return SmallVector<Value>{loop.getConditionOp().getCondition()};
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

void ClusterProgram::addToSlice(ArrayRef<Value> demands) {
  SmallVector<Value> worklist(demands);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (slice.insert(value).second)
      llvm::append_range(worklist, sourcesOf(value));
  }
}

/// The last number of the kernel's own block, in front of `unit`, through which, or through `known`, every way from
/// run-time values to the demands leads; null if there is none.
Value ClusterProgram::countOf(Operation *unit, ArrayRef<Value> demands, ArrayRef<Value> known) {
  SmallVector<Value> candidates(kernel.getBody().getArguments());
  for (Operation *op = &kernel.getBody().front().front(); op != unit; op = op->getNextNode())
    llvm::append_range(candidates, op->getResults());
  return lastCut(candidates, demands, known);
}

/// The same among what each turn of the loop in which `inner` stands computes in front of it.
Value ClusterProgram::countOfTurn(Operation *inner, ArrayRef<Value> demands, ArrayRef<Value> known) {
  SmallVector<Value> candidates;
  if (!isa<scf::ForOp>(inner->getParentOp()))
    return Value();
  for (Operation *op = &inner->getBlock()->front(); op != inner; op = op->getNextNode())
    if (op->getNumResults() == 1 && op->getNumRegions() == 0)
      candidates.push_back(op->getResult(0));
  return lastCut(candidates, demands, known);
}

/// A number that is raised to at least a constant: it does not take every value, what it is made from does.
static bool isRaised(Value value) {
  auto raised = value.getDefiningOp<arith::MaxSIOp>();
  return raised && (matchPattern(raised.getLhs(), m_Constant()) || matchPattern(raised.getRhs(), m_Constant()));
}

/// The last of `candidates` through which, or through `known`, every way from run-time values to the demands leads.
Value ClusterProgram::lastCut(ArrayRef<Value> candidates, ArrayRef<Value> demands, ArrayRef<Value> known) {
  SmallVector<Value> cuts(known);
  cuts.push_back(Value());
  for (Value candidate : llvm::reverse(candidates)) {
    bool isNumber = candidate.getType().isIntOrIndex() && !candidate.getType().isInteger(1);
    cuts.back() = candidate;
    if (isNumber && isNeeded(candidate) && !isRaised(candidate) && !findOpaqueSource(demands, cuts))
      return candidate;
  }
  return Value();
}

/// What must be numbers for all of `op` to be followed.
SmallVector<Value> ClusterProgram::allDemands(Operation *op) const {
  SmallVector<Value> demands;
  op->walk([&](Operation *inner) {
    if (hasEvents(inner))
      llvm::append_range(demands, demandsOf(inner));
  });
  return demands;
}

/// The tile counts of `op`, which stands in `unit` of the kernel's own block: one from which all else follows. A loop
/// around others may have one for itself, and they one each.
LogicalResult ClusterProgram::findCounts(Operation *unit, Operation *op,
                                         SmallVectorImpl<Value> &found) {
  SmallVector<Value> demands = allDemands(op);
  Value opaque = findOpaqueSource(demands, found);
  if (!opaque)
    return success();
  if (Value count = countOf(unit, demands, found)) {
    found.push_back(count);
    return success();
  }
  auto loop = dyn_cast<scf::ForOp>(op);
  bool holdsLoop = loop && loop.getBody()
                               ->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
                               .wasInterrupted();
  bool isFixed = loop && !findOpaqueSource(demandsOf(loop), found);
  Value own = holdsLoop && !isFixed ? countOf(unit, demandsOf(loop), found) : Value();
  if (holdsLoop && (isFixed || own)) {
    if (own) {
      found.push_back(own);
      outerCounts.insert(own);
    }
    for (Operation &inner : *loop.getBody())
      if (hasEvents(&inner) && failed(findCounts(unit, &inner, found)))
        return failure();
    return success();
  }
  if (Value count = countOfTurn(op, demands, found)) {
    found.push_back(count);
    return success();
  }
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "depends on more at run time than one number of tiles, which "
                                     "is what 'tile-verify-clusters' follows";
  diagnostic.attachNote(opaque.getLoc())
      << "on this; compute one number in front of it from which all else follows";
  return diagnostic;
}

/// The tile counts of a piece of control flow.
LogicalResult ClusterProgram::findCount(Operation *unit) {
  SmallVector<Value> demands = allDemands(unit);
  addToSlice(demands);
  bool isCounted = bool(findOpaqueSource(demands, {}));
  // What earlier units follow from is known.
  llvm::SetVector<Value> known(tileCounts.begin(), tileCounts.end());
  SmallVector<Value> found = known.takeVector();
  if (failed(findCounts(unit, unit, found)))
    return failure();
  for (Value count : found) {
    if (Value wave = findWaveSource(count)) {
      InFlightDiagnostic diagnostic =
          unit->emitOpError() << "depends on the wave, but all waves must meet the same barriers";
      diagnostic.attachNote(wave.getLoc()) << "through this; use the workgroup's row instead";
      return diagnostic;
    }
    if (llvm::is_contained(tileCounts, count))
      continue;
    bool isOfTurns = count.getParentBlock() != &kernel.getBody().front();
    tileCounts.append(isOfTurns ? 2 : 1, count);
  }
  if (isCounted)
    countedUnits.push_back(unit);
  return success();
}

// Running

namespace {
class Interpreter {
public:
  Interpreter(const ClusterProgram &program, bool landmarks)
      : program(program), landmarks(landmarks) {}

  /// Where several are set for one value, those of turns of a loop, one after the other.
  void set(Value value, Attribute attribute) {
    env[value] = attribute;
    given[value].push_back(attribute);
  }
  LogicalResult run(Block &block);

  ClusterTrace trace;

private:
  LogicalResult visit(Operation &op);
  LogicalResult visitIf(scf::IfOp branch);
  LogicalResult visitFor(scf::ForOp loop);
  LogicalResult visitWhile(scf::WhileOp loop);
  /// Of loops within loops, the innermost are those that a schedule has unrolled.
  void countPasses(Operation *loop, int64_t passes) {
    bool isInnermost = true;
    for (Region &region : loop->getRegions())
      region.walk([&](LoopLikeOpInterface inner) { isInnermost &= !program.hasEvents(inner); });
    if (!isInnermost)
      return;
    while (!isa<KernelOp>(loop->getParentOp()))
      loop = loop->getParentOp();
    trace.passes[loop] = std::max(trace.passes[loop], passes);
  }
  LogicalResult record(Operation &op);
  LogicalResult recordAccess(RingAccessOpInterface access, ClusterEvent &event);
  LogicalResult recordLoad(BeginLoadOp begin, ClusterEvent &event);
  LogicalResult verifyEnd(EndLoadOp end) const;
  LogicalResult verifyPart(RingAccessOpInterface put, int64_t tile) const;
  void fold(Operation &op);
  void assign(ValueRange targets, ValueRange sources);
  Attribute known(Value value) const;
  FailureOr<int64_t> number(Value value, Operation *user, StringRef what) const;

  const ClusterProgram &program;
  bool landmarks;
  llvm::DenseMap<Value, Attribute> env;
  llvm::DenseMap<Value, SmallVector<Attribute, 2>> given; ///< of counts
  llvm::DenseMap<Value, size_t> turns;                    ///< of loops that make one
  int64_t visits = 0;
};
} // namespace

Attribute Interpreter::known(Value value) const {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return constant.getValue();
  return env.lookup(value);
}

FailureOr<int64_t> Interpreter::number(Value value, Operation *user, StringRef what) const {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(known(value));
      integer && integer.getValue().getSignificantBits() <= 64)
    return integer.getValue().getSExtValue();
  InFlightDiagnostic diagnostic =
      user->emitOpError() << "has " << what << " that does not follow from the number of tiles";
  diagnostic.attachNote(value.getLoc())
      << "it comes from here; compute it from the tile count and constants with 'arith' ops";
  return diagnostic;
}

/// All at once: a loop hands its arguments on in another order.
void Interpreter::assign(ValueRange targets, ValueRange sources) {
  SmallVector<std::pair<Value, Attribute>> values;
  for (auto [target, source] : llvm::zip_equal(targets, sources))
    if (program.isNeeded(target))
      values.emplace_back(target, known(source));
  for (auto [target, value] : values)
    env[target] = value;
}

void Interpreter::fold(Operation &op) {
  if (op.getNumResults() != 1 || !program.isNeeded(op.getResult(0)) || isa<arith::ConstantOp>(op))
    return;
  if (auto count = given.find(op.getResult(0)); count != given.end()) {
    env[op.getResult(0)] = count->second[turns[op.getResult(0)]++ % count->second.size()];
    return;
  }
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(known(operand));
  env.erase(op.getResult(0));
  SmallVector<OpFoldResult> results;
  if (!llvm::all_of(operands, [](Attribute attribute) { return bool(attribute); }) ||
      failed(op.fold(operands, results)) || results.size() != 1)
    return;
  auto attribute = dyn_cast<Attribute>(results.front());
  env[op.getResult(0)] = attribute ? attribute : known(cast<Value>(results.front()));
}

LogicalResult Interpreter::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult Interpreter::visit(Operation &op) {
  if (++visits > kMaxVisits)
    return op.emitOpError("is reached again and again: the kernel does not end");
  if (landmarks && isa<StepOp>(op)) {
    ClusterEvent landmark;
    landmark.op = &op;
    trace.events.push_back(landmark);
  }
  if (!program.hasEvents(&op)) {
    if (op.getNumRegions() == 0)
      fold(op);
    return success();
  }
  // A wave that leaves its accesses out breaks no rule that it kept with them.
  if (isa<StepOp, WhereOp>(op)) {
    Block &body = op.getRegion(0).front();
    if (failed(run(body)))
      return failure();
    assign(op.getResults(), body.getTerminator()->getOperands());
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::IfOp branch) { return visitIf(branch); })
      .Case([&](scf::ForOp loop) { return visitFor(loop); })
      .Case([&](scf::WhileOp loop) { return visitWhile(loop); })
      .Default([&](Operation *) { return record(op); });
}

LogicalResult Interpreter::visitIf(scf::IfOp branch) {
  FailureOr<int64_t> condition = number(branch.getCondition(), branch, "a condition");
  if (failed(condition))
    return failure();
  Block *block = *condition != 0 ? branch.thenBlock() : branch.elseBlock();
  if (!block)
    return success();
  if (failed(run(*block)))
    return failure();
  assign(branch.getResults(), block->getTerminator()->getOperands());
  return success();
}

LogicalResult Interpreter::visitFor(scf::ForOp loop) {
  FailureOr<int64_t> low = number(loop.getLowerBound(), loop, "a lower bound"),
                     high = number(loop.getUpperBound(), loop, "an upper bound"),
                     step = number(loop.getStep(), loop, "a step");
  if (failed(low) || failed(high) || failed(step))
    return failure();
  if (*step < 1)
    return loop.emitOpError() << "has a step of " << *step << ", at least 1 is needed";
  assign(loop.getRegionIterArgs(), loop.getInitArgs());
  int64_t passes = 0;
  for (int64_t i = *low; i < *high; i += *step, ++passes) {
    env[loop.getInductionVar()] = IntegerAttr::get(loop.getInductionVar().getType(), i);
    if (failed(run(*loop.getBody())))
      return failure();
    assign(loop.getRegionIterArgs(), loop.getYieldedValues());
  }
  assign(loop.getResults(), passes ? ValueRange(loop.getYieldedValues()) : loop.getInitArgs());
  countPasses(loop, passes);
  return success();
}

LogicalResult Interpreter::visitWhile(scf::WhileOp loop) {
  assign(loop.getBeforeArguments(), loop.getInits());
  for (int64_t passes = 1;; ++passes) {
    if (failed(run(*loop.getBeforeBody())))
      return failure();
    scf::ConditionOp end = loop.getConditionOp();
    FailureOr<int64_t> more = number(end.getCondition(), loop, "a condition");
    if (failed(more))
      return failure();
    countPasses(loop, passes);
    if (*more == 0) {
      assign(loop.getResults(), end.getArgs());
      return success();
    }
    assign(loop.getAfterArguments(), end.getArgs());
    if (failed(run(*loop.getAfterBody())))
      return failure();
    assign(loop.getBeforeArguments(), loop.getYieldOp()->getOperands());
  }
}

/// Whether the part that is put was loaded from this tile, of this ring's view.
LogicalResult Interpreter::verifyPart(RingAccessOpInterface put, int64_t tile) const {
  FailureOr<int64_t> loaded = number(put.getStagedPart(), put, "a part");
  if (failed(loaded))
    return failure();
  if (*loaded == tile)
    return success();
  InFlightDiagnostic diagnostic = put->emitOpError() << "puts a part of tile " << *loaded
                                                     << " where tile " << tile << " belongs";
  diagnostic.attachNote(put.getStagedPart().getLoc())
      << "the part comes from here; load and put the same tile";
  return diagnostic;
}

/// What is pending is known by its tile.
LogicalResult Interpreter::recordLoad(BeginLoadOp begin, ClusterEvent &event) {
  FailureOr<int64_t> tile = number(begin.getTile(), begin, "a tile");
  if (failed(tile))
    return failure();
  event.tile = *tile;
  env[begin.getPending()] = IntegerAttr::get(begin.getTile().getType(), *tile);
  return success();
}

/// Whether what ends was begun for the same tile.
LogicalResult Interpreter::verifyEnd(EndLoadOp end) const {
  FailureOr<int64_t> tile = number(end.getTile(), end, "a tile"),
                     begun = number(end.getPending(), end, "something pending");
  if (failed(tile) || failed(begun))
    return failure();
  if (*tile == *begun)
    return success();
  InFlightDiagnostic diagnostic = end.emitOpError() << "ends the load of tile " << *begun << " for tile " << *tile;
  diagnostic.attachNote(end.getPending().getLoc()) << "what is pending comes from here; begin and end the same tile";
  return diagnostic;
}

/// Which slot is touched, for which tile; what is loaded or put is known by its tile.
LogicalResult Interpreter::recordAccess(RingAccessOpInterface access, ClusterEvent &event) {
  FailureOr<int64_t> tile = number(access.getTile(), access, "a tile");
  if (failed(tile))
    return failure();
  Value part = access.getStagedPart();
  if (!access.touchesSlot()) {
    if (part)
      env[part] = IntegerAttr::get(access.getTile().getType(), *tile);
    return success();
  }
  if (!access.getSlot())
    return access->emitOpError("has no slot; run 'tile-pipeline' before 'tile-verify-clusters'");
  FailureOr<int64_t> slot = number(access.getSlot(), access, "a slot");
  if (failed(slot))
    return failure();
  auto ring = access.getRing().getDefiningOp<RingOp>();
  if (Value alternate = ring.getAlternate()) {
    FailureOr<int64_t> turn = number(alternate, ring, "a number that it alternates by");
    if (failed(turn))
      return failure();
    event.half = *turn & 1;
  }
  event.ring = ring.getFirst();
  event.tile = *tile, event.slot = *slot;
  return part && access.writesSlot() ? verifyPart(access, *tile) : success();
}

LogicalResult Interpreter::record(Operation &op) {
  ClusterEvent event;
  event.op = &op;
  if (auto access = dyn_cast<RingAccessOpInterface>(op))
    if (failed(recordAccess(access, event)))
      return failure();
  if (auto begin = dyn_cast<BeginLoadOp>(op); begin && failed(recordLoad(begin, event)))
    return failure();
  if (auto end = dyn_cast<EndLoadOp>(op); end && failed(verifyEnd(end)))
    return failure();
  trace.events.push_back(event);
  return success();
}

FailureOr<ClusterTrace> ClusterProgram::run(ArrayRef<int64_t> values, bool landmarks) const {
  Interpreter interpreter(*this, landmarks);
  for (auto [count, value] : llvm::zip_equal(tileCounts, values))
    interpreter.set(count, IntegerAttr::get(count.getType(), value));
  if (failed(interpreter.run(KernelOp(kernel).getBody().front())))
    return failure();
  return std::move(interpreter.trace);
}
