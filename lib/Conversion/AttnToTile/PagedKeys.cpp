// K and V in pages: which ones a sequence has, and which rows of them a workgroup works on.
#include "KeySource.h"
#include "RingSteps.h"

#include "Tile/IR/FragmentAccess.h"

using namespace mlir;
using namespace hocket;

/// How many tiles ahead of the fetch pages are looked up: as many as rings hold, so that waiting for the numbers waits
/// for no tile that is still on its way.
static constexpr int64_t kAhead = 2;
/// Places of rows can be found a tile ahead, too: where nothing hides what a fetch does before it asks for something.
static constexpr int64_t kLocated = 1;

/// Rows of all pages of a head are reached by 32-bit offsets, beyond which one means none.
static constexpr int64_t kMostPoolBytes = int64_t(1) << 31, kMostRows = int64_t(1) << 30;
/// And so are a table's entries, of 4 bytes.
static constexpr int64_t kMostEntries = int64_t(1) << 28;

namespace {
class PagedKeys : public KeySource {
public:
  PagedKeys(attn::ForwardOp op, const LoopContext &loop, SequenceViews &sequences)
      : KeySource(op, loop, sequences), pageRows(*op.getPageSize()), isLists(op.getPageLists()), far(op.getFarPages()),
        inVectors(op.getVectorPages()), locates(!far && op.getGroupRows() && loop.arch.hasLdsDma(tile::kDmaBytes)) {}

  void addArguments(KernelFrame &frame) const override;
  void find(const KernelFrame &frame, Value batch) override;
  void enter() override {}
  Value pageTable() const override { return table; }
  Value count() const override { return rows; }
  Value moveTo(const WorkPartition::Slice &slice) override;
  SmallVector<Value> first(const TileVisit &visit) override;
  SmallVector<Value> fetchSteps(const TileVisit &visit, Value t, ValueRange ahead) override;
  void leave(ValueRange ahead) override {
    for (Value pages : ahead)
      tile::RetainOp::create(loop.builder, pages);
  }
  Value readValues(const TileVisit &visit, Value t, Value keyCount) override;
  int64_t outputRun() const override { return inVectors ? 0 : KeySource::outputRun(); }

private:
  Tensor tensor(const KernelFrame &frame, StringRef name) const override;
  Value ring(Type type, Value view, ValueRange indices) const override;
  Value number(Value t) const;
  Value behind(const TileVisit &visit, Value t, int64_t distance) const;
  Value lookUp(Value t) const;
  Value locate(Value ring, Value pages, Value t) const;
  SmallVector<Value> fetchLocated(const TileVisit &visit, Value t, ValueRange ahead);

  int64_t pageRows;
  bool isLists, far, inVectors; ///< pools may be of any size; elements lie in vectors
  bool locates;                 ///< places are found a tile ahead
  Value table, rows, firstTile; ///< of the sequence
};
} // namespace

Tensor PagedKeys::tensor(const KernelFrame &frame, StringRef name) const {
  Tensor pool = sequences.tensor(frame, name);
  pool.sizes = {"num_pages", "page_size", "kv_heads"};
  return pool;
}

void PagedKeys::addArguments(KernelFrame &frame) const {
  MLIRContext *context = frame.context();
  Type i32 = IntegerType::get(context, 32);
  auto list = [&](int64_t rank) -> Type {
    return tile::ViewType::get(context, SmallVector<int64_t>(rank, ShapedType::kDynamic), i32);
  };
  if (isLists) {
    frame.addTensor(list(1), {"kv_indptr", {}, {"batch + 1"}});
    frame.addTensor(list(1), {"kv_page_indices", {}, {"total_pages"}});
    frame.addTensor(list(1), {"kv_last_page_len", {}, {"batch"}});
  } else {
    frame.addTensor(list(2), {"block_table", {"block_table_stride_b"}, {"batch", "max_pages"}});
  }
  frame.require("page_size == " + Twine(pageRows), "the kernel's pages have " + Twine(pageRows) + " rows");
  if (inVectors)
    frame.require("k_stride_s == head_dim && v_stride_s == head_dim_v",
                  "a head's part of a page must be contiguous in the vectorised layout");
  frame.require("vector_pages == " + Twine(int(inVectors)),
                inVectors ? "the kernel's pages have the vectorised layout" : "the kernel's pages have rows, not vectors");
  StringRef entries = isLists ? "total_pages" : "max_pages";
  frame.require(entries + " * page_size <= " + Twine(kMostRows),
                "the pages of a table may have " + Twine(kMostRows) + " rows in all; use shorter tables");
  frame.require(entries + " <= " + Twine(kMostEntries),
                "a table of pages may have " + Twine(kMostEntries) + " entries; use shorter ones or larger pages");
  for (auto [name, element] : {std::pair(StringRef("k"), loop.element.k), std::pair(StringRef("v"), loop.element.v)}) {
    if (far)
      frame.require("max(" + name + "_stride_b, page_size * " + name + "_stride_s) < " +
                        Twine(kMostPoolBytes / bytesOf(element)),
                    "a page of '" + name + "' must lie within 2 GiB, and the next one's begin; use smaller pages");
    else
      frame.require(name + "_bytes < " + Twine(kMostPoolBytes),
                    "the pages of '" + name + "' must lie within 2 GiB; use fewer or smaller pages, or far_pages");
  }
}

void PagedKeys::find(const KernelFrame &frame, Value batch) {
  ExpansionBuilder &builder = loop.builder;
  Type i32 = builder.getI32Type();
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value perPage = builder.constant(pageRows);
  Type list = tile::ViewType::get(builder.getContext(), {ShapedType::kDynamic}, i32);
  auto load = [&](StringRef name, Value index) -> Value {
    return tile::LoadOp::create(builder, i32, frame.argument(name), ValueRange(index), IntegerAttr());
  };
  if (isLists) {
    Value first = arith::MaxSIOp::create(builder, load("kv_indptr", batch), zero);
    Value next = load("kv_indptr", arith::AddIOp::create(builder, batch, one));
    table = tile::SliceRowsOp::create(builder, list, frame.argument("kv_page_indices"), first,
                                      arith::SubIOp::create(builder, next, first), builder.getI64IntegerAttr(0));
    Value last = arith::MinSIOp::create(builder, load("kv_last_page_len", batch), perPage);
    Value before = arith::SubIOp::create(builder, tile::DimOp::create(builder, table, 0), one);
    Value ofSequence =
        arith::AddIOp::create(builder, arith::MulIOp::create(builder, before, perPage), last);
    Value any = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, before, zero);
    rows = arith::SelectOp::create(builder, any, ofSequence, zero);
  } else {
    table = tile::SelectOp::create(builder, list, frame.argument("block_table"), ValueRange(batch));
    rows = arith::MulIOp::create(builder, tile::DimOp::create(builder, table, 0), perPage);
  }
  if (Value used = sequences.usedKeys())
    rows = arith::MinSIOp::create(builder, rows, used);
  rows = arith::MaxSIOp::create(builder, rows, zero);
}

/// Tiles count from the first of the slice, whatever page it begins in.
Value PagedKeys::moveTo(const WorkPartition::Slice &slice) {
  ExpansionBuilder &builder = loop.builder;
  Value size = builder.constant(loop.shape.kvTile);
  firstTile = firstTile ? Value(arith::AddIOp::create(builder, firstTile, slice.firstTile)) : slice.firstTile;
  Value firstKey = arith::MulIOp::create(builder, firstTile, size);
  rows = arith::MinSIOp::create(builder, rows, arith::AddIOp::create(builder, firstKey, slice.size));
  Value left = arith::SubIOp::create(builder, rows, firstKey);
  return arith::MaxSIOp::create(builder, left, builder.constant(int64_t(0)));
}

Value PagedKeys::ring(Type type, Value view, ValueRange indices) const {
  ExpansionBuilder &builder = loop.builder;
  auto vectors = tile::VectorsAlongAttr::get(builder.getContext(),
                                             view == k ? tile::VectorsAlong::Columns : tile::VectorsAlong::Rows);
  Value ofPool[] = {builder.constant(int64_t(0)), indices.back()};
  return tile::RingOp::create(builder, type, view, ofPool, builder.getI64IntegerAttr(pageRows), rows,
                              /*continued=*/Value(), /*alternate=*/Value(),
                              inVectors ? vectors : tile::VectorsAlongAttr(), far, StringAttr(), IntegerAttr(),
                              IntegerAttr(), /*apart=*/IntegerAttr(), tile::LdsLayoutAttr());
}

/// The number of tile `t` in the sequence.
Value PagedKeys::number(Value t) const {
  return firstTile ? Value(arith::AddIOp::create(loop.builder, firstTile, t)) : t;
}

/// The number, in the views, of the tile that is visited `distance` after tile `t`.
Value PagedKeys::behind(const TileVisit &visit, Value t, int64_t distance) const {
  Value later = arith::AddIOp::create(loop.builder, t, loop.builder.constant(distance));
  return visit.number(loop.builder, later);
}

/// Where tile `t` of the views is.
Value PagedKeys::lookUp(Value t) const {
  Type pages = tile::PagesType::get(loop.builder.getContext(), loop.shape.kvTile);
  return tile::LookUpOp::create(loop.builder, pages, table, keys, number(t));
}

/// Where its rows lie, of which `pages` were looked up.
Value PagedKeys::locate(Value ring, Value pages, Value t) const {
  auto type = cast<tile::RingType>(ring.getType());
  Type places =
      tile::PlacesType::get(loop.builder.getContext(), type.getShape(), type.getElementType(), loop.shape.waves);
  return tile::LocateOp::create(loop.builder, places, pages, ring, number(t));
}

SmallVector<Value> PagedKeys::first(const TileVisit &visit) {
  auto numberOf = [&](int64_t t) { return visit.number(loop.builder, loop.builder.constant(t)); };
  SmallVector<Value> ahead;
  for (int64_t t = 0; t != kAhead + (locates ? kLocated : 0); ++t)
    ahead.push_back(lookUp(numberOf(t)));
  if (!locates)
    return ahead;
  SmallVector<Value> located;
  for (Value ring : {keys, values})
    located.push_back(locate(ring, ahead.front(), numberOf(0)));
  llvm::append_range(located, ArrayRef(ahead).drop_front());
  return located;
}

SmallVector<Value> PagedKeys::fetchSteps(const TileVisit &visit, Value t, ValueRange ahead) {
  if (locates)
    return fetchLocated(visit, t, ahead);
  auto ofTile = [&] { return number(visit.number(loop.builder, t)); };
  // Numbers of pages stand before the tile: what waits for them does not wait for it.
  auto before = [&] {
    SmallVector<Value> next = llvm::to_vector(ahead.drop_front());
    next.push_back(lookUp(behind(visit, t, kAhead)));
    return next;
  };
  FetchAhead fetch;
  fetch.number = ofTile, fetch.pages = ahead.front(), fetch.before = before;
  return hocket::fetchSteps(loop.builder, loop.arch, loop.shape.waves, {{"k", {keys}}, {"v", {values}}}, t, fetch);
}

/// The same where places are found a tile ahead: `ahead` has those of tile `t`, for K and for V, and the pages of the
/// tiles behind it. Nothing stands in front of what asks for the tile.
SmallVector<Value> PagedKeys::fetchLocated(const TileVisit &visit, Value t, ValueRange ahead) {
  ValueRange next = ahead.drop_front(2);
  auto fetch = [&](Value ring, Value places) -> Value {
    tile::FetchOp::create(loop.builder, ring, t, Value(), places, Value());
    return locate(ring, next.front(), behind(visit, t, kLocated));
  };
  SmallVector<Value> ofKeys = llvm::to_vector(loop.builder.step("fetch_k", [&] {
    SmallVector<Value> made = {fetch(keys, ahead[0])};
    llvm::append_range(made, next.drop_front());
    made.push_back(lookUp(behind(visit, t, kLocated + kAhead)));
    return made;
  }));
  Value ofValues = loop.builder.step("fetch_v", [&] { return SmallVector<Value>{fetch(values, ahead[1])}; }).front();
  ofKeys.insert(ofKeys.begin() + 1, ofValues);
  return ofKeys;
}

/// Vectors have keys behind the last one, whose weights are zero and whose values may be anything.
Value PagedKeys::readValues(const TileVisit &visit, Value t, Value keyCount) {
  Value read = KeySource::readValues(visit, t, keyCount);
  if (!inVectors)
    return read;
  return tile::MaskDepthOp::create(loop.builder, read, loop.waveTile(visit.number(loop.builder, t)), keyCount);
}

std::unique_ptr<KeySource> hocket::createPagedKeys(attn::ForwardOp op, const LoopContext &loop,
                                                   SequenceViews &sequences) {
  return std::make_unique<PagedKeys>(op, loop, sequences);
}
