// K and V in pages.
#include "PagedKeys.h"

using namespace mlir;
using namespace hocket;

/// Rows of all pages of a head are reached by 32-bit offsets, beyond which one means none.
static constexpr int64_t kMostPoolBytes = int64_t(1) << 31, kMostRows = int64_t(1) << 30;
/// And so are a table's entries, of 4 bytes.
static constexpr int64_t kMostEntries = int64_t(1) << 28;

Tensor PagedKeys::tensor(StringRef name) {
  if (name == "k")
    return {name, {"k_stride_b", "k_stride_s", "k_stride_h"}, {"num_pages", "page_size", "kv_heads"}};
  return {name, {"v_stride_b", "v_stride_s", "v_stride_h"}, {"num_pages", "page_size", "kv_heads"}};
}

void PagedKeys::addArguments(KernelFrame &frame) const {
  if (!isThere())
    return;
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
  for (StringRef name : {"k", "v"}) {
    if (far)
      frame.require("max(" + name + "_stride_b, page_size * " + name + "_stride_s) * element_bytes < " +
                        Twine(kMostPoolBytes),
                    "a page of '" + name + "' must lie within 2 GiB, and the next one's begin; use smaller pages");
    else
      frame.require(name + "_bytes < " + Twine(kMostPoolBytes),
                    "the pages of '" + name + "' must lie within 2 GiB; use fewer or smaller pages, or far_pages");
  }
}

void PagedKeys::enter(ExpansionBuilder &builder, const KernelFrame &frame, Value batch, Value used) {
  Type i32 = builder.getI32Type();
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value perPage = builder.constant(pageRows);
  Type list = tile::ViewType::get(builder.getContext(), {ShapedType::kDynamic}, i32);
  auto load = [&](StringRef name, Value index) -> Value {
    return tile::LoadOp::create(builder, i32, frame.argument(name), ValueRange(index), IntegerAttr());
  };
  Value rows;
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
  if (used)
    rows = arith::MinSIOp::create(builder, rows, used);
  keys = arith::MaxSIOp::create(builder, rows, zero);
}

void PagedKeys::moveTo(ExpansionBuilder &builder, Value first, int64_t kvTile, Value size) {
  firstTile = firstTile ? Value(arith::AddIOp::create(builder, firstTile, first)) : first;
  Value firstKey = arith::MulIOp::create(builder, firstTile, builder.constant(kvTile));
  keys = arith::MinSIOp::create(builder, keys, arith::AddIOp::create(builder, firstKey, size));
}

Value PagedKeys::left(ExpansionBuilder &builder, int64_t kvTile) const {
  Value firstKey = arith::MulIOp::create(builder, firstTile, builder.constant(kvTile));
  Value left = arith::SubIOp::create(builder, keys, firstKey);
  return arith::MaxSIOp::create(builder, left, builder.constant(int64_t(0)));
}

Value PagedKeys::ring(ExpansionBuilder &builder, Type type, Value view, Value kvHead, bool ofKeys) const {
  auto vectors = tile::VectorsAlongAttr::get(builder.getContext(),
                                             ofKeys ? tile::VectorsAlong::Columns : tile::VectorsAlong::Rows);
  Value indices[] = {builder.constant(int64_t(0)), kvHead};
  return tile::RingOp::create(builder, type, view, indices, builder.getI64IntegerAttr(pageRows),
                              keys, /*continued=*/Value(), /*alternate=*/Value(),
                              inVectors ? vectors : tile::VectorsAlongAttr(), far, StringAttr(), IntegerAttr(),
                              IntegerAttr(), /*apart=*/IntegerAttr(), tile::LdsLayoutAttr());
}

Value PagedKeys::number(ExpansionBuilder &builder, Value t) const {
  return firstTile ? Value(arith::AddIOp::create(builder, firstTile, t)) : t;
}

Value PagedKeys::lookUp(ExpansionBuilder &builder, Value ring, Value t) const {
  return tile::LookUpOp::create(builder,
                                tile::PagesType::get(builder.getContext(),
                                                     cast<tile::RingType>(ring.getType()).getShape()[0]),
                                table, ring, number(builder, t));
}

Value PagedKeys::locate(ExpansionBuilder &builder, Value ring, Value pages, Value t, int64_t waves) const {
  auto type = cast<tile::RingType>(ring.getType());
  Type places = tile::PlacesType::get(builder.getContext(), type.getShape(), type.getElementType(), waves);
  return tile::LocateOp::create(builder, places, pages, ring, number(builder, t));
}
