// Prefix: every query sees the first "prefix" keys, and those up to the diagonal that ends at the bottom right.
attn.mask_mod @prefix(%batch: i32, %head: i32, %query: i32, %key: i32,
    %shift: i32 {attn.value = "seq_kv - seq_q"}, %prefix: i32) attributes {
    attn.requires = [["prefix >= 0", "first keys from 0"]]} {
  %last = arith.addi %query, %shift : i32
  %before = arith.cmpi sle, %key, %last : i32
  %first = arith.cmpi slt, %key, %prefix : i32
  %seen = arith.ori %before, %first : i1
  attn.yield %seen : i1
}
