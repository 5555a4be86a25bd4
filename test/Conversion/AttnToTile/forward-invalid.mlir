// What cannot be expanded is refused by name.
// RUN: hocket-opt %s --convert-attn-to-tile -verify-diagnostics -split-input-file

// expected-error @below {{'no_schedule' names no schedule; add schedule(@name) or give the pass one}}
attn.forward @no_schedule element_type(bf16) head_dim(128)

// -----

// expected-error @below {{head_dim(100) of 'odd' is not supported, use a multiple of 8 up to 256}}
attn.forward @odd element_type(bf16) head_dim(100) schedule(@s)

// -----

// expected-error @below {{head_dim(264) of 'wide' is not supported, use a multiple of 8 up to 256}}
attn.combine @wide element_type(bf16) head_dim(264)

// -----

// expected-error @below {{head_dim_v(264) of 'large' is not supported, use a multiple of 8 up to 256}}
attn.forward @large element_type(bf16) head_dim(64) head_dim_v(264) schedule(@s)

// -----

// expected-error @below {{mask of 'window' cannot be expanded yet; use mask(causal) or mask(none)}}
attn.forward @window element_type(bf16) head_dim(128) mask(window(127, 0)) schedule(@s)

// -----

// expected-error @below {{'score_mod' of 'capped' cannot be expanded yet; remove the region to compile without it}}
attn.forward @capped element_type(bf16) head_dim(128) schedule(@s) score_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  attn.yield %score : f32
}

// -----

// expected-error @below {{'mask_mod' of 'masked' cannot be expanded yet; remove the region to compile without it}}
attn.forward @masked element_type(bf16) head_dim(128) schedule(@s) mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// A problem's name becomes the kernel's.
// expected-error @below {{cannot be named 'not a name'}}
attn.forward @"not a name" element_type(bf16) head_dim(128) schedule(@s)
