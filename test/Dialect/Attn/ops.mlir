// Every attribute and region of the attn dialect, printed as it is parsed.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// Defaults are not printed.
// CHECK: attn.forward @plain element_type(bf16) head_dim(128){{$}}
attn.forward @plain element_type(bf16) head_dim(128)

// CHECK: attn.forward @no_mask element_type(f16) head_dim(64){{$}}
attn.forward @no_mask element_type(f16) head_dim(64) mask(none)

// A window says how far a query sees to either side; one that ends where causal does is causal.
// CHECK: attn.forward @window element_type(f16) head_dim(64) mask(window(127, 0)){{$}}
attn.forward @window element_type(f16) head_dim(64) mask(window(127, 0))
// CHECK: attn.forward @left element_type(f16) head_dim(64) mask(window(3, ?)){{$}}
attn.forward @left element_type(f16) head_dim(64) mask(window(3, ?))
// CHECK: attn.forward @causal element_type(f16) head_dim(64) mask(causal){{$}}
attn.forward @causal element_type(f16) head_dim(64) mask(window(?, 0))

// CHECK: attn.forward @two_dims element_type(f16) head_dim(192) head_dim_v(128){{$}}
attn.forward @two_dims element_type(f16) head_dim(192) head_dim_v(128)

// CHECK: attn.forward @all element_type(f16) head_dim(128) mask(causal) lse schedule(@mine) attributes {note = "kept"}
attn.forward @all element_type(f16) head_dim(128) mask(causal) lse schedule(@mine) attributes {note = "kept"}

// A hand may write the clauses in any order.
// CHECK: attn.forward @any_order element_type(f16) head_dim(64) head_dim_v(32) mask(causal) lse waves(4) kv_tile(32) block_order(linear){{$}}
attn.forward @any_order element_type(f16) head_dim(64) kv_tile(32) lse block_order(linear) waves(4) mask(causal) head_dim_v(32)

// The producer of split KV, and what folds its slices.
// CHECK: attn.forward @slices element_type(bf16) head_dim(64) lse split{{$}}
attn.forward @slices element_type(bf16) head_dim(64) lse split
// CHECK: attn.combine @fold element_type(bf16) head_dim(64){{$}}
attn.combine @fold element_type(bf16) head_dim(64) waves(4)
// CHECK: attn.combine @fold_all element_type(f16) head_dim(128) lse waves(1)
attn.combine @fold_all element_type(f16) head_dim(128) lse waves(1)

// CHECK: attn.forward @modified element_type(bf16) head_dim(128) score_mod {
// CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK: attn.yield %{{.*}} : f32
// CHECK: mask_mod {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[QUERY:.*]]: i32, %[[KEY:.*]]: i32):
// CHECK: arith.cmpi sle, %[[KEY]], %[[QUERY]]
// CHECK: attn.yield %{{.*}} : i1
attn.forward @modified element_type(bf16) head_dim(128) score_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  %double = arith.addf %score, %score : f32
  attn.yield %double : f32
} mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
  %seen = arith.cmpi sle, %key, %query : i32
  attn.yield %seen : i1
}

// The example of the op's documentation.
// CHECK: attn.forward @soft_cap
attn.forward @soft_cap element_type(bf16) head_dim(128) mask(causal) lse score_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  %cap = arith.constant 5.000000e+01 : f32
  %limited = arith.minimumf %score, %cap : f32
  attn.yield %limited : f32
}
