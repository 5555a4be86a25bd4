// Operations on values, whatever a kernel computes: element by element, and reductions. Included by
// TileOps.td.
#ifndef HOCKET_TILE_VALUE_OPS_TD
#define HOCKET_TILE_VALUE_OPS_TD

def Tile_MapOp : Tile_Op<"map", [
    Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a function of numbers applied to each element of fragments, rows, columns, numbers";
  let description = [{
    The region says what happens to one element; its arguments are the elements of the inputs. All
    results have the same places: they are fragments of one shape and layout, or row values, or
    column values, or numbers. Inputs have those places too or are broadcast, as their types say: row
    values along the columns, column values along the rows, numbers everywhere. Element types may
    differ, so that conversions are maps as well.

    `at` adds two arguments (i32), the memory row and column of the element; with `= %origin` they
    count from there, else from the fragment's first. Row values have only a row, column values only
    a column; the other is 0. What depends on the lane is computed once.

    `when(%condition)` leaves everything as it is where the number, the same for the whole wave, is 0: each
    result is then the input of the same number, whose type it has. It is a branch: what is not needed
    costs nothing. `rarely` behind it says that the number hardly ever is another: code then passes by without a jump.

    docs/Values.md says what may stand in the region, and how exact it is. It is computed as written:
    nothing is reassociated or fused, each result is rounded to its type, and no op that a region may
    contain is undefined for any input.

    ```mlir
    tile.kernel @bias_and_relu(%slope: f32) target("gfx950") waves(1) {
      %x = tile.fill 1.0 : !tile.frag<64x32xf32, acc>
      %bias = tile.fill 0.5 : !tile.columns<64xbf16, acc>
      %y = tile.map(%e = %x : !tile.frag<64x32xf32, acc>, %b = %bias : !tile.columns<64xbf16, acc>, %s = %slope : f32)
          -> !tile.frag<64x32xbf16, acc> {
        %wide = arith.extf %b : bf16 to f32
        %sum = arith.addf %e, %wide : f32
        %zero = arith.constant 0.0 : f32
        %positive = arith.cmpf ogt, %sum, %zero : f32
        %leak = arith.mulf %sum, %s : f32
        %relu = arith.select %positive, %sum, %leak : f32
        %rounded = arith.truncf %relu : f32 to bf16
        tile.yield %rounded : bf16
      }
      %diagonal = tile.map() at(%row, %column) -> !tile.frag<32x32xi32, acc> {
        %same = arith.cmpi eq, %row, %column : i32
        %one = arith.extui %same : i1 to i32
        tile.yield %one : i32
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Mappable>:$inputs, Optional<I32>:$row_origin,
      Optional<I32>:$column_origin, Optional<I1>:$condition, UnitAttr:$coordinates, UnitAttr:$rarely);
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
    those of memory. The result is complete, in every lane that holds the row (column). It has the
    source's element type, or is wider: f32 or i32.

    `sum` of floating-point numbers is a sum in f32, whatever the elements; `max` and `min` are NaN
    if an element is; `any` and `all` are of integers, of which 0 is false, and give 1 or 0. In which
    order numbers are summed depends on the type alone (docs/Values.md).

    This wave's fragment is reduced, and no other's: `tile.reduce_waves` combines waves. `tile.row_max`
    and `tile.row_sum` are the first half of it, for loops that keep a partial value in each lane and
    combine lanes (`tile.unify`) once, at the end.

    ```mlir
    tile.kernel @greatest() target("gfx950") waves(1) {
      %x = tile.fill 1.0 : !tile.frag<32x128xf32, lines>
      %of_rows = tile.reduce max %x over columns : !tile.frag<32x128xf32, lines> -> !tile.rows<32xf32, lines(4x32)>
      %of_all = tile.reduce max %of_rows over rows : !tile.rows<32xf32, lines(4x32)> -> f32
    }
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns]>:$source,
      Tile_Dimension:$over);
  let results = (outs Tile_Mappable:$result);
  let assemblyFormat = "$kind $source `over` $over attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RunningSumOp : Tile_Op<"running_sum", [NamedResults, Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "row values summed up to each row";
  let description = [{
    Row r of the result is the sum of rows 0 to r of the source: 64 rows of i32, of which lane r holds row r, as
    `lines(4x1)` has it. What does not fit in 32 bits is lost.

    ```mlir
    tile.kernel @counted() target("gfx950") waves(1) {
      %one = arith.constant 1 : i32
      %counts = tile.map(%i = %one : i32) -> !tile.rows<64xi32, lines(4x1)> {
        tile.yield %i : i32
      }
      %numbers = tile.running_sum %counts : !tile.rows<64xi32, lines(4x1)>
    }
    ```
  }];
  let arguments = (ins Tile_Rows:$source);
  let results = (outs Tile_Rows:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_ReduceWavesOp : Tile_Op<"reduce_waves", [
    NamedResults, MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["source", "result"]>,
    Tile_LdsScratchOpInterface]> {
  let summary = "fragments, row values, column values or numbers combined over waves that share a tile";
  let description = [{
    Each number becomes that of all waves of the workgroup, or `along` a side of a grid of waves (a
    result of `tile.wave_grid`) that of the waves that differ in their place along it. All of them
    get the same result, combined in the order of their numbers. Numbers are f32 or i32; what they
    are combined by is as in `tile.reduce`.

    They pass through LDS, of fragments a few registers at a time, and all waves of the workgroup meet: the op may stand in `scf.for` and
    `scf.if` only if bounds and conditions cannot differ between waves, and not in a loop over tiles,
    whose barriers are its schedule's. Where in LDS is for `tile-allocate-lds` to find, or written `at(N)`.

    ```mlir
    tile.kernel @across_waves() target("gfx950") waves(8) {
      %i, %j = tile.wave_grid rows(2) columns(4)
      %zero = tile.fill 0.0 : !tile.rows<64xf32>
      %row_sums = tile.reduce_waves sum %zero along(%j) : !tile.rows<64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Reduction:$kind, AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns, F32, I32]>:$source,
      Optional<I32>:$along, OptionalAttr<I64Attr>:$lds_offset);
  let results = (outs AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns, F32, I32]>:$result);
  let assemblyFormat = [{
    $kind $source (`along` `(` $along^ `)`)? (`at` `(` $lds_offset^ `)`)? attr-dict `:` type($source)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Registers of a lane that pass at a time.
    int64_t getNumbersAtOnce();
    int64_t getScratchBytes();
  }];
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [NamedResults, Pure, Tile_LdsScratchOpInterface]> {
  let summary = "the same numbers in other registers and lanes";
  let description = [{
    A fragment becomes one of another layout with the same memory rows and columns, row values and
    column values become those of fragments in another layout; element types stay. So an accumulator
    becomes an operand, what was loaded in `lines` an accumulator, and sums of rows in one layout are
    broadcast in another.

    Numbers that are in their lane already only change registers. All others pass through LDS: of
    each wave through a part of its own, with no barrier, so that the op may stand wherever waves may
    go, in steps of a loop over tiles too. A fragment passes in blocks that both layouts are made of
    (32 x 32 between `acc` and operands of that size; rows of a wave's width with `lines`), each row
    with 16 bytes more than it has. `tile-allocate-lds` finds a place that all conversions of a
    kernel share; written out it is `at(N by M)`, M bytes for each wave from byte N on. Where two wave groups never
    come here at the same time, because a barrier lies between them, a wave of one can share its part with one of the
    other: `at(N by M) shared`. `tile-verify-clusters` makes sure that they do not meet.

    Row and column values must be complete: a partial value (`tile.row_max`) differs between lanes.

    ```mlir
    tile.kernel @square(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xf32>) target("gfx950") waves(1) {
      %zero = arith.constant 0 : i32
      %x = tile.load %a[%zero, %zero] : !tile.view<?x?xbf16> -> !tile.frag<32x32xbf16, lines>
      %lhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, lhs>
      %rhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, rhs>
      %none = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
      %product = tile.mma %lhs, %rhs, %none : !tile.frag<32x32xbf16, lhs>, !tile.frag<32x32xbf16, rhs>, !tile.frag<32x32xf32, acc>
      %rows = tile.convert_layout %product : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
      tile.store %rows, %c[%zero, %zero] : !tile.frag<32x32xf32, lines>, !tile.view<?x?xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns]>:$source,
      OptionalAttr<I64Attr>:$lds_offset, OptionalAttr<I64Attr>:$wave_bytes, UnitAttr:$shared);
  let results = (outs AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source), [{
    build($_builder, $_state, result, source, ::mlir::IntegerAttr(), ::mlir::IntegerAttr(), /*shared=*/false);
  }]>];
  let assemblyFormat = [{
    $source (`at` `(` $lds_offset^ `by` $wave_bytes `)` (`shared` $shared^)?)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getScratchBytes();
    int64_t getLeastWaveBytes();
    bool keepsToWave() { return true; }
    /// Into how many parts its LDS is divided in a kernel of so many waves: wave i has part i modulo that.
    int64_t partsFor(int64_t waves) { return getShared() ? waves / 2 : waves; }
  }];
}

def Tile_RelabelOp : Tile_Op<"relabel", [NamedResults, Pure]> {
  let summary = "the same registers as a fragment of another layout; moves nothing";
  let description = [{
    What a lane holds stays where it is and stands for other elements: number i of a lane in the source is number i of
    the lane in the result, in the order of pieces and of the registers of each. So a fragment goes to memory and comes
    back *as it lies*, each lane beside the next, whatever its layout is: as `lines(1x64)` of f32, or `lines(2x64)` of
    16 bits, an instruction of all lanes moves 256 bytes in a row. Both have the same element type and the same numbers
    in a lane; otherwise one has bytes (i8) and the other has the elements that are packed in them.

    ```mlir
    tile.kernel @image(%a: !tile.view<?x1024xf32>) target("gfx950") waves(1) {
      %zero = arith.constant 0 : i32
      %x = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
      %image = tile.relabel %x : !tile.frag<32x32xf32, acc> -> !tile.frag<1x1024xf32, lines(1x64)>
      tile.atomic_add %image, %a[%zero] : !tile.frag<1x1024xf32, lines(1x64)>, !tile.view<?x1024xf32>
    }
    ```
  }];
  let arguments = (ins Tile_UnscaledFrag:$source);
  let results = (outs Tile_UnscaledFrag:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StashOp : Tile_Op<"stash", [
    NamedResults, MemoryEffects<[MemWrite]>, Tile_LdsScratchOpInterface,
    TypesMatchWith<"the stash is of the fragment's type", "source", "stash",
        "::hocket::tile::StashType::get($_self.getContext(), ::llvm::cast<::hocket::tile::FragType>($_self))">]> {
  let summary = "lays an operand aside in LDS, where the wave reads it again when it needs it";
  let description = [{
    What a whole loop multiplies with need not fill registers all the time. Each wave has a part of LDS of its own, and
    each lane finds there what it put: no barrier, no layout to choose, no bank conflicts. `tile.recall` reads it, or
    a part of its depth, as often as it likes. An operand of 16 bytes a lane and step of the depth, outside of loops
    over tiles; the place is for `tile-allocate-lds` to find, or written `at(N)`.

    ```mlir
    tile.kernel @aside(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xbf16>) target("gfx950") waves(1) {
      %zero = arith.constant 0 : i32
      %b = tile.load %a[%zero, %zero] : !tile.view<?x?xbf16> -> !tile.frag<64x32xbf16, rhs>
      %aside = tile.stash %b : !tile.frag<64x32xbf16, rhs>
      %half = tile.recall %aside from 32 : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<32x32xbf16, rhs>
      tile.store %half, %c[%zero, %zero] : !tile.frag<32x32xbf16, rhs>, !tile.view<?x?xbf16>
    }
    ```
  }];
  let arguments = (ins Tile_ProductFrag:$source, OptionalAttr<I64Attr>:$lds_offset);
  let results = (outs Tile_Stash:$stash);
  let assemblyFormat = "$source (`at` `(` $lds_offset^ `)`)? attr-dict `:` type($source)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getScratchBytes();
  }];
}

def Tile_RecallOp : Tile_Op<"recall", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "what `tile.stash` has laid aside, or whole steps of its depth";
  let arguments = (ins Tile_Stash:$stash, DefaultValuedAttr<I64Attr, "0">:$first);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = [{
    $stash (`from` $first^)? attr-dict `:` type($stash) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RandomBytesOp : Tile_Op<"random_bytes", [NamedResults, Pure, Tile_LdsScratchOpInterface]> {
  let summary = "the random bytes of dropout at the places of a fragment";
  let description = [{
    A byte for each element, a function of the two numbers and of where it stands alone: `row` and `column` are the
    memory row and column of the fragment's first element, multiples of 32. They are those of Composable Kernel's
    dropout, so that what drops elements by them agrees with it bit for bit (docs/Modifications.md has the
    definition): Philox 4x32 with 7 rounds, keyed by `seed`, gives 16 bytes for 16 rows of a column in a block of
    32 x 32, and `offset`, with 64 added for each head before, tells heads apart.

    Each lane computes once for a block; the bytes pass through LDS, of each wave through a part of its own, as
    those of `tile.convert_layout` do.

    `transposed` gives the element at a row and a column the byte that is usually of that column and row: queries are
    columns then.

    ```mlir
    tile.kernel @bytes(%seed: i64, %offset: i64, %out: !tile.view<?x?xi8>) target("gfx950") waves(1) {
      %zero = arith.constant 0 : i32
      %bytes = tile.random_bytes %seed, %offset at_element(%zero, %zero) : !tile.frag<64x32xi8, acc>
      tile.store %bytes, %out[%zero, %zero] : !tile.frag<64x32xi8, acc>, !tile.view<?x?xi8>
    }
    ```
  }];
  let arguments = (ins I64:$seed, I64:$offset, I32:$row, I32:$column,
      OptionalAttr<I64Attr>:$lds_offset, OptionalAttr<I64Attr>:$wave_bytes, UnitAttr:$transposed);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $seed `,` $offset `at_element` `(` $row `,` $column `)` (`transposed` $transposed^)?
    (`at` `(` $lds_offset^ `by` $wave_bytes `)`)?
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getScratchBytes();
    int64_t getLeastWaveBytes();
    bool keepsToWave() { return true; }
  }];
}

#endif // HOCKET_TILE_VALUE_OPS_TD
