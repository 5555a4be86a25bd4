// Sequences of lengths of their own: tensors become views of the workgroup's sequence at the entry.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// Packed tensors have no stride from batch to batch; lists and the longest length follow.
// CHECK-LABEL: tile.kernel @packed(
// CHECK-SAME: %q: !tile.view<?x?x?x128xbf16> {tile.bind = "q", tile.sizes = ["batch", "total_q", "heads"], tile.strides = ["0", "q_stride_s", "q_stride_h"]}
// CHECK-SAME: %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k", tile.sizes = ["batch", "total_kv", "kv_heads"], tile.strides = ["0", "k_stride_s", "k_stride_h"]}
// CHECK-SAME: %lse: !tile.view<?x?x?xf32> {tile.bind = "lse", tile.sizes = ["batch", "heads", "total_q"], tile.strides = ["0", "total_q"]}
// CHECK-SAME: %cu_seqlens_q: !tile.view<?xi32> {tile.bind = "cu_seqlens_q", tile.sizes = ["batch + 1"]
// CHECK-SAME: %cu_seqlens_k: !tile.view<?xi32> {tile.bind = "cu_seqlens_k", tile.sizes = ["batch + 1"]
// CHECK-SAME: %min_seqlen_q: i32 {tile.bind = "min_seqlen_q"}
// CHECK-SAME: %seq_q: i32 {tile.bind = "seq_q"}
// The grid has room for the longest sequence; a sequence ends where the next one begins, and nowhere behind that room.
// CHECK: %[[BATCH:.*]], %{{.*}}, %[[ROW:.*]] = tile.block_id %q rows({{.*}}) of(%seq_q) last_rows_first
// CHECK: %[[LOADED:.*]] = tile.load %cu_seqlens_q[%[[BATCH]]] : <?xi32> -> i32
// CHECK: %[[FIRST:.*]] = arith.maxsi %[[LOADED]], %c0_i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[BATCH]], %c1_i32
// CHECK: %[[END:.*]] = tile.load %cu_seqlens_q[%[[NEXT]]]
// CHECK: %[[SIZE:.*]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[ALL:.*]] = arith.minsi %[[SIZE]], %seq_q
// Short ones count as empty.
// CHECK: %[[LONG:.*]] = arith.cmpi sgt, %[[ALL]], %min_seqlen_q
// CHECK: %[[ROWS:.*]] = arith.select %[[LONG]], %[[ALL]], %c0_i32
// CHECK: tile.load %cu_seqlens_k[%[[BATCH]]]
// CHECK: %[[Q:.*]] = tile.slice_rows %q from %[[FIRST]] size %[[ROWS]] :
// CHECK: %[[K:.*]] = tile.slice_rows %k from %[[FIRSTKEY:.*]] size %[[KEYS:.*]] :
// CHECK: tile.slice_rows %v from %[[FIRSTKEY]] size %[[KEYS]] :
// CHECK: %[[O:.*]] = tile.slice_rows %o from %[[FIRST]] size %[[ROWS]] :
// CHECK: %[[LSE:.*]] = tile.slice_rows %lse from %[[FIRST]] size %[[ROWS]] along(2)
// Corner and bounds are the sequence's own; a workgroup behind its end visits nothing.
// CHECK: %[[LENGTH:.*]] = tile.dim %[[K]], 1
// CHECK: %[[QUERIES:.*]] = tile.dim %[[Q]], 1
// CHECK: arith.subi %[[LENGTH]], %[[QUERIES]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[ROW]], %[[QUERIES]]
// CHECK: arith.select %[[EXISTS]], %{{.*}}, %c0_i32
// CHECK: tile.store %{{.*}}, %[[O]][
// CHECK: tile.store_rows %{{.*}}, %[[LSE]][
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @packed element_type(bf16) head_dim(128) mask(causal) lse packed_queries packed_keys

// -----

// Lengths alone cut dense tensors, each sequence from its first row.
// CHECK-LABEL: tile.kernel @lengths(
// CHECK-SAME: tile.sizes = ["batch", "seq_kv", "kv_heads"], tile.strides = ["k_stride_b", "k_stride_s", "k_stride_h"]
// CHECK-NOT: cu_seqlens
// CHECK: %[[USED:.*]] = tile.load %seqused_k[%{{.*}}] : <?xi32> -> i32
// CHECK: tile.slice_rows %k from %c0_i32 size %[[USED]] :
// CHECK-NOT: tile.slice_rows %q
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @lengths element_type(bf16) head_dim(128) key_lengths

// -----

// Rows that are used are no more than there are. What modifications take of lengths is computed from the sequence's.
// CHECK-LABEL: tile.kernel @modified(
// CHECK-SAME: %reach: i32 {tile.bind = "reach"}
// CHECK-SAME: ["max((({{.*}}seq_kv{{.*}}seq_q{{.*}}reach{{.*}} <= 268435456", "'seq_kv - seq_q + reach' may be at most 268435456 in size"]
// CHECK: %[[SIZE:.*]] = arith.subi
// CHECK: %[[USED:.*]] = tile.load %seqused_q[
// CHECK: arith.minsi %[[SIZE]], %[[USED]]
// CHECK: %[[KEYS:.*]] = tile.dim %k{{.*}}, 1
// CHECK: %[[QUERIES:.*]] = tile.dim %q{{.*}}, 1
// CHECK: %[[SHIFT:.*]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK: arith.addi %[[SHIFT]], %reach
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @modified element_type(bf16) head_dim(128) packed_queries query_lengths score_mod(@far)
attn.score_mod @far(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %shift: i32 {attn.value = "seq_kv - seq_q + reach"}) {
  %sum = arith.addi %query, %shift : i32
  %number = arith.sitofp %sum : i32 to f32
  %result = arith.addf %score, %number : f32
  attn.yield %result : f32
}
