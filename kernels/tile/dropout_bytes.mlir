// The random bytes by which attention drops weights, for every batch, head, query and key: what `attn.forward ...
// dropout` computes tile by tile and forgets. A weight is kept where its byte is at most (1 - p) * 255.
//
// Each wave has 32 rows and goes along the keys, 64 at a time.
tile.kernel @dropout_bytes(
    %bytes: !tile.view<?x?x?x?xi8> {tile.bind = "bytes", tile.sizes = ["batch", "heads", "seq_q", "seq_kv"],
      tile.strides = ["heads * seq_q * seq_kv", "seq_q * seq_kv", "seq_kv"]},
    %seed: i64 {tile.bind = "seed"}, %offset: i64 {tile.bind = "offset"})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["max(batch, heads) <= 65535", "batch and heads may be at most 65535, the grid's second and third dimension"],
      ["max(seq_q, seq_kv) <= 1073741824", "seq_q and seq_kv may be at most 1073741824"],
      ["32 * seq_kv <= 1073741824", "32 rows may span at most 1073741824 bytes"]]} {
  %block, %head, %batch = tile.workgroup_id ["ceildiv(seq_q, 128)", "heads", "batch"]
  %rows_of_block = arith.constant 128 : i32
  %first_row = arith.muli %block, %rows_of_block : i32
  %row = tile.wave_row %first_row rows(32)

  // 64 numbers of the counter for each head.
  %heads = tile.dim %bytes, 1 : <?x?x?x?xi8>
  %heads_wide = arith.extui %heads : i32 to i64
  %batch_wide = arith.extui %batch : i32 to i64
  %head_wide = arith.extui %head : i32 to i64
  %before = arith.muli %batch_wide, %heads_wide : i64
  %number = arith.addi %before, %head_wide : i64
  %counters = arith.constant 64 : i64
  %ahead = arith.muli %number, %counters : i64
  %of_head = arith.addi %offset, %ahead : i64

  %zero = arith.constant 0 : i32
  %at_once = arith.constant 64 : i32
  %keys = tile.dim %bytes, 3 : <?x?x?x?xi8>
  scf.for %key = %zero to %keys step %at_once : i32 {
    %random = tile.random_bytes %seed, %of_head at_element(%row, %key) : !tile.frag<64x32xi8, acc>
    tile.store %random, %bytes[%batch, %head, %row, %key] along(2) : !tile.frag<64x32xi8, acc>, <?x?x?x?xi8>
  }
}
