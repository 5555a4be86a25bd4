// A wave for each block of keys goes over the lists of all blocks of queries, partial ones first.
// RUN: hocket-opt %s --convert-attn-to-tile --cse | FileCheck %s

// CHECK-LABEL: tile.kernel @lists(
// CHECK-SAME: %kv_indices: !tile.view<?x?x?x?xi32> {tile.bind = "kv_indices", tile.sizes = ["block_batch", "block_heads", "ceildiv(seq_q, 128)", "ceildiv(seq_kv, 64)"]
// CHECK-SAME: %q_indices: !tile.view<?x?x?x?xi32> {tile.bind = "q_indices", tile.sizes = ["block_batch", "block_heads", "ceildiv(seq_kv, 64)", "ceildiv(seq_q, 128)"]
// CHECK: %[[COLUMN:.*]], %[[HEAD:.*]], %[[BATCH:.*]] = tile.workgroup_id ["ceildiv(seq_kv, 64)", "block_heads", "block_batch"]
// CHECK: scf.for %[[ROW:.*]] = {{.*}} iter_args(%[[COUNT:.*]] = %c0_i32)
// CHECK: scf.for
// CHECK: tile.reduce any
// CHECK: scf.if
// CHECK: tile.store %[[ROW]], %{{.*}}[%[[COUNT]]] : i32
attn.transposed_lists @lists blocks(128, 64)
