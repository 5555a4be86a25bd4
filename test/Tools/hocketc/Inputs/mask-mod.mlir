attn.forward @window element_type(bf16) head_dim(128) mask_mod {
^bb0(%batch: i32, %head: i32, %query: i32, %key: i32):
  %seen = arith.cmpi sle, %key, %query : i32
  attn.yield %seen : i1
}
