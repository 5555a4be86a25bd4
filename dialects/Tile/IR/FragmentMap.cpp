// Where the numbers of a fragment lie. The layouts of the matrix instruction are those of
// lib/Layout/Mfma.h, with their dimensions renamed to memory's.
#include "Tile/IR/FragmentMap.h"

#include "Tile/IR/FragmentAccess.h"

#include "Layout/OperandReuse.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace hocket;
using namespace hocket::tile;

/// `layout` with `row` and `col` for the dimensions that are memory's rows and columns.
static LinearLayout inMemoryOrder(const LinearLayout &layout, std::string_view rows,
                                  std::string_view columns) {
  std::string_view order[] = {dims::Row, dims::Col};
  return layout.renameOutput(rows, "memory row")
      .renameOutput(columns, "memory column")
      .renameOutput("memory row", dims::Row)
      .renameOutput("memory column", dims::Col)
      .reorderOutputs(order);
}

/// An operand whose depth runs as a packed accumulator holds it: so many of an accumulator's registers as it has elements
/// in a lane, half of them of 16 bits.
static LinearLayout accumulatorPart(const MfmaShape &shape) {
  if (exchangesHalves(shape))
    return permuteOutput(*mfmaOperandB(shape), dims::K, *rowsInRunsOfEight(llvm::Log2_32(shape.k)))->renameOutput(dims::K, dims::Row);
  LinearLayout accumulator = *mfmaAccumulator(shape);
  unsigned elements = llvm::Log2_32(shape.operandElements());
  if (elements >= accumulator.inputBits(dims::Register))
    return accumulator;
  return accumulator.splitInput(dims::Register, dims::Register, elements, "part")
      .sublayout({dims::Register, dims::Lane}, {dims::Row, dims::Col});
}

/// `map`, or with a `run` the columns of memory in an order in which a lane of an accumulator holds that many side by
/// side: the halves of a wave change places with every second block of four.
static LinearLayout inRunsOf(int64_t run, const LinearLayout &map) {
  return run == 0 ? map : *permuteOutput(map, dims::Col, *rowsInRunsOfEight(map.outputBits(dims::Col)));
}

/// Runs along the columns in each lane, then lanes along them, then lanes along rows.
static LinearLayout linesMap(const RegisterLayout &layout) {
  unsigned along = llvm::Log2_64(layout.lanes);
  LinearLayout map = LinearLayout::identity(dims::Register, dims::Col, llvm::Log2_64(layout.run)) *
                     LinearLayout::identity(dims::Lane, dims::Col, along) *
                     LinearLayout::identity(dims::Lane, dims::Row, kWaveLaneBits - along);
  return inMemoryOrder(map, dims::Row, dims::Col);
}

static LinearLayout mapOf(const RegisterLayout &layout) {
  const MfmaShape shape = operandShape(layout);
  switch (layout.kind) {
  case FragLayout::Lhs:
    return inMemoryOrder(*mfmaOperandA(shape), dims::Row, dims::K);
  case FragLayout::Rhs:
    return inMemoryOrder(*mfmaOperandB(shape), dims::Col, dims::K);
  case FragLayout::Acc:
    return inRunsOf(layout.run, inMemoryOrder(*mfmaAccumulator(shape), dims::Col, dims::Row));
  case FragLayout::RhsAcc:
    return inMemoryOrder(accumulatorPart(shape), dims::Col, dims::Row);
  case FragLayout::LhsAcc:
    // The accumulator's rows are the depth, which is memory's rows; its columns stand for the
    // operand's rows.
    return inRunsOf(layout.run, inMemoryOrder(accumulatorPart(shape), dims::Row, dims::Col));
  case FragLayout::Lines:
    return linesMap(layout);
  case FragLayout::LhsScale:
    return inMemoryOrder(*mfmaOperandA(shape), dims::K, dims::Row);
  case FragLayout::RhsScale:
    return inMemoryOrder(*mfmaOperandB(shape), dims::K, dims::Col);
  }
  llvm_unreachable("unknown layout");
}

PieceMap hocket::tile::pieceOf(const RegisterLayout &layout) {
  PieceMap piece;
  piece.map = mapOf(layout);
  piece.registers = int64_t(1) << piece.map.inputBits(dims::Register);
  auto extent = [&](std::string_view dim) {
    uint64_t reach = piece.map.reach(dims::Register, dim) | piece.map.reach(dims::Lane, dim);
    // Half of an accumulator's rows: 16 of its 32, the lower ones.
    return static_cast<int64_t>(llvm::bit_ceil(reach + 1));
  };
  piece.rows = extent(dims::Row);
  piece.columns = extent(dims::Col);
  return piece;
}

int64_t PieceMap::ofRegister(int64_t index, std::string_view dim) const {
  return static_cast<int64_t>(
      map.apply({{std::string(dims::Register), static_cast<uint64_t>(index)}}, dim));
}

int64_t PieceMap::run() const {
  uint64_t ofLanes = map.reach(dims::Lane, dims::Col);
  unsigned bits = 0;
  while (int64_t(1) << bits < registers && (ofLanes >> bits & 1) == 0 &&
         map.basis(dims::Register, bits, dims::Col) == uint64_t(1) << bits &&
         map.basis(dims::Register, bits, dims::Row) == 0)
    ++bits;
  return int64_t(1) << bits;
}

bool PieceMap::isSameInLane(std::string_view dim) const {
  return map.reach(dims::Register, dim) == 0;
}

FragmentMap::FragmentMap(FragType type)
    : piece(pieceOf(type.getRegisterLayout())),
      pieces{type.getMemoryRows() / piece.rows, type.getMemoryColumns() / piece.columns},
      // The depth of an operand comes first, and it is memory's columns but for these.
      rowsFirst(type.getLayout() == FragLayout::LhsAcc || type.isOfScales()) {}

RowAndColumn FragmentMap::place(int64_t index) const {
  if (rowsFirst)
    return {index % pieces.row, index / pieces.row};
  return {index / pieces.column, index % pieces.column};
}

RowAndColumn FragmentMap::origin(int64_t index) const {
  RowAndColumn at = place(index);
  return {at.row * piece.rows, at.column * piece.columns};
}

VectorMap::VectorMap(RowsType type)
    : piece(pieceOf(type.getRegisterLayout())), dim(dims::Row),
      count(type.getSize() / piece.rows), isScalar(piece.isSameInLane(dim)) {}

VectorMap::VectorMap(ColumnsType type)
    : piece(pieceOf(type.getRegisterLayout())), dim(dims::Col),
      count(type.getSize() / piece.columns), isScalar(piece.isSameInLane(dim)) {}

LinearLayout VectorMap::projection() const {
  if (isScalar)
    return piece.map.sublayout({dims::Lane}, {dim});
  return piece.map.sublayout({dims::Register, dims::Lane}, {dim});
}

bool hocket::tile::holdAlike(FragType a, FragType b) {
  return a.getMemoryRows() == b.getMemoryRows() && a.getMemoryColumns() == b.getMemoryColumns() &&
         a.getRegisterLayout() == b.getRegisterLayout();
}

template <typename Vector> static bool projectAlike(Vector a, Vector b) {
  return a.getSize() == b.getSize() &&
         (a.getRegisterLayout() == b.getRegisterLayout() ||
          VectorMap(a).projection().equivalent(VectorMap(b).projection()));
}

bool hocket::tile::holdAlike(RowsType a, RowsType b) { return projectAlike(a, b); }
bool hocket::tile::holdAlike(ColumnsType a, ColumnsType b) { return projectAlike(a, b); }

bool hocket::tile::fits(RowsType vector, FragType frag) {
  return projectAlike(vector, rowsOf(frag, vector.getElementType()));
}

bool hocket::tile::fits(ColumnsType vector, FragType frag) {
  return projectAlike(vector, columnsOf(frag, vector.getElementType()));
}

RowsType hocket::tile::rowsOf(FragType frag, mlir::Type elementType) {
  RegisterLayout layout = frag.getRegisterLayout();
  if (layout.kind != FragLayout::LhsAcc && layout.kind != FragLayout::Lines)
    layout = {FragLayout::Acc};
  return RowsType::get(frag.getContext(), frag.getMemoryRows(), elementType, layout);
}

ColumnsType hocket::tile::columnsOf(FragType frag, mlir::Type elementType) {
  RegisterLayout layout = frag.getRegisterLayout();
  if (layout.kind == FragLayout::Rhs)
    layout = {FragLayout::Lhs};
  return ColumnsType::get(frag.getContext(), frag.getMemoryColumns(), elementType, layout);
}
