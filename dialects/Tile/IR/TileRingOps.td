// Operations that move tiles through rings in LDS: fetches, look-ups of pages, parts in registers, puts, reads.
// Included by TileOps.td.
#ifndef HOCKET_TILE_RING_OPS_TD
#define HOCKET_TILE_RING_OPS_TD

def Tile_PagesOrPlaces : AnyTypeOf<[Tile_Pages, Tile_Places], "pages of a tile's rows, or places of them">;

def Tile_FetchOp : Tile_Op<"fetch", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>, Tile_RingAccessOpInterface]> {
  let summary = "starts the asynchronous copy of a tile from global memory into its ring slot";
  let description = [{
    All waves of the workgroup take part, each with its share. The data bypass registers. Rows
    beyond the view's extent arrive as zero. In the `clusters` stage `slot` says which slot.

    With `from(%n)` the ring's tile number `tile` is tile number `n` of the view, whichever that is: the same number
    in all waves, and any; beyond the view, negative ones too, all rows arrive as zero.

    Of a ring with pages, `pages` says which ones the tile's rows are in: what `tile.look_up` gave for this tile (that
    of `from`, if that is there), or what `tile.locate` made of it.
  }];
  let arguments = (ins Tile_Ring:$ring, I32:$tile, Optional<I32>:$from, Optional<Tile_PagesOrPlaces>:$pages,
      Optional<I32>:$slot);
  let assemblyFormat = [{
    $ring `[` $tile `]` (`from` `(` $from^ `)`)? (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`slot` `(` $slot^ `)`)? attr-dict `:` type($ring)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    SlotAccess getSlotAccess() { return SlotAccess::Write; }
    bool isAsynchronous() { return true; }
  }];
}

def Tile_LookUpOp : Tile_Op<"look_up", [NamedResults, MemoryEffects<[MemRead]>]> {
  let summary = "starts to load the numbers of the pages that the rows of a tile are in";
  let description = [{
    `table` (i32) has the numbers of a sequence's pages, in order. The op does not wait for what it loads: who fetches
    the tile later does, so that a look-up a tile or two ahead costs no time. Entries of pages behind the ring's last
    row, or behind the table's end, are not read.

    A ring whose fetches come with look-ups has one in the same step as each fetch: waits for fetches count both.
    `tile.retain` takes what is looked up last and not used.

    ```mlir
    tile.step @fetch_k -> !tile.pages<64> {
      %ahead = tile.look_up %table for %k_ring[%next] : <?xi32>, <64x128xbf16>
      tile.fetch %k_ring[%t] pages(%pages : !tile.pages<64>) : !tile.ring<64x128xbf16>
      tile.yield %ahead : !tile.pages<64>
    }
    ```
  }];
  let arguments = (ins Tile_View:$table, Tile_Ring:$ring, I32:$tile);
  let results = (outs Tile_Pages:$pages);
  let assemblyFormat = [{
    $table `for` $ring `[` $tile `]` attr-dict `:` custom<TableTypes>(type($table), type($ring), type($pages))
  }];
  let hasVerifier = 1;
}

def Tile_LocateOp : Tile_Op<"locate", [NamedResults, Pure]> {
  let summary = "where the rows of a tile lie, of which the pages are known";
  let description = [{
    What a fetch does with page numbers before it can ask for anything, for itself: a tile ahead it delays nothing.
    `tile` is the tile's number in the sequence, as `from` of the fetch.

    ```mlir
    %places = tile.locate %pages for %k_ring[%t] : !tile.pages<64>, !tile.ring<64x128xbf16> -> !tile.places<64x128xbf16, 4>
    tile.fetch %k_ring[%t] pages(%places : !tile.places<64x128xbf16, 4>) : !tile.ring<64x128xbf16>
    ```
  }];
  let arguments = (ins Tile_Pages:$pages, Tile_Ring:$ring, I32:$tile);
  let results = (outs Tile_Places:$places);
  let assemblyFormat = [{
    $pages `for` $ring `[` $tile `]` attr-dict `:` type($pages) `,` type($ring) `->` type($places)
  }];
  let hasVerifier = 1;
}

def Tile_RetainOp : Tile_Op<"retain", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes sure that page numbers were looked up although nothing uses them, or what follows from them";
  let arguments = (ins Tile_PagesOrPlaces:$pages);
  let assemblyFormat = "$pages attr-dict `:` type($pages)";
}

def Tile_LoadPartOp : Tile_Op<"load_part", [
    NamedResults, AttrSizedOperandSegments, MemoryEffects<[MemRead]>, Tile_RingAccessOpInterface]> {
  let summary = "this wave's part of a tile from global memory into registers";
  let description = [{
    What `tile.fetch` does where the target has no wide load to LDS, in two: this op loads, and a
    later `tile.put` stores. All waves take part. Rows beyond the view's extent arrive as zero. `from` and `pages`
    are those of `tile.fetch`.
  }];
  let arguments = (ins Tile_Ring:$ring, I32:$tile, Optional<I32>:$from, Optional<Tile_Pages>:$pages);
  let results = (outs Tile_Part:$part);
  let assemblyFormat = [{
    $ring `[` $tile `]` (`from` `(` $from^ `)`)? (`pages` `(` $pages^ `:` type($pages) `)`)? attr-dict
    `:` type($ring) `->` type($part)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    SlotAccess getSlotAccess() { return SlotAccess::None; }
    ::mlir::Value getSlot() { return {}; }
    void setSlot(::mlir::Value) {}
    ::mlir::Value getStagedPart() { return getPart(); }
  }];
}

def Tile_PartOrFrag : AnyTypeOf<[Tile_Part, Tile_NumberFrag], "part of a tile or fragment">;

def Tile_PutOp : Tile_Op<"put", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>,
    Tile_RingAccessOpInterface]> {
  let summary = "this wave's part of a tile from registers into its ring slot";
  let description = [{
    Other waves may read the tile after a wait for LDS accesses and a barrier. In the `clusters`
    stage `slot` says which slot.

    A *part* is what `tile.load_part` has loaded. A *fragment* is what the wave has computed, for a
    ring without a view: its memory rows and columns are those of the tile, rounded to the ring's
    element type. The waves fill the tile together: of the tile's rows this wave has those of its
    place along one side of a grid of waves (`rows_part`, a result of `tile.wave_grid`), of the columns
    those along the other (`columns_part`); without parts it has all. No two waves put the same.

    ```mlir
    tile.put %ds, %ds_ring[%t] rows_part(%i) : !tile.frag<64x32xf32, acc>, <64x64xbf16>
    ```
  }];
  let arguments = (ins Tile_Ring:$ring, I32:$tile, Optional<I32>:$slot, Tile_PartOrFrag:$part,
      Optional<I32>:$rows_part, Optional<I32>:$columns_part);
  let assemblyFormat = [{
    $part `,` $ring `[` $tile `]` (`rows_part` `(` $rows_part^ `)`)? (`columns_part` `(` $columns_part^ `)`)?
    (`slot` `(` $slot^ `)`)? attr-dict `:` custom<PutValue>(type($part)) `,` type($ring)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$tile, "::mlir::Value":$slot,
      "::mlir::Value":$part), [{
    build($_builder, $_state, ring, tile, slot, part, ::mlir::Value(), ::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    SlotAccess getSlotAccess() { return SlotAccess::Write; }
    ::mlir::Value getStagedPart() {
      return ::mlir::isa<PartType>(getPart().getType()) ? getPart() : ::mlir::Value();
    }
    ::hocket::Result<std::optional<::hocket::LdsUse>> getLdsUse(const ::hocket::ArchInfo &arch);
  }];
}

def Tile_ReadOp : Tile_Op<"read", [
    NamedResults, AttrSizedOperandSegments, MemoryEffects<[MemRead]>, Tile_RingAccessOpInterface]> {
  let summary = "a tile from LDS into an operand whose depth runs along the tile's columns";
  let description = [{
    As `lhs`, the fragment's rows are the tile's rows; as `rhs`, its columns are.

    With `part`, this wave's place along one side of a grid of waves (a result of `tile.wave_grid`),
    the wave reads only its part of the tile's rows: of a side of n waves, wave i reads the i-th of
    n equal parts. `tile-allocate-lds` looks for a layout in which no wave's reads have conflicts.

    ```mlir
    %lhs = tile.read %b_ring[%t] part(%i) : <256x64xbf16> -> <128x64xbf16, lhs>
    %rhs = tile.read %a_ring[%t] part(%j) : <256x64xbf16> -> <64x64xbf16, rhs>
    ```

    A ring of i8 may have two floats of 4 bits in each byte, the first in its lower half:

    ```mlir
    %lhs = tile.read %b_ring[%t] : <256x64xi8> -> <256x128xf4E2M1FN, lhs>
    ```
  }];
  let arguments = (ins Tile_Ring:$ring, I32:$tile, Optional<I32>:$slot, Optional<I32>:$part);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = [{
    $ring `[` $tile `]` (`part` `(` $part^ `)`)? (`slot` `(` $slot^ `)`)? attr-dict
    `:` type($ring) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$ring,
      "::mlir::Value":$tile, "::mlir::Value":$slot), [{
    build($_builder, $_state, result, ring, tile, slot, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = readsLds;
}

def Tile_ReadTransposedOp : Tile_Op<"read_transposed", [
    NamedResults, AttrSizedOperandSegments, MemoryEffects<[MemRead]>, Tile_RingAccessOpInterface]> {
  let summary = "a tile from LDS into an operand, transposed: depth = row";
  let description = [{
    The depth of the operand runs along the tile's rows, in the order in which a packed accumulator (`rhs_acc`) holds
    it. As `lhs_acc`, the fragment's rows are the tile's columns; as `rhs_acc`, its columns are. What is multiplied by
    one another runs in the same order, so that both operands of a product may be read so.

    With `part`, a result of `tile.wave_grid`, the wave reads only its part of the tile's columns, as in `tile.read` of
    its rows, or, where the fragment has all columns, its part of the rows. Such tiles have a power of two of columns, and a
    target that reads transposed.

    ```mlir
    %lhs = tile.read_transposed %k_ring[%t] part(%i) : <256x128xbf16> -> <32x256xbf16, lhs_acc>
    %rhs = tile.read_transposed %ds_ring[%t] part(%j) : <256x64xbf16> -> <256x32xbf16, rhs_acc>
    %of_keys = tile.read_transposed %v_ring[%t] part(%i) : <256x128xbf16> -> <128x32xbf16, lhs_acc>
    ```
  }];
  let arguments = (ins Tile_Ring:$ring, I32:$tile, Optional<I32>:$slot, Optional<I32>:$part);
  let results = (outs Tile_ProductFrag:$result);
  let assemblyFormat = [{
    $ring `[` $tile `]` (`part` `(` $part^ `)`)? (`slot` `(` $slot^ `)`)? attr-dict `:` type($ring) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$ring,
      "::mlir::Value":$tile, "::mlir::Value":$slot), [{
    build($_builder, $_state, result, ring, tile, slot, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = readsLds;
}

#endif // HOCKET_TILE_RING_OPS_TD
