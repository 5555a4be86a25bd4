// convert-attn-to-tile: one behaviour per kernel.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine -split-input-file | FileCheck %s

// The argument block: tensors in the order q, k, v, o, lse, then the scale, each bound to the
// problem, with the strides and sizes that the manifest will pass.
// CHECK-LABEL: tile.kernel @arguments(
// CHECK-SAME: %q: !tile.view<?x?x?x128xf16> {tile.bind = "q", tile.sizes = ["batch", "seq_q", "heads"], tile.strides = ["q_stride_b", "q_stride_s", "q_stride_h"]}
// CHECK-SAME: %k: !tile.view<?x?x?x128xf16> {tile.bind = "k", tile.sizes = ["batch", "seq_kv", "kv_heads"]
// CHECK-SAME: %v: !tile.view<?x?x?x128xf16> {tile.bind = "v"
// CHECK-SAME: %o: !tile.view<?x?x?x128xf16> {tile.bind = "o"
// CHECK-SAME: %lse: !tile.view<?x?x?xf32> {tile.bind = "lse", tile.sizes = ["batch", "heads", "seq_q"], tile.strides = ["heads * seq_q", "seq_q"]}
// CHECK-SAME: %scale: f32 {tile.bind = "scale"}) target("gfx950") waves(8)
// What a problem must fulfil is part of the kernel.
// CHECK-SAME: tile.requires = {{\[\[}}"head_dim == 128", "head_dim must be 128"], ["head_dim_v == 128", "head_dim_v must be 128"], ["causal == 0", "the kernel has no mask"]
// CHECK: tile.store_rows
// CHECK-NOT: attn.forward
attn.forward @arguments element_type(f16) head_dim(128) lse

// -----

// Without LSE there is neither its argument nor its store.
// CHECK-LABEL: tile.kernel @no_lse(
// CHECK-NOT: lse
// CHECK-NOT: tile.log_sum
// CHECK: tile.store
// CHECK-NOT: tile.store_rows
attn.forward @no_lse element_type(bf16) head_dim(128)

// -----

// Without a mask every tile is visited, and only keys beyond the end are hidden.
// CHECK-LABEL: tile.kernel @none(
// CHECK-SAME: "causal == 0"
// CHECK: tile.block_id %q rows(256) xcds(8) : <
// CHECK: %[[KEYS:.*]] = tile.dim %k, 1
// CHECK: %[[UP:.*]] = arith.addi %[[KEYS]],
// CHECK: %[[COUNT:.*]] = arith.divui %[[UP]],
// CHECK: tile.for_tiles %t = 0 to %[[COUNT]]
// CHECK: tile.mask %{{.*}} tile(%t) below(%[[KEYS]]) : <
attn.forward @none element_type(bf16) head_dim(128)

// -----

// Causal is bottom-right: the diagonal of a wave starts at its row + seq_kv - seq_q, the last rows are
// worked on first, and tiles that no row of the workgroup sees are not visited.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-SAME: ["causal == 1", "the kernel is causal"]
// CHECK: tile.block_id %q rows(256) last_rows_first
// CHECK: %[[ROW:.*]] = tile.wave_row %row rows(32)
// CHECK: %[[KEYS:.*]] = tile.dim %k, 1
// CHECK: %[[QUERIES:.*]] = tile.dim %q, 1
// CHECK: %[[SHIFT:.*]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK: %[[DIAGONAL:.*]] = arith.addi %[[ROW]], %[[SHIFT]]
// CHECK: %[[VISIBLE:.*]] = arith.addi %{{.*}}, %[[SHIFT]]
// CHECK: arith.maxsi %[[VISIBLE]],
// CHECK: arith.minsi %{{.*}}, %[[KEYS]]
// The rows of the workgroup end within 255 keys of one another: the loop says so of the diagonal.
// CHECK: tile.for_tiles %t = 0 to %{{.*}} cut_right(%[[KEYS]] within 0, %[[DIAGONAL]] within 255) init
// CHECK: tile.mask %{{.*}} tile(%t) below(%[[KEYS]]) diagonal(%[[DIAGONAL]])
attn.forward @causal element_type(bf16) head_dim(128) mask(causal)

// -----

// The steps, in an order that respects their values; the schedule named by the pass's option.
// CHECK-LABEL: tile.kernel @steps(
// CHECK: tile.for_tiles {{.*}} schedule(@mine) {
// CHECK: tile.step @fetch_k {
// CHECK-NEXT: tile.fetch %k_ring[%t]
// CHECK: tile.step @fetch_v {
// CHECK-NEXT: tile.fetch %v_ring[%t]
// CHECK: %read_k = tile.step @read_k
// CHECK: %qk = tile.step @qk
// CHECK: tile.mma %read_k,
// CHECK: %mask = tile.step @mask
// CHECK: %reference, %bound, %factor, %moved, %{{.*}} = tile.step @settle
// CHECK: tile.row_max %mask
// CHECK: threshold(2.000000e+01)
// CHECK: tile.step @head
// CHECK: tile.slice %mask from 0
// CHECK: tile.exp2 %{{.*}} minus(%reference)
// CHECK: tile.pack
// CHECK: tile.row_sum
// CHECK: tile.step @tail
// CHECK: tile.slice %mask from 32
// CHECK: tile.concat
// CHECK: %rescale = tile.step @rescale
// CHECK: tile.rescale %{{.*}} by %factor when %moved
// CHECK: %read_v = tile.step @read_v
// CHECK: tile.read_transposed %v_ring[%t]
// CHECK: %pv = tile.step @pv
// CHECK: tile.mma %read_v, %{{.*}}, %rescale
// CHECK: tile.yield %pv, %reference, %bound,
attn.forward @steps element_type(bf16) head_dim(128)

// -----

// A negative scale moves its sign into Q; scaling is in log2 units and never 0.
// CHECK-LABEL: tile.kernel @scale(
// CHECK: %[[NEGATIVE:.*]] = arith.cmpf olt, %scale,
// CHECK: %[[MAGNITUDE:.*]] = arith.select %[[NEGATIVE]],
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: arith.mulf %[[MAGNITUDE]], %[[LOG2E]]
// CHECK: arith.maxnumf
// CHECK: tile.negate %{{.*}} when %[[NEGATIVE]]
attn.forward @scale element_type(bf16) head_dim(128)

// -----

// The op's own schedule comes before the option.
// CHECK-LABEL: tile.kernel @own(
// CHECK: schedule(@own_schedule)
attn.forward @own element_type(bf16) head_dim(128) schedule(@own_schedule)

// -----

// Does not fire: a module without problems.
// CHECK-LABEL: tile.kernel @untouched() target("gfx950") waves(1) {
// CHECK-NEXT: }
tile.kernel @untouched() target("gfx950") waves(1) {
}
