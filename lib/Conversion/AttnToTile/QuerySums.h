// dQ as it is added up in memory, and the kernel that makes dQ of it.
//
// Many workgroups add to the same queries. So that an atomic instruction of a wave adds to 256 bytes in a row, sums lie
// as accumulators do in registers: blocks of 32 queries and 32 columns, 1024 numbers each, number 64 r + l of a block
// that of register r of lane l; packed ones, pairs of 16 bits, likewise. Of a head the blocks of the first 32 queries
// come first, one for each 32 columns, of which there are as many as waves share evenly: behind the head's are zeros.
// Of packed sequences each begins at a multiple of 128 queries. Nobody but the kernel that adds and the one that converts
// knows more of it.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

#include "Attn/IR/Attn.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

class QuerySums {
public:
  explicit QuerySums(attn::BackwardOp op);

  static constexpr llvm::StringLiteral kName = "dq_sums";

  /// The sums, behind the row statistics, and the workspace of both.
  void addTo(KernelFrame &frame) const;
  /// As rows of a head, which nothing but zeros can be written to.
  void addRowsTo(KernelFrame &frame) const;
  /// Queries that sums are kept of, for one that is `rows`: what a workgroup that writes zeros may have.
  static constexpr int64_t kQueries = 128;

  /// Columns that sums are kept of.
  static int64_t columnsOf(attn::BackwardOp op);
  /// The sums of all heads of a sequence, whose rows are those of `rows` (a tensor of the sequence); of packed queries
  /// the one that begins with `firstQuery` (null: dense).
  mlir::Value ofSequence(ExpansionBuilder &builder, const KernelFrame &frame, mlir::Value batch, mlir::Value rows,
                         mlir::Value firstQuery, bool asRows = false) const;
  /// Those of one head: a view of blocks.
  mlir::Value ofHead(ExpansionBuilder &builder, const KernelFrame &frame, mlir::Value batch, mlir::Value head,
                     mlir::Value rows, mlir::Value firstQuery) const;

  mlir::Type elementType() const { return element; }
  bool isPacked() const { return packed; }
  /// Blocks of 32 columns.
  int64_t blocks() const { return depth / 32; }
  /// `count` blocks as they lie in a lane's registers, and as what a wave makes them of: accumulators of 32 queries,
  /// packed ones an operand.
  tile::FragType image(int64_t count) const;
  tile::FragType held(int64_t count) const;
  /// The same in f32.
  tile::FragType wideImage(int64_t count) const;
  tile::FragType accumulators(int64_t count) const;

private:
  /// The sums as `pieces` (an expression) of `numbers` each for a head, and their workspace.
  void addPieces(KernelFrame &frame, llvm::StringRef pieces, int64_t numbers) const;
  llvm::StringRef text(const llvm::Twine &expression) const;

  mlir::MLIRContext *context;
  int64_t depth;
  bool packed, packedQueries;
  mlir::Type element;
  llvm::StringRef rowsOfHead, address, bytes;
};

/// The kernel of the part `convert`.
tile::KernelOp buildQueryConversion(attn::BackwardOp op, const ArchInfo &arch);

} // namespace hocket
