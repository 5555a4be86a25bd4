// Operations on values, whatever a kernel computes: element by element, and reductions. Included by
// TileOps.td.
#ifndef HOCKET_TILE_VALUE_OPS_TD
#define HOCKET_TILE_VALUE_OPS_TD

def Tile_Vector : AnyTypeOf<[Tile_Rows, Tile_Columns], "row or column values">;
def Tile_Scalar : AnyTypeOf<[F32, I32, BF16, F16, I<8>], "number">;
def Tile_Mappable : AnyTypeOf<[Tile_Frag, Tile_Rows, Tile_Columns, Tile_Scalar],
    "a fragment, row values, column values or a number (f32, i32, bf16, f16, i8)">;

def Tile_MapOp : Tile_Op<"map", [
    Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a function of numbers applied to each element of fragments, rows, columns, numbers";
  let description = [{
    The region says what happens to one element; its arguments are the elements of the inputs. All
    results have the same places: they are fragments of one shape and layout, or row values, or column
    values, or numbers. Inputs have those places too or are broadcast: row values along the
    columns, column values along the rows, numbers everywhere, as their types say. Element types may
    differ, so that conversions are maps as well.

    `at` adds two arguments (i32), the memory row and column of the element; with `= %origin` they
    count from there, else from the fragment's first. Row values have only a row that means something, column
    values only a column; the other counts as 0. The part that depends on the lane is computed once.

    What may stand in the region, and how exact it is, is in [Values.md](../Values.md). It is computed as written: no operation is
    reassociated or fused, each result is rounded to its type, and nothing that a region may contain
    is undefined for any input.

    ```mlir
    tile.kernel @bias_and_relu(%bias: !tile.columns<64xf32, acc>) target("gfx950") waves(1) {
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Mappable>:$inputs, Optional<I32>:$row_origin,
      Optional<I32>:$column_origin, UnitAttr:$coordinates);
  let results = (outs Variadic<Tile_Mappable>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The region's arguments for elements of the inputs.
    ::mlir::Block::BlockArgListType getElements() {
      return getBody().getArguments().take_front(getInputs().size());
    }
    /// The region's arguments for the element's row and column; only with `coordinates`.
    ::mlir::BlockArgument getRowArgument() { return getBody().getArgument(getInputs().size()); }
    ::mlir::BlockArgument getColumnArgument() {
      return getBody().getArgument(getInputs().size() + 1);
    }
    /// What the region computes, one value for each result.
    ::mlir::ValueRange getYielded();
  }];
}

def Tile_Reduction : I32EnumAttr<"Reduction", "how numbers become one", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Any", 3, "any">,
    I32EnumAttrCase<"All", 4, "all">]> {
  let cppNamespace = "::hocket::tile";
}

def Tile_Dimension : I32EnumAttr<"Dimension", "along what", [
    I32EnumAttrCase<"Rows", 0, "rows">,
    I32EnumAttrCase<"Columns", 1, "columns">]> {
  let cppNamespace = "::hocket::tile";
}

def Tile_ReduceOp : Tile_Op<"reduce", [NamedResults, Pure]> {
  let summary = "one number for each row, or for each column, of a fragment";
  let description = [{
    Over the columns of a fragment there is one number for each row, over the rows one for each
    column; over rows of row values (columns of column values) one number. Rows and columns are
    those of memory. The result is complete, in every lane that holds the row (column).

    `sum` of floating-point numbers is of f32, whatever the elements; `max` and `min` are NaN if an
    element is; `any` and `all` are of integers, of which 0 is false, and give 1 or 0. In which order is
    summed depends on the type alone: in each lane the pieces of the fragment in their order, then halves of a piece, then lanes
    1, 2, 4, ... apart. The result has the source's element type, or f32 where that is narrower.

    This wave's part of a tile is reduced, and no other's. `tile.row_max` and `tile.row_sum` are
    the first half of it, for loops that keep a partial value in each lane and combine lanes
    (`tile.unify`) once, at the end.

    ```mlir
    %greatest = tile.reduce max %x over columns : <32x128xf32, lines> -> !tile.rows<32xf32, lines(4x32)>
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, AnyTypeOf<[Tile_Frag, Tile_Rows, Tile_Columns]>:$source,
      Tile_Dimension:$over);
  let results = (outs Tile_Mappable:$result);
  let assemblyFormat = "$kind $source `over` $over attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

#endif // HOCKET_TILE_VALUE_OPS_TD
