// Soft cap: cap * tanh(score / cap). The number "soft_cap" is positive; who wants no cap leaves this out.
attn.score_mod @soft_cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %soft_cap: f32,
    %inverse: f32 {attn.value = "1.0 / soft_cap"}) {
  %relative = arith.mulf %score, %inverse : f32
  %bent = math.tanh %relative : f32
  %result = arith.mulf %bent, %soft_cap : f32
  attn.yield %result : f32
}
