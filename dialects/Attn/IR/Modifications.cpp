// Modifications of scores and masks: syntax and verifiers.
//
//   attn.mask_mod @near(%batch: i32, %head: i32, %query: i32, %key: i32, %reach: i32) { ... }
#include "Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace hocket::attn;

/// What is captured is bound to its name, which only the text has, unless it says more.
static void bindToName(Builder &builder, OpAsmParser::Argument &argument) {
  StringRef name = argument.ssaName.name.drop_front();
  NamedAttrList attributes(argument.attrs);
  StringRef key = isa<RankedTensorType>(argument.type) ? "attn.bind" : "attn.value";
  if (name.empty() || llvm::isDigit(name.front()) || attributes.get(key))
    return;
  attributes.set(key, builder.getStringAttr(name));
  argument.attrs = attributes.getDictionary(builder.getContext());
}

static ParseResult parseModification(OpAsmParser &parser, OperationState &result, Type yielded,
                                     unsigned ownArguments, StringAttr typeName,
                                     StringAttr argAttrs, StringAttr resAttrs) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    types.push_back(argument.type);
    if (index >= ownArguments)
      bindToName(builder, argument);
  }
  result.addAttribute(typeName, TypeAttr::get(builder.getFunctionType(types, yielded)));
  call_interface_impl::addArgAndResultAttrs(builder, result, arguments, {}, argAttrs, resAttrs);
  return parser.parseRegion(*result.addRegion(), arguments);
}

template <typename ModOp> static void printModification(OpAsmPrinter &printer, ModOp op) {
  printer << ' ';
  printer.printSymbolName(op.getSymName());
  printer << "(";
  llvm::interleaveComma(op.getBody().getArguments(), printer, [&](BlockArgument argument) {
    DictionaryAttr attrs = function_interface_impl::getArgAttrDict(op, argument.getArgNumber());
    printer.printRegionArgument(argument, attrs ? attrs.getValue() : ArrayRef<NamedAttribute>());
  });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword(
      op->getAttrs(), {SymbolTable::getSymbolAttrName(), op.getFunctionTypeAttrName(),
                       op.getArgAttrsAttrName(), op.getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false);
}

static bool isTensorElement(Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isInteger(32) || type.isInteger(8) ||
         type.isInteger(1);
}

/// What may be captured, and what must be said of it.
template <typename ModOp> static LogicalResult verifyCaptures(ModOp op) {
  ArrayRef<Type> types = op.getFunctionType().getInputs();
  for (unsigned index = ModOp::kOwnArguments; index != types.size(); ++index) {
    auto tensor = dyn_cast<RankedTensorType>(types[index]);
    if (!tensor) {
      if (!types[index].isF32() && !types[index].isInteger(32))
        return op.emitOpError() << "captures " << types[index]
                                << ", expected f32, i32 or a ranked tensor";
      if (!op.template getArgAttrOfType<StringAttr>(index, "attn.value"))
        return op.emitOpError() << "captures argument " << index
                                << " without saying what it is; name it after a variable of the "
                                   "problem, or add 'attn.value'";
      continue;
    }
    if (!isTensorElement(tensor.getElementType()) || tensor.getRank() == 0 ||
        static_cast<int64_t>(tensor.getNumDynamicDims()) != tensor.getRank())
      return op.emitOpError() << "captures " << tensor
                              << ", expected a tensor of f32, f16, bf16, i32, i8 or i1 whose "
                                 "extents are all '?'";
    auto name = op.template getArgAttrOfType<StringAttr>(index, "attn.bind");
    if (!name)
      return op.emitOpError() << "captures argument " << index
                              << " without a name; name it, or add 'attn.bind'";
    auto sizes = op.template getArgAttrOfType<ArrayAttr>(index, "attn.sizes");
    if (!sizes || static_cast<int64_t>(sizes.size()) != tensor.getRank() ||
        !llvm::all_of(sizes, llvm::IsaPred<StringAttr>))
      return op.emitOpError() << "captures '" << name.getValue() << "', whose 'attn.sizes' must be "
                              << tensor.getRank() << " expressions, one for each dimension";
  }
  return success();
}

/// Pairs of an expression and what is expected where it does not hold.
template <typename ModOp> static LogicalResult verifyRequires(ModOp op) {
  Attribute attr = op->getAttr(kRequires);
  auto isRule = [](Attribute rule) {
    auto pair = dyn_cast<ArrayAttr>(rule);
    return pair && pair.size() == 2 && llvm::all_of(pair, llvm::IsaPred<StringAttr>);
  };
  auto rules = dyn_cast_or_null<ArrayAttr>(attr);
  if (!attr || (rules && llvm::all_of(rules, isRule)))
    return success();
  return op.emitOpError() << "has '" << kRequires << "', which must be a list of pairs of strings: what must hold of "
                             "the problem's numbers, and what is expected where it does not";
}

template <typename ModOp>
static LogicalResult verifyModification(ModOp op, ArrayRef<Type> leading, Type yielded,
                                        StringRef what) {
  SmallVector<Type> wanted(leading);
  wanted.append(4, IntegerType::get(op.getContext(), 32));
  FunctionType type = op.getFunctionType();
  if (type.getNumInputs() < wanted.size() ||
      type.getInputs().take_front(wanted.size()) != ArrayRef<Type>(wanted))
    return op.emitOpError() << "must take " << what
                            << "the batch, the head, the query and the key (" << wanted
                            << ") first";
  if (type.getResults() != ArrayRef<Type>(yielded))
    return op.emitOpError() << "must yield " << yielded;
  return failed(verifyRequires(op)) ? failure() : verifyCaptures(op);
}

/// What a kernel is made of within about a minute; the time rises with more than the square.
static constexpr int64_t kMaxOperations = 1024;

static LogicalResult verifyLength(Operation *op, Region &region) {
  int64_t count = 0;
  region.walk([&](Operation *) { ++count; });
  if (count <= kMaxOperations)
    return success();
  return op->emitOpError() << "has " << count << " operations, at most " << kMaxOperations
                           << " are possible; compute ahead what can be, and look it up with 'attn.read'";
}

/// Only what is listed: no side effects, no loops.
static LogicalResult verifyOps(Operation *op, Region &region) {
  for (Operation &inner : region.front()) {
    Dialect *dialect = inner.getDialect();
    bool isKnown = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(dialect) ||
                   isa<scf::IfOp, scf::YieldOp, ReadOp, YieldOp>(inner);
    if (!isKnown)
      return inner.emitOpError() << "may not stand in a modification; use ops of 'arith' and 'math', "
                                    "'scf.if' and 'attn.read'";
    if (auto branch = dyn_cast<scf::IfOp>(inner)) {
      if (branch.getNumResults() == 0)
        return inner.emitOpError("has no results, which in a modification does nothing; remove it");
      for (Region *part : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (failed(verifyOps(op, *part)))
          return failure();
    }
  }
  return success();
}

template <typename ModOp> static LogicalResult verifyModificationBody(ModOp op) {
  Block &body = op.getBody().front();
  if (TypeRange(body.getArgumentTypes()) != TypeRange(op.getFunctionType().getInputs()))
    return op.emitOpError("region takes other types than the modification");
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  Type wanted = op.getFunctionType().getResult(0);
  if (!yield || yield.getValue().getType() != wanted)
    return op.emitOpError() << "must end in 'attn.yield' of " << wanted;
  return failed(verifyLength(op, op.getBody())) ? failure() : verifyOps(op, op.getBody());
}

ParseResult ScoreModOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseModification(parser, result, parser.getBuilder().getF32Type(), kOwnArguments,
                           getFunctionTypeAttrName(result.name), getArgAttrsAttrName(result.name),
                           getResAttrsAttrName(result.name));
}
void ScoreModOp::print(OpAsmPrinter &printer) { printModification(printer, *this); }
LogicalResult ScoreModOp::verify() {
  Type f32 = Float32Type::get(getContext());
  return verifyModification(*this, f32, f32, "the score, ");
}
LogicalResult ScoreModOp::verifyRegions() { return verifyModificationBody(*this); }

ParseResult MaskModOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseModification(parser, result, parser.getBuilder().getI1Type(), kOwnArguments,
                           getFunctionTypeAttrName(result.name), getArgAttrsAttrName(result.name),
                           getResAttrsAttrName(result.name));
}
void MaskModOp::print(OpAsmPrinter &printer) { printModification(printer, *this); }
LogicalResult MaskModOp::verify() {
  return verifyModification(*this, {}, IntegerType::get(getContext(), 1), "");
}
LogicalResult MaskModOp::verifyRegions() { return verifyModificationBody(*this); }

LogicalResult ReadOp::verify() {
  auto tensor = cast<RankedTensorType>(getTensor().getType());
  if (!isa<BlockArgument>(getTensor()))
    return emitOpError("reads a tensor that the modification does not capture");
  if (static_cast<int64_t>(getIndices().size()) != tensor.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for " << tensor
                         << ", expected one for each dimension";
  Type element = tensor.getElementType(), result = getResult().getType();
  bool widened = (result.isF32() && (element.isBF16() || element.isF16())) ||
                 (result.isInteger(32) && element.isInteger(8));
  if (result == element || widened)
    return success();
  return emitOpError() << "reads " << result << " from " << tensor
                       << ", expected its element type, f32 for bf16 and f16, or i32 for i8";
}
