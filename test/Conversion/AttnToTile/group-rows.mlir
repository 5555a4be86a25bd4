// A wave's rows are the heads that share K and V: of one query, keys are fetched once for all of them.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// The grid counts queries (or the parts of their groups that fit into a wave) and KV heads.
// CHECK-LABEL: tile.kernel @decode(
// CHECK-SAME: %group_grid: !tile.view<?x?x?x128xbf16> {tile.address = "q", tile.bind = "group_grid", tile.sizes = ["batch", "seq_q * ceildiv(heads, kv_heads * 32)", "kv_heads"], tile.strides = ["0", "0", "0"]}
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[FIRST:.*]] = tile.block_id %group_grid rows(4)
// CHECK: %[[GROUP:.*]], %{{.*}} = tile.divmod %{{.*}} by
// CHECK: %[[PARTS:.*]] = arith.divui
// CHECK: %[[BLOCK:.*]], %{{.*}} = tile.divmod %[[FIRST]] by %[[PARTS]]
// CHECK: %[[ITEM:.*]] = tile.wave_row %[[FIRST]] rows(1)
// CHECK: %[[QUERY:.*]], %[[PART:.*]] = tile.divmod %[[ITEM]] by %[[PARTS]]
// CHECK: %[[HEADS:.*]] = arith.minsi
// CHECK: tile.ring %k[%[[BATCH]], %[[HEAD]]]
// CHECK: %[[OFQUERY:.*]] = tile.select %q[%[[BATCH]], %[[QUERY]]] : <?x?x?x128xbf16> -> <?x128xbf16>
// CHECK: %[[ROWS:.*]] = tile.slice_rows %[[OFQUERY]] from %{{.*}} size %[[HEADS]]
// CHECK: tile.load %[[ROWS]][%c0_i32]
// All rows of the wave see the same keys, each wave one more than the one before.
// CHECK: arith.addi %[[QUERY]], %c1_i32
// CHECK: %[[BELOW:.*]] = arith.minsi
// A wave whose query is not there sees nothing.
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[QUERY]], %seq_q
// CHECK: %[[SEEN:.*]] = arith.select %[[THERE]], %{{.*}}, %c0_i32
// CHECK: cut_right(%[[BELOW]] within 3) seen(%c0_i32 to %[[SEEN]])
// CHECK: tile.mask %{{.*}} below(%[[BELOW]]) :
// CHECK: %[[OUT:.*]] = tile.select %o[%[[BATCH]], %[[QUERY]]]
// CHECK: %[[OUTROWS:.*]] = tile.slice_rows %[[OUT]] from
// CHECK: tile.store %{{.*}}, %[[OUTROWS]][%c0_i32]
// CHECK: %[[LSE:.*]] = tile.select %lse[%[[BATCH]]] : <?x?x?xf32> -> <?x?xf32>
// CHECK: %[[LSEROWS:.*]] = tile.slice_rows %[[LSE]] from
// CHECK: tile.store %{{.*}}, %[[LSEROWS]][%c0_i32, %[[QUERY]]] along(0)
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @decode element_type(bf16) head_dim(128) mask(causal) lse group_rows waves(4) kv_tile(64)

// -----

// Without a mask all waves end where keys end; of a slice, batch and slice are one dimension of the grid.
// CHECK-LABEL: tile.kernel @slices(
// CHECK-SAME: tile.sizes = ["batch * num_splits", "seq_q * ceildiv(heads, kv_heads * 32)", "kv_heads"]
// CHECK: %[[PLACE:.*]], %{{.*}}, %{{.*}} = tile.block_id %group_grid rows(4)
// CHECK: tile.divmod %[[PLACE]] by %num_splits
// CHECK: cut_right(%{{.*}} within 0)
// CHECK: tile.select %partial[%[[PLACE]],
// CHECK: tile.select %partial_lse[%[[PLACE]]]
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @slices element_type(bf16) head_dim(128) split group_rows waves(4) kv_tile(64)

// -----

// Waves that split keys have one query for all, and each 32 of the 128 keys of a tile: part 4 t + wave of them.
// CHECK-LABEL: tile.kernel @keys_of_waves(
// CHECK: %{{.*}}, %[[WAVE:.*]] = tile.wave_grid rows(1) columns(4)
// CHECK: tile.block_id %group_grid rows(1)
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
// CHECK: %[[HEADS:.*]] = arith.select %[[FIRST]], %{{.*}}, %c0_i32
// CHECK: tile.slice_rows %{{.*}} from %{{.*}} size %[[HEADS]]
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @keys_of_waves element_type(bf16) head_dim(128) group_rows split_waves waves(4) kv_tile(128)
