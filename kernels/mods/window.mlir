// A sliding window: query i sees the keys from "window_left" before to "window_right" behind the diagonal that ends at
// the bottom right, both included; a negative number is no limit.
attn.mask_mod @window(%batch: i32, %head: i32, %query: i32, %key: i32,
    %shift: i32 {attn.value = "seq_kv - seq_q"},
    %left: i32 {attn.value = "min(window_left, 268435456) + (window_left < 0) * 268435457"},
    %right: i32 {attn.value = "min(window_right, 268435456) + (window_right < 0) * 268435457"}) attributes {
    attn.requires = [["window_left >= -1", "keys from 0 before the diagonal, or -1 for no limit"],
                     ["window_right >= -1", "keys from 0 behind the diagonal, or -1 for no limit"]]} {
  %diagonal = arith.addi %query, %shift : i32
  %first = arith.subi %diagonal, %left : i32
  %last = arith.addi %diagonal, %right : i32
  %begun = arith.cmpi sge, %key, %first : i32
  %open = arith.cmpi sle, %key, %last : i32
  %seen = arith.andi %begun, %open : i1
  attn.yield %seen : i1
}
