// What cannot be expanded is refused by name.
// RUN: hocket-opt %s --convert-attn-to-tile -verify-diagnostics -split-input-file

// expected-error @below {{'no_schedule' names no schedule; add schedule(@name) or give the pass one}}
attn.forward @no_schedule element_type(bf16) head_dim(128)

// -----

// expected-error @below {{'mixed' has 'q' of 'bf16' and 'v' of 'f16', which no kernel mixes; give both one type}}
attn.forward @mixed element_type(q = bf16, v = f16) head_dim(128) schedule(@s)

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

// Two modifications that mean different things by one name.
attn.forward @both element_type(bf16) head_dim(128) schedule(@sequential) score_mod(@a, @b)
attn.score_mod @a(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %table: tensor<?xf32> {attn.sizes = ["heads"]}) {
  attn.yield %score : f32
}
// expected-error @below {{captures 'table' as '!tile.view<?xbf16>', which is captured as '!tile.view<?xf32>', too}}
attn.score_mod @b(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %table: tensor<?xbf16> {attn.sizes = ["heads"]}) {
  attn.yield %score : f32
}

// -----

// A problem's name becomes the kernel's.
// expected-error @below {{cannot be named 'not a name'}}
attn.forward @"not a name" element_type(bf16) head_dim(128) schedule(@s)

// -----

// expected-error @below {{'crowd' has workgroups(9), expected 1 to 8}}
attn.forward @crowd element_type(bf16) head_dim(128) workgroups(9) schedule(@s)

// -----

// expected-error @below {{'nobody' has workgroups(0), expected 1 to 8}}
attn.forward @nobody element_type(bf16) head_dim(128) workgroups(0) schedule(@s)

// -----

tile.schedule @s {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
// expected-error @below {{'too_few_keys' has split_waves, and 4 waves for tiles of 64 keys, expected 32 keys or more for each wave of a power of two}}
attn.forward @too_few_keys element_type(bf16) head_dim(128) group_rows split_waves waves(4) kv_tile(64) schedule(@s)

// -----

tile.schedule @s {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
// expected-error @below {{'three_panels' has split_waves, and tiles of V of 96 columns, expected a power of two; leave split_waves out}}
attn.forward @three_panels element_type(bf16) head_dim(72) group_rows split_waves waves(4) kv_tile(128) schedule(@s)

// -----

// expected-error @below {{'wide' has 'q' of 'f32' and 'k' of 'f8E4M3FN', which no kernel mixes; give both one type}}
attn.forward @wide element_type(q = f32, k = f8E4M3FN, v = f8E4M3FN) head_dim(128) schedule(@s)
