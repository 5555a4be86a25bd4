// Waves and tile are options of the pass, and of the op, which has the last word.
// RUN: hocket-opt %s --convert-attn-to-tile="schedule=s waves=4 kv-tile=128 target=gfx950" | FileCheck %s

// CHECK: target("gfx950") waves(4)
// CHECK: tile.block_id %q rows(128)
// CHECK: tile.ring %k[{{.*}}] : <?x?x?x128xbf16> -> <128x128xbf16>
// CHECK: tile.slice %{{.*}} from 64
attn.forward @options element_type(bf16) head_dim(128)

// CHECK-LABEL: tile.kernel @own
// CHECK-SAME: waves(2)
// CHECK: tile.block_id %q rows(64) : <
// CHECK: tile.ring %k[{{.*}}] : <?x?x?x128xbf16> -> <64x128xbf16>
attn.forward @own element_type(bf16) head_dim(128) mask(causal) waves(2) kv_tile(64) block_order(linear)

// CHECK-LABEL: tile.kernel @heavy_and_light
// CHECK: tile.block_id %q rows(128) last_rows_first paired xcds(8)
attn.forward @heavy_and_light element_type(bf16) head_dim(128) mask(causal) block_order(paired)

// How many are to share a compute unit is the op's, whatever the schedule wants.
// CHECK-LABEL: tile.kernel @twice
// CHECK: tile.workgroups = 2
attn.forward @twice element_type(bf16) head_dim(128) workgroups(2)

// Else the schedule says how many waves it wants.
// CHECK-LABEL: tile.kernel @scheduled
// CHECK-SAME: waves(6)
attn.forward @scheduled element_type(bf16) head_dim(128) schedule(@six)
tile.schedule @six waves(6) {
  tile.cluster memory { }
}
