// Passes within the attn dialect.
#ifndef HOCKET_ATTN_PASSES_TD
#define HOCKET_ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def DeriveScoreModsPass : Pass<"attn-derive-score-mods", "::mlir::ModuleOp"> {
  let summary = "Derive every modification of scores by the score";
  let description = [{
    *What.* Beside each `attn.score_mod @f` puts `@f_derivative`, a `score_mod` of the same arguments that yields the
    derivative of what `@f` yields by the score, in reverse mode: from what is yielded back through each op to its
    operands. Sides of an `scf.if` are derived each for itself, so that the one that is not taken has no say. The
    backward's expansion (`convert-attn-to-tile`) derives the modifications that it meets in the same way.

    *Requires.* Ops through which the score passes have a derivative; one that has none is an error by name.
    Roundings (`math.floor`, conversions to integers) have the derivative zero, `maximumf` of equal numbers that
    of the first one, `absf` of zero zero.

    *Guarantees.* What is there stays as it is. A derivative that is the same everywhere is a constant.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif // HOCKET_ATTN_PASSES_TD
