// Lists of work: what a workgroup works on is an entry, whose rows are queries or heads.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// CHECK-LABEL: tile.kernel @listed(
// CHECK-SAME: %work_list: !tile.view<?x?xi32> {tile.bind = "work_list", tile.sizes = ["work_entries + 1", "6"], tile.strides = ["6"]}
// CHECK-SAME: waves(4)
// CHECK: %[[X:.*]], %{{.*}}, %{{.*}} = tile.workgroup_id ["work_entries * kv_heads"]
// CHECK: %[[TURN:.*]], %[[KVHEAD:.*]] = tile.divmod %[[X]] by %kv_heads
// Entries that there are not are not read. The last column has the order.
// CHECK: %[[COUNT:.*]] = tile.load %work_list[%c0_i32, %c0_i32]
// CHECK: %[[ISTURN:.*]] = arith.cmpi ult, %[[TURN]], %[[COUNT]]
// CHECK: %[[OWN:.*]] = arith.select %[[ISTURN]], %{{.*}}, %c-1_i32
// CHECK: %[[LOADED:.*]] = tile.load %work_list[%[[OWN]], %c5_i32]
// CHECK: %[[ENTRY:.*]] = arith.select %[[ISTURN]], %[[LOADED]], %c-1_i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ENTRY]], %[[COUNT]]
// CHECK: %[[LINE:.*]] = arith.select %[[EXISTS]], %{{.*}}, %c-1_i32
// CHECK: %[[SEQUENCE:.*]] = tile.load %work_list[%[[LINE]], %c0_i32]
// CHECK: arith.cmpi ult, %[[SEQUENCE]], %batch
// CHECK: %[[HEADS:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK: tile.rows_along %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] heads(%[[HEADS]])
// CHECK: tile.store %{{.*}}, %o_lines[%c0_i32, %c0_i32, %c0_i32]
// CHECK: tile.store %{{.*}}, %lse_lines[%c0_i32, %c0_i32, %c0_i32] along(1)
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @listed element_type(bf16) head_dim(128) mask(causal) lse packed_queries key_lengths work_list

// -----

// With dropout rows are of one head; slices go to the workspace, what is whole where it belongs.
// CHECK-LABEL: tile.kernel @sliced(
// CHECK-SAME: tile.workspace = "4 * work_parts * kv_heads * 128 * (head_dim_v + 1)"
// CHECK-NOT: heads(%{{[0-9]+}})
// CHECK: scf.if
// CHECK: tile.store %{{.*}}, %partial_lines
// CHECK: } else {
// CHECK: tile.store %{{.*}}, %o[
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @sliced element_type(bf16) head_dim(128) work_list split dropout

// -----

// Heads and queries are numbers of each row, sinks and slopes are looked up for each; a bias is read along the rows,
// whichever they are.
// CHECK-LABEL: tile.kernel @modified(
// CHECK: %[[HEADS:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK-DAG: tile.rows_along %bias[%{{.*}}, %{{.*}}, %{{.*}}] heads(%[[HEADS]]) size(%{{.*}}) heads_first
// CHECK-DAG: tile.gather %slopes[%{{.*}}] : <?xf32>, !tile.rows<32xi32> -> !tile.rows<32xf32>
// CHECK: tile.begin_load %bias_lines[%c0_i32, %c0_i32, %c0_i32, %{{.*}}] along(1)
// CHECK: tile.gather %sink[%{{.*}}] : <?xf32>, !tile.rows<32xi32> -> !tile.rows<32xf32>
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) start(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @modified element_type(bf16) head_dim(128) sink work_list score_mod(@both)
attn.score_mod @both(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?xf32> {attn.bind = "slopes", attn.sizes = ["heads"]},
    %bias: tensor<?x?x?x?xbf16> {attn.bind = "bias", attn.sizes = ["batch", "heads", "seq_q", "seq_kv"]}) {
  %slope = attn.read %slopes[%head] : tensor<?xf32> -> f32
  %steep = arith.mulf %score, %slope : f32
  %offset = attn.read %bias[%batch, %head, %query, %key] : tensor<?x?x?x?xbf16> -> f32
  %result = arith.addf %steep, %offset : f32
  attn.yield %result : f32
}

// -----

// Some rows of each entry that is the first of several slices.
// CHECK-LABEL: tile.kernel @fold(
// CHECK: tile.workgroup_id ["max(work_parts, 1) * kv_heads", "4"]
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tile.combine %{{.*}}, %{{.*}} splits(%{{.*}}) into %o_lines and %{{.*}}[%c0_i32, %c0_i32, %c0_i32] rows(2) at_once(3)
// CHECK-SAME: <?x?xf32>
attn.combine @fold element_type(bf16) head_dim(128) lse work_list packed_queries

// -----

// A wave for each block of queries that a sequence may have, and 64 sequences at a time.
// CHECK-LABEL: tile.kernel @made(
// CHECK: tile.workgroup_id ["ceildiv(seq_q, 128) * batch"]
// CHECK: scf.for
// CHECK: tile.map
// CHECK: tile.reduce sum
// CHECK: tile.store %{{.*}}, %work_list[
attn.work_list @made mask(causal) packed_queries key_lengths pages(16)
