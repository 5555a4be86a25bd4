// The query heads that share K and V are rows, beside the queries: keys are fetched once for all pairs of a workgroup.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// The grid counts the pairs of each KV head's group, 32 a wave, the heads of a query one after the other.
// CHECK-LABEL: tile.kernel @decode(
// CHECK-SAME: %group_grid: !tile.view<?x?x?x128xbf16> {tile.address = "q", tile.bind = "group_grid", tile.sizes = ["batch", "seq_q * (heads / kv_heads)", "kv_heads"], tile.strides = ["0", "0", "0"]}
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[BLOCK:.*]] = tile.block_id %group_grid rows(128)
// CHECK: %[[GROUP:.*]], %{{.*}} = tile.divmod %{{.*}} by
// CHECK: %[[FIRSTHEAD:.*]] = arith.muli %[[HEAD]], %[[GROUP]]
// CHECK: tile.divmod %[[BLOCK]] by %[[GROUP]]
// CHECK: %[[PAIR:.*]] = tile.wave_row %[[BLOCK]] rows(32)
// CHECK: %[[QUERY:.*]], %{{.*}} = tile.divmod %[[PAIR]] by %[[GROUP]]
// Each row has a query of its own, found bit by bit.
// CHECK: tile.map(%{{.*}} = %{{.*}} : i32, %{{.*}} = %[[GROUP]] : i32, %{{.*}} = %[[QUERY]] : i32)
// CHECK: arith.cmpi ule
// CHECK: tile.ring %k_slice[%[[BATCH]], %[[HEAD]]]
// CHECK: %[[OFBATCH:.*]] = tile.select %q[%[[BATCH]]] : <?x?x?x128xbf16> -> <?x?x128xbf16>
// CHECK: %[[HEADS:.*]] = tile.slice_rows %[[OFBATCH]] from %[[FIRSTHEAD]] size %[[GROUP]] along(1)
// CHECK: tile.load %[[HEADS]][%[[PAIR]], %c0_i32] over [0, 1]
// A wave whose first query is not there sees nothing.
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[QUERY]], %seq_q
// CHECK: arith.select %[[THERE]], %{{.*}}, %c0_i32
// The diagonal has steps: a mask of the rows' queries, and where keys end.
// CHECK: tile.for_tiles
// CHECK: tile.mask %{{.*}} below(%{{.*}}) :
// CHECK: %[[OUT:.*]] = tile.select %o[%[[BATCH]]]
// CHECK: %[[OUTHEADS:.*]] = tile.slice_rows %[[OUT]] from %[[FIRSTHEAD]] size %[[GROUP]] along(1)
// CHECK: tile.store %{{.*}}, %[[OUTHEADS]][%[[PAIR]], %c0_i32] over [0, 1]
// CHECK: %[[LSE:.*]] = tile.select %lse[%[[BATCH]]] : <?x?x?xf32> -> <?x?xf32>
// CHECK: %[[LSEHEADS:.*]] = tile.slice_rows %[[LSE]] from %[[FIRSTHEAD]] size %[[GROUP]] along(0)
// CHECK: tile.store %{{.*}}, %[[LSEHEADS]][%c0_i32, %[[PAIR]]] over [1, 0]
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @decode element_type(bf16) head_dim(128) mask(causal) lse group_rows waves(4) kv_tile(64)

// -----

// Without a mask all rows end where keys end; of a slice, batch and slice are one dimension of the grid.
// CHECK-LABEL: tile.kernel @slices(
// CHECK-SAME: tile.sizes = ["batch * num_splits", "seq_q * (heads / kv_heads)", "kv_heads"]
// CHECK: %[[PLACE:.*]], %{{.*}}, %{{.*}} = tile.block_id %group_grid rows(128)
// CHECK: tile.divmod %[[PLACE]] by %num_splits
// CHECK: cut_right(%{{.*}} within 0)
// CHECK: tile.select %partial[%[[PLACE]]]
// CHECK: tile.select %partial_lse[%[[PLACE]]]
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @slices element_type(bf16) head_dim(128) split group_rows waves(4) kv_tile(64)

// -----

// Waves that split keys have the same 32 rows, and each 32 of the 128 keys of a tile: part 4 t + wave of them.
// CHECK-LABEL: tile.kernel @keys_of_waves(
// CHECK: %{{.*}}, %[[WAVE:.*]] = tile.wave_grid rows(1) columns(4)
// CHECK: tile.block_id %group_grid rows(32)
// CHECK: tile.for_tiles %[[T:.*]] = 0 to
// CHECK: tile.read %k_ring[%[[T]]] part(%[[WAVE]]) : <128x128xbf16> -> <32x128xbf16, lhs>
// CHECK: %[[BEFORE:.*]] = arith.muli %[[T]], %c4_i32
// CHECK: %[[TILE:.*]] = arith.addi %[[BEFORE]], %[[WAVE]]
// CHECK: tile.mask %{{.*}} tile(%[[TILE]]) below(%{{.*}}) {{.*}}tile.rises_with_loop
// CHECK: tile.read_transposed %v_ring[%[[T]]] part(%[[WAVE]]) : <128x128xbf16> -> <128x32xbf16, lhs_acc
// What they have summed is brought to the largest of their references, and summed.
// CHECK: %[[REFERENCE:.*]] = tile.reduce_waves max %{{.*}} : !tile.rows<32xf32>
// CHECK: tile.reduce_waves sum %{{.*}} : !tile.rows<32xf32>
// CHECK: tile.reduce_waves sum %{{.*}} : !tile.frag<128x32xf32, acc
// The first of them stores it.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[WAVE]], %c0_i32
// CHECK: %[[STORED:.*]] = arith.select %[[FIRST]], %{{.*}}, %c0_i32
// CHECK: tile.slice_rows %{{.*}} from %{{.*}} size %[[STORED]] along(0)
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @keys_of_waves element_type(bf16) head_dim(128) group_rows split_waves waves(4) kv_tile(128)
