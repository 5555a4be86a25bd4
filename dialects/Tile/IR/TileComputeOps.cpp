// Computation on fragments and rows: verifiers.
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/Tile.h"
#include "IR/ElementTypes.h"

using namespace mlir;
using namespace hocket::tile;

static LogicalResult requireLayout(Operation *op, StringRef role, FragType frag,
                                   FragLayout wanted) {
  if (frag.getLayout() == wanted)
    return success();
  return op->emitOpError() << role << " has layout " << stringifyFragLayout(frag.getLayout())
                           << ", expected " << stringifyFragLayout(wanted);
}

LogicalResult FillOp::verify() {
  Type type = getResult().getType();
  Type element = isa<FragType>(type)   ? cast<FragType>(type).getElementType()
                 : isa<RowsType>(type) ? cast<RowsType>(type).getElementType()
                                       : cast<ColumnsType>(type).getElementType();
  double value = getValue().convertToDouble();
  std::optional<hocket::ElementType> known = hocket::asElementType(element);
  if (known && (hocket::isFloat(*known) || hocket::decode(*known, hocket::encode(*known, value)) == value))
    return success();
  return emitOpError() << "fills " << type << " with " << value << ", which is no " << element;
}

LogicalResult SliceOp::verify() {
  FragType source = getSource().getType(), result = getResult().getType();
  if (failed(requireLayout(*this, "source", source, FragLayout::Acc)) ||
      failed(requireLayout(*this, "result", result, FragLayout::Acc)))
    return failure();
  int64_t first = getFirstRow();
  if (first < 0 || first % 32 != 0 || first > source.getRows() - result.getRows() ||
      source.getColumns() != result.getColumns() ||
      source.getElementType() != result.getElementType() || source.getRegisterLayout() != result.getRegisterLayout())
    return emitOpError() << result.getRows() << " rows from " << first << " of " << source << " as "
                         << result << "; whole blocks of 32 rows and all columns are needed";
  return success();
}

/// Unless the accumulator `frag` has its rows in the order of the matrix unit.
static LogicalResult requirePlainRows(Operation *op, StringRef role, FragType frag) {
  if (frag.getRegisterLayout().run == 0)
    return success();
  return op->emitOpError() << role << " is " << frag << ", whose rows are in another order; acc is needed";
}

/// Numbers of a fragment in one lane; those of which a byte has several as their bytes.
static int64_t numbersOfLane(FragType frag) {
  FragmentMap map(frag);
  int64_t numbers = map.count() * map.piece.registers, bits = frag.getElementType().getIntOrFloatBitWidth();
  return isPacked(frag.getElementType()) ? numbers * bits / 8 : numbers;
}

LogicalResult RelabelOp::verify() {
  FragType source = getSource().getType(), result = getResult().getType();
  int64_t before = numbersOfLane(source), after = numbersOfLane(result);
  auto inBytes = [&](FragType frag) {
    Type element = frag.getElementType();
    return isPacked(element) ? IntegerType::get(getContext(), 8) : element;
  };
  if (before == after && inBytes(source) == inBytes(result))
    return success();
  return emitOpError() << "takes " << source << ", of which a lane holds " << before << " numbers, as " << result
                       << ", of which it holds " << after << "; the same numbers of the same type are needed";
}

LogicalResult ConcatOp::verify() {
  FragType result = getResult().getType();
  int64_t rows = 0;
  FragLayout layout = result.getLayout() == FragLayout::Acc ? FragLayout::Acc : FragLayout::RhsAcc;
  for (Value source : getSources()) {
    FragType frag = cast<FragType>(source.getType());
    if (failed(requireLayout(*this, "source", frag, layout)))
      return failure();
    if (frag.getColumns() != result.getColumns() ||
        frag.getElementType() != result.getElementType() ||
        frag.getRegisterLayout().run != result.getRegisterLayout().run)
      return emitOpError() << "source " << frag << " does not fit result " << result;
    rows += frag.getRows();
  }
  if (failed(requireLayout(*this, "result", result, layout)))
    return failure();
  if (rows != result.getRows())
    return emitOpError() << "sources have " << rows << " rows, the result has " << result.getRows();
  return success();
}

/// Floats that one instruction may multiply by one another.
static bool mayBeMixed(Type type) { return isSmallFloat(type) || isPacked(type); }

/// Scales are there for both operands, one for each 32 of their depth, or for none.
static LogicalResult verifyScales(MmaOp op) {
  constexpr int64_t scaled = 32, scalesOfInstruction = 2;
  OperandRange scales = op.getScales();
  if (scales.empty())
    return success();
  if (scales.size() != 2)
    return op.emitOpError() << "has " << scales.size() << " scales, expected those of lhs and of rhs, or none";
  FragType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  for (FragType frag : {lhs, rhs})
    if (!mayBeMixed(frag.getElementType()))
      return op.emitOpError() << "scales " << frag << ", expected floats of 8 or 4 bits; multiply others in a 'tile.map'";
  if (lhs.getDepth() % (scaled * scalesOfInstruction) != 0)
    return op.emitOpError() << "scales a depth of " << lhs.getDepth() << ", expected a multiple of "
                            << scaled * scalesOfInstruction;
  auto verify = [&](StringRef name, Value value, FragLayout layout, int64_t rows, int64_t columns) -> LogicalResult {
    auto frag = cast<FragType>(value.getType());
    if (frag.getLayout() == layout && frag.getRows() == rows && frag.getColumns() == columns)
      return success();
    return op.emitOpError() << "has scales " << frag << " of " << name << ", expected " << rows << "x" << columns << " in layout "
                            << stringifyFragLayout(layout) << ", one for each " << scaled << " of the depth";
  };
  int64_t blocks = lhs.getDepth() / scaled;
  if (failed(verify("lhs", scales[0], FragLayout::LhsScale, lhs.getRows(), blocks)))
    return failure();
  return verify("rhs", scales[1], FragLayout::RhsScale, blocks, rhs.getColumns());
}

LogicalResult MmaOp::verify() {
  FragType lhs = getLhs().getType(), rhs = getRhs().getType(), acc = getAcc().getType();
  bool plain = lhs.getLayout() == FragLayout::Lhs && rhs.getLayout() == FragLayout::Rhs;
  bool accumulatorOrder =
      lhs.getLayout() == FragLayout::LhsAcc && rhs.getLayout() == FragLayout::RhsAcc;
  if (!plain && !accumulatorOrder)
    return emitOpError() << "multiplies layouts " << stringifyFragLayout(lhs.getLayout()) << " and "
                         << stringifyFragLayout(rhs.getLayout())
                         << ", whose depths run in different orders; use lhs with rhs, or lhs_acc "
                            "with rhs_acc";
  if (failed(requireLayout(*this, "accumulator", acc, FragLayout::Acc)))
    return failure();
  // Floats of 8 and 4 bits are multiplied by instructions that take whole operands of both: those agree.
  bool takesWhole = mayBeMixed(lhs.getElementType()) && mayBeMixed(rhs.getElementType());
  if (!takesWhole && lhs.getRegisterLayout().operandBits != rhs.getRegisterLayout().operandBits)
    return emitOpError() << "multiplies " << lhs << " by " << rhs
                         << ", whose depths run in different orders; let both lie as the narrower one does, with bits(...)";
  if (lhs.getRegisterLayout().run != acc.getRegisterLayout().run)
    return emitOpError() << "multiplies " << lhs << " into " << acc
                         << ", whose rows are in different orders; use lhs_acc(8) with acc(8), and lhs_acc with acc";
  // Which floats a chip multiplies by one another is its business (convert-tile-to-rocdl).
  Type left = lhs.getElementType(), right = rhs.getElementType();
  if (left != right && !(mayBeMixed(left) && mayBeMixed(right)))
    return emitOpError() << "multiplies " << left << " by " << right
                         << ", expected the same type, or two floats of 8 or 4 bits; convert one of them in a 'tile.map'";
  Type sums = left.isInteger() ? Type(IntegerType::get(getContext(), 32)) : Float32Type::get(getContext());
  if (acc.getElementType() != sums)
    return emitOpError() << "multiplies " << left << " by " << right << " into " << acc.getElementType()
                         << ", expected an accumulator of " << sums;
  if (lhs.getColumns() != rhs.getRows() || lhs.getRows() != acc.getRows() ||
      rhs.getColumns() != acc.getColumns())
    return emitOpError() << "multiplies " << lhs.getRows() << "x" << lhs.getColumns() << " by "
                         << rhs.getRows() << "x" << rhs.getColumns() << " into " << acc.getRows()
                         << "x" << acc.getColumns();
  return verifyScales(*this);
}

LogicalResult MaskOp::verify() {
  FragType scores = getScores().getType();
  if (failed(requireLayout(*this, "scores", scores, FragLayout::Acc)))
    return failure();
  return requirePlainRows(*this, "scores", scores);
}

SmallVector<TileBound> MaskOp::getTileBounds() {
  SmallVector<TileBound> bounds = {{getBelow(), TileSide::Right}};
  if (getDiagonal())
    bounds.push_back({getDiagonal(), TileSide::Right});
  if (getAbove())
    bounds.push_back({getAbove(), TileSide::Left});
  return bounds;
}

static LogicalResult requireColumns(Operation *op, FragType frag, RowsType rows) {
  if (frag.getColumns() == rows.getSize())
    return success();
  return op->emitOpError() << "fragment of " << frag.getColumns() << " columns with "
                           << rows.getSize() << " row values";
}

LogicalResult RowMaxOp::verify() {
  if (failed(requireLayout(*this, "source", getSource().getType(), FragLayout::Acc)))
    return failure();
  return requireColumns(*this, getSource().getType(), getResult().getType());
}

/// Sums of 4 bits are those of scaled blocks, and no others are.
static LogicalResult verifyScalesOfSum(RowSumOp op, FragType source) {
  constexpr int64_t scaled = 32;
  if (isPacked(source.getElementType()) != (op.getScales() != nullptr))
    return op.emitOpError() << "sums " << source << (op.getScales() ? " with scales, which those of 4 bits have alone"
                                                                    : " without scales; give one for each 32 rows");
  if (!op.getScales())
    return success();
  auto scales = cast<FragType>(op.getScales().getType());
  if (scales.getLayout() == FragLayout::RhsScale && scales.getRows() * scaled == source.getRows() &&
      scales.getColumns() == source.getColumns())
    return success();
  return op.emitOpError() << "sums " << source << " with scales " << scales << ", expected " << source.getRows() / scaled << "x"
                          << source.getColumns() << " in layout rhs_scale";
}

LogicalResult RowSumOp::verify() {
  FragType source = getSource().getType();
  if (failed(verifyScalesOfSum(*this, source)))
    return failure();
  if (source.getLayout() != FragLayout::Acc && source.getLayout() != FragLayout::RhsAcc)
    return emitOpError() << "source has layout " << stringifyFragLayout(source.getLayout())
                         << ", expected acc or rhs_acc";
  return requireColumns(*this, source, getInit().getType());
}

static LogicalResult requireAccumulators(Operation *op, ValueRange values) {
  for (Value value : values)
    if (auto frag = dyn_cast<FragType>(value.getType()))
      if (failed(requireLayout(op, "value", frag, FragLayout::Acc)))
        return failure();
  return success();
}

LogicalResult RescaleOp::verify() { return requireAccumulators(*this, getValues()); }

static LogicalResult requireThreshold(Operation *op, FloatAttr threshold) {
  if (threshold.getValue().isFinite() && !threshold.getValue().isNegative())
    return success();
  return op->emitOpError() << "threshold(" << threshold.getValueAsDouble()
                           << "), a finite number of at least 0 is needed";
}

LogicalResult SettleOp::verify() {
  if (failed(requireThreshold(*this, getThresholdAttr())))
    return failure();
  if (getRaised().isFinite() && !getRaised().isNegative() && getRaised() <= getThreshold())
    return success();
  return emitOpError() << "raised(" << getRaised().convertToDouble() << "), a number from 0 to the threshold is needed";
}

LogicalResult NormalizeOp::verify() {
  if (failed(requireLayout(*this, "source", getSource().getType(), FragLayout::Acc)))
    return failure();
  return requireColumns(*this, getSource().getType(), getSum().getType());
}

LogicalResult ExponentsOp::verify() {
  if (failed(requireLayout(*this, "scores", getScores().getType(), FragLayout::Acc)))
    return failure();
  return requireColumns(*this, getScores().getType(), getReference().getType());
}

LogicalResult BlockExponentsOp::verify() {
  constexpr int64_t mostRows = 128, rowsOfPair = 64, columns = 32;
  FragType scores = getScores().getType();
  if (failed(requireLayout(*this, "scores", scores, FragLayout::Acc)) || failed(requirePlainRows(*this, "scores", scores)))
    return failure();
  if (scores.getRows() > mostRows || scores.getRows() % rowsOfPair != 0 || scores.getColumns() != columns)
    return emitOpError() << "has scores " << scores << ", expected " << rowsOfPair << " or " << mostRows
                         << " rows, of which a word has scales, and " << columns << " columns";
  const Type word = RowsType::get(getContext(), columns, IntegerType::get(getContext(), 32), {FragLayout::Acc});
  if (getWord().getType() != word)
    return emitOpError() << "has scales in " << getWord().getType() << ", expected " << word;
  if (!getLargest().isFinite() || getLargest().isNegative() || getLargest().isZero())
    return emitOpError() << "largest(" << getLargest().convertToDouble() << "), a finite number above 0 is needed";
  return requireColumns(*this, scores, getReference().getType());
}

LogicalResult Exp2Op::verify() {
  FragType scores = getScores().getType();
  if (failed(requireLayout(*this, "scores", scores, FragLayout::Acc)))
    return failure();
  if (std::optional<int64_t> each = getPolynomials(); each && *each < 1)
    return emitOpError() << "polynomials(" << *each << "), a number from 1 on is needed: one pair of each so many";
  if (!getScale() != !getReference())
    return emitOpError("has a scale or a reference alone; give both or none");
  return getReference() ? requireColumns(*this, scores, getReference().getType()) : success();
}

LogicalResult PackOp::verify() {
  FragType source = getSource().getType(), result = getResult().getType();
  if (failed(requireLayout(*this, "source", source, FragLayout::Acc)) ||
      failed(requireLayout(*this, "result", result, FragLayout::RhsAcc)) ||
      failed(requirePlainRows(*this, "source", source)))
    return failure();
  if (source.getShape() != result.getShape())
    return emitOpError() << "source " << source << " and result " << result << " differ in shape";
  if (!isa<FloatType>(result.getElementType()))
    return emitOpError() << "packs " << source << " as " << result
                         << ", expected a float; round to integers in a 'tile.map'";
  if (getLine() && !isPacked(result.getElementType()))
    return emitOpError() << "packs " << source << " as " << result << " along a line, expected f4E2M1FN; leave line out";
  return success();
}
