attn.mask_mod @divides(%batch: i32, %head: i32, %query: i32, %key: i32) {
  %part = arith.divsi %key, %query : i32
  %seen = arith.cmpi sle, %part, %head : i32
  attn.yield %seen : i1
}
