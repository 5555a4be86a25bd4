// tile.map: syntax and verifier.
//
//   %y = tile.map(%x = %product : !tile.frag<64x32xf32, acc>, %b = %bias : !tile.columns<64xf32, acc>)
//       at(%row = %first, %column) -> !tile.frag<64x32xbf16, acc> { ... tile.yield %z : bf16 }
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/Tile.h"

using namespace mlir;
using namespace hocket::tile;

/// `%row = %origin` or `%row`.
static ParseResult parseCoordinate(OpAsmParser &parser, OpAsmParser::Argument &argument,
                                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &origin) {
  argument.type = parser.getBuilder().getI32Type();
  if (parser.parseArgument(argument))
    return failure();
  if (failed(parser.parseOptionalEqual()))
    return success();
  return parser.parseOperand(origin.emplace_back());
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, row, column, condition;
  SmallVector<Type> types, results;
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(inputs.emplace_back()) || parser.parseColonType(types.emplace_back()))
      return failure();
    argument.type = elementTypeOf(types.back());
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    if (parser.parseLParen() || parseCoordinate(parser, arguments.emplace_back(), row) ||
        parser.parseComma() || parseCoordinate(parser, arguments.emplace_back(), column) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(getCoordinatesAttrName(result.name), builder.getUnitAttr());
  }
  if (succeeded(parser.parseOptionalKeyword("when")) &&
      (parser.parseLParen() || parser.parseOperand(condition.emplace_back()) || parser.parseRParen()))
    return failure();
  if (!condition.empty() && succeeded(parser.parseOptionalKeyword("rarely")))
    result.addAttribute(getRarelyAttrName(result.name), builder.getUnitAttr());
  if (parser.parseArrowTypeList(results) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addTypes(results);
  Type i32 = builder.getI32Type();
  if (parser.resolveOperands(inputs, types, loc, result.operands) ||
      parser.resolveOperands(row, i32, result.operands) ||
      parser.resolveOperands(column, i32, result.operands) ||
      parser.resolveOperands(condition, builder.getI1Type(), result.operands))
    return failure();
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(inputs.size()),
                                                    static_cast<int32_t>(row.size()),
                                                    static_cast<int32_t>(column.size()),
                                                    static_cast<int32_t>(condition.size())}));
  // Names of the header may hide those outside: the region does not see these.
  return parser.parseRegion(*result.addRegion(), arguments, /*enableNameShadowing=*/true);
}

void MapOp::print(OpAsmPrinter &printer) {
  printer << "(";
  llvm::interleaveComma(llvm::zip_equal(getElements(), getInputs()), printer, [&](auto pair) {
    auto [element, input] = pair;
    printer << element << " = " << input << " : " << input.getType();
  });
  printer << ")";
  auto printCoordinate = [&](BlockArgument argument, Value origin) {
    printer << argument;
    if (origin)
      printer << " = " << origin;
  };
  if (getCoordinates()) {
    printer << " at(";
    printCoordinate(getRowArgument(), getRowOrigin());
    printer << ", ";
    printCoordinate(getColumnArgument(), getColumnOrigin());
    printer << ")";
  }
  if (getCondition())
    printer << " when(" << getCondition() << ")" << (getRarely() ? " rarely" : "");
  printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getOperandSegmentSizesAttrName(), getCoordinatesAttrName(), getRarelyAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ValueRange MapOp::getYielded() { return getBody().front().getTerminator()->getOperands(); }

static bool isTile(Type type) { return isa<FragType, RowsType, ColumnsType>(type); }

bool hocket::tile::reaches(Type type, Type places) {
  if (!isTile(type))
    return true;
  if (auto frag = dyn_cast<FragType>(places)) {
    if (auto rows = dyn_cast<RowsType>(type))
      return fits(rows, frag);
    if (auto columns = dyn_cast<ColumnsType>(type))
      return fits(columns, frag);
    return holdAlike(cast<FragType>(type), frag);
  }
  if (auto rows = dyn_cast<RowsType>(places))
    return isa<RowsType>(type) && holdAlike(cast<RowsType>(type), rows);
  if (auto columns = dyn_cast<ColumnsType>(places))
    return isa<ColumnsType>(type) && holdAlike(cast<ColumnsType>(type), columns);
  return false;
}

Type hocket::tile::reaching(Type type, Type places) {
  Type element = elementTypeOf(type);
  auto frag = dyn_cast<FragType>(places);
  if (frag && isa<RowsType>(type))
    return rowsOf(frag, element);
  if (frag && isa<ColumnsType>(type))
    return columnsOf(frag, element);
  if (frag)
    return FragType::get(type.getContext(), frag.getShape(), element, frag.getRegisterLayout());
  if (auto rows = dyn_cast<RowsType>(places))
    return RowsType::get(type.getContext(), rows.getSize(), element, rows.getRegisterLayout());
  if (auto columns = dyn_cast<ColumnsType>(places))
    return ColumnsType::get(type.getContext(), columns.getSize(), element,
                            columns.getRegisterLayout());
  return element;
}

LogicalResult MapOp::verify() {
  if (getResults().empty())
    return emitOpError("has no result; write the type of what its region yields behind '->'");
  Type places = getResultTypes().front();
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (isTile(type) != isTile(places) ||
        (isTile(type) && (type.getTypeID() != places.getTypeID() || !reaches(type, places))))
      return emitOpError() << "result " << index << " is " << type << " and result 0 " << places
                           << ", expected all results in the same places";
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (!reaches(input.getType(), places))
      return emitOpError() << "input " << index << " is " << input.getType() << ", expected "
                           << reaching(input.getType(), places) << " for a result " << places;
  if (getCondition())
    for (auto [index, type] : llvm::enumerate(getResultTypes()))
      if (index >= getInputs().size() || getInputs()[index].getType() != type)
        return emitOpError() << "has a condition, and no input " << index << " of type " << type
                             << ", which result " << index << " is where the condition is 0";
  if (!getCoordinates() && (getRowOrigin() || getColumnOrigin()))
    return emitOpError("has an origin of coordinates, but no coordinates");
  if (getCoordinates() && !isTile(places))
    return emitOpError() << "asks for the coordinates of " << places
                         << ", only fragments, rows and columns have any";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  SmallVector<Type> wantedTypes;
  for (Value input : getInputs())
    wantedTypes.push_back(elementTypeOf(input.getType()));
  if (getCoordinates())
    wantedTypes.append(2, IntegerType::get(getContext(), 32));
  if (TypeRange(body.getArgumentTypes()) != TypeRange(wantedTypes))
    return emitOpError("region takes other types than the elements of its inputs and, with 'at', "
                       "two i32");
  for (Operation &op : body.without_terminator())
    if (failed(verifyElementOp(&op)))
      return failure();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError("region must end in 'tile.yield'");
  if (yield.getNumOperands() != getNumResults())
    return emitOpError() << "region yields " << yield.getNumOperands() << " numbers for "
                         << getNumResults() << " results";
  for (auto [index, value, type] : llvm::enumerate(yield.getOperands(), getResultTypes()))
    if (value.getType() != elementTypeOf(type))
      return emitOpError() << "region yields " << value.getType() << " for result " << index
                           << " of " << type << ", expected " << elementTypeOf(type);
  return success();
}
