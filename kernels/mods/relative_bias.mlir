// A bias from a table, by head and by how far the key lies from the diagonal that ends at the bottom right:
// table[head, i + seq_kv - seq_q - j + max_distance], nothing beyond 2 max_distance + 1 entries.
attn.score_mod @relative_bias(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %table: tensor<?x?xf32> {attn.sizes = ["heads", "2 * max_distance + 1"]},
    %offset: i32 {attn.value = "seq_kv - seq_q + max_distance"}) {
  %place = arith.addi %query, %offset : i32
  %index = arith.subi %place, %key : i32
  %bias = attn.read %table[%head, %index] : tensor<?x?xf32> -> f32
  %result = arith.addf %score, %bias : f32
  attn.yield %result : f32
}
