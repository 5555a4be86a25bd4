// The parts of a backward as kernels on tiles.
// RUN: hocket-opt %s --split-input-file --convert-attn-to-tile | FileCheck %s

// Two numbers for each row: what the other parts read is left in the workspace.
// CHECK-LABEL: tile.kernel @rows
// CHECK-SAME: tile.workspace = "8 * batch * heads * seq_q"
// CHECK: %[[O:.*]] = tile.load %o[%batch, %wave_row, %head] : <?x?x?x64xbf16> -> <16x64xbf16, lines>
// CHECK: %[[DO:.*]] = tile.load %do[%batch, %wave_row, %head]
// CHECK: %[[PRODUCTS:.*]] = tile.map(%{{.*}} = %[[O]] : {{.*}}, %{{.*}} = %[[DO]]
// CHECK: tile.reduce sum %[[PRODUCTS]] over columns
// CHECK-COUNT-2: tile.store %{{.*}}, %row_statistics
attn.backward @rows part(delta) element_type(bf16) head_dim(64)

// -----

// The gradient of LSE is subtracted from delta.
// CHECK-LABEL: tile.kernel @with_dlse
// CHECK: %[[DELTA:.*]] = tile.reduce sum
// CHECK: %[[GIVEN:.*]] = tile.load %dlse[%batch, %head, %wave_row]
// CHECK: %[[LESS:.*]] = tile.map(%{{.*}} = %[[DELTA]] : {{.*}}, %{{.*}} = %[[GIVEN]]
// CHECK-NEXT: arith.subf
// CHECK: tile.map(%{{.*}} = %[[LESS]]
// CHECK-NEXT: arith.negf
attn.backward @with_dlse part(delta) element_type(bf16) head_dim(64) lse_gradient

// -----

// Keys are held, queries pass, for each head of the group: its gradients are summed before they are rounded. The tiles
// begin with that of the first query that sees a key of the workgroup.
// CHECK-LABEL: tile.kernel @keys
// CHECK: %[[K:.*]] = tile.load %k[%batch, %wave_row, %head] : <?x?x?x64xbf16> -> <64x32xbf16, rhs>
// CHECK: %[[V:.*]] = tile.load %v[%batch, %wave_row, %head] : <?x?x?x64xbf16> -> <64x32xbf16, rhs>
// CHECK: %[[Q:.*]] = tile.slice_rows %q from %[[FIRST:.*]] size %[[COUNT:.*]] :
// CHECK: %[[GROUP:.*]], %{{.*}} = tile.divmod
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[GROUP]] step
// CHECK: %[[QS:.*]] = tile.ring %[[Q]]
// CHECK: tile.for_tiles
// CHECK-SAME: cut_left(%[[ABOVE:.*]] within 255) cut_right(%[[COUNT]] within 0)
// CHECK: tile.step @load_rows
// CHECK-COUNT-2: -> !tile.columns<32xf32, acc>
// CHECK: tile.step @qk
// CHECK: tile.mma %{{.*}}, %[[K]], %{{.*}} : <32x64xbf16, lhs>, <64x32xbf16, rhs>, <32x32xf32, acc>
// CHECK: tile.mask %{{.*}} tile(%{{.*}}) below(%[[COUNT]]) above(%[[ABOVE]])
// CHECK: tile.step @p
// CHECK: math.exp2
// CHECK: tile.step @turn_do
// CHECK: tile.step @dv
// CHECK: tile.mma %{{.*}} : <64x32xbf16, lhs_acc>, <32x32xbf16, rhs_acc>, <64x32xf32, acc>
// CHECK: tile.step @dp
// CHECK: tile.mma %{{.*}}, %[[V]], %{{.*}}
// CHECK: tile.step @ds
// CHECK: tile.step @turn_q
// CHECK: tile.read_transposed %[[QS]]
// CHECK: tile.step @dk
// CHECK: tile.scale
// CHECK-COUNT-2: tile.store
attn.backward @keys part(dkdv) element_type(bf16) head_dim(64) mask(causal) schedule(@s) waves(8) loop_tile(32)
tile.schedule @s { tile.cluster compute { fetch_q(0) } }

// -----

// Two workgroups share a compute unit: tiles are small, V lies in LDS, and products take half of their operands at a
// time. Minus delta is what dP begins with.
// CHECK-LABEL: tile.kernel @shared
// CHECK-SAME: waves(4)
// CHECK-SAME: tile.workgroups = 2
// CHECK: %[[V:.*]] = tile.load %v
// CHECK: %[[ASIDE:.*]] = tile.stash %[[V]] : <128x32xbf16, rhs>
// CHECK: %[[DELTAS:.*]] = tile.step @spread_deltas
// CHECK: tile.step @qk ->
// CHECK: tile.step @qk_rest
// CHECK: tile.step @dv_rest
// CHECK: tile.step @read_do_rest
// CHECK: tile.slice_depth %{{.*}} from 64 : <32x128xbf16, lhs> -> <32x64xbf16, lhs>
// CHECK: tile.recall %[[ASIDE]] from 64 : <!tile.frag<128x32xbf16, rhs>> -> <64x32xbf16, rhs>
attn.backward @shared part(dkdv) element_type(bf16) head_dim(128) schedule(@s)
tile.schedule @s waves(4) workgroups(2) { tile.cluster compute { fetch_q(0) } }

// -----

// Queries are held, keys pass; one ring is read both ways.
// CHECK-LABEL: tile.kernel @queries
// CHECK: tile.block_id %q rows(256) last_rows_first
// CHECK: %[[K:.*]] = tile.ring %k
// CHECK: tile.for_tiles
// CHECK: tile.read %[[K]]
// CHECK: tile.mask %{{.*}} tile(%{{.*}}) below(%{{.*}}) diagonal(%{{.*}})
// CHECK: tile.read_transposed %[[K]]
// CHECK: tile.step @dq
attn.backward @queries part(dq) element_type(f16) head_dim(64) mask(causal) schedule(@s) waves(8)
tile.schedule @s { tile.cluster compute { fetch_k(0) } }

// -----

// A head's sum over its batches and rows, in one wave and a fixed order; rows without delta have no part in it.
// CHECK-LABEL: tile.kernel @sinks
// CHECK-SAME: tile.workspace = "8 * heads * total_q"
// CHECK: tile.workgroup_id ["heads"]
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %batch step
// CHECK: tile.load %cu_seqlens_q[%[[B]]]
// CHECK: tile.slice_rows %row_statistics from %{{.*}} size %{{.*}} along(3)
// CHECK: scf.for
// CHECK-COUNT-2: tile.load %row_statistics_slice
// CHECK: math.exp2
// CHECK: tile.reduce sum %{{.*}} over columns
// CHECK: tile.store %{{.*}}, %d_sink[%workgroup_x]
attn.backward @sinks part(sink) element_type(bf16) head_dim(64) packed_queries dropout

// -----

// Sequences of lengths of their own: views are of the sequence, and workgroups behind its keys visit no queries.
// CHECK-LABEL: tile.kernel @packed
// CHECK: %q: {{.*}} tile.sizes = ["batch", "total_q", "heads"], tile.strides = ["0", "q_stride_s", "q_stride_h"]
// CHECK: %[[BATCH:.*]], %head, %[[ROW:.*]] = tile.block_id %k rows(256) of(%seq_kv)
// CHECK-DAG: tile.load %cu_seqlens_q[%[[BATCH]]]
// CHECK-DAG: tile.load %seqused_k[%[[BATCH]]]
// CHECK-DAG: %[[Q:.*]] = tile.slice_rows %q from
// CHECK-DAG: %[[K:.*]] = tile.slice_rows %k from
// CHECK: tile.load %[[K]]
// CHECK: %[[KEYS:.*]] = tile.dim %[[K]], 1
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[ROW]], %[[KEYS]]
// CHECK: arith.select %[[EXISTS]]
// CHECK: tile.ring %[[Q]]
// CHECK: %[[DK:.*]] = tile.slice_rows %dk from
// CHECK: tile.store %{{.*}}, %[[DK]]
attn.backward @packed part(dkdv) element_type(bf16) head_dim(64) packed_queries packed_keys key_lengths schedule(@s) waves(8) loop_tile(32)
tile.schedule @s { tile.cluster compute { fetch_q(0) } }

// -----

// The gradient of a bias: a workgroup has 32 keys and 128 queries of it, or sums over the queries where they share it.
// CHECK-LABEL: tile.kernel @bias
// CHECK-SAME: %d_bias: !tile.view<?x?x?xbf16> {{{.*}}tile.strides = ["d_bias_stride_0", "d_bias_stride_1"]
// CHECK: tile.workgroup_id ["(1 + (ceildiv(seq_kv, 32) - 1) * 1)", "(1 + (ceildiv(seq_q, 128) - 1) * min(1, d_bias_stride_1))", "(1 + (batch - 1) * 0) * (1 + (heads - 1) * min(1, d_bias_stride_0))"]
// CHECK-COUNT-4: scf.for
// CHECK-COUNT-2: tile.mma
// CHECK: math.exp2
// CHECK: at(%row = %wave_row, %column)
// CHECK: scf.if
// CHECK: tile.store %{{.*}}, %d_bias[%{{.*}}, %{{.*}}, %{{.*}}] along(1) : <32x32xf32, acc>
// CHECK: } else {
// CHECK: tile.reduce sum %{{.*}} over rows
// CHECK: tile.reduce_waves sum
// CHECK: scf.if
// CHECK: tile.store %{{.*}}, %d_bias[%{{.*}}, %{{.*}}, %{{.*}}] along(2) : !tile.columns<32xf32, acc>
attn.backward @bias part(captured) element_type(bf16) head_dim(64) gradient_of("bias") score_mod(@biased)
attn.score_mod @biased(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %bias: tensor<?x?x?xbf16> {attn.sizes = ["heads", "seq_q", "seq_kv"]}) {
  %offset = attn.read %bias[%head, %query, %key] : tensor<?x?x?xbf16> -> f32
  %result = arith.addf %score, %offset : f32
  attn.yield %result : f32
}

// -----

// Workgroups share the heads of a group: each has the f32 sums of its part, of some heads, or of a slice of the queries
// that see its keys.
// CHECK-LABEL: tile.kernel @part
// CHECK-SAME: %parts_dk: !tile.view<?x?x?x64xf32> {tile.bind = "parts_dk", tile.sizes = ["batch", "seq_kv", "kv_heads * group_parts"]
// CHECK: %[[BATCH:.*]], %[[PART:.*]], %[[ROW:.*]] = tile.block_id %parts_dk
// CHECK: %[[KV_HEAD:.*]] = tile.group_head %[[PART]] of %parts_dk in %k
// CHECK: tile.load %k[%[[BATCH]], %{{.*}}, %[[KV_HEAD]]]
// CHECK: tile.slice_rows %q from
// CHECK: tile.store %{{.*}}, %parts_dk[%[[BATCH]], %{{.*}}, %[[PART]]]
attn.backward @part part(dk) element_type(bf16) head_dim(64) group_parts schedule(@s) waves(8) loop_tile(32)
tile.schedule @s { tile.cluster compute { fetch_q(0) } }

// -----

// They are added up in order.
// CHECK-LABEL: tile.kernel @sum
// CHECK: %[[PARTS:.*]], %{{.*}} = tile.divmod
// CHECK: tile.load %parts_dk
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[PARTS]] step
// CHECK: arith.addf
// CHECK: tile.store %{{.*}}, %dk
// CHECK: scf.for
// CHECK: tile.store %{{.*}}, %dv
attn.backward @sum part(sum) element_type(bf16) head_dim(64) group_parts

// -----

// Of a window the tiles of keys begin with the first that it shows.
// CHECK-LABEL: tile.kernel @window
// CHECK: %[[K:.*]] = tile.slice_rows %k from
// CHECK: tile.ring %[[K]]
attn.backward @window part(dq) element_type(bf16) head_dim(64) mask(window(100, 0)) schedule(@s) waves(8) loop_tile(32)
tile.schedule @s { tile.cluster compute { fetch_k(0) } }
