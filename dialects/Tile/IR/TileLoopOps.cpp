// The loop over tiles, its steps, and schedules: syntax and verifiers.
#include "Tile/IR/RegisterValueSyntax.h"
#include "Tile/IR/Tile.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hocket::tile;

// ForTilesOp

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
      parser.parseKeyword("schedule") || parser.parseLParen() ||
      parser.parseAttribute(schedule, getScheduleAttrName(result.name), result.attributes) ||
      parser.parseRParen() || parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void ForTilesOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTile() << " = 0 to " << getCount();
  if (!getInits().empty()) {
    printer << " init(";
    llvm::interleaveComma(llvm::zip_equal(getCarried(), getInits()), printer, [&](auto pair) {
      auto [carried, init] = pair;
      printer << carried << " = " << init << " : " << init.getType();
    });
    printer << ")";
  }
  printer << " schedule(" << getScheduleAttr() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getScheduleAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, !getInits().empty());
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

// ScheduleOp

/// Copies of an iteration that a schedule may ask for: each is written out.
static constexpr int64_t kMostCopies = 16;

LogicalResult ScheduleOp::verifyRegions() {
  int64_t unroll = getUnroll();
  if (unroll < 1 || unroll > kMostCopies)
    return emitOpError() << "unroll(" << unroll << "), expected 1 to " << kMostCopies;
  int64_t groups = getWaveGroups();
  if (groups != 1 && groups != 2)
    return emitOpError() << "wave_groups(" << groups << "), expected 1 or 2";
  if (getBody().front().empty())
    return emitOpError() << "schedule '" << getSymName()
                         << "' has no cluster; add a 'tile.cluster' with steps of the loop";
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) {
    auto cluster = dyn_cast<ClusterOp>(op);
    if (!cluster)
      return op.emitOpError("stands in a schedule, only clusters may");
    for (PlaceAttr place : cluster.getPlaces().getAsRange<PlaceAttr>()) {
      if (place.getOffset() < -kMostCopies || place.getOffset() > kMostCopies)
        return cluster.emitOpError()
               << "places step '" << place.getStep().getValue() << "' " << place.getOffset()
               << " tiles away, expected -" << kMostCopies << " to " << kMostCopies;
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
  if (!interleave || *interleave == "none")
    return success();
  SmallVector<StringRef> slots;
  SplitString(*interleave, slots);
  for (StringRef slot : slots)
    if (slot != "mfma" && slot != "trans" && slot != "valu" && slot != "read")
      return op->emitOpError() << "interleaves '" << slot
                               << "', expected a list of mfma, trans, valu and read, or none";
  if (!llvm::is_contained(slots, "mfma"))
    return op->emitOpError() << "interleaves '" << *interleave
                             << "', which has no mfma; put one in front";
  return success();
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
