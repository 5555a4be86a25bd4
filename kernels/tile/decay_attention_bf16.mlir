// Linear attention with a decay, causal, heads of 64, bf16: o_i = sum over j <= i of decay^(i - j) (q_i.k_j) v_j, with
// a decay of its own for each head (retention, in its parallel form).
//
// What is new: a number that each workgroup loads for its head (log2 of the decay, at most 0), and weights that depend
// on where an element stands. Tiles beyond the diagonal are not visited; the others need no mask, the weight is one.
tile.kernel @decay_attention_bf16(
    %q: !tile.view<?x?x?x64xbf16> {tile.bind = "q", tile.sizes = ["batch", "seq", "heads"],
         tile.strides = ["q_stride_b", "q_stride_s", "q_stride_h"]},
    %k: !tile.view<?x?x?x64xbf16> {tile.bind = "k", tile.sizes = ["batch", "seq", "heads"],
         tile.strides = ["k_stride_b", "k_stride_s", "k_stride_h"]},
    %v: !tile.view<?x?x?x64xbf16> {tile.bind = "v", tile.sizes = ["batch", "seq", "heads"],
         tile.strides = ["v_stride_b", "v_stride_s", "v_stride_h"]},
    %o: !tile.view<?x?x?x64xbf16> {tile.bind = "o", tile.sizes = ["batch", "seq", "heads"],
         tile.strides = ["o_stride_b", "o_stride_s", "o_stride_h"]},
    %decays: !tile.view<?xf32> {tile.bind = "log2_decay", tile.sizes = ["heads"], tile.strides = []})
    target("gfx950") waves(4) attributes {
    tile.requires = [
      ["seq <= 1073741824", "seq may be at most 1073741824"],
      ["q_stride_b % 8 == 0 && q_stride_s % 8 == 0 && q_stride_h % 8 == 0", "q's strides must be multiples of 8 elements"],
      ["k_stride_b % 8 == 0 && k_stride_s % 8 == 0 && k_stride_h % 8 == 0", "k's strides must be multiples of 8 elements"],
      ["v_stride_b % 8 == 0 && v_stride_s % 8 == 0 && v_stride_h % 8 == 0", "v's strides must be multiples of 8 elements"],
      ["o_stride_b % 8 == 0 && o_stride_s % 8 == 0 && o_stride_h % 8 == 0", "o's strides must be multiples of 8 elements"]]} {
  // The last rows first: they have the most keys.
  %batch, %head, %row = tile.block_id %q rows(128) last_rows_first xcds(8) : <?x?x?x64xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %log2_decay = tile.load %decays[%head] : <?xf32> -> f32
  %k_ring = tile.ring %k[%batch, %head] : <?x?x?x64xbf16> -> <64x64xbf16>
  %v_ring = tile.ring %v[%batch, %head] : <?x?x?x64xbf16> -> <64x64xbf16>
  %queries = tile.load %q[%batch, %wave_row, %head] : <?x?x?x64xbf16> -> <64x32xbf16, rhs>

  // Keys up to the workgroup's last row.
  %seq = tile.dim %k, 1 : <?x?x?x64xbf16>
  %block_rows = arith.constant 128 : i32
  %block_end = arith.addi %row, %block_rows : i32
  %end = arith.minsi %block_end, %seq : i32
  %tile_keys_less_1 = arith.constant 63 : i32
  %rounded_up = arith.addi %end, %tile_keys_less_1 : i32
  %tile_keys = arith.constant 64 : i32
  %tiles = arith.divui %rounded_up, %tile_keys : i32
  %no_scores = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %no_output = tile.fill 0.000000e+00 : !tile.frag<64x32xf32, acc>
  %output = tile.for_tiles %t = 0 to %tiles init(%sum = %no_output : !tile.frag<64x32xf32, acc>) schedule(@next_tile) {
    tile.step @fetch_k {
      tile.fetch %k_ring[%t] : <64x64xbf16>
    }
    tile.step @fetch_v {
      tile.fetch %v_ring[%t] : <64x64xbf16>
    }
    %keys = tile.step @read_k -> !tile.frag<64x64xbf16, lhs> {
      %operand = tile.read %k_ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs>
      tile.yield %operand : !tile.frag<64x64xbf16, lhs>
    }
    %scores = tile.step @qk -> !tile.frag<64x32xf32, acc> {
      %product = tile.mma %keys, %queries, %no_scores : <64x64xbf16, lhs>, <64x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %product : !tile.frag<64x32xf32, acc>
    }
    // Memory rows of the scores are queries, columns are keys.
    %weights = tile.step @decay -> !tile.frag<64x32xbf16, rhs_acc> {
      %first_key = arith.muli %t, %tile_keys : i32
      %decayed = tile.map(%score = %scores : !tile.frag<64x32xf32, acc>, %log2 = %log2_decay : f32)
          at(%i = %wave_row, %j = %first_key) -> !tile.frag<64x32xf32, acc> {
        %zero = arith.constant 0.000000e+00 : f32
        %distance = arith.subi %i, %j : i32
        %is_past = arith.cmpi sge, %i, %j : i32
        %steps = arith.sitofp %distance : i32 to f32
        %exponent = arith.mulf %steps, %log2 : f32
        %weight = math.exp2 %exponent : f32
        %product = arith.mulf %score, %weight : f32
        %seen = arith.select %is_past, %product, %zero : f32
        tile.yield %seen : f32
      }
      %rounded = tile.pack %decayed : <64x32xf32, acc> -> <64x32xbf16, rhs_acc>
      tile.yield %rounded : !tile.frag<64x32xbf16, rhs_acc>
    }
    %values = tile.step @read_v -> !tile.frag<64x64xbf16, lhs_acc> {
      %operand = tile.read_transposed %v_ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs_acc>
      tile.yield %operand : !tile.frag<64x64xbf16, lhs_acc>
    }
    %more = tile.step @pv -> !tile.frag<64x32xf32, acc> {
      %product = tile.mma %values, %weights, %sum : <64x64xbf16, lhs_acc>, <64x32xbf16, rhs_acc>, <64x32xf32, acc>
      tile.yield %product : !tile.frag<64x32xf32, acc>
    }
    tile.yield %more : !tile.frag<64x32xf32, acc>
  }
  tile.store %output, %o[%batch, %wave_row, %head] : <64x32xf32, acc>, <?x?x?x64xbf16>
}

// The next tile is fetched while this one is computed.
tile.schedule @next_tile unroll(2) {
  tile.cluster compute { fetch_k(+1) fetch_v(+1) read_k(0) qk(0) decay(0) read_v(0) pv(0) }
}
