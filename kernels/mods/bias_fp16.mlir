// An elementwise bias of fp16, added to the scaled score; -inf hides a key. Its extents of batch, heads and queries may
// be 1.
attn.score_mod @bias_fp16(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %bias: tensor<?x?x?x?xf16> {attn.sizes = ["batch", "heads", "seq_q", "seq_kv"]}) {
  %offset = attn.read %bias[%batch, %head, %query, %key] : tensor<?x?x?x?xf16> -> f32
  %result = arith.addf %score, %offset : f32
  attn.yield %result : f32
}
