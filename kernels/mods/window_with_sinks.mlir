// A sliding window, and the first "sink_tokens" keys, which stay visible on its left.
attn.mask_mod @window_with_sinks(%batch: i32, %head: i32, %query: i32, %key: i32,
    %shift: i32 {attn.value = "seq_kv - seq_q"},
    %left: i32 {attn.value = "min(window_left, 268435456) + (window_left < 0) * 268435457"},
    %right: i32 {attn.value = "min(window_right, 268435456) + (window_right < 0) * 268435457"},
    %sink_tokens: i32) attributes {
    attn.requires = [["window_left >= -1", "keys from 0 before the diagonal, or -1 for no limit"],
                     ["window_right >= -1", "keys from 0 behind the diagonal, or -1 for no limit"],
                     ["sink_tokens >= 0", "first keys from 0"]]} {
  %diagonal = arith.addi %query, %shift : i32
  %first = arith.subi %diagonal, %left : i32
  %last = arith.addi %diagonal, %right : i32
  %begun = arith.cmpi sge, %key, %first : i32
  %kept = arith.cmpi slt, %key, %sink_tokens : i32
  %open = arith.cmpi sle, %key, %last : i32
  %either = arith.ori %begun, %kept : i1
  %seen = arith.andi %either, %open : i1
  attn.yield %seen : i1
}
