// Syntax and invariants of the tile dialect's types.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/Tile.h"
#include "IR/ElementTypes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

#define GET_TYPEDEF_CLASSES
#include "Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Tile/IR/TileTypes.cpp.inc"
      >();
}

static void printShape(AsmPrinter &printer, ArrayRef<int64_t> shape, Type element) {
  printer.printDimensionList(shape);
  printer << "x" << element;
}

static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<int64_t> &shape, Type &element,
                              bool allowDynamic) {
  return failure(parser.parseDimensionList(shape, allowDynamic) || parser.parseType(element));
}

/// Extents are 32-bit numbers in the kernel's arguments.
static constexpr int64_t kLargestExtent = std::numeric_limits<int32_t>::max();
/// More LDS than any target has.
static constexpr int64_t kLargestTileBytes = 1 << 20;
/// 512 registers of 4 bytes in each lane.
static constexpr int64_t kWaveRegisterBytes = 512 * kWaveLanes * 4;

/// rows x columns x bytes of an element, or `limit` + 1 if it is larger than that.
static int64_t tileBytes(ArrayRef<int64_t> shape, Type element, int64_t limit) {
  if (shape[0] > limit || shape[1] > limit)
    return limit + 1;
  return std::min<int64_t>(llvm::divideCeil(shape[0] * shape[1] * bitsOf(element), 8), limit + 1);
}

/// What operands of the matrix unit, and rings that feed it, may hold.
static constexpr ElementType kOperandTypes[] = {ElementType::BF16,       ElementType::F16,    ElementType::I8,
                                                ElementType::F8E4M3,     ElementType::F8E5M2, ElementType::F8E4M3FNUZ,
                                                ElementType::F8E5M2FNUZ};
/// What else views have, and fragments and their rows and columns hold.
static constexpr ElementType kOtherTypes[] = {ElementType::F32, ElementType::I32};
/// Types of operands of which a byte in memory holds several elements.
static constexpr ElementType kPackedTypes[] = {ElementType::F4E2M1};
/// Scales of blocks.
static constexpr ElementType kScaleTypes[] = {ElementType::E8M0};
/// Types of the matrix unit's accumulators.
static constexpr ElementType kSumTypes[] = {ElementType::F32, ElementType::I32};

static bool isAmong(Type type, ArrayRef<ElementType> elements) {
  std::optional<ElementType> element = asElementType(type);
  return element && llvm::is_contained(elements, *element);
}

static bool isOperandElement(Type type) { return isAmong(type, kOperandTypes); }
/// Operands of f32 need `bits(32)`: without it, an f32 lies beside operands of other types.
static bool isRingElement(Type type) { return isOperandElement(type) || type.isF32(); }
bool hocket::tile::isPacked(Type type) { return isAmong(type, kPackedTypes); }
bool hocket::tile::isBlockScale(Type type) { return isAmong(type, kScaleTypes); }
bool hocket::tile::isElement(Type type) { return isOperandElement(type) || isAmong(type, kOtherTypes); }

bool hocket::tile::isSmallFloat(Type type) { return isElement(type) && isa<FloatType>(type) && bitsOf(type) == 8; }

/// "f32 or i32", "bf16, f16, i8, ..., f32 or i32".
static std::string namesOf(ArrayRef<ElementType> elements) {
  std::string names;
  for (auto [i, element] : llvm::enumerate(elements))
    names += (i == 0 ? "" : i + 1 == elements.size() ? " or " : ", ") + std::string(irName(element));
  return names;
}

std::string hocket::tile::elementNames() {
  return namesOf(llvm::to_vector(llvm::concat<const ElementType>(kOperandTypes, kOtherTypes)));
}

/// `<SHAPE x ELEMENT>`, all that some types have.
template <class ShapedType> static Type parseShaped(AsmParser &parser, bool allowDynamic) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, allowDynamic) ||
      parser.parseGreater())
    return {};
  return ShapedType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape,
                                element);
}

template <class ShapedType> static void printShaped(AsmPrinter &printer, ShapedType type) {
  printer << "<";
  printShape(printer, type.getShape(), type.getElementType());
  printer << ">";
}

// ViewType

Type ViewType::parse(AsmParser &parser) {
  return parseShaped<ViewType>(parser, /*allowDynamic=*/true);
}

void ViewType::print(AsmPrinter &printer) const { printShaped(printer, *this); }

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element) {
  if (shape.size() < 1 || shape.size() > 4)
    return emitError() << "view of rank " << shape.size() << ", expected 1 to 4 dimensions";
  if (isPacked(element))
    return emitError() << "view of " << element << ", which has no addresses of its own; use a view of i8, each of which "
                       << "holds two, and read them by 'tile.read'";
  if (!isElement(element) && !isBlockScale(element))
    return emitError() << "view of " << element
                       << ", expected " << elementNames() << " elements";
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent) && (extent < 1 || extent > kLargestExtent))
      return emitError() << "view with extent " << extent << ", expected '?' or 1 to "
                         << kLargestExtent;
  return success();
}

// RingType

Type RingType::parse(AsmParser &parser) {
  return parseShaped<RingType>(parser, /*allowDynamic=*/false);
}

void RingType::print(AsmPrinter &printer) const { printShaped(printer, *this); }

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element) {
  if (shape.size() != 2)
    return emitError() << "ring tile of rank " << shape.size() << ", expected rows x columns";
  if (!isRingElement(element)) {
    constexpr ElementType f32[] = {ElementType::F32};
    return emitError() << "ring of " << element << ", expected "
                       << namesOf(llvm::to_vector(llvm::concat<const ElementType>(kOperandTypes, f32))) << " elements";
  }
  if (shape[0] <= 0 || shape[0] % 32 != 0 || shape[1] <= 0 || shape[1] % 32 != 0)
    return emitError() << "ring tile of " << shape[0] << "x" << shape[1]
                       << ", expected positive multiples of 32";
  if (tileBytes(shape, element, kLargestTileBytes) > kLargestTileBytes)
    return emitError() << "ring tile of " << shape[0] << "x" << shape[1] << " has more than "
                       << kLargestTileBytes << " bytes, use a smaller tile";
  return success();
}

// Layouts

static bool isScaleLayout(FragLayout layout) {
  return layout == FragLayout::LhsScale || layout == FragLayout::RhsScale;
}

/// Longest run of `lines`, and what a lane loads at once.
static constexpr int64_t kLongestRun = 16;

static int64_t defaultRun(Type element) { return 8 * kLoadBytes / bitsOf(element); }

/// The lanes along a row of `columns` in runs of `run`: as many as divide it.
static int64_t defaultLanes(int64_t columns, int64_t run) {
  int64_t runs = columns / run;
  return runs <= 0 ? 1 : std::min<int64_t>(kWaveLanes, runs & -runs);
}

RegisterLayout FragType::defaultLayout(FragLayout layout, ArrayRef<int64_t> shape,
                                       Type elementType, int64_t run) {
  if (layout != FragLayout::Lines) {
    RegisterLayout result{layout, run};
    if (layout != FragLayout::Acc && !isScaleLayout(layout) && (isOperandElement(elementType) || isPacked(elementType)))
      result.operandBits = bitsOf(elementType);
    return result;
  }
  run = run > 0 ? run : defaultRun(elementType);
  return {layout, run, defaultLanes(shape.size() == 2 ? shape[1] : 0, run)};
}

MfmaShape FragType::getOperandShape() const { return operandShape(getRegisterLayout()); }

bool FragType::isOfProduct() const {
  if (getLayout() == FragLayout::Lines || isScaleLayout(getLayout()))
    return false;
  Type element = getElementType();
  if (getLayout() == FragLayout::Acc)
    return isAmong(element, kSumTypes);
  unsigned bits = getRegisterLayout().operandBits;
  if (element.isF32() || isPacked(element))
    return bits == bitsOf(element);
  return isOperandElement(element) && bits <= bitsOf(element);
}

bool FragType::isOfNumbers() const { return isElement(getElementType()); }
bool FragType::isOfScales() const { return isScaleLayout(getLayout()); }

bool FragType::isOfMatrixUnit() const {
  return isOfProduct() && (getElementType().isF32() || getElementType().isBF16() || getElementType().isF16());
}

/// Packed elements and scales have layouts of their own.
static LogicalResult verifyElementOf(function_ref<InFlightDiagnostic()> emitError, Type element, const RegisterLayout &layout) {
  bool isOperand = layout.kind != FragLayout::Acc && layout.kind != FragLayout::Lines && !isScaleLayout(layout.kind);
  if (isPacked(element) && (!isOperand || layout.operandBits != bitsOf(element)))
    return emitError() << "fragment of " << element << " in layout " << stringifyFragLayout(layout.kind)
                       << ", expected lhs, rhs, lhs_acc or rhs_acc without 'bits'";
  if (isBlockScale(element) != isScaleLayout(layout.kind))
    return emitError() << "fragment of " << element << " in layout " << stringifyFragLayout(layout.kind)
                       << (isBlockScale(element) ? ", expected lhs_scale or rhs_scale" : ", which has scales of blocks, f8E8M0FNU");
  return success();
}

static LogicalResult verifyElement(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                   Type element) {
  if (isElement(element))
    return success();
  return emitError() << what << " of " << element << ", expected " << elementNames() << " elements";
}

static LogicalResult verifyLayout(function_ref<InFlightDiagnostic()> emitError,
                                  const RegisterLayout &layout) {
  if (layout.kind != FragLayout::Lines) {
    bool mayRun = layout.kind == FragLayout::Acc || layout.kind == FragLayout::LhsAcc;
    if (layout.lanes == 0 && (layout.run == 0 || (mayRun && layout.run == kAccumulatorRun)))
      return success();
    return emitError() << "layout " << stringifyFragLayout(layout.kind) << " with a run of " << layout.run
                       << ", expected none, or acc(" << kAccumulatorRun << ") or lhs_acc(" << kAccumulatorRun << ")";
  }
  if (!llvm::isPowerOf2_64(layout.run) || layout.run > kLongestRun ||
      !llvm::isPowerOf2_64(layout.lanes) || layout.lanes > kWaveLanes)
    return emitError() << "layout lines(" << layout.run << "x" << layout.lanes
                       << "), expected a run of 1, 2, 4, 8 or 16 elements and 1, 2, 4, 8, 16, 32 or "
                          "64 lanes";
  return success();
}

/// Bits of elements for which operands have layouts.
static bool isOperandBits(int64_t bits) {
  return bits == 32 || llvm::any_of(kOperandTypes, [&](ElementType type) { return infoOf(type).bits == bits; });
}

/// Parses `bits(8)` behind an operand's layout. Without it, `bits` stays as it is.
static ParseResult parseOperandBits(AsmParser &parser, FragLayout layout, std::optional<unsigned> &bits) {
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("bits")))
    return success();
  int64_t number = 0;
  if (parser.parseLParen() || parser.parseInteger(number) || parser.parseRParen())
    return failure();
  if (layout == FragLayout::Acc || layout == FragLayout::Lines || isScaleLayout(layout))
    return parser.emitError(loc) << "layout " << stringifyFragLayout(layout)
                                 << " is the same for operands of all widths, leave bits(" << number << ") out";
  if (!isOperandBits(number))
    return parser.emitError(loc) << "layout of operands of " << number << " bits, expected 8, 16 or 32";
  bits = static_cast<unsigned>(number);
  return success();
}

/// Parses `acc`, `lines`, `lines(8)` or `lines(8x16)`: the numbers in parentheses go to `numbers`, those of `lhs bits(8)` to
/// `bits`.
static ParseResult parseLayout(AsmParser &parser, FragLayout &layout, SmallVectorImpl<int64_t> &numbers,
                               std::optional<unsigned> &bits) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<FragLayout> known = symbolizeFragLayout(keyword);
  if (!known)
    return parser.emitError(loc) << "unknown fragment layout '" << keyword
                                 << "', expected lhs, rhs, acc, lhs_acc, rhs_acc, lines, lhs_scale or rhs_scale";
  layout = *known;
  bool takesNumbers = llvm::is_contained({FragLayout::Lines, FragLayout::Acc, FragLayout::LhsAcc}, layout);
  if (!takesNumbers || failed(parser.parseOptionalLParen()))
    return parseOperandBits(parser, layout, bits);
  SMLoc numbersLoc = parser.getCurrentLocation();
  if (parser.parseDimensionList(numbers, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseRParen())
    return failure();
  if (layout != FragLayout::Lines && numbers.size() != 1)
    return parser.emitError(numbersLoc) << keyword << " takes one number, for example " << keyword << "(8)";
  if (numbers.empty() || numbers.size() > 2)
    return parser.emitError(numbersLoc)
           << "lines takes the run of a lane, or run x lanes, for example lines(8x16)";
  return parseOperandBits(parser, layout, bits);
}

/// `usualBits`: of operands where nothing is said.
static void printLayout(AsmPrinter &printer, const RegisterLayout &layout, unsigned usualBits = kUsualOperandBits) {
  printer << stringifyFragLayout(layout.kind);
  if (layout.kind == FragLayout::Lines)
    printer << "(" << layout.run << "x" << layout.lanes << ")";
  else if (layout.run != 0)
    printer << "(" << layout.run << ")";
  if (layout.operandBits != usualBits)
    printer << " bits(" << layout.operandBits << ")";
}

// FragType

Type FragType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, numbers;
  Type element;
  FragLayout kind;
  std::optional<unsigned> bits;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseComma() || parseLayout(parser, kind, numbers, bits) || parser.parseGreater())
    return {};
  // What a default run is counted in.
  if (!isPacked(element) && !isBlockScale(element) &&
      failed(verifyElement([&] { return parser.emitError(loc); }, "fragment", element)))
    return {};
  RegisterLayout layout = defaultLayout(kind, shape, element, numbers.empty() ? 0 : numbers[0]);
  if (!numbers.empty())
    layout.run = numbers[0];
  if (numbers.size() == 2)
    layout.lanes = numbers[1];
  layout.operandBits = bits.value_or(layout.operandBits);
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef<int64_t>(shape), element, layout);
}

void FragType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape(), getElementType());
  printer << ", ";
  RegisterLayout layout = getRegisterLayout(), usual = defaultLayout(layout.kind, getShape(), getElementType());
  if (layout == usual)
    printer << stringifyFragLayout(layout.kind);
  else if (layout == defaultLayout(layout.kind, getShape(), getElementType(), layout.run))
    printer << stringifyFragLayout(layout.kind) << "(" << layout.run << ")";
  else
    printLayout(printer, layout, usual.operandBits);
  printer << ">";
}

LogicalResult FragType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, RegisterLayout layout) {
  if (shape.size() != 2)
    return emitError() << "fragment of rank " << shape.size() << ", expected rows x columns";
  bool isNumber = !isPacked(element) && !isBlockScale(element);
  if ((isNumber && failed(verifyElement(emitError, "fragment", element))) ||
      failed(verifyElementOf(emitError, element, layout)) || failed(verifyLayout(emitError, layout)))
    return failure();
  using enum FragLayout;
  bool isLhs = llvm::is_contained({Lhs, LhsAcc, LhsScale}, layout.kind);
  bool isRhs = llvm::is_contained({Rhs, RhsAcc, RhsScale}, layout.kind);
  int64_t step = operandShape(layout).k, rowUnit = isRhs ? step : kBlock, columnUnit = isLhs ? step : kBlock;
  if (layout.kind == FragLayout::Lines) {
    rowUnit = kWaveLanes / layout.lanes;
    columnUnit = layout.run * layout.lanes;
  }
  if (shape[0] <= 0 || shape[0] % rowUnit != 0 || shape[1] <= 0 || shape[1] % columnUnit != 0) {
    InFlightDiagnostic error = emitError();
    error << "fragment of " << shape[0] << "x" << shape[1] << " in layout "
          << stringifyFragLayout(layout.kind);
    if (layout.kind == FragLayout::Lines)
      error << "(" << layout.run << "x" << layout.lanes << ")";
    return error << ", expected multiples of " << rowUnit << "x" << columnUnit;
  }
  if (tileBytes(shape, element, kWaveRegisterBytes) > kWaveRegisterBytes)
    return emitError() << "fragment of " << shape[0] << "x" << shape[1] << " " << element
                       << " has more than " << kWaveRegisterBytes
                       << " bytes, all registers of a wave; use a smaller one";
  return success();
}

// PartType

/// `<64x128xbf16, 4>`: what so many waves share of a tile.
template <typename Shared> static Type parseShared(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  int64_t waves = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseComma() || parser.parseInteger(waves) || parser.parseGreater())
    return {};
  return Shared::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, element, waves);
}

template <typename Shared> static void printShared(AsmPrinter &printer, Shared type) {
  printer << "<";
  printShape(printer, type.getShape(), type.getElementType());
  printer << ", " << type.getWaves() << ">";
}

Type PartType::parse(AsmParser &parser) { return parseShared<PartType>(parser); }
void PartType::print(AsmPrinter &printer) const { printShared(printer, *this); }

/// Rows of a tile that a look-up is for.
static constexpr int64_t kBlockRows = 32, kMostTileRows = 1024;
/// Bytes of a register.
static constexpr int64_t kRegisterBytes = 4, kRegisterBits = 32;

LogicalResult PartType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, int64_t waves) {
  if (failed(RingType::verify(emitError, shape, element)))
    return failure();
  if (waves < 1 || waves > 16 || !llvm::isPowerOf2_64(waves))
    return emitError() << "part of a tile shared by " << waves
                       << " waves, expected 1, 2, 4, 8 or 16";
  if (tileBytes(shape, element, kLargestTileBytes) < waves * kWaveLanes * kRegisterBytes)
    return emitError() << "part of a tile of " << shape[0] << "x" << shape[1]
                       << ", which has less than " << kRegisterBytes << " bytes for each lane of "
                       << waves << " waves; use fewer waves or a larger tile";
  return success();
}

int64_t PartType::getRegisters() const {
  int64_t bytes = getShape()[0] * getShape()[1] * bytesOf(getElementType());
  return bytes / (getWaves() * kWaveLanes * kRegisterBytes);
}

// PendingType

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError, FragType frag) {
  PieceMap piece = pieceOf(frag.getRegisterLayout());
  if (piece.registers * frag.getElementType().getIntOrFloatBitWidth() % kRegisterBits == 0)
    return success();
  return emitError() << "pending " << frag << ", of which the pieces do not fill registers; load it with 'tile.load'";
}

int64_t PendingType::getRegisters() const {
  FragmentMap fragment(getFrag());
  int64_t bits = getFrag().getElementType().getIntOrFloatBitWidth();
  return fragment.count() * fragment.piece.registers * bits / kRegisterBits;
}

int64_t PendingType::getLeastLoads() const {
  constexpr int64_t mostRegisters = 4;
  return llvm::divideCeil(getRegisters(), mostRegisters);
}

// PagesType

LogicalResult PagesType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows) {
  if (rows >= kBlockRows && rows <= kMostTileRows && llvm::isPowerOf2_64(rows))
    return success();
  return emitError() << "pages of a tile of " << rows << " rows, expected a power of two from " << kBlockRows << " to "
                     << kMostTileRows;
}

// PlacesType

Type PlacesType::parse(AsmParser &parser) { return parseShared<PlacesType>(parser); }
void PlacesType::print(AsmPrinter &printer) const { printShared(printer, *this); }

LogicalResult PlacesType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                                 int64_t waves) {
  return PartType::verify(emitError, shape, element, waves);
}

int64_t PlacesType::getRegisters() const {
  int64_t bytes = getShape()[0] * panelColumns(getShape()[1], bitsOf(getElementType())) * bytesOf(getElementType());
  return std::max<int64_t>(bytes / (getWaves() * kWaveLanes * kDmaBytes), 1);
}

// RowsType and ColumnsType

/// `<64xf32, lines(8x16)>`; the layout may be left out where `fallback` is given.
template <typename Vector>
static Type parseVector(AsmParser &parser, StringRef what, std::optional<RegisterLayout> fallback) {
  SmallVector<int64_t> shape, numbers;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false))
    return {};
  RegisterLayout layout = fallback.value_or(RegisterLayout{FragLayout::Acc});
  bool given = succeeded(parser.parseOptionalComma());
  SMLoc layoutLoc = parser.getCurrentLocation();
  std::optional<unsigned> bits;
  if (given && parseLayout(parser, layout.kind, numbers, bits))
    return {};
  if (parser.parseGreater())
    return {};
  if (shape.size() != 1) {
    parser.emitError(loc) << what << " values of rank " << shape.size()
                          << ", expected one dimension";
    return {};
  }
  if (!given && !fallback) {
    parser.emitError(layoutLoc) << what << " values without a layout, write that of the fragment "
                                   "whose they are, for example <64xf32, acc>";
    return {};
  }
  if (given && layout.kind == FragLayout::Lines && numbers.size() != 2) {
    parser.emitError(layoutLoc)
        << what << " values in layout lines need its run and lanes, for example lines(8x16)";
    return {};
  }
  if (numbers.size() == 2)
    layout = {FragLayout::Lines, numbers[0], numbers[1]};
  layout.operandBits = bits.value_or(layout.operandBits);
  return Vector::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape[0],
                            element, layout);
}

/// Checks all but which layout is the canonical one. `Vector` tells the dimension.
template <typename Vector>
static LogicalResult verifyVector(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                  int64_t size, Type element, const RegisterLayout &layout) {
  if (failed(verifyElement(emitError, what.str() + " values", element)) ||
      failed(verifyLayout(emitError, layout)))
    return failure();
  if (isScaleLayout(layout.kind))
    return emitError() << what << " values in layout " << stringifyFragLayout(layout.kind)
                       << ", in which scales of blocks lie alone; use another";
  PieceMap piece = pieceOf(layout);
  bool isRows = std::is_same_v<Vector, RowsType>;
  int64_t unit = isRows ? piece.rows : piece.columns;
  if (size <= 0 || size % unit != 0)
    return emitError() << size << " " << what << " values, expected a multiple of " << unit
                       << ", the " << what << "s of a block in layout "
                       << stringifyFragLayout(layout.kind);
  int64_t inLane = piece.isSameInLane(isRows ? dims::Row : dims::Col) ? 1 : piece.registers;
  if (size / unit > kWaveRegisterBytes / (kWaveLanes * kRegisterBytes) / inLane)
    return emitError() << size << " " << what << " values in layout "
                       << stringifyFragLayout(layout.kind)
                       << " take more than all registers of a wave; use fewer";
  return success();
}

static LogicalResult refuseSynonym(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                   FragLayout layout, FragLayout canonical, StringRef hint) {
  return emitError() << what << " values of layout " << stringifyFragLayout(layout)
                     << " are those of " << stringifyFragLayout(canonical) << "; " << hint;
}

Type RowsType::parse(AsmParser &parser) {
  return parseVector<RowsType>(parser, "row", RegisterLayout{FragLayout::Acc});
}

void RowsType::print(AsmPrinter &printer) const {
  printer << "<" << getSize() << "x" << getElementType();
  if (getRegisterLayout().kind != FragLayout::Acc) {
    printer << ", ";
    printLayout(printer, getRegisterLayout());
  }
  printer << ">";
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size,
                               Type element, RegisterLayout layout) {
  if (layout.kind == FragLayout::Lhs || layout.kind == FragLayout::Rhs ||
      layout.kind == FragLayout::RhsAcc)
    return refuseSynonym(emitError, "row", layout.kind, FragLayout::Acc, "leave the layout out");
  return verifyVector<RowsType>(emitError, "row", size, element, layout);
}

Type ColumnsType::parse(AsmParser &parser) {
  return parseVector<ColumnsType>(parser, "column", std::nullopt);
}

void ColumnsType::print(AsmPrinter &printer) const {
  printer << "<" << getSize() << "x" << getElementType() << ", ";
  printLayout(printer, getRegisterLayout());
  printer << ">";
}

LogicalResult ColumnsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size,
                                  Type element, RegisterLayout layout) {
  if (layout.kind == FragLayout::Rhs)
    return refuseSynonym(emitError, "column", layout.kind, FragLayout::Lhs, "write lhs");
  return verifyVector<ColumnsType>(emitError, "column", size, element, layout);
}
