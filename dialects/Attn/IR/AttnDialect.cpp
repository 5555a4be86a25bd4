// Registration and verifiers of the attn dialect.
#include "Attn/IR/Attn.h"

#include "IR/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::attn;

#include "Attn/IR/AttnDialect.cpp.inc"
#include "Attn/IR/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Attn/IR/AttnAttrs.cpp.inc"

// What a mask is called: `none`, `causal`, `window(left, right)` with `?` for no end.

static ParseResult parseWindowSide(AsmParser &parser, std::optional<int64_t> &side) {
  if (succeeded(parser.parseOptionalQuestion()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  int64_t keys = 0;
  if (parser.parseInteger(keys))
    return failure();
  if (keys < 0)
    return parser.emitError(loc) << "a window reaches " << keys
                                 << " keys, expected a number from 0, or '?' for no end";
  side = keys;
  return success();
}

static FailureOr<VisibilityAttr> parseVisibilityName(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return parser.emitError(loc) << "expected a mask: none, causal or window(left, right)";
  std::optional<int64_t> left, right;
  if (name == "causal")
    right = 0;
  else if (name == "window") {
    if (parser.parseLParen() || parseWindowSide(parser, left) || parser.parseComma() ||
        parseWindowSide(parser, right) || parser.parseRParen())
      return failure();
  } else if (name != "none")
    return parser.emitError(loc) << "unknown mask '" << name
                                 << "', expected none, causal or window(left, right)";
  return VisibilityAttr::get(parser.getContext(), left, right);
}

static void printVisibilityName(AsmPrinter &printer, VisibilityAttr attr) {
  auto side = [&](std::optional<int64_t> keys) {
    keys ? printer << *keys : printer << "?";
  };
  if (attr.isAll()) {
    printer << "none";
  } else if (attr.isCausal()) {
    printer << "causal";
  } else {
    printer << "window(";
    side(attr.getLeft());
    printer << ", ";
    side(attr.getRight());
    printer << ")";
  }
}

Attribute VisibilityAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<VisibilityAttr> attr = parseVisibilityName(parser);
  return failed(attr) || parser.parseGreater() ? Attribute() : *attr;
}

void VisibilityAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printVisibilityName(printer, *this);
  printer << ">";
}

/// All keys is what an op without a mask sees.
static ParseResult parseVisibility(OpAsmParser &parser, VisibilityAttr &attr) {
  FailureOr<VisibilityAttr> parsed = parseVisibilityName(parser);
  if (failed(parsed))
    return failure();
  if (!parsed->isAll())
    attr = *parsed;
  return success();
}

static void printVisibility(OpAsmPrinter &printer, Operation *, VisibilityAttr attr) {
  printVisibilityName(printer, attr);
}

/// Tensors of an attention that have element types.
static constexpr StringLiteral kTypedTensors[] = {"q", "k", "v", "o"};

/// `bf16`, or `q = bf16, k = f16`: a type for all, or for those that are listed and Q's for the others. What has Q's is
/// not listed in `types`.
static ParseResult parseElementTypes(OpAsmParser &parser, TypeAttr &element, DictionaryAttr &types) {
  SmallVector<StringRef> names(std::begin(kTypedTensors), std::end(kTypedTensors));
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name, names))) {
    Type type;
    if (parser.parseType(type))
      return failure();
    element = TypeAttr::get(type);
    return success();
  }
  NamedAttrList listed;
  do {
    Type type;
    SMLoc nameLoc = parser.getCurrentLocation();
    if (name.empty() && failed(parser.parseOptionalKeyword(&name, names)))
      return parser.emitError(nameLoc) << "expected a tensor: q, k, v or o";
    if (parser.parseEqual() || parser.parseType(type))
      return failure();
    if (listed.get(name))
      return parser.emitError(nameLoc) << "'" << name << "' is listed twice";
    listed.append(name, TypeAttr::get(type));
    name = {};
  } while (succeeded(parser.parseOptionalComma()));
  element = dyn_cast_if_present<TypeAttr>(listed.get("q"));
  if (!element)
    return parser.emitError(loc) << "'q' is not listed, whose type the others have where they are left out";
  for (StringRef tensor : names)
    if (listed.get(tensor) == element)
      listed.erase(tensor);
  if (!listed.empty())
    types = listed.getDictionary(parser.getContext());
  return success();
}

static void printElementTypes(OpAsmPrinter &printer, Operation *, TypeAttr element, DictionaryAttr types) {
  if (!types) {
    printer << element.getValue();
    return;
  }
  printer << "q = " << element.getValue();
  for (StringRef tensor : kTypedTensors)
    if (auto type = types.getAs<TypeAttr>(tensor))
      printer << ", " << tensor << " = " << type.getValue();
}

Type ForwardOp::getTensorType(StringRef name) {
  std::optional<DictionaryAttr> types = getTensorTypes();
  auto own = types ? types->getAs<TypeAttr>(name) : TypeAttr();
  return own ? own.getValue() : getElementType();
}

/// `@a, @b`.
static ParseResult parseSymbols(OpAsmParser &parser, ArrayAttr &symbols) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        StringAttr name;
        if (parser.parseSymbolName(name))
          return failure();
        list.push_back(FlatSymbolRefAttr::get(name));
        return success();
      }))
    return failure();
  symbols = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printSymbols(OpAsmPrinter &printer, Operation *, ArrayAttr symbols) {
  llvm::interleaveComma(symbols, printer);
}

#define GET_OP_CLASSES
#include "Attn/IR/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Attn/IR/AttnOps.cpp.inc"
      >();
}

/// Beside bf16 and f16, all tensors of the forward may be f32 or floats of 8 bits, and Q and K such integers, and Q, K and V fp4.
static bool isForwardType(ElementType type, StringRef tensor) {
  if (type == ElementType::I8)
    return tensor == "q" || tensor == "k";
  if (type == ElementType::F4E2M1)
    return tensor != "o";
  return type == ElementType::F32 || (infoOf(type).isFloat() && infoOf(type).bits == 8);
}

static StringRef typesOfTensor(StringRef tensor) {
  if (tensor.empty())
    return "bf16 or f16";
  if (tensor == "v")
    return "bf16, f16, f32, f4E2M1FN or a float of 8 bits";
  return tensor == "o" ? "bf16, f16, f32 or a float of 8 bits" : "bf16, f16, f32, i8, f4E2M1FN or a float of 8 bits";
}

/// The element type of all tensors, or of `tensor` of a forward.
static LogicalResult verifyElement(Operation *op, Type element, StringRef tensor = {}) {
  std::optional<ElementType> type = asElementType(element);
  if (type && (isOperandType(*type) || (!tensor.empty() && isForwardType(*type, tensor))))
    return success();
  InFlightDiagnostic error = op->emitOpError() << "element type " << element;
  if (!tensor.empty())
    error << " of '" << tensor << "'";
  error << " is not supported, use " << typesOfTensor(tensor);
  if (type && isFloat(*type))
    error << "; " << irName(nearestOperandType(*type)) << " is nearest";
  return error;
}

/// The types of the forward's tensors.
static LogicalResult verifyTensorTypes(ForwardOp op) {
  for (NamedAttribute listed : op.getTensorTypes().value_or(DictionaryAttr::get(op.getContext()))) {
    auto type = dyn_cast<TypeAttr>(listed.getValue());
    if (!type || !llvm::is_contained(kTypedTensors, listed.getName().strref()))
      return op.emitOpError() << "has a type for '" << listed.getName().strref() << "', expected q, k, v or o";
  }
  for (StringRef tensor : kTypedTensors)
    if (failed(verifyElement(op, op.getTensorType(tensor), tensor)))
      return failure();
  return success();
}

LogicalResult CombineOp::verify() {
  if (failed(verifyElement(*this, getElementType(), "o")))
    return failure();
  if (static_cast<int64_t>(getHeadDim()) < 1)
    return emitOpError() << "head_dim(" << static_cast<int64_t>(getHeadDim())
                         << "), a positive number is needed";
  if (getSplitWaves() && getWorkList())
    return emitOpError("has split_waves and work_list, of whose entries each wave has rows of its own; leave one of them out");
  return success();
}

template <typename ProblemOp> static LogicalResult verifyProblem(ProblemOp op) {
  for (auto [name, dim] : op.getHeadDims())
    if (dim < 1)
      return op.emitOpError() << name << "(" << dim << "), a positive number is needed";
  return success();
}

LogicalResult WorkListOp::verify() {
  if (getPageLists() && !getPageSize())
    return emitOpError("has page_lists, but no pages; write pages(p)");
  if (getAppendedKeys() && !getKeyLengths())
    return emitOpError("has appended_keys, which are behind those that key_lengths count; write key_lengths");
  VisibilityAttr mask = getKeyVisibility();
  if (mask.isAll() || mask.isCausal())
    return success();
  return emitOpError("has a window, whose tiles are not counted; write mask(none) or mask(causal)");
}

/// Blocks of rows and keys are whole accumulator blocks; rows of a wave that are heads have no block of rows in common.
static LogicalResult verifyDescales(ForwardOp op) {
  constexpr int64_t unit = 32;
  auto isMultiple = [&](std::optional<uint64_t> size) { return !size || (static_cast<int64_t>(*size) >= 1 && *size % unit == 0); };
  if (!isMultiple(op.getDescaleRows()))
    return op.emitOpError() << "has descale_rows(" << static_cast<int64_t>(*op.getDescaleRows()) << "), expected a multiple of " << unit;
  if (op.getDescaleKeys() != 1 && !isMultiple(op.getDescaleKeys()))
    return op.emitOpError() << "has descale_keys(" << static_cast<int64_t>(*op.getDescaleKeys()) << "), expected a multiple of " << unit
                            << " or 1";
  if (op.getDescaleValues() && *op.getDescaleValues() != 1)
    return op.emitOpError() << "has descale_values(" << static_cast<int64_t>(*op.getDescaleValues()) << "), expected 1";
  if (op.getDescaleValues() && op.getDescaleChannels())
    return op.emitOpError("has descale_values and descale_channels, and one v_descale; leave one of them out");
  if ((op.getDescaleRows() || op.getDescaleKeys() || op.getDescaleValues() || op.getDescaleChannels()) && !op.getDescale())
    return op.emitOpError("says whose numbers descales are, but has none; write descale, too");
  if (op.getDescaleRows() && (op.getGroupRows() || op.getWorkList()))
    return op.emitOpError() << "has descale_rows, of rows of one head, and " << (op.getGroupRows() ? "group_rows" : "work_list")
                            << ", with rows of several; leave one of them out";
  return success();
}

/// Verifies clauses beside V of 4 bits, whose scales are of keys of one sequence.
static LogicalResult verifyScaledValues(ForwardOp op) {
  constexpr int64_t unit = 64;
  if (op.getTensorType("v").getIntOrFloatBitWidth() >= 8)
    return success();
  if (!op.getMx())
    return op.emitOpError() << "has 'v' of " << op.getTensorType("v") << " without mx, which its scales belong to; add mx";
  if (static_cast<int64_t>(op.getValueHeadDim()) % unit != 0)
    return op.emitOpError() << "has 'v' of " << op.getTensorType("v") << " and head_dim_v(" << static_cast<int64_t>(op.getValueHeadDim())
                            << "), expected a multiple of " << unit << "; pad heads of V with zeros";
  for (auto [isThere, name] : {std::pair(op.getPackedKeys(), "packed_keys"), {op.getSplitWaves(), "split_waves"},
                               {op.getDescaleValues().has_value(), "descale_values"}, {op.getDropout(), "dropout"}})
    if (isThere)
      return op.emitOpError() << "has 'v' of " << op.getTensorType("v") << ", with scales of 32 keys of a sequence, and " << name
                              << "; leave it out, or give 'v' 8 bits";
  return success();
}

/// Verifies clauses beside `mx`. The scaled matrix instruction takes whole operands, whose rows are of one head and
/// follow one another.
static LogicalResult verifyBlockScales(ForwardOp op) {
  constexpr int64_t unit = 64;
  if (failed(verifyScaledValues(op)))
    return failure();
  if (!op.getMx())
    return success();
  for (StringRef tensor : {"q", "k"})
    if (Type type = op.getTensorType(tensor); !isa<FloatType>(type) || type.getIntOrFloatBitWidth() > 8)
      return op.emitOpError() << "has mx, which multiply floats of 8 and 4 bits, and '" << tensor << "' of " << type
                              << "; use f8E4M3FN or f4E2M1FN, or leave mx out";
  if (static_cast<int64_t>(op.getHeadDim()) % unit != 0)
    return op.emitOpError() << "has mx and head_dim(" << static_cast<int64_t>(op.getHeadDim()) << "), expected a multiple of "
                            << unit << "; pad heads of Q and K with zeros";
  for (auto [isThere, name] : {std::pair(op.getGroupRows(), "group_rows"), {op.getWorkList(), "work_list"}})
    if (isThere)
      return op.emitOpError() << "has mx, of rows of one head, and " << name
                              << ", which has rows of several; leave one of them out";
  for (auto [isThere, name] : {std::pair(op.getPageSize().has_value(), "pages"), {op.getAppendedKeys(), "appended_keys"}})
    if (isThere)
      return op.emitOpError() << "has mx, of keys that follow one another, and " << name << "; leave one of them out";
  return success();
}

LogicalResult ForwardOp::verify() {
  if (failed(verifyTensorTypes(*this)) || failed(verifyDescales(*this)) || failed(verifyBlockScales(*this)))
    return failure();
  constexpr int64_t mostRows = 1 << 16, vectorBytes = 16;
  if (getWorkList() && (getGroupRows() || getKeyBlock()))
    return emitOpError() << "has work_list, which says what workgroups work on, and "
                         << (getGroupRows() ? "group_rows" : "block_lists") << "; leave one of them out";
  if (getSplitWaves() && !getGroupRows())
    return emitOpError("has split_waves, whose waves have the heads of a group for rows; write group_rows, too");
  if (getSplitWaves() && getVectorPages())
    return emitOpError("has split_waves, of which each reads a part of a tile's keys, and vector_pages, whose tiles are "
                       "read whole; leave one of them out");
  if (getAppendedKeys() && (!getKeyLengths() || getPackedKeys() || getPageLists()))
    return emitOpError("has appended_keys, which are behind those that key_lengths count in dense tensors or pages of a "
                       "table; write key_lengths, and neither packed_keys nor page_lists");
  if (getPageLists() && !getPageSize())
    return emitOpError("has page_lists, but no pages; write pages(p)");
  if (getFarPages() && !getPageSize())
    return emitOpError("has far_pages, but no pages; write pages(p)");
  if (getVectorPages() && !getPageSize())
    return emitOpError("has vector_pages, but no pages; write pages(p)");
  if (!getPageSize())
    return verifyProblem(*this);
  auto rows = static_cast<int64_t>(*getPageSize());
  if (rows < 1 || rows > mostRows)
    return emitOpError() << "pages(" << rows << "), expected 1 to " << mostRows << " rows";
  if (int64_t vectorRows = vectorBytes * 8 / getTensorType("v").getIntOrFloatBitWidth();
      getVectorPages() && rows % vectorRows != 0)
    return emitOpError() << "has vector_pages of " << rows << " rows, expected a multiple of " << vectorRows
                         << ", as many as a vector has";
  if (getPackedKeys())
    return emitOpError("has keys in pages and packed; leave packed_keys out");
  if (getKeyBlock())
    return emitOpError("has keys in pages and block_lists, which say where they are as well; leave one of them out");
  if (!getPageLists() && !getKeyLengths())
    return emitOpError("has a table of pages, which does not say how many keys a sequence has; write key_lengths, or "
                       "page_lists for lists of pages that do");
  return verifyProblem(*this);
}

template <typename ListsOp> static LogicalResult verifyBlockSizes(ListsOp op) {
  constexpr int64_t most = int64_t(1) << 28;
  for (int64_t size : {static_cast<int64_t>(op.getQueryBlock()), static_cast<int64_t>(op.getKeyBlock())})
    if (size < 1 || size > most)
      return op.emitOpError() << "blocks of " << size << ", expected 1 to " << most << " queries and keys";
  return success();
}

LogicalResult BlockListsOp::verify() { return verifyBlockSizes(*this); }
LogicalResult TransposedListsOp::verify() { return verifyBlockSizes(*this); }

LogicalResult BackwardOp::verify() {
  if (failed(verifyElement(*this, getElementType())))
    return failure();
  BackwardPart part = getPart();
  bool mayAccumulate = llvm::is_contained({BackwardPart::Delta, BackwardPart::Fused, BackwardPart::Convert}, part);
  if (getAccumulate() && !mayAccumulate)
    return emitOpError() << "has accumulate, and part(" << stringifyBackwardPart(part)
                         << ") adds up nothing in memory; leave it out";
  if (!getAccumulate() && mayAccumulate && part != BackwardPart::Delta)
    return emitOpError() << "does not say how part(" << stringifyBackwardPart(part)
                         << ") adds up dQ; write accumulate(f32) or accumulate(packed)";
  if (getLseGradient() && part != BackwardPart::Delta)
    return emitOpError() << "has lse_gradient, which part(delta) reads, and is part("
                         << stringifyBackwardPart(part) << "); leave it out";
  bool mayShare = part == BackwardPart::Sum || (isLoop() && part != BackwardPart::Dq);
  if (getGroupParts() && !mayShare)
    return emitOpError() << "has group_parts, which share keys, and part(" << stringifyBackwardPart(part)
                         << ") does not work on keys; leave it out";
  if (!getGroupParts() && part == BackwardPart::Sum)
    return emitOpError("does not say that there are parts to add up; write group_parts");
  if (getKeyBlock() && part == BackwardPart::Fused)
    return emitOpError("has block_lists, by which 'fused' does not go; use parts dkdv and dq");
  if (getKeyBlock() && (getPackedQueries() || getPackedKeys() || getQueryLengths() || getKeyLengths()))
    return emitOpError("has block_lists, which are of one length for all, and sequences of lengths of their own; remove "
                       "one of them");
  return verifyProblem(*this);
}

SmallVector<FlatSymbolRefAttr> ForwardOp::getModifications() {
  SmallVector<FlatSymbolRefAttr> symbols;
  for (ArrayAttr list : {getScoreModsAttr(), getMaskModsAttr()})
    if (list)
      llvm::append_range(symbols, list.getAsRange<FlatSymbolRefAttr>());
  return symbols;
}

template <typename ModOp>
static LogicalResult verifyUses(Operation *op, ArrayAttr symbols, SymbolTableCollection &tables) {
  if (!symbols)
    return success();
  for (auto symbol : symbols.getAsRange<FlatSymbolRefAttr>())
    if (!tables.lookupNearestSymbolFrom<ModOp>(op, symbol))
      return op->emitOpError() << "names " << symbol << ", which is no '" << ModOp::getOperationName()
                              << "' of the module";
  return success();
}

LogicalResult ForwardOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyUses<ScoreModOp>(*this, getScoreModsAttr(), tables)))
    return failure();
  return verifyUses<MaskModOp>(*this, getMaskModsAttr(), tables);
}

LogicalResult BlockListsOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyUses<MaskModOp>(*this, getMaskModsAttr(), tables);
}

LogicalResult BackwardOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyUses<ScoreModOp>(*this, getScoreModsAttr(), tables)))
    return failure();
  return verifyUses<MaskModOp>(*this, getMaskModsAttr(), tables);
}
