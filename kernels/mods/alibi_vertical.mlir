// ALiBi as causal kernels elsewhere compute it: + slope * j. O is that of alibi under a causal mask; LSE is larger by
// slope * (i + seq_kv - seq_q).
attn.score_mod @alibi_vertical(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?x?xf32> {attn.sizes = ["batch", "heads"]}) {
  %slope = attn.read %slopes[%batch, %head] : tensor<?x?xf32> -> f32
  %position = arith.sitofp %key : i32 to f32
  %result = math.fma %slope, %position, %score : f32
  attn.yield %result : f32
}
