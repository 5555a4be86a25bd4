// Operations between global memory and registers: loads, stores and additions of fragments, row and
// column values and single numbers, at computed places. Included by TileOps.td.
#ifndef HOCKET_TILE_MEMORY_OPS_TD
#define HOCKET_TILE_MEMORY_OPS_TD

/// Stays where nobody asks which workgroup it is: the grid is its other half.
def Tile_WorkgroupIdOp : Tile_Op<"workgroup_id", [NamedResults]> {
  let summary = "where this workgroup stands in a grid of one's own";
  let description = [{
    `grid` has one to three expressions over the problem's variables, as the manifest understands
    them (docs/Manifest.md): the workgroups along x, y and z. Those left out are 1. A kernel has its
    grid from this op, from `tile.block_id`, or from `tile.block_tile`. With `turn(%t)` it is the place of the item that
    a workgroup of a persistent kernel computes in its turn t (`tile.item_turns`).

    ```mlir
    %x, %y, %z = tile.workgroup_id ["ceildiv(m, 128) * ceildiv(n, 128)", "batch"]
    ```
  }];
  let arguments = (ins StrArrayAttr:$grid, Optional<I32>:$turn);
  let results = (outs I32:$x, I32:$y, I32:$z);
  let assemblyFormat = "$grid (`turn` `(` $turn^ `)`)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::ArrayAttr":$grid), [{
    build($_builder, $_state, grid, /*turn=*/::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Tile_SelectOp : Tile_Op<"select", [NamedResults, Pure]> {
  let summary = "one element of a view's first dimensions: a view of the others";
  let description = [{
    `indices` are i32, not negative, one for each dimension that goes. Offsets are 64 bits wide. At
    or beyond an extent the result is a view whose extents that are `?` are 0; one at least must be.

    ```mlir
    %b_of_group = tile.select %b[%group] : <?x?x?xbf16> -> <?x?xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<I32>:$indices);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "what a view holds from a place on: a fragment, row or column values, or one number";
  let description = [{
    `indices` are the place (i32 each, not negative, computed as one likes), one for every dimension
    of the view. Of a fragment the last may be left out: column 0. Offsets are 64 bits wide.

    | result | what is loaded |
    | --- | --- |
    | fragment | memory rows along dimension `along` (left out: 1 of rank 4, else the last but one), columns along the last |
    | `!tile.rows`, `!tile.columns` | consecutive numbers along dimension `along` (left out: the last) |
    | either, `over [slow, fast]` | memory rows, or `!tile.rows`, count the pairs of two dimensions: number n is place n div E of `slow` and n mod E of `fast`, which has extent E |
    | `f32`, `i32`, `bf16`, `f16`, `i8` | one number, the same in all lanes |

    With `over` the index of `slow` is the number of the first pair, and that of `fast` counts for nothing: so the
    (query, head) pairs of a group of heads are rows, whichever of the two is further apart in memory.

    What lies at or beyond an extent of the view reads as zero. The element type is the view's, or
    bf16 and f16 are widened to f32, i8 (signed) to i32. Consecutive elements of a lane are loaded up
    to 16 bytes at once if the view has all of the columns and the place and the row stride are
    multiples of 4 bytes, one by one otherwise. The rows of one fragment must span less
    than 2 GiB, which the manifest requires.
    A number of 4 bytes is loaded by the scalar unit if nothing in the kernel writes to its view.

    ```mlir
    %x = tile.load %q[%batch, %row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
    %block = tile.load %c[%row, %column] : <?x?xbf16> -> !tile.frag<64x32xf32, acc>
    %bias = tile.load %b[%column] : <?xbf16> -> !tile.columns<64xf32, acc>
    %scales = tile.load %s[%row, %zero] along(0) : <?x4xf32> -> !tile.rows<32xf32>
    %n = tile.load %lengths[%batch] : <?xi32> -> i32
    %pairs = tile.load %group[%first, %zero] over [0, 1] : <?x?x128xbf16> -> <128x32xbf16, rhs>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<I32>:$indices, OptionalAttr<I64Attr>:$along,
      OptionalAttr<DenseI64ArrayAttr>:$over);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`along` `(` $along^ `)`)? (`over` $over^)? attr-dict `:` type($view)
    `->` custom<RegisterValue>(type($result))
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$view, "::mlir::Value":$batch,
      "::mlir::Value":$row, "::mlir::Value":$head), [{
    build($_builder, $_state, result, view, ::mlir::ValueRange{batch, row, head}, ::mlir::IntegerAttr());
  }]>, OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$view, "::mlir::ValueRange":$indices,
      "::mlir::IntegerAttr":$along), [{
    build($_builder, $_state, result, view, indices, along, ::mlir::DenseI64ArrayAttr());
  }]>];
  let hasVerifier = 1;
}

def Tile_BeginLoadOp : Tile_Op<"begin_load", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "starts to load a fragment, for a later `tile.end_load`";
  let description = [{
    A `tile.load` in two: this op asks for the fragment's elements, in whole lines where lanes can exchange them, and
    does not wait; `tile.end_load` waits for them and puts them in their places. Between the two stands a part of an
    iteration, or a whole one, so that memory's latency costs nothing; meanwhile the elements need registers.

    View, place, `along` and `over` are those of `tile.load`, of a fragment of the view's element type. `tile` (i32) says for
    which tile of a loop this is: `tile-verify-clusters` makes sure that it is ended for the same.

    A step that holds nothing else that touches memory needs no place in a schedule: it runs one tile ahead of the
    first step that uses it, where something runs that far ahead. Waits for fetches count its loads (`loads` of
    `tile.await`), as few of them as there can be. Those for its result are LLVM's.

    ```mlir
    tile.step @load -> !tile.pending<!tile.frag<64x32xbf16, acc>> {
      %pending = tile.begin_load %bias[%row, %key] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
      tile.yield %pending : !tile.pending<!tile.frag<64x32xbf16, acc>>
    }
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<I32>:$indices, OptionalAttr<I64Attr>:$along,
      OptionalAttr<DenseI64ArrayAttr>:$over, I32:$tile);
  let results = (outs Tile_Pending:$pending);
  let assemblyFormat = [{
    $view `[` $indices `]` (`along` `(` $along^ `)`)? (`over` $over^)? `tile` `(` $tile `)` attr-dict `:` type($view) `->` type($pending)
  }];
  let hasVerifier = 1;
}

def Tile_EndLoadOp : Tile_Op<"end_load", [NamedResults, Pure]> {
  let summary = "the fragment that a `tile.begin_load` has asked for";
  let description = [{
    Waits for its elements, which lanes exchange until each has its own. bf16 and f16 may be widened to f32, i8 (signed)
    to i32. `tile` is that of the `tile.begin_load`.

    ```mlir
    %block = tile.end_load %pending tile(%t) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
    ```
  }];
  let arguments = (ins Tile_Pending:$pending, I32:$tile);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = [{
    $pending `tile` `(` $tile `)` attr-dict `:` type($pending) `->` custom<RegisterValue>(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_EntryOp : Tile_Op<"entry", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "one number of lists that follow one another, the same in all lanes";
  let description = [{
    Number `index` (i32, not negative) of `lists` (one dimension of i32 each, of up to 2^28 numbers together), counted
    from the first list's first number through all of them; behind the last number it is the last, and of lists without
    any it is any number. Nothing in the kernel may write to them.

    What is the same for all indices is computed in front of a loop; what is left is one load of the scalar unit and
    some instructions for its address. In a step the op does not wait for what it loads: its cluster does, at its end,
    together with what that reads from LDS. So a number that is loaded a tile ahead costs no time.

    ```mlir
    %block = tile.entry %next of %partial, %full : !tile.view<?xi32>, !tile.view<?xi32>
    ```
  }];
  let arguments = (ins I32:$index, Variadic<Tile_View>:$lists);
  let results = (outs I32:$number);
  let assemblyFormat = "$index `of` $lists attr-dict `:` type($lists)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "what a view holds at a place of its own for each element: a table looked up";
  let description = [{
    `indices` are numbers, rows, columns or fragments of i32, one for every dimension of the view, broadcast to
    the result as the inputs of `tile.map` are. Each element of the result is what the view holds at the indices of its
    place, or zero where one of them is negative or at or beyond the extent. The element type is the view's, or
    wider as with `tile.load`.

    Each element is a load of its own: what lies in rows or columns is better loaded by `tile.load`. Indices that are
    numbers may reach any place (64 bits); what the others span must be less than 2 GiB, which the manifest requires.

    ```mlir
    %distance = tile.map() at(%query, %key) -> !tile.frag<64x32xi32, acc> {
      %d = arith.subi %query, %key : i32
      tile.yield %d : i32
    }
    %bias = tile.gather %table[%head, %distance] : <?x?xbf16>, i32, !tile.frag<64x32xi32, acc>
        -> !tile.frag<64x32xf32, acc>
    ```
  }];
  let arguments = (ins Tile_View:$view, Variadic<Tile_Mappable>:$indices);
  let results = (outs AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns]>:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` attr-dict `:` type($view) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

class Tile_WriteOp<string mnemonic, list<MemoryEffect> effects> : Tile_Op<mnemonic, [MemoryEffects<effects>]> {
  let arguments = (ins AnyType:$value, Tile_View:$view, Variadic<I32>:$indices, OptionalAttr<I64Attr>:$along);
  let assemblyFormat = [{
    $value `,` $view `[` $indices `]` (`along` `(` $along^ `)`)? attr-dict
    `:` custom<RegisterValue>(type($value)) `,` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_WriteOp<"store", [MemWrite]> {
  let summary = "a fragment, row or column values, or one number, into a view from a place on";
  let description = [{
    The place is written as in `tile.load`. Element (d, c) of an `acc` fragment goes to view row
    `row + c`, column d: memory's rows and columns (`!tile.frag`). What lies at or beyond an extent is
    not written. f32 is rounded to the view's bf16 or f16, i32 cut to its i8. Row and column values
    are written once, whichever lanes hold them; a wave must hold the same number in all of them
    (`tile.unify`).

    ```mlir
    tile.store %o, %out[%batch, %row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
    tile.store %sums, %s[%head, %row] : !tile.rows<32xf32>, <?x?xf32>
    tile.store %count, %n[%batch] : i32, <?xi32>
    ```
  }];
  let arguments = (ins AnyType:$value, Tile_View:$view, Variadic<I32>:$indices, OptionalAttr<I64Attr>:$along,
      OptionalAttr<DenseI64ArrayAttr>:$over);
  let assemblyFormat = [{
    $value `,` $view `[` $indices `]` (`along` `(` $along^ `)`)? (`over` $over^)? attr-dict
    `:` custom<RegisterValue>(type($value)) `,` type($view)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$view, "::mlir::Value":$batch,
      "::mlir::Value":$row, "::mlir::Value":$head), [{
    build($_builder, $_state, value, view, ::mlir::ValueRange{batch, row, head}, ::mlir::IntegerAttr());
  }]>, OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$view, "::mlir::ValueRange":$indices,
      "::mlir::IntegerAttr":$along), [{
    build($_builder, $_state, value, view, indices, along, ::mlir::DenseI64ArrayAttr());
  }]>];
}

def Tile_AtomicAddOp : Tile_WriteOp<"atomic_add", [MemRead, MemWrite]> {
  let summary = "adds a fragment, row or column values, or one number to what a view holds";
  let description = [{
    As `tile.store`, but each element is added, atomically, to what is there: workgroups may add to
    the same place in any order. The sum of more than two is therefore not the same from run to run.
    Views are f32, f16, or, on chips with a packed addition of it, bf16.

    ```mlir
    tile.atomic_add %partial, %dq[%batch, %row, %head] : <128x32xf32, acc>, <?x?x?x128xf32>
    ```
  }];
}

#endif // HOCKET_TILE_MEMORY_OPS_TD
