// Kernels, views and memory: syntax and verifiers.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/KernelVerify.h"
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WaveExchange.h"
#include "Tile/IR/WorkItems.h"
#include "IR/ElementTypes.h"
#include "Target/Arch/KnownChips.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

// KernelOp

static ParseResult parseParenthesized(OpAsmParser &parser, StringRef keyword, Attribute &value,
                                      Type type) {
  if (parser.parseKeyword(keyword) || parser.parseLParen() || parser.parseAttribute(value, type))
    return failure();
  return parser.parseRParen();
}

/// Whether MLIR made the name up when it printed an argument that had none: "arg0".
static bool isMadeUp(StringRef name) {
  return name.consume_front("arg") && llvm::all_of(name, llvm::isDigit);
}

/// An argument that is bound to nothing is bound to its name, which only the text has.
static void bindToName(Builder &builder, OpAsmParser::Argument &argument) {
  StringRef name = argument.ssaName.name.drop_front();
  NamedAttrList attributes(argument.attrs);
  if (name.empty() || llvm::isDigit(name.front()) || isMadeUp(name) ||
      attributes.get("tile.bind"))
    return;
  attributes.set("tile.bind", builder.getStringAttr(name));
  argument.attrs = attributes.getDictionary(builder.getContext());
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  Attribute target, waves;
  SMLoc targetLoc;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true) ||
      parser.getCurrentLocation(&targetLoc) ||
      parseParenthesized(parser, "target", target, Type()) ||
      parseParenthesized(parser, "waves", waves, builder.getI64Type()) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  if (!isa<StringAttr>(target))
    return parser.emitError(targetLoc, "expected the target's name as a string");
  if (!isa<IntegerAttr>(waves))
    return parser.emitError(targetLoc, "expected the number of waves as an integer");
  result.addAttribute(getTargetAttrName(result.name), target);
  result.addAttribute(getWavesAttrName(result.name), waves);
  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    bindToName(builder, argument);
  }
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, {})));
  call_interface_impl::addArgAndResultAttrs(builder, result, arguments, {},
                                            getArgAttrsAttrName(result.name),
                                            getResAttrsAttrName(result.name));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << "(";
  llvm::interleaveComma(getBody().getArguments(), printer, [&](BlockArgument argument) {
    DictionaryAttr attrs = function_interface_impl::getArgAttrDict(*this, argument.getArgNumber());
    printer.printRegionArgument(argument, attrs ? attrs.getValue() : ArrayRef<NamedAttribute>());
  });
  printer << ") target(";
  printer.printAttribute(getTargetAttr());
  printer << ") waves(" << getWaves() << ")";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(), getTargetAttrName(),
                            getWavesAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

/// What the assembler takes as a symbol without quotes.
static bool isSymbolName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
  });
}

LogicalResult KernelOp::verify() {
  if (!isSymbolName(getSymName()))
    return emitOpError() << "cannot be named '" << getSymName()
                         << "', use letters, digits, '_', '.' and '$'";
  int64_t waves = getWaves();
  if (waves < 1 || waves > 16)
    return emitOpError() << "has " << waves << " waves, a workgroup has 1 to 16";
  if (!getFunctionType().getResults().empty())
    return emitOpError("returns values, a kernel has none");
  for (auto [index, type] : llvm::enumerate(getFunctionType().getInputs())) {
    bool scalar = type.isInteger(32) || type.isInteger(64) || type.isF32();
    if (!scalar && !isa<ViewType>(type))
      return emitOpError() << "argument " << index << " has type " << type
                           << ", expected a view, i32, i64 or f32";
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (failed(verifyUpstreamOps(*this)))
    return failure();
  return verifyWrittenBlocks(*this);
}

StringRef KernelOp::getBinding(unsigned index) {
  auto binding = getArgAttrOfType<StringAttr>(index, "tile.bind");
  return binding ? binding.getValue() : StringRef();
}

// Views

LogicalResult DimOp::verify() {
  ViewType view = getView().getType();
  int64_t dimension = getDimension();
  if (dimension < 0 || dimension >= view.getRank())
    return emitOpError() << "dimension " << dimension << " of a view of rank " << view.getRank();
  return success();
}

/// Rows of one workgroup or wave; more would not fit into 32-bit row numbers with their sums.
static constexpr int64_t kMaxRows = 65536;

static LogicalResult requireRank4(Operation *op, ViewType view) {
  if (view.getRank() != 4)
    return op->emitOpError() << "needs a (batch, sequence, head, head dimension) view, found rank "
                             << view.getRank();
  if (ShapedType::isDynamic(view.getShape()[3]))
    return op->emitOpError() << "needs a view whose head dimension is known, found " << view
                             << "; write a number for its last '?'";
  return success();
}

static LogicalResult requireRows(Operation *op, int64_t rows) {
  if (rows >= 1 && rows <= kMaxRows)
    return success();
  return op->emitOpError() << "rows(" << rows << "), expected 1 to " << kMaxRows;
}

LogicalResult WaveRowOp::verify() {
  if (failed(requireRows(*this, getRows())))
    return failure();
  return requireWavePart(*this, getPart());
}

LogicalResult BlockIdOp::verify() {
  if (failed(verifyTurn(*this)))
    return failure();
  if (failed(requireRows(*this, getRows())))
    return failure();
  auto count = dyn_cast_if_present<BlockArgument>(getRowCount());
  if (getRowCount() && (!count || !isa<KernelOp>(count.getOwner()->getParentOp())))
    return emitOpError("counts the rows of something that is computed; the launcher sizes the grid, "
                       "so of(...) takes an argument of the kernel");
  return requireRank4(*this, getView().getType());
}

LogicalResult GroupHeadOp::verify() {
  if (failed(requireRank4(*this, getQuery().getType())))
    return failure();
  return requireRank4(*this, getKv().getType());
}

LogicalResult RowsAlongOp::verify() {
  ViewType view = getView().getType();
  ArrayRef<int64_t> shape = view.getShape();
  if (getHeadsFirst() && view.getRank() != 4)
    return emitOpError() << "has " << view << ", expected (batch, head, query, element) for heads_first";
  if ((view.getRank() == 3 || view.getRank() == 4) && llvm::all_of(shape.take_front(3), ShapedType::isDynamic))
    return success();
  return emitOpError() << "has " << view << ", expected (batch, query, head, element) or (batch, head, query) with "
                          "extents '?' for batch, query and head";
}

LogicalResult SliceRowsOp::verify() {
  ViewType view = getView().getType();
  if (view.getRank() < 2 && !getAlong())
    return emitOpError() << "needs a view with rows, found " << view;
  if (getRowDimension() < 0 || getRowDimension() >= view.getRank())
    return emitOpError() << "along(" << getRowDimension() << ") of a view of rank "
                         << view.getRank() << ", expected 0 to " << view.getRank() - 1;
  if (!ShapedType::isDynamic(view.getShape()[getRowDimension()]))
    return emitOpError() << "needs a view with a run-time number of rows, found " << view
                         << "; write '?' for its extent " << getRowDimension();
  return success();
}

static constexpr StringLiteral kColumnsHint =
    "; give it the view's, a multiple of 8, rounded up to a multiple of 32, or more of them";

// Rings

/// Beyond what any target has, and small enough to multiply.
static constexpr int64_t kMaxSlots = 1024, kMaxLdsBytes = 1 << 20;
/// What two numbers of 16 bits can be told apart by, and more than anyone uses.
static constexpr int64_t kMaxPageRows = 1 << 16;

/// What a ring's tiles are taken from, or what takes the place of that.
static LogicalResult verifySource(RingOp op) {
  RingType ring = op.getRing().getType();
  if (!op.getView()) {
    if (op.getNameAttr() && !op.getByColumns())
      return success();
    return op.emitOpError("has neither a view nor a name; write named(\"...\") for a ring that "
                          "waves fill, without by_columns");
  }
  ViewType view = op.getView().getType();
  if (op.getNameAttr())
    return op.emitOpError("has a view and a name; it is called after its view, leave the name out");
  if (failed(op.getByColumns() ? requireMatrix(op, view) : requireRank4(op, view)))
    return failure();
  if (op.getByColumns() && op.getIndices().size() != 1)
    return op.emitOpError() << "has " << op.getIndices().size()
                            << " indices, expected one with by_columns: the first row";
  if (!op.getByColumns() && op.getIndices().size() != 2)
    return op.emitOpError() << "has " << op.getIndices().size()
                            << " indices, expected batch and head";
  if (view.getElementType() != ring.getElementType())
    return op.emitOpError() << "ring of " << ring.getElementType() << " over a view of "
                            << view.getElementType();
  // More columns than the view has are zeros.
  int64_t columns = ring.getShape()[1], ofView = op.getByColumns() ? columns : view.getShape()[3];
  bool hasRoom = isOfWholeLoads(ofView, view.getElementType()) && columns % kColumnBlock == 0 && columns >= ofView;
  if (!op.getByColumns() && !hasRoom)
    return op.emitOpError() << "ring tile has " << ring.getShape()[1] << " columns, the view has "
                            << view.getShape()[3] << kColumnsHint;
  return success();
}

/// A ring that continues another one has its LDS.
static LogicalResult verifyContinued(RingOp op) {
  auto before = op.getContinued().getDefiningOp<RingOp>();
  if (!before)
    return op.emitOpError("continues what is not the result of a 'tile.ring'");
  bool isSame = before.getRing().getType() == op.getRing().getType() && before.getDepthAttr() == op.getDepthAttr() &&
                before.getLdsOffsetAttr() == op.getLdsOffsetAttr() && before.getLayoutAttr() == op.getLayoutAttr() &&
                before.getApartAttr() == op.getApartAttr();
  if (isSame)
    return success();
  InFlightDiagnostic diagnostic = op.emitOpError("continues a ring of another type, depth, place or layout");
  diagnostic.attachNote(before.getLoc()) << "that ring is here; write the same 'depth', 'at', 'alternates' and 'layout'";
  return diagnostic;
}

int64_t RingOp::getLdsEnd() {
  return *getLdsOffset() + static_cast<int64_t>(getApart().value_or(0)) + *getDepth() * getSlotBytes();
}

/// Both halves of a ring that alternates must be places of a ring.
static LogicalResult verifyAlternates(RingOp op) {
  int64_t apart = *op.getApart();
  if (apart <= 0 || apart > kMaxLdsBytes || apart % 16 != 0)
    return op.emitOpError() << "alternates by " << apart << " bytes, expected a multiple of 16 from 16 to "
                            << kMaxLdsBytes;
  if (op.getDepth() && op.getLayout() && apart < static_cast<int64_t>(*op.getDepth()) * op.getSlotBytes())
    return op.emitOpError() << "alternates by " << apart << " bytes and takes "
                            << static_cast<int64_t>(*op.getDepth()) * op.getSlotBytes()
                            << "; the places of odd and even numbers must not share LDS";
  return success();
}

RingOp RingOp::getFirst() {
  RingOp first = *this;
  while (Value before = first.getContinued())
    first = before.getDefiningOp<RingOp>();
  return first;
}

LogicalResult RingOp::verify() {
  RingType ring = getRing().getType();
  if (failed(verifySource(*this)))
    return failure();
  if (getPageRows() && (!getView() || getByColumns()))
    return emitOpError("has pages, which rings of a view's rows alone can");
  if (getPageRows() && (static_cast<int64_t>(*getPageRows()) < 1 || static_cast<int64_t>(*getPageRows()) > kMaxPageRows))
    return emitOpError() << "has pages of " << static_cast<int64_t>(*getPageRows()) << " rows, expected 1 to "
                         << kMaxPageRows;
  if (getVectors() && !getPageRows())
    return emitOpError("has vectors without pages; make it with 'pages(..)'");
  int64_t vectorRows = kVectorBytes / bytesOf(ring.getElementType());
  if (getTileVectors() == TileVectors::Rows && *getPageRows() % vectorRows != 0)
    return emitOpError() << "has vectors of " << vectorRows << " rows in pages of "
                         << static_cast<int64_t>(*getPageRows()) << "; use pages of a multiple of " << vectorRows
                         << " rows";
  if (getFar() && !getPageRows())
    return emitOpError("is far without pages; make it with 'pages(..)'");
  if (getFar() && ring.getShape()[1] != getSourceType().getShape().back())
    return emitOpError() << "is far and has columns that the view has not, " << ring.getShape()[1] << " for "
                         << getSourceType().getShape().back() << "; use pools of less than 2 GiB for such heads";
  int64_t depth = getDepth().value_or(1), offset = getLdsOffset().value_or(0);
  if (depth < 1 || depth > kMaxSlots)
    return emitOpError() << "depth(" << depth << "), expected 1 to " << kMaxSlots;
  if (offset < 0 || offset > kMaxLdsBytes || offset % 16 != 0)
    return emitOpError() << "at(" << offset << "), expected a multiple of 16 from 0 to "
                         << kMaxLdsBytes;
  if (getContinued() && failed(verifyContinued(*this)))
    return failure();
  if (!getLayout())
    return getApart() ? verifyAlternates(*this) : success();
  Result<LdsTileLayout> layout = toLdsTileLayout(*getLayout(), ring);
  if (!layout)
    return emitOpError() << "has a layout that does not fit " << ring << ": "
                         << layout.error().message;
  return getApart() ? verifyAlternates(*this) : success();
}

Value hocket::tile::wholeView(Value view) {
  while (true) {
    if (auto slice = view.getDefiningOp<SliceRowsOp>())
      view = slice.getView();
    else if (auto select = view.getDefiningOp<SelectOp>())
      view = select.getView();
    else if (auto rows = view.getDefiningOp<RowsAlongOp>())
      view = rows.getView();
    else
      return view;
  }
}

std::string RingOp::getBindingName() {
  if (!getView())
    return getName().value_or("ring").str();
  Value whole = wholeView(getView());
  auto argument = dyn_cast<BlockArgument>(whole);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel)
    return "ring";
  StringRef binding = kernel.getBinding(argument.getArgNumber());
  return binding.empty() ? "argument " + std::to_string(argument.getArgNumber()) : binding.str();
}

int64_t RingOp::getSlotBytes() {
  return toLdsTileLayout(*this)->bytes();
}

TileVectors RingOp::getTileVectors() {
  if (!getVectors())
    return TileVectors::None;
  return *getVectors() == VectorsAlong::Rows ? TileVectors::Rows : TileVectors::Columns;
}

// Loads and stores

LogicalResult StoreRowsOp::verify() {
  ViewType view = getView().getType();
  if (view.getRank() != 3 || !view.getElementType().isF32())
    return emitOpError() << "stores to " << view << ", expected a (batch, head, row) view of f32";
  return success();
}

/// Widest rows that lanes of one wave cover.
static constexpr int64_t kMaxCombined = hocket::kWaveLanes * CombineOp::kElementsOfLane;

/// Each row has as many waves.
static LogicalResult verifySharedRows(CombineOp op) {
  if (failed(verifyMeetsAllWaves(op)))
    return failure();
  const auto rows = static_cast<int64_t>(op.getRows());
  const auto waves = static_cast<int64_t>(op->getParentOfType<KernelOp>().getWaves());
  if (rows < 1 || waves % rows != 0)
    return op.emitOpError() << "rows(" << rows << ") of " << waves << " waves that share them, expected a divisor";
  return success();
}

LogicalResult CombineOp::verify() {
  ViewType partial = getPartial().getType(), o = getO().getType();
  if (failed(requireRank4(*this, partial)) || failed(requireRank4(*this, o)))
    return failure();
  const Type written = o.getElementType();
  if (!partial.getElementType().isF32() || !isa<FloatType>(written))
    return emitOpError() << "folds " << partial << " into " << o
                         << ", expected partial results in f32 and an output of floats";
  if (partial.getShape()[3] != getColumns())
    return emitOpError() << "folds rows of " << partial.getShape()[3] << " elements into rows of "
                         << getColumns() << ", expected the same number";
  if (int64_t ofLoad = kLoadBytes / bytesOf(o.getElementType()); getColumns() % ofLoad != 0 || getColumns() > kMaxCombined)
    return emitOpError() << "folds rows of " << getColumns() << " elements, expected a multiple of " << ofLoad << " up to "
                         << kMaxCombined;
  for (Value view : {getPartialLse(), getLse()})
    if (auto type = view ? cast<ViewType>(view.getType()) : ViewType();
        type && !((type.getRank() == 3 || (type.getRank() == 2 && view == getLse())) && type.getElementType().isF32()))
      return emitOpError() << "has LSE in " << type
                           << ", expected a (batch, head, row) view of f32, or of what is written (row, 1)";
  if (static_cast<int64_t>(getAtOnce()) < 1 || static_cast<int64_t>(getAtOnce()) > 64)
    return emitOpError() << "at_once(" << static_cast<int64_t>(getAtOnce()) << "), expected 1 to 64 slices";
  if (const int64_t rows = rowsOfWave(getColumns()); !getSplitWaves() && static_cast<int64_t>(getRows()) != rows)
    return emitOpError() << "rows(" << getRows() << "), a wave folds " << rows << " rows of " << getColumns()
                         << " elements at a time";
  if (getLdsOffset() && (*getLdsOffset() > kMaxLdsBytes || *getLdsOffset() % kScratchAlignment != 0))
    return emitOpError() << "at(" << static_cast<int64_t>(*getLdsOffset()) << "), expected a multiple of "
                         << kScratchAlignment << " from 0 to " << kMaxLdsBytes;
  return getSplitWaves() ? verifySharedRows(*this) : success();
}

int64_t CombineOp::getScratchBytes() {
  constexpr int64_t numberBytes = 4;
  int64_t waves = (*this)->getParentOfType<KernelOp>().getWaves();
  return getSplitWaves() ? waves * kExchanged * kWaveLanes * numberBytes : 0;
}

LogicalResult ReadTransposedOp::verify() {
  RingType ring = getRing().getType();
  FragType frag = getResult().getType();
  if (frag.getLayout() != FragLayout::LhsAcc && frag.getLayout() != FragLayout::RhsAcc)
    return emitOpError() << "reads a fragment in layout " << stringifyFragLayout(frag.getLayout())
                         << ", expected lhs_acc or rhs_acc";
  if (failed(requireWavePart(*this, getPart())))
    return failure();
  // Bytes of the ring hold several packed elements each.
  const bool ofBytes = isPacked(frag.getElementType());
  const Type stored = ofBytes ? IntegerType::get(getContext(), 8) : frag.getElementType();
  const int64_t perElement = bitsOf(stored) / bitsOf(frag.getElementType());
  int64_t parts = wavePartOf(getPart()).count, columns = ring.getShape()[1] * perElement;
  if (parts > 1 && !llvm::isPowerOf2_64(columns))
    return emitOpError() << "reads one of " << parts << " parts of " << ring
                         << ", expected a power of two of columns; read all of them";
  bool partOfColumns = frag.getWidth() * parts == columns && frag.getDepth() == ring.getShape()[0];
  bool partOfRows = frag.getWidth() == columns && frag.getDepth() * parts == ring.getShape()[0];
  if ((partOfColumns || partOfRows) && stored == ring.getElementType())
    return success();
  InFlightDiagnostic diagnostic = emitOpError() << "reads " << frag << " from " << ring;
  if (ofBytes)
    return diagnostic << ", expected a ring of i8 of the transposed shape, each of which holds " << perElement << " elements";
  if (parts == 1)
    return diagnostic << ", expected the transposed shape and the same element type";
  return diagnostic << " by " << parts << " waves, expected all rows, " << columns / parts << " of " << columns
                    << " columns and the same element type, or all columns and " << ring.getShape()[0] / parts << " rows";
}

/// A part, or places of it, is of a tile of `ring`, shared by the kernel's waves.
template <typename Part> static LogicalResult requirePart(Operation *op, Part part, RingType ring) {
  if (part.getShape() != ring.getShape() || part.getElementType() != ring.getElementType())
    return op->emitOpError() << part << " of " << ring
                             << ", expected the ring's shape and element type";
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel && kernel.getWaves() != static_cast<uint64_t>(part.getWaves()))
    return op->emitOpError() << part << " is shared by " << part.getWaves()
                             << " waves, the kernel has " << kernel.getWaves();
  return success();
}

/// Tiles come from somewhere.
static LogicalResult requireSource(Operation *op, Value ring) {
  auto ringOp = ring.getDefiningOp<RingOp>();
  if (!ringOp || ringOp.getView())
    return success();
  auto diagnostic = op->emitOpError() << "takes a tile of ring '" << ringOp.getBindingName()
                                      << "', which has no view; put what waves compute into it";
  diagnostic.attachNote(ringOp.getLoc()) << "the ring is here";
  return diagnostic;
}

/// A fragment is this wave's share of a tile of `ring`, and no other's.
static LogicalResult verifyFragment(PutOp op, FragType frag) {
  RingType ring = op.getRing().getType();
  for (Value part : {op.getRowsPart(), op.getColumnsPart()})
    if (failed(requireWavePart(op, part)))
      return failure();
  if (auto ringOp = op.getRing().getDefiningOp<RingOp>(); ringOp && ringOp.getView())
    return op.emitOpError() << "puts a fragment into ring '" << ringOp.getBindingName()
                            << "', whose tiles come from a view; use a ring without one";
  WavePart rows = wavePartOf(op.getRowsPart()), columns = wavePartOf(op.getColumnsPart());
  Type element = frag.getElementType();
  if (element != ring.getElementType() && !element.isF32())
    return op.emitOpError() << "puts " << frag << " into " << ring
                            << ", expected the ring's element type or f32";
  if (frag.getMemoryRows() * rows.count != ring.getShape()[0] ||
      frag.getMemoryColumns() * columns.count != ring.getShape()[1])
    return op.emitOpError() << "puts " << frag.getMemoryRows() << " x " << frag.getMemoryColumns()
                            << " memory rows and columns in each of " << rows.count << " x "
                            << columns.count << " parts, the tile is " << ring.getShape()[0]
                            << " x " << ring.getShape()[1];
  if (rows.count > 1 && columns.count > 1 && rows.stride == columns.stride)
    return op.emitOpError("has the same side of the grid of waves for rows and for columns; use "
                          "both results of 'tile.wave_grid'");
  auto kernel = op->getParentOfType<KernelOp>();
  int64_t waves = kernel ? kernel.getWaves() : rows.count * columns.count;
  if (waves == rows.count * columns.count)
    return success();
  return op.emitOpError() << "fills a tile by " << rows.count * columns.count
                          << " waves, the kernel has " << waves
                          << ": several would put the same; give each its part";
}

/// Only rows say where tile `from` is.
template <typename Op> static LogicalResult verifyFrom(Op op) {
  auto ring = op.getRing().template getDefiningOp<RingOp>();
  if (!op.getFrom() || !ring || ring.getAdvance() == TileAdvance::Rows)
    return success();
  return op.emitOpError() << "takes its tile 'from' another place, which needs a ring of rows; leave 'from' out";
}

/// Pages are those of a tile of `ring`.
static LogicalResult requirePages(Operation *op, PagesType pages, RingType ring) {
  if (pages.getRows() == ring.getShape()[0])
    return success();
  return op->emitOpError() << "has " << pages << " for a tile of " << ring.getShape()[0] << " rows";
}

/// Tiles of a ring with pages come with the numbers of their pages, others do not.
template <typename Op> static LogicalResult verifyPages(Op op) {
  auto ring = op.getRing().template getDefiningOp<RingOp>();
  if (!ring || ring.getPageRows().has_value() != (op.getPages() != nullptr))
    return ring ? op.emitOpError(op.getPages() ? "has pages, the ring has none; make it with 'pages(..)'"
                                               : "does not say in which pages the tile's rows are; take them "
                                                 "from 'tile.look_up'")
                : success();
  if (!op.getPages())
    return success();
  RingType type = op.getRing().getType();
  if (auto places = dyn_cast<PlacesType>(op.getPages().getType()))
    return requirePart(op, places, type);
  return requirePages(op, cast<PagesType>(op.getPages().getType()), type);
}

LogicalResult LocateOp::verify() {
  auto ring = getRing().getDefiningOp<RingOp>();
  if (ring && !ring.getPageRows())
    return emitOpError("is for a ring without pages; make it with 'pages(..)'");
  if (ring && ring.getFar())
    return emitOpError("is for a far ring, whose fetches find places themselves; give them the pages");
  if (failed(requirePages(*this, getPages().getType(), getRing().getType())))
    return failure();
  return requirePart(*this, getPlaces().getType(), getRing().getType());
}

LogicalResult LookUpOp::verify() {
  ViewType table = getTable().getType();
  if (table.getRank() != 1 || !table.getElementType().isSignlessInteger(32))
    return emitOpError() << "looks up pages in " << table << ", expected one dimension of i32";
  auto ring = getRing().getDefiningOp<RingOp>();
  if (ring && !ring.getPageRows())
    return emitOpError("is for a ring without pages; make it with 'pages(..)'");
  return success();
}

LogicalResult FetchOp::verify() {
  if (failed(requireSource(*this, getRing())) || failed(verifyPages(*this)))
    return failure();
  return verifyFrom(*this);
}

LogicalResult LoadPartOp::verify() {
  if (auto ring = getRing().getDefiningOp<RingOp>(); ring && ring.getFar())
    return emitOpError("is of a far ring, whose tiles come by 'tile.fetch' alone; use a target that loads 16 bytes to "
                       "LDS, or pools of less than 2 GiB");
  if (failed(requireSource(*this, getRing())) || failed(verifyFrom(*this)) || failed(verifyPages(*this)))
    return failure();
  return requirePart(*this, getPart().getType(), getRing().getType());
}

LogicalResult PutOp::verify() {
  if (auto frag = dyn_cast<FragType>(getPart().getType()))
    return verifyFragment(*this, frag);
  if (getRowsPart() || getColumnsPart())
    return emitOpError("has parts of a grid of waves for what 'tile.load_part' has loaded, which "
                       "is dealt out already; leave them out");
  return requirePart(*this, cast<PartType>(getPart().getType()), getRing().getType());
}

/// The chip of the kernel that `op` is in; of none, or of one that is not known, the default one.
static const ArchInfo &archOf(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  Result<const ArchInfo *> arch = kernel ? findArch(kernel.getTarget().str()) : &defaultArch();
  return arch ? **arch : defaultArch();
}

LogicalResult WaitOp::verify() {
  if (!getVm() && !getLgkm())
    return emitOpError("waits for nothing; give vm(n), lgkm(n) or both");
  const WaitCounterLimits &limits = archOf(*this).waits;
  for (auto [count, most, name] :
       {std::tuple(getVm(), limits.vmcnt, "vm"), std::tuple(getLgkm(), limits.lgkmcnt, "lgkm")})
    if (static_cast<int64_t>(count.value_or(0)) < 0 || static_cast<int64_t>(count.value_or(0)) > int64_t(most))
      return emitOpError() << name << "(" << static_cast<int64_t>(*count) << ") cannot be encoded, expected 0 to " << most;
  return success();
}

LogicalResult AwaitOp::verify() {
  if (!getFetches() && !getReads())
    return emitOpError("waits for nothing; write fetches, reads or both");
  if (!getFetches() && (!getInFlight().empty() || getLoads()))
    return emitOpError("lists fetches that may stay in flight, but does not wait for fetches");
  if (getLoads().value_or(1) < 1)
    return emitOpError() << "leaves " << *getLoads() << " loads in flight, expected one or more";
  return success();
}

LogicalResult BarrierOp::verify() {
  if (getGroup() && *getGroup() != 0 && *getGroup() != 1)
    return emitOpError() << "group(" << *getGroup() << "), expected 0 or 1";
  return success();
}
