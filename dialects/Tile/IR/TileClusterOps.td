// Operations of the stage `clusters`: where waves wait, meet and change priority. Included by TileOps.td.
#ifndef HOCKET_TILE_CLUSTER_OPS_TD
#define HOCKET_TILE_CLUSTER_OPS_TD

def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "waits until at most so many operations of a counter are in flight";
  let description = [{ A counter that is absent is not waited for. }];
  let arguments = (ins OptionalAttr<I64Attr>:$vm, OptionalAttr<I64Attr>:$lgkm);
  let assemblyFormat = "(`vm` `(` $vm^ `)`)? (`lgkm` `(` $lgkm^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await"> {
  let summary = "waits for fetches and LDS accesses of this wave, said in tiles";
  let description = [{
    `fetches` waits for all fetches that this wave has issued but the newest ones, whose rings
    `but` lists, oldest first: those may stay in flight, and beside them as many instructions as `loads` says, of loads
    into registers that began behind the last fetch that is waited for. `reads` waits for all LDS reads and for all
    that was put into LDS.
    `tile-synchronize` turns it into a `tile.wait` with instruction counts.
  }];
  let arguments = (ins UnitAttr:$fetches, Variadic<Tile_Ring>:$in_flight, OptionalAttr<I64Attr>:$loads,
      UnitAttr:$reads);
  let assemblyFormat = [{
    (`fetches` $fetches^)? (`but` `(` $in_flight^ `:` type($in_flight) `)`)? (`loads` `(` $loads^ `)`)?
    (`reads` $reads^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "bool":$fetches, "::mlir::ValueRange":$inFlight, "bool":$reads), [{
    build($_builder, $_state, fetches, inFlight, ::mlir::IntegerAttr(), reads);
  }]>];
  let hasVerifier = 1;
}

def Tile_EnterOp : Tile_Op<"enter"> {
  let summary = "a cluster begins; it ends at the next barrier";
  let description = [{
    Says of the operations up to the next barrier what the schedule said of their cluster. With
    `priority` the wave's priority at issue changes here.
  }];
  let arguments = (ins Tile_ClusterKind:$kind, OptionalAttr<I64Attr>:$priority,
      OptionalAttr<StrAttr>:$interleave);
  let assemblyFormat = [{
    $kind (`priority` `(` $priority^ `)`)? (`interleave` `(` $interleave^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_FenceOp : Tile_Op<"fence"> {
  let summary = "nothing is scheduled across it";
  let description = [{
    Between the steps of a memory cluster: they issue in the order in which the schedule has them.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "all waves of the workgroup meet; nothing is scheduled across it";
  let description = [{
    With `group(g)` only the waves of wave group g (of two: the first and the second half) execute
    it. One such barrier more for one group is a stagger: from then on that group runs one cluster
    behind the other.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$group);
  let assemblyFormat = "(`group` `(` $group^ `)`)? attr-dict";
  let hasVerifier = 1;
}

#endif // HOCKET_TILE_CLUSTER_OPS_TD
