// Attention without the softmax, written by hand: O = (scale Q K^T) V, over all keys.
//
// What is left of a forward kernel when nothing has to be normalised: two products for each tile of
// keys, and an accumulator. The schedule at the end fetches the next tile while this one is
// computed; without it (or with another one) the steps stay as they are.
//
//   hocketc linear_attention.mlir -o linear_attention.hsaco --manifest=linear_attention.json
tile.kernel @linear_attention(
    %q: !tile.view<?x?x?x128xbf16> {tile.sizes = ["batch", "seq_q", "heads"]},
    %k: !tile.view<?x?x?x128xbf16> {tile.sizes = ["batch", "seq_kv", "kv_heads"]},
    %v: !tile.view<?x?x?x128xbf16> {tile.sizes = ["batch", "seq_kv", "kv_heads"]},
    %o: !tile.view<?x?x?x128xbf16> {tile.sizes = ["batch", "seq_q", "heads"]},
    %scale: f32) target("gfx950") waves(4) {
  // 128 rows of one head for the workgroup, 32 of them for this wave.
  %batch, %head, %row = tile.block_id %q rows(128) xcds(8) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %kv_head = tile.group_head %head of %q in %k : <?x?x?x128xbf16>, <?x?x?x128xbf16>
  %k_ring = tile.ring %k[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>
  %v_ring = tile.ring %v[%batch, %kv_head] : <?x?x?x128xbf16> -> <64x128xbf16>

  %loaded = tile.load %q[%batch, %wave_row, %head] : <?x?x?x128xbf16> -> <128x32xbf16, rhs>
  %queries = tile.scale %loaded by %scale : <128x32xbf16, rhs>
  %seq_kv = tile.dim %k, 1 : <?x?x?x128xbf16>
  %tile_keys_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %seq_kv, %tile_keys_less_1 : i32
  %tile_keys = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_keys : i32
  %no_scores = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %no_output = tile.fill 0.000000e+00 : !tile.frag<128x32xf32, acc>

  %output = tile.for_tiles %t = 0 to %tiles init(%sum = %no_output : !tile.frag<128x32xf32, acc>)
      schedule(@next_tile) {
    tile.step @fetch_k {
      tile.fetch %k_ring[%t] : <64x128xbf16>
    }
    tile.step @fetch_v {
      tile.fetch %v_ring[%t] : <64x128xbf16>
    }
    %keys = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> {
      %operand = tile.read %k_ring[%t] : <64x128xbf16> -> <64x128xbf16, lhs>
      tile.yield %operand : !tile.frag<64x128xbf16, lhs>
    }
    // Keys beyond the end arrive as zero, and so do their scores.
    %scores = tile.step @qk -> !tile.frag<64x32xbf16, rhs_acc> {
      %product = tile.mma %keys, %queries, %no_scores : <64x128xbf16, lhs>, <128x32xbf16, rhs>, <64x32xf32, acc>
      %rounded = tile.pack %product : <64x32xf32, acc> -> <64x32xbf16, rhs_acc>
      tile.yield %rounded : !tile.frag<64x32xbf16, rhs_acc>
    }
    %values = tile.step @read_v -> !tile.frag<128x64xbf16, lhs_acc> {
      %operand = tile.read_transposed %v_ring[%t] : <64x128xbf16> -> <128x64xbf16, lhs_acc>
      tile.yield %operand : !tile.frag<128x64xbf16, lhs_acc>
    }
    %more = tile.step @pv -> !tile.frag<128x32xf32, acc> {
      %product = tile.mma %values, %scores, %sum : <128x64xbf16, lhs_acc>, <64x32xbf16, rhs_acc>, <128x32xf32, acc>
      tile.yield %product : !tile.frag<128x32xf32, acc>
    }
    tile.yield %more : !tile.frag<128x32xf32, acc>
  }
  tile.store %output, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

tile.schedule @next_tile unroll(2) {
  tile.cluster compute { fetch_k(+1) fetch_v(+1) read_k(0) qk(0) read_v(0) pv(0) }
}
