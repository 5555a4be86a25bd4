// Loads, stores and additions at computed places: syntax and verifiers.
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/KernelVerify.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/RegisterValueSyntax.h"
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WorkItems.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

/// A type of the kind `Short` without its name, or any with.
template <typename Short> static ParseResult parseShort(OpAsmParser &parser, Type &type) {
  OptionalParseResult named = parser.parseOptionalType(type);
  if (named.has_value())
    return *named;
  Short found;
  if (parser.parseCustomTypeWithFallback(found))
    return failure();
  type = found;
  return success();
}

template <typename Short> static void printShort(OpAsmPrinter &printer, Type type) {
  if (auto found = dyn_cast<Short>(type))
    printer.printStrippedAttrOrType(found);
  else
    printer << type;
}

ParseResult hocket::tile::parseRegisterValue(OpAsmParser &parser, Type &type) {
  return parseShort<FragType>(parser, type);
}
void hocket::tile::printRegisterValue(OpAsmPrinter &printer, Operation *, Type type) {
  printShort<FragType>(printer, type);
}

ParseResult hocket::tile::parsePutValue(OpAsmParser &parser, Type &type) {
  return parseShort<PartType>(parser, type);
}
void hocket::tile::printPutValue(OpAsmPrinter &printer, Operation *, Type type) {
  printShort<PartType>(printer, type);
}

ParseResult hocket::tile::parseRingTypes(OpAsmParser &parser, Type &view, Type &ring) {
  Type first;
  if (parseShort<ViewType>(parser, first))
    return failure();
  if (isa<RingType>(first)) {
    ring = first;
    return success();
  }
  view = first;
  return failure(parser.parseArrow() || parseShort<RingType>(parser, ring));
}

void hocket::tile::printRingTypes(OpAsmPrinter &printer, Operation *, Type view, Type ring) {
  if (!view) {
    printer << ring;
    return;
  }
  printShort<ViewType>(printer, view);
  printer << " -> ";
  printShort<RingType>(printer, ring);
}

ParseResult hocket::tile::parseTableTypes(OpAsmParser &parser, Type &table, Type &ring, Type &pages) {
  if (parseShort<ViewType>(parser, table) || parser.parseComma() || parseShort<RingType>(parser, ring))
    return failure();
  if (auto type = dyn_cast<RingType>(ring))
    pages = PagesType::get(parser.getContext(), type.getShape()[0]);
  return success(pages != Type());
}

void hocket::tile::printTableTypes(OpAsmPrinter &printer, Operation *, Type table, Type ring, Type) {
  printShort<ViewType>(printer, table);
  printer << ", ";
  printShort<RingType>(printer, ring);
}

//===-- Places and views
//-------------------------------------------------------------------------===//

static LogicalResult requirePersistent(Operation *op, StringRef what) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || kernel->hasAttr(kPersistentAttr))
    return success();
  return op->emitOpError() << what << " of persistent kernels; give the kernel the attribute '" << kPersistentAttr << "'";
}

Value hocket::tile::turnOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<BlockIdOp, BlockTileOp, WorkgroupIdOp>([](auto place) { return place.getTurn(); })
      .Default([](Operation *) { return Value(); });
}

LogicalResult hocket::tile::verifyTurn(Operation *op) {
  return turnOf(op) ? requirePersistent(op, "has a 'turn', which is") : success();
}

LogicalResult ItemTurnsOp::verify() { return requirePersistent(*this, "is"); }

LogicalResult WorkgroupIdOp::verify() {
  if (failed(verifyTurn(*this)))
    return failure();
  if (!getGrid().empty() && getGrid().size() <= 3)
    return success();
  return emitOpError() << "has " << getGrid().size()
                       << " expressions, expected one for each of one to three dimensions of the "
                          "grid";
}

LogicalResult SelectOp::verify() {
  ViewType view = getView().getType(), result = getResult().getType();
  size_t selected = getIndices().size();
  if (selected == 0 || selected >= view.getShape().size() ||
      view.getShape().drop_front(selected) != result.getShape() ||
      view.getElementType() != result.getElementType())
    return emitOpError() << "selects " << selected << " dimensions of " << view << " as " << result
                         << ", expected the dimensions behind the indices, at least one of each";
  if (ShapedType::isDynamic(result.getShape().front()))
    return success();
  return emitOpError() << "makes " << result
                       << ", whose first extent must be '?': it is 0 where an index is beyond the "
                          "view";
}

/// Whether an op of the kernel writes to the view, or to what it is part of.
static bool isWritten(Value view, Operation *kernel) {
  Value whole = wholeView(view);
  return kernel
      ->walk([&](Operation *op) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        if (!effects || !effects.hasEffect<MemoryEffects::Write>())
          return WalkResult::advance();
        bool writes = llvm::any_of(op->getOperands(), [&](Value operand) {
          return isa<ViewType>(operand.getType()) && wholeView(operand) == whole;
        });
        return writes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult EntryOp::verify() {
  if (getLists().empty())
    return emitOpError("is of no list, expected one or more");
  auto kernel = (*this)->getParentOfType<KernelOp>();
  for (Value list : getLists()) {
    auto view = cast<ViewType>(list.getType());
    if (view.getRank() != 1 || !view.getElementType().isSignlessInteger(32))
      return emitOpError() << "is of " << view << ", expected one dimension of i32";
    if (kernel && isWritten(list, kernel))
      return emitOpError("is of a list that the kernel writes to; use 'tile.load'");
  }
  return success();
}

//===-- Loads, stores and additions
//--------------------------------------------------------------===//

static bool isRegisterValue(Type type) {
  return isa<FragType, RowsType, ColumnsType>(type) || (isElement(type) && !isSmallFloat(type));
}

/// What the last index left out asks of a fragment: all that the view has of a row.
static LogicalResult verifyWholeRows(const MemoryAccess &access) {
  ViewType view = access.view.getType();
  int64_t found = cast<FragType>(access.type).getMemoryColumns(), columns = view.getShape().back();
  if (ShapedType::isDynamic(columns))
    return success();
  if (found == columns || coversColumns(found, columns, view.getElementType()))
    return success();
  return access.op->emitOpError()
         << "has a fragment of " << found << " memory columns and a view of " << columns
         << "; give it the view's, a multiple of 8, rounded up to a multiple of 32, or write the "
            "first column as the last index";
}

/// Rows that count pairs of dimensions.
static LogicalResult verifyOver(const MemoryAccess &access) {
  if (access.along)
    return access.op->emitOpError("has 'along' and 'over', which both say what rows count; leave one of them out");
  if (!isa<FragType, RowsType>(access.type))
    return access.op->emitOpError() << "has 'over' for " << access.type << ", expected a fragment or row values";
  auto [slow, fast] = *access.over;
  int64_t rank = cast<ViewType>(access.view.getType()).getRank(), end = access.isFragment() ? rank - 1 : rank;
  auto isDimension = [&](int64_t dimension) { return dimension >= 0 && dimension < end; };
  if (isDimension(slow) && isDimension(fast) && slow != fast)
    return success();
  return access.op->emitOpError() << "has 'over' of " << access.view.getType() << ", expected two dimensions of 0 to "
                                  << end - 1 << (access.isFragment() ? ": columns lie along the last" : "");
}

static LogicalResult verifyPlace(const MemoryAccess &access) {
  ViewType view = access.view.getType();
  int64_t rank = view.getRank(), given = access.indices.size();
  if (access.isFragment() && rank < 2)
    return access.op->emitOpError() << "has a fragment, which has rows and columns, and " << view
                                    << "; use '!tile.rows' or '!tile.columns'";
  if (given != rank && !(access.isFragment() && given == rank - 1))
    return access.op->emitOpError()
           << "has " << given << " indices into " << view << ", expected " << rank
           << (access.isFragment() ? ", or one less for column 0" : "");
  if (access.over)
    return verifyOver(access);
  if (!access.along)
    return success();
  if (access.isNumber())
    return access.op->emitOpError("has 'along' for one number, which extends along nothing; "
                                  "leave it out");
  int64_t end = access.isFragment() ? rank - 1 : rank;
  if (*access.along < 0 || *access.along >= end)
    return access.op->emitOpError()
           << "along(" << *access.along << ") of " << view << ", expected 0 to " << end - 1
           << (access.isFragment() ? ": columns lie along the last dimension" : "");
  return success();
}

static LogicalResult verifyAccess(const MemoryAccess &access) {
  if (!isRegisterValue(access.type))
    return access.op->emitOpError() << "has a value of " << access.type
                                    << ", expected a fragment, row or column values, f32, i32, "
                                       "bf16, f16 or i8";
  if (failed(verifyPlace(access)))
    return failure();
  return access.isFragment() && access.takesWholeRows() ? verifyWholeRows(access) : success();
}

/// Whether `narrow` in memory is `wide` in registers without loss.
static bool widens(Type narrow, Type wide) {
  if (narrow == wide)
    return true;
  if (isBlockScale(narrow))
    return false;
  bool isNarrower = narrow.getIntOrFloatBitWidth() < 32;
  return isNarrower && (wide.isF32() ? isa<FloatType>(narrow) : wide.isInteger(32) && narrow.isInteger());
}

/// A load ("loads", "from") or a store ("stores", "to") of a view.
template <class AccessOp>
static LogicalResult verifyTransfer(AccessOp op, StringRef verb, StringRef preposition) {
  MemoryAccess access = *memoryAccessOf(op);
  if (failed(verifyAccess(access)))
    return failure();
  Type element = op.getView().getType().getElementType();
  if (widens(element, access.elementType()))
    return success();
  return op.emitOpError() << verb << " " << access.elementType() << " " << preposition
                          << " a view of " << element
                          << ", expected the view's element type, f32 for a narrower float, or i32 for a "
                             "narrower integer";
}

LogicalResult GatherOp::verify() {
  ViewType view = getView().getType();
  Type places = getResult().getType(), element = elementTypeOf(places);
  if (static_cast<int64_t>(getIndices().size()) != view.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for a view of rank "
                         << view.getRank() << ", expected one for each dimension";
  bool varies = false;
  for (auto [number, index] : llvm::enumerate(getIndices())) {
    Type type = index.getType();
    if (!elementTypeOf(type).isInteger(32) || !reaches(type, places))
      return emitOpError() << "index " << number << " is " << type << ", expected i32 or "
                           << reaching(RowsType::get(getContext(), 1, IntegerType::get(getContext(), 32)),
                                       places)
                           << " and the like, for a result " << places;
    varies |= type != elementTypeOf(type);
  }
  if (!varies)
    return emitOpError("has the same indices for all elements; load the number with 'tile.load'");
  if (widens(view.getElementType(), element))
    return success();
  return emitOpError() << "looks up " << element << " in a view of " << view.getElementType()
                       << ", expected the view's element type, f32 for a narrower float, or i32 for a narrower integer";
}

LogicalResult BeginLoadOp::verify() { return verifyTransfer(*this, "loads", "from"); }

LogicalResult EndLoadOp::verify() {
  FragType pending = getPending().getType().getFrag(), result = getResult().getType();
  if (pending.getShape() == result.getShape() && pending.getRegisterLayout() == result.getRegisterLayout() &&
      widens(pending.getElementType(), result.getElementType()))
    return success();
  return emitOpError() << "makes " << result << " of " << pending
                       << ", expected the same shape, layout and element type, f32 for a narrower float, or i32 for a "
                          "narrower integer";
}

LogicalResult LoadOp::verify() { return verifyTransfer(*this, "loads", "from"); }

LogicalResult StoreOp::verify() { return verifyTransfer(*this, "stores", "to"); }

LogicalResult AtomicAddOp::verify() {
  MemoryAccess access = *memoryAccessOf(*this);
  if (failed(verifyAccess(access)))
    return failure();
  Type element = getView().getType().getElementType();
  if (!isa<FloatType>(element) || isSmallFloat(element) || isBlockScale(element))
    return emitOpError() << "adds to a view of " << element << ", expected f32, f16 or bf16";
  if (widens(element, access.elementType()))
    return success();
  return emitOpError() << "adds " << access.elementType() << " to a view of " << element
                       << ", expected the view's element type, or f32 for a narrower float";
}

//===-- What is written
//--------------------------------------------------------------------------===//

static SmallVector<WrittenPlace> placesOf(StoreOp store) {
  MemoryAccess access = *memoryAccessOf(store);
  if (access.isNumber())
    return {};
  AccessShape shape = shapeOf(access);
  int64_t last = store.getView().getType().getRank() - 1, along = access.dimension();
  if (access.over)
    return {{store.getView(), access.indices[along], along, shape.rows}};
  SmallVector<WrittenPlace> places;
  if (along != last)
    places.push_back({store.getView(), access.indices[along], along, shape.rows});
  if ((access.isFragment() || along == last) && !access.takesWholeRows())
    places.push_back({store.getView(), access.indices[last], last, shape.columns});
  return places;
}

SmallVector<WrittenPlace> hocket::tile::writtenPlaces(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<WrittenPlace>>(op)
      .Case([](StoreOp store) { return placesOf(store); })
      .Case([](StoreRowsOp store) {
        return SmallVector<WrittenPlace>{
            {store.getView(), store.getRow(), 2, store.getValue().getType().getSize()}};
      })
      .Case([](StoreBlockOp store) {
        FragType frag = store.getValue().getType();
        return SmallVector<WrittenPlace>{{store.getView(), store.getRow(), 0, frag.getColumns()},
                                         {store.getView(), store.getColumn(), 1, frag.getRows()}};
      })
      .Case([](CombineOp combine) {
        return SmallVector<WrittenPlace>{
            {combine.getO(), combine.getRow(), 1, static_cast<int64_t>(combine.getRows())}};
      })
      .Default([](Operation *) { return SmallVector<WrittenPlace>(); });
}
