// RUN: hocket-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{element type 'f64' of 'q' is not supported, use bf16, f16, f32, i8, f4E2M1FN or a float of 8 bits; bf16 is nearest}}
attn.forward @f64 element_type(f64) head_dim(128)

// -----

// expected-error @below {{element type 'i8' of 'v' is not supported, use bf16, f16, f32, f4E2M1FN or a float of 8 bits}}
attn.forward @i8 element_type(i8) head_dim(128)

// -----

// expected-error @below {{element type 'i16' of 'k' is not supported, use bf16, f16, f32, i8, f4E2M1FN or a float of 8 bits}}
attn.forward @keys element_type(q = bf16, k = i16, v = bf16) head_dim(128)

// -----

// expected-error @below {{element type 'i8' of 'o' is not supported, use bf16, f16, f32 or a float of 8 bits}}
attn.forward @bytes element_type(q = i8, k = i8, v = bf16) head_dim(128)

// -----

// expected-error @below {{expected a tensor: q, k, v or o}}
attn.forward @bias element_type(q = bf16, bias = f16) head_dim(128)

// -----

// expected-error @below {{'k' is listed twice}}
attn.forward @twice element_type(q = bf16, k = f16, k = f16) head_dim(128)

// -----

// expected-error @below {{'q' is not listed, whose type the others have where they are left out}}
attn.forward @without element_type(k = bf16) head_dim(128)

// -----

// expected-error @below {{has a type for 'x', expected q, k, v or o}}
"attn.forward"() {sym_name = "generic", element_type = bf16, tensor_types = {x = f16}, head_dim = 128 : i64} : () -> ()

// -----

// expected-error @below {{head_dim(0), a positive number is needed}}
attn.forward @zero element_type(bf16) head_dim(0)

// -----

// expected-error @below {{element type 'f64' of 'o' is not supported, use bf16, f16, f32 or a float of 8 bits; bf16 is nearest}}
attn.combine @wide element_type(f64) head_dim(64)

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

// expected-error @below {{must take the score, the batch, the head, the query and the key ('f32', 'i32', 'i32', 'i32', 'i32') first}}
attn.score_mod @m(%score: f32) {
  attn.yield %score : f32
}

// -----

// expected-error @below {{must take the batch, the head, the query and the key ('i32', 'i32', 'i32', 'i32') first}}
attn.mask_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{must end in 'attn.yield' of 'f32'}}
attn.score_mod @m(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{must end in 'attn.yield' of 'i1'}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {
  %zero = arith.constant 0.0 : f32
  attn.yield %zero : f32
}

// -----

// expected-error @below {{captures 'f64', expected f32, i32 or a ranked tensor}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: f64) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{captures 'tensor<?xf64>', expected a tensor of f32, f16, bf16, i32, i8 or i1 whose extents are all '?'}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: tensor<?xf64> {attn.sizes = ["heads"]}) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{captures 'tensor<4xf32>', expected a tensor of f32, f16, bf16, i32, i8 or i1 whose extents are all '?'}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: tensor<4xf32> {attn.sizes = ["heads"]}) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{captures 'x', whose 'attn.sizes' must be 2 expressions, one for each dimension}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: tensor<?x?xf32> {attn.sizes = ["heads"]}) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{has 'attn.requires', which must be a list of pairs of strings: what must hold of the problem's numbers, and what is expected where it does not}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %n: i32) attributes {attn.requires = ["n > 0"]} {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{captures argument 4 without saying what it is; name it after a variable of the problem, or add 'attn.value'}}
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %0: i32) {
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: tensor<?x?xf32> {attn.sizes = ["heads", "seq_q"]}) {
  // expected-error @below {{has 1 indices for 'tensor<?x?xf32>', expected one for each dimension}}
  %r = attn.read %x[%head] : tensor<?x?xf32> -> f32
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %x: tensor<?xf32> {attn.sizes = ["heads"]}) {
  // expected-error @below {{reads 'i32' from 'tensor<?xf32>', expected its element type, f32 for bf16 and f16, or i32 for i8}}
  %r = attn.read %x[%head] : tensor<?xf32> -> i32
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {
  // expected-error @below {{may not stand in a modification; use ops of 'arith' and 'math', 'scf.if' and 'attn.read'}}
  %r = tile.fill 1.0 : !tile.rows<32xf32>
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %c: i32) {
  // expected-error @below {{may not stand in a modification; use ops of 'arith' and 'math', 'scf.if' and 'attn.read'}}
  scf.for %i = %key to %head step %query : i32 {
  }
  %true = arith.constant true
  attn.yield %true : i1
}

// -----

// expected-error @below {{names @nobody, which is no 'attn.score_mod' of the module}}
attn.forward @lonely element_type(bf16) head_dim(128) score_mod(@nobody)

// -----

// expected-error @below {{names @m, which is no 'attn.score_mod' of the module}}
attn.forward @other_kind element_type(bf16) head_dim(128) score_mod(@m)
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {
  %true = arith.constant true
  attn.yield %true : i1
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
  // expected-error @below {{'attn.yield' op expects parent op to be one of 'attn.score_mod, attn.mask_mod'}}
  attn.yield %zero : f32
}

// -----

attn.mask_mod @empty_yield(%batch: i32, %head: i32, %query: i32, %key: i32) {
  // expected-error @below {{requires a single operand}}
  "attn.yield"() : () -> ()
}

// -----

// expected-error @below {{has split_waves, whose waves have the heads of a group for rows; write group_rows, too}}
attn.forward @split_waves_alone element_type(bf16) head_dim(128) split_waves

// -----

// expected-error @below {{has split_waves, of which each reads a part of a tile's keys, and vector_pages, whose tiles are read whole; leave one of them out}}
attn.forward @split_waves_of_vectors element_type(bf16) head_dim(128) group_rows split_waves key_lengths pages(16) vector_pages

// -----

// expected-error @below {{has work_list, which says what workgroups work on, and group_rows; leave one of them out}}
attn.forward @listed_groups element_type(bf16) head_dim(128) work_list group_rows

// -----

// expected-error @below {{has work_list, which says what workgroups work on, and block_lists; leave one of them out}}
attn.forward @listed_blocks element_type(bf16) head_dim(128) work_list block_lists(128, 128)

// -----

// expected-error @below {{has a window, whose tiles are not counted; write mask(none) or mask(causal)}}
attn.work_list @window mask(window(3, 0))

// -----

// expected-error @below {{has appended_keys, which are behind those that key_lengths count; write key_lengths}}
attn.work_list @appended appended_keys

// -----

// expected-error @below {{has descale_keys(48), expected a multiple of 32 or 1}}
attn.forward @keys element_type(bf16) head_dim(128) descale descale_keys(48)

// -----

// expected-error @below {{has descale_rows(1), expected a multiple of 32}}
attn.forward @each_row element_type(bf16) head_dim(128) descale descale_rows(1) descale_keys(1)

// -----

// expected-error @below {{has descale_values(32), expected 1}}
attn.forward @values element_type(bf16) head_dim(128) descale descale_values(32)

// -----

// expected-error @below {{has descale_values and descale_channels, and one v_descale; leave one of them out}}
attn.forward @both element_type(bf16) head_dim(128) descale descale_values(1) descale_channels

// -----

// expected-error @below {{says whose numbers descales are, but has none; write descale, too}}
attn.forward @none element_type(bf16) head_dim(128) descale_channels

// -----

// expected-error @below {{has descale_rows, of rows of one head, and group_rows, with rows of several; leave one of them out}}
attn.forward @rows element_type(bf16) head_dim(128) descale descale_rows(32) group_rows

// -----

// expected-error @below {{has split_waves and work_list, of whose entries each wave has rows of its own; leave one of them out}}
attn.combine @shared_entries element_type(bf16) head_dim(128) work_list split_waves

// -----

// expected-error @below {{has mx, which multiply floats of 8 and 4 bits, and 'k' of 'bf16'; use f8E4M3FN or f4E2M1FN, or leave mx out}}
attn.forward @wide element_type(q = f8E4M3FN, k = bf16, v = f8E4M3FN, o = bf16) head_dim(128) mx

// -----

// expected-error @below {{has mx and head_dim(96), expected a multiple of 64; pad heads of Q and K with zeros}}
attn.forward @heads element_type(q = f8E4M3FN, k = f8E4M3FN, v = f8E4M3FN, o = bf16) head_dim(96) mx

// -----

// expected-error @below {{has mx, of rows of one head, and group_rows, which has rows of several; leave one of them out}}
attn.forward @rows element_type(q = f8E4M3FN, k = f8E4M3FN, v = f8E4M3FN, o = bf16) head_dim(128) mx group_rows

// -----

// expected-error @below {{has mx, of keys that follow one another, and pages; leave one of them out}}
attn.forward @pages element_type(q = f8E4M3FN, k = f8E4M3FN, v = f8E4M3FN, o = bf16) head_dim(128) mx key_lengths pages(16)

// -----

// expected-error@+1 {{has lse_gradient, which part(delta) reads, and is part(dq); leave it out}}
attn.backward @queries part(dq) element_type(bf16) head_dim(64) lse_gradient

// -----

// expected-error@+1 {{has group_parts, which share keys, and part(dq) does not work on keys; leave it out}}
attn.backward @queries part(dq) element_type(bf16) head_dim(64) group_parts

// -----

// expected-error@+1 {{does not say that there are parts to add up; write group_parts}}
attn.backward @sums part(sum) element_type(bf16) head_dim(64)
