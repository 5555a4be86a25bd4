// Operations of the tile dialect: kernels, memory, computation on fragments.
#ifndef HOCKET_TILE_OPS_TD
#define HOCKET_TILE_OPS_TD

include "Tile/IR/TileInterfaces.td"
include "Tile/IR/TileTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The op proposes names for its results when it is printed (TileNames.cpp).
def NamedResults : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

//===-- Kernels and what surrounds the loop ------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope, HasParent<"::mlir::ModuleOp">,
    SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a kernel: what one workgroup does";
  let description = [{
    Arguments are views and scalars (`i32`, `i64`, `f32`). In the kernel's argument block a view
    takes, in this order: its pointer, one 64-bit stride (in elements) for every dimension but the
    last, and one 32-bit extent for every `?` dimension. The argument attribute `tile.bind` names
    the problem's tensor or expression it is bound to in the manifest; the argument's name in the
    text is the default. `tile.sizes` and `tile.strides` name extents and strides likewise; by
    default those of view %x are `x_size_0`, ... and `x_stride_0`, ..., by dimension.
    `waves` waves of 64 lanes run the body together.

    Beside ops of this dialect a body has ops of `arith` on single numbers, `scf.if`, `scf.for` and
    `scf.while`, in steps and around them; single numbers are the same in all lanes of a wave. What
    waves write of the rows (and columns) that `tile.block_id` or `tile.block_tile` gives a workgroup,
    at places that follow from `tile.wave_row` and constants, must be all of them, each once.

    ```mlir
    tile.kernel @nothing(%q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}) target("gfx950") waves(8) {
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
      StrAttr:$target, I64Attr:$waves, OptionalAttr<DictArrayAttr>:$arg_attrs,
      OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// What argument `index` is bound to in the manifest: its `tile.bind`, or the empty string.
    ::llvm::StringRef getBinding(unsigned index);
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, HasParent<"KernelOp">, Terminator]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_DimOp : Tile_Op<"dim", [NamedResults, Pure]> {
  let summary = "the extent of one dimension of a view";
  let arguments = (ins Tile_View:$view, I64Attr:$dimension);
  let results = (outs I32:$extent);
  let assemblyFormat = "$view `,` $dimension attr-dict `:` type($view)";
  let hasVerifier = 1;
}

def Tile_BlockIdOp : Tile_Op<"block_id", [AttrSizedOperandSegments, Pure, Tile_GridOpInterface]> {
  let summary = "the batch, the head and the first row that this workgroup works on";
  let description = [{
    `view` is (batch, sequence, head, head dimension). The grid has one workgroup for every
    `rows` rows of every head of every batch; its size in the manifest follows from this op.
    Within a head, the rows furthest along the sequence come first when `last_rows_first` is set
    (they are the heaviest under a causal mask). Consecutive workgroups go to different XCDs, of
    which a chip has `xcds`; where the number of heads is a multiple of it, neighbouring heads, which
    share K and V, get workgroups of the same XCD, and so share its L2 cache.

    `paired` is about the blocks of a head that start together: as many as two workgroups on each compute unit leave
    room for, with heads counted as the next power of two. The second half of them comes in the opposite order. The
    first half is first on its units, so the block with most to do shares a unit with the one that has least. All other
    blocks follow in order.

    With `of(%n)`, an argument of the kernel, there are n rows of each batch, whatever the view has: where sequences
    of lengths of their own lie one behind the other, n is the longest one's.

    With `turn(%t)` it is the item that a workgroup of a persistent kernel computes in its turn t (`tile.item_turns`).
  }];
  let arguments = (ins Tile_View:$view, I64Attr:$rows, UnitAttr:$last_rows_first, UnitAttr:$paired,
      OptionalAttr<I64Attr>:$xcds, Optional<I32>:$row_count, Optional<I32>:$turn);
  let results = (outs I32:$batch, I32:$head, I32:$row);
  let assemblyFormat = [{
    $view `rows` `(` $rows `)` (`of` `(` $row_count^ `)`)? (`last_rows_first` $last_rows_first^)? (`paired` $paired^)?
    (`xcds` `(` $xcds^ `)`)? (`turn` `(` $turn^ `)`)? attr-dict `:` type($view)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "int64_t":$rows, "bool":$lastRowsFirst,
      "::mlir::IntegerAttr":$xcds, CArg<"::mlir::Value", "{}">:$rowCount, CArg<"bool", "false">:$paired), [{
    build($_builder, $_state, view, static_cast<uint64_t>(rows), lastRowsFirst, paired, xcds, rowCount,
          /*turn=*/::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getCount(int64_t dimension) { return dimension == 1 ? getRowCount() : ::mlir::Value(); }
    /// Heads are fastest: consecutive workgroups go to different XCDs and share no K and V.
    GridShape getGridShape() { return {{{1, static_cast<int64_t>(getRows())}, {2, 1}}, 0}; }
  }];
}

def Tile_ItemTurnsOp : Tile_Op<"item_turns", [NamedResults, Pure]> {
  let summary = "how many items this workgroup of a persistent kernel computes";
  let description = [{
    Of a kernel with `tile.persistent`, whose grid says how many items there are; at least 1. Which one it computes in
    turn t say `tile.block_id`, `tile.block_tile` or `tile.workgroup_id` with `turn(%t)`. The pass `tile-work-items`
    writes both.
  }];
  let results = (outs I32:$turns);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_WaveRowOp : Tile_Op<"wave_row", [NamedResults, Pure]> {
  let summary = "the first row of this wave: the workgroup's, plus `rows` for each wave before it";
  let description = [{
    Where waves stand in a grid, `part` is this wave's place along one side of it (a result of
    `tile.wave_grid`), and only waves before it along that side count.
  }];
  let arguments = (ins I32:$block_row, I64Attr:$rows, Optional<I32>:$part);
  let results = (outs I32:$row);
  let assemblyFormat = "$block_row `rows` `(` $rows `)` (`part` `(` $part^ `)`)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$blockRow, "int64_t":$rows), [{
    build($_builder, $_state, blockRow, rows, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Tile_GroupHeadOp : Tile_Op<"group_head", [NamedResults, Pure]> {
  let summary = "the KV head that serves a query head (MHA, GQA, MQA)";
  let description = [{
    head / (heads of `query` / heads of `kv`). The launcher guarantees that the ratio is whole.
  }];
  let arguments = (ins I32:$head, Tile_View:$query, Tile_View:$kv);
  let results = (outs I32:$kv_head);
  let assemblyFormat = "$head `of` $query `in` $kv attr-dict `:` type($query) `,` type($kv)";
  let hasVerifier = 1;
}

def Tile_DivModOp : Tile_Op<"divmod", [Pure]> {
  let summary = "quotient and remainder of numbers that are the same in all lanes";
  let description = [{ Neither is negative, and `divisor` is not 0. The results stay in scalar registers. }];
  let arguments = (ins I32:$dividend, I32:$divisor);
  let results = (outs I32:$quotient, I32:$remainder);
  let assemblyFormat = "$dividend `by` $divisor attr-dict";
}

def Tile_SliceRowsOp : Tile_Op<"slice_rows", [NamedResults, Pure, AllTypesMatch<["view", "result"]>]> {
  let summary = "a view of some of the rows: `size` from row `first` on, or as many as there are";
  let description = [{
    Dimension `along` counts the rows; left out it is dimension 1 of a view of rank 4, of others the last but one. Row 0
    of the result is row `first` of `view`; its extent ends at the
    end of `view`, and is 0 where `first` lies beyond it. Offsets are 64 bits wide. A ring of a view
    without rows must not be fetched.

    ```mlir
    tile.kernel @second_half(%k: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(8) {
      %rows = tile.dim %k, 1 : <?x?x?x128xbf16>
      %two = arith.constant 2 : i32
      %half, %odd = tile.divmod %rows by %two
      %upper = tile.slice_rows %k from %half size %rows : <?x?x?x128xbf16>
    }
    ```
  }];
  let arguments = (ins Tile_View:$view, I32:$first, I32:$size, OptionalAttr<I64Attr>:$along);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$view `from` $first `size` $size (`along` `(` $along^ `)`)? attr-dict `:` type($view)";
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::mlir::Value":$first, "::mlir::Value":$size), [{
    build($_builder, $_state, view.getType(), view, first, size, ::mlir::IntegerAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimension that counts the rows.
    int64_t getRowDimension() {
      if (getAlong())
        return *getAlong();
      int64_t rank = getView().getType().getRank();
      return rank == 4 ? 1 : rank - 2;
    }
  }];
}

def Tile_RowsAlongOp : Tile_Op<"rows_along", [NamedResults, Pure, AllTypesMatch<["view", "result"]>]> {
  let summary = "a view whose rows are queries of one head, or heads of one query, as a number says";
  let description = [{
    `view` is (batch, query, head, element), or (batch, head, query), or with `heads_first` (batch, head, query,
    element), and [`batch`, `query`, `head`] a place in it.
    Dimension 1 of the result counts `size` rows at most from there on: queries of that head, or, where the i1 in
    `heads` is set, heads of that query. The other dimensions have that batch, and that head (or, of a view of rank 3,
    nothing but the row itself). At a place that the view does not have there are no rows. Offsets are 64 bits wide.

    ```mlir
    %rows = tile.rows_along %q[%batch, %query, %head] heads(%is_group) size(%count) : <?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins Tile_View:$view, I32:$batch, I32:$query, I32:$head, I1:$heads, I32:$size,
      UnitAttr:$heads_first);
  let results = (outs Tile_View:$result);
  let assemblyFormat = [{
    $view `[` $batch `,` $query `,` $head `]` `heads` `(` $heads `)` `size` `(` $size `)`
    (`heads_first` $heads_first^)? attr-dict `:` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_RingOp : Tile_Op<"ring", [NamedResults, AttrSizedOperandSegments, Tile_TileSourceOpInterface]> {
  let summary = "an LDS ring through which the tiles of one head of a view pass";
  let description = [{
    `indices` are the batch and the head. Depth, LDS offset and layout are absent in the `tile`
    stage and set in the `clusters` stage.

    With `by_columns` the view is a matrix and the tiles follow one another along its rows: tile t
    of a ring of R x C has rows `index` to `index` + R - 1 and columns tC to tC + C - 1. Rows at or
    beyond the view's extent arrive as zero; what arrives for columns at or beyond it is not
    specified, since only a copy element by element could tell (`tile.mask_depth` makes them zero).

    `unpadded` asks for a layout in which a tile takes no more LDS than its bytes: bank conflicts
    must then be avoided by the order of rows and by XOR swizzles alone.

    With `pages(P rows %n)` the rows of tiles go through a table. Dimension 0 of the view counts pages and dimension 1
    the rows of a page, of which P are used; a sequence of `n` rows has P of them in each of its pages, wherever those
    lie. The batch is the page that is number 0. What fetches a tile takes the numbers of its rows' pages
    (`tile.look_up`), and rows from number n on arrive as zero. A head's rows of all pages lie within 2 GiB; with `far`
    they lie anywhere, the view's columns fill the tile's panels, and what arrives for rows from number n on is row
    n - 1. Page numbers that the view does not have give nothing from outside of it.

    In pages elements may lie in vectors of 16 bytes, x of them. With `vectors(columns)` these are x columns of a row,
    and a head's part of a page is (columns / x, P, x); with `vectors(rows)` they are one column of x rows, and it is
    (P / x, columns, x). The view's stride from row to row is not used. Of vectors of rows those behind row n - 1 arrive
    as
    they are where they share one with it (`tile.mask_depth` makes them zero), and tiles lie in LDS as they do in
    memory: `tile.read_transposed` needs no transposing reads.

    A ring without a view, which has a `name` instead, is filled by `tile.put` with what waves have
    computed.

    With `continues(%r)` it is the LDS of ring %r, another op of the same type and place: its tiles are taken from
    elsewhere. So the tiles of an item of a persistent kernel follow those of the item before.

    With `alternates(%t by N)` the ring lies N bytes behind `at` where %t is odd: of items that follow one another, one
    has the LDS that the other has not.

    ```mlir
    %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xbf16> -> <256x64xbf16>
    %ds_ring = tile.ring named("ds") : !tile.ring<64x64xbf16>
    ```
  }];
  let arguments = (ins Optional<Tile_View>:$view, Variadic<I32>:$indices, OptionalAttr<I64Attr>:$page_rows,
      Optional<I32>:$row_count, Optional<Tile_Ring>:$continued, Optional<I32>:$alternate, OptionalAttr<Tile_VectorsAlong>:$vectors,
      UnitAttr:$far, OptionalAttr<StrAttr>:$name, OptionalAttr<I64Attr>:$depth, OptionalAttr<I64Attr>:$lds_offset,
      OptionalAttr<I64Attr>:$apart, OptionalAttr<Tile_LdsLayoutAttr>:$layout, UnitAttr:$by_columns, UnitAttr:$unpadded);
  let results = (outs Tile_Ring:$ring);
  let assemblyFormat = [{
    ($view^ `[` $indices `]`)? (`pages` `(` $page_rows^ `rows` $row_count `)`)?
    (`vectors` `(` $vectors^ `)`)? (`far` $far^)? (`named` `(` $name^ `)`)?
    (`by_columns` $by_columns^)? (`unpadded` $unpadded^)? (`continues` `(` $continued^ `:` type($continued) `)`)?
    (`depth` `(` $depth^ `)`)? (`at` `(` $lds_offset^ `)`)?
    (`alternates` `(` $alternate^ `by` $apart `)`)? (`layout` `(` $layout^ `)`)? attr-dict
    `:` custom<RingTypes>(type($view), type($ring))
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$ring, "::mlir::Value":$view, "::mlir::ValueRange":$indices,
      "::mlir::IntegerAttr":$depth, "::mlir::IntegerAttr":$offset, "::hocket::tile::LdsLayoutAttr":$layout), [{
    build($_builder, $_state, ring, view, indices, ::mlir::IntegerAttr(), ::mlir::Value(), ::mlir::Value(),
          ::mlir::Value(), ::hocket::tile::VectorsAlongAttr(), /*far=*/false, ::mlir::StringAttr(), depth, offset,
          ::mlir::IntegerAttr(), layout);
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the ring is called in messages: the binding of its view.
    std::string getBindingName();
    /// The ring whose LDS it is: the first of those that continue one another.
    RingOp getFirst();
    /// Bytes of LDS that one tile takes, with padding; needs a layout.
    int64_t getSlotBytes();
    /// Where its LDS ends, in bytes; needs a place, a depth and a layout.
    int64_t getLdsEnd();
    /// `vectors`, or none.
    TileVectors getTileVectors();

    // TileSourceOpInterface
    ViewType getSourceType() { return getView() ? getView().getType() : ViewType(); }
    TileAdvance getAdvance() { return getByColumns() ? TileAdvance::Columns : TileAdvance::Rows; }
    int64_t getRowDimension() { return getByColumns() ? 0 : 1; }
    int64_t getTileStep() { return getRing().getType().getShape()[getByColumns() ? 1 : 0]; }
  }];
}

//===-- The loop, its steps, and schedules -------------------------------------------------------===//

def Tile_ForTilesOp : Tile_Op<"for_tiles", [
    AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "the loop over KV tiles, in named steps";
  let description = [{
    Runs its steps for tile 0 to `count` - 1; `count` may be 0. Values are carried from tile to
    tile as in `scf.for`. Nothing but steps stands in the body, so that the schedule can place all
    of it. What a step uses of another step of the same tile, or of the tile before through the
    carried values, is the whole of its dependences.

    *Which tiles are cut.* `cut_right(%b within n, ...)` promises of each bound `%b` that it hides nothing
    up to place e - n, where e is some place in the last tile; `cut_left(%b within n, ...)` that it hides
    nothing from place f + n on, where f is some place in tile 0. Places are counted like the bounds of masks:
    in keys, or elements of the depth, from tile 0. All tiles between are whole for that bound, and
    `tile-pipeline` leaves masks by such bounds out of them. Nothing is known of a bound that is not listed:
    masks by it stay in all tiles. The promise does not depend on the size of a tile: `within 0` says that tiles
    are counted up to the bound, `within 255` that the loop goes on for 255 keys behind it at most.

    *Which tiles concern the wave.* `seen(%first to %end)` promises that the steps for a tile before `%first`, or from
    `%end` on, change no carried value for this wave: it sees nothing of them. Where a schedule keeps all of a
    tile's steps but those that bring tiles in one cluster, one behind the other, the wave leaves them out
    (`tile.where`), and meets the others at the cluster's end.

    ```mlir
    %acc = tile.for_tiles %t = 0 to %n init(%o = %zero : !tile.frag<128x32xf32, acc>) schedule(@sequential) {
      tile.step @fetch_k { tile.fetch %K[%t] : !tile.ring<64x128xbf16> }
      ...
      tile.yield %next : !tile.frag<128x32xf32, acc>
    }
    ```
  }];
  let arguments = (ins I32:$count, Variadic<AnyType>:$inits, Variadic<I32>:$left_bounds,
      Variadic<I32>:$right_bounds, Variadic<I32>:$seen, DenseI64ArrayAttr:$left_within,
      DenseI64ArrayAttr:$right_within, FlatSymbolRefAttr:$schedule);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$count, "::mlir::ValueRange":$inits,
        "::llvm::ArrayRef<TileCut>":$cuts, "::mlir::FlatSymbolRefAttr":$schedule,
        CArg<"::mlir::ValueRange", "{}">:$seen)>,
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getTile() { return getBody().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarried() { return getBody().getArguments().drop_front(); }
    /// What `cut_left` and `cut_right` say, in this order.
    ::llvm::SmallVector<TileCut> getCuts();
    /// Whether a tile of `extent` places that at least `before` others precede and `after` others
    /// follow is whole for all of `bounds`.
    bool isWhole(::llvm::ArrayRef<TileBound> bounds, int64_t extent, int64_t before, int64_t after);
    /// How many tiles must precede and follow for that; nothing where a bound has no clause.
    std::optional<TileMargins> wholeWithin(::llvm::ArrayRef<TileBound> bounds, int64_t extent);
  }];
}

def Tile_StepOp : Tile_Op<"step", [NamedResults, 
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "a named piece of an iteration, the unit that schedules place";
  let description = [{
    What a step does is what its ops do: `hocket::tile::roleOf` (StepRole.h) says which rings it brings
    tiles into, which it reads, and whether it multiplies. The name is for schedules and people.

    In the `clusters` stage a step may stand anywhere in a kernel, once for each tile that it runs for.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_WhereOp : Tile_Op<"where", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "steps that a wave leaves out where it sees nothing of their tile";
  let description = [{
    The results are what the body yields, or, where `condition`, which may differ from wave to wave, is 0, `otherwise`.
    Nothing in it waits or meets other waves: for them it makes no difference. `tile-pipeline` writes it where the loop
    says which tiles the wave sees.

    ```mlir
    %next = tile.where %seen else(%old : f32) {
      tile.step @add -> f32 { ... }
      tile.yield %sum : f32
    }
    ```
  }];
  let arguments = (ins I1:$condition, Variadic<AnyType>:$otherwise);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["ForTilesOp", "StepOp", "MapOp", "WhereOp"]>]> {
  let summary = "the values that a step, an iteration or a map hands on";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Tile_ScheduleOp : Tile_Op<"schedule", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "when: a table that places the steps of an iteration in clusters";
  let description = [{
    `waves` is how many waves a workgroup should have if the kernel is expanded from an attention
    problem that does not say: schedules that keep many tiles in registers want few. `workgroups` is how many of them
    are to share a compute unit: the kernel is made to fit, or refused. `masks_apart` writes the steady loop more than
    once: for tiles that masks may cut, and, without masks, for those between, which are known by `cut_left` and
    `cut_right` of the loop. `polynomials(n)` computes one of each n pairs of a lane's weights as polynomials: see
    `tile.exp2`.

    Every cluster ends in a barrier of all waves, unless the next is `joined` to it. A place `name(o)` in an iteration that stands at
    tile `t` runs step `name` for tile `t + o`.

    ```mlir
    tile.schedule @by_halves {
      tile.cluster memory { fetch(0) }
      tile.cluster compute { read(0) multiply(0) }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility,
      DefaultValuedAttr<I64Attr, "1">:$unroll, DefaultValuedAttr<I64Attr, "1">:$wave_groups,
      OptionalAttr<I64Attr>:$waves,
      OptionalAttr<I64Attr>:$workgroups, UnitAttr:$masks_apart, OptionalAttr<I64Attr>:$polynomials);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    ($sym_visibility^)? $sym_name
    oilist(`unroll` `(` $unroll `)` | `wave_groups` `(` $wave_groups `)` | `waves` `(` $waves `)`
        | `workgroups` `(` $workgroups `)` | `masks_apart` $masks_apart | `polynomials` `(` $polynomials `)`)
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Tile_PlaceArrayAttr : TypedArrayAttrBase<Tile_PlaceAttr, "array of places">;

def Tile_ClusterOp : Tile_Op<"cluster", [HasParent<"ScheduleOp">]> {
  let summary = "the steps between two barriers";
  let description = [{
    A `joined` cluster follows the one before without a barrier: they count as one for all that goes through LDS, and are
    ordered each by itself.

    `priority` is the wave's priority at issue (s_setprio, 0 to 3) while it is in the cluster;
    clusters without one have 0 if another has one. `interleave` says what is issued beneath the
    matrix instructions of a compute cluster: nothing (left out) derives it from the cluster's
    contents; so do words, of which several may stand together: "stream" issues what the cluster itself reads from LDS
    not all in front but a few matrix instructions before it is needed, "across" also moves matrix instructions in front
    of branches in the cluster that they do not depend on, "spread" gives LDS as much to do beneath each matrix
    instruction, of reads for later clusters and fetches together, where else reads are spread and a fetch goes beneath
    each of the first, "powers" moves 2^x of functions of regions, too, which otherwise ends what is ordered, and "even" lets the
    priority fall from 3 to 0 with each quarter of the matrix instructions, so that of waves that share a SIMD and the
    cluster none gets far ahead, and "prompt" issues the first matrix instruction before what fetches need. "none" leaves the order to LLVM, and a list of `mfma`, `trans`, `valu` and `read` (from LDS, for a later cluster), repeated as long as matrix
    instructions last, is followed as far as dependences allow; the rest comes behind. "powers" and "even" may stand
    beside a list, "prompt" beside none.

    ```mlir
    tile.cluster compute priority(1) interleave("mfma trans valu valu") { qk(0) tail(-1) }
    ```
  }];
  let arguments = (ins UnitAttr:$joined, Tile_ClusterKind:$kind, OptionalAttr<I64Attr>:$priority,
      OptionalAttr<StrAttr>:$interleave, Tile_PlaceArrayAttr:$places);
  let assemblyFormat = [{
    (`joined` $joined^)? $kind (`priority` `(` $priority^ `)`)? (`interleave` `(` $interleave^ `)`)?
    ` ` `{` custom<Places>($places) `}` attr-dict
  }];
  let hasVerifier = 1;
}

//===-- Memory -----------------------------------------------------------------------------------===//

def Tile_Vector : AnyTypeOf<[Tile_Rows, Tile_Columns], "row or column values">;
def Tile_Scalar : AnyTypeOf<[F32, I32, BF16, F16, I<8>], "number">;
def Tile_Mappable : AnyTypeOf<[Tile_NumberFrag, Tile_Rows, Tile_Columns, Tile_Scalar],
    "a fragment, row values, column values or a number (f32, i32, bf16, f16, i8)">;

include "Tile/IR/TileMemoryOps.td"

def Tile_StoreRowsOp : Tile_Op<"store_rows", [MemoryEffects<[MemWrite]>]> {
  let summary = "one number per row into a (batch, head, row) view";
  let description = [{ Rows at or beyond the view's extent are not written. }];
  let arguments = (ins Tile_LaneRows:$value, Tile_View:$view, I32:$batch, I32:$head, I32:$row);
  let assemblyFormat = [{
    $value `,` $view `[` $batch `,` $head `,` $row `]` attr-dict `:` type($value) `,` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_CombineOp : Tile_Op<"combine", [MemoryEffects<[MemRead, MemWrite]>, Tile_LdsScratchOpInterface]> {
  let summary = "folds the partial results of split KV into rows of O, and of LSE";
  let description = [{
    `partial` is (batch and slice, row, head, element) and `partial_lse` (batch and slice, head, row),
    with `splits` slices of each batch one after the other. Rows `row` to `row` + `rows` - 1 of one
    head become the mean of the slices' rows, weighted by exp(LSE); with `lse` the logarithm of the
    sum of the weights is written too. Slices whose LSE is -inf count nothing; a row without others
    is 0, with LSE -inf. Slices are added in their order, whatever the timing.

    A wave's lanes lie along rows, four elements each: `rows` is how many rows so fit into a wave. Loads of eight slices
    are under way at once, or as many as `at_once` says: each takes scalar registers. Where rows of LSE do not lie one
    behind the other, its view is (row, 1), with row `row` for the first.

    With `split_waves` the workgroup has `rows` rows, each of as many of its waves, side by side. They share the row's
    slices, and lanes that a row leaves have slices of their own: a load of a wave takes `64 / lanes of a row` slices, and
    one descriptor serves all loads of a turn. Their LSE come by one load. What waves have folded passes through LDS, where
    `tile-allocate-lds` finds a place, and the first wave of each row puts it together, always in the same order.

    ```mlir
    tile.kernel @fold(%partial: !tile.view<?x?x?x64xf32>, %partial_lse: !tile.view<?x?x?xf32>,
        %o: !tile.view<?x?x?x64xbf16>, %splits: i32) target("gfx950") waves(4) {
      %batch, %head, %first = tile.block_id %o rows(16) : <?x?x?x64xbf16>
      %row = tile.wave_row %first rows(4)
      tile.combine %partial, %partial_lse splits(%splits) into %o[%batch, %row, %head] rows(4)
          : <?x?x?x64xf32>, <?x?x?xf32>, <?x?x?x64xbf16>
    }
    ```
  }];
  let arguments = (ins Tile_View:$partial, Tile_View:$partial_lse, I32:$splits, Tile_View:$o,
      Optional<Tile_View>:$lse, I32:$batch, I32:$head, I32:$row, I64Attr:$rows,
      DefaultValuedAttr<I64Attr, "8">:$at_once, UnitAttr:$split_waves, OptionalAttr<I64Attr>:$lds_offset);
  let assemblyFormat = [{
    $partial `,` $partial_lse `splits` `(` $splits `)` `into` $o (`and` $lse^)? `[` $batch `,` $row `,` $head `]`
    `rows` `(` $rows `)` (`at_once` `(` $at_once^ `)`)? (`split_waves` $split_waves^)? (`at` `(` $lds_offset^ `)`)? attr-dict `:` type($partial) `,` type($partial_lse) `,` type($o)
    (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements that a lane holds of its row: a load of 16 bytes.
    static constexpr int64_t kElementsOfLane = 4;
    /// Slices whose loads are under way at once, as a rule.
    static constexpr int64_t kUsualAtOnce = 8;
    /// Lanes side by side in a row of `columns` elements, a power of two; and the rows of a wave.
    static int64_t lanesOfRow(int64_t columns) {
      return ::llvm::PowerOf2Ceil((columns + kElementsOfLane - 1) / kElementsOfLane);
    }
    static int64_t rowsOfWave(int64_t columns) { return ::hocket::kWaveLanes / lanesOfRow(columns); }
    int64_t getLanesOfRow() { return lanesOfRow(getColumns()); }
    /// Elements of a row.
    int64_t getColumns() { return getO().getType().getShape()[3]; }
    /// Numbers of 4 bytes that a lane of each wave hands to the others: a reference, a sum, and its elements.
    static constexpr int64_t kExchanged = kElementsOfLane + 2;
    int64_t getScratchBytes();
  }];
}

/// What ops that read a slot say of themselves as ring accesses.
defvar readsLds = [{
    SlotAccess getSlotAccess() { return SlotAccess::Read; }
    ::hocket::Result<std::optional<::hocket::LdsUse>> getLdsUse(const ::hocket::ArchInfo &arch);
}];

include "Tile/IR/TileRingOps.td"

//===-- Computation on fragments and rows --------------------------------------------------------===//

def Tile_FragOrRows : AnyTypeOf<[Tile_Frag, Tile_Rows, Tile_Columns], "fragment, row or column values">;
def Tile_MatrixFragOrRows : AnyTypeOf<[Tile_MatrixFrag, Tile_LaneRows], "fragment or row values">;

def Tile_FillOp : Tile_Op<"fill", [NamedResults, Pure]> {
  let summary = "a fragment, row or column values with one number everywhere";
  let arguments = (ins F32Attr:$value);
  let results = (outs Tile_FragOrRows:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [NamedResults, Pure]> {
  let summary = "whole blocks of rows of an accumulator; moves nothing";
  let arguments = (ins Tile_Frag:$source, I64Attr:$first_row);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$source `from` $first_row attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ConcatOp : Tile_Op<"concat", [NamedResults, Pure]> {
  let summary = "accumulators, packed or not, one below the other; moves nothing";
  let arguments = (ins Variadic<Tile_Frag>:$sources);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$sources attr-dict `:` type($sources) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_NegateOp : Tile_Op<"negate", [NamedResults, Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "the negated fragment where the (uniform) condition holds, else the fragment";
  let arguments = (ins Tile_FloatFrag:$source, I1:$condition);
  let results = (outs Tile_FloatFrag:$result);
  let assemblyFormat = "$source `when` $condition attr-dict `:` type($source)";
}

def Tile_ScaleOp : Tile_Op<"scale", [NamedResults, Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "the fragment times a uniform number, computed in f32 and rounded back";
  let arguments = (ins Tile_MatrixFrag:$source, F32:$factor);
  let results = (outs Tile_MatrixFrag:$result);
  let assemblyFormat = "$source `by` $factor attr-dict `:` type($source)";
}

def Tile_MmaOp : Tile_Op<"mma", [NamedResults, Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs x rhs on the matrix unit";
  let description = [{
    The depth of both operands must run in the same order: `lhs` with `rhs`, `lhs_acc` with `rhs_acc`. A sum
    that starts from zero starts from a `tile.fill` of zero.

    Floats are summed in f32, i8 in i32. The instruction is chosen by both operands' types from those that the target
    has (docs/ElementTypes.md): the floats of 8 and 4 bits may differ, so that e4m3 is multiplied by e5m2.

    With `scales`, each 32 of the depth of a row of `lhs` and of a column of `rhs` are multiplied by a power of two, as
    the mx formats have it. Both operands are then floats of 8 or 4 bits of a depth of a multiple of 64.

    ```mlir
    %sum = tile.mma %a, %b, %acc : <64x64xf8E4M3FN, lhs>, <64x32xf8E5M2, rhs>, <64x32xf32, acc>
    %sum = tile.mma %a, %b, %acc : <64x64xi8, lhs>, <64x32xi8, rhs>, <64x32xi32, acc>
    %sum = tile.mma %a, %b, %acc scales(%of_a, %of_b) : <64x64xf8E4M3FN, lhs>, <64x32xf4E2M1FN, rhs>, <64x32xf32, acc>,
        !tile.frag<64x2xf8E8M0FNU, lhs_scale>, !tile.frag<2x32xf8E8M0FNU, rhs_scale>
    ```
  }];
  let arguments = (ins Tile_ProductFrag:$lhs, Tile_ProductFrag:$rhs, Tile_ProductFrag:$acc, Variadic<Tile_ScaleFrag>:$scales);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`scales` `(` $scales^ `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc) (`,` type($scales)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc), [{
    build($_builder, $_state, acc.getType(), lhs, rhs, acc, ::mlir::ValueRange());
  }]>];
  let hasVerifier = 1;
}

def Tile_MaskOp : Tile_Op<"mask", [
    NamedResults, Pure, AttrSizedOperandSegments, AllTypesMatch<["scores", "result"]>, Tile_MaskOpInterface]> {
  let summary = "scores of keys that the query may not see become -inf";
  let description = [{
    With key j = tile x rows + row of the fragment, and query column c: keeps the score if
    `j < below` and, where given, `j <= diagonal + c`. A tile that neither cuts is left alone by a branch;
    where the loop says that it is whole (`cut_right`), `tile-pipeline` leaves the op out.

    `above` hides what lies before: it keeps the score if `j >= above + c` (`cut_left`). Where tiles of queries
    pass, row j is a query, column c a key, and this is the causal mask.
  }];
  let arguments = (ins Tile_MatrixFrag:$scores, I32:$tile, I32:$below, Optional<I32>:$diagonal,
      Optional<I32>:$above);
  let results = (outs Tile_MatrixFrag:$result);
  let assemblyFormat = [{
    $scores `tile` `(` $tile `)` `below` `(` $below `)` (`diagonal` `(` $diagonal^ `)`)?
    (`above` `(` $above^ `)`)? attr-dict `:` type($scores)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$scores, "::mlir::Value":$tile, "::mlir::Value":$below,
      "::mlir::Value":$diagonal), [{
    build($_builder, $_state, scores, tile, below, diagonal, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getMasked() { return getScores(); }
    int64_t getTileExtent() { return getScores().getType().getRows(); }
    ::llvm::SmallVector<TileBound> getTileBounds();
  }];
}

include "Tile/IR/TileSoftmaxOps.td"
include "Tile/IR/TileMatrixOps.td"
include "Tile/IR/TileValueOps.td"
include "Tile/IR/TileClusterOps.td"

#endif // HOCKET_TILE_OPS_TD
