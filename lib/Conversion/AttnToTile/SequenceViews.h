// Where the rows of a workgroup's sequence lie, for expansions: geometry is this file's and
// WorkPartition's business, and nothing else of an expansion knows it.
//
// Dense tensors have a sequence for each index of the batch. Packed ones have the sequences one behind
// the other, and a list in device memory says where each begins; lengths of their own are a list, too.
// Views of the whole become views of the sequence at the kernel's entry: another pointer, another extent.
// Whatever counts rows or keys from there on (bounds, masks, LSE) asks the views.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

#include "Attn/IR/Attn.h"

namespace hocket {

class SequenceViews {
public:
  explicit SequenceViews(attn::ForwardOp op)
      : packedQueries(op.getPackedQueries()), packedKeys(op.getPackedKeys()),
        queryLengths(op.getQueryLengths()), keyLengths(op.getKeyLengths()), appendedKeys(op.getAppendedKeys()),
        inPages(op.getPageSize().has_value()) {}
  /// Of rows that are put together there are queries alone.
  explicit SequenceViews(attn::CombineOp op)
      : packedQueries(op.getPackedQueries()), packedKeys(false), queryLengths(op.getQueryLengths()), keyLengths(false),
        appendedKeys(false) {}
  explicit SequenceViews(attn::BackwardOp op)
      : packedQueries(op.getPackedQueries()), packedKeys(op.getPackedKeys()),
        queryLengths(op.getQueryLengths()), keyLengths(op.getKeyLengths()), appendedKeys(false) {}

  /// Whether lengths differ from sequence to sequence, so that they are known in the kernel only.
  bool hasOwnLengths() const {
    return packedQueries || packedKeys || queryLengths || keyLengths || inPages;
  }

  /// Q, K, V and O, or a gradient of one of them, with where it lies in the problem; `name` is one of these.
  Tensor tensor(const KernelFrame &frame, llvm::StringRef name) const;
  Tensor lse(llvm::StringRef name = "lse") const;
  /// Two numbers for each row of queries, f32 (batch, heads, 2, seq_q), in the workspace, and its bytes.
  Tensor rowPairs(llvm::StringRef name) const;
  llvm::StringRef bytesOfRowPairs() const;
  /// The lists, and what the grid needs; `ofKeys`: its rows are keys.
  void addArguments(KernelFrame &frame, bool ofKeys = false) const;
  /// Strides that accesses of 16 bytes to tensor `name` ask for.
  void requireWideStrides(KernelFrame &frame, llvm::StringRef name, mlir::Type element) const;

  /// The first row of the sequence in packed queries; null: they are dense, or `enter` was not called.
  mlir::Value firstQuery() const { return packedQueries ? queries.first : mlir::Value(); }
  /// How many rows the grid counts for a sequence; null: those of Q, or of K.
  mlir::Value rowCount(const KernelFrame &frame) const {
    return packedQueries ? frame.argument("seq_q") : mlir::Value();
  }
  mlir::Value keyRowCount(const KernelFrame &frame) const {
    return packedKeys ? frame.argument("seq_kv") : mlir::Value();
  }
  /// Reads where sequence `batch` lies. The views of the frame's tensors are of it from here on.
  void enter(ExpansionBuilder &builder, const KernelFrame &frame, mlir::Value batch);
  mlir::Value ofQueries(ExpansionBuilder &builder, mlir::Value view,
                        std::optional<int64_t> along = std::nullopt) const {
    return queries.of(builder, view, along);
  }
  /// Of a view in which each sequence has a place of its own, and its queries come first, these.
  mlir::Value firstQueries(ExpansionBuilder &builder, mlir::Value view,
                           std::optional<int64_t> along = std::nullopt) const {
    return queries.size ? Rows{builder.constant(int64_t(0)), queries.size}.of(builder, view, along) : view;
  }
  mlir::Value ofKeys(ExpansionBuilder &builder, mlir::Value view, std::optional<int64_t> along = std::nullopt) const {
    return keys.of(builder, view, along);
  }
  /// How many keys of its own the sequence uses; null: all of its rows.
  mlir::Value usedKeys() const { return keys.size; }

  /// Whether tensor `name` has rows of keys.
  static bool isOfKeys(llvm::StringRef name) { return name.ends_with("k") || name.ends_with("v"); }

private:
  /// Rows of a tensor; those of all of it where `size` is null.
  struct Rows {
    mlir::Value first, size;
    mlir::Value of(ExpansionBuilder &builder, mlir::Value view, std::optional<int64_t> along) const;
  };
  /// `more` rows than `lengths` say, where it is not null.
  static Rows read(ExpansionBuilder &builder, mlir::Value starts, mlir::Value lengths,
                   mlir::Value batch, mlir::Value most, mlir::Value more);

  mlir::Value newKeys(const KernelFrame &frame) const;

  bool packedQueries, packedKeys, queryLengths, keyLengths, appendedKeys, inPages = false;
  Rows queries, keys;
};

} // namespace hocket
