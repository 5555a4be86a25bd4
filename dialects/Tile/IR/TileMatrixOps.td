// Operations on matrices: kernels whose output is cut along rows and columns, whose waves stand in
// a grid, and whose tiles advance along the depth of the product. Included by TileOps.td.
#ifndef HOCKET_TILE_MATRIX_OPS_TD
#define HOCKET_TILE_MATRIX_OPS_TD

def Tile_BlockTileOp : Tile_Op<"block_tile", [NamedResults, Pure, Tile_GridOpInterface]> {
  let summary = "the first row and column of the block of a matrix that this workgroup works on";
  let description = [{
    The grid has one workgroup for every block of `rows` x `columns` of `view`, a matrix; its size
    in the manifest follows from this op. Blocks are counted down the rows of a band of `band` row
    blocks, then along its columns, then band by band, so that workgroups that run together share
    rows of one operand and columns of the other in cache. With `xcds`, workgroups n, n + xcds, ...,
    which the hardware deals to one XCD, get consecutive blocks, and so share that XCD's L2. With `turn(%t)` it is the
    item that a workgroup of a persistent kernel computes in its turn t (`tile.item_turns`).

    ```mlir
    %row, %column = tile.block_tile %c rows(256) columns(256) band(4) xcds(8) : <?x?xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, I64Attr:$rows, I64Attr:$columns,
      DefaultValuedAttr<I64Attr, "1">:$band, OptionalAttr<I64Attr>:$xcds, Optional<I32>:$turn);
  let results = (outs I32:$row, I32:$column);
  let assemblyFormat = [{
    $view `rows` `(` $rows `)` `columns` `(` $columns `)` (`band` `(` $band^ `)`)?
    (`xcds` `(` $xcds^ `)`)? (`turn` `(` $turn^ `)`)? attr-dict `:` type($view)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    GridShape getGridShape() {
      return {{{0, static_cast<int64_t>(getRows())}, {1, static_cast<int64_t>(getColumns())}}, std::nullopt};
    }
  }];
}

def Tile_WaveGridOp : Tile_Op<"wave_grid", [NamedResults, Pure]> {
  let summary = "where this wave stands in a grid of the workgroup's waves";
  let description = [{
    The waves of the workgroup, in order, fill a grid of `rows` x `columns` row by row. The results
    say which part of a tile a wave reads (`tile.read`) and which rows are its own
    (`tile.wave_row`).

    ```mlir
    %i, %j = tile.wave_grid rows(2) columns(4)
    ```
  }];
  let arguments = (ins I64Attr:$rows, I64Attr:$columns);
  let results = (outs I32:$row, I32:$column);
  let assemblyFormat = "`rows` `(` $rows `)` `columns` `(` $columns `)` attr-dict";
  let hasVerifier = 1;
}

def Tile_MaskDepthOp : Tile_Op<"mask_depth", [
    NamedResults, Pure, AllTypesMatch<["source", "result"]>, Tile_MaskOpInterface]> {
  let summary = "an operand whose elements at or beyond an end of the depth are zero";
  let description = [{
    With k = tile x depth of the fragment + depth of the element: keeps elements with `k < below`.
    Whatever the others hold, NaN too, becomes 0; both operands of a product need it, since 0 x NaN
    is NaN. A tile that the end does not cut is left alone by a branch, and where the loop says of that
    end that it cuts the last tile only (`cut_right(%end within 0)`), `tile-pipeline` keeps the op there only.
  }];
  let arguments = (ins Tile_ProductFrag:$source, I32:$tile, I32:$below);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = "$source `tile` `(` $tile `)` `below` `(` $below `)` attr-dict `:` type($source)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getMasked() { return getSource(); }
    int64_t getTileExtent() { return getSource().getType().getDepth(); }
    ::llvm::SmallVector<TileBound> getTileBounds() { return {{getBelow(), TileSide::Right}}; }
  }];
}

def Tile_SliceDepthOp : Tile_Op<"slice_depth", [NamedResults, Pure]> {
  let summary = "whole steps of the depth of an operand; moves nothing";
  let description = [{
    A product over a part of the depth: a step of its own, so that a schedule can put work between
    the parts.

    ```mlir
    %half = tile.slice_depth %operand from 32 : <128x64xbf16, lhs> -> <128x32xbf16, lhs>
    ```

    The scales of a part are sliced alike: their depth counts blocks of 32.

    ```mlir
    %scales = tile.slice_depth %of_operand from 2 : <128x4xf8E8M0FNU, lhs_scale> -> <128x2xf8E8M0FNU, lhs_scale>
    ```
  }];
  let arguments = (ins Tile_Frag:$source, I64Attr:$first);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$source `from` $first attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BlockScalesOp : Tile_Op<"block_scales", [NamedResults, Pure]> {
  let summary = "scales of blocks, of words that have those of a row side by side";
  let description = [{
    A word of a row of an operand has the scales of four blocks of 32 of its depth, the first in the lowest byte: one word for
    each 128 of the depth, begun ones too. Where memory has scales so, a lane loads four of them at once:

    ```mlir
    %words = tile.load %k_scale[%key] : <?xi32> -> !tile.rows<128xi32>
    %scales = tile.block_scales %words : !tile.rows<128xi32> -> !tile.frag<128x4xf8E8M0FNU, lhs_scale>
    ```
  }];
  let arguments = (ins Variadic<Tile_Rows>:$words);
  let results = (outs Tile_ScaleFrag:$result);
  let assemblyFormat = "$words attr-dict `:` type($words) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreBlockOp : Tile_Op<"store_block", [MemoryEffects<[MemWrite]>]> {
  let summary = "an accumulator, converted and transposed, into a block of a matrix";
  let description = [{
    Element (d, c) of the `acc` fragment goes to row `row + c`, column `column + d` of the view,
    rounded to its element type. Rows and columns at or beyond the view's extents are not written.
    Four columns are stored at once, which needs a row stride of a multiple of 4 elements (the
    manifest's business); a fragment that the last column cuts is stored element by element.
  }];
  let arguments = (ins Tile_MatrixFrag:$value, Tile_View:$view, I32:$row, I32:$column);
  let assemblyFormat = [{
    $value `,` $view `[` $row `,` $column `]` attr-dict `:` type($value) `,` type($view)
  }];
  let hasVerifier = 1;
}

#endif // HOCKET_TILE_MATRIX_OPS_TD
