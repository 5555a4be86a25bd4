// Every attribute and region of the attn dialect, printed as it is parsed.
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// Defaults are not printed.
// CHECK: attn.forward @plain element_type(bf16) head_dim(128){{$}}
attn.forward @plain element_type(bf16) head_dim(128)

// CHECK: attn.forward @no_mask element_type(f16) head_dim(64){{$}}
attn.forward @no_mask element_type(f16) head_dim(64) mask(none)

// Tensors may have types of their own; what has Q's is not listed.
// CHECK: attn.forward @types element_type(q = bf16, k = f16, o = f16) head_dim(64){{$}}
attn.forward @types element_type(k = f16, q = bf16, v = bf16, o = f16) head_dim(64)
// CHECK: attn.forward @one_type element_type(f16) head_dim(64){{$}}
attn.forward @one_type element_type(q = f16, k = f16, v = f16) head_dim(64)

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

// CHECK: attn.forward @two_on_a_unit element_type(bf16) head_dim(128) waves(4) workgroups(2){{$}}
attn.forward @two_on_a_unit element_type(bf16) head_dim(128) workgroups(2) waves(4)

// The producer of split KV, and what folds its slices.
// CHECK: attn.forward @slices element_type(bf16) head_dim(64) lse split{{$}}
attn.forward @slices element_type(bf16) head_dim(64) lse split
// CHECK: attn.combine @fold element_type(bf16) head_dim(64){{$}}
attn.combine @fold element_type(bf16) head_dim(64) waves(4)
// CHECK: attn.combine @fold_all element_type(f16) head_dim(128) lse waves(1)
attn.combine @fold_all element_type(f16) head_dim(128) lse waves(1)
// CHECK: attn.combine @fold_shared element_type(bf16) head_dim(64) split_waves waves(8)
attn.combine @fold_shared element_type(bf16) head_dim(64) split_waves waves(8)

// Modifications: what is captured is bound to its name, which is printed.
// CHECK: attn.forward @modified element_type(bf16) head_dim(128) sink score_mod(@twice, @alibi) mask_mod(@near){{$}}
attn.forward @modified element_type(bf16) head_dim(128) score_mod(@twice, @alibi) sink mask_mod(@near)

// CHECK: attn.score_mod @twice(%[[SCORE:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32) {
// CHECK: arith.addf %[[SCORE]], %[[SCORE]]
// CHECK: attn.yield %{{.*}} : f32
attn.score_mod @twice(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %double = arith.addf %score, %score : f32
  attn.yield %double : f32
}

// CHECK: attn.mask_mod @near({{.*}}, %{{.*}}: i32 {attn.value = "reach"}, %[[FLAGS:.*]]: tensor<?xi1> {attn.bind = "flags", attn.sizes = ["seq_kv"]}) {
// CHECK: attn.read %[[FLAGS]][%{{.*}}] : tensor<?xi1> -> i1
// CHECK: scf.if
attn.mask_mod @near(%batch: i32, %head: i32, %query: i32, %key: i32, %reach: i32,
    %flags: tensor<?xi1> {attn.sizes = ["seq_kv"]}) {
  %distance = arith.subi %query, %key : i32
  %seen = arith.cmpi sle, %distance, %reach : i32
  %flag = attn.read %flags[%key] : tensor<?xi1> -> i1
  %both = scf.if %flag -> i1 {
    scf.yield %seen : i1
  } else {
    scf.yield %flag : i1
  }
  attn.yield %both : i1
}

// The examples of the documentation.
// CHECK: attn.forward @capped
attn.forward @capped element_type(bf16) head_dim(128) mask(causal) lse score_mod(@cap)
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %cap = arith.constant 5.000000e+01 : f32
  %limited = arith.minimumf %score, %cap : f32
  attn.yield %limited : f32
}
// CHECK: attn.score_mod @alibi
attn.score_mod @alibi(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?xf32> {attn.sizes = ["heads"]}, %shift: i32 {attn.value = "seq_kv - seq_q"}) {
  %slope = attn.read %slopes[%head] : tensor<?xf32> -> f32
  %diagonal = arith.addi %query, %shift : i32
  %distance = arith.subi %diagonal, %key : i32
  %steps = arith.sitofp %distance : i32 to f32
  %length = math.absf %steps : f32
  %penalty = arith.mulf %slope, %length : f32
  %result = arith.subf %score, %penalty : f32
  attn.yield %result : f32
}
// CHECK: attn.forward @mixed element_type(bf16) head_dim(128) mask(causal) packed_queries key_lengths pages(16) work_list
attn.forward @mixed element_type(bf16) head_dim(128) mask(causal) packed_queries key_lengths pages(16) work_list
// CHECK: attn.work_list @list mask(causal) packed_queries key_lengths
attn.work_list @list mask(causal) packed_queries key_lengths
// CHECK: attn.combine @of_list element_type(bf16) head_dim(64) lse work_list packed_queries query_lengths
attn.combine @of_list element_type(bf16) head_dim(64) lse work_list packed_queries query_lengths
