// What a backward cannot do, by name.
// RUN: hocket-opt %s --split-input-file --convert-attn-to-tile --verify-diagnostics

// expected-error @below {{'attn.backward' op 'keys' names no schedule; add schedule(@name) or give the pass one}}
attn.backward @keys part(dkdv) element_type(bf16) head_dim(64)

// -----

// expected-error @below {{'attn.backward' op head_dim(60) of 'keys' is not supported, use a multiple of 8 up to 256}}
attn.backward @keys part(dk) element_type(bf16) head_dim(60) schedule(@s)

// -----

// expected-error @below {{'attn.backward' op 'keys' has tiles of 48 rows, expected 32, 64, 128 or 256}}
attn.backward @keys part(dv) element_type(bf16) head_dim(64) loop_tile(48) schedule(@s)

// -----

// expected-error @below {{'attn.backward' op element type 'f32' is not supported, use bf16 or f16}}
attn.backward @keys part(dq) element_type(f32) head_dim(64) schedule(@s)

// -----

// expected-error @below {{'attn.backward' op head_dim_v(0), a positive number is needed}}
attn.backward @keys part(dq) element_type(bf16) head_dim(64) head_dim_v(0) schedule(@s)

// -----

attn.backward @queries part(dq) element_type(bf16) head_dim(64) schedule(@s) score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  // expected-error @below {{'math.atan' op has no derivative, which the backward of 'm' needs}}
  %result = math.atan %score : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{names @m, which is no 'attn.mask_mod' of the module}}
attn.backward @queries part(dq) element_type(bf16) head_dim(64) schedule(@s) mask_mod(@m)

// -----

// expected-error @below {{'attn.backward' op 'g': the gradient of 't' is asked for, which no score_mod reads}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t")

// -----

// expected-error @below {{the gradient of 't' is asked for, which 'm' reads at a computed place beside other indices than batch and head in front of it; use those}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?x?xf32> {attn.sizes = ["seq_kv", "seq_kv"]}) {
  %place = arith.subi %query, %key : i32
  %number = attn.read %t[%place, %key] : tensor<?x?xf32> -> f32
  %result = arith.addf %score, %number : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{the gradient of 't' is asked for, which is read at several places; read it at one}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?x?xf32> {attn.sizes = ["seq_kv", "seq_kv"]}) {
  %number = attn.read %t[%head, %key] : tensor<?x?xf32> -> f32
  %other = attn.read %t[%query, %key] : tensor<?x?xf32> -> f32
  %sum = arith.addf %other, %number : f32
  %result = arith.addf %score, %sum : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{the gradient of 't' is asked for, whose keys are not the last dimension; exchange its dimensions}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?x?xf32> {attn.sizes = ["seq_kv", "seq_kv"]}) {
  %number = attn.read %t[%key, %head] : tensor<?x?xf32> -> f32
  %result = arith.addf %score, %number : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{the gradient of 't' is asked for, which has elements of no floating-point type}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?xi32> {attn.sizes = ["seq_kv"]}) {
  %number = attn.read %t[%key] : tensor<?xi32> -> i32
  %wide = arith.sitofp %number : i32 to f32
  %result = arith.addf %score, %wide : f32
  attn.yield %result : f32
}

// -----

// expected-error @below {{the gradient of 't' is asked for, which 'm' reads at several places; read it at one}}
attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?xf32> {attn.sizes = ["seq_kv"]}) {
  %place = arith.subi %query, %key : i32
  %other = arith.addi %query, %key : i32
  %number = attn.read %t[%place] : tensor<?xf32> -> f32
  %second = attn.read %t[%other] : tensor<?xf32> -> f32
  %sum = arith.addf %number, %second : f32
  %result = arith.addf %score, %sum : f32
  attn.yield %result : f32
}

// -----

attn.backward @g part(captured) element_type(bf16) head_dim(64) gradient_of("t") score_mod(@m)
// expected-error @below {{reads 't' at a computed place in a branch; read it outside, or leave its gradient out}}
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %t: tensor<?xf32> {attn.sizes = ["seq_kv"]}) {
  %place = arith.subi %query, %key : i32
  %zero = arith.constant 0 : i32
  %is = arith.cmpi sgt, %place, %zero : i32
  %result = scf.if %is -> f32 {
    %number = attn.read %t[%place] : tensor<?xf32> -> f32
    %sum = arith.addf %score, %number : f32
    scf.yield %sum : f32
  } else {
    scf.yield %score : f32
  }
  attn.yield %result : f32
}

// -----

// expected-error @below {{'f' has waves(16), which would share 128 columns of dQ in 8 parts of less than a block of 32; use 2 to 8, a power of two, or leave it out}}
attn.backward @f part(fused) element_type(bf16) head_dim(96) accumulate(f32) waves(16) schedule(@s)

// -----

// expected-error @below {{has block_lists, by which 'fused' does not go; use parts dkdv and dq}}
attn.backward @f part(fused) element_type(bf16) head_dim(96) accumulate(f32) block_lists(128, 128) schedule(@s)

// -----

// expected-error @below {{'keys' has blocks of 64 keys, expected a multiple of the 128 of a workgroup of 4 waves; use fewer waves, or larger blocks}}
attn.backward @keys part(dkdv) element_type(bf16) head_dim(64) waves(4) block_lists(128, 64) schedule(@s)

// -----

// expected-error @below {{'keys' has blocks of 48 queries, expected a multiple of the 32 of a tile; use smaller tiles, or larger blocks}}
attn.backward @keys part(dkdv) element_type(bf16) head_dim(64) block_lists(48, 128) schedule(@s)

// -----

// expected-error @below {{blocks of 0, expected 1 to 268435456 queries and keys}}
attn.transposed_lists @lists blocks(0, 64)

// -----

// expected-error @below {{'attn.backward' op 'queries' has tile.persistent, which a backward does not take; leave it out}}
attn.backward @queries part(dq) element_type(bf16) head_dim(64) schedule(@s) attributes {tile.persistent = 1}
