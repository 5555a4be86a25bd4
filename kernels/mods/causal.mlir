// The diagonal ends at the bottom right: the last query sees the last key. mask(causal) is the same, built in.
attn.mask_mod @causal(%batch: i32, %head: i32, %query: i32, %key: i32,
    %shift: i32 {attn.value = "seq_kv - seq_q"}) {
  %last = arith.addi %query, %shift : i32
  %seen = arith.cmpi sle, %key, %last : i32
  attn.yield %seen : i1
}
