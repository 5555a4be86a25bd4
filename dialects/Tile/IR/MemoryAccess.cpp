// How a value in registers and a view in memory meet.
#include "Tile/IR/MemoryAccess.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

std::optional<MemoryAccess> hocket::tile::memoryAccessOf(Operation *op) {
  auto access = [&](auto typed, Type type) {
    std::optional<int64_t> along;
    if (typed.getAlong())
      along = static_cast<int64_t>(*typed.getAlong());
    return std::optional(
        MemoryAccess{op, type, typed.getView(), typed.getIndices(), along});
  };
  auto mayBeOver = [&](auto typed, Type type) {
    std::optional<MemoryAccess> of = access(typed, type);
    if (std::optional<ArrayRef<int64_t>> over = typed.getOver())
      of->over = over->size() == 2 ? std::pair((*over)[0], (*over)[1]) : std::pair(int64_t(-1), int64_t(-1));
    return of;
  };
  if (auto load = dyn_cast<LoadOp>(op))
    return mayBeOver(load, load.getResult().getType());
  if (auto begin = dyn_cast<BeginLoadOp>(op))
    return mayBeOver(begin, begin.getPending().getType().getFrag());
  if (auto store = dyn_cast<StoreOp>(op))
    return mayBeOver(store, store.getValue().getType());
  if (auto add = dyn_cast<AtomicAddOp>(op))
    return access(add, add.getValue().getType());
  return std::nullopt;
}

Type MemoryAccess::elementType() const {
  return llvm::TypeSwitch<Type, Type>(type)
      .Case<FragType, RowsType, ColumnsType>([](auto held) { return held.getElementType(); })
      .Default([](Type number) { return number; });
}

int64_t MemoryAccess::dimension() const {
  int64_t rank = cast<ViewType>(view.getType()).getRank();
  if (over)
    return over->first;
  if (along)
    return *along;
  if (!isFragment())
    return rank - 1;
  return rank == 4 ? 1 : rank - 2;
}

bool hocket::tile::isOfWholeHeadRows(const MemoryAccess &access) {
  auto frag = dyn_cast<FragType>(access.type);
  ViewType view = access.view.getType();
  if (!frag || access.along || access.over || view.getRank() != 4 || !access.takesWholeRows() ||
      ShapedType::isDynamic(view.getShape()[3]))
    return false;
  FragLayout layout = frag.getLayout();
  if (layout == FragLayout::Lines)
    return access.op->hasAttr(kWholeRows) && frag.getElementType() == view.getElementType();
  if (isa<LoadOp>(access.op))
    return (layout == FragLayout::Lhs || layout == FragLayout::Rhs) &&
           frag.getElementType() == view.getElementType();
  return isa<StoreOp>(access.op) && layout == FragLayout::Acc &&
         isa<FloatType>(view.getElementType());
}

/// `layout` with rows for columns and the other way round.
static LinearLayout transposed(const LinearLayout &layout) {
  std::string_view order[] = {dims::Row, dims::Col};
  return layout.renameOutput(dims::Row, "columns")
      .renameOutput(dims::Col, dims::Row)
      .renameOutput("columns", dims::Col)
      .reorderOutputs(order);
}

static AccessShape shapeOfVector(const VectorMap &vector, bool areRows) {
  AccessShape shape;
  shape.map = vector.piece.map.sublayout({dims::Register, dims::Lane}, {vector.dim});
  if (areRows != (vector.dim == dims::Row))
    shape.map = transposed(shape.map);
  shape.isScalar = vector.isScalar;
  shape.registers = vector.isScalar ? 1 : vector.piece.registers;
  int64_t size = vector.numbersOfPiece();
  for (int64_t at = 0; at != vector.count * size; at += size)
    shape.origins.push_back(areRows ? RowAndColumn{at, 0} : RowAndColumn{0, at});
  (areRows ? shape.rows : shape.columns) = vector.count * size;
  return shape;
}

AccessShape hocket::tile::shapeOf(FragType type) {
  FragmentMap fragment(type);
  AccessShape shape;
  shape.map = fragment.piece.map;
  shape.registers = fragment.piece.registers;
  for (int64_t piece = 0; piece != fragment.count(); ++piece)
    shape.origins.push_back(fragment.origin(piece));
  shape.rows = fragment.pieces.row * fragment.piece.rows;
  shape.columns = fragment.pieces.column * fragment.piece.columns;
  return shape;
}

AccessShape hocket::tile::shapeOf(const MemoryAccess &access) {
  bool isLast = !access.over && access.dimension() == cast<ViewType>(access.view.getType()).getRank() - 1;
  if (auto rows = dyn_cast<RowsType>(access.type))
    return shapeOfVector(VectorMap(rows), !isLast);
  if (auto columns = dyn_cast<ColumnsType>(access.type))
    return shapeOfVector(VectorMap(columns), !isLast);
  return shapeOf(cast<FragType>(access.type));
}

uint64_t AccessShape::ofRegister(int64_t index, std::string_view dim) const {
  return map.apply({{std::string(dims::Register), static_cast<uint64_t>(index)}}, dim);
}

int64_t AccessShape::run() const {
  if (isScalar)
    return 1;
  uint64_t ofLanes = map.reach(dims::Lane, dims::Col);
  unsigned bits = 0;
  while (int64_t(1) << bits < registers && (ofLanes >> bits & 1) == 0 &&
         map.basis(dims::Register, bits, dims::Col) == uint64_t(1) << bits &&
         map.basis(dims::Register, bits, dims::Row) == 0)
    ++bits;
  return int64_t(1) << bits;
}

uint64_t AccessShape::copyBits() const {
  uint64_t copies = 0;
  for (unsigned bit = 0; bit != map.inputBits(dims::Lane); ++bit)
    if (map.basis(dims::Lane, bit, dims::Row) == 0 && map.basis(dims::Lane, bit, dims::Col) == 0)
      copies |= uint64_t(1) << bit;
  return copies;
}
