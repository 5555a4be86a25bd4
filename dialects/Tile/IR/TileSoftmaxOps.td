// Operations of the softmax: maxima and sums of rows, the reference, weights, what is left at the end. Part of TileOps.td,
// which includes it.
#ifndef HOCKET_TILE_SOFTMAX_OPS_TD
#define HOCKET_TILE_SOFTMAX_OPS_TD

def Tile_RowMaxOp : Tile_Op<"row_max", [NamedResults, Pure]> {
  let summary = "each lane's maximum over the keys it holds of its query; a partial value";
  let description = [{
    With `chained` block after block, in the order in which a product makes them, so that the first ones do not wait for
    the last; else of all blocks at once.
  }];
  let arguments = (ins Tile_MatrixFrag:$source, UnitAttr:$chained);
  let results = (outs Tile_LaneRows:$result);
  let assemblyFormat = "$source (`chained` $chained^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RowSumOp : Tile_Op<"row_sum", [NamedResults, Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "init plus each lane's sum over the keys it holds of its query; a partial value";
  let description = [{
    Over an `acc` fragment one f32 addition for each element. Over a packed one a dot product with
    ones for each pair: half the instructions, but what is summed is rounded to 16 bits. Elements of 4 bits are summed on
    the matrix unit, each 32 keys times their power of two in `scales`.
  }];
  let arguments = (ins Tile_FloatFrag:$source, Tile_LaneRows:$init, Optional<Tile_ScaleFrag>:$scales);
  let results = (outs Tile_LaneRows:$result);
  let assemblyFormat = [{
    $source `,` $init (`scales` `(` $scales^ `)`)? attr-dict `:` type($source) `,` type($init) (`,` type($scales)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$init), [{
    build($_builder, $_state, init.getType(), source, init, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Tile_SettleOp : Tile_Op<"settle", [
    Pure, AllTypesMatch<["max", "reference", "bound", "new_reference", "new_bound", "factor"]>]> {
  let summary = "keeps the reference point of the online softmax, lazily";
  let description = [{
    `reference` is what is subtracted from a row's scaled scores (log2 units) before `exp2`; 0
    while the row has seen no visible key. `bound` is the raw score beyond which the
    reference must move: -inf while the row has seen nothing, else `threshold` above the reference.

    If no lane of the wave has `max > bound`, nothing changes and `moved` is false. Otherwise every
    row with a score beyond its bound moves its reference by `ceil(max * scale - reference)`, and
    `factor` is the power of two by which what was summed against the old reference shrinks (1 for
    rows that stay). Powers of two make the rescaling exact, so that its place in a schedule cannot
    change the result. A row's first reference is `max * scale` itself, or `raised` below it, so that the row's largest
    weight is 2^`raised`: where weights are rounded to few bits of exponent, more of the small ones are left.
  }];
  let arguments = (ins Tile_LaneRows:$max, Tile_LaneRows:$reference, Tile_LaneRows:$bound, F32:$scale,
      F32Attr:$threshold, DefaultValuedAttr<F32Attr, "0.0f">:$raised);
  let results = (outs Tile_LaneRows:$new_reference, Tile_LaneRows:$new_bound, Tile_LaneRows:$factor, I1:$moved);
  let assemblyFormat = [{
    $max `,` $reference `,` $bound `scale` `(` $scale `)` `threshold` `(` $threshold `)`
    (`raised` `(` $raised^ `)`)? attr-dict `:` type($max)
  }];
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_Op<"rescale", [NamedResults, Pure,
    TypesMatchWith<"values and results have the same types", "values", "results", "$_self">]> {
  let summary = "values times a row factor, skipped where no row of the wave moved";
  let arguments = (ins Variadic<Tile_MatrixFragOrRows>:$values, Tile_LaneRows:$factor, I1:$moved);
  let results = (outs Variadic<Tile_MatrixFragOrRows>:$results);
  let assemblyFormat = [{
    $values `by` $factor `when` $moved attr-dict `:` type($values) `by` type($factor)
  }];
  let hasVerifier = 1;
}

def Tile_ExponentsOp : Tile_Op<"exponents", [NamedResults, Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "scores * scale - reference, in f32: what `exp2` is taken of";
  let description = [{
    Two elements in an instruction (`v_pk_fma_f32`). Such instructions do not issue beneath the wave's own products, so
    they belong where the wave has none: apart from `exp2`, which does.
  }];
  let arguments = (ins Tile_MatrixFrag:$scores, F32:$scale, Tile_LaneRows:$reference);
  let results = (outs Tile_MatrixFrag:$result);
  let assemblyFormat = [{
    $scores `scale` `(` $scale `)` `minus` `(` $reference `)` attr-dict `:` type($scores) `,` type($reference)
  }];
  let hasVerifier = 1;
}

def Tile_BlockExponentsOp : Tile_Op<"block_exponents", [NamedResults, Pure, AllTypesMatch<["scores", "exponents"]>]> {
  let summary = "what `exp2` is taken of, each 32 keys of a query relative to a power of two of their own";
  let description = [{
    Weights of few bits have their largest in reach of the type only where each block of them has a scale. Of 32 keys of a
    query, the power is the least by which none of their weights exceeds `largest`: element = scores * scale - reference -
    power. `word` has a query's powers as E8M0, the first keys' in the lowest byte, for `tile.block_scales`; what is below
    2^-127 counts as that.

    With `line` an element x is written as (x + 127 - 0.065) 128 / 65535, the share of 65535 that the upper half of an f32 of
    about 2^x has as an integer: what `tile.pack line` takes.

    ```mlir
    %exponents, %word = tile.block_exponents %scores scale(%scale) minus(%reference) largest(6.0) : <128x32xf32, acc>,
        !tile.rows<32xf32> -> !tile.rows<32xi32>
    ```
  }];
  let arguments = (ins Tile_MatrixFrag:$scores, F32:$scale, Tile_LaneRows:$reference, F32Attr:$largest, UnitAttr:$line);
  let results = (outs Tile_MatrixFrag:$exponents, Tile_Rows:$word);
  let assemblyFormat = [{
    $scores `scale` `(` $scale `)` `minus` `(` $reference `)` `largest` `(` $largest `)` (`line` $line^)? attr-dict
    `:` type($scores) `,` type($reference) `->` type($word)
  }];
  let hasVerifier = 1;
}

def Tile_Exp2Op : Tile_Op<"exp2", [NamedResults, Pure, AttrSizedOperandSegments,
    AllTypesMatch<["scores", "result"]>]> {
  let summary = "exp2(scores * scale - reference) or exp2(scores), in f32";
  let description = [{
    The hardware's exp2 for each element, after one fused multiply-add if there is a scale. With `polynomials(n)` one
    of each n pairs of a lane's elements is computed without it, most of it two in an instruction: 2^x is the number
    whose bits are (x + 127) 2^23, a line between powers of two, times a polynomial of degree 3 in its mantissa, off by
    at most 6.7e-4 of the result. What is below 2^-126 becomes smaller than that, a NaN becomes 0, and results must
    stay below 2^127.
  }];
  let arguments = (ins Tile_MatrixFrag:$scores, Optional<F32>:$scale, Optional<Tile_LaneRows>:$reference,
      OptionalAttr<I64Attr>:$polynomials);
  let results = (outs Tile_MatrixFrag:$result);
  let assemblyFormat = [{
    $scores (`scale` `(` $scale^ `)` `minus` `(` $reference `)`)? (`polynomials` `(` $polynomials^ `)`)? attr-dict
    `:` type($scores) (`,` type($reference)^)?
  }];
  let hasVerifier = 1;
}

def Tile_PackOp : Tile_Op<"pack", [NamedResults, Pure]> {
  let summary = "an accumulator rounded to 16, 8 or 4 bits: the right operand of the next product, as it lies";
  let description = [{
    To the nearest, of two the even one. Floats of 8 and 4 bits saturate: what is larger than the largest becomes it. Of 4
    bits, each half of a wave has 32 keys of its own: the halves exchange what they have.

    With `line`, of 4 bits alone, what is rounded is 2 to the power of what `tile.block_exponents line` wrote, without the
    hardware's exp2: between powers of two it is a line, so that what is up to 1.5 % (near 0.25: 4.6 %) beyond the middle of
    two numbers may become the other.
  }];
  let arguments = (ins Tile_MatrixFrag:$source, UnitAttr:$line);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = "$source (`line` $line^)? attr-dict `:` type($source) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source), [{
    build($_builder, $_state, result, source, /*line=*/false);
  }]>];
  let hasVerifier = 1;
}

def Tile_UnifyOp : Tile_Op<"unify", [NamedResults, Pure, SameOperandsAndResultType]> {
  let summary = "adds up a partial value over the lanes that hold the same row";
  let arguments = (ins Tile_LaneRows:$source);
  let results = (outs Tile_LaneRows:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def Tile_NormalizeOp : Tile_Op<"normalize", [NamedResults, Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "each column divided by its row sum; zero where the sum is zero";
  let arguments = (ins Tile_MatrixFrag:$source, Tile_LaneRows:$sum);
  let results = (outs Tile_MatrixFrag:$result);
  let assemblyFormat = "$source `by` $sum attr-dict `:` type($source) `,` type($sum)";
  let hasVerifier = 1;
}

def Tile_LogSumOp : Tile_Op<"log_sum", [NamedResults, Pure, AllTypesMatch<["sum", "reference", "result"]>]> {
  let summary = "the natural log-sum-exp of a row: (reference + log2(sum)) * ln 2, -inf for sum 0";
  let arguments = (ins Tile_LaneRows:$sum, Tile_LaneRows:$reference);
  let results = (outs Tile_LaneRows:$result);
  let assemblyFormat = "$sum `reference` `(` $reference `)` attr-dict `:` type($sum)";
}

#endif
