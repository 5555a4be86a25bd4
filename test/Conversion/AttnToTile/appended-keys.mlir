// Lengths of a cache that the launch before appended to: so many keys more.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse | FileCheck %s

// CHECK-LABEL: tile.kernel @decode(
// CHECK-SAME: %seqused_k: !tile.view<?xi32>
// CHECK-SAME: %new_rows: i32 {tile.bind = "new_rows"}
// CHECK: %[[BEFORE:.*]] = tile.load %seqused_k[%{{.*}}] :
// CHECK: %[[KEYS:.*]] = arith.addi %[[BEFORE]], %new_rows
// CHECK: tile.slice_rows %k from %c0_i32 size %[[KEYS]]
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @decode element_type(bf16) head_dim(128) key_lengths appended_keys

// Of packed queries each has one: nothing says how many that are but where they begin.
// CHECK-LABEL: tile.kernel @chunks(
// CHECK-NOT: new_rows
// CHECK: %[[EARLIER:.*]] = tile.load %seqused_k[%{{.*}}] :
// CHECK: %[[ALL:.*]] = arith.addi %[[EARLIER]], %[[QUERIES:.*]] : i32
// CHECK-NEXT: tile.slice_rows %q from %{{.*}} size %[[QUERIES]] :
// CHECK-NEXT: tile.slice_rows %k from %c0_i32 size %[[ALL]] :
attn.forward @chunks element_type(bf16) head_dim(128) packed_queries key_lengths appended_keys
