// Numbers that a kernel does not compute from a sequence's lengths.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine -verify-diagnostics -split-input-file

tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @product element_type(bf16) head_dim(128) packed_keys score_mod(@share)
// expected-error @below {{'share': the number 'seq_kv / 2' depends on lengths, which each sequence has for itself here: a kernel computes sums, differences, minima and maxima of them; take 'seq_q' and 'seq_kv' and compute with them in the region}}
attn.score_mod @share(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %half: i32 {attn.value = "seq_kv / 2"}) {
  attn.yield %score : f32
}

// -----

tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @real element_type(bf16) head_dim(128) key_lengths score_mod(@share)
// expected-error @below {{'share': the number 'seq_kv' depends on lengths, which each sequence has for itself here, and so is an i32; take it as one}}
attn.score_mod @share(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %length: f32 {attn.value = "seq_kv"}) {
  attn.yield %score : f32
}

// -----

tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
// expected-error @below {{'decode' has 'dropout', whose numbers are made for rows of one head, and 'group_rows', in which rows are heads; remove one of them}}
attn.forward @decode element_type(bf16) head_dim(128) dropout group_rows

// -----

tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
// expected-error @below {{'lists' has block lists, which are of queries of one head and of one length for all, and sequences of lengths of their own; remove one of them}}
attn.forward @lists element_type(bf16) head_dim(128) block_lists(256, 128) packed_keys

// -----

tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
// expected-error @below {{'lists' has block lists, which are of queries of one head and of one length for all, and 'group_rows'; remove one of them}}
attn.forward @lists element_type(bf16) head_dim(128) block_lists(256, 128) group_rows
