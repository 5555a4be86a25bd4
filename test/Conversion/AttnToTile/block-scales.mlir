// Scales of blocks of Q and K: words of four, those of Q loaded once and those of keys in a step of their own.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @eight(
// CHECK-SAME: %q_scale: !tile.view<?x?x?xi32> {tile.bind = "q_scale", tile.sizes = ["batch", "heads", "seq_q"], tile.strides = ["heads * seq_q", "seq_q"]}
// CHECK-SAME: %k_scale: !tile.view<?x?x?xi32> {tile.bind = "k_scale", tile.sizes = ["batch", "kv_heads", "seq_kv"], tile.strides = ["kv_heads * seq_kv", "seq_kv"]}
// CHECK: %[[HEAD:.*]] = tile.select %q_scale[%batch, %head]
// CHECK: %[[OFQ:.*]] = tile.load %[[HEAD]][%{{.*}}] : <?xi32> -> !tile.rows<32xi32>
// CHECK: %[[Q:.*]] = tile.block_scales %[[OFQ]] : !tile.rows<32xi32> -> <4x32xf8E8M0FNU, rhs_scale>
// CHECK: %[[WORDS:.*]] = tile.step @load_scales -> !tile.rows<128xi32>
// CHECK: tile.load %{{.*}}[%{{.*}}] {tile.counted = 4 : i64} : <?xi32> -> !tile.rows<128xi32>
// CHECK: tile.step @qk
// CHECK: %[[K:.*]] = tile.block_scales %[[WORDS]] : !tile.rows<128xi32> -> <128x4xf8E8M0FNU, lhs_scale>
// CHECK: tile.mma {{.*}} scales(%[[K]], %[[Q]])
attn.forward @eight element_type(q = f8E4M3FN, k = f8E4M3FN, v = f8E5M2, o = bf16) head_dim(128) mx

// -----

// Memory has two fp4 in a byte; V is as wide as it is. Heads of 256 have two words, packed rows no batch.
// CHECK-LABEL: tile.kernel @four(
// CHECK-SAME: %q: !tile.view<?x?x?x128xi8>
// CHECK-SAME: %v: !tile.view<?x?x?x256xf8E4M3FN>
// CHECK-SAME: %q_scale: !tile.view<?x?x?x2xi32> {tile.bind = "q_scale", tile.sizes = ["batch", "heads", "total_q"], tile.strides = ["0", "total_q * 2", "2"]}
// CHECK: %[[OFQ:.*]] = tile.slice_rows %q_scale {{.*}} along(2)
// CHECK: tile.ring {{.*}}xi8> -> <[[KEYS:.*]]x128xi8>
// CHECK: tile.load %q_slice{{.*}} : <?x?x?x128xi8> -> <128x32xi8, rhs>
// CHECK: tile.relabel %{{.*}} : <128x32xi8, rhs> -> <256x32xf4E2M1FN, rhs>
// CHECK: tile.read %{{.*}} : <[[KEYS]]x128xi8> -> <[[KEYS]]x256xf4E2M1FN, lhs>
// CHECK: tile.block_scales %{{.*}}, %{{.*}} : {{.*}} -> <[[KEYS]]x8xf8E8M0FNU, lhs_scale>
attn.forward @four element_type(q = f4E2M1FN, k = f4E2M1FN, v = f8E4M3FN, o = bf16) head_dim(256) mx packed_queries

// -----

// expected-error @below {{'narrow' has 'q' of 'bf16' and 'k' of 'f4E2M1FN', which no kernel mixes; give 'q' 8 or 4 bits}}
attn.forward @narrow element_type(q = bf16, k = f4E2M1FN, v = f8E4M3FN) head_dim(128)
