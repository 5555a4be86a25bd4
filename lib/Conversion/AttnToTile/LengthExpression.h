// A number that a modification takes and that follows from a sequence's lengths: `seq_kv - seq_q`.
//
// Where all sequences are alike the host computes it for the manifest. Where each has lengths of its
// own the kernel does, from the same text: what is no length is still an argument.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"

#include "hocket/Manifest/Expression.h"

namespace hocket {

class LengthExpression {
public:
  /// Whether `text` names a length of the sequence.
  static bool isNeededFor(llvm::StringRef text);
  /// Sums, differences, minima and maxima of lengths, numbers and variables; an error otherwise.
  static Result<LengthExpression> parse(llvm::StringRef text);

  /// Asks for the variables that are no lengths, and that the result be at most `most` in size.
  void addArguments(KernelFrame &frame, int64_t most) const;
  void bindArguments(const KernelFrame &frame);
  /// The number (i32) for a sequence of these lengths.
  mlir::Value emit(ExpansionBuilder &builder, mlir::Value seqQ, mlir::Value seqKv) const;

private:
  explicit LengthExpression(manifest::Expression expression) : expression(std::move(expression)) {}
  mlir::Value emitNode(ExpansionBuilder &builder, const manifest::Expression::Node &node,
                       mlir::Value seqQ, mlir::Value seqKv) const;

  manifest::Expression expression;
  llvm::StringMap<mlir::Value> arguments;
};

} // namespace hocket
