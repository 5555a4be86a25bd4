// A wave for each block of queries looks at all blocks of keys, and keeps two counts.
// RUN: hocket-opt %s --convert-attn-to-tile --cse -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @lists(
// CHECK-SAME: %kv_indices: !tile.view<?x?x?x?xi32> {tile.bind = "kv_indices", tile.sizes = ["block_batch", "block_heads", "ceildiv(seq_q, 256)", "ceildiv(seq_kv, 64)"]
// CHECK-SAME: %full_kv_num_blocks: !tile.view<?x?x?xi32> {tile.bind = "full_kv_num_blocks", tile.sizes = ["block_batch * full_blocks",
// CHECK: %[[ROW:.*]], %[[HEAD:.*]], %[[BATCH:.*]] = tile.workgroup_id ["ceildiv(seq_q, 256)", "block_heads", "block_batch"]
// CHECK: %[[PARTIAL:.*]] = tile.select %kv_indices[%[[BATCH]], %[[HEAD]], %[[ROW]]]
// CHECK: %[[COUNTS:.*]]:2 = scf.for %[[COLUMN:.*]] = {{.*}} iter_args(%[[SOFAR:.*]] = %c0_i32, %{{.*}} = %c0_i32)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.map
// CHECK: tile.reduce max
// CHECK: tile.reduce min
// CHECK: scf.if
// CHECK: tile.store %[[COLUMN]], %[[PARTIAL]][%[[SOFAR]]] : i32
attn.block_lists @lists blocks(256, 64) mask(causal)

// -----

// expected-error @below {{blocks of 0, expected 1 to 268435456 queries and keys}}
attn.block_lists @none blocks(0, 64)

// -----

// expected-error @below {{names @nobody, which is no 'attn.mask_mod' of the module}}
attn.block_lists @unknown blocks(128, 128) mask_mod(@nobody)
