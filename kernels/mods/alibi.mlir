// ALiBi: the score falls by a slope of its head's for each key between the query and the key, counted from the
// diagonal that ends at the bottom right: - slope * |i + seq_kv - seq_q - j|.
//
// That is the documented form. Kernels elsewhere add slope * j under a causal mask instead: O is the same, LSE
// differs by slope * (i + seq_kv - seq_q); alibi_vertical computes that.
attn.score_mod @alibi(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?x?xf32> {attn.sizes = ["batch", "heads"]}, %shift: i32 {attn.value = "seq_kv - seq_q"}) {
  %slope = attn.read %slopes[%batch, %head] : tensor<?x?xf32> -> f32
  %fall = arith.negf %slope : f32
  %diagonal = arith.addi %query, %shift : i32
  %distance = arith.subi %diagonal, %key : i32
  %keys = arith.sitofp %distance : i32 to f32
  %length = math.absf %keys : f32
  %result = math.fma %fall, %length, %score : f32
  attn.yield %result : f32
}
