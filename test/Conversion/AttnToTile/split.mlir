// Split KV: the producer is the forward kernel on a slice of the keys, combine is one op.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// Partial results go to the workspace: O in f32 by batch and slice, behind it the LSE, whether it is asked for or not.
// CHECK-LABEL: tile.kernel @slices
// CHECK-SAME: %partial: !tile.view<?x?x?x64xf32> {tile.address = "workspace", tile.bind = "partial", tile.sizes = ["batch * num_splits", "seq_q", "heads"]
// CHECK-SAME: %partial_lse: !tile.view<?x?x?xf32> {tile.address = "workspace + 4 * batch * num_splits * heads * seq_q * head_dim_v"
// CHECK-SAME: %num_splits: i32 {tile.bind = "num_splits"}
// CHECK-SAME: tile.workspace = "4 * batch * num_splits * heads * seq_q * (head_dim_v + 1)"

// A workgroup has a batch and a slice; it takes its share of the tiles, the first few slices one more than the others.
// CHECK: %[[PLACE:.*]], %{{.*}}, %{{.*}} = tile.block_id %partial rows(256)
// CHECK: %[[BATCH:.*]], %[[SLICE:.*]] = tile.divmod %[[PLACE]] by %num_splits
// CHECK: %[[TILES:.*]] = arith.divui
// CHECK: %[[SHARE:.*]], %[[LONGER:.*]] = tile.divmod %[[TILES]] by %num_splits
// CHECK: arith.cmpi slt, %[[SLICE]], %[[LONGER]]
// CHECK: arith.minsi %[[SLICE]], %[[LONGER]]
// CHECK: %k_slice = tile.slice_rows %k from %[[FIRST:.*]] size %[[SIZE:.*]] :
// CHECK: %v_slice = tile.slice_rows %v from %[[FIRST]] size %[[SIZE]] :
// From there on nothing but the view is different: where the keys end is where the slice ends.
// CHECK: %[[KEYS:.*]] = tile.dim %k_slice, 1
// CHECK: tile.ring %k_slice[%[[BATCH]], %{{.*}}]

// CHECK: %[[UP:.*]] = arith.addi %[[KEYS]],
// CHECK: %[[COUNT:.*]] = arith.divui %[[UP]],
// CHECK: tile.for_tiles %t = 0 to %[[COUNT]] cut_right(%[[KEYS]] within 0) init
// CHECK: tile.mask %{{.*}} tile(%t) below(%[[KEYS]]) :
// CHECK: tile.store %{{.*}}, %partial[%[[PLACE]],
// CHECK: tile.store_rows %{{.*}}, %partial_lse[%[[PLACE]],
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @slices element_type(bf16) head_dim(64) split waves(8) kv_tile(64)

// -----

// Under a causal mask the tiles that some row of the block sees are divided, and the diagonal moves with the slice.
// CHECK-LABEL: tile.kernel @causal
// CHECK: %[[SHIFT:.*]] = arith.subi %seq_kv, %seq_q
// CHECK: tile.slice_rows %k from %[[FIRST:.*]] size
// CHECK: %[[MOVED:.*]] = arith.subi %[[SHIFT]], %[[FIRST]]
// CHECK: %[[DIAGONAL:.*]] = arith.addi %wave_row, %[[MOVED]]
// CHECK: tile.mask {{.*}} diagonal(%[[DIAGONAL]])
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @causal element_type(bf16) head_dim(64) mask(causal) split

// -----

// Without LSE there is no argument for it.
// CHECK-LABEL: tile.kernel @fold(
// CHECK-SAME: %partial: !tile.view<?x?x?x128xf32>
// CHECK-NOT: "lse"
// CHECK-SAME: ["o_stride_b % 8 == 0", "o_stride_b must be a multiple of 8 elements"]
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[ROW:.*]] = tile.block_id %o rows(4)
// CHECK: %wave_row = tile.wave_row %[[ROW]] rows(2)
// CHECK: tile.combine %partial, %partial_lse splits(%num_splits) into %o[%[[BATCH]], %wave_row, %[[HEAD]]] rows(2) :
attn.combine @fold element_type(f16) head_dim(128) waves(2)

// -----

// CHECK-LABEL: tile.kernel @with_lse
// CHECK: tile.combine %partial, %partial_lse splits(%num_splits) into %o and %lse[
attn.combine @with_lse element_type(bf16) head_dim(72) lse

// -----

// Four waves share a row.
// CHECK-LABEL: tile.kernel @fold_shared
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[ROW:.*]] = tile.block_id %o rows(2)
// CHECK: tile.combine %partial, %partial_lse splits(%num_splits) into %o[%[[BATCH]], %[[ROW]], %[[HEAD]]] rows(2) split_waves :
attn.combine @fold_shared element_type(bf16) head_dim(128) split_waves waves(8)

// -----

// CHECK-LABEL: tile.kernel @fold_one_row
// CHECK: "heads * seq_q * head_dim_v < 1048576"
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[ROW:.*]] = tile.block_id %o rows(1)
// CHECK: tile.combine %partial, %partial_lse splits(%num_splits) into %o[%[[BATCH]], %[[ROW]], %[[HEAD]]] rows(1) split_waves :
attn.combine @fold_one_row element_type(bf16) head_dim(128) split_waves waves(4)
