// The loop over tiles, its steps, and schedules: syntax and verifiers.
#include "Tile/IR/Interleave.h"
#include "Tile/IR/RegisterValueSyntax.h"
#include "Tile/IR/Tile.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hocket::tile;

// ForTilesOp

namespace {
/// What stands in one of the loop's clauses on cut tiles, before its values are resolved.
struct ParsedCuts {
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  SmallVector<int64_t> within;
};
} // namespace

/// `cut_right(%keys within 0, %diagonal within 255)`, or nothing.
static ParseResult parseCuts(OpAsmParser &parser, StringRef keyword, ParsedCuts &cuts) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  auto parseCut = [&]() -> ParseResult {
    return failure(parser.parseOperand(cuts.bounds.emplace_back()) ||
                   parser.parseKeyword("within") ||
                   parser.parseInteger(cuts.within.emplace_back()));
  };
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseCut);
}

static void printCuts(OpAsmPrinter &printer, StringRef keyword, OperandRange bounds,
                      ArrayRef<int64_t> within) {
  if (bounds.empty())
    return;
  printer << " " << keyword << "(";
  llvm::interleaveComma(llvm::zip_equal(bounds, within), printer, [&](auto cut) {
    printer << std::get<0>(cut) << " within " << std::get<1>(cut);
  });
  printer << ")";
}

void ForTilesOp::build(OpBuilder &builder, OperationState &state, Value count, ValueRange inits,
                       ArrayRef<TileCut> cuts, FlatSymbolRefAttr schedule, ValueRange seen) {
  SmallVector<Value> bounds[2];
  SmallVector<int64_t> within[2];
  for (const TileCut &cut : cuts) {
    bool right = cut.bound.side == TileSide::Right;
    bounds[right].push_back(cut.bound.value);
    within[right].push_back(cut.within);
  }
  build(builder, state, inits.getTypes(), count, inits, bounds[0], bounds[1], seen,
        builder.getDenseI64ArrayAttr(within[0]), builder.getDenseI64ArrayAttr(within[1]), schedule);
}

SmallVector<TileCut> ForTilesOp::getCuts() {
  SmallVector<TileCut> cuts;
  for (auto [bound, within] : llvm::zip_equal(getLeftBounds(), getLeftWithin()))
    cuts.push_back({{bound, TileSide::Left}, within});
  for (auto [bound, within] : llvm::zip_equal(getRightBounds(), getRightWithin()))
    cuts.push_back({{bound, TileSide::Right}, within});
  return cuts;
}

std::optional<TileMargins> ForTilesOp::wholeWithin(ArrayRef<TileBound> bounds, int64_t extent) {
  SmallVector<TileCut> cuts = getCuts();
  TileMargins margins;
  for (const TileBound &bound : bounds) {
    const TileCut *cut = llvm::find_if(cuts, [&](const TileCut &c) { return c.bound == bound; });
    if (cut == cuts.end())
      return std::nullopt;
    // The place in the first or last tile from which the clause counts may be any of it.
    int64_t &tiles = bound.side == TileSide::Left ? margins.before : margins.after;
    tiles = std::max<int64_t>(tiles, llvm::divideCeil(cut->within + extent - 1, extent));
  }
  return margins;
}

bool ForTilesOp::isWhole(ArrayRef<TileBound> bounds, int64_t extent, int64_t before, int64_t after) {
  std::optional<TileMargins> margins = wholeWithin(bounds, extent);
  return margins && before >= margins->before && after >= margins->after;
}

ParseResult ForTilesOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type i32 = builder.getI32Type();
  SmallVector<OpAsmParser::Argument> arguments(1);
  OpAsmParser::UnresolvedOperand count;
  int64_t zero = 0;
  SMLoc zeroLoc;
  arguments[0].type = i32;
  if (parser.parseArgument(arguments[0]) || parser.parseEqual() ||
      parser.getCurrentLocation(&zeroLoc) || parser.parseInteger(zero) ||
      parser.parseKeyword("to") || parser.parseOperand(count) ||
      parser.resolveOperand(count, i32, result.operands))
    return failure();
  if (zero != 0)
    return parser.emitError(zeroLoc, "a loop over tiles starts at 0");
  ParsedCuts left, right;
  if (parseCuts(parser, "cut_left", left) || parseCuts(parser, "cut_right", right))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand, 2> seen;
  if (succeeded(parser.parseOptionalKeyword("seen")) &&
      (parser.parseLParen() || parser.parseOperand(seen.emplace_back()) || parser.parseKeyword("to") ||
       parser.parseOperand(seen.emplace_back()) || parser.parseRParen()))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SMLoc initLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("init"))) {
    auto parseCarried = [&]() -> ParseResult {
      OpAsmParser::Argument &carried = arguments.emplace_back();
      return failure(parser.parseArgument(carried) || parser.parseEqual() ||
                     parser.parseOperand(inits.emplace_back()) ||
                     parser.parseColonType(carried.type));
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseCarried))
      return failure();
  }
  for (OpAsmParser::Argument &carried : llvm::drop_begin(arguments))
    result.addTypes(carried.type);
  FlatSymbolRefAttr schedule;
  if (parser.resolveOperands(inits, result.types, initLoc, result.operands) ||
      parser.resolveOperands(left.bounds, i32, result.operands) ||
      parser.resolveOperands(right.bounds, i32, result.operands) ||
      parser.resolveOperands(seen, i32, result.operands) ||
      parser.parseKeyword("schedule") || parser.parseLParen() ||
      parser.parseAttribute(schedule, getScheduleAttrName(result.name), result.attributes) ||
      parser.parseRParen() || parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getLeftWithinAttrName(result.name),
                      builder.getDenseI64ArrayAttr(left.within));
  result.addAttribute(getRightWithinAttrName(result.name),
                      builder.getDenseI64ArrayAttr(right.within));
  llvm::copy(ArrayRef<int32_t>({1, static_cast<int32_t>(inits.size()),
                                static_cast<int32_t>(left.bounds.size()),
                                static_cast<int32_t>(right.bounds.size()),
                                static_cast<int32_t>(seen.size())}),
             result.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void ForTilesOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTile() << " = 0 to " << getCount();
  printCuts(printer, "cut_left", getLeftBounds(), getLeftWithin());
  printCuts(printer, "cut_right", getRightBounds(), getRightWithin());
  if (!getSeen().empty())
    printer << " seen(" << getSeen().front() << " to " << getSeen().back() << ")";
  if (!getInits().empty()) {
    printer << " init(";
    llvm::interleaveComma(llvm::zip_equal(getCarried(), getInits()), printer, [&](auto pair) {
      auto [carried, init] = pair;
      printer << carried << " = " << init << " : " << init.getType();
    });
    printer << ")";
  }
  printer << " schedule(" << getScheduleAttr() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                            {getScheduleAttrName(), getLeftWithinAttrName(),
                                             getRightWithinAttrName(), "operandSegmentSizes"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, !getInits().empty());
}

/// Places beyond which sums with the tiles of a loop would not fit into 32 bits.
static constexpr int64_t kMaxWithin = int64_t(1) << 30;

LogicalResult ForTilesOp::verify() {
  if (getLeftBounds().size() != getLeftWithin().size() ||
      getRightBounds().size() != getRightWithin().size())
    return emitOpError("has bounds that cut its tiles without saying within what, or the reverse");
  if (!getSeen().empty() && getSeen().size() != 2)
    return emitOpError() << "says with " << getSeen().size() << " numbers which tiles the wave sees, expected 'seen(%first "
                         << "to %end)' or nothing";
  SmallVector<TileBound> seen;
  for (const TileCut &cut : getCuts()) {
    StringRef clause = cut.bound.side == TileSide::Left ? "cut_left" : "cut_right";
    if (cut.within < 0 || cut.within > kMaxWithin)
      return emitOpError() << "says '" << clause << "' within " << cut.within
                           << ", expected 0 to " << kMaxWithin
                           << "; a bound of which nothing is known is left out";
    if (llvm::is_contained(seen, cut.bound))
      return emitOpError() << "lists a bound twice in '" << clause << "'; remove one";
    seen.push_back(cut.bound);
  }
  return success();
}

LogicalResult ForTilesOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInits().size() + 1 ||
      !body.getArgument(0).getType().isInteger(32))
    return emitOpError("body must take the tile (i32) and the carried values");
  if (getResultTypes() != getInits().getTypes() ||
      TypeRange(body.getArgumentTypes()).drop_front() != getResultTypes() ||
      body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("initial, carried, yielded and result types must be the same");
  for (Value value : body.getTerminator()->getOperands())
    if (auto step = value.getDefiningOp<StepOp>(); !step || step->getParentOp() != getOperation())
      return emitOpError("yields a value that none of its steps produces");
  llvm::StringSet<> names;
  for (Operation &op : body.without_terminator()) {
    auto step = dyn_cast<StepOp>(op);
    if (!step)
      return op.emitOpError("stands in the body of 'tile.for_tiles', only steps may; put it into a "
                            "'tile.step' or in front of the loop");
    if (!names.insert(step.getSymName()).second)
      return step.emitOpError() << "step '" << step.getSymName() << "' appears twice";
  }
  return success();
}

// StepOp

LogicalResult StepOp::verify() {
  if (getBody().front().getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError() << "step '" << getSymName()
                         << "' yields other types than it declares as results";
  return success();
}

// WhereOp

/// `%condition else(%a, %b : f32, i32) { ... }`
ParseResult WhereOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand condition;
  SmallVector<OpAsmParser::UnresolvedOperand> otherwise;
  SMLoc location;
  if (parser.parseOperand(condition) ||
      parser.resolveOperand(condition, parser.getBuilder().getI1Type(), result.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("else")) &&
      (parser.parseLParen() || parser.getCurrentLocation(&location) || parser.parseOperandList(otherwise) ||
       parser.parseColonTypeList(result.types) || parser.parseRParen() ||
       parser.resolveOperands(otherwise, result.types, location, result.operands)))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void WhereOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCondition();
  if (!getOtherwise().empty())
    printer << " else(" << getOtherwise() << " : " << getOtherwise().getTypes() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, !getOtherwise().empty());
}

LogicalResult WhereOp::verify() {
  if (getBody().front().getTerminator()->getOperandTypes() != getResultTypes() ||
      getOtherwise().getTypes() != getResultTypes())
    return emitOpError("must have results of the types that it yields and of what stands behind 'else'");
  WalkResult walk = getBody().walk([&](Operation *op) {
    return isa<BarrierOp, AwaitOp, WaitOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return emitOpError("holds a wait or a barrier, which all waves must come to; move it out");
  return success();
}

// ScheduleOp

/// Copies of an iteration that a schedule may ask for: each is written out.
static constexpr int64_t kMaxCopies = 16;

LogicalResult ScheduleOp::verifyRegions() {
  int64_t unroll = getUnroll();
  if (unroll < 1 || unroll > kMaxCopies)
    return emitOpError() << "unroll(" << unroll << "), expected 1 to " << kMaxCopies;
  int64_t groups = getWaveGroups();
  if (groups != 1 && groups != 2)
    return emitOpError() << "wave_groups(" << groups << "), expected 1 or 2";
  if (std::optional<int64_t> workgroups = getWorkgroups(); workgroups && (*workgroups < 1 || *workgroups > kMaxWorkgroups))
    return emitOpError() << "workgroups(" << *workgroups << "), expected 1 to " << kMaxWorkgroups;
  if (std::optional<int64_t> each = getPolynomials(); each && *each < 1)
    return emitOpError() << "polynomials(" << *each << "), a number from 1 on is needed: one pair of each so many";
  if (getBody().front().empty())
    return emitOpError() << "schedule '" << getSymName()
                         << "' has no cluster; add a 'tile.cluster' with steps of the loop";
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) {
    auto cluster = dyn_cast<ClusterOp>(op);
    if (!cluster)
      return op.emitOpError("stands in a schedule, only clusters may");
    if (cluster.getJoined() && &op == &getBody().front().front())
      return cluster.emitOpError("is joined to the cluster before, and is the first; take 'joined' away");
    for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>()) {
      if (place.getOffset() < -kMaxCopies || place.getOffset() > kMaxCopies)
        return cluster.emitOpError()
               << "places step '" << place.getStep().getValue() << "' " << place.getOffset()
               << " tiles away, expected -" << kMaxCopies << " to " << kMaxCopies;
      if (!names.insert(place.getStep().getValue()).second)
        return cluster.emitOpError()
               << "step '" << place.getStep().getValue() << "' is placed twice in schedule '"
               << getSymName() << "'; remove one of the places";
    }
  }
  return success();
}

// ClusterOp and EnterOp

static LogicalResult verifyCluster(Operation *op, std::optional<int64_t> priority,
                                   std::optional<StringRef> interleave) {
  if (priority && (*priority < 0 || *priority > 3))
    return op->emitOpError() << "has priority " << *priority << ", expected 0 to 3";
  if (priority && interleave && Interleave::of(*interleave).even)
    return op->emitOpError() << "has priority " << *priority << " and interleaves '" << *interleave
                             << "', where 'even' sets it; leave one of them out";
  std::string wrong = interleave ? wrongInterleave(*interleave) : "";
  return wrong.empty() ? success() : op->emitOpError() << wrong;
}

LogicalResult ClusterOp::verify() {
  if (getKind() == ClusterKind::Memory && getInterleave())
    return emitOpError("is a memory cluster with an interleave pattern; only compute clusters "
                       "have matrix instructions to interleave");
  return verifyCluster(*this, getPriority(), getInterleave());
}

LogicalResult EnterOp::verify() { return verifyCluster(*this, getPriority(), getInterleave()); }

// ClusterOp: `read_k(0) fetch_v(+2)`

static ParseResult parsePlaces(OpAsmParser &parser, ArrayAttr &places) {
  SmallVector<Attribute> parsed;
  std::string step;
  while (succeeded(parser.parseOptionalKeywordOrString(&step))) {
    bool plus = false;
    int64_t offset = 0;
    if (parser.parseLParen())
      return failure();
    plus = succeeded(parser.parseOptionalPlus());
    if (parser.parseInteger(offset) || parser.parseRParen())
      return failure();
    if (plus && offset < 0)
      return parser.emitError(parser.getCurrentLocation(), "tile offset has two signs");
    parsed.push_back(
        PlaceAttr::get(parser.getContext(), parser.getBuilder().getStringAttr(step), offset));
  }
  places = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printPlaces(OpAsmPrinter &printer, ClusterOp, ArrayAttr places) {
  for (PlaceAttr place : places.getAsRange<PlaceAttr>()) {
    printer << ' ';
    printer.printKeywordOrString(place.getStep().getValue());
    printer << "(" << (place.getOffset() > 0 ? "+" : "") << place.getOffset() << ")";
  }
  printer << ' ';
}

// All generated definitions stand here, beside the parsers they call.
#define GET_OP_CLASSES
#include "Tile/IR/TileOps.cpp.inc"
