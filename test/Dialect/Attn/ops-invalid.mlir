// RUN: hocket-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{element type 'f32' is not supported, use bf16 or f16}}
attn.forward @f32 element_type(f32) head_dim(128)

// -----

// expected-error @below {{element type 'i8' is not supported, use bf16 or f16}}
attn.forward @i8 element_type(i8) head_dim(128)

// -----

// expected-error @below {{head_dim(0), a positive number is needed}}
attn.forward @zero element_type(bf16) head_dim(0)

// -----

// expected-error @below {{element type 'f32' is not supported, use bf16 or f16}}
attn.combine @wide element_type(f32) head_dim(64)

// -----

// expected-error @below {{head_dim(-8), a positive number is needed}}
attn.combine @negative_combine element_type(bf16) head_dim(-8)

// -----

// expected-error @below {{head_dim_v(0), a positive number is needed}}
attn.forward @zero_v element_type(bf16) head_dim(64) head_dim_v(0)

// -----

// expected-error @below {{head_dim(-128), a positive number is needed}}
attn.forward @negative element_type(bf16) head_dim(-128)

// -----

// expected-error @below {{unknown mask 'sliding', expected none, causal or window(left, right)}}
attn.forward @sliding element_type(bf16) head_dim(128) mask(sliding)

// -----

// expected-error @below {{expected a mask: none, causal or window(left, right)}}
attn.forward @unnamed element_type(bf16) head_dim(128) mask(3)

// -----

// expected-error @below {{a window reaches -1 keys, expected a number from 0, or '?' for no end}}
attn.forward @backwards element_type(bf16) head_dim(128) mask(window(-1, ?))

// -----

// expected-error @below {{'score_mod' takes ('f32', 'i32', 'i32', 'i32', 'i32'): the score, the batch, the head, the query and the key}}
attn.forward @few_arguments element_type(bf16) head_dim(128) score_mod {
^bb0(%score: f32):
  attn.yield %score : f32
}

// -----

// expected-error @below {{'mask_mod' takes ('i32', 'i32', 'i32', 'i32'): the batch, the head, the query and the key}}
attn.forward @score_in_mask element_type(bf16) head_dim(128) mask_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{'score_mod' must end in 'attn.yield' of 'f32'}}
attn.forward @wrong_yield element_type(bf16) head_dim(128) score_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{'mask_mod' must end in 'attn.yield' of 'i1'}}
attn.forward @score_yield element_type(bf16) head_dim(128) mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
  %zero = arith.constant 0.0 : f32
  attn.yield %zero : f32
}

// -----

// expected-error @below {{empty block: expect at least a terminator}}
attn.forward @empty_block element_type(bf16) head_dim(128) mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
}

// -----

tile.kernel @inside(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{'attn.forward' op expects parent op 'builtin.module'}}
  attn.forward @problem element_type(bf16) head_dim(128)
}

// -----

// expected-note @below {{see existing symbol definition here}}
attn.forward @twice element_type(bf16) head_dim(128)
// expected-error @below {{redefinition of symbol named 'twice'}}
attn.forward @twice element_type(f16) head_dim(128)

// -----

tile.kernel @yields(%n: i32) target("gfx950") waves(1) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'attn.yield' op expects parent op 'attn.forward'}}
  attn.yield %zero : f32
}

// -----

attn.forward @empty_yield element_type(bf16) head_dim(128) mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
  // expected-error @below {{requires a single operand}}
  "attn.yield"() : () -> ()
}
