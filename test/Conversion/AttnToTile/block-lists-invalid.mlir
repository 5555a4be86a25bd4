// What block lists cannot be.
// RUN: hocket-opt %s --split-input-file --convert-attn-to-tile --verify-diagnostics

// expected-error @below {{'rows' has blocks of 128 queries, expected a multiple of the 256 of a workgroup of 8 waves; use fewer waves, or larger blocks}}
attn.forward @rows element_type(bf16) head_dim(128) schedule(@s) waves(8) kv_tile(64) block_lists(128, 128)
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// expected-error @below {{'keys' has blocks of 96 keys, expected a multiple of the 64 of a tile; use smaller tiles, or larger blocks}}
attn.forward @keys element_type(bf16) head_dim(128) schedule(@s) waves(4) kv_tile(64) block_lists(128, 96)
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// expected-error @below {{'none' has blocks of 0 queries, expected a multiple of the 128 of a workgroup of 4 waves}}
attn.forward @none element_type(bf16) head_dim(128) schedule(@s) waves(4) kv_tile(64) block_lists(0, 64)
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }
