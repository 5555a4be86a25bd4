// Syntax and invariants of the tile dialect's types.
#include "Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
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
/// 512 registers of 64 lanes of 4 bytes.
static constexpr int64_t kWaveRegisterBytes = 512 * 64 * 4;

/// rows x columns x bytes of an element, or `limit` + 1 if it is larger than that.
static int64_t tileBytes(ArrayRef<int64_t> shape, Type element, int64_t limit) {
  if (shape[0] > limit || shape[1] > limit)
    return limit + 1;
  return std::min(shape[0] * shape[1] * (element.getIntOrFloatBitWidth() / 8), limit + 1);
}

static bool isOperandElement(Type type) { return type.isBF16() || type.isF16(); }

// ViewType

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/true) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, element);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape(), getElementType());
  printer << ">";
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element) {
  if (shape.size() < 1 || shape.size() > 4)
    return emitError() << "view of rank " << shape.size() << ", expected 1 to 4 dimensions";
  if (!isOperandElement(element) && !element.isF32())
    return emitError() << "view of " << element << ", expected bf16, f16 or f32 elements";
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent) && (extent < 1 || extent > kLargestExtent))
      return emitError() << "view with extent " << extent << ", expected '?' or 1 to "
                         << kLargestExtent;
  return success();
}

// RingType

Type RingType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, element);
}

void RingType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape(), getElementType());
  printer << ">";
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element) {
  if (shape.size() != 2)
    return emitError() << "ring tile of rank " << shape.size() << ", expected rows x columns";
  if (!isOperandElement(element))
    return emitError() << "ring of " << element << ", expected bf16 or f16 elements";
  if (shape[0] <= 0 || shape[0] % 32 != 0 || shape[1] <= 0 || shape[1] % 32 != 0)
    return emitError() << "ring tile of " << shape[0] << "x" << shape[1]
                       << ", expected positive multiples of 32";
  if (tileBytes(shape, element, kLargestTileBytes) > kLargestTileBytes)
    return emitError() << "ring tile of " << shape[0] << "x" << shape[1] << " has more than "
                       << kLargestTileBytes << " bytes, use a smaller tile";
  return success();
}

// FragType

Type FragType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseComma())
    return {};
  SMLoc layoutLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<FragLayout> layout = symbolizeFragLayout(keyword);
  if (!layout) {
    parser.emitError(layoutLoc) << "unknown fragment layout '" << keyword
                                << "', expected lhs, rhs, acc, lhs_acc or rhs_acc";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, element,
                    *layout);
}

void FragType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape(), getElementType());
  printer << ", " << stringifyFragLayout(getLayout()) << ">";
}

LogicalResult FragType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, FragLayout layout) {
  if (shape.size() != 2)
    return emitError() << "fragment of rank " << shape.size() << ", expected rows x columns";
  bool isAcc = layout == FragLayout::Acc;
  if (isAcc ? !element.isF32() : !isOperandElement(element))
    return emitError() << "fragment of " << element << " in layout " << stringifyFragLayout(layout)
                       << ", expected " << (isAcc ? "f32" : "bf16 or f16") << " elements";
  bool isLhs = layout == FragLayout::Lhs || layout == FragLayout::LhsAcc;
  bool isRhs = layout == FragLayout::Rhs || layout == FragLayout::RhsAcc;
  int64_t rowUnit = isRhs ? 16 : 32, columnUnit = isLhs ? 16 : 32;
  if (shape[0] <= 0 || shape[0] % rowUnit != 0 || shape[1] <= 0 || shape[1] % columnUnit != 0)
    return emitError() << "fragment of " << shape[0] << "x" << shape[1] << " in layout "
                       << stringifyFragLayout(layout) << ", expected multiples of " << rowUnit
                       << "x" << columnUnit;
  if (tileBytes(shape, element, kWaveRegisterBytes) > kWaveRegisterBytes)
    return emitError() << "fragment of " << shape[0] << "x" << shape[1] << " " << element
                       << " has more than " << kWaveRegisterBytes
                       << " bytes, all registers of a wave; use a smaller one";
  return success();
}

// PartType

Type PartType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  int64_t waves = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseComma() || parser.parseInteger(waves) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, element,
                    waves);
}

void PartType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape(), getElementType());
  printer << ", " << getWaves() << ">";
}

/// Lanes of a wave, bytes of a register.
static constexpr int64_t kLanes = 64, kRegisterBytes = 4;

LogicalResult PartType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, int64_t waves) {
  if (failed(RingType::verify(emitError, shape, element)))
    return failure();
  if (waves < 1 || waves > 16 || !llvm::isPowerOf2_64(waves))
    return emitError() << "part of a tile shared by " << waves
                       << " waves, expected 1, 2, 4, 8 or 16";
  if (tileBytes(shape, element, kLargestTileBytes) < waves * kLanes * kRegisterBytes)
    return emitError() << "part of a tile of " << shape[0] << "x" << shape[1]
                       << ", which has less than " << kRegisterBytes << " bytes for each lane of "
                       << waves << " waves; use fewer waves or a larger tile";
  return success();
}

int64_t PartType::getRegisters() const {
  int64_t bytes = getShape()[0] * getShape()[1] * (getElementType().getIntOrFloatBitWidth() / 8);
  return bytes / (getWaves() * kLanes * kRegisterBytes);
}

// RowsType

Type RowsType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, element, /*allowDynamic=*/false) ||
      parser.parseGreater())
    return {};
  if (shape.size() != 1) {
    parser.emitError(loc) << "row values of rank " << shape.size() << ", expected one dimension";
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape[0], element);
}

void RowsType::print(AsmPrinter &printer) const {
  printer << "<" << getSize() << "x" << getElementType() << ">";
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size,
                               Type element) {
  if (size != 32)
    return emitError() << size << " row values, expected 32, the columns of an accumulator block";
  if (!element.isF32())
    return emitError() << "row values of " << element << ", expected f32";
  return success();
}
