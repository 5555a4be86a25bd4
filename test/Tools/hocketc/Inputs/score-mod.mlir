attn.forward @capped element_type(bf16) head_dim(128) score_mod {
^bb0(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32):
  attn.yield %score : f32
}
